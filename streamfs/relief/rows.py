"""Instances as Relief takes them: values with the scale of each feature, classes, and who may be neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array
from streamfs.relief import _kernels
from streamfs.streams import Integers


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
