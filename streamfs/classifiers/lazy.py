"""Nearest neighbours that request more features if a row is unusual, as a model file holds them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Flags, Integers
from streamfs.classifiers._lazy import Stored, vote
from streamfs.classifiers._lazy_fields import check_fields, read_fields
from streamfs.classifiers._tied import vote_with_ties
from streamfs.classifiers.classifier import Classifier, FileParts
from streamfs.classifiers.lazy_text import lazy_text


@dataclass(frozen=True, eq=False)
class LazyNeighbors(Classifier):
    """Stored instances, a subset of their features, and thresholds above which others join it.

    A row is compared with the instances by the features of the subset and by those others whose value is unusual
    in the row: at least a threshold away from the mean, both as shares of the feature's range in the instances.

    Notes
    -----
    Distances are sums of squared differences, feature by feature in order. Numbers differ by their difference
    divided by the range, a missing one from v by max(v, 1 - v), where v is a share of the range; categories by 0
    or 1, a missing one among V by 1 - 1/V. Equally near instances are taken by index, or all, if they are `tied`;
    without any compared feature all are equally near. An infinite value of a row counts as missing. The
    probability of a class is its share of the votes or, with `laplace`, (votes + 1) / (all votes + n_classes).

    References
    ----------
    X. Tong and M. Gu, Query-sensitive feature selection for lazy learners, CIDM 2007, equations 1, 2 and tables 1,
    2.
    """

    word: ClassVar = "neighbours"
    releases_features: ClassVar = True

    values: Array  # (n_instances, n_features); NaN is missing
    classes: Integers  # (n_instances,); numbers from 0
    n_classes: int
    subset: Flags  # (n_features,)
    means: Array  # (n_features,); shares of the range, NaN only for features that never join
    thresholds: Array  # (n_features,); shares of the range, infinite for features that never join
    nominal: Flags  # (n_features,); nominal features never join
    n_neighbors: int = 1
    laplace: bool = False
    tied: bool = False

    def __post_init__(self) -> None:
        check_fields({field.name: getattr(self, field.name) for field in fields(self)})

    @property
    def n_features(self) -> int:
        """Number of features of the instances."""
        return int(self.values.shape[1])

    @cached_property
    def stored(self) -> Stored:
        """The instances as the compiled search reads them."""
        lows, spans = ranges_of(self.values)
        n_codes = np.array([len(np.unique(column[~np.isnan(column)])) for column in self.values.T])
        return Stored(
            np.ascontiguousarray(self.values),
            np.where(self.nominal, 0.0, lows),
            np.where(self.nominal, 1.0, spans),
            np.where(self.nominal, 1.0 - 1.0 / np.maximum(n_codes, 1), 1.0),
            np.ascontiguousarray(self.nominal),
        )

    @cached_property
    def joining(self) -> Flags:
        """The features that join where they are unusual, bool of shape (n_features,)."""
        joining: Flags = ~self.subset & (self.thresholds < np.inf)
        return joining

    def features_tested(self) -> tuple[int, ...]:
        """Return the indices of the features that a row may be compared by, ascending."""
        return tuple(np.flatnonzero(self.subset | self.joining).tolist())

    def unusual(self, values: Array) -> Flags:
        """Return which features join the subset for each row, shape (n_rows, n_features); missing ones do not."""
        rows = self._rows(values)
        with np.errstate(over="ignore", invalid="ignore"):
            gaps = abs(shares_of(rows, self.stored.lows, self.stored.spans) - self.means)
        return self.joining & (gaps >= self.thresholds)

    def requests(self, values: Array) -> Flags:
        """Return which features are compared, or may yet be because they are undefined, for each row."""
        found: Flags = self.subset | self.unusual(values) | (self.joining & np.isnan(self._rows(values)))
        return found

    def probabilities(self, values: Array) -> Array:
        """Return the probability of each class for each row, by the votes of the nearest instances."""
        rows, asked = self._rows(values), self.subset | self.unusual(values)
        votes = np.empty((len(rows), self.n_classes))
        compared = np.empty(self.n_features, dtype=np.int64)
        distances, neighbours = np.empty(self.n_neighbors), np.empty(self.n_neighbors, dtype=np.int64)
        classes = np.ascontiguousarray(self.classes)
        count = vote_with_ties if self.tied else vote
        count(self.stored, classes, rows, asked, compared, distances, neighbours, votes)
        added = 1.0 if self.laplace else 0.0
        probabilities: Array = (votes + added) / (votes.sum(axis=1, keepdims=True) + added * self.n_classes)
        return probabilities

    def require_features(self, n_features: int) -> None:
        """Raise ValueError unless rows of `n_features` features can be compared with the instances."""
        super().require_features(n_features)
        if self.n_features != n_features:
            raise ValueError(f"the neighbours have {self.n_features} features, expected {n_features}")

    def text(self, feature_names: Sequence[str], class_names: Sequence[str] = ()) -> str:  # noqa: ARG002
        """Return the number of voters, the features that always count, and the bounds from which others join."""
        return lazy_text(self, feature_names)

    def describe(self) -> str:
        """Return a noun phrase for the model card."""
        return (
            f"nearest neighbours: {self.n_neighbors} of {len(self.values)} stored instances vote, and "
            "some channels are asked for only while a stream is unusual"
        )

    def to_file(self) -> FileParts:
        """Return its parts of a model file."""
        return FileParts({}, self.to_arrays(), {})

    @classmethod
    def from_file(cls, parts: FileParts, feature_names: Sequence[str], classes: Sequence[str]) -> Self:  # noqa: ARG003
        """Read what `to_file` returned."""
        return cls.from_arrays(parts.arrays)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return fields as arrays, which `from_arrays` takes; numbers have shape (1,). `tied` is there if set."""
        given = {field.name: np.atleast_1d(np.asarray(getattr(self, field.name))) for field in fields(self)}
        return given if self.tied else {name: array for name, array in given.items() if name != "tied"}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Read what `to_arrays` made; raise ModelError if a field is missing, unknown or wrong."""
        return cls(**read_fields(arrays))

    def _rows(self, values: Array) -> Array:
        """Return the rows as the compiled search reads them."""
        rows = np.asarray(values, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"values have shape {rows.shape}, expected (n_rows, {self.n_features})")
        return np.ascontiguousarray(np.where(np.isfinite(rows), rows, np.nan))


def ranges_of(values: Array) -> tuple[Array, Array]:
    """Return features' minima and ranges, infinite for constants; raise ValueError if a range overflows."""
    lows, highs = np.nan_to_num(np.fmin.reduce(values)), np.nan_to_num(np.fmax.reduce(values))
    with np.errstate(over="ignore"):
        spans = highs - lows
    for f in np.flatnonzero(np.isinf(spans)):
        raise ValueError(f"feature {f} spans more than a number can hold")
    return lows, np.where(spans > 0.0, spans, np.inf)


def shares_of(values: Array, lows: Array, spans: Array) -> Array:
    """Return values as shares of their features' ranges, from 0 to 1 inside; 0 for a constant feature."""
    shares: Array = (values - lows) / spans
    return shares
