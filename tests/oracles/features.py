"""Plain, slow definitions of features, against which every step function is tested.

A feature maps the stream up to and including a tick to a number. Each definition takes the samples of the columns
it reads, shape (n_ticks, n_columns), their times, shape (n_ticks,), in seconds, and its parameters. A sample with
NaN in any of its columns is dropped; if no sample is left, the feature is NaN. Sums are exact: of whole numbers,
or by ``math.fsum``. Nothing here imports the library.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate, combinations, groupby, pairwise

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def kept(values: Array, times: Array) -> tuple[Array, Array]:
    """Drop the samples with NaN in any column, and their times."""
    complete = ~np.isnan(values).any(axis=1)
    return values[complete], times[complete]


def windowed(definition: Callable[..., float]) -> Callable[..., float]:
    """Apply a definition to the last `window` complete samples, or to all if there are fewer."""

    def of_the_last(values: Array, times: Array, window: int, **params: float) -> float:
        samples, t = kept(values, times)
        return definition(samples[-window:], t[-window:], **params)

    return of_the_last


def whole(x: Array) -> tuple[list[int], int]:
    """Return the values, exactly, as whole numbers over one denominator, a power of two."""
    ratios = [float(value).as_integer_ratio() for value in x]
    denominator = max((bottom for _, bottom in ratios), default=1)
    return [top * (denominator // bottom) for top, bottom in ratios], denominator


def cross(a: Array, b: Array) -> Fraction:
    """Sum of the products of deviations from the means, in exact rational arithmetic."""
    (p, p_unit), (q, q_unit), n = whole(a), whole(b), len(a)
    products = sum(x * y for x, y in zip(p, q, strict=True))
    return Fraction(n * products - sum(p) * sum(q), n * p_unit * q_unit)


def sample_variance(x: Array) -> float:
    """Variance with n - 1 in the denominator; NaN below two samples."""
    return float(cross(x, x) / (len(x) - 1)) if len(x) >= 2 else math.nan


def pearson(a: Array, b: Array) -> float:
    """Pearson's correlation; NaN unless both vary."""
    if len(a) == 0 or cross(a, a) == 0 or cross(b, b) == 0:
        return math.nan
    together = cross(a, b)
    return math.copysign(math.sqrt(together**2 / (cross(a, a) * cross(b, b))), together)


def deviations(x: Array) -> list[int]:
    """Deviations from the mean, exact up to a common factor: the number of samples over the unit."""
    p, _ = whole(x)
    return [len(p) * value - sum(p) for value in p]


def signs(increments: Array) -> list[int]:
    """-1, 0 or 1 for each."""
    return [(step > 0) - (step < 0) for step in increments.tolist()]


# Moments


def count(values: Array, times: Array) -> float:  # noqa: ARG001 - all features have the same signature
    """Number of ticks; no column is read, so no sample is dropped."""
    return float(len(times))


def first(values: Array, times: Array) -> float:
    """First sample."""
    x = kept(values, times)[0][:, 0]
    return float(x[0]) if len(x) else math.nan


def last(values: Array, times: Array) -> float:
    """Last sample."""
    x = kept(values, times)[0][:, 0]
    return float(x[-1]) if len(x) else math.nan


def last_unless_lower(values: Array, times: Array, lowest: float) -> float:
    """Last sample; NaN if it is below a number."""
    x = last(values, times)
    return x if x >= lowest else math.nan


def mean(values: Array, times: Array) -> float:
    """Arithmetic mean."""
    x = kept(values, times)[0][:, 0]
    return math.fsum(x) / len(x) if len(x) else math.nan


def variance(values: Array, times: Array) -> float:
    """Sample variance (n - 1); NaN below two samples."""
    return sample_variance(kept(values, times)[0][:, 0])


