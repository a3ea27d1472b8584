"""From Relief weights to expected costs: equations 5 and 3 of StreamRelief, and extrapolation over later ticks."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicSpline, PchipInterpolator

from feature_extractors.arrays import Array
from streamfs.relief.positions import check_positions


def lower_bound(W: npt.ArrayLike) -> Array:
    """Return the minimum of the current and all later weights (Figure 1a).

    Parameters
    ----------
    W : array_like of shape (n_positions, ...)
        Relief weights at the time positions.

    Returns
    -------
    ndarray of the same shape
        Non-decreasing along the positions.

    Examples
    --------
    >>> lower_bound([0.1, 0.3, 0.2]).tolist()
    [0.1, 0.2, 0.2]
    """
    W = np.asarray(W, dtype=np.float64)
    return np.asarray(np.minimum.accumulate(W[::-1])[::-1])


def decision_probability(W: npt.ArrayLike) -> Array:
    """Convert weights to the probability of having decided by then: ``(W + 1) / 2`` (equation 5)."""
    return (np.asarray(W, dtype=np.float64) + 1.0) / 2.0


def hold(P: Array, _positions: Array, ticks: Array) -> Array:
    """Hold the last probability."""
    return np.tile(P[-1], (len(ticks), 1))


def linear(P: Array, positions: Array, ticks: Array) -> Array:
    """Continue from the last probability with the slope of the least-squares line through all of them."""
    centred = positions - positions.mean()
    spread = (centred**2).sum()
    slope = centred @ (P - P.mean(axis=0)) / spread if spread > 0 else np.zeros(P.shape[1])
    return np.asarray(P[-1] + slope * (ticks - positions[-1])[:, np.newaxis])


def spline(P: Array, positions: Array, ticks: Array) -> Array:
    """Continue with the last piece of the natural cubic spline, or with the line below three positions."""
    if len(positions) < 3:
        return linear(P, positions, ticks)
    return np.asarray(CubicSpline(positions, P, bc_type="natural")(ticks))


def hermite(P: Array, positions: Array, ticks: Array) -> Array:
    """Continue with the last piece of the monotone cubic Hermite interpolant, or with the line as in `spline`."""
    if len(positions) < 3:
        return linear(P, positions, ticks)
    with np.errstate(over="ignore"):  # a step whose inverse overflows counts as 0
        return np.asarray(PchipInterpolator(positions, P, extrapolate=True)(ticks))


def saturating(P: Array, positions: Array, ticks: Array) -> Array:
    """Let the gap to 1 decay exponentially, at the rate of the least-squares line of its logarithm.

    Positions without a gap have no logarithm and are left out; a probability without a rate of decay is held.
    """
    known = P < 1.0
    n_known = np.maximum(known.sum(axis=0), 1)
    missing = np.log(1.0 - P, out=np.zeros_like(P), where=known)
    centred = np.where(known, positions[:, np.newaxis] - (positions @ known) / n_known, 0.0)
    spread = (centred**2).sum(axis=0)
    fall = np.divide((centred * missing).sum(axis=0), spread, out=np.zeros(P.shape[1]), where=spread > 0)
    ahead = (ticks - positions[-1])[:, np.newaxis]
    return np.asarray(1.0 - (1.0 - P[-1]) * np.exp(np.minimum(fall, 0.0) * ahead))


EXTRAPOLATIONS: dict[str, Callable[[Array, Array, Array], Array]] = {
    "none": hold,
    "linear": linear,
    "spline": spline,
    "hermite": hermite,
    "saturating": saturating,
}
"""Functions of probabilities (n_positions, n_features), their positions, and the later ticks, by name."""

ROUNDING = 1e-12
"""Sums of squared errors that differ by no more count as equal."""


def extrapolate(name: str, P: Array, positions: Array, ticks: Array) -> Array:
    """Return probabilities at ticks after the last position, kept non-decreasing and within ``[P_last, 1]``."""
    ahead = EXTRAPOLATIONS[name](P, positions, ticks)
    return np.asarray(np.maximum.accumulate(np.clip(ahead, P[-1], np.maximum(P[-1], 1.0))))


def choose_extrapolation(P: npt.ArrayLike, positions: npt.ArrayLike | None = None) -> tuple[str, ...]:
    """Choose, for each feature, the extrapolation that best predicts the last quarter from the earlier positions.

    Parameters
    ----------
    P : array_like of shape (n_positions, n_features)
        Probabilities of having decided.
    positions : array_like of int of shape (n_positions,), optional
        The tick of each position, counted from 1; by default 1, 2, and so on.

    Returns
    -------
    tuple of str
        The name with the least sum of squared errors, the first of those equal up to rounding;
        ``"linear"`` below four positions.

    Examples
    --------
    >>> choose_extrapolation([[0.1, 0.3], [0.2, 0.4], [0.3, 0.4], [0.4, 0.4]])
    ('linear', 'none')
    """
    P = np.asarray(P, dtype=np.float64)
    grid = check_positions(np.arange(1, len(P) + 1) if positions is None else positions).astype(np.float64)
    if len(P) < 4:
        return ("linear",) * int(P.shape[1])
    n_known = -(-3 * len(P) // 4)
    known, later = grid[:n_known], grid[n_known:]
    ahead = np.arange(known[-1] + 1, later[-1] + 1)
    errors = np.array(
        [
            ((extrapolate(name, P[:n_known], known, ahead)[np.isin(ahead, later)] - P[n_known:]) ** 2).sum(axis=0)
            for name in EXTRAPOLATIONS
        ]
    )
    names, best = list(EXTRAPOLATIONS), (errors <= errors.min(axis=0) + ROUNDING).argmax(axis=0)
    return tuple(names[int(index)] for index in best)


def probability_by_tick(
    P: npt.ArrayLike, horizon: int, extrapolation: str = "linear", positions: npt.ArrayLike | None = None
) -> Array:
    """Return the probability of having decided at every tick up to the horizon, shape (horizon, n_features).

    Probabilities at the positions, (n_positions, n_features) and non-decreasing, are held between positions and
    extrapolated after the last one, by one of `EXTRAPOLATIONS` or, with ``"auto"``, by `choose_extrapolation` for
    each feature; positions are counted from 1 and by default 1, 2, and so on.
    """
    P = np.asarray(P, dtype=np.float64)
    if P.ndim != 2 or not len(P):
        raise ValueError(f"P has shape {P.shape}, expected (n_positions, n_features) with at least one position")
    if extrapolation not in (*EXTRAPOLATIONS, "auto"):
        raise ValueError(
            f"extrapolation is {extrapolation!r}, expected auto or one of {', '.join(EXTRAPOLATIONS)}"
        )
    if horizon < 1:
        raise ValueError(f"horizon is {horizon}, expected at least 1 tick")
    grid = check_positions(np.arange(1, len(P) + 1) if positions is None else positions)
    if len(grid) != len(P):
        raise ValueError(f"there are {len(grid)} positions, expected {len(P)}, one for each row of P")
    ticks = np.arange(1, horizon + 1)
    by_tick = P[np.searchsorted(grid, ticks, side="right") - 1]
    beyond = ticks > grid[-1]
    if beyond.any():
        names = np.array(choose_extrapolation(P, grid) if extrapolation == "auto" else [extrapolation])
        ahead, known = ticks[beyond].astype(np.float64), grid.astype(np.float64)
        for name in np.unique(names):
            features = np.broadcast_to(names == name, P.shape[1])
            by_tick[np.ix_(beyond, features)] = extrapolate(name, P[:, features], known, ahead)
    return by_tick


def expected_cost(
    P: npt.ArrayLike,
    each: npt.ArrayLike,
    confidence: float,
    horizon: int | None = None,
    extrapolation: str = "linear",
    first_tick: str = "counted",
    positions: npt.ArrayLike | None = None,
) -> Array:
    """Compute the expected each-time cost of classifying with each feature: ``C_each sum (1 - P_i)`` (equation 3).

    Parameters
    ----------
    P : array_like of shape (n_positions, n_features)
        Probabilities of having decided by each position.
    each : array_like of shape (n_features,)
        C_each, cost per tick.
    confidence : float
        A feature costs nothing from the first tick at which P reaches this value.
    horizon : int, optional
        Tick at which the sum stops; by default that of the last position.
    extrapolation : str
        As in `probability_by_tick`.
    first_tick : str
        ``"counted"`` adds the tick that every classification takes, as the mean of equation 1 requires;
        ``"literal"`` is the sum as printed.
    positions : array_like of int, optional
        The tick of each position.

    Returns
    -------
    ndarray of shape (n_features,)

    Raises
    ------
    ValueError
        If `first_tick` or another argument is not one of the named values.

    Notes
    -----
    With ``P_i = Pr(T <= t_i)`` the mean number of ticks is ``1 + sum (1 - P_i)``: the print lacks the first tick,
    so that a feature certain at once would cost nothing, however expensive.

    Examples
    --------
    >>> expected_cost([[0.5], [0.7], [0.95]], [2.0], confidence=0.9).tolist()
    [3.6]
    """
    if first_tick not in ("counted", "literal"):
        raise ValueError(f"first_tick is {first_tick!r}, expected 'counted' or 'literal'")
    P = np.asarray(P, dtype=np.float64)
    if horizon is None:
        horizon = len(P) if positions is None else int(np.asarray(positions).max())
    by_tick = probability_by_tick(P, horizon, extrapolation, positions)
    decided = np.logical_or.accumulate(by_tick >= confidence)
    ticks = np.where(decided, 0.0, 1.0 - by_tick).sum(axis=0)
    if first_tick == "counted":
        ticks = ticks + 1.0
    return np.asarray(np.asarray(each, dtype=np.float64) * ticks)
