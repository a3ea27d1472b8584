"""The oracle itself, against examples worked out on paper."""

import math

import naive
import numpy as np
import numpy.typing as npt
import pytest
from numpy.testing import assert_allclose, assert_array_equal

NAN = math.nan
Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def column(*values: float) -> Array:
    return np.array(values, dtype=np.float64)[:, np.newaxis]


def integers(*values: int) -> Integers:
    return np.array(values, dtype=np.int64)


# Relief


def test_relief_of_two_groups_on_a_line() -> None:
    # Quarters of the range: R0 3 - 1, R1 2 - 1, R2 2 - 1, R3 3 - 1; 6/4 over 4 instances.
    X, classes = column(0, 1, 3, 4), integers(0, 0, 1, 1)
    assert_allclose(naive.relief_weights(X, classes), [0.375])
    # Squared, in sixteenths: 9 - 1, 4 - 1, 4 - 1, 9 - 1; 22/16 over 4.
    assert_allclose(naive.relief_weights(X, classes, power=2), [0.34375])


def test_a_given_range_replaces_the_tables_own() -> None:
    X, classes = column(0, 1, 3, 4), integers(0, 0, 1, 1)
    weights = naive.relief_weights(X, classes, low=np.array([-4.0]), high=np.array([4.0]))
    assert_allclose(weights, [0.1875])


def test_power_is_in_the_distance_too() -> None:
    # The range is 10. In tenths, R0 sees its hits R1 at (3, 3) and R2 at (0, 5): by sums, 6 and 5, R2 is
    # nearer; by sums of squares, 18 and 25, R1 is.
    X = np.array([[0, 0], [3, 3], [0, 5], [10, 10]], dtype=np.float64)
    classes = integers(0, 0, 0, 1)
    # Power 1: R0 hit R2 (0, 5), miss (10, 10): (10, 5); R1 hit R2 (3, 2), miss (7, 7): (4, 5);
    # R2 hit R0 (0, 5) and R1 (3, 2) both 5, so R0, miss (10, 5): (10, 0). Sum (24, 10) / 10 / 3.
    assert_allclose(naive.relief_weights(X, classes), [0.8, 1 / 3])
    # Power 2: R0 hit R1 (9, 9), miss (100, 100): (91, 91); R1 hit R2 (9, 4), miss (49, 49): (40, 45);
    # R2 hit R1 (9, 4), miss (100, 25): (91, 21). Sum (222, 157) / 100 / 3.
    assert_allclose(naive.relief_weights(X, classes, power=2), [0.74, 157 / 300])


def test_lowest_index_wins_and_an_instance_without_a_hit_is_left_out() -> None:
    X = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=np.float64)
    # R0: hits R1 and R2 both at 1, so R1 (1, 0); miss (1, 1): (0, 1). R1: hit R0 (1, 0), miss (0, 1):
    # (-1, 1). R2: hit R0 (0, 1), miss (1, 0): (1, -1). R3 has no hit. Sum (0, 1) over 3.
    assert_allclose(naive.relief_weights(X, integers(0, 0, 0, 1)), [0, 1 / 3], atol=1e-15)


def test_lowest_index_wins_among_misses_too() -> None:
    X = np.array([[0, 0], [1, 0], [0, 1], [0, 0]], dtype=np.float64)
    # R0 and R3 are each other's hit, with misses R1 and R2 both at 1, so R1: (1, 0) twice. R1: hit R2 (1, 1),
    # miss (1, 0): (0, -1). R2: hit R1 (1, 1), miss (0, 1): (-1, 0). Sum (1, -1) over 4.
    assert_allclose(naive.relief_weights(X, integers(0, 1, 1, 0)), [0.25, -0.25])


def test_near_miss_is_the_nearest_of_all_other_classes() -> None:
    # Eighths. R0 (0): hit 1, miss of class 2 at 3 rather than class 1 at 8: 2. R1 (1): hit 1, miss 2: 1.
    # R2 (8): no hit; R3 (3): no hit. 3/8 over 2.
    assert_allclose(naive.relief_weights(column(0, 1, 8, 3), integers(0, 0, 1, 2)), [0.1875])


