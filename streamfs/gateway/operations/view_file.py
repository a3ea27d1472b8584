"""The form of a view: what a gateway shows of itself, in a file or over HTTP, and readers need nothing else of it.

A line of JSON, in which ``version`` is first and ``arrays`` names each array with its type and shape, and then the
arrays one after another. ``docs/page.md`` says what is in it.
"""

import math
from collections.abc import Mapping
from mmap import mmap
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from streamfs.errors import StateError

VERSION = 1
NOW, STREAMS = "now", "streams"
"""The names of its files: what is written often and small, and what has a row for each stream and node."""

LARGEST = 512 * 2**20
"""Most bytes of a view."""

Arrays = Mapping[str, npt.NDArray[Any]]
Packed = bytes | mmap


class Seen(NamedTuple):
    """What a view shows: facts, and arrays of streams and nodes."""

    facts: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]


def pack(facts: Mapping[str, Any], arrays: Arrays) -> list[bytes | memoryview]:
    """Return the parts of a view, to be written one after another.

    Examples
    --------
    >>> packed = b"".join(pack({"name": "attic"}, {"tick": np.array([1, 2])}))
    >>> seen = unpack(packed)
    >>> seen.facts["name"], seen.arrays["tick"]
    ('attic', array([1, 2]))
    """
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    described = {name: [array.dtype.str, array.shape] for name, array in whole.items()}
    head = orjson.dumps({"version": VERSION, "arrays": described, **facts}, option=orjson.OPT_SERIALIZE_NUMPY)
    return [head + b"\n", *(array.reshape(-1).view(np.uint8).data for array in whole.values() if array.size)]


def unpack(packed: Packed) -> Seen:
    """Return what a view shows; raise a StateError if it is damaged or of another version."""
    end = packed.find(b"\n")
    try:
        facts = orjson.loads(memoryview(packed)[:end])
        version = facts["version"]
        if version != VERSION:
            raise StateError(
                f"the view has version {version}, expected {VERSION}: update the page, or the gateway"
            )
        arrays, place = {}, end + 1
        for name, (kind, shape) in facts.pop("arrays").items():
            count = math.prod(shape)
            if count < 0:
                raise ValueError(f"an array has shape {shape}")  # noqa: TRY301 - as the others
            dtype = np.dtype(kind)
            arrays[name] = np.frombuffer(packed, dtype, count, place).reshape(shape)
            place += count * dtype.itemsize
    except (ArithmeticError, AttributeError, LookupError, SyntaxError, TypeError, ValueError) as error:
        raise StateError(f"the view is damaged: {error}") from error
    return Seen(facts, arrays)
