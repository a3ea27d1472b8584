"""Choose how many of the ranked features to offer a classifier, by its decisions on held-out streams."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from feature_extractors.arrays import Array, Integers
from streamfs.base.progress import Progress, quiet
from streamfs.costs.costs import Costs
from streamfs.data.feature_table import FeatureTable
from streamfs.errors import TrainingError
from streamfs.selection.folds import Fold, make_folds
from streamfs.training.cross_validation import N_FOLDS, CrossValidation, HeldOutStreams, Learn, stratified_folds
from streamfs.training.unlabelled import leaf_reason, unlabelled

TOLERANCE = 0.02
"""How much accuracy and completeness may fall short of the best for a lower cost."""


@dataclass(frozen=True, eq=False)
class SizeValidation:
    """Decisions on held-out streams with some of the features, at any confidence.

    The classifiers of a choice of features are fitted once and reused at every threshold. `is_tree` says that they
    are trees whose leaves count streams, with Laplace's correction.
    """

    table: FeatureTable
    costs: Costs
    learn: Learn
    time_limit: int
    seed: int = 0
    is_tree: bool = False
    _known: dict[tuple[int, ...], list[HeldOutStreams]] = field(default_factory=dict, init=False)

    @cached_property
    def folds(self) -> tuple[Fold, ...]:
        """Every class spread evenly, and every group in one fold."""
        labels, groups = self.table.labels, self.table.groups
        if groups is None:
            return stratified_folds(labels, N_FOLDS, self.seed)
        n_folds = min(N_FOLDS, len(np.unique(groups)))
        return make_folds(np.zeros((len(labels), 1)), labels, groups, n_folds, self.seed)

    def unlabelled(self, what: str, confidence: float) -> TrainingError:
        """Return the error that no held-out stream is given a label."""
        said = [part.trajectories.confidence.max() for parts in self._known.values() for part in parts]
        reason = leaf_reason(confidence, self.table.labels, self.folds) if self.is_tree else ""
        return unlabelled(what, confidence, np.array(said), reason)

    def evaluate(self, chosen: Sequence[int] | Integers, confidence: float) -> Array:
        """Return the numbers of labelled and of rightly labelled streams, and the summed cost."""
        key = tuple(int(feature) for feature in chosen)
        if key not in self._known:
            self._known[key] = CrossValidation(self.table, self.folds, self.learn, self.time_limit).run(key)
        return np.asarray(np.sum([self._evaluate(part, confidence) for part in self._known[key]], axis=0))

    def _evaluate(self, part: HeldOutStreams, confidence: float) -> Array:
        found, ticks = part.trajectories.decide(confidence)
        labelled = found >= 0
        right = labelled & (found == part.truth)
        costs = self.costs.take(list(part.tested))
        return np.array([labelled.sum(), right.sum(), sum(part.trajectories.spent(costs, ticks))])


def choose_size(
    validation: SizeValidation, ranking: Integers, confidence: float, progress: Progress = quiet
) -> int:
    """Choose the number of features with the least cost among those about as good as the best.

    All streams are ranked, so that a number of features means the same ones in every fold; only the classifiers
    are fitted without the streams that they are tested on.
    """
    sizes = sizes_to_try(len(ranking))
    figures = np.zeros((len(sizes), 3))
    progress("choosing how many features", 0, len(sizes))
    for index, size in enumerate(sizes):
        figures[index] = validation.evaluate(ranking[:size], confidence)
        progress("choosing how many features", index + 1, len(sizes))
    n_labelled, n_right, cost = figures.T
    if not n_labelled.any():
        raise validation.unlabelled("no number of features gives any held-out stream", confidence)
    completeness = n_labelled / len(validation.table.labels)
    accuracy = np.divide(n_right, n_labelled, out=np.zeros(len(sizes)), where=n_labelled > 0)
    return int(sizes[cheapest_good(completeness, accuracy, cost)])


def cheapest_good(completeness: Array, accuracy: Array, cost: Array) -> int:
    """Return the index of the least cost among those within 0.02 of the best accuracy and completeness.

    If there are none, the index of the least cost among those with the smallest maximal shortfall.
    """
    shortfall = np.maximum(completeness.max() - completeness, accuracy.max() - accuracy)
    good = shortfall <= max(TOLERANCE, shortfall.min()) + 1e-12
    return int(np.where(good, cost, np.inf).argmin())


def sizes_to_try(n_features: int) -> Integers:
    """Return the numbers of features to compare: each up to 12, then a third more each time, and all."""
    sizes = [1]
    while sizes[-1] < n_features:
        sizes.append(min(n_features, sizes[-1] + 1 if sizes[-1] < 12 else sizes[-1] * 4 // 3))
    return np.array(sizes)
