"""Naive oracle of promises that are kept with a stated risk.

Nothing here knows the library. Learn then Test: A. N. Angelopoulos, S. Bates, E. J. Candes, M. I. Jordan and
L. Lei, "Learn then Test: Calibrating Predictive Algorithms to Achieve Risk Control" (2021; The Annals of Applied
Statistics). Early decisions: L. Ringel, R. Cohen, D. Freedman, M. Elad and Y. Romano, "Early Time Classification
with Accumulated Accuracy Gap Control" (ICML 2024). Tests in a fixed sequence: P. Bauer, "Multiple Testing in
Clinical Trials" (Statistics in Medicine, 1991).

Thresholds go from the strictest to the loosest, classes are whole numbers from 0, ticks count from 1. Promises and
risks are between 0 and 1, neither included, and are taken as the decimals that a user writes: 0.9 is nine tenths.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np
from oracles.papers import Array, Flags, Integers

Subset = tuple[int, ...]


class Promise(NamedTuple):
    """The least accuracy among the labelled and, if asked for, the least completeness; the risk of breaking it."""

    accuracy: float
    completeness: float | None
    risk: float


class Curve(NamedTuple):
    """Results of each threshold on the same streams; the arrays have shape (n_thresholds,), the costs are sums."""

    n_streams: int
    n_labelled: Integers
    n_right: Integers
    ticks: Integers
    cost: Array


# Binomial tests (Learn then Test: exact p-values of a loss that is 0 or 1)


def exact(number: float | Fraction) -> Fraction:
    """Return the number as the decimal that is written for it."""
    return number if isinstance(number, Fraction) else Fraction(repr(float(number)))


def binomial_tail(n: int, p: float | Fraction, k: int) -> float:
    """P(Bin(n, p) <= k), in integers, rounded once; 0 for a negative k, 1 from n on.

    With p = a / d and b = d - a it is the sum over i <= k of comb(n, i) a^i b^(n - i), over d^n.
    """
    k = min(k, n)
    a, d = exact(p).as_integer_ratio()
    b = d - a
    total, ways, power = 0, 1, 1
    for i in range(k + 1):
        total = total * b + ways * power
        ways = ways * (n - i) // (i + 1)
        power *= a
    return total * b ** (n - k) / d**n


def accuracy_p_value(n_labelled: int, n_wrong: int, promised: float) -> float:
    """P(Bin(n_labelled, 1 - promised) <= n_wrong): small if a broken promise would make more errors."""
    return binomial_tail(n_labelled, 1 - exact(promised), n_wrong)


def completeness_p_value(n_streams: int, n_labelled: int, promised: float) -> float:
    """P(Bin(n_streams, 1 - promised) <= n_streams - n_labelled): the same of the streams without a label."""
    return binomial_tail(n_streams, 1 - exact(promised), n_streams - n_labelled)


def fewest_labelled(promised: float, risk: float) -> int:
    """The least n with promised^n <= risk: fewer streams prove nothing, even if none is wrong."""
    kept, taken = exact(promised), exact(risk)
    n, numerator, denominator = 0, 1, 1
    while numerator * taken.denominator > taken.numerator * denominator:
        n += 1
        numerator *= kept.numerator
        denominator *= kept.denominator
    return n


# Decisions of recorded streams (Ringel et al.: stop at the first tick whose confidence reaches the threshold)


def decide(
    confidence: Array, best: Integers, lengths: Sequence[int], threshold: float
) -> tuple[Integers, Integers]:
    """Return the label and the ticks of each stream, shape (n_streams,) each.

    The label is the best class at the first tick whose confidence is at least `threshold`. If there is none, it is
    -1, and the ticks are the stream's length. An unknown confidence (NaN) is never enough. `confidence` and `best`
    have shape (n_streams, n_ticks); values beyond a stream's length are ignored.
    """
    labels, ticks = [], []
    for i, length in enumerate(lengths):
        label, n_ticks = -1, int(length)
        for t in range(length):
            if confidence[i, t] >= threshold:
                label, n_ticks = int(best[i, t]), t + 1
                break
        labels.append(label)
        ticks.append(n_ticks)
    return np.array(labels, dtype=np.int64), np.array(ticks, dtype=np.int64)


def curve(
    confidence: Array,
    best: Integers,
    lengths: Sequence[int],
    truth: Sequence[int],
    spent: Array,
    thresholds: Sequence[float],
) -> Curve:
    """Replay the streams with each threshold: how many are labelled and how many rightly, summed ticks and cost.

    `spent` is what a stream has cost by the end of a tick, shape (n_streams, n_ticks). A stream that is never
    labelled pays all its ticks, one that never opens what its first column says.
    """
    n_labelled, n_right, all_ticks, all_cost = [], [], [], []
    for threshold in thresholds:
        labels, ticks = decide(confidence, best, lengths, threshold)
        labelled = right = n_ticks = 0
        cost = 0.0
        for i, (label, last) in enumerate(zip(labels.tolist(), ticks.tolist(), strict=True)):
            labelled += label != -1
            right += label == truth[i]
            n_ticks += last
            cost += float(spent[i, max(last, 1) - 1]) if spent.shape[1] else 0.0
        n_labelled.append(labelled)
        n_right.append(right)
        all_ticks.append(n_ticks)
        all_cost.append(cost)
    counts = [np.array(count, dtype=np.int64) for count in (n_labelled, n_right, all_ticks)]
    return Curve(len(lengths), *counts, np.array(all_cost, dtype=np.float64))


def by_class(
    confidence: Array,
    best: Integers,
    lengths: Sequence[int],
    truth: Sequence[int],
    threshold: float,
    n_classes: int,
) -> list[tuple[int, int, int]]:
    """Count, for each class, the streams labelled so, those rightly, and those that are so."""
    labels, _ = decide(confidence, best, lengths, threshold)
    counts = []
    for c in range(n_classes):
        labelled = right = streams = 0
        for label, true in zip(labels.tolist(), truth, strict=True):
            labelled += label == c
            right += label == c == true
            streams += true == c
        counts.append((labelled, right, streams))
    return counts


# Certified thresholds (Learn then Test; Bauer 1991)


def fixed_sequence(p_values: Sequence[float], risk: float) -> int:
    """Index of the last that passes (p <= risk) before the first failure; -1 if the first fails."""
    last = -1
    for index, p in enumerate(p_values):
        if p > risk:
            break
        last = index
    return last


def promise_p_values(replayed: Curve, promise: Promise) -> list[float]:
    """Of each threshold, the largest p-value of what is promised.

    All of it is shown if each part is (an intersection-union test: R. L. Berger, "Multiparameter
    Hypothesis Testing and Acceptance Sampling", Technometrics 1982).
    """
    values = []
    for labelled, right in zip(replayed.n_labelled.tolist(), replayed.n_right.tolist(), strict=True):
        p = accuracy_p_value(labelled, labelled - right, promise.accuracy)
        if promise.completeness is not None:
            p = max(p, completeness_p_value(replayed.n_streams, labelled, promise.completeness))
        values.append(p)
    return values


def beginning(n_labelled: Sequence[int], promise: Promise) -> int:
    """Index of the first threshold that labels enough streams to pass; their number if none does."""
    enough = fewest_labelled(promise.accuracy, promise.risk)
    for index, labelled in enumerate(n_labelled):
        if labelled >= enough:
            return index
    return len(n_labelled)


def certify(replayed: Curve, promise: Promise, begin: int = 0) -> int:
    """Index of the loosest threshold that is certified to keep the promise; -1 if there is none.

    The thresholds from index `begin` on are tested in their order up to the first failure. Thresholds, order and
    `begin` must be fixed before the replayed streams (part B) are seen; otherwise the risk is larger than stated.
    """
    passed = fixed_sequence(promise_p_values(replayed, promise)[begin:], promise.risk)
    return -1 if passed == -1 else begin + passed


# Trade-offs, costs and subsets


def dominates(better: Sequence[float], worse: Sequence[float]) -> bool:
    """Return whether a point is at least as good in all and better in one.

    Points are (accuracy, completeness, cost, ticks): the first two the higher the better, the others the lower.
    """
    a = (better[0], better[1], -better[2], -better[3])
    b = (worse[0], worse[1], -worse[2], -worse[3])
    at_least_as_good = all(x >= y for x, y in zip(a, b, strict=True))
    return at_least_as_good and any(x > y for x, y in zip(a, b, strict=True))


def pareto(points: Sequence[Sequence[float]]) -> list[int]:
    """Indices, rising, of the points (accuracy, completeness, cost, ticks) that no other dominates.

    Equal points do not dominate each other. The numbers are known (no NaN).
    """
    front = []
    for index, point in enumerate(points):
        if not any(dominates(other, point) for other in points):
            front.append(index)
    return front


def paid(
    messages: Mapping[str, Flags],
    prices: Mapping[str, float],
    channels: Sequence[Sequence[str]],
    tested: Sequence[int],
    ticks: Sequence[int],
    tick: float = 0.0,
    control: float = 0.0,
) -> Array:
    """Return what each stream's first `ticks` cost, shape (n_streams,): each channel's messages once, and waiting.

    Parameters
    ----------
    messages : for each channel, whether it sends at a tick of a stream, shape (n_streams, n_ticks)
    prices : for each channel, what a message costs
    channels : of each feature, those that it reads; a feature that reads none is free
    tested : features that are paid for
    ticks : of each stream, how many
    tick : what a node pays for each of them; the nodes are those of the channels' names before the dot
    control : what a node pays for a stream with any tick
    """
    read: list[str] = []
    for feature in tested:
        for channel in channels[feature]:
            if channel not in read:
                read.append(channel)
    costs = []
    for i, n_ticks in enumerate(ticks):
        cost = 0.0
        for channel in read:
            for t in range(n_ticks):
                if messages[channel][i, t]:
                    cost += prices[channel]
        nodes = {channel.split(".")[0] if "." in channel.split("@")[0] else "" for channel in read}
        if n_ticks > 0:
            cost += len(nodes) * (control + n_ticks * tick)
        costs.append(cost)
    return np.array(costs, dtype=np.float64)


def exhaust(n_features: int, cost_of: Callable[[Subset], float]) -> tuple[Subset, float]:
    """Return the cheapest non-empty subset and its cost; (), inf if every cost is infinite.

    Of equal costs the one of fewer features is taken, then the first in lexicographic order.
    """
    best: Subset = ()
    least = math.inf
    for size in range(1, n_features + 1):
        for subset in combinations(range(n_features), size):
            cost = cost_of(subset)
            if cost < least:
                best, least = subset, cost
    return best, least
