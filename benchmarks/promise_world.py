"""Results of each way to choose a subset of nine features in a setting, by promise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import inf, nan
from typing import Any, Self

import numpy as np
from promise_settings import N_UNSEEN, NINE, Setting

from feature_extractors.base import Feature
from streamfs.data.feature_table import tabulate
from streamfs.data.streams import StreamSet
from streamfs.errors import TrainingError
from streamfs.relief import position_grid
from streamfs.selection.by_name import SELECTORS
from streamfs.training.cross_validation import class_indices
from streamfs.training.promises import Promise
from streamfs.training.promises.certificate import certify, walk
from streamfs.training.promises.curve import Curve
from streamfs.training.promises.held_out import Curves, HeldOut
from streamfs.training.promises.search_and_certify import FittedModel, PromiseTrainer
from streamfs.training.promises.subset_score import SubsetScore
from streamfs.training.promises.subset_scorer import SubsetScorer
from streamfs.training.subset_size import SizeValidation, choose_size

PROMISES = tuple(Promise(accuracy, completeness=0.9) for accuracy in (0.8, 0.85, 0.9))
RANKINGS = ("literal", "streamrelief", "relief")
FLOATING, EXHAUSTIVE, HINDSIGHT, ALL = "floating", "exhaustive", "hindsight", "all features"
N_HINDSIGHT = 12
SEED = 0

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Remembering(HeldOut):
    """Held-out streams that cache their curves, which do not depend on the promise."""

    known: dict[tuple[tuple[int, ...], tuple[int, ...]], Curves] = field(default_factory=dict, init=False)

    def curves(self, chosen: Sequence[int], starts: Sequence[int] = (1,)) -> Curves:
        """Follow all streams down all thresholds, once for each choice of features."""
        key = tuple(chosen), tuple(starts)
        if key not in self.known:
            self.known[key] = super().curves(*key)
        return self.known[key]


class Unseen:
    """Streams on which nothing is chosen, their features computed once; in these settings every episode opens at once."""

    def __init__(self, trainer: PromiseTrainer, streams: StreamSet) -> None:
        features, pricing = trainer.candidates.features, trainer.pricing
        self.table = tabulate(streams, features, pricing.max_silence)
        self._spending = pricing.spending(streams, features, self.table.lengths)
        self._places = {feature: place for place, feature in enumerate(features)}
        self._time_limit = trainer.time_limit

    def curve(self, model: FittedModel) -> Curve:
        """Return the results of a fitted model's thresholds, as `PromiseTrainer.curve`, but faster."""
        table = self.table.with_features([self._places[feature] for feature in model.features])
        trajectories = model.trajectories(table, self._time_limit)
        truth = class_indices(table, np.unique(table.labels))
        return Curve.of(trajectories, truth, self._spending.until(model.features))


