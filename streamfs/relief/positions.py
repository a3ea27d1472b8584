"""Time positions: the ticks at which weights are computed."""

from numbers import Integral

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Integers


def position_grid(n_ticks: int, n_positions: int = 12, spacing: str = "even") -> Integers:
    """Spread time positions over long streams, so that the training set stays small.

    Parameters
    ----------
    n_ticks : int
        Ticks of the longest stream, or the horizon if that is shorter.
    n_positions : int
        Maximum number of positions; never more than there are ticks.
    spacing : {"even", "geometric"}
        Even positions sample all ticks alike. Geometric ones are denser at the beginning, where most decisions are
        made; early ticks then weigh more in every training set.

    Returns
    -------
    ndarray of int of shape (n_positions,)
        Rising from 1; the last is `n_ticks`, except for a single position.

    Raises
    ------
    ValueError
        If a number is below 1 or the spacing is unknown.

    Examples
    --------
    >>> position_grid(100, 5).tolist(), position_grid(100, 5, "geometric").tolist()
    ([1, 26, 50, 75, 100], [1, 3, 10, 32, 100])
    """
    for name, number in (("n_ticks", n_ticks), ("n_positions", n_positions)):
        if number < 1:
            raise ValueError(f"{name} is {number}, expected at least 1")
    if spacing not in ("even", "geometric"):
        raise ValueError(f"spacing is {spacing!r}, expected 'even' or 'geometric'")
    spread = np.linspace if spacing == "even" else np.geomspace
    return np.unique(spread(1, n_ticks, min(n_ticks, n_positions)).round()).astype(np.int64)


def check_positions(positions: npt.ArrayLike) -> Integers:
    """Return time positions as integers; ValueError if they do not rise strictly from 1."""
    grid = np.asarray(positions)
    if grid.ndim != 1 or not len(grid) or grid[0] != 1 or (np.diff(grid) <= 0).any() or (grid % 1).any():
        raise ValueError(f"positions are {grid.tolist()}, expected whole ticks that rise from 1")
    return grid.astype(np.int64)


def positions_of(positions: int | npt.ArrayLike | None, n_ticks: int) -> Integers:
    """Return the positions, rising from 1 to `n_ticks`: all (None), a number spread evenly, or those given."""
    if positions is None:
        return np.arange(1, n_ticks + 1)
    if isinstance(positions, Integral):
        return position_grid(n_ticks, int(positions))
    grid = check_positions(positions)
    if grid[-1] > n_ticks:
        raise ValueError(f"position {grid[-1]} lies beyond the last tick of the streams, {n_ticks}")
    return grid
