"""When channels open: which of them are asked only of streams that are undecided at a later tick."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import product

from feature_extractors.base import Feature
from streamfs.base.workers import map_parts, workers
from streamfs.training.promises.paired import share_better
from streamfs.training.promises.policies import opening_at, opens_at_once, quantities_of
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.search_and_certify import FittedModel, PromiseTrainer
from streamfs.training.promises.subset_score import SubsetScore
from streamfs.training.promises.subset_scorer import OutOfTimeError, SubsetScorer

COARSE = (1, 3, 7)
"""Ticks at which quantities open, in all combinations of two, before one after the other is moved."""

TICKS = (1, 2, 3, 5, 9, 15)
"""Ticks to which the opening of a quantity is moved; each is tried if streams are at least twice as long."""

MOST = 3
"""Quantities whose opening is searched."""

GAIN = 0.1
"""How much better the score must be than with all channels open at once: a tenth of the cost, or so."""

DEARER = 1.5
"""What an insurance against a refusal may cost, as a multiple of the expected cost without."""

OFTEN = 0.9
"""Share of the held-out streams drawn anew in which it must be better."""

LOSS = 0.02
"""How much less the chance of the test may be."""

SURE, SPARED = 0.95, 1.1
"""What passes with this chance, and costs at most this times a quantity's first messages, stays as it is."""

TRIFLE = 0.05
"""How much better the score must be for each quantity more: what opens late hardly costs, useful or not."""

Schedule = frozenset[tuple[str, int]]
"""The quantities that are read, each with the tick at which its channels open."""

Found = tuple[PromiseTrainer, SubsetScore]
"""A subset's score, and the trainer whose candidates it is of."""


def opened_later(trainer: PromiseTrainer, scorer: SubsetScorer, found: SubsetScore) -> Found:
    """Return what a search has found, or features of the same and other quantities, some of which open later.

    It pays to have a quantity open later where most streams can be decided without it: it insures the others. What
    a stream has at a tick depends on the tick alone, so that thresholds are scored and tested as ever. The same
    channels, all open at once, are scored beside.
    """
    search = OpeningSearch(trainer, scorer, found)
    if search.may_gain():
        with suppress(OutOfTimeError):
            search.run()
    return search.best()


def fitted_later(
    trainer: PromiseTrainer, scorer: SubsetScorer, model: FittedModel
) -> tuple[PromiseTrainer, FittedModel]:
    """Return a model of all channels open at once, or one of which some open later where that is surely better."""
    promise, n_test = scorer.promise, len(trainer.split.test)
    other, found = opened_later(trainer, scorer, scorer.best)
    if other is trainer:
        return trainer, model
    later = other.fit(found.subset, promise, found.start)
    is_better = share_better(later.followed, model.followed, promise, n_test) >= OFTEN
    return (other, later) if is_better else (trainer, model)


@dataclass(frozen=True, eq=False)
class Opened:
    """Scores features whose channels open at some ticks, which may be elsewhere than where they are searched."""

    trainer: PromiseTrainer
    promise: Promise

    def __call__(self, features: Sequence[Feature]) -> SubsetScore:
        """Score features by held-out streams."""
        opened = self.trainer.with_features(features)
        return opened.evaluate(opened.candidates.proposed, self.promise)


