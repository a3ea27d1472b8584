"""Rules for when to decide, written from their papers in plain numpy.

All look at the same trajectories: `probabilities` of shape (n_series, n_points, n_classes), `truth`, the index
of each series' class, and `when`, the share of the series that has passed at each point. They are fitted to
trajectories of series that their classifier was not fitted to. A decision costs `error` if it is wrong, and
`delay` times `when`. `stops` returns the point at which each series is decided, the last at the latest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from feature_extractors.arrays import Array, Integers

THRESHOLDS = np.r_[0.0, np.arange(0.2, 0.96, 0.025), 0.97, 0.98, 0.99, 0.995, 1.0]
COEFFICIENTS = np.linspace(-1.0, 1.0, 21)
MOST_GROUPS = 10
RIDGE = 1.0


class DecisionCost(NamedTuple):
    """What an error costs, and a delay to the end of the series."""

    error: float
    delay: float


class Trigger(Protocol):
    """A rule for when to decide."""

    def fit(self, probabilities: Array, truth: Integers, when: Array, cost: DecisionCost) -> "Trigger":
        """Fit the rule to trajectories of held-out series."""

    def stops(self, probabilities: Array) -> Integers:
        """Return the point at which each series is decided."""


def first(is_sure: NDArray[np.bool_]) -> Integers:
    """Return the first point of each series at which it is sure, else the last."""
    sure = is_sure.copy()
    sure[:, -1] = True
    return np.asarray(sure.argmax(axis=1))


def cost_of(probabilities: Array, truth: Integers, when: Array, cost: DecisionCost) -> Array:
    """Return what deciding each series at each point costs, shape (n_series, n_points)."""
    wrong = probabilities.argmax(axis=2) != truth[:, np.newaxis]
    return np.asarray(cost.error * wrong + cost.delay * when)


def mean_cost(costs: Array, stops: Integers) -> float:
    """Return the mean cost of deciding each series at its point."""
    return float(costs[np.arange(len(stops)), stops].mean())


def top_two(probabilities: Array) -> tuple[Array, Array]:
    """Return the greatest probability at each point, and its margin to the second."""
    ordered = np.sort(probabilities, axis=2)
    return ordered[:, :, -1], ordered[:, :, -1] - ordered[:, :, -2]


@dataclass
class ConstantThreshold:
    """Decide when the greatest probability reaches a threshold, that of the least cost unless it is given."""

    threshold: float | None = None

    def fit(self, probabilities: Array, truth: Integers, when: Array, cost: DecisionCost) -> "ConstantThreshold":
        """Fit the rule to trajectories of held-out series."""
        costs = cost_of(probabilities, truth, when, cost)
        found = [mean_cost(costs, self._stops(probabilities, level)) for level in THRESHOLDS]
        self.chosen = float(THRESHOLDS[np.argmin(found)]) if self.threshold is None else self.threshold
        return self

    def stops(self, probabilities: Array) -> Integers:
        """Return the point at which each series is decided."""
        return self._stops(probabilities, self.chosen)

    @staticmethod
    def _stops(probabilities: Array, level: float) -> Integers:
        return first(probabilities.max(axis=2) >= level)


@dataclass
class MarginRule:
    """Decide when a sum of the greatest probability, its margin and the time is positive.

    Mori and others, "Early classification of time series by simultaneously optimizing accuracy and earliness"
    (IEEE Transactions on Neural Networks and Learning Systems 29(10), 2018), rule SR1. The three coefficients
    are searched on a grid, where the paper has a genetic algorithm.
    """

    def fit(self, probabilities: Array, truth: Integers, when: Array, cost: DecisionCost) -> "MarginRule":
        """Fit the rule to trajectories of held-out series."""
        self.when, costs = when, cost_of(probabilities, truth, when, cost)
        greatest, margin = top_two(probabilities)
        best = np.inf
        for a, b in product(COEFFICIENTS, repeat=2):
            sums = (a * greatest + b * margin)[:, np.newaxis] + np.outer(COEFFICIENTS, when)
            is_sure = sums > 0.0
            is_sure[..., -1] = True
            stops = is_sure.argmax(axis=2)
            found = costs[np.arange(len(costs))[:, np.newaxis], stops].mean(axis=0)
            if found.min() < best:
                best, self.coefficients = float(found.min()), (a, b, float(COEFFICIENTS[found.argmin()]))
        return self

    def stops(self, probabilities: Array) -> Integers:
        """Return the point at which each series is decided."""
        a, b, c = self.coefficients
        greatest, margin = top_two(probabilities)
        return first(a * greatest + b * margin + c * self.when > 0.0)


@dataclass
class EconomyGamma:
    """Decide when no later point is expected to cost less, given the present group of confidence.

    Achenchabe, Bondu, Cornuéjols and Dachraoui, "Early classification of time series: cost-based optimization
    criterion and algorithms" (Machine Learning 110, 2021), with the greatest probability as confidence. At each
    point the series are divided into groups of equal size; a Markov chain of the groups foretells the later
    ones. The number of groups is that of the least cost.
    """

    def fit(self, probabilities: Array, truth: Integers, when: Array, cost: DecisionCost) -> "EconomyGamma":
        """Fit the rule to trajectories of held-out series."""
        costs, best = cost_of(probabilities, truth, when, cost), np.inf
        for n_groups in range(1, MOST_GROUPS + 1):
            tried = self._chain(probabilities, costs, n_groups)
            found = mean_cost(costs, self._stops(probabilities, *tried))
            if found < best:
                best, (self.edges, self.waits) = found, tried
        return self

    def stops(self, probabilities: Array) -> Integers:
        """Return the point at which each series is decided."""
        return self._stops(probabilities, self.edges, self.waits)

    @classmethod
    def _chain(cls, probabilities: Array, costs: Array, n_groups: int) -> tuple[Array, NDArray[np.bool_]]:
        """Return the edges of the groups at each point, and in which groups it is worth waiting."""
        confidence = probabilities.max(axis=2)
        edges = np.quantile(confidence, np.arange(1, n_groups) / n_groups, axis=0).T
        groups = cls._groups(confidence, edges)
        n_points = costs.shape[1]
        now = np.empty((n_points, n_groups))
        for point, group in product(range(n_points), range(n_groups)):
            members = groups[:, point] == group
            now[point, group] = costs[members if members.any() else slice(None), point].mean()
        steps = [
            cls._transitions(groups[:, point], groups[:, point + 1], n_groups) for point in range(n_points - 1)
        ]
        waits = np.zeros((n_points, n_groups), dtype=bool)
        for point in range(n_points - 1):
            reach, later = np.eye(n_groups), np.full(n_groups, np.inf)
            for step, then in zip(steps[point:], now[point + 1 :], strict=True):
                reach = reach @ step
                later = np.minimum(later, reach @ then)
            waits[point] = later < now[point]
        return edges, waits

    @staticmethod
    def _transitions(before: Integers, after: Integers, n_groups: int) -> Array:
        """Return the shares of each group that go to each group; of an empty group, all alike."""
        counts = np.zeros((n_groups, n_groups))
        np.add.at(counts, (before, after), 1.0)
        counts[counts.sum(axis=1) == 0.0] = 1.0
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    @staticmethod
    def _groups(confidence: Array, edges: Array) -> Integers:
        return np.asarray((confidence[:, :, np.newaxis] >= edges).sum(axis=2))

    @classmethod
    def _stops(cls, probabilities: Array, edges: Array, waits: NDArray[np.bool_]) -> Integers:
        groups = cls._groups(probabilities.max(axis=2), edges)
        return first(~waits[np.arange(waits.shape[0]), groups])


@dataclass
class Calimera:
    """Decide when waiting is not predicted to cost less, by kernel regressions fitted from the last point back.

    Bilski and Jastrzębska, "CALIMERA: a new early time series classification method" (Information Processing and
    Management 60(5), 2023). At each point a kernel ridge regression predicts how much more deciding now costs than
    the least cost later, from the probabilities, the greatest of them and its margin.
    """

    def fit(self, probabilities: Array, truth: Integers, when: Array, cost: DecisionCost) -> "Calimera":
        """Fit the rule to trajectories of held-out series."""
        costs = cost_of(probabilities, truth, when, cost)
        seen = self._seen(probabilities)
        later = costs[:, -1]
        self.rules: list[tuple[Array, Array]] = []
        for point in range(costs.shape[1] - 2, -1, -1):
            rows = seen[:, point]
            kernel = self._kernel(rows, rows)
            solved = np.linalg.solve(kernel + RIDGE * np.eye(len(rows)), costs[:, point] - later)
            weights = np.asarray(solved, dtype=np.float64)
            self.rules.insert(0, (rows, weights))
            later = np.where(kernel @ weights <= 0.0, costs[:, point], later)
        return self

    def stops(self, probabilities: Array) -> Integers:
        """Return the point at which each series is decided."""
        seen = self._seen(probabilities)
        is_sure = np.ones(probabilities.shape[:2], dtype=bool)
        for point, (rows, weights) in enumerate(self.rules):
            is_sure[:, point] = self._kernel(seen[:, point], rows) @ weights <= 0.0
        return first(is_sure)

    @staticmethod
    def _seen(probabilities: Array) -> Array:
        return np.concatenate([probabilities, np.stack(top_two(probabilities), axis=2)], axis=2)

    @staticmethod
    def _kernel(a: Array, b: Array) -> Array:
        """Return Gaussian similarities with a width of one over the number of columns."""
        squares = ((a[:, np.newaxis] - b) ** 2).sum(axis=2)
        return np.asarray(np.exp(-squares / a.shape[1]))


TRIGGERS: Mapping[str, Callable[[], Trigger]] = {
    "threshold": ConstantThreshold,
    "SR": MarginRule,
    "ECONOMY-gamma": EconomyGamma,
    "CALIMERA": Calimera,
}
"""The triggers, by name."""
