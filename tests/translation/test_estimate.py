"""What models take of microcontrollers: counted, and from sizes that were measured."""

import ctypes
import re
import subprocess

import numpy as np
import pytest
from helpers.compiled_c import compiled
from helpers.random_models import any_forest, boosted, random_procedure, random_tree

import feature_extractors as fx
from streamfs import Costs, Procedure
from streamfs.translation.estimate import POINTER_BYTES, estimate, processors, ram_of, reached, table_bytes
from streamfs.translation.model import translate
from streamfs.translation.on_node import POLICIES
from streamfs.translation.precision import DOUBLE, FLOAT
from streamfs.translation.unit import LIBRARY, Unit

NO_LIBRARY = dict.fromkeys((*LIBRARY, ""), 0)
PAIRS = (("a", "b"), ("c", "d"))


def test_every_function_has_been_measured():
    """After a new kind of feature: python benchmarks/node_sizes.py."""
    features = [fx.get(f"last(a@{policy}:2)") for policy in POLICIES]
    for kind in fx.KINDS:
        params = {p.name: 8.0 for p in kind.parameters if p.default is None}
        features += [
            fx.Feature(kind, columns[: kind.n_columns], params) for columns in PAIRS[: kind.n_columns + 1]
        ]
    rng, costs = np.random.default_rng(0), Costs(np.ones(len(features)))
    forest = any_forest(rng, len(features))
    for classifier in (random_tree(rng, len(features)), forest, boosted(forest, rng)):
        classes = tuple("tuvwxyz"[: classifier.n_classes])
        procedure = Procedure(tuple(features), classifier, classes, costs, 0.6, 9, 0.5)
        for precision in (DOUBLE, FLOAT):
            sources = translate(procedure, precision=precision)
            for processor in processors(precision):
                assert estimate(sources, precision, processor).flash > 10_000


@pytest.mark.parametrize("precision", [DOUBLE, FLOAT])
@pytest.mark.parametrize("classifier", [random_tree, any_forest])
def test_memory_and_tables_are_counted(tmp_path, precision, classifier):
    rng = np.random.default_rng(1)
    sources = translate(random_procedure(rng, classifier(rng, 5)), precision=precision)
    names = re.findall(r"^static const \w+ (\w+)\[", sources.body, re.MULTILINE)
    counted = " + ".join(f"sizeof {name}" for name in names)
    text = f"{sources.body}\nint n_stream = sizeof(model_stream), n_tables = {counted};\n"
    library = compiled(tmp_path, text, model_h=sources.header)
    n_stream, n_tables = (ctypes.c_int.in_dll(library, name).value for name in ("n_stream", "n_tables"))
    assert ram_of(sources, precision) == n_stream
    n_params = sources.body.count("params[] = ") * precision.dtype().itemsize  # each has one number
    n_texts = len(re.findall(r'"(\w)"', sources.body))
    assert table_bytes(sources.body, precision) == n_tables + n_params + n_texts * (2 + POINTER_BYTES)


def compiled_stack(folder, text, *flags):
    """Return the frame of each function on this machine, and what each calls, by gcc."""
    (folder / "model.c").write_text(text, encoding="utf-8")
    command = ["gcc", "-std=c99", "-Os", "-ffp-contract=off", "-fcallgraph-info=su", "-c", "model.c", *flags]
    subprocess.run(command, cwd=folder, check=True)
    graph = (folder / "model.ci").read_text(encoding="utf-8")
    frames = {name: int(size) for name, size in re.findall(r'label: "(\w+)\\n[^"]*\\n(\d+) bytes', graph)}
    calls = {name: [] for name in frames}
    for caller, callee in re.findall(r'sourcename: "(?:\S+:)?(\w+)" targetname: "(?:\S+:)?(\w+)"', graph):
        calls[caller].append(callee)
    return frames, calls


def test_the_stack_is_not_deeper_than_its_bound(tmp_path, monkeypatch):
    """On this machine, where the compiler says what it takes; in C, functions are compiled into their callers."""
    rng = np.random.default_rng(2)
    names = ("kurtosis(a)", "quantile(a)", "band_share(a; window=8)", "correlation(a, b)")
    features = tuple(map(fx.get, names))
    for classifier in (random_tree(rng, 4), any_forest(rng, 4)):
        classes, costs = tuple("tuvwxyz"[: classifier.n_classes]), Costs(np.ones(4))
        procedure = Procedure(features, classifier, classes, costs, 0.6, 9, 0.5)
        frames, calls = compiled_stack(tmp_path, as_one(translate(procedure)))
        monkeypatch.setattr(Unit, "storage", "__attribute__((noinline))")
        apart = translate(procedure)
        alone, calls_alone = compiled_stack(tmp_path, as_one(apart))
        monkeypatch.undo()
        parts = {part: alone.get(name, 0) for part, name in apart.parts.items()}
        own = alone["model_take"] + max(alone.get(name, 0) for name in ("see", "advance", "ask", "stop"))
        assert 0 < deepest("model_take", frames, calls) <= own + reached(apart, DOUBLE, parts, NO_LIBRARY)
        one, none = (reached(apart, DOUBLE, dict.fromkeys(parts, n), NO_LIBRARY) for n in (1, 0))
        assert one - none == deepest("model_take", dict.fromkeys(apart.parts.values(), 1), calls_alone) > 2


def deepest(name, frames, calls):
    """Return the sum of the frames of functions that call each other, where that is most."""
    return frames.get(name, 0) + max((deepest(each, frames, calls) for each in calls.get(name, ())), default=0)


def as_one(sources):
    """Return header and body as one text."""
    return sources.body.replace(f'#include "{sources.name}.h"\n', sources.header)


def test_a_processor_is_one_that_was_measured():
    sources = translate(random_procedure(np.random.default_rng(1)))
    with pytest.raises(ValueError, match="processor is 'avr', expected one with double numbers: cortex-m0plus"):
        estimate(sources, DOUBLE, "avr")