def skewness(values: Array, times: Array) -> float:
    """m3 / m2^1.5 of the mean powers of deviations; NaN below three samples and while all are equal."""
    d = deviations(kept(values, times)[0][:, 0])
    if len(d) < 3 or not any(d):
        return math.nan
    squares, cubes = sum(x**2 for x in d), sum(x**3 for x in d)
    return math.copysign(math.sqrt(Fraction(len(d) * cubes**2, squares**3)), cubes)


def kurtosis(values: Array, times: Array) -> float:
    """Excess m4 / m2^2 - 3; NaN below four samples and while all are equal."""
    d = deviations(kept(values, times)[0][:, 0])
    if len(d) < 4 or not any(d):
        return math.nan
    return float(Fraction(len(d) * sum(x**4 for x in d), sum(x**2 for x in d) ** 2) - 3)


def energy(values: Array, times: Array) -> float:
    """Mean square."""
    p, unit = whole(kept(values, times)[0][:, 0])
    return float(Fraction(sum(x**2 for x in p), len(p) * unit**2)) if p else math.nan


# Order


def minimum(values: Array, times: Array) -> float:
    """Smallest sample."""
    return float(min(kept(values, times)[0][:, 0], default=math.nan))


def maximum(values: Array, times: Array) -> float:
    """Largest sample."""
    return float(max(kept(values, times)[0][:, 0], default=math.nan))


def value_range(values: Array, times: Array) -> float:
    """Largest minus smallest sample."""
    return maximum(values, times) - minimum(values, times)


