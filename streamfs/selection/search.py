"""Sequential search for a good subset of features: a generator over any evaluator of subsets."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from feature_extractors.arrays import Array
from streamfs.base.estimators import require_whole
from streamfs.selection.evaluators import Evaluator, StepEvaluator

DIRECTIONS = ("forward", "backward")
"""From no feature up, or from all features down."""


class SearchStep(NamedTuple):
    """A subset that a search has reached, its features in the order in which they entered, and its score."""

    subset: tuple[int, ...]
    score: float


class Scores:
    """Scores of subsets, each evaluated once; with `known` ones a restart takes the same steps."""

    def __init__(
        self, evaluate: Evaluator, n_features: int, known: dict[tuple[int, ...], float] | None = None
    ) -> None:
        self.evaluate = evaluate
        self.n_features = n_features
        self.known = {} if known is None else known

    def step(self, subset: Sequence[int]) -> SearchStep:
        """Evaluate a subset."""
        key = tuple(sorted(subset))
        if key not in self.known:
            self._keep([key], [self.evaluate(key)])
        return SearchStep(tuple(subset), self.known[key])

    def best_with(self, subset: tuple[int, ...]) -> SearchStep:
        """Add the feature that gives the highest score, the lowest of equals."""
        features = [f for f in range(self.n_features) if f not in subset]
        keys = [tuple(sorted((*subset, f))) for f in features]
        many = self.evaluate.with_each if isinstance(self.evaluate, StepEvaluator) else None
        f, score = self._best(subset, features, keys, many)
        return SearchStep((*subset, f), score)

    def best_without(self, subset: tuple[int, ...]) -> SearchStep:
        """Remove the feature without which the score is highest, the lowest of equals."""
        features = sorted(subset)
        keys = [tuple(g for g in features if g != f) for f in features]
        many = self.evaluate.without_each if isinstance(self.evaluate, StepEvaluator) else None
        f, score = self._best(subset, features, keys, many)
        return SearchStep(tuple(g for g in subset if g != f), score)

    def _best(
        self,
        subset: tuple[int, ...],
        features: list[int],
        keys: list[tuple[int, ...]],
        many: Callable[[Sequence[int], Sequence[int]], Array] | None,
    ) -> tuple[int, float]:
        """Return the feature whose change of the subset gives the highest score, and the score."""
        new = [(f, key) for f, key in zip(features, keys, strict=True) if key not in self.known]
        if many is None:
            self._keep([key for _, key in new], [self.evaluate(key) for _, key in new])
        elif new:
            self._keep([key for _, key in new], many(subset, [f for f, _ in new]).tolist())
        scores = [self.known[key] for key in keys]
        best = scores.index(max(scores))
        return features[best], scores[best]

    def _keep(self, keys: Sequence[tuple[int, ...]], scores: Sequence[float]) -> None:
        for key, score in zip(keys, scores, strict=True):
            if math.isnan(score):
                raise ValueError(f"the criterion gives nan for features {list(key)}, expected a number")
            self.known[key] = float(score)


@dataclass(frozen=True)
class SequentialSearch:
    """Variants of sequential search.

    If `floating`, each step is followed by steps back while they are better than all earlier subsets of their
    size. A round adds `take` features and removes `remove`, one by one. By default the score decides the `size`: a
    forward step must raise the score by more than `tolerance`, and a backward step may lower it by as much.
    """

    direction: str = "forward"
    floating: bool = False
    take: int | None = None
    remove: int | None = None
    size: int | None = None
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise ValueError(f"direction is {self.direction!r}, expected one of {', '.join(DIRECTIONS)}")
        if not self.tolerance >= 0.0:
            raise ValueError(f"tolerance is {self.tolerance!r}, expected at least 0")
        for name, value in (("take", self.take), ("remove", self.remove), ("n_features", self.size)):
            if value is not None:
                require_whole(name, value, 0)
        take, remove = self.round
        if self.floating and (self.take, self.remove) != (None, None):
            raise ValueError(f"take is {self.take} and remove {self.remove}, expected neither where floating")
        if (take > remove) != self.is_forward or take == remove:
            fewer = "take above remove" if self.is_forward else "remove above take"
            raise ValueError(f"take is {take} and remove {remove}, expected {fewer} for {self.direction} search")

    @property
    def is_forward(self) -> bool:
        """Whether subsets grow."""
        return self.direction == "forward"

    @property
    def round(self) -> tuple[int, int]:
        """Number of features that a round adds and removes."""
        take = int(self.is_forward) if self.take is None else int(self.take)
        remove = int(not self.is_forward) if self.remove is None else int(self.remove)
        return take, remove

    def steps(self, scores: Scores) -> Iterator[SearchStep]:
        """Search; yield each subset reached; ValueError if there are too few features to add or to end with."""
        take, _ = self.round
        if self.size is not None and not 1 <= self.size <= scores.n_features:
            raise ValueError(f"n_features is {self.size}, expected 1 to {scores.n_features}")
        if self.is_forward and take > scores.n_features:
            raise ValueError(f"take is {take}, expected at most {scores.n_features}, the number of features")
        yield from self._floating(scores) if self.floating else self._rounds(scores)

    def result(self, history: Sequence[SearchStep]) -> SearchStep:
        """Return the result of a search, finished or not, from its steps so far, at least one.

        It is the last step; if floating, the best, of equals the smallest and then the first. If subsets of the
        requested size were reached, it is one of them.
        """
        history = [step for step in history if len(step.subset) == self.size] or history
        return min(history, key=lambda step: (-step.score, len(step.subset))) if self.floating else history[-1]

    def _is_accepted(self, before: SearchStep, after: SearchStep) -> bool:
        """Return whether a step is accepted."""
        if self.size is not None:
            return True
        if self.is_forward:
            return after.score > before.score + self.tolerance
        return after.score >= before.score - self.tolerance

    def _start(self, scores: Scores) -> SearchStep:
        """Return the empty subset, worse than any, or that of all features."""
        return SearchStep((), -math.inf) if self.is_forward else scores.step(range(scores.n_features))

    def _rounds(self, scores: Scores) -> Iterator[SearchStep]:
        """Take l, remove r, while the rounds are whole and the score rises, or does not fall."""
        take, remove = self.round
        present = self._start(scores)
        if not self.is_forward:
            yield present
        while len(present.subset) != self.size:
            n_in = len(present.subset)
            if (scores.n_features - n_in < take) if self.is_forward else n_in <= remove:
                return
            trial = self._round(scores, present)
            if not self._is_accepted(present, trial):
                return
            present = trial
            yield present

    def _round(self, scores: Scores, step: SearchStep) -> SearchStep:
        """Add and remove features, whatever the scores on the way."""
        take, remove = self.round
        put_in, take_out = (scores.best_with, take), (scores.best_without, remove)
        for change, times in (put_in, take_out) if self.is_forward else (take_out, put_in):
            for _ in range(times):
                step = change(step.subset)
        return step

    def _floating(self, scores: Scores) -> Iterator[SearchStep]:
        """Step on; then step back while the subset is better than all earlier ones of its size."""
        onward, back = scores.best_with, scores.best_without
        last, first = scores.n_features, 1
        if not self.is_forward:
            onward, back, last, first = back, onward, first, last
        present = self._start(scores)
        best = {len(present.subset): present.score}
        if not self.is_forward:
            yield present
        while len(present.subset) not in (last, self.size):
            trial = onward(present.subset)
            if not self._is_accepted(present, trial):
                return
            present = trial
            best[len(present.subset)] = max(present.score, best.get(len(present.subset), -math.inf))
            yield present
            while len(present.subset) != first:
                trial = back(present.subset)
                if not trial.score > best[len(trial.subset)]:
                    break
                present = trial
                best[len(present.subset)] = present.score
                yield present
