"""ReliefF, plain and slow, from the papers: Kononenko (ECML 1994), Robnik-Sikonja & Kononenko (2003).

Nothing here imports the library. Differences, ranges and sums are those of `oracles.papers`.
"""

import math
from collections.abc import Collection, Sequence

import numpy as np
from oracles.papers import Array, Integers, bounds, distinct_values, nominal_diff, numeric_diff


def relieff_weights(
    X: Array,
    classes: Integers,
    n_neighbours: int,
    streams: Integers | None = None,
    power: int = 1,
    nominal: Collection[int] = (),
    low: Array | None = None,
    high: Array | None = None,
    n_values: Integers | None = None,
    instances: Sequence[int] | None = None,
) -> Array:
    """ReliefF weights, shape (n_features,).

    The mean, over `instances` (all of them unless given), of

        sum over C != class(R) of P(C) / (1 - P(class(R))) mean diff(R, M_j(C)) - mean diff(R, H_j),

    where H_j and M_j(C) are the nearest `n_neighbours` of R's class and of each other class C, or as many as there
    are, and P(C) is the share of class C in all of `X`. A class of which R has no neighbour, including R's own,
    adds nothing, and R still counts. As in Relief (`oracles.papers.relief_weights`), neighbours are of another
    stream if there are `streams`, each diff is raised to `power`, and ties go to the lowest index.
    """
    own_low, own_high = bounds(X)
    low = own_low if low is None else low
    high = own_high if high is None else high
    n_values = distinct_values(X) if n_values is None else n_values
    n, m = X.shape
    prior = {c: float(np.sum(classes == c)) / n for c in sorted(set(classes.tolist()))}

    def diffs(i: int, k: int) -> list[float]:
        result = []
        for j in range(m):
            a, b = float(X[i, j]), float(X[k, j])
            if j in nominal:
                diff = nominal_diff(a, b, int(n_values[j]))
            else:
                diff = numeric_diff(a, b, float(low[j]), float(high[j]))
            result.append(math.prod([diff] * power))
        return result

    def distance(i: int, k: int) -> float:
        total = 0.0
        for diff in diffs(i, k):
            total += diff
        return total

    chosen = range(n) if instances is None else instances
    weights = np.zeros(m)
    for i in chosen:
        others = [k for k in range(n) if k != i and (streams is None or streams[k] != streams[i])]
        others.sort(key=lambda k: (distance(i, k), k))
        own = int(classes[i])
        for c, share in prior.items():
            nearest = [k for k in others if classes[k] == c][:n_neighbours]
            if nearest:
                factor = -1.0 if c == own else share / (1.0 - prior[own])
                weights += factor * np.mean([diffs(i, k) for k in nearest], axis=0)
    return weights / len(chosen)