def between_ranks(x: Sequence[Fraction], q: float) -> Fraction:
    """Quantile by linear interpolation at position (n - 1) q of the sorted values, counted from 0."""
    ordered, position = sorted(x), (len(x) - 1) * Fraction(q)
    below = math.floor(position)
    above = min(below + 1, len(x) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def above_first(values: Array, times: Array) -> list[Fraction]:
    """Complete samples of the first column minus the first of them."""
    x = [Fraction(float(sample)) for sample in kept(values, times)[0][:, 0]]
    return [sample - x[0] for sample in x]


def p_square(x: Sequence[Fraction], q: float) -> Fraction:
    """Quantile by the P2 algorithm of Jain & Chlamtac (CACM 28, 1985, box 1), exact up to five samples.

    Beyond five, in floats: if a parabola ends on a neighbour, rounding decides, and must decide as in the library.
    """
    if len(x) <= 5:
        return between_ranks(x, q)
    heights, positions = sorted(float(value) for value in x[:5]), [1, 2, 3, 4, 5]
    for n, value in enumerate(map(float, x[5:]), start=6):
        heights[0], heights[4] = min(heights[0], value), max(heights[4], value)
        cell = max(i for i in range(4) if i == 0 or heights[i] <= value)
        positions = [position + (i > cell) for i, position in enumerate(positions)]
        desired = [1.0 + (n - 1) * share for share in (0.0, q / 2, q, (1 + q) / 2, 1.0)]
        for i in (1, 2, 3):
            gap = desired[i] - positions[i]
            if gap >= 1 and positions[i + 1] - positions[i] > 1:
                move_marker(heights, positions, i, 1)
            elif gap <= -1 and positions[i - 1] - positions[i] < -1:
                move_marker(heights, positions, i, -1)
    return Fraction(heights[2])


def move_marker(heights: list[float], positions: list[int], i: int, d: int) -> None:
    """Move marker `i` one position up or down: along a parabola, or a line if that leaves its neighbours."""
    before, here, after = positions[i - 1 : i + 2]
    low, height, high = heights[i - 1 : i + 2]
    rise = (here - before + d) * (high - height) / (after - here)
    fall = (after - here - d) * (height - low) / (here - before)
    parabola = height + d / (after - before) * (rise + fall)
    line = height + d * (heights[i + d] - height) / (positions[i + d] - here)
    heights[i] = parabola if low < parabola < high else line
    positions[i] += d


def quantile(values: Array, times: Array, q: float) -> float:
    """P2 estimate of the value below which a share q of the samples is."""
    x = above_first(values, times)
    return float(p_square(x, q) + Fraction(first(values, times))) if x else math.nan


def interquartile_range(values: Array, times: Array) -> float:
    """Upper minus lower quartile, both P2 estimates."""
    x = above_first(values, times)
    return float(p_square(x, 0.75) - p_square(x, 0.25)) if x else math.nan


def exact_quantile(values: Array, times: Array, q: float) -> float:
    """Quantile of the sorted samples, by linear interpolation."""
    x = above_first(values, times)
    return float(between_ranks(x, q) + Fraction(first(values, times))) if x else math.nan


def exact_interquartile_range(values: Array, times: Array) -> float:
    """Upper minus lower quartile of the sorted samples."""
    x = above_first(values, times)
    return float(between_ranks(x, 0.75) - between_ranks(x, 0.25)) if x else math.nan


def time_of_max(values: Array, times: Array) -> float:
    """Time of the first of the largest samples."""
    samples, t = kept(values, times)
    return float(t[samples[:, 0].tolist().index(max(samples[:, 0]))]) if len(t) else math.nan


def time_of_min(values: Array, times: Array) -> float:
    """Time of the first of the smallest samples."""
    return time_of_max(-values, times)


# Trend


def slope(values: Array, times: Array) -> float:
    """Slope of the least-squares line over the times; NaN without two distinct times."""
    samples, t = kept(values, times)
    if len(set(t.tolist())) < 2:
        return math.nan
    return float(cross(t, samples[:, 0]) / cross(t, t))


def exponentially_weighted_mean(values: Array, times: Array, alpha: float) -> float:
    """Mean m that starts as the first sample and becomes m + alpha (x - m) at each later one."""
    m = math.nan
    for x in kept(values, times)[0][:, 0].tolist():
        m = x if math.isnan(m) else m + alpha * (x - m)
    return m


def change(values: Array, times: Array) -> float:
    """Last minus first sample."""
    x = kept(values, times)[0][:, 0]
    return float(x[-1] - x[0]) if len(x) else math.nan


def increments_of(values: Array, times: Array) -> Array:
    """Differences of successive complete samples, shape (n_samples - 1, n_columns)."""
    return np.diff(kept(values, times)[0], axis=0)


def mean_absolute_increment(values: Array, times: Array) -> float:
    """Mean of |increment|; NaN before the first."""
    increments = increments_of(values, times)[:, 0]
    return math.fsum(abs(increments)) / len(increments) if len(increments) else math.nan


def increment_variance(values: Array, times: Array) -> float:
    """Sample variance (n - 1) of the increments; NaN before the second."""
    p, unit = whole(kept(values, times)[0][:, 0])
    increments = [Fraction(later - earlier, unit) for earlier, later in pairwise(p)]
    if len(increments) < 2:
        return math.nan
    average = sum(increments) / len(increments)
    return float(sum((step - average) ** 2 for step in increments) / (len(increments) - 1))


def largest_increment(values: Array, times: Array) -> float:
    """Largest |increment|; NaN before the first."""
    return float(max(abs(increments_of(values, times)[:, 0]), default=math.nan))


# Shape


def side(x: int, samples: Sequence[int]) -> int:
    """1 above the mean of the samples, -1 below it, 0 within 1e-9 of their range."""
    above, within = len(samples) * x - sum(samples), len(samples) * (max(samples) - min(samples))
    return (10**9 * above > within) - (10**9 * above < -within)


def n_runs(of: Sequence[int]) -> int:
    """Number of runs of equal numbers, skipping zeros."""
    return len(list(groupby(x for x in of if x != 0)))


def mean_crossings(values: Array, times: Array) -> float:
    """Number of samples on the other side of the mean up to them than the last sample with a side."""
    p, _ = whole(kept(values, times)[0][:, 0])
    sides = [side(x, p[: i + 1]) for i, x in enumerate(p)]
    return float(max(n_runs(sides) - 1, 0)) if p else math.nan


def crossings_of_one_mean(values: Array, times: Array) -> float:
    """The same with the mean and range of all samples, as for the samples of a window."""
    p, _ = whole(kept(values, times)[0][:, 0])
    return float(max(n_runs([side(x, p) for x in p]) - 1, 0)) if p else math.nan


def sign_runs(values: Array, times: Array) -> float:
    """Number of runs of equal sign among the increments that are not 0."""
    x = kept(values, times)[0][:, 0]
    return float(n_runs(signs(np.diff(x)))) if len(x) else math.nan


def longest_rise(values: Array, times: Array) -> float:
    """Largest number of successive increments above 0."""
    x = kept(values, times)[0][:, 0]
    rises = [len(list(run)) for sign, run in groupby(signs(np.diff(x))) if sign > 0]
    return float(max(rises, default=0)) if len(x) else math.nan


def longest_fall(values: Array, times: Array) -> float:
    """Largest number of successive increments below 0."""
    return longest_rise(-values, times)


def peaks(values: Array, times: Array) -> float:
    """Number of local maxima: a rise, possibly equal values, then a fall."""
    x = kept(values, times)[0][:, 0]
    moves = [sign for sign in signs(np.diff(x)) if sign != 0]
    return float(list(pairwise(moves)).count((1, -1))) if len(x) else math.nan


# Spectral


def autocorrelation(values: Array, times: Array, lag: int) -> float:
    """Pearson's correlation of each sample with the one `lag` before it; NaN until both vary."""
    x = kept(values, times)[0][:, 0]
    return pearson(x[:-lag], x[lag:])


def amplitude(x: Sequence[float], cycle: float) -> float:
    """|sum x_k exp(-2 pi i k / cycle)| over the number of samples, k from 0."""
    turns = [2.0 * math.pi * k / cycle for k in range(len(x))]
    cosine = math.fsum(value * math.cos(turn) for value, turn in zip(x, turns, strict=True))
    sine = math.fsum(value * math.sin(turn) for value, turn in zip(x, turns, strict=True))
    return math.hypot(cosine, sine) / len(x)


def band_power(values: Array, times: Array, cycle: float) -> float:
    """Power of the sine of `cycle` samples in the deviations from the mean; NaN below two samples."""
    x = kept(values, times)[0][:, 0]
    n_over_unit = len(x) * whole(x)[1]
    d = [float(Fraction(deviation, n_over_unit)) for deviation in deviations(x)]
    return 2.0 * amplitude(d, cycle) ** 2 if len(x) >= 2 else math.nan


def band_share(values: Array, times: Array, cycle: float) -> float:
    """That power over the mean squared deviation, at most 1; NaN while all samples are equal."""
    exact = deviations(kept(values, times)[0][:, 0])
    if not any(exact):
        return math.nan
    d = [float(Fraction(deviation, max(map(abs, exact)))) for deviation in exact]
    return min(2.0 * amplitude(d, cycle) ** 2 / (math.fsum(x**2 for x in d) / len(d)), 1.0)


# Patterns


def taps_of(x: Sequence[int], dilation: int) -> list[Sequence[int]]:
    """The nine values, `dilation` apart, that end at each value, oldest first."""
    return [x[end - 8 * dilation : end + 1 : dilation] for end in range(8 * dilation, len(x))]


def response(taps: Sequence[int], kernel: int) -> int:
    """Sum of the taps, three of them with weight 2 and the others with -1; kernels count the threes in order."""
    heavy = list(combinations(range(9), 3))[kernel]
    return sum((2 if place in heavy else -1) * tap for place, tap in enumerate(taps))


def extent(taps: Sequence[int]) -> int:
    """Sum of the distances of the taps from the newest."""
    return sum(abs(tap - taps[-1]) for tap in taps)


def pattern_max(values: Array, times: Array, kernel: int, dilation: int) -> float:
    """Greatest response; NaN before the first."""
    p, unit = whole(kept(values, times)[0][:, 0])
    responses = [response(taps, kernel) for taps in taps_of(p, dilation)]
    return float(Fraction(max(responses), unit)) if responses else math.nan


def pattern_share(values: Array, times: Array, kernel: int, dilation: int, bias: float) -> float:
    """Share of the responses that exceed the bias by more than 1e-9 of their extent."""
    p, unit = whole(kept(values, times)[0][:, 0])
    limit = Fraction(bias) * unit
    above = [10**9 * (response(taps, kernel) - limit) > extent(taps) for taps in taps_of(p, dilation)]
    return above.count(True) / len(above) if above else math.nan


def variances_so_far(p: Sequence[int]) -> list[Fraction]:
    """Sample variance (n - 1) of the values up to each; 0 for the first."""
    sums, squares = accumulate(p), accumulate(x**2 for x in p)
    return [
        Fraction(n * square - total**2, n * max(n - 1, 1))
        for n, (total, square) in enumerate(zip(sums, squares, strict=True), start=1)
    ]


def over_deviation(number: int | Fraction, variance: Fraction) -> float:
    """A number over the square root of a variance; 0 if that is 0."""
    return math.copysign(math.sqrt(number**2 / variance), number) if variance else 0.0


def normalised_pattern_max(values: Array, times: Array, kernel: int, dilation: int) -> float:
    """Greatest response over the standard deviation of all values, 0 if that is 0."""
    p, _ = whole(kept(values, times)[0][:, 0])
    responses = [response(taps, kernel) for taps in taps_of(p, dilation)]
    return over_deviation(max(responses), variances_so_far(p)[-1]) if responses else math.nan


def normalised_pattern_share(values: Array, times: Array, kernel: int, dilation: int, bias: float) -> float:
    """Share of the responses, each over the deviation of the values up to it, that exceed the bias, as above."""
    p, _ = whole(kept(values, times)[0][:, 0])
    pairs = zip(taps_of(p, dilation), variances_so_far(p)[8 * dilation :], strict=True)
    above = [
        over_deviation(response(taps, kernel), variance) - bias > 1e-9 * over_deviation(extent(taps), variance)
        for taps, variance in pairs
    ]
    return above.count(True) / len(above) if above else math.nan


def score(number: int, p: Sequence[int]) -> float:
    """A number minus the mean of some, over their standard deviation; 0 if that is 0."""
    return over_deviation(number - Fraction(sum(p), len(p)), variances_so_far(p)[-1])


def normalised_last(values: Array, times: Array) -> float:
    """Newest value minus the mean, over the standard deviation, 0 if that is 0."""
    p, _ = whole(kept(values, times)[0][:, 0])
    return score(p[-1], p) if p else math.nan


def normalised_minimum(values: Array, times: Array) -> float:
    """Least value minus the mean, over the standard deviation, 0 if that is 0."""
    p, _ = whole(kept(values, times)[0][:, 0])
    return score(min(p), p) if p else math.nan


def normalised_maximum(values: Array, times: Array) -> float:
    """Greatest value minus the mean, over the standard deviation, 0 if that is 0."""
    p, _ = whole(kept(values, times)[0][:, 0])
    return score(max(p), p) if p else math.nan


def normalised_slope(values: Array, times: Array) -> float:
    """Slope over the times, over the standard deviation, 0 if that is 0; NaN without two distinct times."""
    samples, t = kept(values, times)
    if len(set(t.tolist())) < 2:
        return math.nan
    x = samples[:, 0]
    return over_deviation(cross(t, x) / cross(t, t), cross(x, x) / (len(t) - 1))


# Pairs of columns


def correlation(values: Array, times: Array) -> float:
    """Pearson's correlation of two columns; NaN unless both vary."""
    samples, _ = kept(values, times)
    return pearson(samples[:, 0], samples[:, 1])


def lagged_correlation(values: Array, times: Array, lag: int) -> float:
    """Pearson's correlation of the second column with the first, `lag` samples earlier; NaN unless both vary."""
    samples, _ = kept(values, times)
    return pearson(samples[:-lag, 0], samples[lag:, 1])


def correlation_of_increments(values: Array, times: Array) -> float:
    """Pearson's correlation of the two columns' increments; NaN unless both vary."""
    increments = increments_of(values, times)
    return pearson(increments[:, 0], increments[:, 1])


def increment_sign_agreement(values: Array, times: Array) -> float:
    """Share of the increments with the same sign in both columns; NaN before the first."""
    increments = increments_of(values, times)
    agreeing = [a == b for a, b in zip(signs(increments[:, 0]), signs(increments[:, 1]), strict=True)]
    return agreeing.count(True) / len(agreeing) if agreeing else math.nan


def mean_absolute_difference(values: Array, times: Array) -> float:
    """Mean of |a - b| over two columns."""
    samples, _ = kept(values, times)
    return math.fsum(abs(a - b) for a, b in samples) / len(samples) if len(samples) else math.nan


def mean_relative_difference(values: Array, times: Array) -> float:
    """Mean of |a - b| / (|a| + |b|) over two columns; a term is 0 if both are."""
    (p, _), n = whole(kept(values, times)[0].ravel()), 2
    terms = [Fraction(abs(a - b), abs(a) + abs(b) or 1) for a, b in zip(p[::n], p[1::n], strict=True)]
    return float(sum(terms) / len(terms)) if terms else math.nan


def mean_difference(values: Array, times: Array) -> float:
    """Absolute difference of the two columns' means."""
    return abs(mean_signed_difference(values, times))


def mean_signed_difference(values: Array, times: Array) -> float:
    """Mean of the first column minus that of the second."""
    (p, unit), n = whole(kept(values, times)[0].ravel()), 2
    return float(Fraction(sum(p[::n]) - sum(p[1::n]), len(p) // n * unit)) if p else math.nan


def deviation_difference(values: Array, times: Array) -> float:
    """Absolute difference of the two columns' standard deviations (n - 1); NaN below two samples."""
    samples, _ = kept(values, times)
    a, b = (math.sqrt(sample_variance(column)) for column in samples.T)
    return abs(a - b)


def regression_slope(values: Array, times: Array) -> float:
    """Slope of the least-squares line of the second column on the first; NaN until that varies."""
    x, y = kept(values, times)[0].T
    return float(cross(x, y) / cross(x, x)) if len(set(x.tolist())) > 1 else math.nan


def regression_residual(values: Array, times: Array) -> float:
    """Root mean squared distance (divisor n) from that line; NaN until the first column varies."""
    x, y = kept(values, times)[0].T
    if len(set(x.tolist())) < 2:
        return math.nan
    return math.sqrt((cross(y, y) - cross(x, y) ** 2 / cross(x, x)) / len(x))


def flag_agreement(values: Array, times: Array, threshold: float) -> float:
    """Share of samples with both columns above the threshold, or neither."""
    samples, _ = kept(values, times)
    agreeing = [(a > threshold) == (b > threshold) for a, b in samples.tolist()]
    return agreeing.count(True) / len(agreeing) if agreeing else math.nan


def flags(x: Array, threshold: float, hysteresis: float) -> list[bool]:
    """Flags that are on above threshold + hysteresis, off below threshold - hysteresis, else unchanged.

    The first flag is x > threshold.
    """
    flag, result = bool(len(x) and x[0] > threshold), []
    for value in x.tolist():
        flag = value >= threshold - hysteresis if flag else value > threshold + hysteresis
        result.append(flag)
    return result


def steady_flag_agreement(values: Array, times: Array, threshold: float, hysteresis: float) -> float:
    """Share of samples with equal flags, with hysteresis, of both columns."""
    a, b = (flags(column, threshold, hysteresis) for column in kept(values, times)[0].T)
    agreeing = [p == q for p, q in zip(a, b, strict=True)]
    return agreeing.count(True) / len(agreeing) if agreeing else math.nan
