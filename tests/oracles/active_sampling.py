"""Active sampling, plain and slow: the reference for the library's version.

Veeramachaneni & Avesani, "Active Sampling for Feature Selection" (ICDM 2003), sections 3 and 4.

Nothing here imports the library. "Taken" marks a reading chosen because the paper is wrong or silent. Values are
finite or NaN (missing); nominal values are codes. Classes go in rising order. Sums are explicit loops in order; of
equal values the lowest index comes first.
"""

import math
from collections.abc import Sequence

import numpy as np
from oracles.papers import Array, total


def posterior(counts: Array) -> Array:
    """Bayes' estimate under a Dirichlet prior of ones, along the last axis: (n + 1) / (N + V)."""
    return np.asarray((counts + 1.0) / (counts.sum(axis=-1, keepdims=True) + counts.shape[-1]))


def class_entropy(p: Array) -> float:
    """H(C | X, Y) of a joint p(c, x, y), in nats (eq. 1); 0 log 0 is 0."""
    terms = []
    for c, x, y in np.ndindex(p.shape):
        if p[c, x, y] > 0:
            terms.append(-float(p[c, x, y]) * math.log(p[c, x, y] / total(p[:, x, y].tolist())))
    return total(terms)


def benefit(counts: Array, p_cx: Array) -> Array:
    """Eq. 3 by brute force for every region (c, x), shape (n_classes, n_x), in nats.

    `counts` are the samples taken so far, shape (n_classes, n_x, n_y); `p_cx` is p_N(c, x). The whole joint is
    made anew for every region and every value that the sample could have. Taken: eq. 2's probability of a value
    is that of the region tried.
    """
    joint = posterior(counts) * p_cx[:, :, np.newaxis]
    now = class_entropy(joint)
    result = np.zeros(p_cx.shape)
    for a, b in np.ndindex(p_cx.shape):
        terms = []
        for value in range(counts.shape[2]):
            more = counts.copy()
            more[a, b, value] += 1
            terms.append(
                float(posterior(counts)[a, b, value]) * class_entropy(posterior(more) * p_cx[:, :, np.newaxis])
            )
        result[a, b] = abs(total(terms) - now)
    return result


def entropy(p: Array) -> float:
    """Entropy of a distribution, in nats; 0 log 0 is 0."""
    return total([-share * math.log(share) for share in p.tolist() if share > 0])


def mixture(p_y: Array, p_c: Array) -> Array:
    """p(y | x) = sum over c of p(c, x) p(y | c, x), over p(x); `p_y`: p(y | c, x) by class, `p_c`: p(c, x)."""
    joint = [p * row for p, row in zip(p_c, p_y, strict=True)]
    result = np.zeros(p_y.shape[1])
    for row in joint:
        result = result + row
    return result / total(p_c.tolist())


def decoupled_benefit(counts: Array, p_cx: Array) -> Array:
    """Eq. 3 by the region's own terms alone, shape (n_classes, n_x), in nats; 0 where p(x) is 0.

    |p(a,b) [E H_{k+1}(Y|a,b) - H_k(Y|a,b)] - p(b) [E H_{k+1}(Y|b) - H_k(Y|b)]|. Taken: p(b) weighs the second
    pair, where the paper prints p(a, b).
    """
    result = np.zeros(p_cx.shape)
    for a, b in np.ndindex(p_cx.shape):
        p_b = total(p_cx[:, b].tolist())
        if p_b == 0.0:
            continue
        now = posterior(counts)[:, b]
        later_ab, later_b = [], []
        for value in range(counts.shape[2]):
            more = counts.copy()
            more[a, b, value] += 1
            later = posterior(more)[:, b]
            later_ab.append(float(now[a, value]) * entropy(later[a]))
            later_b.append(float(now[a, value]) * entropy(mixture(later, p_cx[:, b])))
        change_ab = total(later_ab) - entropy(now[a])
        change_b = total(later_b) - entropy(mixture(now, p_cx[:, b]))
        result[a, b] = abs(float(p_cx[a, b]) * change_ab - p_b * change_b)
    return result


def map_error(p_true: Array, p_estimated: Array) -> float:
    """Error of the maximum a posteriori classifier of one joint p(c, x, y) under another, a share from 0 to 1.

    1 - sum over (x, y) of p_true(phi(x, y), x, y), phi being the class of the largest estimated probability, the
    first of equal ones. Taken: the joint, where the paper prints a conditional; the paper's figures are 100 times
    this.
    """
    right = []
    for x, y in np.ndindex(p_true.shape[1:]):
        column = p_estimated[:, x, y].tolist()
        right.append(float(p_true[column.index(max(column)), x, y]))
    return 1.0 - total(right)


def mean_ranks(values: Sequence[float]) -> list[float]:
    """Rank from 1 up, rising; equal values have the mean of the ranks they take."""
    result = []
    for value in values:
        below = len([other for other in values if other < value])
        equal = len([other for other in values if other == value])
        result.append(below + (equal + 1) / 2.0)
    return result


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's correlation by the paper's formula 1 - 6 sum d^2 / (M (M^2 - 1)), M of at least 2.

    Taken: mean ranks for ties and the formula as it is, which with ties is not Pearson's correlation of the ranks.
    """
    squares = [(p - q) ** 2 for p, q in zip(mean_ranks(a), mean_ranks(b), strict=True)]
    return 1.0 - 6.0 * total(squares) / (len(a) * (len(a) ** 2 - 1))


def mse(true: float, estimates: Sequence[float]) -> float:
    """Mean square difference of the estimates of several runs from the true value."""
    return total([(true - estimate) ** 2 for estimate in estimates]) / len(estimates)
