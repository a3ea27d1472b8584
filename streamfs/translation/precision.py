"""The precision of reals in C, and what is settled for each."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Precision:
    """A C type of reals.

    Parameters
    ----------
    text : str
        The type.
    suffix : str
        Suffix of its literals, and of the functions of libm.
    dtype : type
        The same type in numpy.
    constants : mapping of str to float
        Values of named constants that differ from those in Python, by their names there.
    """

    text: str
    suffix: str = ""
    dtype: type[np.floating[Any]] = np.float64
    constants: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}), hash=False)

    def literal(self, value: float) -> str:
        """Return the number nearest to another in C; one beyond the largest is the largest.

        Examples
        --------
        >>> DOUBLE.literal(0.1), FLOAT.literal(0.1), FLOAT.literal(1e300), DOUBLE.literal(float("-inf"))
        ('0.1', '0.1f', '3.4028235e+38f', '-INFINITY')
        """
        if math.isnan(value):
            return "NAN"
        if math.isinf(value):
            return "-INFINITY" if value < 0 else "INFINITY"
        most = float(np.finfo(self.dtype).max)
        return f"{self.dtype(min(max(value, -most), most))!s}{self.suffix}"

    def threshold(self, value: float) -> str:
        """Return the largest number that is not above another: the same numbers of this precision are above both.

        Examples
        --------
        >>> FLOAT.literal(0.3), FLOAT.threshold(0.3)
        ('0.3f', '0.29999998f')
        """
        with np.errstate(over="ignore"):
            near = self.dtype(value)
        below = np.nextafter(near, self.dtype(-math.inf)) if float(near) > value else near
        return self.literal(float(below))


DOUBLE = Precision("double")
FLOAT = Precision(
    "float",
    "f",
    np.float32,
    MappingProxyType(
        {
            "LARGEST": 1e8,  # its fourth power, a million times, is less than the largest float
            "FINE": 2.0**60,  # times twice LARGEST, likewise; exact, as any power of two
            "NEAREST": 2.0**-24,
            "TILT": 2.0**-12,
        }
    ),
)
"""Single precision. It counts samples, and adds up seconds of a tick's length, exactly up to 2^24."""
