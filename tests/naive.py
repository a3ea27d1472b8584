"""Plain, slow definitions from the papers, beside which every fast function is laid.

Nothing here knows the library. Seed 003 is Gao & Wang, "Feature Selection for Building Cost-Effective Data
Stream Classifiers" (ICDM 2005); "erratum" names a reading taken where the paper is wrong or silent. Values
are finite or NaN (missing). Sums are explicit loops: ``sum`` and ``np.sum`` may reorder or compensate.
"""

import math
from collections.abc import Collection, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


# Relief (seed 003, section 3.1)


def bounds(X: Array) -> tuple[Array, Array]:
    """Smallest and largest known value of each column; both 0 for a column without any."""
    known = [column[~np.isnan(column)] for column in X.T]
    low = [float(column.min()) if len(column) else 0.0 for column in known]
    high = [float(column.max()) if len(column) else 0.0 for column in known]
    return np.array(low), np.array(high)


def distinct_values(X: Array) -> Integers:
    """How many distinct known values each column has."""
    return np.array([len(set(column[~np.isnan(column)].tolist())) for column in X.T], dtype=np.int64)


def numeric_diff(a: float, b: float, low: float, high: float) -> float:
    """Difference of two numeric values divided by the range (eq. 2; settled for missing values)."""
    span = high - low
    if math.isnan(a) and math.isnan(b):
        return 1.0
    if math.isnan(a) or math.isnan(b):
        known = b if math.isnan(a) else a
        v = (known - low) / span if span > 0 else 0.0
        return max(v, 1.0 - v)
    return abs(a - b) / span if span > 0 else 0.0


def nominal_diff(a: float, b: float, n_values: int) -> float:
    """0 if the codes agree, 1 if not (eq. 2); 1 - 1/V where one or both are missing (settled).

    In a column without any value V is taken as 1.
    """
    if math.isnan(a) or math.isnan(b):
        return 1.0 - 1.0 / max(n_values, 1)
    return 0.0 if a == b else 1.0


def relief_weights(
    X: Array,
    classes: Integers,
    streams: Integers | None = None,
    power: int = 1,
    nominal: Collection[int] = (),
    low: Array | None = None,
    high: Array | None = None,
    n_values: Integers | None = None,
) -> Array:
    """Relief weights over all instances (seed 003 eq. 2), shape (n_features,).

    With `streams`, neighbours are of another stream (erratum: who may be a neighbour). Each diff is raised to
    `power`, in the distance and in the weight (erratum on seed 002). `low`, `high` and `n_values` (V of a
    nominal column) are those of `X` unless given. Ties go to the lowest index (settled); an instance without
    a hit or without a miss counts neither in the sum nor in n.
    """
    own_low, own_high = bounds(X)
    low = own_low if low is None else low
    high = own_high if high is None else high
    n_values = distinct_values(X) if n_values is None else n_values
    n, m = X.shape

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

    weights = np.zeros(m)
    n_used = 0
    for i in range(n):
        others = [k for k in range(n) if k != i and (streams is None or streams[k] != streams[i])]
        hits = [k for k in others if classes[k] == classes[i]]
        misses = [k for k in others if classes[k] != classes[i]]
        if not hits or not misses:
            continue
        hit = min(hits, key=lambda k: (distance(i, k), k))
        miss = min(misses, key=lambda k: (distance(i, k), k))
        weights += np.array(diffs(i, miss)) - np.array(diffs(i, hit))
        n_used += 1
    return weights / n_used if n_used else weights


# Relief at every position (seed 003, section 3.2, steps 1 and 2)


def training_table(
    values: Array, classes: Integers, lengths: Integers, positions: Sequence[int]
) -> tuple[Array, Integers, Integers, Integers]:
    """Rows by position, then by stream (settled: ties), with the class, stream and position of each."""
    n_streams, _, m = values.shape
    cells = [(p, s) for p in positions for s in range(n_streams) if p <= lengths[s]]
    X = np.array([values[s, p - 1] for p, s in cells], dtype=np.float64).reshape(len(cells), m)
    row_positions = np.array([p for p, _ in cells], dtype=np.int64)
    row_streams = np.array([s for _, s in cells], dtype=np.int64)
    row_classes = np.array([classes[s] for _, s in cells], dtype=np.int64)
    return X, row_classes, row_streams, row_positions


def stream_relief(
    values: Array,
    classes: Integers,
    lengths: Integers,
    neighbours: str,
    power: int = 1,
    positions: Sequence[int] | None = None,
    nominal: Collection[int] = (),
) -> Array:
    """Relief weights at each position, each from scratch, shape (n_positions, n_features).

    The training set at t_i holds all grid positions up to and including t_i; ranges and numbers of nominal
    values are those of the whole table (errata on seed 003; settled: missing in diff).

    Parameters
    ----------
    values : array, shape (n_streams, n_ticks, n_features)
    classes, lengths : arrays, shape (n_streams,)
    neighbours : "any" or "other_streams"
    positions : ascending ticks from 1 on; all ticks unless given
    """
    if positions is None:
        positions = range(1, values.shape[1] + 1)
    X, row_classes, row_streams, row_positions = training_table(values, classes, lengths, positions)
    low, high = bounds(X)
    n_values = distinct_values(X)
    W = []
    for position in positions:
        rows = row_positions <= position
        streams = {"any": None, "other_streams": row_streams[rows]}[neighbours]
        W.append(relief_weights(X[rows], row_classes[rows], streams, power, nominal, low, high, n_values))
    return np.array(W)


