"""The types of values in translated functions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from streamfs.errors import TranslationError


@dataclass(frozen=True)
class Scalar:
    """A number: a real, a whole number, a truth value, or none, which stands for an argument that is left out.

    Kernels have shorter ones, too: a single is a real of 32 bits, a short a whole number of as many.
    """

    text: str


REAL = Scalar("real")
WHOLE = Scalar("whole")
UNSIGNED = Scalar("uint64_t")
SINGLE = Scalar("float")
SHORT = Scalar("int32_t")
TRUTH = Scalar("int")
NONE = Scalar("none")


@dataclass(frozen=True)
class Results:
    """What a function returns if it returns more than one number."""

    items: tuple["Value", ...]

    @property
    def text(self) -> str:
        """The name of the struct."""
        return "_and_".join(map(word_of, self.items))

    @property
    def definition(self) -> str:
        """The struct."""
        fields = "".join(f" {part};" for k, item in enumerate(self.items) for part in declared(f"item{k}", item))
        return f"typedef struct {{{fields} }} {self.text};\n"


@dataclass(frozen=True)
class Struct:
    """A record, whose fields are numbers: their names, types, and how they are stored."""

    text: str
    fields: tuple[tuple[str, Scalar, str], ...]
    offsets: tuple[int, ...] = ()
    size: int = 0

    @property
    def definition(self) -> str:
        """The struct; where its layout is given, the compiler checks it."""
        fields = "".join(f"  {stored} {name};\n" for name, _, stored in self.fields)
        checks = [
            f'_Static_assert(offsetof({self.text}, {name}) == {offset}, "{name}");\n'
            for (name, _, _), offset in zip(self.fields, self.offsets, strict=False)
        ]
        if self.size:
            checks.append(f'_Static_assert(sizeof({self.text}) == {self.size}, "size");\n')
        return f"typedef struct {{\n{fields}}} {self.text};\n{''.join(checks)}"


@dataclass(frozen=True)
class Array:
    """An array of numbers or records of one to three dimensions, or a pointer to numbers, which has none.

    Whole numbers may be stored in fewer bytes than they are computed with.
    """

    item: Scalar | Struct
    n_dimensions: int = 0
    stored: str = ""

    @property
    def text(self) -> str:
        """The type of an item as it is stored."""
        return self.stored or self.item.text


@dataclass(frozen=True)
class Reference:
    """A reference to a record of an array."""

    struct: Struct

    @property
    def text(self) -> str:
        """The type of the pointer."""
        return f"{self.struct.text} *"


@dataclass(frozen=True)
class Together:
    """A tuple of arrays and numbers, with names if it is a named one."""

    items: tuple["Value", ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Known:
    """A function that is an argument, known when its caller is translated."""

    function: Callable[..., Any]


Value = Scalar | Results | Struct | Array | Reference | Together | Known

POINTER = Array(REAL)


def word_of(kind: Value) -> str:
    """Return a word for a type, as a part of a name."""
    if isinstance(kind, Array):
        return f"{kind.text.removesuffix('_t')}s_{kind.n_dimensions}"
    return kind.text.removesuffix(" *").removesuffix("_t") if isinstance(kind, Scalar | Reference) else "tuple"


def extents(name: str, kind: Array) -> tuple[str, ...]:
    """Return the names of the numbers that go with an array: its length, and those of its parts."""
    return (f"{name}_n", f"{name}_width", f"{name}_depth")[: kind.n_dimensions]


def declared(name: str, kind: Value) -> list[str]:
    """Return the declarations of what stands for a value in C: none for what is known beforehand."""
    match kind:
        case Array():
            return [f"{kind.text} *{name}", *(f"whole {extent}" for extent in extents(name, kind))]
        case Together(items=items):
            return [part for k, item in enumerate(items) for part in declared(f"{name}_{k}", item)]
        case Reference(struct=struct):
            return [f"{struct.text} *{name}"]
        case Known():
            return []
    return [] if kind == NONE else [f"{kind.text} {name}"]


def array_of(dtype: npt.DTypeLike, n_dimensions: int, structs: Callable[[np.dtype[Any]], Struct]) -> Array:
    """Return the type of an array of numpy; `structs` tells that of its records."""
    kind = np.dtype(dtype)
    if kind.names:
        return Array(structs(kind), n_dimensions)
    item, stored = _ITEMS.get(kind.str[1:], (None, ""))
    if item is None:
        raise TranslationError(f"an array is of {kind}, expected numbers of {', '.join(_ITEMS)}")
    return Array(item, n_dimensions, "" if stored in ("real", "whole") else stored)


_ITEMS: dict[str, tuple[Scalar, str]] = {
    "f8": (REAL, "real"),
    "f4": (SINGLE, "float"),
    "i8": (WHOLE, "whole"),
    "u8": (UNSIGNED, "uint64_t"),
    "b1": (TRUTH, "uint8_t"),
    **{f"i{size}": (WHOLE, f"int{8 * size}_t") for size in (1, 2, 4)},
    **{f"u{size}": (WHOLE, f"uint{8 * size}_t") for size in (1, 2, 4)},
}
"""What numpy's types are computed with, where reals are double and whole numbers have 64 bits, and stored as."""


def record_of(name: str, dtype: np.dtype[Any]) -> Struct:
    """Return the type of numpy's records, with their layout."""
    found: Any = dtype.fields or {}
    fields = tuple((field, *_ITEMS[found[field][0].str[1:]]) for field in dtype.names or ())
    return Struct(name, fields, tuple(found[field][1] for field, _, _ in fields), dtype.itemsize)


def struct_of(name: str, records: npt.NDArray[Any]) -> Struct:
    """Return the type of the records of an array, whose whole numbers are stored in as few bytes as will do."""
    fields = []
    for field in records.dtype.names or ():
        values = records[field]
        is_real = values.dtype.kind == "f"
        fields.append((field, REAL if is_real else WHOLE, "real" if is_real else stored_in(values)))
    return Struct(name, tuple(fields))


def stored_in(values: npt.NDArray[Any]) -> str:
    """Return the smallest type in C that holds whole numbers.

    Examples
    --------
    >>> stored_in(np.array([0, 255])), stored_in(np.array([-1, 200]))
    ('uint8_t', 'int16_t')
    """
    for dtype in (np.uint8, np.int8, np.uint16, np.int16, np.int32):
        bounds = np.iinfo(dtype)
        if not len(values) or (bounds.min <= values.min() and values.max() <= bounds.max):
            return f"{np.dtype(dtype).name}_t"
    raise TranslationError(f"a table has the number {values.max()}, expected at most {np.iinfo(np.int32).max}")


def unified(one: Value | None, other: Value) -> Value:
    """Return the type of a name to which values of both types are assigned."""
    if one is None or one == other:
        return other
    if {one, other} <= {REAL, WHOLE, SHORT, TRUTH}:
        return REAL if REAL in (one, other) else WHOLE
    if {one, other} == {REAL, SINGLE}:
        return REAL
    raise TranslationError(f"a name is {one} and {other}, expected one type")