def test_weights_are_zero_without_any_instance_to_use() -> None:
    assert_array_equal(naive.relief_weights(column(0, 1), integers(0, 1)), [0])
    assert_array_equal(naive.relief_weights(column(0, 1), integers(0, 0)), [0])
    assert_array_equal(naive.relief_weights(np.empty((0, 2)), integers()), [0, 0])


def test_neighbours_of_another_stream() -> None:
    X, classes, streams = column(0, 1, 4, 8), integers(0, 0, 0, 1), integers(7, 7, 8, 9)
    # Eighths, any: R0 8 - 1, R1 7 - 1, R2 4 - 3, R3 no hit; 14/8 over 3.
    assert_allclose(naive.relief_weights(X, classes), [7 / 12])
    # Other streams: R0 8 - 4, R1 7 - 3, R2 4 - 3; 9/8 over 3.
    assert_allclose(naive.relief_weights(X, classes, streams), [3 / 8])


def test_near_misses_too_are_of_another_stream() -> None:
    # R0 and R2 are of one stream though of two classes. Eighths: R0 hit R1 1, miss R3 8; R1 hit R0 1,
    # miss R2 1; R2 hit R3 6, miss R1 1; R3 hit R2 6, miss R1 7. 7 + 0 - 5 + 1 = 3/8 over 4.
    weights = naive.relief_weights(column(0, 1, 2, 8), integers(0, 0, 1, 1), integers(0, 1, 0, 2))
    assert_allclose(weights, [3 / 32])


def test_one_missing_numeric_value() -> None:
    # Quarters: d01 max(0, 4) = 4, d02 4, d03 1, d12 max(4, 0) = 4, d13 max(1, 3) = 3, d23 3.
    # R0 1 - 4, R1 3 - 4, R2 4 - 3, R3 1 - 3; -5/4 over 4.
    weights = naive.relief_weights(column(0, NAN, 4, 1), integers(0, 0, 1, 1))
    assert_allclose(weights, [-0.3125])


def test_two_missing_numeric_values_differ_by_one() -> None:
    # All differences are 1: both missing 1, known 0 or 1 against missing max(0, 1) = 1, 0 against 1.
    assert_array_equal(naive.relief_weights(column(NAN, NAN, 0, 1), integers(0, 1, 0, 1)), [0])
    assert naive.numeric_diff(NAN, NAN, 0, 4) == 1
    assert naive.numeric_diff(NAN, 5, 4, 8) == 0.75  # v = 1/4


def test_nominal_differences() -> None:
    # d01 1, d02 0, d03 1, d12 1, d13 0, d23 1: each instance has its hit at 1 and its miss at 0.
    weights = naive.relief_weights(column(5, 9, 5, 9), integers(0, 0, 1, 1), nominal=(0,))
    assert_allclose(weights, [-1])


def test_missing_nominal_value() -> None:
    # V = 3, so 2/3 against the missing one; else 1. R0 2/3 - 1, R1 2/3 - 1, R2 1 - 2/3, R3 2/3 - 2/3.
    X, classes = column(0, 1, 2, NAN), integers(0, 0, 1, 1)
    assert_allclose(naive.relief_weights(X, classes, nominal=(0,)), [-1 / 12])
    # Squared: 4/9 - 1, 4/9 - 1, 1 - 4/9, 0; -5/9 over 4.
    assert_allclose(naive.relief_weights(X, classes, power=2, nominal=(0,)), [-5 / 36])
    assert naive.nominal_diff(NAN, NAN, 4) == 0.75


def test_constant_and_empty_columns_weigh_nothing() -> None:
    X = np.array([[3, NAN], [3, NAN], [3, NAN], [3, NAN]])
    assert_array_equal(naive.relief_weights(X, integers(0, 0, 1, 1)), [0, 0])
    assert_array_equal(naive.relief_weights(X, integers(0, 0, 1, 1), nominal=(0, 1)), [0, 0])
    # A missing value in a constant column: the normalised value is 0, so max(0, 1) = 1.
    # R0 - R1 1, all pairs with R1 1, others 0: R0 0 - 1, R1 1 - 1, R2 0 - 0, R3 0 - 0.
    assert_allclose(naive.relief_weights(column(3, NAN, 3, 3), integers(0, 0, 1, 1)), [-0.25])


