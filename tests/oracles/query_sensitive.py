"""Query-sensitive selection, plain and slow: the reference for the library's version.

Tong & Gu, "Query-Sensitive Feature Selection for Lazy Learners", tables 1 and 2.

Nothing here imports the library. "Taken" marks a reading chosen because the paper is wrong or silent. Values are
finite or NaN (missing); nominal values are codes. Classes go in rising order. Sums are explicit loops in order; of
equal values the lowest index comes first.
"""

import math
from collections.abc import Collection, Sequence

import numpy as np
from oracles.papers import Array, Integers, bounds, deviation, distinct_values, nominal_diff, numeric_diff, total


def query_sensitive_subset(
    query: Array, subset: Sequence[int], mean: Array, sd: Array, numeric: Collection[int]
) -> tuple[int, ...]:
    """`subset` and, rising, the numeric features outside it on which |Q - M| >= SD (table 1).

    Taken: the absolute value, which the text has and table 1 lacks. QSFS2 hands the learned thresholds for `sd`,
    and all three in one unit. A feature missing in the query, or without a mean, is not added; one of deviation 0
    is added always, as >= has it.
    """
    added = [j for j in sorted(numeric) if j not in subset and abs(query[j] - mean[j]) >= sd[j]]
    return (*subset, *added)


def squared_diff(X: Array, a: Array, b: Array, j: int, nominal: Collection[int]) -> float:
    """delta^2 of eq. 2 on feature j, divided by the range in `X`; missing cells as in Relief (taken)."""
    if j in nominal:
        diff = nominal_diff(float(a[j]), float(b[j]), int(distinct_values(X)[j]))
    else:
        low, high = bounds(X)
        diff = numeric_diff(float(a[j]), float(b[j]), float(low[j]), float(high[j]))
    return diff * diff


def nearest(
    X: Array,
    query: Array,
    features: Sequence[int] | None = None,
    nominal: Collection[int] = (),
    without: int | None = None,
) -> int:
    """Row of `X` nearest to the query on `features` (all unless given), but not the row `without` (eq. 1).

    `X` and the query are as measured; ranges and numbers of nominal values are those of all of `X`. Sums of
    squares, in the order of `features`, are compared without taking their root (which could make ties). Without
    any feature the first row is the nearest.
    """
    features = range(X.shape[1]) if features is None else features

    def distance(i: int) -> float:
        return total([squared_diff(X, query, X[i], j, nominal) for j in features])

    return min((i for i in range(len(X)) if i != without), key=lambda i: (distance(i), i))


def learn_thresholds(
    X: Array,
    y: Integers,
    sd: Array | None = None,
    eta: float = 0.1,
    passes: int = 1,
    subset: Sequence[int] | None = None,
    nominal: Collection[int] = (),
) -> Array:
    """LearnT (table 2): thresholds in units of the range, shape (n_features,); NaN for a nominal feature.

    `X` is as measured and divided by its ranges here (a range of 0 gives 0); `sd` is in units of the range, the
    deviation of the training values (n - 1) unless given. The instances go in order, `passes` times over; the
    neighbour of each is the nearest other one on `subset`, on all features unless given (to the letter). Every
    numeric feature known in both is updated, inside `subset` or not:
    T <- T (1 +- eta (|q - c| - SD)), + if the classes agree. Taken: T stays at least 0, after each update.
    """
    low, high = bounds(X)
    numeric = [j for j in range(X.shape[1]) if j not in nominal]
    span = np.where(high > low, high - low, 1.0)
    deviations = [deviation((X[:, j] - low[j]) / span[j]) for j in range(X.shape[1])] if sd is None else sd
    thresholds = np.array([float(deviations[j]) if j in numeric else math.nan for j in range(X.shape[1])])
    for _ in range(passes):
        for i in range(len(X)):
            k = nearest(X, X[i], subset, nominal, without=i)
            sign = 1.0 if y[i] == y[k] else -1.0
            for j in numeric:
                if math.isnan(X[i, j]) or math.isnan(X[k, j]):
                    continue
                diff = numeric_diff(float(X[i, j]), float(X[k, j]), float(low[j]), float(high[j]))
                factor = 1.0 + sign * eta * (diff - float(deviations[j]))
                thresholds[j] = max(thresholds[j] * factor, 0.0)
    return thresholds
