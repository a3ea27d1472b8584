"""Instances as Relief takes them: values with the scale of each feature, classes, and who may be neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array
from streamfs.errors import DataError
from streamfs.relief import _kernels
from streamfs.streams import Integers
from streamfs.tables import FeatureTable

NEIGHBOURS = ("other_streams", "any")
"""Whose instances may be a near hit or miss: those of other streams, or any but the instance itself."""


@dataclass(frozen=True)
class Rows:
    """Instances of Relief.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_features)
        NaN is missing.
    scales : ndarray of shape (n_features, 3)
        As `measure` takes them over the whole table.
    classes, groups : ndarray of shape (n_rows,)
        Neighbours are never of one group.
    power : int
        Power of each difference, 1 or 2.
    """

    values: Array
    scales: Array
    classes: Integers
    groups: Integers
    power: int = 1

    def __len__(self) -> int:
        return len(self.values)

    def weights(self, ends: Sequence[int], chosen: Integers | None = None) -> Array:
        """Relief weights of growing training sets, each the rows before an end.

        As rows arrive a row's nearest hit and miss only ever get nearer, so that one pass serves all the sets.

        Parameters
        ----------
        ends : sequence of int
            Not falling.
        chosen : ndarray of int, optional
            The instances to average over; by default all.

        Returns
        -------
        ndarray of shape (n_ends, n_features)
            Equation 2 for each set; zeros where no row has both a hit and a miss.
        """
        n_rows, n_features = self.values.shape
        nearest = np.full((n_rows, 2), -1, dtype=np.int64)
        distances = np.full((n_rows, 2), np.inf)
        weights = np.zeros((len(ends), n_features))
        start = 0
        for index, end in enumerate(ends):
            _kernels.extend_nearest(*self._arguments, start, end, nearest, distances)
            averaged = np.arange(end) if chosen is None else chosen[chosen < end]
            _kernels.mean_gain(self.values, self.scales, self.power, nearest, averaged, weights[index])
            start = end
        return weights

    def probe_weights(self, probes: Array, probe_scales: Array) -> Array:
        """Weights of extra features, each alone at the end of the table.

        Parameters
        ----------
        probes : ndarray of shape (n_rows, n_probes)
            Their values.
        probe_scales : ndarray of shape (n_probes, 3)
            As `scales`.

        Returns
        -------
        ndarray of shape (n_probes,)
        """
        n_rows, n_probes = probes.shape
        nearest = np.full((n_rows, 2, n_probes), -1, dtype=np.int64)
        distances = np.full((n_rows, 2, n_probes), np.inf)
        _kernels.probe_nearest(*self._arguments, probes, probe_scales, nearest, distances)
        weights = np.zeros((n_probes, 1))
        for p in range(n_probes):
            column = np.ascontiguousarray(probes[:, p : p + 1])
            found = np.ascontiguousarray(nearest[:, :, p])
            _kernels.mean_gain(column, probe_scales[p : p + 1], self.power, found, np.arange(n_rows), weights[p])
        return weights[:, 0]

    @property
    def _arguments(self) -> tuple[Array, Array, int, Integers, Integers]:
        return self.values, self.scales, self.power, self.classes, self.groups


def measure(values: Array, nominal: npt.NDArray[np.bool_]) -> Array:
    """Take the scale of each feature over a whole table.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_features)
        NaN is missing.
    nominal : ndarray of bool of shape (n_features,)
        Which features are codes of categories.

    Returns
    -------
    ndarray of shape (n_features, 3)
        Low, span and gap: a numeric feature's least value and range (1 where it is constant), and NaN; for a
        nominal feature of V values the gap is 1 - 1/V, the difference of a missing value.
    """
    scales = np.tile([0.0, 1.0, np.nan], (values.shape[1], 1))
    for f in range(values.shape[1]):
        known = values[~np.isnan(values[:, f]), f]
        if nominal[f]:
            scales[f, 2] = 1.0 - 1.0 / max(1, len(np.unique(known)))
        elif len(known):
            low, high = known.min(), known.max()
            scales[f, :2] = low, high - low if high > low else 1.0
    return scales


def make_rows(
    values: Array, classes: Integers, groups: Integers, power: int, nominal: Sequence[int] | None
) -> Rows:
    """Make instances ready for the search of neighbours.

    Raises
    ------
    ValueError
        If the power is neither 1 nor 2, a nominal index is out of range, or a value is infinite.
    """
    if power not in (1, 2):
        raise ValueError(f"power is {power}, expected 1 or 2")
    n_features = values.shape[1]
    is_nominal = np.zeros(n_features, dtype=bool)
    for index in nominal or ():
        if not 0 <= index < n_features:
            raise ValueError(f"nominal names feature {index}, expected 0 to {n_features - 1}")
        is_nominal[index] = True
    values = np.ascontiguousarray(values)
    if np.isinf(values).any():
        raise ValueError(f"feature {int(np.isinf(values).any(axis=0).argmax())} has an infinite value")
    scales = measure(values, is_nominal)
    return Rows(values, scales, np.asarray(classes, np.int64), np.asarray(groups, np.int64), power)


def require_classes(classes: npt.NDArray[np.generic], counts: Integers, least: int) -> None:
    """Refuse data with one class, or with a class too small to have neighbours.

    Raises
    ------
    DataError
        Naming the class.
    """
    if len(classes) < 2:
        raise DataError(f"there is one class only, {classes.tolist()}, expected at least two")
    if counts.min() < least:
        label = classes[counts.argmin()]
        raise DataError(f"class {str(label)!r} has only {counts.min()} streams, expected at least {least}")


def rows_of(
    table: FeatureTable,
    streams: Integers,
    ticks: Integers,
    neighbours: str,
    power: int,
    nominal: Sequence[int] | None,
) -> Rows:
    """Make the instances of a table at some ticks of some streams, both of shape (n_rows,), ready for the search.

    Raises
    ------
    ValueError
        If `neighbours` is not one of `NEIGHBOURS`, or as in `make_rows`.
    DataError
        If there is one class only, or too few streams of one.
    """
    if neighbours not in NEIGHBOURS:
        raise ValueError(f"neighbours is {neighbours!r}, expected one of {', '.join(NEIGHBOURS)}")
    classes, codes = np.unique(table.labels, return_inverse=True)
    counts = np.bincount(codes[np.unique(streams)], minlength=len(classes))
    require_classes(classes, counts, 2 if neighbours == "other_streams" else 1)
    groups = streams if neighbours == "other_streams" else np.arange(len(streams))
    return make_rows(table.values[streams, ticks - 1], codes[streams], groups, power, nominal)