# Relief at every position

# A and B of class 0, C and D of class 1; C ends after one tick and what stands behind it is not its own.
VALUES = np.array([[0, 1], [2, 2], [4, 99], [3, 8]], dtype=np.float64)[:, :, np.newaxis]
CLASSES = integers(0, 0, 1, 1)
LENGTHS = integers(2, 2, 1, 2)


def test_stream_relief_at_each_position() -> None:
    # Eighths (0 to 8 over the whole table). Position 1: A 3 - 2, B 1 - 2, C 2 - 1, D 1 - 1; 1/8 over 4.
    # Position 2, any: A0 3 - 1, B2 1 - 0, C4 2 - 1, D3 1 - 1, A1 2 - 1, B2 1 - 0, D8 6 - 4; 8/8 over 7.
    assert_allclose(naive.stream_relief(VALUES, CLASSES, LENGTHS, "any"), [[1 / 32], [1 / 7]])
    # Other streams: A0 3 - 2, B2 1 - 1, C4 2 - 1, D3 1 - 1, A1 2 - 1, B2 1 - 1, D8 6 - 4; 5/8 over 7.
    assert_allclose(naive.stream_relief(VALUES, CLASSES, LENGTHS, "other_streams"), [[1 / 32], [5 / 56]])


def test_stream_relief_on_a_grid_of_positions() -> None:
    # Position 1 alone: the range is 4, so 1/4 over 4.
    assert_allclose(naive.stream_relief(VALUES, CLASSES, LENGTHS, "any", positions=(1,)), [[1 / 16]])
    # Position 2 alone: A1, B2, D8; sevenths: A 7 - 1, B 6 - 1, D no hit; 11/7 over 2.
    assert_allclose(naive.stream_relief(VALUES, CLASSES, LENGTHS, "any", positions=(2,)), [[11 / 14]])


def test_number_of_nominal_values_is_the_whole_tables() -> None:
    # At position 1: codes 0, missing | 1, 1. V is 3 with the 2 of position 2.
    # R0 hit 2/3, miss 1; R1 hit 2/3, miss 2/3; R2 hit 0, miss 2/3 (R1); R3 the same. 5/3 over 4.
    values = np.array([[0, 2], [NAN, 2], [1, 2], [1, 2]])[:, :, np.newaxis]
    W = naive.stream_relief(values, CLASSES, integers(2, 2, 2, 2), "any", nominal=(0,))
    assert_allclose(W[0], [5 / 12])


def test_rows_are_ordered_by_position_then_stream() -> None:
    X, classes, streams, positions = naive.training_table(VALUES, CLASSES, LENGTHS, (1, 2))
    assert_array_equal(X[:, 0], [0, 2, 4, 3, 1, 2, 8])
    assert_array_equal(classes, [0, 0, 1, 1, 0, 0, 1])
    assert_array_equal(streams, [0, 1, 2, 3, 0, 1, 3])
    assert_array_equal(positions, [1, 1, 1, 1, 2, 2, 2])


def test_lower_bound_is_the_least_of_what_is_to_come() -> None:
    W = np.array([[0.1, 0.3], [0.4, 0.2], [0.2, 0.5]])
    assert_array_equal(naive.lower_bound(W), [[0.1, 0.2], [0.2, 0.2], [0.2, 0.5]])


# Probes


