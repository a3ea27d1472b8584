"""The text of the extension module, and which files it comes from."""

import ast
import builtins
from collections.abc import Iterable, Iterator
from pathlib import Path

from feature_extractors._compiled import digest_of
from streamfs.translation import shell
from streamfs.translation.entries import KernelUnit, entries, loops, new_unit
from streamfs.translation.values import WHOLE, Array

ROOT = Path(__file__).parents[2]

PACKAGES = ("feature_extractors", "streamfs")

TASK = (Array(WHOLE),)

TRANSLATOR = ("arrays", "entries", "expressions", "function", "precision", "shell", "source", "unit", "values")
"""The modules of this package that make the text."""


def source() -> str:
    """Return the extension module in C."""
    unit = new_unit()
    wrapped = []
    for entry in entries(unit):
        translated = unit.entry(entry.kernel.py_func, entry.kinds)
        nogil = bool(entry.kernel.targetoptions.get("nogil"))
        wrapped.append(shell.wrap(entry.name, translated, entry.kinds, nogil=nogil))
    found = [(loop.name, unit.entry(loop.function, TASK).name) for loop in loops()]
    files = files_of(unit)
    text = "\n".join(each.text for each in wrapped)
    end = shell.module(wrapped, found, files, digest_of(files))
    return f"{shell.HEAD}{unit.text()}\n{shell.HELPERS}{text}\n{end}"


def files_of(unit: KernelUnit) -> list[str]:
    """Return the files that the text comes from: the translator, its functions, and constants that these read."""
    used: dict[str, set[str]] = {}
    for function in unit.functions():
        used.setdefault(function.__module__, set()).update(function.__code__.co_names)
    waiting, seen = list(used), set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        waiting += _constants(_file(name), used.get(name, set()))
    files = [*map(_file, seen), *(Path(__file__).with_name(f"{name}.py") for name in TRANSLATOR)]
    return sorted(str(file.relative_to(ROOT)) for file in files)


def _file(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _constants(file: Path, used: set[str]) -> Iterator[str]:
    """Yield the modules of ours from which a file has the names that it uses outside of other functions."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    used = used | {name for node in body for name in _names(node)}
    for node in body:
        if not isinstance(node, ast.ImportFrom):
            continue
        module = str(node.module)
        if module.partition(".")[0] in PACKAGES and used & {each.name for each in node.names}:
            inner = [f"{module}.{each.name}" for each in node.names if _file(f"{module}.{each.name}").exists()]
            yield from inner or [module]


def _names(node: ast.stmt) -> Iterable[str]:
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return ()
    return {each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)} - set(dir(builtins))