def lower_bound(W: Array) -> Array:
    """W_i = min over k >= i of W_k (seed 003, section 3.2), same shape (n_positions, n_features)."""
    return np.array([W[i:].min(axis=0) for i in range(len(W))])


def probe_weights(
    values: Array,
    classes: Integers,
    lengths: Integers,
    permutations: npt.NDArray[np.int64],
    features: Sequence[int],
    neighbours: str,
    power: int = 1,
    positions: Sequence[int] | None = None,
    nominal: Collection[int] = (),
) -> Array:
    """Weight of each probe at the last position, shape (n_probes,) (erratum: the relevance floor).

    Probe p is feature ``features[p]`` with stream s given the whole trajectory of stream
    ``permutations[p][s]``, NaN after that one's end; it stands alone as the last column of the table.
    """
    n_streams, n_ticks, m = values.shape
    weights = []
    for permutation, feature in zip(permutations, features, strict=True):
        probe = np.full((n_streams, n_ticks, 1), np.nan)
        for stream, donor in enumerate(permutation):
            probe[stream, : lengths[donor], 0] = values[donor, : lengths[donor], feature]
        table = np.concatenate([values, probe], axis=2)
        nominal_columns = {*nominal, m} if feature in nominal else set(nominal)
        # The last position's training set is the whole table, however many positions went before.
        grid = range(1, n_ticks + 1) if positions is None else positions
        X, row_classes, row_streams, _ = training_table(table, classes, lengths, grid)
        streams = {"any": None, "other_streams": row_streams}[neighbours]
        weights.append(relief_weights(X, row_classes, streams, power, nominal_columns)[m])
    return np.array(weights)


# Costs and the ranking (seed 003, eq. 1, 3, 4 and 5)


def decision_probability(W: Array) -> Array:
    """P = (W + 1) / 2 (seed 003 eq. 5), same shape."""
    return 0.5 * (W + 1.0)


def probability_at(tick: int, P: Array, positions: Sequence[int], extrapolation: str) -> float:
    """P of one feature at a tick: held between positions, extrapolated beyond the last.

    "none" holds the last P (settled: horizon). "linear" starts from it with the slope of the least-squares
    line over all positions, and stays in [P_last, 1] (erratum: extrapolated P). `P` has shape (n_positions,).
    """
    if tick <= positions[-1]:
        return float([p for p, position in zip(P, positions, strict=True) if position <= tick][-1])
    line = 0.0 if len(positions) == 1 else slope(P[:, np.newaxis], np.array(positions, dtype=np.float64))
    rise = {"none": 0.0, "linear": line}[extrapolation]
    last = float(P[-1])
    return min(max(last + rise * (tick - positions[-1]), last), 1.0)


def expected_cost(
    P: Array,
    each: Array,
    confidence: float,
    horizon: int,
    extrapolation: str,
    first_tick: str,
    positions: Sequence[int] | None = None,
) -> Array:
    """C_F of each feature, the one-time cost left out (seed 003 eq. 3), shape (n_features,).

    The sum of 1 - P_t runs over ticks 1 to `horizon`, both included; from the first tick at which P_t reaches
    `confidence` on, its terms are 0 (erratum: the infinite sum). "counted" adds the first tick, which the
    print misses, "literal" does not (erratum: the first tick).

    Parameters
    ----------
    P : array, shape (n_positions, n_features)
    each : array, shape (n_features,)
    extrapolation : "none" or "linear"
    first_tick : "counted" or "literal"
    positions : ascending ticks, the first of them 1; 1, 2, ... unless given
    """
    if positions is None:
        positions = range(1, len(P) + 1)
    costs = []
    for j in range(P.shape[1]):
        n_ticks = {"counted": 1.0, "literal": 0.0}[first_tick]
        for tick in range(1, horizon + 1):
            probability = probability_at(tick, P[:, j], positions, extrapolation)
            if probability >= confidence:
                break
            n_ticks += 1.0 - probability
        costs.append(float(each[j]) * n_ticks)
    return np.array(costs)


def score(expected: Array, once: Array, a: float, b: float) -> Array:
    """Each feature's share of the cost: a C_F + b C_int (seed 003 eq. 4), shape (n_features,)."""
    return np.array([a * e + b * o for e, o in zip(expected, once, strict=True)])


def ranking(score: Array, relevant: Flags | None = None) -> Integers:
    """Features by ascending score, ties by lowest index; the irrelevant come last (erratum on eq. 5)."""
    if relevant is None:
        relevant = np.ones(len(score), dtype=np.bool_)
    order = sorted(range(len(score)), key=lambda j: (not relevant[j], score[j], j))
    return np.array(order, dtype=np.int64)


