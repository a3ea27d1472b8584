"""Search the cheapest subset of features with which a promise can be kept."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations, cycle

import numpy as np

from feature_extractors.arrays import Array
from streamfs.selection.search import Scores, SequentialSearch
from streamfs.training.promises.channel_groups import FEW, ChannelGroup, ChannelGroups
from streamfs.training.promises.quantity_moves import QuantityMoves
from streamfs.training.promises.subset_score import Subset, SubsetScore
from streamfs.training.promises.subset_scorer import OutOfTimeError, SubsetScorer

PATIENCE = 3
"""Groups that a search adds beyond the cheapest subset before it ends."""


class SubsetSearch:
    """A search that may be stopped at any time and continued."""

    def __init__(self, scorer: SubsetScorer) -> None:
        self.scorer = scorer
        self._made_of: dict[Subset, tuple[ChannelGroup, ...]] = {}

    def score_beside(self, subsets: Iterable[Subset]) -> None:
        """Score some subsets, too, until the time is over; a search goes on from them if they are better."""
        with suppress(OutOfTimeError):
            for _ in self._score_subsets([tuple(sorted(subset)) for subset in subsets]):
                pass

    def move(self, moves: QuantityMoves) -> SubsetScore:
        """From the best subset on, move one quantity after the other, until nothing is better."""
        before, found = None, self.scorer.best
        while found is not before:
            before = found
            for quantity in moves.quantities:
                moved = [*filter(self.scorer.may_be_best, moves.of(found.subset, quantity))]
                found = self._score_all(self._score_subsets(moved))
        return found

    def exhaust(self, groups: Sequence[ChannelGroup]) -> SubsetScore:
        """Score all subsets of at most `FEW` features."""
        n_features = len({feature for group in groups for feature in group})
        if n_features > FEW:
            raise ValueError(f"there are {n_features} features to exhaust, expected at most {FEW}")
        choices = (chosen for size in range(1, len(groups) + 1) for chosen in combinations(groups, size))
        return self._score_all(self.score_each(choices))

    def search(
        self, groups: Sequence[ChannelGroup], variants: Mapping[ChannelGroup, Sequence[ChannelGroup]] | None = None
    ) -> SubsetScore:
        """Search by floating selection; then exchange groups for variants, or drop them, while that is cheaper.

        P. Pudil, J. Novovicova and J. Kittler, Floating search methods in feature selection, Pattern Recognition
        Letters 15, 1994.
        """
        self._made_of.clear()
        found = self._score_all(self._float(groups))
        while variants:
            exchanges = self._exchanges(self._parts(found.subset, groups), variants)
            before, found = found, self._score_all(self.score_each(exchanges))
            if found is before:
                break
        return found

    def score_each(self, choices: Iterable[Sequence[ChannelGroup]]) -> Iterator[SubsetScore]:
        """Yield the score of each choice of groups, which are scored together; remember of which groups it is."""
        choices = [*choices]
        self.scorer.foresee(map(_joined, choices))
        for groups in choices:
            self._made_of.setdefault(_joined(groups), tuple(groups))
            yield self.scorer.score(_joined(groups))

    def _score_subsets(self, subsets: Sequence[Subset]) -> Iterator[SubsetScore]:
        self.scorer.foresee(subsets)
        yield from map(self.scorer.score, subsets)

    def _parts(self, subset: Subset, groups: Sequence[ChannelGroup]) -> tuple[ChannelGroup, ...]:
        """Return the groups of a subset; if unknown, what it shares with each group, then single features."""
        if subset in self._made_of:
            return self._made_of[subset]
        parts, left = [], list(subset)
        for group in (*groups, *((feature,) for feature in subset)):
            parts.append(tuple(feature for feature in left if feature in group))
            left = [feature for feature in left if feature not in group]
        return tuple(part for part in parts if part)

    def _score_all(self, steps: Iterable[object]) -> SubsetScore:
        """Take steps until the time is over; return the best subset."""
        with suppress(OutOfTimeError):
            for _ in steps:
                pass
        return self.scorer.best

    def _float(self, groups: Sequence[ChannelGroup]) -> Iterator[None]:
        """Search forward, until `PATIENCE` more groups were not cheaper; if few, also backward from all.

        A group that is added first, as it does well alone, may be dear besides others that only do well together.
        """
        scores = Scores(_GroupScores(self, groups), len(groups))
        for step in SequentialSearch(floating=True, size=len(groups)).steps(scores):
            yield
            if len(step.subset) >= len(self._parts(self.scorer.best.subset, groups)) + PATIENCE:
                break
        if len(groups) <= FEW:
            for _ in SequentialSearch("backward", floating=True, size=1).steps(scores):
                yield

    def _exchanges(
        self, groups: Sequence[ChannelGroup], variants: Mapping[ChannelGroup, Sequence[ChannelGroup]]
    ) -> Iterator[Sequence[ChannelGroup]]:
        for place, group in enumerate(groups):
            before, after = groups[:place], groups[place + 1 :]
            if before or after:
                yield (*before, *after)
            for other in variants.get(group, ()):
                if other not in groups:
                    yield (*before, other, *after)


class _GroupScores:
    """Scores of choices of groups, given by their places, for a sequential search."""

    def __init__(self, search: SubsetSearch, groups: Sequence[ChannelGroup]) -> None:
        self._search, self._groups = search, groups

    def __call__(self, subset: Sequence[int]) -> float:
        return float(self._scores([subset])[0])

    def with_each(self, subset: Sequence[int], features: Sequence[int]) -> Array:
        return self._scores([tuple(sorted((*subset, place))) for place in features])

    def without_each(self, subset: Sequence[int], features: Sequence[int]) -> Array:
        return self._scores([tuple(sorted({*subset} - {place})) for place in features])

    def _scores(self, choices: Sequence[Sequence[int]]) -> Array:
        groups = ([self._groups[place] for place in chosen] for chosen in choices)
        return np.array([found.score for found in self._search.score_each(groups)])


def _joined(groups: Sequence[ChannelGroup]) -> Subset:
    return tuple(sorted({feature for group in groups for feature in group}))


def search_in_turns(search: SubsetSearch, ways: Sequence[ChannelGroups]) -> None:
    """Search one way of grouping after the other, until none finds anything cheaper."""
    found, n_settled = None, 0
    for way in cycle(ways):
        before, found = found, search.search(way.proposed, way.variants)
        n_settled = n_settled + 1 if found is before else 1
        if n_settled == len(ways):
            return
