"""Ranges of features, by which differences are divided."""

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.relief._kernels import Measured

Ranges = npt.ArrayLike | None
"""Lows and highs of shape (2, n_features); None for those of the values."""


def measure(values: Array, is_nominal: npt.NDArray[np.bool_], ranges: Ranges = None) -> Measured:
    """Measure features, values of shape (n_rows, n_features), over a whole table.

    A missing value is as far from a known one as possible; among V categories, 1 - 1/V from any. `ranges` are lows
    and highs, by default those of the values; they are ignored for nominal features. ValueError if a value is
    infinite or outside its range, or a range is invalid.
    """
    values = np.array(values, order="C")
    columns = np.ascontiguousarray(values.T)
    low, high = np.fmin.reduce(columns, axis=1), np.fmax.reduce(columns, axis=1)
    is_infinite = np.isinf(low) | np.isinf(high)
    if is_infinite.any():
        raise ValueError(f"feature {int(is_infinite.argmax())} has an infinite value")
    if ranges is not None:
        low, high = _given(ranges, low, high, is_nominal)
    low, high = (np.where(is_nominal, 0.0, np.nan_to_num(ends)) for ends in (low, high))  # codes have no range
    with np.errstate(over="ignore"):
        spans = np.where(high > low, high - low, 1.0)
    if not np.isfinite(spans).all():
        raise ValueError(f"feature {int(np.isinf(spans).argmax())} spans more than a number can hold")
    shares = (values - low) / spans
    far = np.maximum(np.nan_to_num(shares, nan=1.0), np.nan_to_num(1.0 - shares, nan=1.0))
    for f in np.flatnonzero(is_nominal):
        known = ~np.isnan(values[:, f])
        categories, values[known, f] = np.unique(values[known, f], return_inverse=True)
        shares[:, f], spans[f], far[:, f] = values[:, f], 1.0, 1.0 - 1.0 / max(1, len(categories))
    return Measured(values, spans, far, shares.astype(np.float32))


def _given(
    ranges: npt.ArrayLike, low: Array, high: Array, is_nominal: npt.NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Return the given lows and highs, once the values are known to lie within them."""
    given = np.asarray(ranges, dtype=np.float64)
    if given.shape != (2, len(low)):
        raise ValueError(f"ranges have shape {given.shape}, expected {(2, len(low))}, lows and highs")
    given = np.where(is_nominal, [low, high], given)
    for f in np.flatnonzero(~is_nominal & ~(given[0] <= given[1])):
        raise ValueError(f"range of feature {f} is {given[0, f]:g} to {given[1, f]:g}, expected a low and a high")
    for f in np.flatnonzero(~is_nominal & ((low < given[0]) | (high > given[1]))):
        raise ValueError(
            f"feature {f} is {low[f]:g} to {high[f]:g}, expected values in its range, {given[0, f]:g} to "
            f"{given[1, f]:g}"
        )
    return given[0], given[1]
