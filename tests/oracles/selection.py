"""Filters and sequential selection, plain and slow: the reference for the library's versions.

Acuna & Coaquira, "Feature Selection for Supervised Classification" (slides); Pudil, Novovicova & Kittler,
"Floating Search Methods in Feature Selection" (1994).

Nothing here imports the library. "Taken" marks a reading chosen because the paper is wrong or silent. Values are
finite or NaN (missing); nominal values are codes. Classes go in rising order. Sums are explicit loops in order; of
equal values the lowest index comes first.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from oracles.papers import Array, Integers, known

Subset = tuple[int, ...]
Score = Callable[[Subset], float]


# Inconsistency and discretisation (Acuna & Coaquira, slides 29 to 32)


def inconsistency(X: Array, y: Integers) -> float:
    """Inconsistency rate: rows outside the largest class of their group, over all rows (Liu & Setiono 1996).

    Rows of equal values form a group, with a missing value treated as a value. Without features all rows are one
    group. Taken is Liu's count; the slide's legend would count the largest class too.
    """
    groups: dict[tuple[float | None, ...], list[int]] = {}
    for row, label in zip(X, y, strict=True):
        key = tuple(None if math.isnan(value) else float(value) for value in row)
        groups.setdefault(key, []).append(int(label))
    n_inconsistent = 0
    for labels in groups.values():
        n_inconsistent += len(labels) - max(Counter(labels).values())
    return n_inconsistent / len(y)


def bins_of_width(x: Array, span: float) -> int:
    """Bins of Freedman & Diaconis' width in a range `span`: ceil(span / h), h = 2 IQR n^(-1/3).

    `x` has known values only. Quartiles are interpolated linearly; with an IQR of 0, Sturges' ceil(log2 n) + 1
    (taken). There is no upper bound.
    """
    lower, upper = np.quantile(x, [0.25, 0.75])
    if upper == lower:
        return math.ceil(math.log2(len(x))) + 1
    width = 2.0 * float(upper - lower) * float(len(x) ** (-1.0 / 3.0))
    return math.ceil(span / width)


def freedman_diaconis_bins(x: Array) -> int:
    """Number of equal-width bins of a feature; 1 if its known values are all equal, or it has none."""
    values = known(x)
    if len(values) == 0 or values.min() == values.max():
        return 1
    return bins_of_width(values, float(values.max() - values.min()))


def supervised_bins(x: Array, y: Integers) -> int:
    """The largest number of bins of a class: by its IQR and size, and the range of the whole feature.

    A class without known values has no bins; a feature with a range of 0, or no known value, has 1 bin (taken).
    """
    values = known(x)
    if len(values) == 0 or values.min() == values.max():
        return 1
    classes = [known(x[y == c]) for c in sorted(set(y.tolist()))]
    span = float(values.max() - values.min())
    return max(bins_of_width(of_class, span) for of_class in classes if len(of_class))


def equal_width_codes(x: Array, n_bins: int) -> Array:
    """Bin of each value, 0 to n_bins - 1: floor((value - low) / (high - low) n_bins), the highest in the last.

    So a bin holds its lower edge. A range of 0 gives bin 0; a missing value stays missing.
    """
    values = known(x)
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)

    def code(value: float) -> float:
        if math.isnan(value):
            return math.nan
        return 0.0 if high == low else float(min(math.floor((value - low) / (high - low) * n_bins), n_bins - 1))

    return np.array([code(float(value)) for value in x])


# The Las Vegas filter and Finco (Acuna & Coaquira, slides 26 and 33 to 34)


def las_vegas(codes: Array, y: Integers, subsets: Sequence[Sequence[int]], threshold: float) -> Subset:
    """The smallest of the drawn subsets with a rate of at most `threshold`, the last drawn of equal sizes; rising.

    Starting with all features, of size p: a smaller one replaces the best, and so does one of the same size.
    Taken: "at most" in both branches (the slide prints < in the first, which would accept no subset at a threshold
    of 0). A drawn subset may be empty, or hold all features, and is then treated as any other.
    """
    best = tuple(range(codes.shape[1]))
    for drawn in subsets:
        subset = tuple(sorted(drawn))
        if len(subset) <= len(best) and inconsistency(codes[:, list(subset)], y) <= threshold:
            best = subset
    return best


def finco(codes: Array, y: Integers, threshold: float) -> Subset:
    """Forward selection by the inconsistency rate, in order of entry.

    Each step adds the feature with the smallest rate, while the rate falls, until it is at most `threshold`;
    the feature that reaches it is kept. Taken: the first feature enters whatever its rate (slide 33 does not
    give the rate of no features), so the selection is never empty.
    """
    chosen: Subset = ()
    rate = math.inf
    while rate > threshold and len(chosen) < codes.shape[1]:
        out = [j for j in range(codes.shape[1]) if j not in chosen]
        rates = [inconsistency(codes[:, [*chosen, j]], y) for j in out]
        if min(rates) >= rate:
            break
        rate = min(rates)
        chosen = (*chosen, out[rates.index(rate)])
    return chosen


# Sequential selection (Acuna & Coaquira, slides 18 to 20; Pudil, Novovicova & Kittler 1994)


def with_best(chosen: Subset, score: Score, n_features: int) -> Subset:
    """`chosen` and, last, the feature that gives the highest score with it."""
    out = [j for j in range(n_features) if j not in chosen]
    scores = [score(tuple(sorted((*chosen, j)))) for j in out]
    return (*chosen, out[scores.index(max(scores))])


def without_worst(chosen: Subset, score: Score) -> Subset:
    """`chosen` without the feature whose absence gives the highest score, the lowest index of several."""
    inside = sorted(chosen)
    scores = [score(tuple(k for k in inside if k != j)) for j in inside]
    worst = inside[scores.index(max(scores))]
    return tuple(k for k in chosen if k != worst)


def sequential(
    score: Score,
    n_features: int,
    direction: str = "forward",
    floating: bool = False,
    take: int | None = None,
    remove: int | None = None,
) -> Subset:
    """Sequential selection; forward in order of entry, backward what is left, rising.

    `score` is given subsets of rising indices, is larger for the better, and is never called with the empty
    subset. What the slides leave open:

    - A step forward adds the feature with the highest score, and is accepted if it raises the score strictly; the
      first feature enters whatever its score is. A step backward removes the feature without which the score is
      highest, and is accepted if the score does not fall: an equal one continues. The last feature is never
      removed.
    - Take-l-remove-r, forward if l = `take` is above r = `remove`, backward if below: a round adds l features one
      by one, then removes r one by one (backward: removes r, then adds l), each the best at its step, and none of
      these is compared with the previous score. The round as a whole is accepted or rejected like a step; if it is
      rejected, the previous subset is the result. Rounds are whole: forward ends where fewer than l features are
      out (l above all of them is a ValueError), backward where r or fewer are in. (1, 0) is SFS, (0, 1) is SBS;
      these are the defaults.
    - A feature that was removed and enters again is last in the order of entry.
    - With `floating`: see `floating_forward` and `floating_backward`.
    """
    if floating:
        floating_search = {"forward": floating_forward, "backward": floating_backward}[direction]
        return floating_search(score, n_features)
    forward = {"forward": True, "backward": False}[direction]
    take = int(forward) if take is None else take
    remove = int(not forward) if remove is None else remove
    if take == remove or (take > remove) != forward or (forward and take > n_features):
        raise ValueError(take, remove)
    search = rounds_forward if forward else rounds_backward
    return search(score, n_features, take, remove)


def rounds_forward(score: Score, n_features: int, take: int, remove: int) -> Subset:
    """From no feature: rounds of `take`, then `remove`, while the score rises."""
    chosen: Subset = ()
    current = -math.inf
    while n_features - len(chosen) >= take:
        trial = chosen
        for _ in range(take):
            trial = with_best(trial, score, n_features)
        for _ in range(remove):
            trial = without_worst(trial, score)
        reached = score(tuple(sorted(trial)))
        if not reached > current:
            break
        chosen, current = trial, reached
    return chosen


def rounds_backward(score: Score, n_features: int, take: int, remove: int) -> Subset:
    """From all features: rounds of `remove`, then `take`, while the score does not fall."""
    chosen = tuple(range(n_features))
    current = score(chosen)
    while len(chosen) > remove:
        trial = chosen
        for _ in range(remove):
            trial = without_worst(trial, score)
        for _ in range(take):
            trial = with_best(trial, score, n_features)
        reached = score(tuple(sorted(trial)))
        if reached < current:
            break
        chosen, current = trial, reached
    return tuple(sorted(chosen))


def best_of_all(best: dict[int, tuple[float, Subset]]) -> Subset:
    """Of the best subset of each size the one with the highest score, of equal ones the smallest."""
    size = min(best, key=lambda k: (-best[k][0], k))
    return best[size][1]


def floating_forward(score: Score, n_features: int) -> Subset:
    """SFFS: each inclusion is followed by exclusions.

    An inclusion must raise the score of the present subset strictly, else the search ends (slide 20); an exclusion
    (the feature without which the score is highest) stands if its score is strictly above the best met so far
    for its size, be that below the score before it (Pudil 1994), and is tried again until one does not. Each
    subset on the way becomes the best of its size if strictly above the last. Taken: the result is the best
    of all sizes, of equal ones the smallest, for an exclusion may leave the highest score behind.
    """
    chosen: Subset = ()
    current = -math.inf
    best: dict[int, tuple[float, Subset]] = {}
    while len(chosen) < n_features:
        trial = with_best(chosen, score, n_features)
        reached = score(tuple(sorted(trial)))
        if not reached > current:
            break
        chosen, current = trial, reached
        if len(chosen) not in best or current > best[len(chosen)][0]:
            best[len(chosen)] = current, chosen
        while len(chosen) > 1:
            trial = without_worst(chosen, score)
            reached = score(tuple(sorted(trial)))
            if not reached > best[len(trial)][0]:
                break
            chosen, current = trial, reached
            best[len(chosen)] = current, chosen
    return best_of_all(best)


def floating_backward(score: Score, n_features: int) -> Subset:
    """SFBS, the mirror: each exclusion is followed by inclusions; rising.

    An exclusion must not lower the score of the present subset, else the search ends; an inclusion stands if its
    score is strictly above the best met so far for its size. The best and the result are as in SFFS.
    """
    chosen = tuple(range(n_features))
    current = score(chosen)
    best = {n_features: (current, chosen)}
    while len(chosen) > 1:
        trial = without_worst(chosen, score)
        reached = score(tuple(sorted(trial)))
        if reached < current:
            break
        chosen, current = trial, reached
        if len(chosen) not in best or current > best[len(chosen)][0]:
            best[len(chosen)] = current, chosen
        while len(chosen) < n_features:
            trial = with_best(chosen, score, n_features)
            reached = score(tuple(sorted(trial)))
            if not reached > best[len(trial)][0]:
                break
            chosen, current = trial, reached
            best[len(chosen)] = current, chosen
    return tuple(sorted(best_of_all(best)))
