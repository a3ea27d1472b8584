"""Densities of classes as sums of kernels, one around each row."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Self

import numpy as np

from feature_extractors.arrays import Array, Flags, Integers
from streamfs.classifiers._kernel_density import ClassKernels, log_densities

KERNELS = ("standard", "adaptive")
FARTHEST = 1e30
"""The largest distance, and the inverse of the least bandwidth, in ranges of a feature."""


@dataclass(frozen=True)
class MeasuredClasses:
    """The rows of each class, scaled by the features' ranges, and the statistics that bandwidths depend on."""

    low: Array  # (n_features,); 0 if nominal
    spans: Array  # (n_features,); 1 if nominal or constant
    is_nominal: Flags
    n_categories: Array  # (n_features,); 1 if numeric
    columns: tuple[Array, ...]  # (n_features, n_rows) per class; NaN is missing
    deviations: Array  # (n_classes, n_features); positive, in ranges
    is_known: Flags  # (n_classes, n_features); whether there is any value

    @classmethod
    def measure(cls, values: Array, classes: Integers, is_nominal: Flags) -> Self:
        """Measure the classes, numbers from 0, all in use; raise ValueError if a feature's range overflows."""
        low, spans = _ranges(values, is_nominal)
        values = _in_ranges(values, low, spans)
        parts = [values[classes == c] for c in range(int(classes.max()) + 1)]
        everywhere = _deviations(values)
        everywhere = np.where(everywhere > 0.0, everywhere, 1.0)
        deviations = np.array([_deviations(part) for part in parts])
        return cls(
            low,
            spans,
            is_nominal,
            _n_categories(values, is_nominal),
            tuple(np.ascontiguousarray(part.T) for part in parts),
            np.where(deviations > 0.0, deviations, everywhere),
            np.array([~np.isnan(part).all(axis=0) for part in parts]),
        )

    def only(self, features: Sequence[int] | Integers) -> Self:
        """Return the same for some of the features, by their indices."""
        return replace(
            self,
            low=self.low[features],
            spans=self.spans[features],
            is_nominal=self.is_nominal[features],
            n_categories=self.n_categories[features],
            columns=tuple(columns[features] for columns in self.columns),
            deviations=self.deviations[:, features],
            is_known=self.is_known[:, features],
        )

    @property
    def sizes(self) -> Integers:
        """Number of rows of each class."""
        return np.array([columns.shape[1] for columns in self.columns])


@dataclass(frozen=True)
class ClassDensities:
    """Kernels around the rows of each class."""

    measured: MeasuredClasses
    bandwidths: Array  # (n_classes, n_features); in ranges, 1 if nominal
    rows: tuple[ClassKernels, ...]

    def probabilities(self, values: Array) -> Array:
        """Probability of each class by Bayes' rule, shape (n_rows, n_classes)."""
        queries = _in_ranges(values, self.measured.low, self.measured.spans)
        logs = np.empty((len(queries), len(self.rows)))
        for c, rows in enumerate(self.rows):
            logs[:, c] = log_densities(rows, queries / self.bandwidths[c]) + np.log(self.measured.sizes[c])
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        probabilities: Array = shares / shares.sum(axis=1, keepdims=True)
        return probabilities


@dataclass(frozen=True)
class Smoothing:
    """The kind and the bandwidth of kernels.

    Bandwidths are in standard deviations of a class, by default Silverman's normal reference; "adaptive" kernels
    are wider where rows are sparse.
    """

    kernel: str = "standard"
    bandwidth: float | None = None

    def __post_init__(self) -> None:
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel is {self.kernel!r}, expected one of {', '.join(KERNELS)}")
        width = self.bandwidth
        if width is not None and (not isinstance(width, Real) or not 0.0 < width < np.inf):
            raise ValueError(f"bandwidth is {width!r}, expected a positive number, or None")

    def place(self, measured: MeasuredClasses) -> ClassDensities:
        """Place a kernel around each row."""
        bandwidths = self._bandwidths(measured)
        sizes, is_nominal = measured.sizes[:, np.newaxis], measured.is_nominal
        log_other = np.where(is_nominal, -np.log(measured.n_categories + sizes), 0.0)
        at_none = -np.log(bandwidths * np.sqrt(2.0 * np.pi))
        log_equal = np.where(is_nominal, np.log1p(sizes) + log_other, at_none)
        placed = []
        for c, columns in enumerate(measured.columns):
            even, falls = np.zeros(columns.shape[1]), np.full(columns.shape[1], -0.5)
            rows = ClassKernels(
                columns / bandwidths[c][:, np.newaxis], is_nominal, log_equal[c], log_other[c], even, falls
            )
            placed.append(_adapted(rows) if self.kernel == "adaptive" else rows)
        return ClassDensities(measured, bandwidths, tuple(placed))

    def _bandwidths(self, measured: MeasuredClasses) -> Array:
        """Return standard bandwidths in ranges, 1 for nominal features."""
        d = (measured.is_known & ~measured.is_nominal).sum(axis=1)
        factors = (4.0 / ((d + 2.0) * measured.sizes)) ** (1.0 / (d + 4.0))
        if self.bandwidth is not None:
            factors = np.full(len(factors), float(self.bandwidth))
        widths = np.maximum(measured.deviations * factors[:, np.newaxis], 1.0 / FARTHEST)
        return np.where(measured.is_nominal, 1.0, widths)


def _adapted(rows: ClassKernels) -> ClassKernels:
    """Change the bandwidths of rows by the density that they have there, to the power -1/2."""
    pilot = log_densities(rows, rows.columns.T)
    log_factors = np.clip(-0.5 * (pilot - pilot.mean()), -100.0, 100.0)  # beyond, squares would overflow
    return rows._replace(log_factors=log_factors, falls=-0.5 * np.exp(-2.0 * log_factors))


def _in_ranges(values: Array, low: Array, spans: Array) -> Array:
    """Return numeric values in ranges of their features, nominal ones as they are."""
    with np.errstate(over="ignore"):
        return np.clip((values - low) / spans, -FARTHEST, FARTHEST)


def _ranges(values: Array, is_nominal: Flags) -> tuple[Array, Array]:
    """Return the lows and the spans of the features, 0 and 1 of nominal ones."""
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    is_measured = (low < high) & ~is_nominal
    with np.errstate(over="ignore"):
        spans = np.where(is_measured, high - low, 1.0)
    if np.isinf(spans).any():
        raise ValueError(f"feature {int(np.isinf(spans).argmax())} spans more than a number can hold")
    return np.where(is_nominal, 0.0, low), spans


def _deviations(values: Array) -> Array:
    """Return the standard deviation of each column's known values, 0 if there are fewer than two distinct ones."""
    known = ~np.isnan(values)
    counts = known.sum(axis=0)
    means = np.where(known, values, 0.0).sum(axis=0) / np.maximum(counts, 1)
    squares = (np.where(known, values - means, 0.0) ** 2).sum(axis=0)
    varies = np.fmin.reduce(values) < np.fmax.reduce(values)
    return np.where(varies, np.sqrt(squares / np.maximum(counts - 1, 1)), 0.0)


def _n_categories(values: Array, is_nominal: Flags) -> Array:
    """Return the number of categories of each nominal feature; 1 for the others."""
    counts = np.ones(values.shape[1])
    for feature in np.flatnonzero(is_nominal):
        column = values[:, feature]
        counts[feature] = len(np.unique(column[~np.isnan(column)]))
    return counts
