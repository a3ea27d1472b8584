"""Early classifiers of other packages, and a random forest for each prefix, behind one interface.

Peers see classes as whole numbers, and series of shape (n_series, n_ticks, n_columns). Their decisions are whole
numbers of classes, ticks, and the confidence at the decision, NaN where a peer does not state any.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from feature_extractors.arrays import Array, Integers
from streamfs.base.optional import load_optional

load_peer = partial(load_optional, extra="bench")

N_POINTS, N_TREES, SHORTEST = 20, 50, 3
"""Prefixes that peers decide at, evenly spread; trees of their forests; fewest ticks of aeon's prefixes."""

MOST_CASES, FEW_CASES = 150, 100
"""Test series of aeon's and of tslearn's, which take up to a tenth of a second a series."""


class Decided(NamedTuple):
    """Decisions on test series."""

    classes: Integers
    ticks: Integers
    stated: Array


def even_points(n_ticks: int, shortest: int = 1) -> Integers:
    """Return prefixes of equal steps, the last being the whole series."""
    points = np.round(np.linspace(n_ticks / N_POINTS, n_ticks, N_POINTS)).astype(np.int64)
    return np.unique(np.maximum(points, min(shortest, n_ticks)))


class ProbabilityThreshold:
    """aeon's classifier with a threshold of 0.85, its default, and time series forests."""

    most_cases = MOST_CASES

    def fit(self, values: Array, classes: Integers, seed: int) -> "ProbabilityThreshold":
        """Fit to series of shape (n_series, n_ticks, n_columns) and classes as whole numbers."""
        self.peer = self._peer(even_points(values.shape[1], SHORTEST).tolist(), seed)
        self.peer.fit(values.transpose(0, 2, 1), classes)
        return self

    def decide(self, values: Array) -> Decided:
        """Decide series, and return classes, ticks and stated confidence."""
        shares, _ = self.peer.predict_proba(values.transpose(0, 2, 1))
        state = self.peer.get_state_info()
        return Decided(shares.argmax(axis=1), state[:, 3], shares.max(axis=1))

    @staticmethod
    def _forest() -> Any:
        return load_peer("aeon.classification.interval_based").TimeSeriesForestClassifier(n_estimators=N_TREES)

    def _peer(self, points: list[int], seed: int) -> Any:
        early = load_peer("aeon.classification.early_classification")
        return early.ProbabilityThresholdEarlyClassifier(
            estimator=self._forest(), classification_points=points, random_state=seed
        )


class Teaser(ProbabilityThreshold):
    """aeon's TEASER, with time series forests."""

    def _peer(self, points: list[int], seed: int) -> Any:
        early = load_peer("aeon.classification.early_classification")
        return early.TEASER(estimator=self._forest(), classification_points=points, random_state=seed)


class NonMyopic:
    """tslearn's classifier; waiting for the whole series costs as much as an error. Else its defaults."""

    most_cases = FEW_CASES

    def fit(self, values: Array, classes: Integers, seed: int) -> "NonMyopic":
        """Fit to series of shape (n_series, n_ticks, n_columns) and classes as whole numbers."""
        early = load_peer("tslearn.early_classification")
        self.peer = early.NonMyopicEarlyClassifier(cost_time_parameter=1.0 / values.shape[1], random_state=seed)
        self.peer.fit(values, classes)
        return self

    def decide(self, values: Array) -> Decided:
        """Decide series, and return classes, ticks and stated confidence."""
        classes, ticks = self.peer.predict_class_and_earliness(values)
        return Decided(np.asarray(classes), np.asarray(ticks), np.full(len(values), np.nan))


class PrefixForests:
    """A random forest of scikit-learn for each prefix; the series it was fitted to are classified out of bag."""

    def fit(self, values: Array, classes: Integers, seed: int) -> "PrefixForests":
        """Fit to series of shape (n_series, n_ticks, n_columns) and classes as whole numbers."""
        self.points = even_points(values.shape[1])
        forest = RandomForestClassifier(N_TREES, oob_score=True, random_state=seed)
        self.forests = [
            type(forest)(**forest.get_params()).fit(self._rows(values, p), classes) for p in self.points
        ]
        return self

    def held_out(self) -> Array:
        """Return the probabilities of the fitted series out of bag, shape (n_series, n_points, n_classes)."""
        shares = np.stack([forest.oob_decision_function_ for forest in self.forests], axis=1)
        return np.where(np.isnan(shares), 1.0 / shares.shape[2], shares)

    def probabilities(self, values: Array) -> Array:
        """Return the probabilities of series, shape (n_series, n_points, n_classes)."""
        pairs = zip(self.forests, self.points, strict=True)
        return np.stack([forest.predict_proba(self._rows(values, point)) for forest, point in pairs], axis=1)

    @staticmethod
    def _rows(values: Array, point: int) -> Array:
        return values[:, :point].reshape(len(values), -1)
