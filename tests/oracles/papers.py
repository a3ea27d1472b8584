"""Plain, slow definitions from the papers: the reference for every fast function.

Nothing here imports the library. The paper is Gao & Wang, "Feature Selection for Building Cost-Effective Data
Stream Classifiers" (ICDM 2005); "erratum" marks a reading chosen because the paper is wrong, "settled" one because
it is silent. Values are finite or NaN (missing). Sums are explicit loops: ``sum`` and ``np.sum`` may reorder or
compensate.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from oracles.features import slope

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


# Relief (section 3.1)


def bounds(X: Array) -> tuple[Array, Array]:
    """Smallest and largest known value of each column; both 0 for a column without any."""
    known = [column[~np.isnan(column)] for column in X.T]
    low = [float(column.min()) if len(column) else 0.0 for column in known]
    high = [float(column.max()) if len(column) else 0.0 for column in known]
    return np.array(low), np.array(high)


def distinct_values(X: Array) -> Integers:
    """Number of distinct known values of each column."""
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
    """Relief weights over all instances (eq. 2), shape (n_features,).

    With `streams`, neighbours are of another stream (erratum: who may be a neighbour). Each diff is raised to
    `power`, in the distance and in the weight (erratum). `low`, `high` and `n_values` (V of a
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


# Relief for data streams (section 3.1)


def prefix_table(
    values: Array, classes: Integers, draws: Sequence[tuple[int, int]]
) -> tuple[Array, Integers, Integers]:
    """One row for each tick of each drawn prefix, by draw, then by tick, with the class and stream of each.

    Parameters
    ----------
    values : array, shape (n_streams, n_ticks, n_features)
    classes : array, shape (n_streams,)
    draws : the stream and the length of each prefix, in ticks; a stream may be drawn again
    """
    X = [values[stream, tick] for stream, length in draws for tick in range(length)]
    streams = np.array([stream for stream, length in draws for _ in range(length)], dtype=np.int64)
    return np.array(X, dtype=np.float64).reshape(len(streams), values.shape[2]), classes[streams], streams


def prefix_relief(
    values: Array,
    classes: Integers,
    draws: Sequence[tuple[int, int]],
    neighbours: str,
    power: int = 1,
    nominal: Collection[int] = (),
) -> Array:
    """Relief weights over the instances of all drawn prefixes, shape (n_features,).

    With "other_streams" the rows of a stream are no neighbours of each other, in whichever draw they came.
    """
    X, row_classes, row_streams = prefix_table(values, classes, draws)
    streams = {"any": None, "other_streams": row_streams}[neighbours]
    return relief_weights(X, row_classes, streams, power, nominal)


# Relief at every position (section 3.2, steps 1 and 2)


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
    values are those of the whole table (errata; settled: missing in diff).

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
    """W_i = min over k >= i of W_k (section 3.2), same shape (n_positions, n_features)."""
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
        # The last position's training set is the whole table, whatever the earlier positions.
        grid = range(1, n_ticks + 1) if positions is None else positions
        X, row_classes, row_streams, _ = training_table(table, classes, lengths, grid)
        streams = {"any": None, "other_streams": row_streams}[neighbours]
        weights.append(relief_weights(X, row_classes, streams, power, nominal_columns)[m])
    return np.array(weights)


# Costs and the ranking (eq. 1, 3, 4 and 5)


def decision_probability(W: Array) -> Array:
    """P = (W + 1) / 2 (eq. 5), same shape."""
    return 0.5 * (W + 1.0)


def held(tick: int, P: Array, positions: Sequence[int]) -> float:  # noqa: ARG001 - all are called alike
    """The last P."""
    return float(P[-1])


def line(tick: int, P: Array, positions: Sequence[int]) -> float:
    """From the last P, with the slope of the least-squares line over all positions."""
    if len(P) < 2:
        return float(P[-1])
    return float(P[-1]) + slope(P[:, np.newaxis], np.array(positions, dtype=np.float64)) * (tick - positions[-1])


def spline(tick: int, P: Array, positions: Sequence[int]) -> float:
    """The natural cubic spline through all positions, its last piece continued; below three, the line."""
    if len(P) < 3:
        return line(tick, P, positions)
    n, t = len(P), [float(position) for position in positions]
    # Row i says that the first derivatives of the pieces before and after t_i agree; those of the ends, that
    # the second derivative is 0 there.
    A, right = np.eye(n), np.zeros(n)
    for i in range(1, n - 1):
        before, after = t[i] - t[i - 1], t[i + 1] - t[i]
        A[i, i - 1 : i + 2] = before / 6.0, (before + after) / 3.0, after / 6.0
        right[i] = (P[i + 1] - P[i]) / after - (P[i] - P[i - 1]) / before
    bend = float(np.linalg.solve(A, right)[-2])
    # On the last piece, of width h, at u from its beginning, where the second derivative is `bend`; it is 0 at
    # the end: S = P + u ((P_last - P) / h - bend h / 3) + bend u^2 / 2 - bend u^3 / (6 h).
    h, u = t[-1] - t[-2], tick - t[-2]
    first = (P[-1] - P[-2]) / h - bend * h / 3.0
    return float(P[-2] + first * u + bend * u**2 / 2.0 - bend * u**3 / (6.0 * h))


def slope_between(h: float, d: float, next_h: float, next_d: float) -> float:
    """Fritsch & Butland's slope where pieces of widths h and slopes d meet: a harmonic mean, or 0 at a turn."""
    if d * next_d <= 0:
        return 0.0
    w, next_w = 2.0 * next_h + h, next_h + 2.0 * h
    return (w + next_w) / (w / d + next_w / next_d)


def slope_at_end(h: float, d: float, inner_h: float, inner_d: float) -> float:
    """The slope of the parabola through three points at the outer one, kept from turning and overshooting."""
    end = ((2.0 * h + inner_h) * d - h * inner_d) / (h + inner_h)
    if end * d <= 0:
        return 0.0
    return 3.0 * d if d * inner_d <= 0 and abs(end) > 3.0 * abs(d) else end


def hermite(tick: int, P: Array, positions: Sequence[int]) -> float:
    """The monotone cubic Hermite interpolant, its last piece continued; below three positions, the line.

    Its slopes are those of Fritsch & Butland (1984), which are within Fritsch & Carlson's (1980) bounds.
    """
    if len(P) < 3:
        return line(tick, P, positions)
    h = [float(after - before) for before, after in pairwise(positions)]
    d = [float(after - before) / width for (before, after), width in zip(pairwise(P), h, strict=True)]
    start = slope_between(h[-2], d[-2], h[-1], d[-1])
    end = slope_at_end(h[-1], d[-1], h[-2], d[-2])
    # On the last piece, of width h, at u from its beginning, as a share s of it.
    u = tick - positions[-2]
    s = u / h[-1]
    curved = s * s * (3.0 - 2.0 * s) * (float(P[-1]) - float(P[-2]))
    return float(P[-2]) + curved + u * (1.0 - s) ** 2 * start + u * s * (s - 1.0) * end


def saturating(tick: int, P: Array, positions: Sequence[int]) -> float:
    """The exponential through the last P that tends to 1: 1 - (1 - P_last) exp(-(t - t_last) / tau).

    -1 / tau is the least-squares slope of log(1 - P) over the positions at which P is below 1; the last P is
    held where there are fewer than two of these or the slope is not below 0.
    """
    below = [(position, math.log(1.0 - p)) for p, position in zip(P, positions, strict=True) if p < 1.0]
    t = np.array([position for position, _ in below], dtype=np.float64)
    rate = slope(np.array([[logarithm] for _, logarithm in below]).reshape(-1, 1), t)
    if not rate < 0.0:
        return float(P[-1])
    return 1.0 - (1.0 - float(P[-1])) * math.exp(rate * (tick - positions[-1]))


EXTRAPOLATIONS = {"none": held, "linear": line, "spline": spline, "hermite": hermite, "saturating": saturating}


def probability_at(tick: int, P: Array, positions: Sequence[int], extrapolation: str) -> float:
    """P of one feature at a tick: held between positions, extrapolated beyond the last.

    Beyond it, P stays in [P_last, 1] and does not fall (erratum: extrapolated P). "none" holds the last P
    (settled: horizon). `P` has shape (n_positions,).
    """
    if tick <= positions[-1]:
        return float([p for p, position in zip(P, positions, strict=True) if position <= tick][-1])
    probability = float(P[-1])
    for later in range(positions[-1] + 1, tick + 1):
        probability = max(probability, min(EXTRAPOLATIONS[extrapolation](later, P, positions), 1.0))
    return probability


def choose_extrapolation(P: Array, positions: Sequence[int]) -> str:
    """The extrapolation that predicts the last quarter of the positions best from the others, for one feature.

    The first ceil(3 n / 4) of n positions are known; taken is the least sum of squared errors of the rest, the
    first in the order of `EXTRAPOLATIONS` of those within 1e-12. "linear" below four positions. `P` has shape
    (n,).
    """
    if len(P) < 4:
        return "linear"
    n_known = math.ceil(3 * len(P) / 4)

    def error(extrapolation: str) -> float:
        total = 0.0
        for p, position in zip(P[n_known:], positions[n_known:], strict=True):
            predicted = probability_at(position, P[:n_known], positions[:n_known], extrapolation)
            total += (predicted - float(p)) ** 2
        return total

    errors = {name: error(name) for name in EXTRAPOLATIONS}
    return next(name for name in errors if errors[name] <= min(errors.values()) + 1e-12)


def expected_cost(
    P: Array,
    each: Array,
    confidence: float,
    horizon: int,
    extrapolation: str,
    first_tick: str,
    positions: Sequence[int] | None = None,
) -> Array:
    """C_F of each feature, the one-time cost left out (eq. 3), shape (n_features,).

    The sum of 1 - P_t runs over ticks 1 to `horizon`, both included; from the first tick at which P_t reaches
    `confidence` on, its terms are 0 (erratum: the infinite sum). "counted" adds the first tick, which the
    print misses, "literal" does not (erratum: the first tick).

    Parameters
    ----------
    P : array, shape (n_positions, n_features)
    each : array, shape (n_features,)
    extrapolation : one of `EXTRAPOLATIONS`, or "auto", which chooses one for each feature
    first_tick : "counted" or "literal"
    positions : ascending ticks, the first of them 1; 1, 2, ... unless given
    """
    if positions is None:
        positions = range(1, len(P) + 1)
    costs = []
    for j in range(P.shape[1]):
        n_ticks = {"counted": 1.0, "literal": 0.0}[first_tick]
        chosen = choose_extrapolation(P[:, j], positions) if extrapolation == "auto" else extrapolation
        for tick in range(1, horizon + 1):
            probability = probability_at(tick, P[:, j], positions, chosen)
            if probability >= confidence:
                break
            n_ticks += 1.0 - probability
        costs.append(float(each[j]) * n_ticks)
    return np.array(costs)


def score(expected: Array, once: Array, a: float, b: float) -> Array:
    """Each feature's share of the cost: a C_F + b C_int (eq. 4), shape (n_features,)."""
    return np.array([a * e + b * o for e, o in zip(expected, once, strict=True)])


def ranking(score: Array, relevant: Flags | None = None) -> Integers:
    """Features by ascending score, ties by lowest index; the irrelevant come last (erratum on eq. 5)."""
    if relevant is None:
        relevant = np.ones(len(score), dtype=np.bool_)
    order = sorted(range(len(score)), key=lambda j: (not relevant[j], score[j], j))
    return np.array(order, dtype=np.int64)


def classification_cost(ticks: float, each: Array, once: Array, a: float, b: float) -> float:
    """C_CDP = a t sum(C_each) + b sum(C_int) (eq. 1)."""
    return a * ticks * math.fsum(each) + b * math.fsum(once)


def total(values: Iterable[float]) -> float:
    """The sum, from the first value to the last; `sum` makes up for what is rounded off, from Python 3.12 on."""
    result = 0.0
    for value in values:
        result += value
    return result


def known(x: Array) -> Array:
    """The values that are not missing."""
    return np.array([value for value in x if not math.isnan(value)])


def deviation(x: Array) -> float:
    """Standard deviation of the known values, n - 1 below; 0 if they are all equal, or fewer than two."""
    values = known(x)
    if len(values) < 2 or values.min() == values.max():
        return 0.0
    mean = total(values.tolist()) / len(values)
    return math.sqrt(total([(value - mean) ** 2 for value in values.tolist()]) / (len(values) - 1))
