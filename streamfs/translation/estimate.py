"""What a translated model takes of a microcontroller, before it is compiled.

The memory of a stream and the bytes of tables are counted. Those of code are the sizes of its functions, times a
factor, and something for each feature and channel: `benchmarks/node_sizes.py` has measured the functions for each
processor, compiled one by one, has fitted the factors on models, and keeps both in `sizes.json`, with the error on
other models. `benchmarks/node_cycles.py` has run models, and keeps the cycles of each kind of operation in
`cycles.json`. What the compiler's own library adds is not in it: mathematics, and the arithmetic of reals where a
processor has none.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from streamfs.translation.operations import KINDS
from streamfs.translation.parts import Sources
from streamfs.translation.precision import Precision

POINTER_BYTES = 4

SAME_CODE = {"esp32": "cortex-m4"}
"""Processors that were not measured, and the one whose figures stand for theirs."""


class NodeEstimate(NamedTuple):
    """What a model takes, in bytes: constant memory, memory of a stream, and stack while a tick is taken.

    Parameters
    ----------
    flash, ram, stack : int
        Bytes. The stack is the deepest that functions reach which call each other, with what the compiler's
        library took at most when models were run.
    error : float
        The largest error of flash, as a share, on models of other shapes.
    """

    flash: int
    ram: int
    stack: int
    error: float


def processors(precision: Precision) -> tuple[str, ...]:
    """Return the names of processors that have numbers of a precision."""
    found = _measured()["processors"]
    names = (*found, *SAME_CODE)
    return tuple(name for name in names if precision.text in found[SAME_CODE.get(name, name)])


def estimate(sources: Sources, precision: Precision, processor: str) -> NodeEstimate:
    """Estimate what a translated model takes of a processor.

    Raises
    ------
    ValueError
        If there is no such processor, or it has no numbers of this precision.
    """
    if processor not in processors(precision):
        known = ", ".join(processors(precision))
        raise ValueError(f"processor is {processor!r}, expected one with {precision.text} numbers: {known}")
    measured = _measured()
    found = measured["processors"][SAME_CODE.get(processor, processor)][precision.text]
    terms = terms_of(sources, precision, dict(zip(measured["parts"], found["sizes"], strict=True)))
    flash = sum(weight * term for weight, term in zip(found["weights"], terms, strict=True))
    frames = dict(zip(measured["parts"], found["frames"], strict=True))
    timed = _timed()[SAME_CODE.get(processor, processor)][precision.text]
    stack = timed["stack"] + reached(sources, precision, frames, timed["library"])
    return NodeEstimate(round(flash), ram_of(sources, precision), stack, found["error"])


def _of(part: str, sizes: Mapping[str, int]) -> int:
    """Return the size of a function; that of the whole one for a step whose update has been left out."""
    return sizes[part] if part in sizes else sizes[part.replace("+", "")]


def ram_of(sources: Sources, precision: Precision) -> int:
    """Return the bytes that a stream keeps."""
    return sources.n_reals * precision.dtype().itemsize + 4 * sources.n_whole


def terms_of(sources: Sources, precision: Precision, sizes: Mapping[str, int]) -> tuple[float, ...]:
    """Return what flash is a sum of: one, the bytes of tables, those of functions, features and channels."""
    body = sources.body
    functions = float(sum(_of(part, sizes) for part in sources.parts))
    return (
        1.0,
        table_bytes(body, precision),
        functions,
        body.count("static const real params"),
        body.count("  sample["),
    )


def table_bytes(body: str, precision: Precision) -> int:
    """Return the bytes of the tables and texts in a file."""
    n_real = precision.dtype().itemsize
    sizes = {"real": n_real, **{f"{sign}int{8 * n}_t": n for sign in ("", "u") for n in (1, 2, 4)}}
    for fields, record in re.findall(r"typedef struct {\n((?:  \w+ \w+;\n)+)} (\w+);", body):
        sizes[record] = _record_bytes([sizes[kind] for kind in re.findall(r"  (\w+) \w+;", fields)])
    tables = re.findall(r"static const (\w+) \w+\[\d*\] = {([^;]*)};", body)
    lists = re.findall(r"const char \*const \w+\[\w+\] = {([^;]*)};", body)
    texts: list[str] = [re.sub(r"\\\d{3}", "x", text) for each in lists for text in re.findall(r'"([^"]*)"', each)]
    n_items: int = sum((text.count("{") or text.count(",") + 1) * sizes[kind] for kind, text in tables)
    return n_items + sum(len(text) + 1 + POINTER_BYTES for text in texts)


def _record_bytes(fields: list[int]) -> int:
    """Return the bytes of a record whose fields stand at multiples of their sizes."""
    end = 0
    for size in fields:
        end = -(-end // size) * size + size
    return -(-end // max(fields)) * max(fields)


def reached(sources: Sources, precision: Precision, frames: Mapping[str, int], library: Mapping[str, int]) -> int:
    """Return the bytes of arrays on the stack, and of the frames of functions, where calls are deepest.

    `library` has what functions of libm take, and, named by the empty string, arithmetic.
    """
    depths = dict[str, int](library)
    for part in sources.calls:  # each after those that it calls
        depths[part] = _of(part, frames) + max(depths[each] for each in ("", *sources.calls[part]))
    return _scratch(sources.body, precision) + max(depths.values())


def cycles(found: Mapping[str, float], precision: Precision, processor: str) -> tuple[int, float]:
    """Estimate the cycles of a tick, and the largest error as a share, given operations a tick.

    Parameters
    ----------
    found : mapping of str to float
        As `streamfs.translation.operations.operations` counts them.
    precision : Precision
        Of the reals.
    processor : str
        One of `processors`.
    """
    timed = _timed()[SAME_CODE.get(processor, processor)][precision.text]
    total = sum(weight * found[kind] for kind, weight in zip(KINDS, timed["weights"], strict=True))
    return round(total), timed["error"]


def _scratch(body: str, precision: Precision) -> int:
    """Return the bytes of the arrays that are made while a tick is taken."""
    named = {name: int(size) for name, size in re.findall(r"  (N_\w+) = (\d+)", body)}
    arrays = re.findall(r"^  (real|int32_t) \w+\[(\w+)\]", body, re.MULTILINE)
    size = {"real": precision.dtype().itemsize, "int32_t": 4}
    return sum(size[kind] * (int(n) if n.isdigit() else named[n]) for kind, n in arrays)


@cache
def _measured() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((files(__package__) / "sizes.json").read_text(encoding="utf-8"))
    return found


@cache
def _timed() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((files(__package__) / "cycles.json").read_text(encoding="utf-8"))
    return found
