"""The definitions of features themselves, against examples worked out on paper."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from numpy.testing import assert_allclose
from oracles import features

NAN = math.nan
Array = npt.NDArray[np.float64]


def column(*values: float) -> Array:
    return np.array(values, dtype=np.float64)[:, np.newaxis]


GAPPED = column(2, NAN, 4, 9)  # 2, 4, 9 at 0, 2, 3 s
TIMES = np.array([0.0, 1.0, 2.0, 3.0])


def test_features_of_one_column() -> None:
    assert features.count(GAPPED, TIMES) == 4
    assert features.last(GAPPED, TIMES) == 9
    assert features.last(GAPPED[:2], TIMES[:2]) == 2
    assert features.mean(GAPPED, TIMES) == 5
    assert features.variance(GAPPED, TIMES) == 13  # (9 + 1 + 16) / 2
    assert features.minimum(GAPPED, TIMES) == 2
    assert features.maximum(GAPPED, TIMES) == 9
    assert features.value_range(GAPPED, TIMES) == 7
    # Times about their mean 5/3: -5/3, 1/3, 4/3; (5 - 1/3 + 16/3) / (42/9) = 10 * 9/42.
    assert_allclose(features.slope(GAPPED, TIMES), 15 / 7)
    assert features.slope(GAPPED[:3], TIMES[:3]) == 1
    # 2, then 2 + 2/4, then 2.5 + 6.5/4.
    assert features.exponentially_weighted_mean(GAPPED, TIMES, 0.25) == 4.125


def test_windowed_features_look_at_the_last_known_samples() -> None:
    assert features.windowed(features.mean)(GAPPED, TIMES, 2) == 6.5
    assert features.windowed(features.variance)(GAPPED, TIMES, 2) == 12.5
    assert features.windowed(features.mean)(GAPPED[:3], TIMES[:3], 2) == 3  # 2 and 4, over the gap
    assert features.windowed(features.variance)(GAPPED[:3], TIMES[:3], 2) == 2
    assert features.windowed(features.mean)(GAPPED, TIMES, 9) == 5
    assert features.windowed(features.variance)(GAPPED, TIMES, 9) == 13
    assert math.isnan(features.windowed(features.variance)(GAPPED, TIMES, 1))


def test_moments_are_exact_at_any_offset() -> None:
    far = column(1e15, 1e15 + 1, 1e15 + 2)
    assert features.variance(far, TIMES[:3]) == 1
    assert features.slope(far, TIMES[:3] + 1.7e9) == 1
    assert features.variance(column(0.1, 0.1, 0.1), TIMES[:3]) == 0


def test_higher_moments() -> None:
    # Deviations -1, -1, 2: m2 = 2, m3 = 2.
    assert_allclose(features.skewness(column(0, 0, NAN, 3), TIMES), 1 / math.sqrt(2))
    assert_allclose(features.skewness(column(0, 0, -3), TIMES[:3]), -1 / math.sqrt(2))
    assert math.isnan(features.skewness(column(0, 3), TIMES[:2]))
    # Deviations -1, -1, -1, 3: m2 = 3, m4 = 21.
    assert_allclose(features.kurtosis(column(0, 0, 0, 4), TIMES), 21 / 9 - 3)
    assert math.isnan(features.kurtosis(column(0, 0, 4), TIMES[:3]))
    assert math.isnan(features.skewness(column(0.1, 0.1, 0.1), TIMES[:3]))
    assert math.isnan(features.kurtosis(column(0.1, 0.1, 0.1, 0.1), TIMES))
    assert_allclose(features.energy(column(1, NAN, -2, 3), TIMES), 14 / 3)
    assert features.energy(column(0.5), TIMES[:1]) == 0.25


def test_higher_moments_neither_vanish_nor_overflow() -> None:
    for unit in (5e-324, 1e-140, 1e100):
        assert_allclose(features.skewness(unit * column(0, 0, 3), TIMES[:3]), 1 / math.sqrt(2))
        assert_allclose(features.kurtosis(unit * column(0, 0, 0, 4), TIMES), 21 / 9 - 3)
        assert_allclose(features.band_share(unit * column(4, 0, 0, 0), TIMES, 4), 2 / 3)


def test_quantiles_of_few_samples_lie_between_ranks() -> None:
    values, times = column(30, 0, 20, 10), TIMES
    assert features.quantile(values, times, 0.25) == features.exact_quantile(values, times, 0.25) == 7.5
    assert features.quantile(values[:1], times[:1], 0.25) == 30
    assert features.interquartile_range(values, times) == features.exact_interquartile_range(values, times) == 15
    assert features.quantile(column(*range(5)), np.arange(5.0), 0.25) == 1
    assert features.exact_quantile(column(*range(9)), np.arange(9.0), 0.375) == 3
    assert features.exact_interquartile_range(column(*range(9)), np.arange(9.0)) == 4


def test_quantile_of_the_published_example() -> None:
    # Jain & Chlamtac, table I: the median of these 20 is estimated as 4.44.
    first = (0.02, 0.15, 0.74, 3.39, 0.83, 22.37, 10.15, 15.43, 38.62, 15.92)
    then = (34.60, 10.28, 1.47, 0.40, 0.05, 11.39, 0.27, 0.42, 0.09, 11.37)
    assert round(features.quantile(column(*first, *then), np.arange(20.0), 0.5), 2) == 4.44


def test_markers_move_one_position_at_a_time() -> None:
    # 6 leaves the markers 1 2 3 4 6 at 1 2 3 4 6; with 7 the fourth moves to 4 + (2 * 3/3 + 2 * 1) / 4 = 5; with
    # 8 the third, wanted at 4.5, to 3 + (2 * 2/2 + 1 * 1) / 3 = 4.
    ramp, times = column(*range(1, 9)), np.arange(8.0)
    estimates = [features.quantile(ramp[:n], times[:n], 0.5) for n in (5, 6, 7, 8)]
    assert estimates == [3, 3, 3, 4]
    # Downwards with -7 the second goes from 4 to 3, to -4 - (2 * 1/1 + 2 * 3/3) / 4 = -5, which leaves the third
    # room to go from 5 to 4, to -3 - (1 * 1/1 + 2 * 2/2) / 3 = -4.
    assert [features.quantile(-ramp[:n], times[:n], 0.5) for n in (5, 6, 7, 8)] == [-3, -3, -4, -4]
    # Of 0, 2, 3 at 2, 3, 5 the parabola gives 2 + (2 * 1/2 + 1 * 2) / 3 = 3, no longer below 3: half way instead.
    heights = [-1.0, 0.0, 2.0, 3.0, 9.0]
    features.move_marker(heights, [1, 2, 3, 5, 9], 2, 1)
    assert heights == [-1, 0, 2.5, 3, 9]


def test_the_first_of_equal_extremes_gives_the_time() -> None:
    values, times = column(NAN, 3, 5, 3, 5, NAN), np.arange(6.0) / 2
    assert features.time_of_max(values, times) == 1
    assert features.time_of_min(values, times) == 0.5


def test_increments_span_a_gap() -> None:
    assert features.change(GAPPED, TIMES) == 7
    assert features.mean_absolute_increment(-GAPPED, TIMES) == 3.5  # 2 and 5
    assert features.largest_increment(-GAPPED, TIMES) == 5
    assert features.increment_variance(GAPPED, TIMES) == 4.5
    assert features.increment_variance(column(0, 0.5, 1.5, 0), TIMES) == 1.75  # 1/2, 1 and -3/2 about 0
    # Of the last two samples there is one increment, of the last three there are two.
    assert features.windowed(features.mean_absolute_increment)(GAPPED, TIMES, 2) == 5
    assert math.isnan(features.windowed(features.increment_variance)(GAPPED, TIMES, 2))
    assert features.windowed(features.increment_variance)(GAPPED, TIMES, 3) == 4.5
    assert features.windowed(features.change)(GAPPED, TIMES, 2) == 5


def test_crossings_of_the_mean() -> None:
    # Means 0, 1, 2/3, 1/2, 7/5: none, above, below, below, above.
    values, times = column(0, 2, 0, 0, 5), np.arange(5.0)
    assert features.mean_crossings(values, times) == 2
    # All about 7/5: below, above, below, below, above.
    assert features.crossings_of_one_mean(values, times) == 3
    assert features.mean_crossings(values[:1], times[:1]) == 0
    assert features.crossings_of_one_mean(values[:1], times[:1]) == 0
    # The third lies within 1e-9 of the range of the mean, so the fourth crosses from the second's side.
    assert features.mean_crossings(column(0, 1, 0.5 - 1e-10, 1), TIMES) == 0
    assert features.mean_crossings(column(0, 1, 0.5 - 1e-8, 1), TIMES) == 2


def test_runs_and_peaks() -> None:
    # Increments + 0 + - 0 - +
    values, times = column(0, 1, 1, 2, 1, 1, 0, 3), np.arange(8.0)
    assert features.sign_runs(values, times) == 3
    assert features.peaks(values, times) == 1
    assert features.peaks(-values, times) == 1
    assert features.longest_rise(values, times) == 1
    assert features.longest_rise(column(2, 2, 2, 3), TIMES) == 1
    assert features.longest_fall(column(5, 4, 4, 3, 2, 3), np.arange(6.0)) == 2
    assert features.peaks(column(1, 1, 0), TIMES[:3]) == 0
    assert features.peaks(column(0, 1, 1), TIMES[:3]) == 0
    for feature in (features.sign_runs, features.peaks, features.longest_rise, features.longest_fall):
        assert feature(values[:1], times[:1]) == 0


def test_autocorrelation_pairs_each_sample_with_an_earlier_one() -> None:
    # (1, 2), (2, 3), (3, 0): deviations -1, 0, 1 and 1/3, 4/3, -5/3.
    values = column(1, NAN, 2, 3, 0)
    assert_allclose(features.autocorrelation(values, np.arange(5.0), 1), -2 / math.sqrt(2 * 42 / 9))
    assert features.autocorrelation(values, np.arange(5.0), 2) == -1  # (1, 3), (2, 0)
    assert math.isnan(features.autocorrelation(values, np.arange(5.0), 3))
    assert math.isnan(features.windowed(features.autocorrelation)(values, np.arange(5.0), 3, lag=2))


def test_power_of_a_cycle() -> None:
    # Deviations 3, -1, -1, -1 times 1, -i, -1, i: 4, so 2 * 16 / 16; mean square 12/4.
    assert_allclose(features.band_power(column(4, 0, 0, 0), TIMES, 4), 2)
    assert_allclose(features.band_share(column(4, 0, 0, 0), TIMES, 4), 2 / 3)
    # Times 1, -1, 1, -1: 4 again.
    assert_allclose(features.band_power(column(4, 0, 0, 0), TIMES, 2), 2)
    assert features.band_share(column(1, -1, 1, -1), TIMES, 2) == 1  # 2, clipped
    assert_allclose(features.band_power(column(0, 0, 0, 0), TIMES, 2), 0)
    assert math.isnan(features.band_power(column(4), TIMES[:1], 2))
    assert_allclose(features.band_power(column(0, 2), TIMES[:2], 4), 1)  # -1 - i
    # A whole number of cycles of a sine has the power of its square.
    sine = np.sin(2 * math.pi * np.arange(15) / 7.5 + 0.3)[:, np.newaxis]
    assert_allclose(features.band_power(9 + sine, np.arange(15.0), 7.5), 0.5)


def test_features_of_two_columns() -> None:
    values = np.array([[1, 2], [2, 4], [3, 7], [NAN, 1], [8, NAN]])
    times = np.arange(5.0)
    # About the means: (-1, 0, 1) and (-7/3, -1/3, 8/3): 5 / sqrt(2 * 38/3).
    assert_allclose(features.correlation(values, times), 5 / math.sqrt(76 / 3))
    assert_allclose(features.mean_absolute_difference(values, times), 7 / 3)  # 1, 2, 4
    assert_allclose(features.flag_agreement(values, times, 3.0), 1 / 3)  # above 3: no no no, no yes yes
    assert math.isnan(features.correlation_of_increments(values, times))  # the first column's are 1 and 1
    assert features.count(values, times) == 5


def test_correlation_of_increments_spans_a_gap() -> None:
    values = np.array([[0, 0], [1, 2], [NAN, 50], [3, 3], [2, 3]])
    # Increments 1, 2, -1 and 2, 1, 0; about their means 1/3, 4/3, -5/3 and 1, 0, -1: 2 / sqrt(42/9 * 2).
    expected = 2 / math.sqrt(28 / 3)
    assert_allclose(features.correlation_of_increments(values, np.arange(5.0)), expected)


def test_second_column_follows_the_first() -> None:
    # (1, 1), (2, 3), (4, 2) with a lag of 1; deviations -4/3, -1/3, 5/3 and -1, 1, 0.
    values = np.array([[1, 7], [2, 1], [4, 3], [9, 2]], dtype=np.float64)
    assert_allclose(features.lagged_correlation(values, TIMES, 1), 1 / math.sqrt(42 / 9 * 2))
    assert features.lagged_correlation(values, TIMES, 2) == -1  # (1, 3), (2, 2)
    assert features.windowed(features.lagged_correlation)(values, TIMES, 3, lag=1) == -1  # (2, 3), (4, 2)


def test_differences_of_two_columns() -> None:
    values = np.array([[1, 5], [2, 5], [NAN, 1], [2, 4], [6, 6]])
    times = np.arange(5.0)
    # Increments 1, 0, 4 and 0, -1, 2.
    assert_allclose(features.increment_sign_agreement(values, times), 1 / 3)
    assert features.increment_sign_agreement(values[:, [0, 0]], times) == 1
    assert features.mean_difference(values, times) == 2.25  # 11/4 and 20/4
    assert features.mean_signed_difference(values, times) == -2.25
    assert_allclose(features.mean_relative_difference(values, times), (2 / 3 + 3 / 7 + 1 / 3 + 0) / 4)
    signs = np.array([[0, 0], [1, -2], [0, 3]])  # nothing, and then as far as can be
    assert_allclose(features.mean_relative_difference(signs, times[:3]), 2 / 3)
    # Squares about the means: 1 + 4 + 4 + 36 - 121/4 = 59/4 and 0 + 0 + 1 + 1 = 2.
    assert_allclose(features.deviation_difference(values, times), math.sqrt(59 / 12) - math.sqrt(2 / 3))
    assert_allclose(features.deviation_difference(values[:, ::-1], times), math.sqrt(59 / 12) - math.sqrt(2 / 3))
    assert math.isnan(features.deviation_difference(values[:1], times[:1]))
    assert math.isnan(features.increment_sign_agreement(values[:1], times[:1]))


def test_regression_of_the_second_column_on_the_first() -> None:
    # Deviations -1, 0, 1 and -1/3, -4/3, 5/3: slope 1; left are 2/3, -4/3, 2/3, whose squares sum to 24/9.
    values = np.array([[1, 2], [2, 1], [3, 4]], dtype=np.float64)
    assert features.regression_slope(values, TIMES[:3]) == 1
    assert_allclose(features.regression_residual(values, TIMES[:3]), math.sqrt(24 / 27))
    assert features.regression_residual(values[:2], TIMES[:2]) == 0
    for feature in (features.regression_slope, features.regression_residual):
        assert math.isnan(feature(np.array([[1.0, 2.0], [1.0, 3.0]]), TIMES[:2]))
        assert feature(np.array([[1.0, 2.0], [3.0, 2.0]]), TIMES[:2]) == 0


def test_flags_with_hysteresis_stay_within_it() -> None:
    x = np.array([0.5, 1.0, 1.5, -1.0, -1.5, 0.5, 1.0])
    assert features.flags(x, 0.0, 1.0) == [True, True, True, True, False, False, False]
    assert features.flags(-x, 0.0, 1.0) == [False, False, False, False, True, True, True]
    assert features.steady_flag_agreement(np.column_stack([x, -x]), np.arange(7.0), 0.0, 1.0) == 0
    assert features.flags(np.array([0.0, 1.0]), 0.0, 1.0) == [False, False]
    assert features.flags(np.array([0.5, -0.5, 1.0]), 0.0, 1.0) == [True, True, True]
    assert features.flags(np.array([-0.5, 0.5, -1.0]), 0.0, 1.0) == [False, False, False]
    together = np.column_stack([x, [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.5]])
    assert_allclose(features.steady_flag_agreement(together, np.arange(7.0), 0.0, 1.0), 4 / 7)


def test_correlations_keep_their_sign_and_their_bounds() -> None:
    values = np.array([[0.1, -0.3], [0.2, -0.6], [0.4, -1.2]])
    assert features.correlation(values, TIMES[:3]) == -1
    assert math.isnan(features.correlation(np.array([[1.0, 2.0], [1.0, 3.0]]), TIMES[:2]))
    assert math.isnan(features.correlation(np.array([[2.0, 1.0], [3.0, 1.0]]), TIMES[:2]))


OF_ONE = (
    features.last,
    features.mean,
    features.variance,
    features.skewness,
    features.kurtosis,
    features.energy,
    features.minimum,
    features.maximum,
    features.value_range,
    features.interquartile_range,
    features.exact_interquartile_range,
    features.time_of_max,
    features.time_of_min,
    features.slope,
    features.change,
    features.mean_absolute_increment,
    features.increment_variance,
    features.largest_increment,
    features.mean_crossings,
    features.crossings_of_one_mean,
    features.sign_runs,
    features.longest_rise,
    features.longest_fall,
    features.peaks,
)
OF_TWO = (
    features.correlation,
    features.correlation_of_increments,
    features.increment_sign_agreement,
    features.mean_absolute_difference,
    features.mean_relative_difference,
    features.mean_difference,
    features.mean_signed_difference,
    features.deviation_difference,
    features.regression_slope,
    features.regression_residual,
)


@pytest.mark.parametrize("n_missing", [0, 2])
def test_without_samples_features_are_undefined(n_missing: int) -> None:
    one, two, times = np.full((n_missing, 1), NAN), np.full((n_missing, 2), NAN), np.arange(float(n_missing))
    assert features.count(one, times) == n_missing
    singles = (
        features.last,
        features.mean,
        features.variance,
        features.minimum,
        features.maximum,
        features.value_range,
    )
    assert all(math.isnan(feature(one, times)) for feature in (*singles, features.slope))
    assert math.isnan(features.exponentially_weighted_mean(one, times, 0.5))
    assert math.isnan(features.windowed(features.mean)(one, times, 3))
    assert math.isnan(features.windowed(features.variance)(one, times, 3))
    pairs = (features.correlation, features.correlation_of_increments, features.mean_absolute_difference)
    assert all(math.isnan(feature(two, times)) for feature in pairs)
    assert math.isnan(features.flag_agreement(two, times, 0.0))


def test_one_sample_or_one_time_is_not_enough() -> None:
    assert math.isnan(features.variance(column(3, NAN), TIMES[:2]))
    assert math.isnan(features.slope(column(3, 4), np.array([1.0, 1.0])))
    assert math.isnan(features.correlation(np.array([[1.0, 2.0]]), TIMES[:1]))
    assert math.isnan(features.correlation_of_increments(np.array([[1.0, 2.0], [2.0, 5.0]]), TIMES[:2]))


def test_patterns() -> None:
    bump = column(0, 0, 0, 1, 2, 1, 0, 0, 0, 0)
    times = np.arange(10.0)
    first_three, last_three = 0, 83
    assert math.isnan(features.pattern_max(bump[:8], times[:8], first_three, 1))
    assert features.pattern_max(bump[:9], times[:9], first_three, 1) == -4
    assert features.pattern_max(bump, times, first_three, 1) == -4 + 3  # the second sees 0, 0, 1 there
    assert features.pattern_max(bump, times, last_three, 1) == -4
    assert features.pattern_share(bump, times, first_three, 1, -2) == 0.5
    assert features.pattern_share(bump, times, first_three, 1, -1) == 0
    wide = np.repeat(bump[:9], 2, axis=0)
    assert features.pattern_max(wide[:17], np.arange(17.0), first_three, 2) == -4
    # The nine values 0, 0, 0, 1, 2, 1, 0, 0, 0 have squares 6 and mean 4/9: variance (6 - 16/9) / 8 = 19/36.
    assert_allclose(features.normalised_pattern_max(bump[:9], times[:9], first_three, 1), -4 / math.sqrt(19 / 36))
    assert features.normalised_pattern_share(bump[:9], times[:9], first_three, 1, -6) == 1
    assert features.normalised_pattern_share(bump[:9], times[:9], first_three, 1, -5) == 0
    flat = column(*[0.1] * 9)
    assert features.normalised_pattern_max(flat, times[:9], first_three, 1) == 0
    assert features.normalised_pattern_share(flat, times[:9], first_three, 1, -1e-9) == 1


def test_kernels_are_counted_in_the_order_of_their_heavy_taps() -> None:
    for kernel, heavy in ((0, (0, 1, 2)), (1, (0, 1, 3)), (6, (0, 1, 8)), (7, (0, 2, 3)), (83, (6, 7, 8))):
        assert [features.response([int(k == tap) for k in range(9)], kernel) for tap in range(9)] == [
            2 if tap in heavy else -1 for tap in range(9)
        ]
