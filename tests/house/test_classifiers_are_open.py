"""No room but `classifiers/` asks which kind a classifier is: a new kind touches that room alone."""

import ast
from pathlib import Path

import pytest

import streamfs
from streamfs.classifiers import kinds

ROOT = Path(streamfs.__file__).parent
NAMES = {kinds.kind_of(word).__name__ for word in kinds.words()}


def questions(text):
    """Lines that ask `isinstance`, `hasattr` or `getattr` of a kind of classifier, or of a classifier by name."""
    for call in ast.walk(ast.parse(text)):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or len(call.args) < 2:
            continue
        of, what = (ast.unparse(argument) for argument in call.args[:2])
        words = set(what.replace("|", " ").replace("(", " ").replace(")", " ").replace(",", " ").split())
        if call.func.id in ("isinstance", "issubclass") and words & NAMES:
            yield f"line {call.lineno}: {ast.unparse(call)}"
        if call.func.id in ("hasattr", "getattr") and of.endswith("classifier"):
            yield f"line {call.lineno}: {ast.unparse(call)}"


def test_the_kinds_are_those_that_model_files_name():
    assert {"Tree", "Forest", "LazyNeighbors", "OnlineClassifier", "EstimatorClassifier"} <= NAMES


@pytest.mark.parametrize(
    "planted",
    [
        "isinstance(procedure.classifier, Tree)",
        "isinstance(c, (Forest, LazyNeighbors))",
        "isinstance(c, Tree | Forest)",
        "getattr(procedure.classifier, 'n_failures', 0)",
    ],
)
def test_a_question_is_seen(planted):
    assert list(questions(planted))


def test_no_other_room_asks_of_what_kind_a_classifier_is():
    found = {
        f"{path.relative_to(ROOT)} {question}"
        for path in ROOT.rglob("*.py")
        if "classifiers" not in path.relative_to(ROOT).parts
        for question in questions(path.read_text())
    }
    assert found == set()
