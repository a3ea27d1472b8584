"""Relief's instances: measured values, classes, and groups that exclude neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.base.estimators import nominal_mask
from streamfs.data.feature_table import FeatureTable
from streamfs.errors import DataError
from streamfs.relief._kernels import Measured
from streamfs.relief._search import Voting
from streamfs.relief.measure import measure
from streamfs.relief.neighbours import lay_out, mean_gains, mean_probe_gains, relief_voting

NEIGHBOURS = ("other_streams", "any")
"""Instances that may be a near hit or miss: those of other streams, or any except the instance itself."""


@dataclass(frozen=True)
class ReliefRows:
    """Instances of Relief, never neighbours within a group; the power of each difference is 1 or 2."""

    measured: Measured
    classes: Integers
    groups: Integers
    power: int = 1

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.classes.max()) + 1

    def weights(self, ends: Sequence[int], chosen: Integers | None = None) -> Array:
        """Return Relief weights of growing training sets, each the rows before an end; shape (n_ends, n_features).

        As rows arrive, a row's nearest hit and miss only get nearer, so one pass serves all the sets. The ends
        rise to the number of rows; the mean of equation 2 is over the chosen instances, by default all, and 0 if
        no row has both a hit and a miss.
        """
        return self.mean_gains(relief_voting(self.n_classes), ends, chosen)

    def mean_gains(self, voting: Voting, ends: Sequence[int], chosen: Integers | None = None) -> Array:
        """Return weights as in `weights`, with another method's voting."""
        field = lay_out(self.measured, self.classes, self.groups, self.power, np.asarray(ends))
        return mean_gains(field, voting, np.arange(len(self)) if chosen is None else chosen, len(ends))

    def probe_weights(self, probes: Measured) -> Array:
        """Return the weights of extra features, each alone at the end of the table; shape (n_probes,)."""
        field = lay_out(self.measured, self.classes, self.groups, self.power, np.array([len(self)]))
        return mean_probe_gains(field, relief_voting(self.n_classes), probes)


def make_rows(
    values: Array,
    classes: Integers,
    groups: Integers,
    power: int,
    nominal: Sequence[int] | None,
    ranges: npt.ArrayLike | None = None,
) -> ReliefRows:
    """Measure instances for the neighbour search; ValueError for a bad power or index, or as in `measure`."""
    if power not in (1, 2):
        raise ValueError(f"power is {power}, expected 1 or 2")
    measured = measure(values, nominal_mask(nominal, values.shape[1]), ranges)
    classes, groups = (np.ascontiguousarray(numbers, np.int64) for numbers in (classes, groups))
    return ReliefRows(measured, classes, groups, int(power))


def group_numbers(groups: npt.ArrayLike | None, n_rows: int) -> Integers:
    """Return the number of each row's group, from 0, by default a group per row; ValueError for a wrong shape."""
    if groups is None:
        return np.arange(n_rows)
    groups = np.asarray(groups)
    if groups.shape != (n_rows,):
        raise ValueError(f"groups have shape {groups.shape}, expected {(n_rows,)}, one a row")
    numbers: Integers = np.unique(groups, return_inverse=True)[1]
    return numbers


def require_classes(classes: npt.NDArray[np.generic], counts: Integers, least: int) -> None:
    """Raise a DataError for a single class, or for a class too small to have neighbours."""
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
) -> ReliefRows:
    """Measure the instances of a table at some ticks of some streams, both of shape (n_rows,)."""
    if neighbours not in NEIGHBOURS:
        raise ValueError(f"neighbours is {neighbours!r}, expected one of {', '.join(NEIGHBOURS)}")
    classes, codes = np.unique(table.labels, return_inverse=True)
    counts = np.bincount(codes[np.unique(streams)], minlength=len(classes))
    require_classes(classes, counts, 2 if neighbours == "other_streams" else 1)
    groups = streams if neighbours == "other_streams" else np.arange(len(streams))
    return make_rows(table.values[streams, ticks - 1], codes[streams], groups, power, nominal)
