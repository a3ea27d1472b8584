"""Score subsets of features once each, within a time limit, with a log."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf

from feature_extractors.report import split_opening
from streamfs.base.progress import Progress, quiet
from streamfs.base.workers import workers
from streamfs.errors import TrainingError
from streamfs.training.promises.held_out import Curves, HeldOut
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.search_log import SearchLog
from streamfs.training.promises.subset_score import Subset, SubsetScore, evaluate_starts

SEARCHING = "searching the cheapest features"
"""The step of which progress is reported; its total is unknown until the end."""


AT_ONCE = 4
"""Subsets for each worker that are scored before it is asked whether the time is over."""


class OutOfTimeError(Exception):
    """The time for a search is over."""


@dataclass(frozen=True, eq=False)
class Follower:
    """Follows held-out streams with some features, which may be elsewhere than where they are searched."""

    held_out: HeldOut
    free: Sequence[int]
    starts: Sequence[int]

    def __call__(self, key: Subset) -> Curves:
        """Return the curves of a subset beside the free features."""
        curves = self.held_out.curves([*self.free, *key], self.starts)
        return {start: curve.thinned() for start, curve in curves.items()}


@dataclass(eq=False)
class SubsetScorer:
    """Scores of subsets for one promise, tested on `n_test` streams.

    The `free` features cost nothing and are in every subset. After `seconds` no other subset is scored. Searches
    for several promises may share `curves`. A subset decides from that of the ticks `starts` on at which it does
    best, and costs at most `max_cost`.
    """

    held_out: HeldOut
    promise: Promise
    n_test: int
    free: Sequence[int] = ()
    seconds: float | None = None
    progress: Progress = quiet
    log: SearchLog | None = None
    curves: dict[Subset, Curves] = field(default_factory=dict)
    starts: Sequence[int] = (1,)
    max_cost: float = inf
    scores: dict[Subset, SubsetScore] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._until = inf if self.seconds is None else time.monotonic() + self.seconds

    def score(self, subset: Iterable[int]) -> SubsetScore:
        """Score a subset, once; raise `OutOfTimeError` if it has no score yet and the time is over."""
        key = tuple(sorted(subset))
        if key not in self.scores:
            self.require_time()
            self.scores[key] = self._score(key)
            self.progress(SEARCHING, len(self.scores), 0)
        return self.scores[key]

    def foresee(self, subsets: Iterable[Subset]) -> None:
        """Let workers, if there are any, follow held-out streams with subsets at once, before these are scored."""
        others = workers()
        if others is None:
            return
        new = [key for key in dict.fromkeys(subsets) if key not in self.scores and not self._is_known(key)]
        for first in range(0, len(new), AT_ONCE * others.n):
            self.require_time()
            some = new[first : first + AT_ONCE * others.n]
            self.curves.update(zip(some, others.map(self._elsewhere, some), strict=True))

    def may_be_best(self, subset: Subset) -> bool:
        """Return whether a subset would be the best if it surely passed, and decided all streams at tick 1."""
        features = [self.held_out.table.features[place] for place in subset]
        first = float(self.held_out.spending.until(features)[:, 0].mean())
        return SubsetScore(subset, 1.0, first, 0.0).score > self.best.score

    def require_time(self) -> None:
        """Raise `OutOfTimeError` if the time is over."""
        if time.monotonic() > self._until:
            raise OutOfTimeError

    @cached_property
    def _elsewhere(self) -> Follower:
        return Follower(replace(self.held_out, n_jobs=1), self.free, self.starts)

    def _names(self, key: Subset) -> list[str]:
        return [self.held_out.table.features[feature].name for feature in key]

    def _is_known(self, key: Subset) -> bool:
        """Return whether all is known from which the score follows."""
        return key in self.curves or (self.log is not None and self.log.find(self._names(key)) is not None)

    def _opens(self, key: Subset) -> bool:
        """Return whether an episode can begin: whether some channel is open at tick 1, if any is read."""
        channels = {channel for feature in key for channel in self.held_out.table.features[feature].columns}
        return not channels or any(split_opening(channel)[1] == 1 for channel in channels)

    def _score(self, key: Subset) -> SubsetScore:
        if not self._opens(key):
            return SubsetScore(key, 0.0, inf, inf)
        names = self._names(key)
        logged = None if self.log is None else self.log.find(names)
        if logged is not None:
            return SubsetScore(key, *logged)
        if key not in self.curves:
            self.curves[key] = Follower(self.held_out, self.free, self.starts)(key)
        found = evaluate_starts(self.curves[key], self.promise, self.n_test, key, self.max_cost)
        if self.log is not None:
            self.log.add(names, found.chance, found.cost, found.shortfall, found.start)
        return found

    @property
    def best(self) -> SubsetScore:
        """The best so far; of equally good ones the smallest, then the first."""
        if not self.scores:
            raise TrainingError("no subset of features was scored: give the search more time")
        return min(self.scores.values(), key=lambda found: (-found.score, len(found.subset), found.subset))
