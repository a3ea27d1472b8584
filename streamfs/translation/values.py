"""The types of values in translated functions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from streamfs.errors import TranslationError


@dataclass(frozen=True)
class Scalar:
    """A number: a real, a whole number, a truth value, or none, which stands for an argument that is left out."""

    text: str


REAL = Scalar("real")
WHOLE = Scalar("int32_t")
TRUTH = Scalar("int")
NONE = Scalar("none")


@dataclass(frozen=True)
class Results:
    """What a function returns if it returns more than one number."""

    items: tuple[Scalar, ...]

    @property
    def text(self) -> str:
        """The name of the struct."""
        return "_and_".join(item.text.removesuffix("_t") for item in self.items)

    @property
    def definition(self) -> str:
        """The struct."""
        fields = " ".join(f"{item.text} item{place};" for place, item in enumerate(self.items))
        return f"typedef struct {{ {fields} }} {self.text};\n"


@dataclass(frozen=True)
class Struct:
    """A record, whose fields are numbers: their names, types, and how they are stored."""

    text: str
    fields: tuple[tuple[str, Scalar, str], ...]

    @property
    def definition(self) -> str:
        """The struct."""
        fields = "".join(f"  {stored} {name};\n" for name, _, stored in self.fields)
        return f"typedef struct {{\n{fields}}} {self.text};\n"


@dataclass(frozen=True)
class Array:
    """An array of numbers or records of one or two dimensions, or a pointer to numbers, which has none.

    Whole numbers may be stored in fewer bytes than they are computed with.
    """

    item: Scalar | Struct
    n_dimensions: int = 0
    stored: str = ""

    @property
    def text(self) -> str:
        """The type of an item as it is stored."""
        return self.stored or self.item.text


Value = Scalar | Results | Struct | Array

POINTER = Array(REAL)


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
    if {one, other} <= {REAL, WHOLE, TRUTH}:
        return REAL if REAL in (one, other) else WHOLE
    raise TranslationError(f"a name is {one} and {other}, expected one type")