def test_probe_is_weighed_beside_the_real_columns() -> None:
    values, lengths = np.array([0, 1, 3, 4], dtype=np.float64).reshape(4, 1, 1), integers(1, 1, 1, 1)
    permutations = np.array([[0, 1, 2, 3], [0, 2, 1, 3]])
    # The identity copies the column: 0.375 as above. With B and C exchanged the rows are, in quarters,
    # (0, 0), (1, 3), (3, 1), (4, 4), all 4 apart but A and D (8): A hit B 3, miss C 1; B hit A 3, miss C 2
    # (lowest of C and D); C hit D 3, miss A 1; D hit C 3, miss B 1. -7/4 over 4.
    weights = naive.probe_weights(values, CLASSES, lengths, permutations, (0, 0), "any")
    assert_allclose(weights, [0.375, -0.4375])


def test_probe_is_missing_after_its_donors_end() -> None:
    # A = 0, 2 and B = 1 of class 0, C = 4, 4 of class 1; A and B exchanged, so A has 1, missing and B has 0.
    # Quarters, (column, probe): A1 B1 (1, 1), A1 C (4, 3), A1 A2 (2, 3), B1 C (3, 4), B1 A2 (1, 4),
    # A2 C (2, 4).
    # Probe: A1 3 - 1, B1 4 - 1, C1 4 - 0, A2 4 - 3 (A1 and B1 both at 5, so A1), C2 4 - 0; 14/4 over 5.
    values = np.array([[0, 2], [1, 99], [4, 4]], dtype=np.float64)[:, :, np.newaxis]
    permutation = np.array([[1, 0, 2]])
    weights = naive.probe_weights(values, integers(0, 0, 1), integers(2, 1, 2), permutation, (0,), "any")
    assert_allclose(weights, [0.7])
    # Other streams: C1 and C2 have no hit; A1 3 - 1, B1 4 - 1, A2 hit B1 4 - 4; 5/4 over 3.
    weights = naive.probe_weights(values, integers(0, 0, 1), integers(2, 1, 2), permutation, (0,), "other_streams")
    assert_allclose(weights, [5 / 12])


def test_probe_of_a_nominal_feature_is_nominal() -> None:
    # Codes 0, 0, 5, 9; the probe exchanges A and C: 5, 0, 0, 9. Both nominal, (column, probe) differences:
    # AB (0, 1), AC (1, 1), AD (1, 1), BC (1, 0), BD (1, 1), CD (1, 1).
    # Probe: A hit B 1, miss C 1: 0; B hit A 1, miss C 0: -1; C hit D 1, miss B 0: -1; D hit C 1, miss A 1: 0.
    values = np.array([0, 0, 5, 9], dtype=np.float64).reshape(4, 1, 1)
    weights = naive.probe_weights(
        values, CLASSES, integers(1, 1, 1, 1), np.array([[2, 1, 0, 3]]), (0,), "any", nominal=(0,)
    )
    assert_allclose(weights, [-0.5])


# Costs and the ranking


def test_decision_probability() -> None:
    assert_array_equal(naive.decision_probability(np.array([[-1.0], [0.0], [1.0]])), [[0], [0.5], [1]])


@pytest.mark.parametrize(
    ("P", "positions", "confidence", "horizon", "extrapolation", "expected"),
    [
        ((0.5, 0.75), None, 0.9, 4, "none", 0.5 + 0.25 + 0.25 + 0.25),
        ((0.5, 0.75), None, 0.9, 4, "linear", 0.5 + 0.25),  # P_3 = 1 ends it
        ((0.5, 0.75), None, 0.75, 4, "none", 0.5),  # reached is enough
        (
            (0.5, 0.75),
            None,
            0.9,
            1,
            "none",
            0.5,
        ),  # the horizon is included, and may lie before the last position
        ((0.5, 0.75), (1, 3), 0.9, 4, "none", 0.5 + 0.5 + 0.25 + 0.25),  # held between positions
        ((0.5, 0.75), (1, 3), 0.9, 4, "linear", 0.5 + 0.5 + 0.25 + 0.125),  # 1/8 a tick
        ((0.75, 0.5), None, 0.9, 3, "linear", 0.25 + 0.5 + 0.5),  # falling: not below the last
        (
            (0.25, 0.75, 0.5),
            None,
            0.9,
            5,
            "linear",
            0.75 + 0.25 + 0.5 + 0.375 + 0.25,
        ),  # slope 1/8 from the last
        # Times about 7/3: -4/3, -1/3, 5/3; slope (1/3) / (42/9) = 1/14.
        ((0.25, 0.5, 0.5), (1, 2, 4), 0.9, 5, "linear", 0.75 + 0.5 + 0.5 + 0.5 + 0.5 - 1 / 14),
        ((0.25, 0.75, 0.5), None, 0.75, 5, "linear", 0.75),  # once reached, ended
        ((0.5,), None, 0.9, 3, "linear", 1.5),  # one position has no slope
        ((0.5, 0.75), None, 2.0, 5, "linear", 0.5 + 0.25),  # not above 1
    ],
)
def test_expected_cost(
    *,
    P: tuple[float, ...],
    positions: tuple[int, ...] | None,
    confidence: float,
    horizon: int,
    extrapolation: str,
    expected: float,
) -> None:
    each = np.array([2.0])
    literal = naive.expected_cost(column(*P), each, confidence, horizon, extrapolation, "literal", positions)
    counted = naive.expected_cost(column(*P), each, confidence, horizon, extrapolation, "counted", positions)
    assert_allclose(literal, [2 * expected])
    assert_allclose(counted, [2 * (1 + expected)])