@dataclass(eq=False)
class OpeningSearch:
    """Schedules of quantities, scored as a `scorer` scores subsets, beside the subset that it has `found`."""

    trainer: PromiseTrainer
    scorer: SubsetScorer
    found: SubsetScore
    scores: dict[Schedule, SubsetScore] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        scouted = self.trainer.scouted if workers() is None else replace(self.trainer.scouted, n_jobs=1)
        self._opened = Opened(replace(self.trainer, scouted=scouted), self.scorer.promise)
        self._reads = self._features_by_quantity()
        self._moved = list(self._reads)[:MOST]

    def may_gain(self) -> bool:
        """Return whether all channels open at once so far, and the test may fail or messages be spared."""
        features = [feature for reading in self._reads.values() for feature in reading]
        spending = self.trainer.scouted.spending
        first = [float(spending.until(reading)[:, 0].mean()) for reading in self._reads.values()]
        if len(first) == 1 or not all(map(opens_at_once, features)):
            return False
        return self.found.chance < SURE or self.found.cost > SPARED * min(first)

    def run(self) -> None:
        """Score combinations of two opening ticks; from the best on, move one quantity after the other."""
        self._score_all(self._combinations())
        before, best = None, self._best_schedule()
        while best != before:
            before = best
            for quantity in self._moved:
                self._score_all(self._moves(best, quantity))
                best = self._best_schedule()

    def best(self) -> Found:
        """Return the best schedule in which something opens later, unless what opens at once is about as good."""
        at_once = [score for schedule, score in self.scores.items() if _last(schedule) == 1]
        least = max([self.found, *at_once], key=lambda found: found.score)
        later = [schedule for schedule in self.scores if _last(schedule) > 1]
        if not later:
            return self.trainer, self.found
        best = max(later, key=self._worth)
        score = self.scores[best]
        is_better = score.score > least.score + GAIN and score.cost <= DEARER * least.cost
        if is_better and score.chance >= least.chance - LOSS:
            return self.trainer.with_features(self._features(best)), score
        return self.trainer, self.found

    def _score_all(self, schedules: Iterable[Schedule]) -> None:
        """Score schedules, each once; those in which nothing is open at first are left out."""
        reads = {schedule: self._features(schedule) for schedule in schedules if schedule not in self.scores}
        new = {schedule: features for schedule, features in reads.items() if any(map(opens_at_once, features))}
        for schedule, score in zip(new, map_parts(self._opened, self._in_time(new.values())), strict=True):
            self.scores[schedule] = score

    def _in_time(self, found: Iterable[Sequence[Feature]]) -> Iterator[Sequence[Feature]]:
        for features in found:
            self.scorer.require_time()
            yield features

    def _best_schedule(self) -> Schedule:
        return max(self.scores, key=self._worth)

    def _worth(self, schedule: Schedule) -> float:
        return self.scores[schedule].score - TRIFLE * len(schedule)

    def _combinations(self) -> Iterator[Schedule]:
        """Yield all schedules with one or two opening ticks."""
        ticks = (None, *self._within(COARSE))
        found = frozenset().union(*map(quantities_of, self._chosen(self.found)))
        others = {(quantity, 1) for quantity in found if quantity not in self._moved}
        for chosen in product(ticks, repeat=len(self._moved)):
            opening = {(q, tick) for q, tick in zip(self._moved, chosen, strict=True) if tick is not None}
            if len({tick for _, tick in opening | others}) <= 2:
                yield frozenset(opening | others)

    def _moves(self, schedule: Schedule, quantity: str) -> Iterator[Schedule]:
        """Yield the schedule without a quantity, and with it from any other tick on."""
        others = frozenset(each for each in schedule if each[0] != quantity)
        yield others
        for tick in self._within(TICKS):
            yield others | {(quantity, tick)}

    def _within(self, ticks: Sequence[int]) -> list[int]:
        return [tick for tick in ticks if 2 * tick <= max(2, self.trainer.time_limit)]

    def _features(self, schedule: Schedule) -> tuple[Feature, ...]:
        """Return the features that can be read of quantities, over channels that open at their ticks."""
        opening = dict(sorted(schedule))
        reads = dict.fromkeys(feature for quantity in opening for feature in self._reads[quantity])
        return tuple(opening_at(feature, opening) for feature in reads if quantities_of(feature) <= opening.keys())

    def _features_by_quantity(self) -> dict[str, list[Feature]]:
        """Return the features of each quantity found, the dearest first; then those of the best other subsets."""
        others = sorted(self.scorer.scores.values(), key=lambda each: (-each.score, len(each.subset), each.subset))
        spending, reads = self.trainer.scouted.spending, dict[str, list[Feature]]()
        for each in (self.found, *others):
            chosen = self._chosen(each)
            new = sorted(frozenset().union(*map(quantities_of, chosen)) - reads.keys())
            reading = {quantity: [f for f in chosen if quantity in quantities_of(f)] for quantity in new}
            new.sort(key=lambda quantity: -float(spending.until(reading[quantity])[:, -1].mean()))
            reads |= {quantity: reading[quantity] for quantity in new}
        return reads

    def _chosen(self, found: SubsetScore) -> list[Feature]:
        return [self.trainer.candidates.features[place] for place in found.subset]


def _last(schedule: Schedule) -> int:
    """Return the tick at which the last of the channels opens."""
    return max(tick for _, tick in schedule)
