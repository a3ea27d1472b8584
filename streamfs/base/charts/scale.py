"""Axes: round numbers along them, and the way from a number to a place."""

from collections.abc import Iterable
from math import ceil, floor, isfinite, log10
from typing import NamedTuple, Self

_STEPS = (1.0, 2.0, 5.0, 10.0)

_NARROW = 1e-12  # an axis whose ends are closer, in relation to them, is widened


class Scale(NamedTuple):
    """A linear axis: the numbers at its ends, and the places of these."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def of(
        cls, values: Iterable[float], start: float, end: float, limits: tuple[float, float] | None = None
    ) -> Self:
        """Return an axis that holds all finite values, or one with the given limits."""
        known = [value for value in values if isfinite(value)]
        low, high = limits or (min(known, default=0.0), max(known, default=1.0))
        if high - low <= _NARROW * max(abs(low), abs(high), _NARROW):
            margin = max(abs(low), abs(high)) / 2.0
            margin = margin if margin > _NARROW else 0.5
            low, high = low - margin, high + margin
        return cls(low, high, start, end)

    def place(self, value: float) -> float:
        """Return the place of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, most: int = 6, least_step: float = 0.0) -> list[float]:
        """Return round numbers along the axis, at least a step apart.

        Examples
        --------
        >>> Scale(0.0, 0.93, 0.0, 100.0).ticks()
        [0.0, 0.2, 0.4, 0.6, 0.8]
        """
        rough = max((self.high - self.low) / most, least_step)
        unit = 10.0 ** floor(log10(rough))
        step = next(unit * each for each in _STEPS if unit * each >= rough * (1 - 1e-9))
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def text_of(number: float) -> str:
    """Return a number as a chart or table shows it; a dash if it is not known.

    Examples
    --------
    >>> [text_of(number) for number in (0.1 + 0.2, 12345.678, 3.0, 2e-7, float("nan"))]
    ['0.3', '12346', '3', '2e-07', '-']
    """
    if not isfinite(number):
        return "-"
    return f"{number:.0f}" if abs(number) >= 1e4 else f"{number:.4g}"
