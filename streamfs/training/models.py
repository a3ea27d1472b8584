"""What `train` fits, by name or as given."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from feature_extractors.own_parts import own_part
from streamfs.classifiers.estimator import EstimatorClassifier
from streamfs.data.streams import Integers
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

    model: "str | QuerySensitiveNeighbors | RiverClassifier | ProbabilisticModel | Learn"
    confidence: float
    seed: int

    @property
    def is_tree(self) -> bool:
        """Whether it is a C4.5 tree, whose leaves count streams."""
        return isinstance(self.model, str) and self.model == TREE

    def learner(self, n_classes: int, points: Integers, time_limit: int) -> Learn:
        """Return the function that fits it to streams, mostly at the ticks `points`."""
        model = self.model
        if isinstance(model, str) and model in NAMED:
            model = named_neighbors(model, self.confidence, n_classes)
        if isinstance(model, QuerySensitiveNeighbors):
            require_reach(model, self.confidence, n_classes)
            return NeighborsLearner(model, points, self.seed)
        if isinstance(model, str) and model in LEARNERS:
            return self._named(model, time_limit)
        return own_learner(model, MODELS, partial(rows_at, points=points))

    def _named(self, model: str, time_limit: int) -> Learn:
        if model == FOREST:
            return forest_learner(MIN_LEAF, time_limit, self.seed)
        return boosting_learner(time_limit, self.seed) if model == BOOSTING else tree_learner(MIN_LEAF, time_limit)


def training_positions(n_ticks: int, time_limit: int) -> Integers:
    """Return the ticks at which weights are computed, and of which neighbours store the rows."""
    return np.asarray(position_grid(min(time_limit, n_ticks)))


def own_learner(model: object, names: Sequence[str], rows: Rows) -> Learn:
    """Return what fits a classifier that is given, or that goes by a name of others; `names` are ours.

    A classifier of another library is fitted to `rows`.
    """
    found: Any = model
    if isinstance(model, str):
        found = OWN_LEARNERS.get(model) or own_part("streamfs.learners", model)
    if found is None:
        raise ValueError(f"model is {model!r}, expected one of {', '.join(names)}, or a classifier")
    if isinstance(found, type):
        raise TypeError(f"model is the class {found.__name__}, expected an instance, such as {found.__name__}()")
    if EstimatorClassifier.is_model(found) or not callable(found):
        return model_learner(found, rows)
    return uncalibrated_learner(found)


def register_learner(name: str, learn: Learn) -> None:
    """Let `train` fit a model of your own by its name.

    Parameters
    ----------
    name : str
        What `train(model=...)` is given.
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