def test_expected_cost_takes_each_feature_by_itself() -> None:
    P = np.array([[0.5, 1.0, 0.0], [0.5, 1.0, 0.5]])
    # The second is sure at once: as printed it costs nothing, however dear.
    costs = naive.expected_cost(P, np.array([1.0, 100.0, 3.0]), 0.9, 2, "none", "literal")
    assert_allclose(costs, [1, 0, 4.5])


def test_score_weighs_expected_and_one_time_costs() -> None:
    assert_allclose(naive.score(np.array([3.0, 1.0]), np.array([4.0, 0.0]), 2, 0.5), [8, 2])


def test_ranking_puts_the_cheapest_first_and_the_irrelevant_last() -> None:
    scores = np.array([3.0, 1.0, 2.0, 1.0])
    assert_array_equal(naive.ranking(scores), [1, 3, 2, 0])
    assert_array_equal(naive.ranking(scores, np.array([True, False, True, True])), [3, 2, 0, 1])
    assert_array_equal(naive.ranking(scores, np.zeros(4, dtype=np.bool_)), [1, 3, 2, 0])


def test_classification_cost() -> None:
    # 2 * 3 ticks * (1 + 2) + 0.5 * (5 + 1)
    assert naive.classification_cost(3, np.array([1.0, 2.0]), np.array([5.0, 1.0]), 2, 0.5) == 21


# Features of a prefix

GAPPED = column(2, NAN, 4, 9)  # 2, 4, 9 at 0, 2, 3 s
TIMES = np.array([0.0, 1.0, 2.0, 3.0])


def test_features_of_one_column() -> None:
    assert naive.count(GAPPED, TIMES) == 4
    assert naive.last(GAPPED, TIMES) == 9
    assert naive.last(GAPPED[:2], TIMES[:2]) == 2
    assert naive.mean(GAPPED, TIMES) == 5
    assert naive.variance(GAPPED, TIMES) == 13  # (9 + 1 + 16) / 2
    assert naive.minimum(GAPPED, TIMES) == 2
    assert naive.maximum(GAPPED, TIMES) == 9
    assert naive.value_range(GAPPED, TIMES) == 7
    # Times about their mean 5/3: -5/3, 1/3, 4/3; (5 - 1/3 + 16/3) / (42/9) = 10 * 9/42.
    assert_allclose(naive.slope(GAPPED, TIMES), 15 / 7)
    # 2, then 2 + 2/4, then 2.5 + 6.5/4.
    assert naive.exponentially_weighted_mean(GAPPED, TIMES, 0.25) == 4.125


