"""From recorded streams to a procedure on ranked features, in one go."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Feature
from streamfs.base.progress import Progress, step
from streamfs.costs.costs import Costs
from streamfs.data.feature_table import FeatureTable, require_episodes, tabulate
from streamfs.data.streams import Integers, StreamSet
from streamfs.errors import TrainingError
from streamfs.procedure.procedure import Classifier, Procedure
from streamfs.relief import position_grid
from streamfs.relief.positions import check_positions
from streamfs.selection.by_name import MakeSelector
from streamfs.selection.query_sensitive import QuerySensitiveNeighbors
from streamfs.training.arguments import made_with, whole_ticks
from streamfs.training.learners import FOREST, LEARNERS, forest_learner, river_learner, tree_learner
from streamfs.training.query_sensitive import NAMED, NeighborsLearner, named_neighbors, require_reach
from streamfs.training.subset_size import CrossValidation, Learn, choose_size

if TYPE_CHECKING:
    from river.base import Classifier as RiverClassifier

MODELS = (*LEARNERS, *NAMED)
"""What can be taught, by name."""

Model = str | QuerySensitiveNeighbors


@dataclass(eq=False)
class Ranked:
    """What is to be done where nothing is promised; `streamfs.train` describes the parameters."""

    streams: StreamSet
    features: Sequence[Feature]
    costs: Costs
    make_selector: MakeSelector | None
    n_features: int | None
    model: "Model | RiverClassifier | None"
    min_leaf: float
    confidence: float
    time_limit: int | timedelta | None
    positions: npt.ArrayLike | None
    max_silence: float | None
    seed: int
    progress: Progress

    def procedure(self) -> Procedure:
        """Rank the features, choose how many, and learn.

        Raises
        ------
        DataError
            If streams of a class never have all their readings at once.
        TrainingError
            If nothing tells the classes apart, or neighbours cannot reach the confidence.
        ValueError
            If the confidence, the number of features or the model is none.
        """
        with step(self.progress, "computing the features"):
            table = tabulate(self.streams, self.features, self.max_silence)
        require_episodes(table, self.streams)
        limit = whole_ticks(self.time_limit, int(table.lengths.max()), self.streams.period)
        if not 0 < self.confidence <= 1:
            raise ValueError(f"confidence is {self.confidence}, expected more than 0 and at most 1")
        _check_number(self.n_features, len(self.features), ranked=self.make_selector is not None)
        positions = self._positions(min(limit, int(table.lengths.max())))
        learn = self._learner(limit, positions)
        offered = self._offered(table, limit, positions, learn)
        with step(self.progress, "building the classifier"):
            chosen, classifier = self._settle(offered, learn)
        return Procedure(
            tuple(self.features[i] for i in chosen),
            classifier,
            self.streams.classes,
            self.costs.take(chosen),
            self.confidence,
            limit,
            self.streams.period,
            self.max_silence,
            self.costs.take(offered),
            made_with(self.seed, self.streams, [self.features[i].name for i in offered]),
        )

    def _positions(self, longest: int) -> Integers:
        return position_grid(longest) if self.positions is None else check_positions(self.positions)

    def _offered(self, table: FeatureTable, limit: int, positions: Integers, learn: Learn) -> Integers:
        """The features that are offered to the classifier, the best first."""
        if self.make_selector is None:
            return np.arange(len(self.features))
        with step(self.progress, "ranking the features"):
            selector = self.make_selector(
                self.costs,
                confidence=self.confidence,
                horizon=limit,
                positions=positions,
                random_state=self.seed,
            )
            ranking: Integers = selector.fit(table).ranking_
        if self.n_features is not None:
            return ranking[: self.n_features]
        validation = CrossValidation(table, self.costs, learn, limit, self.seed)
        return ranking[: choose_size(validation, ranking, self.confidence, self.progress)]

    def _settle(self, chosen: Integers, learn: Learn) -> tuple[Integers, Classifier]:
        """Fit the classifier until it tests every feature that it reads.

        With a feature its channel goes, and an episode may open earlier: so the table is made anew.
        """
        while True:
            names = [self.features[i].name for i in chosen]
            table = tabulate(self.streams, [self.features[i] for i in chosen], self.max_silence)
            classifier = learn(table)
            tested = list(classifier.features_tested())
            if not tested:
                raise TrainingError(
                    f"none of {', '.join(names)} tells the classes apart on "
                    f"{len(self.streams)} streams: record more, or offer other features"
                )
            if len(tested) == len(chosen):
                return chosen, classifier
            chosen = chosen[tested]

    def _learner(self, limit: int, positions: Integers) -> Learn:
        """What learns from a table.

        Raises
        ------
        ValueError
            If there is no model of that name.
        TrainingError
            If neighbours cannot reach the confidence.
        """
        model, n_classes = self.model, len(self.streams.classes)
        if isinstance(model, str) and model not in MODELS:
            raise ValueError(f"model is {model!r}, expected one of {', '.join(MODELS)}, or a classifier")
        if isinstance(model, str) and model in NAMED:
            model = named_neighbors(model, self.confidence, n_classes)
        if isinstance(model, QuerySensitiveNeighbors):
            require_reach(model, self.confidence, n_classes)
            return NeighborsLearner(model, positions[positions <= limit], self.seed)
        if model == FOREST:
            return forest_learner(self.min_leaf, limit, self.seed)
        if model is None or isinstance(model, str):
            return tree_learner(self.min_leaf, limit)
        return river_learner(model, limit)


def _check_number(n_features: int | None, n_offered: int, *, ranked: bool) -> None:
    """Refuse a number of features that there is not.

    Raises
    ------
    ValueError
        If features are not ranked, or fewer than that many.
    """
    if n_features is None:
        return
    if not ranked:
        raise ValueError(f"n_features is {n_features}, but select is None: the features have no order")
    if not 1 <= n_features <= n_offered:
        raise ValueError(f"n_features is {n_features}, expected 1 to {n_offered}")