class World:
    """A setting, its streams, and what was trained on them."""

    def __init__(self, setting: Setting, seed: int = SEED, n_unseen: int = N_UNSEEN) -> None:
        self.setting, self.seed = setting, seed
        self.trainer = RememberingTrainer.of(setting.problem(PROMISES[0], seed, NINE).trainer())
        self.unseen = Unseen(self.trainer, setting.unseen(seed, n_unseen))
        self._sizes = self._cross_validation()
        self._curves: dict[tuple[int, ...], Curves] = {}
        self._outcomes: dict[tuple[tuple[int, ...], str, int], dict[Promise, Row]] = {}

    def rows(self) -> Iterator[Row]:
        """Yield the results of each way to choose, by promise."""
        for promise in PROMISES:
            found = [
                {"way": way, "scored": n_scored, **self.outcome(chosen, promise)}
                for way, n_scored, chosen in self.ways(promise)
            ]
            best = next(row["cost"] for row in found if row["way"] == EXHAUSTIVE)
            hindsight = next(row["cost"] for row in found if row["way"] == HINDSIGHT)
            for row in found:
                shares = {"to_exhaustive": ratio(row["cost"], best), "to_hindsight": ratio(row["cost"], hindsight)}
                asked = {"promised_accuracy": promise.accuracy, "promised_completeness": promise.completeness}
                yield {**self.setting.row(), **asked, **row, **shares}

    def ways(self, promise: Promise) -> Iterator[tuple[str, int, SubsetScore | None]]:
        """Yield each way to choose a subset, the number of subsets it scored, and the chosen one, or None."""
        floating, every = (self.trainer.scorer(promise, curves=self._curves) for _ in range(2))
        found = self.trainer.search(floating, FLOATING)
        yield FLOATING, len(floating.scores), found
        best = self.trainer.search(every, EXHAUSTIVE)
        yield EXHAUSTIVE, len(every.scores), best
        yield HINDSIGHT, len(every.scores), self.in_hindsight(every, promise)
        yield ALL, 1, every.score(self.trainer.candidates.proposed)
        for name in RANKINGS:
            yield from self.by_ranking(name, every, promise)

    def in_hindsight(self, every: SubsetScorer, promise: Promise) -> SubsetScore | None:
        """Return the cheapest of the best-scored that is certified and keeps its promise on unseen streams."""
        best_first = sorted(
            every.scores.values(), key=lambda found: (-found.score, len(found.subset), found.subset)
        )
        kept = [found for found in best_first[:N_HINDSIGHT] if self.outcome(found, promise)["kept"]]
        return min(kept, key=lambda found: self.outcome(found, promise)["cost"], default=None)

    def by_ranking(
        self, name: str, every: SubsetScorer, promise: Promise
    ) -> Iterator[tuple[str, int, SubsetScore | None]]:
        """Choose among the first features of a ranking, by subset scores, and as training does."""
        trainer, free = self.trainer, self.trainer.candidates.free
        table, costs = self._sizes.table, self._sizes.costs
        paid = np.array(trainer.candidates.proposed)
        confidence, limit = promise.accuracy, trainer.time_limit
        selector = SELECTORS[name](
            costs.take(paid),
            confidence=confidence,
            horizon=limit,
            positions=position_grid(limit),
            random_state=self.seed,
        )
        try:
            ranking = paid[selector.fit(table.with_features(paid)).ranking_].tolist()
            n_first = choose_size(self._sizes, np.array([*free, *ranking]), confidence) - len(free)
        except TrainingError:
            yield from ((f"{name}, size as {rule}", 0, None) for rule in ("scored", "trained"))
            return
        prefixes = [every.score(ranking[:size]) for size in range(1, len(ranking) + 1)]
        yield f"{name}, size as scored", len(prefixes), max(prefixes, key=lambda found: found.score)
        yield f"{name}, size as trained", len(prefixes), prefixes[max(n_first, 1) - 1]

    def outcome(self, chosen: SubsetScore | None, promise: Promise) -> Row:
        """Return the result of a subset that is fitted and certified."""
        if chosen is None:
            return {"learner": "", "n_features": 0, "features": "", **REFUSED}
        learner = max(
            self.trainer.learners, key=lambda name: self.trainer.evaluate_learner(name, chosen, promise).score
        )
        key = tuple(sorted(chosen.subset)), learner, chosen.start
        if key not in self._outcomes:
            self._outcomes[key] = self._certified(chosen, promise, learner)
        return self._outcomes[key][promise]

    def _certified(self, chosen: SubsetScore, promise: Promise, learner: str) -> dict[Promise, Row]:
        """Fit once, and certify each promise; unseen streams are followed if one was."""
        model = self.trainer.fit(chosen.subset, promise, chosen.start)
        named = {"learner": learner, "n_features": len(model.features), "features": names(model.features)}
        tested = self.trainer.curve(model, self.trainer.split.test)
        certificates = {
            promise: certify(tested, promise, walk(model.held_out, promise, tested.n_streams).thresholds)
            for promise in PROMISES
        }
        if not any(certificates.values()):
            return {promise: {**named, **REFUSED} for promise in PROMISES}
        curve = self.unseen.curve(model)
        return {
            promise: {**named, **(REFUSED if found is None else truth(curve, promise, found.point.threshold))}
            for promise, found in certificates.items()
        }

    def _cross_validation(self) -> SizeValidation:
        trainer = self.trainer
        table, learn = trainer.scouted.table, next(iter(trainer.learners.values()))
        costs = trainer.pricing.costs(trainer.split.train, table.features)
        return SizeValidation(table, costs, learn, trainer.time_limit, self.seed)


class RememberingTrainer(PromiseTrainer):
    """A trainer whose held-out streams cache their curves."""

    @classmethod
    def of(cls, trainer: PromiseTrainer) -> Self:
        """Make a caching trainer of a trainer."""
        return cls(**{part.name: getattr(trainer, part.name) for part in fields(trainer)})

    @cached_property
    def kept(self) -> dict[tuple[str, int], Remembering]:
        """Held-out streams by learner and start."""
        return {}

    def held_out(self, learner: str, start: int = 1) -> HeldOut:
        """Return the same for a learner and a start each time."""
        if (learner, start) not in self.kept:
            self.kept[learner, start] = remembering(super().held_out(learner, start))
        return self.kept[learner, start]


def remembering(of: HeldOut) -> Remembering:
    """Return the same streams with a cache of curves."""
    return Remembering(**{part.name: getattr(of, part.name) for part in fields(of) if part.init})


def names(features: Sequence[Feature]) -> str:
    """Return the features' names as one cell of a table."""
    return " ".join(feature.name.replace(" ", "") for feature in features)


REFUSED: Row = {
    "threshold": None,
    "completeness": None,
    "accuracy": None,
    "kept": False,
    "cost": inf,
    "oracle_cost": None,
}
"""The result of a subset for which no threshold is certified."""


def truth(curve: Curve, promise: Promise, threshold: float) -> Row:
    """Return the results of a threshold on unseen streams, and the cheapest that keeps the promise there."""
    point = curve.at_threshold(threshold)
    keeps = (curve.accuracy >= promise.accuracy) & (curve.completeness >= promise.completeness)
    return {
        "threshold": threshold,
        "completeness": point.completeness,
        "accuracy": point.accuracy,
        "kept": point.accuracy >= promise.accuracy and point.completeness >= promise.completeness,
        "cost": point.cost,
        "oracle_cost": float(curve.cost[keeps].min()) / curve.n_streams if keeps.any() else None,
    }


def ratio(cost: float, best: float) -> float:
    """Return the ratio to the best cost; infinite if only this is refused, NaN if the best is."""
    return cost / best if best < inf else nan