def test_windowed_features_look_at_the_last_known_samples() -> None:
    assert naive.windowed_mean(GAPPED, TIMES, 2) == 6.5
    assert naive.windowed_variance(GAPPED, TIMES, 2) == 12.5
    assert naive.windowed_mean(GAPPED[:3], TIMES[:3], 2) == 3  # 2 and 4, over the gap
    assert naive.windowed_variance(GAPPED[:3], TIMES[:3], 2) == 2
    assert naive.windowed_mean(GAPPED, TIMES, 9) == 5
    assert naive.windowed_variance(GAPPED, TIMES, 9) == 13
    assert math.isnan(naive.windowed_variance(GAPPED, TIMES, 1))


def test_moments_are_exact_at_any_offset() -> None:
    far = column(1e15, 1e15 + 1, 1e15 + 2)
    assert naive.variance(far, TIMES[:3]) == 1
    assert naive.slope(far, TIMES[:3] + 1.7e9) == 1
    assert naive.variance(column(0.1, 0.1, 0.1), TIMES[:3]) == 0


def test_features_of_two_columns() -> None:
    values = np.array([[1, 2], [2, 4], [3, 7], [NAN, 1], [8, NAN]])
    times = np.arange(5.0)
    # About the means: (-1, 0, 1) and (-7/3, -1/3, 8/3): 5 / sqrt(2 * 38/3).
    assert_allclose(naive.correlation(values, times), 5 / math.sqrt(76 / 3))
    assert_allclose(naive.mean_absolute_difference(values, times), 7 / 3)  # 1, 2, 4
    assert_allclose(naive.flag_agreement(values, times, 3.0), 1 / 3)  # above 3: no no no, no yes yes
    assert math.isnan(naive.correlation_of_increments(values, times))  # the first column's are 1 and 1
    assert naive.count(values, times) == 5


def test_correlation_of_increments_spans_a_gap() -> None:
    values = np.array([[0, 0], [1, 2], [NAN, 50], [3, 3], [2, 3]])
    # Increments 1, 2, -1 and 2, 1, 0; about their means 1/3, 4/3, -5/3 and 1, 0, -1: 2 / sqrt(42/9 * 2).
    expected = 2 / math.sqrt(28 / 3)
    assert_allclose(naive.correlation_of_increments(values, np.arange(5.0)), expected)


def test_correlations_keep_their_sign_and_their_bounds() -> None:
    values = np.array([[0.1, -0.3], [0.2, -0.6], [0.4, -1.2]])
    assert naive.correlation(values, TIMES[:3]) == -1
    assert math.isnan(naive.correlation(np.array([[1.0, 2.0], [1.0, 3.0]]), TIMES[:2]))
    assert math.isnan(naive.correlation(np.array([[2.0, 1.0], [3.0, 1.0]]), TIMES[:2]))


@pytest.mark.parametrize("n_missing", [0, 2])
def test_without_samples_features_are_undefined(n_missing: int) -> None:
    one, two, times = np.full((n_missing, 1), NAN), np.full((n_missing, 2), NAN), np.arange(float(n_missing))
    assert naive.count(one, times) == n_missing
    singles = (naive.last, naive.mean, naive.variance, naive.minimum, naive.maximum, naive.value_range)
    assert all(math.isnan(feature(one, times)) for feature in (*singles, naive.slope))
    assert math.isnan(naive.exponentially_weighted_mean(one, times, 0.5))
    assert math.isnan(naive.windowed_mean(one, times, 3))
    assert math.isnan(naive.windowed_variance(one, times, 3))
    pairs = (naive.correlation, naive.correlation_of_increments, naive.mean_absolute_difference)
    assert all(math.isnan(feature(two, times)) for feature in pairs)
    assert math.isnan(naive.flag_agreement(two, times, 0.0))


def test_one_sample_or_one_time_is_not_enough() -> None:
    assert math.isnan(naive.variance(column(3, NAN), TIMES[:2]))
    assert math.isnan(naive.slope(column(3, 4), np.array([1.0, 1.0])))
    assert math.isnan(naive.correlation(np.array([[1.0, 2.0]]), TIMES[:1]))
    assert math.isnan(naive.correlation_of_increments(np.array([[1.0, 2.0], [2.0, 5.0]]), TIMES[:2]))
