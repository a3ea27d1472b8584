"""The best subsets of a search, once more: with each learner, at every tick, and from tick 1 on."""

from collections.abc import Iterable
from itertools import islice
from math import inf
from typing import NamedTuple

from streamfs.classifiers.calibration import Calibration
from streamfs.procedure.falling import Falling
from streamfs.training.held_out import Followed
from streamfs.training.promises.subset_score import Subset, SubsetScore

N_FINALISTS = 3
"""Subsets that a search hands on, the best by its scores, beside those that are always handed on."""

N_FOR_ALL = 2
"""Of what is tried with the first learner, how much is tried with the others, beside what decides soonest."""

DOUBT_OF_FOUND = 0.5
"""Standard errors by which the shares of subsets that a search has found are taken to be less than they seem."""

DOUBT_OF_WAITING = 1.0
"""The same where the tick from which they decide was chosen by these streams, too."""

DOUBT_OF_PLAIN = 0.0
"""The same of those that are always handed on, for which no choice was made by a look at the streams."""

SURE = 0.95
"""Chance of passing the test from which boosting, which is slow to fit, is not tried."""


Way = tuple[Subset, int, float]
"""A subset, the tick from which it decides, and the doubt of luck by which it is scored."""


class Finalist(NamedTuple):
    """A subset with a learner that decides from a tick on, its score, and the held-out streams as it saw them.

    Their confidence is calibrated, and compares with the threshold of tick 1 if thresholds are `falling`.
    """

    way: Way
    learner: str
    score: SubsetScore
    followed: Followed
    calibration: Calibration
    falling: Falling | None


def finalists(scores: Iterable[SubsetScore], always: Iterable[Subset]) -> tuple[SubsetScore, ...]:
    """Return the best of the scores, the best first, and those of some subsets, where they were scored.

    The best of many subsets is flattered, the more so as a search uses small classifiers, and asks them at some
    ticks only. Of several that do equally well, as they differ in features that are never tested, it is the first.
    """
    possible = (each for each in scores if each.shortfall < inf)
    ordered = sorted(possible, key=lambda each: (-each.score, len(each.subset), each.subset))
    kept = frozenset(tuple(sorted(subset)) for subset in always)
    unlike = dict[tuple[float, float, int], SubsetScore]()
    for each in ordered:
        unlike.setdefault((each.chance, each.cost, each.start), each)
    best = islice(unlike.values(), N_FINALISTS)
    return tuple(dict.fromkeys((*best, *(each for each in ordered if each.subset in kept))))


def doubt_of(is_plain: bool, is_late: bool) -> float:
    """Return the doubt of a subset that is always handed on, or was found, and decides from tick 1 on or late."""
    if is_plain:
        return DOUBT_OF_PLAIN
    return DOUBT_OF_WAITING if is_late else DOUBT_OF_FOUND
