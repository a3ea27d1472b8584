"""The cheapest subset of features with which a promise can be kept: what is searched, and how."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from math import inf

import numpy as np

from streamfs.base.progress import Progress
from streamfs.errors import TrainingError
from streamfs.selection.search import Scores, SequentialSearch
from streamfs.training.promises.channel_groups import FEW, Bundle
from streamfs.training.promises.curve import Curve
from streamfs.training.promises.held_out import HeldOut
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.search_log import Judgements

LIKELY = 0.95
"""How probable it shall be that some threshold of a subset passes the test."""

POSSIBLE = 0.05
"""How probable it shall be at least, where no subset is likely to pass, that its cost counts."""

EVEN = 0.5
"""How probable it is at least that the threshold passes whose cost counts, as a share of the likeliest's."""

DOUBT = 1.0
"""Standard errors by which shares are taken to be less than they seem: the best of many subsets flatters."""

PATIENCE = 3
"""Bundles that a search puts in beyond the cheapest subset before it ends."""

FAR, NEAR = 1e100, 1e50
"""More than any cost: where a subset is hardly possible, and where it is not likely."""

SMALLEST = 1e-20
"""What a cost of nothing is taken for where a subset is not likely: it is worse than any that is."""

SEARCHING = "searching the cheapest features"
"""What progress is told; the total is not known until the end."""

Subset = tuple[int, ...]


class _OutOfTimeError(Exception):
    """The time for a search is over."""


@dataclass(frozen=True)
class Judged:
    """What a subset of features comes to on held-out streams.

    Parameters
    ----------
    subset : tuple of int
        Features, rising; those that cost nothing, which are in all, are not named.
    chance : float
        Probability that the test of the likeliest threshold passes.
    cost : float
        Mean cost of a stream, or of a labelled one where no completeness is promised, at the cheapest threshold
        that is at least half as likely to pass as the likeliest; infinite where none labels a stream.
    shortfall : float
        How far the best threshold stays behind what is promised.
    """

    subset: Subset
    chance: float
    cost: float
    shortfall: float

    @property
    def is_likely(self) -> bool:
        """Whether some threshold is likely to pass the test."""
        return self.chance >= LIKELY

    @property
    def score(self) -> float:
        """How good it is: the cheaper, the better, first of the likely, then of the possible; then the nearer.

        Where none is likely, half the chance is taken for a quarter of the cost.
        """
        if self.is_likely:
            return -self.cost
        if self.chance >= POSSIBLE:
            return -NEAR * max(self.cost, SMALLEST) / self.chance**2
        return -FAR * (2.0 - self.chance + self.shortfall)


def judge(curve: Curve, promise: Promise, n_streams: int, subset: Subset = ()) -> Judged:
    """Judge a subset by its curve on held-out streams, for a test on so many others.

    Notes
    -----
    Where no completeness is promised, the cost is that of a labelled stream: else labelling hardly any would be
    the cheapest.
    """
    if not len(curve):
        return Judged(subset, 0.0, inf, 1.0)
    chances = promise.chances(*curve.doubted(DOUBT), n_streams)
    shortfall = promise.accuracy - curve.accuracy
    divisor = curve.n_labelled
    if promise.completeness is not None:
        shortfall = np.maximum(shortfall, promise.completeness - curve.completeness)
        divisor = np.full(len(curve), curve.n_streams)
    chance = float(chances.max())
    cost = float((curve.cost / divisor)[chances >= EVEN * chance].min())
    return Judged(subset, chance, cost, max(0.0, float(shortfall.min())))


