"""What `train` fits, by name or as given."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from feature_extractors.arrays import Integers
from feature_extractors.own_parts import own_part
from streamfs.classifiers.estimator import EstimatorClassifier
from streamfs.relief import position_grid
from streamfs.selection.query_sensitive import QuerySensitiveNeighbors
from streamfs.training.cross_validation import Learn
from streamfs.training.learners import (
    BOOSTING,
    FOREST,
    LEARNERS,
    Rows,
    boosting_learner,
    forest_learner,
    model_learner,
    rows_at,
    tree_learner,
    uncalibrated_learner,
)
from streamfs.training.query_sensitive import NAMED, NeighborsLearner, named_neighbors, require_reach

if TYPE_CHECKING:
    from river.base import Classifier as RiverClassifier

    from streamfs.classifiers.estimator import ProbabilisticModel

TREE = "c45"

MODELS = (*LEARNERS, *NAMED)
"""Models by name."""

OWN_LEARNERS: dict[str, Learn] = {}
"""Learners registered by `register_learner`, by name."""

MIN_LEAF = 2
"""Streams in a leaf of a tree."""


@dataclass(frozen=True, eq=False)
class TrainingModel:
    """What is fitted: its name or itself, the confidence that neighbours must reach, and a seed."""

    classifier: "str | QuerySensitiveNeighbors | RiverClassifier | ProbabilisticModel | Learn"
    confidence: float
    seed: int

    @property
    def is_tree(self) -> bool:
        """Whether it is a C4.5 tree, whose leaves count streams."""
        return isinstance(self.classifier, str) and self.classifier == TREE

    def learner(self, n_classes: int, points: Integers, time_limit: int) -> Learn:
        """Return the function that fits it to streams, mostly at the ticks `points`."""
        classifier = self.classifier
        if isinstance(classifier, str) and classifier in NAMED:
            classifier = named_neighbors(classifier, self.confidence, n_classes)
        if isinstance(classifier, QuerySensitiveNeighbors):
            require_reach(classifier, self.confidence, n_classes)
            return NeighborsLearner(classifier, points, self.seed)
        if isinstance(classifier, str) and classifier in LEARNERS:
            return self._named(classifier, time_limit)
        return own_learner(classifier, MODELS, partial(rows_at, points=points))

    def _named(self, model: str, time_limit: int) -> Learn:
        if model == FOREST:
            return forest_learner(MIN_LEAF, time_limit, self.seed)
        return boosting_learner(time_limit, self.seed) if model == BOOSTING else tree_learner(MIN_LEAF, time_limit)


def training_positions(n_ticks: int, time_limit: int) -> Integers:
    """Return the ticks at which weights are computed, and of which neighbours store the rows."""
    return np.asarray(position_grid(min(time_limit, n_ticks)))


def own_learner(classifier: object, names: Sequence[str], rows: Rows) -> Learn:
    """Return what fits a classifier that is given, or that goes by a name of others; `names` are ours.

    A classifier of another library is fitted to `rows`.
    """
    found: Any = classifier
    if isinstance(classifier, str):
        found = OWN_LEARNERS.get(classifier) or own_part("streamfs.learners", classifier)
    if found is None:
        raise ValueError(f"classifier is {classifier!r}, expected one of {', '.join(names)}, or a classifier")
    if isinstance(found, type):
        word = found.__name__
        raise TypeError(f"classifier is the class {word}, expected an instance, such as {word}()")
    if EstimatorClassifier.is_model(found) or not callable(found):
        return model_learner(found, rows)
    return uncalibrated_learner(found)


def register_learner(name: str, learn: Learn) -> None:
    """Let `train` fit a model of your own by its name.

    Parameters
    ----------
    name : str
        What `train(classifier=...)` is given.
    learn : callable
        Fits a classifier to a `FeatureTable`.

    Raises
    ------
    ValueError
        If the name belongs to another model.
    """
    if name in MODELS or OWN_LEARNERS.get(name, learn) is not learn:
        raise ValueError(f"name is {name!r}, expected one that is not taken")
    OWN_LEARNERS[name] = learn