def classification_cost(ticks: float, each: Array, once: Array, a: float, b: float) -> float:
    """C_CDP = a t sum(C_each) + b sum(C_int) (seed 003 eq. 1)."""
    return a * ticks * math.fsum(each) + b * math.fsum(once)


# Features of a prefix (seed 003, section 2: f maps the stream up to and including t_i to a number)
#
# Each takes the samples of the columns it reads, shape (n_ticks, n_columns), and their times, shape
# (n_ticks,). A sample with NaN in any of its columns is dropped; without a sample left the feature is NaN.


def kept(values: Array, times: Array) -> tuple[Array, Array]:
    """Drop the samples with NaN in any column, and their times."""
    complete = ~np.isnan(values).any(axis=1)
    return values[complete], times[complete]


def cross(a: Array, b: Array) -> Fraction:
    """Sum of the products of deviations from the means, in exact rational arithmetic."""
    exact_a, exact_b = [Fraction(float(x)) for x in a], [Fraction(float(x)) for x in b]
    products = sum((x * y for x, y in zip(exact_a, exact_b, strict=True)), Fraction(0))
    return products - sum(exact_a, Fraction(0)) * sum(exact_b, Fraction(0)) / len(a)


def sample_variance(x: Array) -> float:
    """Variance with n - 1 in the denominator; NaN below two samples."""
    return float(cross(x, x) / (len(x) - 1)) if len(x) >= 2 else math.nan


def pearson(a: Array, b: Array) -> float:
    """Pearson's correlation; NaN unless both vary."""
    if len(a) == 0 or cross(a, a) == 0 or cross(b, b) == 0:
        return math.nan
    together = cross(a, b)
    return math.copysign(math.sqrt(together**2 / (cross(a, a) * cross(b, b))), together)


def count(values: Array, times: Array) -> float:  # noqa: ARG001 - all features are called alike
    """How many ticks there are; no column is read, so no sample is dropped."""
    return float(len(times))


def last(values: Array, times: Array) -> float:
    """Last sample."""
    x = kept(values, times)[0][:, 0]
    return float(x[-1]) if len(x) else math.nan


def mean(values: Array, times: Array) -> float:
    """Arithmetic mean."""
    x = kept(values, times)[0][:, 0]
    return math.fsum(x) / len(x) if len(x) else math.nan


def variance(values: Array, times: Array) -> float:
    """Sample variance (n - 1); NaN below two samples."""
    return sample_variance(kept(values, times)[0][:, 0])


def minimum(values: Array, times: Array) -> float:
    """Smallest sample."""
    return float(min(kept(values, times)[0][:, 0], default=math.nan))


def maximum(values: Array, times: Array) -> float:
    """Largest sample."""
    return float(max(kept(values, times)[0][:, 0], default=math.nan))


def value_range(values: Array, times: Array) -> float:
    """Largest less smallest sample."""
    return maximum(values, times) - minimum(values, times)


def slope(values: Array, times: Array) -> float:
    """Slope of the least-squares line over the times; NaN without two distinct times."""
    samples, t = kept(values, times)
    if len(set(t.tolist())) < 2:
        return math.nan
    return float(cross(t, samples[:, 0]) / cross(t, t))


def exponentially_weighted_mean(values: Array, times: Array, alpha: float) -> float:
    """Start from the first sample, m = x, then m + alpha (x - m) at each later one."""
    m = math.nan
    for x in kept(values, times)[0][:, 0].tolist():
        m = x if math.isnan(m) else m + alpha * (x - m)
    return m


def windowed_mean(values: Array, times: Array, window: int) -> float:
    """Mean of the last `window` samples that are not missing; of all where there are fewer."""
    samples, t = kept(values, times)
    return mean(samples[-window:], t[-window:])


def windowed_variance(values: Array, times: Array, window: int) -> float:
    """Sample variance of the last `window` samples that are not missing; NaN below two."""
    samples, t = kept(values, times)
    return variance(samples[-window:], t[-window:])


def correlation(values: Array, times: Array) -> float:
    """Pearson's correlation of two columns; NaN unless both vary."""
    samples, _ = kept(values, times)
    return pearson(samples[:, 0], samples[:, 1])


def correlation_of_increments(values: Array, times: Array) -> float:
    """Pearson's correlation of the differences of successive kept samples; NaN unless both vary."""
    increments = np.diff(kept(values, times)[0], axis=0)
    return pearson(increments[:, 0], increments[:, 1])


def mean_absolute_difference(values: Array, times: Array) -> float:
    """Mean of |a - b| over two columns."""
    samples, _ = kept(values, times)
    return math.fsum(abs(a - b) for a, b in samples) / len(samples) if len(samples) else math.nan


def flag_agreement(values: Array, times: Array, threshold: float) -> float:
    """Share of samples in which both columns, or neither, lie above the threshold."""
    samples, _ = kept(values, times)
    agreeing = [(a > threshold) == (b > threshold) for a, b in samples.tolist()]
    return agreeing.count(True) / len(agreeing) if agreeing else math.nan
