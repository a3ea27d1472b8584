"""The values that a nominal feature can have."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from feature_extractors.arrays import Array, Integers

Extract = Callable[[int, int], float]
"""Measures a feature on an instance: called with the indices of instance and feature."""


@dataclass(frozen=True, eq=False)
class PossibleValues:
    """The possible values of a feature, rising; NaN, the last, is a missing value, treated as a value."""

    feature: int
    values: Array

    @classmethod
    def occurring(cls, feature: int, column: Array) -> "PossibleValues":
        """Return the values that occur in a column."""
        return cls(feature, np.unique(column))

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self, column: Array) -> Integers:
        """Number values by their place; -1 for a value that is not possible."""
        places = np.minimum(np.searchsorted(self.values, column), len(self) - 1)
        found = self.values[places]
        is_there = (found == column) | (np.isnan(found) & np.isnan(column))
        return np.where(is_there, places, -1)

    def require(self, column: Array) -> Integers:
        """Number values; ValueError, naming the first instance, if one is not possible."""
        numbers = self.numbers(column)
        if (numbers < 0).any():
            instance = int(np.argmin(numbers))
            raise ValueError(
                f"feature {self.feature} is {column[instance]} at instance {instance}, expected {self._expected}"
            )
        return numbers

    def ask(self, extract: Extract, instance: int) -> int:
        """Extract the feature on an instance, and number the value; ValueError if it is not possible."""
        value = float(extract(instance, self.feature))
        number = int(self.numbers(np.array([value]))[0])
        if number < 0:
            raise ValueError(
                f"extract returned {value} for feature {self.feature} of instance {instance}, "
                f"expected {self._expected}"
            )
        return number

    @property
    def _expected(self) -> str:
        return f"one of its {len(self)} values from {self.values[0]:g} to {self.values[-1]:g}"
