"""Results of each way to choose a subset of nine features in a setting, by promise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from math import inf, nan
from typing import Any

import numpy as np
from promise_settings import N_UNSEEN, NINE, Setting

from feature_extractors.base import Feature
from streamfs.data.feature_table import tabulate
from streamfs.data.streams import StreamSet
from streamfs.errors import TrainingError
from streamfs.evaluation.trajectories import Trajectories
from streamfs.relief import position_grid
from streamfs.selection.by_name import SELECTORS
from streamfs.training.promises import Promise
from streamfs.training.promises.certificate import certify, walk
from streamfs.training.promises.cheapest import Cheapest, Judged
from streamfs.training.promises.curve import Curve
from streamfs.training.promises.held_out import HeldOut, class_indices
from streamfs.training.promises.search_and_certify import Frozen, Maker
from streamfs.training.subset_size import CrossValidation, choose_size

PROMISES = tuple(Promise(accuracy, completeness=0.9) for accuracy in (0.8, 0.85, 0.9))
RANKINGS = ("literal", "streamrelief", "relief")
FLOATING, EXHAUSTIVE, HINDSIGHT, ALL = "floating", "exhaustive", "hindsight", "all features"
N_HINDSIGHT = 12
SEED = 0

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Remembering(HeldOut):
    """Held-out streams that cache their curves, which do not depend on the promise."""

    known: dict[tuple[int, ...], Curve] = field(default_factory=dict, init=False)

    def curve(self, chosen: Sequence[int]) -> Curve:
        """Follow all streams down all thresholds, once for each choice of features."""
        key = tuple(chosen)
        if key not in self.known:
            self.known[key] = super().curve(key)
        return self.known[key]


class Unseen:
    """Streams on which nothing is chosen, their features computed once; in these settings every episode opens at once."""

    def __init__(self, maker: Maker, streams: StreamSet) -> None:
        features, pricing = maker.candidates.features, maker.pricing
        self.table = tabulate(streams, features, pricing.max_silence)
        self._spending = pricing.spending(streams, features, self.table.lengths)
        self._places = {feature: place for place, feature in enumerate(features)}
        self._time_limit = maker.time_limit

    def curve(self, frozen: Frozen) -> Curve:
        """What the thresholds of a frozen classifier come to; `Maker.curve`, but quicker."""
        table = self.table.with_features([self._places[feature] for feature in frozen.features])
        trajectories = Trajectories.of(frozen.classifier, table, self._time_limit)
        truth = class_indices(table, np.unique(table.labels))
        return Curve.of(trajectories, truth, self._spending.until(frozen.features))


class World:
    """A setting, its streams, and what was trained on them."""

    def __init__(self, setting: Setting, seed: int = SEED, n_unseen: int = N_UNSEEN) -> None:
        self.setting, self.seed = setting, seed
        self.maker = setting.plan(PROMISES[0], seed, NINE).maker
        kept = {name: remembering(self.maker.held_out(name)) for name in self.maker.learners}
        self.maker.held_out = kept.__getitem__
        self.unseen = Unseen(self.maker, setting.unseen(seed, n_unseen))
        self._sizes = self._cross_validation()
        self._curves: dict[tuple[int, ...], Curve] = {}
        self._outcomes: dict[tuple[tuple[int, ...], str], dict[Promise, Row]] = {}

    def rows(self) -> Iterator[Row]:
        """Yield the results of each way to choose, by promise."""
        for promise in PROMISES:
            self.maker.promise = promise
            found = [{"way": way, "judged": judged, **self.outcome(chosen)} for way, judged, chosen in self.ways()]
            best = next(row["cost"] for row in found if row["way"] == EXHAUSTIVE)
            hindsight = next(row["cost"] for row in found if row["way"] == HINDSIGHT)
            for row in found:
                shares = {"to_exhaustive": ratio(row["cost"], best), "to_hindsight": ratio(row["cost"], hindsight)}
                asked = {"promised_accuracy": promise.accuracy, "promised_completeness": promise.completeness}
                yield {**self.setting.row(), **asked, **row, **shares}

    def ways(self) -> Iterator[tuple[str, int, Judged | None]]:
        """Yield each way to choose a subset, the number of subsets it scored, and the chosen one, or None."""
        search = self.maker.search(FLOATING, curves=self._curves)
        yield FLOATING, len(search.judged), search.best
        every = self.maker.search(EXHAUSTIVE, curves=self._curves)
        yield EXHAUSTIVE, len(every.judged), every.best
        yield HINDSIGHT, len(every.judged), self.in_hindsight(every)
        yield ALL, 1, every.judge(self.maker.candidates.proposed)
        for name in RANKINGS:
            yield from self.by_ranking(name, every)

    def in_hindsight(self, every: Cheapest) -> Judged | None:
        """Return the cheapest of the best-scored that is certified and keeps its promise on unseen streams."""
        best_first = sorted(
            every.judged.values(), key=lambda found: (-found.score, len(found.subset), found.subset)
        )
        kept = [found for found in best_first[:N_HINDSIGHT] if self.outcome(found)["kept"]]
        return min(kept, key=lambda found: self.outcome(found)["cost"], default=None)

    def by_ranking(self, name: str, every: Cheapest) -> Iterator[tuple[str, int, Judged | None]]:
        """Choose among the first features of a ranking, by subset scores, and as training does."""
        maker, free = self.maker, self.maker.candidates.free
        table, costs = self._sizes.table, self._sizes.costs
        paid = np.array(maker.candidates.proposed)
        confidence, limit = maker.promise.accuracy, maker.time_limit
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
            yield from ((f"{name}, size as {rule}", 0, None) for rule in ("judged", "trained"))
            return
        prefixes = [every.judge(ranking[:size]) for size in range(1, len(ranking) + 1)]
        yield f"{name}, size as judged", len(prefixes), max(prefixes, key=lambda found: found.score)
        yield f"{name}, size as trained", len(prefixes), prefixes[max(n_first, 1) - 1]

    def outcome(self, chosen: Judged | None) -> Row:
        """Return the result of a subset that is fitted and certified."""
        if chosen is None:
            return {"learner": "", "n_features": 0, "features": "", **REFUSED}
        learner = max(self.maker.learners, key=lambda name: self.maker.judge(chosen.subset, name).score)
        key = tuple(sorted(chosen.subset)), learner
        if key not in self._outcomes:
            self._outcomes[key] = self._certified(chosen, learner)
        return self._outcomes[key][self.maker.promise]

    def _certified(self, chosen: Judged, learner: str) -> dict[Promise, Row]:
        """Freeze once, and certify each promise; unseen streams are asked where one was."""
        frozen = self.maker.freeze(chosen)
        named = {"learner": learner, "n_features": len(frozen.features), "features": names(frozen.features)}
        tested = self.maker.curve(frozen, self.maker.division.testing)
        certificates = {
            promise: certify(tested, promise, walk(frozen.held_out, promise, tested.n_streams))
            for promise in PROMISES
        }
        if not any(certificates.values()):
            return {promise: {**named, **REFUSED} for promise in PROMISES}
        curve = self.unseen.curve(frozen)
        return {
            promise: {**named, **(REFUSED if found is None else truth(curve, promise, found.point.threshold))}
            for promise, found in certificates.items()
        }

    def _cross_validation(self) -> CrossValidation:
        maker = self.maker
        table, learn = maker.scouted.table, next(iter(maker.learners.values()))
        costs = maker.pricing.costs(maker.division.learning, table.features)
        return CrossValidation(table, costs, learn, maker.time_limit, self.seed)


def remembering(of: HeldOut) -> Remembering:
    """The same, with a memory."""
    return Remembering(**{part.name: getattr(of, part.name) for part in fields(of) if part.init})


def names(features: Sequence[Feature]) -> str:
    """The features in one cell of a table."""
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
    """How much dearer; infinite where only this is refused, and no number where the best is."""
    return cost / best if best < inf else nan
