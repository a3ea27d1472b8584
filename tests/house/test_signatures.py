"""No function takes more parameters than a reader can hold.

Data classes are exempt: two are records of options, whose many fields are given by name.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("feature_extractors", "sensors_sim", "streamfs")
MOST = 15


def is_compiled(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a decorator compiles a function: kernels take their arrays one by one."""
    words = [word for decorator in function.decorator_list for word in ast.walk(decorator)]
    names = {word.id if isinstance(word, ast.Name) else getattr(word, "attr", "") for word in words}
    return bool(names & {"compiled", "creating", "inlined", "kernel"})


def wide_functions(text: str) -> list[str]:
    """Return the functions and methods that take too many parameters; `self` counts."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_compiled(node):
            given = node.args
            parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            n_parameters = sum(parameter is not None for parameter in parameters)
            if n_parameters > MOST:
                found.append(f"{node.name} takes {n_parameters} parameters")
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_no_function_takes_more_than_fifteen_parameters(package):
    for path in sorted((ROOT / package).rglob("*.py")):
        assert wide_functions(path.read_text(encoding="utf-8")) == [], path


def test_a_wide_function_is_found():
    many = ", ".join(f"p{i}" for i in range(MOST))
    assert wide_functions(f"def narrow({many}): ...") == []
    assert wide_functions(f"class A:\n    def wide(self, {many}): ...") == ["wide takes 16 parameters"]
    assert wide_functions(f"def wide({many}, *, last): ...") == ["wide takes 16 parameters"]
    assert wide_functions(f"@compiled\ndef kernel({many}, last): ...") == []
