"""The oracle itself, against examples worked out on paper."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import papers as naive
from scipy.interpolate import CubicSpline, PchipInterpolator

NAN = math.nan
Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def column(*values: float) -> Array:
    return np.array(values, dtype=np.float64)[:, np.newaxis]


def integers(*values: int) -> Integers:
    return np.array(values, dtype=np.int64)


# A and B of class 0, C and D of class 1; C ends after one tick and what stands behind it is not its own.
VALUES = np.array([[0, 1], [2, 2], [4, 99], [3, 8]], dtype=np.float64)[:, :, np.newaxis]
CLASSES = integers(0, 0, 1, 1)
LENGTHS = integers(2, 2, 1, 2)


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


# Relief for data streams


def test_prefixes_give_a_row_for_each_tick() -> None:
    X, classes, streams = naive.prefix_table(VALUES, CLASSES, [(1, 2), (2, 1), (0, 2), (1, 1)])
    assert_array_equal(X[:, 0], [2, 2, 4, 0, 1, 2])
    assert_array_equal(classes, [0, 0, 1, 0, 0, 0])
    assert_array_equal(streams, [1, 1, 2, 0, 0, 1])
    assert naive.prefix_table(VALUES, CLASSES, [])[0].shape == (0, 1)


def test_relief_of_prefixes() -> None:
    # Quarters, any: A0 3 - 1, A1 2 - 1, B2 1 - 1, C4 2 - 1, D3 1 - 1; 4/4 over 5.
    draws = [(0, 2), (1, 1), (2, 1), (3, 1)]
    assert_allclose(naive.prefix_relief(VALUES, CLASSES, draws, "any"), [0.2])
    # Other streams: A0 3 - 2, A1 2 - 1, B2 1 - 1, C4 2 - 1, D3 1 - 1; 3/4 over 5.
    assert_allclose(naive.prefix_relief(VALUES, CLASSES, draws, "other_streams"), [0.15])


def test_a_stream_drawn_twice_is_one_stream() -> None:
    draws = [(0, 1), (1, 1), (0, 1), (2, 1), (3, 1)]
    # Quarters, any: A0 3 - 0 twice, B2 1 - 2, C4 2 - 1, D3 1 - 1; 6/4 over 5.
    assert_allclose(naive.prefix_relief(VALUES, CLASSES, draws, "any"), [0.3])
    # Other streams: A0 3 - 2 twice; 2/4 over 5.
    assert_allclose(naive.prefix_relief(VALUES, CLASSES, draws, "other_streams"), [0.1])


# Relief at every position


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


def at(ticks: range, P: tuple[float, ...], extrapolation: str, positions: Sequence[int] = ()) -> list[float]:
    known = positions or range(1, len(P) + 1)
    return [naive.probability_at(tick, np.array(P), known, extrapolation) for tick in ticks]


def test_the_last_piece_of_a_spline_is_continued() -> None:
    # The second derivative at 2 is -1/2 / (2/3) = -3/4, so from 2 on S = 1/2 + u/4 - 3/8 u^2 + u^3/8.
    assert_allclose(at(range(2, 6), (0.0, 0.5, 0.5), "spline"), [0.5, 0.5, 0.5, 1.0])  # 5/4 is kept at 1
    # 1/4 / (2/3) = 3/8: S = u/8 + 3/16 u^2 - u^3/16: 1/2, 3/8, -1/2 do not fall.
    assert_allclose(at(range(3, 7), (0.0, 0.0, 0.25), "spline"), [0.25, 0.5, 0.5, 0.5])
    assert_allclose(naive.spline(6, np.array([0.0, 0.0, 0.25]), (1, 2, 3)), -0.5)


def test_the_last_piece_of_a_hermite_interpolant_is_continued() -> None:
    # Slopes 1/16 and 3/16, at 2 their harmonic mean 3/32, at 3 (3 * 3/16 - 1/16) / 2 = 1/4:
    # 1/16 + s^2 (3 - 2 s) 3/16 + u (1 - s)^2 3/32 + u s (s - 1) / 4: 1/2, 5/8, 7/16.
    assert_allclose(at(range(3, 7), (0.0, 0.0625, 0.25), "hermite"), [0.25, 0.5, 0.625, 0.625])
    # A turn has slope 0, and so has an end that would turn back: (3 * 0 - 1/4) / 2.
    assert_allclose(at(range(3, 6), (0.0, 0.25, 0.25), "hermite"), [0.25, 0.25, 0.25])


def test_the_end_of_a_hermite_interpolant_does_not_overshoot() -> None:
    # (3 * 1 + 4) / 2 is more than 3 times 1, the slope of the last piece.
    assert naive.slope_at_end(1, 1, 1, -4) == 3
    assert naive.slope_at_end(1, -1, 1, 4) == -3
    assert naive.slope_at_end(1, 1, 1, -2) == 2.5


@pytest.mark.parametrize("seed", range(20))
def test_spline_and_hermite_are_scipys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    P = np.round(rng.random(3 + seed % 7), 1)
    positions = np.cumsum(rng.integers(1, 5, size=len(P))).tolist()
    ticks = range(positions[-2], positions[-1] + 10)
    theirs = CubicSpline(positions, P, bc_type="natural")(ticks)
    assert_allclose([naive.spline(tick, P, positions) for tick in ticks], theirs, rtol=1e-9, atol=1e-9)
    theirs = PchipInterpolator(positions, P)(ticks)
    assert_allclose([naive.hermite(tick, P, positions) for tick in ticks], theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("extrapolation", ["spline", "hermite"])
def test_curves_of_two_positions_are_lines(extrapolation: str) -> None:
    assert_allclose(at(range(3, 6), (0.25, 0.5), extrapolation, (1, 3)), [0.5, 0.625, 0.75])
    assert_allclose(at(range(1, 3), (0.25,), extrapolation), [0.25, 0.25])


def test_saturating_tends_to_one() -> None:
    assert_allclose(at(range(3, 6), (0.5, 0.75, 0.875), "saturating"), [0.875, 0.9375, 0.96875])
    # Logarithms -1, -1, -2 of 2: slope -1/2.
    assert_allclose(at(range(4, 5), (0.5, 0.5, 0.75), "saturating"), [1 - 0.25 / math.sqrt(2)])
    # A P of 1 has no logarithm: -1 at 1 and -2 at 3 have the slope -1/2 too.
    assert_allclose(at(range(4, 5), (0.5, 1.0, 0.75), "saturating"), [1 - 0.25 / math.sqrt(2)])
    for P in ((0.5, 0.25), (0.5, 0.5), (0.5,), (1.0, 0.5)):  # does not rise, or has too few below 1
        assert at(range(len(P) + 1, len(P) + 3), P, "saturating") == [P[-1], P[-1]]
    assert at(range(4, 6), (0.5, 0.75, 1.0), "saturating") == [1, 1]


@pytest.mark.parametrize(
    ("P", "expected"),
    [
        ((0.5, 0.5, 0.5, 0.5), "none"),  # all are right: the first
        ((0.125, 0.25, 0.375, 0.25), "none"),  # it fell, and all others rise
        ((0.125, 0.25, 0.375, 0.5), "linear"),  # so say spline and Hermite too
        ((0.0, 0.0, 0.25, 0.5), "spline"),  # so says Hermite too: (3 * 1/4 - 0) / 2 at the end; linear 3/8
        ((0.0, 0.0625, 0.25, 0.5), "hermite"),  # spline 7/16, linear 3/8
        ((0.5, 0.75, 0.875, 0.9375), "saturating"),
        ((0.0, 0.0, 0.5), "linear"),  # too few
        # Four of five are known. Of three, the line would be off by 0 and 1/8, held by 1/8 and 1/8.
        ((0.0, 0.125, 0.25, 0.375, 0.375), "none"),
        # Six of eight are known. In sixteenths, held is off by 1 and 0, the line by 0 and 2.
        ((0.0625, 0.125, 0.1875, 0.25, 0.3125, 0.375, 0.4375, 0.375), "none"),
    ],
)
def test_the_extrapolation_that_predicts_best_is_chosen(P: tuple[float, ...], expected: str) -> None:
    assert naive.choose_extrapolation(np.array(P), range(1, len(P) + 1)) == expected


def test_expected_cost_takes_each_feature_by_itself() -> None:
    P = np.array([[0.5, 1.0, 0.0], [0.5, 1.0, 0.5]])
    # The second is sure at once: as printed it costs nothing, however dear.
    costs = naive.expected_cost(P, np.array([1.0, 100.0, 3.0]), 0.9, 2, "none", "literal")
    assert_allclose(costs, [1, 0, 4.5])


def test_each_feature_has_an_extrapolation_of_its_own() -> None:
    # A line that goes on with 5/8 and 6/8; 1 - 2^-t that goes on with 31/32 and 63/64.
    P = np.array([[0.125, 0.5], [0.25, 0.75], [0.375, 0.875], [0.5, 0.9375]])
    costs = naive.expected_cost(P, np.array([8.0, 64.0]), 1.0, 6, "auto", "literal")
    assert_allclose(costs, [7 + 6 + 5 + 4 + 3 + 2, 32 + 16 + 8 + 4 + 2 + 1])


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
