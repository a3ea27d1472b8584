"""The unit in which what is paid is easy to read: joules, or thousandths or millionths of them."""

from collections.abc import Iterable
from math import isfinite
from typing import Any, NamedTuple, Self

from streamfs.base.charts.scale import text_of

_PARTS = ((1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ"), (1e-9, "nJ"))


class PaidUnit(NamedTuple):
    """A unit: its name, and what one of it is in the unit of the model's card."""

    name: str
    size: float

    @classmethod
    def of(cls, paid: Iterable[float], unit: str) -> Self:
        """Return the unit in which the largest cost is at least 1, if they are joules; else their own.

        Examples
        --------
        >>> PaidUnit.of([0.0021, 0.0009], "joules").text(0.0021)
        '2.1 mJ'
        >>> PaidUnit.of([6.0], "transmissions").text(6.0)
        '6 transmissions'
        """
        if unit != "joules":
            return cls(unit, 1.0)
        largest = max((abs(each) for each in paid if isfinite(each)), default=0.0)
        size, name = next((part for part in _PARTS if largest >= part[0]), _PARTS[-1] if largest else _PARTS[0])
        return cls(name, size)

    def of_paid(self, paid: Any) -> Any:
        """Return a cost, or an array of them, in this unit."""
        return paid / self.size

    def text(self, paid: float) -> str:
        """Return a cost with the unit."""
        return f"{text_of(self.of_paid(paid))} {self.name}"
