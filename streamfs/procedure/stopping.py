"""When a stream is decided: a confidence threshold for each tick."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from feature_extractors.base import Array
from streamfs.errors import ModelError


@dataclass(frozen=True)
class TickThresholds:
    """Confidence thresholds that depend on the tick.

    Parameters
    ----------
    ticks : tuple of int
        The ticks from which the thresholds hold, ascending from 1.
    levels : tuple of float
        The threshold from each of these ticks on, in [0, 1]; at 0 the likeliest class is taken, however likely it
        is.

    Raises
    ------
    TypeError
        If a tick is not a whole number.
    ValueError
        If ticks or levels are out of range, or of different lengths.

    Notes
    -----
    A stream is labelled at the first tick whose sample gives a class at least the threshold's probability. So if
    the threshold is 0 at the time limit, every stream whose sample of that tick arrives gets a label. A tick
    without a sample decides nothing, and neither does a probability that is NaN.

    Examples
    --------
    >>> thresholds = TickThresholds(ticks=(1, 12, 60), levels=(0.97, 0.9, 0.0))
    >>> thresholds.at(11), thresholds.at(12)
    (0.97, 0.9)
    >>> thresholds.text(time_limit=60)
    '0.97 from tick 1, 0.9 from tick 12, at tick 60 in any case'
    """

    ticks: tuple[int, ...]
    levels: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_ticks(self.ticks)
        _check_levels(self.levels)
        if len(self.levels) != len(self.ticks):
            raise ValueError(f"levels has {len(self.levels)} numbers, expected {len(self.ticks)}, one per tick")
        object.__setattr__(self, "ticks", tuple(map(int, self.ticks)))  # numpy's numbers are not JSON
        object.__setattr__(self, "levels", tuple(map(float, self.levels)))

    def at(self, tick: int) -> float:
        """Return the threshold at a tick."""
        return self.levels[bisect_right(self.ticks, tick) - 1]

    def by_tick(self, n_ticks: int) -> Array:
        """Return the thresholds of the ticks from 1 on, shape (n_ticks,)."""
        place = np.searchsorted(self.ticks, np.arange(1, n_ticks + 1), side="right") - 1
        levels: Array = np.asarray(self.levels)[place]
        return levels

    def text(self, time_limit: int) -> str:
        """Return the thresholds in words."""
        return ", ".join(
            f"{level:.3g} from tick {tick}"
            if level > 0
            else f"{'at' if tick == time_limit else 'from'} tick {tick} in any case"
            for tick, level in zip(self.ticks, self.levels, strict=True)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the thresholds as a JSON object."""
        return {"ticks": list(self.ticks), "levels": list(self.levels)}

    @classmethod
    def from_json(cls, thresholds: Any, what: str = "stopping") -> Self:
        """Read what `to_json` returned, and a file calls `what`.

        Raises
        ------
        ModelError
            If a part is missing, unknown or wrong.
        """
        if not isinstance(thresholds, dict):
            raise ModelError(f"{what} is {thresholds!r}, expected an object")
        for name in sorted({"ticks", "levels"} ^ thresholds.keys()):
            raise ModelError(f"{what}.{name} is {'unknown' if name in thresholds else 'missing'}")
        for name, numbers in thresholds.items():
            if not isinstance(numbers, list):
                raise ModelError(f"{what}.{name} is {numbers!r}, expected a list of numbers")
        try:
            return cls(**thresholds)
        except (TypeError, ValueError) as error:
            raise ModelError(f"{what}.{error}") from error


def _check_ticks(ticks: Sequence[int]) -> None:
    """Refuse ticks that are not whole numbers, ascending from 1."""
    if not len(ticks):
        raise ValueError("ticks is empty, expected at least tick 1")
    for place, tick in enumerate(ticks):
        if not isinstance(tick, Integral) or isinstance(tick, bool):
            raise TypeError(f"ticks[{place}] is {tick!r}, expected a whole number")
        if place == 0 and tick != 1:
            raise ValueError(f"ticks[0] is {tick}, expected 1")
        if place > 0 and tick <= ticks[place - 1]:
            raise ValueError(f"ticks[{place}] is {tick}, expected more than {ticks[place - 1]}")


def _check_levels(levels: Sequence[float]) -> None:
    """Refuse levels that are not numbers in [0, 1]."""
    for place, level in enumerate(levels):
        if not isinstance(level, Real) or isinstance(level, bool) or not 0 <= level <= 1:
            raise ValueError(f"levels[{place}] is {level!r}, expected a number from 0 to 1")
