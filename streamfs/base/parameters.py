"""What parameters of estimators may be: a constraint, a type, `callable` or None for each of the alternatives."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

MOST = 2**31 - 1
"""The largest count: what is larger is a slip, and would not end."""

MOST_JOBS = 1024
"""Most threads."""

Constraints = Mapping[str, Sequence[Any]]
"""By parameter, what it may be."""


class ParameterError(ValueError, TypeError):
    """A parameter of an estimator is not what it may be."""


class Constraint(ABC):
    """What a parameter may be; its text follows "expected"."""

    @abstractmethod
    def is_satisfied_by(self, value: object) -> bool:
        """Return whether a value is of this kind."""


class Whole(Constraint):
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


class RealNumber(Constraint):
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


class OneOf(Constraint):
    """One of some words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def is_satisfied_by(self, value: object) -> bool:
        """Return whether a value is one of the words."""
        return isinstance(value, str) and value in self.words

    def __str__(self) -> str:
        return " or ".join(map(repr, self.words))


class Numbers(Constraint):
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


class Sequences(Constraint):
    """A list, a tuple or another sequence, no text."""

    def is_satisfied_by(self, value: object) -> bool:
        """Return whether a value is a sequence."""
        return isinstance(value, Sequence) and not isinstance(value, (str, bytes))

    def __str__(self) -> str:
        return "a sequence"


class Flag(Constraint):
    """True or False."""

    def is_satisfied_by(self, value: object) -> bool:
        """Return whether a value is one of them."""
        return isinstance(value, (bool, np.bool_))

    def __str__(self) -> str:
        return "True or False"


class Seed(Constraint):
    """What `sklearn.utils.check_random_state` takes."""

    def is_satisfied_by(self, value: object) -> bool:
        """Return whether random numbers can be drawn by a value."""
        is_whole = isinstance(value, Integral) and 0 <= int(value) < 2**32
        return value is None or is_whole or isinstance(value, np.random.RandomState)

    def __str__(self) -> str:
        return f"a whole number, 0 to {2**32 - 1}, a RandomState, or None"


class Folds(Constraint):
    """What `sklearn.model_selection.check_cv` takes."""

    def is_satisfied_by(self, value: object) -> bool:
        """Return whether rows can be divided by a value."""
        if isinstance(value, Integral):
            return int(value) >= 2
        is_iterable = isinstance(value, Iterable) and not isinstance(value, str)
        return value is None or is_iterable or Made("split", "get_n_splits").is_satisfied_by(value)

    def __str__(self) -> str:
        return "a whole number of folds, at least 2, divisions, an object with split and get_n_splits, or None"


class Made(Constraint):
    """An object, no class, with some methods."""

    def __init__(self, *methods: str) -> None:
        self.methods = methods

    def is_satisfied_by(self, value: object) -> bool:
        """Return whether a value has the methods."""
        return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in self.methods)

    def __str__(self) -> str:
        return f"an object with {' and '.join(self.methods)}"


class _Plain(Constraint):
    """A type, `callable`, or None."""

    def __init__(self, declared: Any) -> None:
        self.declared = declared

    def is_satisfied_by(self, value: object) -> bool:
        if self.declared is None:
            return value is None
        return callable(value) if self.declared is callable else isinstance(value, self.declared)

    def __str__(self) -> str:
        if self.declared is None:
            return "None"
        return "a function" if self.declared is callable else f"of type {self.declared.__name__}"


def require_parameters(declared: Constraints, values: Mapping[str, Any]) -> None:
    """Raise a ParameterError for the first parameter that is not what is declared."""
    for name, allowed in declared.items():
        constraints = [each if isinstance(each, Constraint) else _Plain(each) for each in allowed]
        if not any(each.is_satisfied_by(values[name]) for each in constraints):
            expected = ", or ".join(map(str, constraints))
            raise ParameterError(f"{name} is {values[name]!r}, expected {expected}")