@dataclass(eq=False)
class Cheapest:
    """A search for the cheapest subset, which can be stopped at any time and gone on with.

    Parameters
    ----------
    held_out : HeldOut
        What judges subsets.
    promise : Promise
        To be kept.
    n_test : int
        Streams of the test that is to come.
    free : sequence of int
        Features that cost nothing, such as the tick: they are in every subset.
    seconds : float, optional
        Time after which the search ends with the best so far; by default it goes on to its end.
    progress : callable, optional
        Told of the subsets judged.
    known : Judgements, optional
        Where what is judged is kept, and what an earlier search has judged is found.
    curves : dict from tuple of int to Curve, optional
        Curves of subsets, added to: searches for several promises may share them.

    Attributes
    ----------
    judged : dict from tuple of int to Judged
        All subsets that were judged.
    """

    held_out: HeldOut
    promise: Promise
    n_test: int
    free: Sequence[int] = ()
    seconds: float | None = None
    progress: Progress | None = None
    known: Judgements | None = None
    curves: dict[Subset, Curve] = field(default_factory=dict)
    judged: dict[Subset, Judged] = field(default_factory=dict, init=False)
    _made_of: dict[Subset, tuple[Bundle, ...]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._until = inf if self.seconds is None else time.monotonic() + self.seconds

    def judge(self, subset: Iterable[int]) -> Judged:
        """Judge a subset, once."""
        key = tuple(sorted(subset))
        if key not in self.judged:
            if time.monotonic() > self._until:
                raise _OutOfTimeError
            self.judged[key] = self._judge(key)
            if self.progress is not None:
                self.progress(SEARCHING, len(self.judged), 0)
        return self.judged[key]

    def _judge(self, key: Subset) -> Judged:
        names = [self.held_out.table.features[feature].name for feature in key]
        found = None if self.known is None else self.known.find(names)
        if found is not None:
            return Judged(key, *found)
        if key not in self.curves:
            self.curves[key] = self.held_out.curve([*self.free, *key]).thinned()
        judged = judge(self.curves[key], self.promise, self.n_test, key)
        if self.known is not None:
            self.known.keep(names, judged.chance, judged.cost, judged.shortfall)
        return judged

    @property
    def best(self) -> Judged:
        """The cheapest so far, of equally cheap ones the smallest, then the first.

        Raises
        ------
        TrainingError
            If none was judged.
        """
        if not self.judged:
            raise TrainingError("no subset of features was judged: give the search more time")
        return min(self.judged.values(), key=lambda found: (-found.score, len(found.subset), found.subset))

    def exhaust(self, bundles: Sequence[Bundle]) -> Judged:
        """Judge all subsets.

        Raises
        ------
        ValueError
            If there are more than `FEW` features.
        """
        n_features = len({feature for bundle in bundles for feature in bundle})
        if n_features > FEW:
            raise ValueError(f"there are {n_features} features to exhaust, expected at most {FEW}")
        subsets = (subset for size in range(1, len(bundles) + 1) for subset in combinations(bundles, size))
        return self._judge_all(map(self._judge_together, subsets))

    def search(
        self, bundles: Sequence[Bundle], variants: Mapping[Bundle, Sequence[Bundle]] | None = None
    ) -> Judged:
        """Search by floating selection; then exchange bundles for variants, or drop them, while that is cheaper.

        Parameters
        ----------
        bundles : sequence of tuple of int
            What to put in: features that go in together.
        variants : mapping of tuple of int to sequence of tuple of int, optional
            For which bundle others may stand: the same over cheaper channels.

        References
        ----------
        P. Pudil, J. Novovicova and J. Kittler, Floating search methods in feature selection, Pattern Recognition
        Letters 15, 1994.
        """
        self._made_of.clear()
        found = self._judge_all(self._float(bundles))
        while variants:
            exchanges = self._exchanges(self._parts(found.subset, bundles), variants)
            before, found = found, self._judge_all(map(self._judge_together, exchanges))
            if found is before:
                break
        return found

    def _judge_together(self, bundles: Sequence[Bundle]) -> Judged:
        """Judge bundles together, and remember of which a subset is made."""
        subset = tuple(sorted({feature for bundle in bundles for feature in bundle}))
        self._made_of.setdefault(subset, tuple(bundles))
        return self.judge(subset)

    def _parts(self, subset: Subset, bundles: Sequence[Bundle]) -> tuple[Bundle, ...]:
        """The bundles of which a subset was made; else what it shares with each, then single features."""
        if subset in self._made_of:
            return self._made_of[subset]
        parts, left = [], list(subset)
        for bundle in (*bundles, *((feature,) for feature in subset)):
            parts.append(tuple(feature for feature in left if feature in bundle))
            left = [feature for feature in left if feature not in bundle]
        return tuple(part for part in parts if part)

    def _judge_all(self, steps: Iterable[object]) -> Judged:
        """Go on as long as there is time; return the best."""
        with suppress(_OutOfTimeError):
            for _ in steps:
                pass
        return self.best

    def _float(self, bundles: Sequence[Bundle]) -> Iterator[None]:
        """Forward, until so many bundles more have not been cheaper; where they are few, backward from all, too.

        What is put in first, as it does well alone, may be dear beside others that do well together only.
        """
        scores = Scores(lambda places: self._judge_together([bundles[i] for i in places]).score, len(bundles))
        for step in SequentialSearch(floating=True, size=len(bundles)).steps(scores):
            yield
            if len(step.subset) >= len(self._parts(self.best.subset, bundles)) + PATIENCE:
                break
        if len(bundles) <= FEW:
            for _ in SequentialSearch("backward", floating=True, size=1).steps(scores):
                yield

    def _exchanges(
        self, bundles: Sequence[Bundle], variants: Mapping[Bundle, Sequence[Bundle]]
    ) -> Iterator[Sequence[Bundle]]:
        for place, bundle in enumerate(bundles):
            before, after = bundles[:place], bundles[place + 1 :]
            if before or after:
                yield (*before, *after)
            for other in variants.get(bundle, ()):
                if other not in bundles:
                    yield (*before, other, *after)
