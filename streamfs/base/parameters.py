"""What parameters of estimators may be: declared as scikit-learn declares them, refused in our words.

scikit-learn has the base of its constraints, and what makes them, in a private module alone.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import InvalidParameterError, _Constraint, make_constraint

MOST = 2**31 - 1
"""The largest count: what is larger is a slip, and would not end."""

MOST_JOBS = 1024
"""Most threads."""

Constraints = Mapping[str, Sequence[Any]]
"""By parameter, what it may be: constraints of this module, and whatever scikit-learn's own estimators declare."""


class Whole(_Constraint):
    """A whole number in a range; True and False are none."""

    def __init__(self, least: int = 0, most: int = MOST) -> None:
        self.least, self.most = least, most

    def is_satisfied_by(self, value: object) -> bool:
        """Return whether a value is such a number."""
        return (
            isinstance(value, Integral) and not isinstance(value, bool) and self.least <= int(value) <= self.most
        )

    def __str__(self) -> str:
        bounds = f"at least {self.least}" if self.most == MOST else f"{self.least} to {self.most}"
        return f"a whole number, {bounds}"


class RealNumber(_Constraint):
    """A number from `least` to `most`, infinity left out; with `above`, one that is more than that."""

    def __init__(self, least: float = 0.0, most: float = np.inf, *, above: float = -np.inf) -> None:
        self.least, self.most, self.above = least, most, above

    def is_satisfied_by(self, value: object) -> bool:
        """Return whether a value is such a number."""
        if not isinstance(value, Real) or isinstance(value, bool):
            return False
        return self.least <= float(value) <= self.most and self.above < float(value) < np.inf

    def __str__(self) -> str:
        words = f"at least {self.least:g}" if self.above < self.least else f"more than {self.above:g}"
        return f"a number, {words}" if self.most == np.inf else f"a number, {words} and at most {self.most:g}"


class OneOf(_Constraint):
    """One of some words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def is_satisfied_by(self, value: object) -> bool:
        """Return whether a value is one of the words."""
        return isinstance(value, str) and value in self.words

    def __str__(self) -> str:
        return " or ".join(map(repr, self.words))


class Numbers(_Constraint):
    """A sequence or an array of numbers."""

    kinds = "iuf"

    def is_satisfied_by(self, value: object) -> bool:
        """Return whether a value is such a sequence."""
        if not isinstance(value, (Sequence, np.ndarray)) or isinstance(value, (str, bytes)):
            return False
        try:
            found = np.asarray(value)
        except ValueError:  # ragged
            return False
        return found.ndim > 0 and (found.size == 0 or found.dtype.kind in self.kinds)

    def __str__(self) -> str:
        return "numbers"


class Wholes(Numbers):
    """A sequence or an array of whole numbers."""

    kinds = "iu"

    def __str__(self) -> str:
        return "whole numbers"


class Sequences(_Constraint):
    """A list, a tuple or another sequence, no text."""

    def is_satisfied_by(self, value: object) -> bool:
        """Return whether a value is a sequence."""
        return isinstance(value, Sequence) and not isinstance(value, (str, bytes))

    def __str__(self) -> str:
        return "a sequence"


class Made(_Constraint):
    """An object, no class, with some methods."""

    def __init__(self, *methods: str) -> None:
        self.methods = methods

    def is_satisfied_by(self, value: object) -> bool:
        """Return whether a value has the methods."""
        return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in self.methods)

    def __str__(self) -> str:
        return f"an object with {' and '.join(self.methods)}"


def require_parameters(declared: Constraints, values: Mapping[str, Any]) -> None:
    """Raise a ValueError, which is a TypeError, too, for the first parameter that is not what is declared."""
    for name, allowed in declared.items():
        constraints = [each if isinstance(each, _Constraint) else make_constraint(each) for each in allowed]
        if not any(each.is_satisfied_by(values[name]) for each in constraints):
            expected = ", or ".join(map(str, constraints))
            raise InvalidParameterError(f"{name} is {values[name]!r}, expected {expected}")
