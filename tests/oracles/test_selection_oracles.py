"""The oracles of selection, against examples worked out by hand and published figures."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles.active_sampling import benefit, decoupled_benefit, map_error, mse, posterior, spearman
from oracles.dependency_aware import daf, order_change, value_change
from oracles.kernel_density import kernel_density_probabilities
from oracles.query_sensitive import learn_thresholds, nearest, query_sensitive_subset
from oracles.selection import (
    equal_width_codes,
    finco,
    freedman_diaconis_bins,
    inconsistency,
    las_vegas,
    sequential,
    supervised_bins,
)
from sklearn.datasets import load_iris

NAN = math.nan


def column(*values):
    return np.array(values, dtype=np.float64)[:, np.newaxis]


def classes(*labels):
    return np.array(labels, dtype=np.int64)


# Inconsistency and discretisation


def test_a_group_counts_its_rows_outside_its_largest_class():
    X, y = column(0, 0, 0, 1, 1), classes(0, 0, 1, 1, 1)
    assert inconsistency(X, y) == 1 / 5
    assert inconsistency(X[:, :0], y) == 2 / 5


def test_rows_with_all_values_equal_form_a_group_and_missing_is_a_value():
    X = np.array([[NAN, 0], [NAN, 0], [NAN, 1], [0, 0]])
    assert inconsistency(X, classes(0, 1, 2, 3)) == 1 / 4
    assert inconsistency(X[:, :1], classes(0, 1, 2, 3)) == 2 / 4


def test_iris_with_sturges_bins_is_as_inconsistent_as_dprep_documents():
    X, y = load_iris(return_X_y=True)
    codes = np.column_stack([equal_width_codes(x, math.ceil(math.log2(150)) + 1) for x in X.T])
    assert_allclose(inconsistency(codes, y), 0.006666667, atol=5e-10)
    codes = np.column_stack([equal_width_codes(x, freedman_diaconis_bins(x)) for x in X.T])
    assert inconsistency(codes, y) == 2 / 150


def test_bins_have_the_width_of_freedman_and_diaconis():
    # Quartiles 1.75 and 5.25, 8^(-1/3) = 1/2: a width of 3.5 in a range of 8.
    assert freedman_diaconis_bins(np.array([0.0, 1, 2, NAN, 3, 4, 5, 6, 8])) == 3


def test_bins_are_sturges_without_an_interquartile_range_and_one_without_a_range():
    assert freedman_diaconis_bins(np.array([0.0, 0, 0, 0, 0, 0, 0, 5])) == 4
    assert freedman_diaconis_bins(np.array([5.0, 5, NAN])) == 1
    assert freedman_diaconis_bins(np.array([NAN])) == 1


def test_supervised_bins_are_the_most_of_any_class_over_the_whole_range():
    x = np.concatenate([np.arange(8.0), 10 + np.arange(8.0) / 10, [NAN, 5.5]])
    # A range of 10.7 by widths of 3.5 and 0.35; a class with one value gives 1, one without none.
    y = np.repeat([0, 1, 3, 2], [8, 8, 1, 1])
    assert supervised_bins(x, y) == 31
    assert supervised_bins(x[[*range(8), 15, 16]], classes(*[0] * 8, 1, 2)) == 4
    assert supervised_bins(np.array([2.0, 2, NAN]), classes(0, 1, 1)) == 1


def test_equal_width_bins_include_their_lower_edge_and_the_last_both():
    assert_array_equal(equal_width_codes(np.array([0.0, 1.9, 2, NAN, 4]), 2), [0, 0, 1, NAN, 1])
    assert_array_equal(equal_width_codes(np.array([3.0, 3, NAN]), 4), [0, 0, NAN])


# The Las Vegas filter and Finco


def test_las_vegas_accepts_smaller_consistent_subsets_and_the_last_of_equal_size():
    y = classes(0, 0, 1, 1)
    codes = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 0]], dtype=np.float64)
    drawn = [[0, 1], [1, 2], [2, 0], [0, 1, 2], [1]]
    assert las_vegas(codes, y, drawn, 0.0) == (0, 2)
    assert las_vegas(codes, y, drawn, 0.25) == (1,)
    assert las_vegas(codes, y, [[1, 2], [2]], 0.0) == (0, 1, 2)


def test_finco_adds_the_least_inconsistent_feature_while_the_rate_falls():
    codes, y = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]], dtype=np.float64), classes(0, 1, 1, 0)
    # Alone 1/2, 1/2 and 1/4; the third with any other 1/4 still.
    assert finco(codes, y, 0.0) == (2,)
    assert finco(codes[:, :2], y, 0.0) == (0, 1)


def test_finco_keeps_the_feature_that_reaches_the_threshold_and_the_first_always():
    codes, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float64), classes(0, 1, 1, 0)
    assert finco(codes, y, 0.5) == (0,)
    assert finco(codes, y, 0.49) == (0, 1)
    assert finco(codes[:, [0]] * 0, y, 0.0) == (0,)


# Sequential selection


def table(scores, other=0.1):
    """Return a score function that looks up subsets; one not in the table has the score `other`."""

    def score(subset):
        assert subset == tuple(sorted(subset))
        assert subset
        return scores.get(subset, other)

    return score


STEPS = table({(0,): 0.5, (1,): 0.6, (2,): 0.6, (0, 1): 0.6, (0, 2): 0.7, (1, 2): 0.7, (0, 1, 2): 0.7})


def test_forward_selection_stops_when_the_score_no_longer_rises():
    assert sequential(STEPS, 3) == (1, 2)
    assert sequential(table({}), 3) == (0,)
    assert sequential(table({(1,): 0.3, (0, 1): 0.4}), 2) == (1, 0)


def test_backward_selection_continues_while_the_score_does_not_fall_and_keeps_one():
    assert sequential(STEPS, 3, "backward") == (1, 2)
    assert sequential(table({}), 3, "backward") == (2,)
    assert sequential(table({}), 1, "backward") == (0,)


def test_floating_forward_excludes_if_that_is_the_best_of_its_size():
    scores = {(0,): 0.6, (0, 1): 0.7, (0, 2): 0.65, (1, 2): 0.75, (0, 1, 2): 0.72}
    assert sequential(table(scores), 3) == (0, 1, 2)
    assert sequential(table(scores), 3, floating=True) == (1, 2)
    assert sequential(table({**scores, (0, 1, 2): 0.8}), 3, floating=True) == (0, 1, 2)
    assert sequential(table({**scores, (1, 2): 0.7}), 3, floating=True) == (0, 1, 2)


def test_floating_forward_returns_the_best_subset_even_if_it_ends_elsewhere():
    scores = {(0,): 0.5, (0, 1): 0.6, (0, 1, 2): 0.7, (0, 1, 2, 3): 0.9, (1, 2, 3): 0.85, (2, 3): 0.84}
    # Ends at (2, 3, 4), from which no feature raises the score.
    assert sequential(table({**scores, (2, 3, 4): 0.86}), 5, floating=True) == (0, 1, 2, 3)


def test_floating_backward_includes_if_that_is_the_best_of_its_size():
    scores = {(0, 1, 2, 3, 4): 0.5, (1, 2, 3, 4): 0.6, (2, 3, 4): 0.65, (3, 4): 0.7, (0, 3, 4): 0.8, (0, 3): 0.9}
    assert sequential(table(scores), 5, "backward") == (3, 4)
    assert sequential(table(scores), 5, "backward", floating=True) == (0, 3)
    assert sequential(table({}), 3, "backward", floating=True) == (2,)


def test_floating_backward_returns_the_best_subset_even_if_it_ends_elsewhere():
    scores = {(1, 2, 3, 4): 0.5, (2, 3, 4): 0.6, (3, 4): 0.7, (4,): 0.9, (0, 4): 0.85, (0, 1, 4): 0.84}
    # Ends at (0, 1), both of which alone have less.
    assert sequential(table({**scores, (0, 1): 0.86}), 5, "backward", floating=True) == (4,)


def test_take_two_remove_one_passes_a_step_that_does_not_raise_the_score():
    scores = table({(0,): 0.5, (1,): 0.5, (2,): 0.5, (1, 2): 0.9, (0, 1, 2): 0.6}, other=0.4)
    # 0, then 1; 0 is removed as the lowest index of two; then 2 and 0, of which 0 is removed.
    assert sequential(scores, 3, take=2, remove=1) == (1, 2)
    assert sequential(scores, 3) == (0,)


def test_remove_two_take_one_ends_with_whole_rounds():
    scores = table({(0, 1, 2): 0.5, (0, 1): 0.6, (0, 2): 0.4, (1, 2): 0.4}, other=0.3)
    assert sequential(scores, 3, "backward", take=1, remove=2) == (0, 1)
    assert sequential(table({(0, 1, 2): 0.5}), 3, "backward", take=1, remove=2) == (0, 1, 2)
    assert sequential(scores, 2, "backward", take=1, remove=2) == (0, 1)


@pytest.mark.parametrize(
    ("direction", "take", "remove"), [("forward", 1, 2), ("backward", 2, 1), ("forward", 4, 1)]
)
def test_inconsistent_rounds_are_refused(direction, take, remove):
    with pytest.raises(ValueError, match=str(take)):
        sequential(STEPS, 3, direction, take=take, remove=remove)


# Kernel density classifier


def gauss(z):
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def test_densities_are_sums_of_normal_kernels_of_silvermans_width_weighted_by_priors():
    h = math.sqrt(2) * (4 / 6) ** (1 / 5)
    lone = math.sqrt(19 / 3) * (4 / 3) ** (1 / 5)  # a class of one row has the deviation of all: 0, 2, 5
    shares = np.array([2 / 3 * gauss(1 / h) / h, 1 / 3 * gauss(4 / lone) / lone])
    found = kernel_density_probabilities(column(0, 2, 5), classes(0, 0, 1), np.array([1.0]))
    assert_allclose(found, shares / shares.sum(), rtol=1e-14)


def test_numeric_kernels_are_multiplied_and_the_width_knows_the_number_of_features():
    X = np.array([[0, 0, 7], [2, 6, 7], [0, 0, 7], [4, 3, 7]], dtype=np.float64)
    scale = (4 / 10) ** (1 / 7)  # d = 3, n_c = 2
    a, b, c, d = (scale * s for s in (math.sqrt(2), math.sqrt(18), math.sqrt(8), math.sqrt(4.5)))
    first = (gauss(1 / a) * gauss(1 / b) + gauss(1 / a) * gauss(5 / b)) / (a * b)
    second = (gauss(1 / c) * gauss(1 / d) + gauss(3 / c) * gauss(2 / d)) / (c * d)
    found = kernel_density_probabilities(X, classes(0, 0, 1, 1), np.array([1.0, 1.0, 7.0]))
    assert_allclose(found, [first / (first + second), second / (first + second)], rtol=1e-14)


def test_the_width_counts_the_numeric_features_known_in_a_class():
    X = np.array([[0, NAN, 0], [2, NAN, 0], [4, 1, 0], [8, 3, 0]])
    h, scale = math.sqrt(2) * (4 / 6) ** (1 / 5), (4 / 8) ** (1 / 6)
    a, b = scale * math.sqrt(8), scale * math.sqrt(2)
    first = 2 * gauss(1 / h) / h
    second = (gauss(3 / a) + gauss(7 / a)) * gauss(1 / b) / (a * b)
    found = kernel_density_probabilities(X, classes(0, 0, 1, 1), np.array([1.0, 2, 0]), nominal=(2,))
    assert_allclose(found, [first / (first + second), second / (first + second)], rtol=1e-14)


def test_nominal_kernels_give_laplaces_estimate():
    X, y = column(0, 0, 1, 2), classes(0, 0, 0, 1)
    # 3/4 (2 + 1) / (3 + 3) to 1/4 (0 + 1) / (1 + 3).
    assert_allclose(kernel_density_probabilities(X, y, np.array([0.0]), nominal=(0,)), [6 / 7, 1 / 7], rtol=1e-14)


def test_a_missing_cell_leaves_its_factor_out():
    X, y = column(0, NAN, 1), classes(0, 0, 1)
    # 2/3 mean(3/4, 1) to 1/3 1/3.
    assert_allclose(
        kernel_density_probabilities(X, y, np.array([0.0]), nominal=(0,)), [21 / 25, 4 / 25], rtol=1e-14
    )
    for kernel in ("standard", "adaptive"):
        assert_allclose(kernel_density_probabilities(X, y, np.array([NAN]), kernel), [2 / 3, 1 / 3], rtol=1e-14)


def test_a_feature_without_any_spread_has_a_deviation_of_one():
    found = kernel_density_probabilities(column(7, 7, 7, 7), classes(0, 0, 0, 1), np.array([8.0]))
    widths = np.array([(4 / 9) ** (1 / 5), (4 / 3) ** (1 / 5)])
    shares = [3 * gauss(1 / widths[0]) / widths[0], gauss(1 / widths[1]) / widths[1]]
    assert_allclose(found, np.array(shares) / sum(shares), rtol=1e-14)


def test_the_adaptive_kernel_widens_where_the_pilot_density_is_low():
    h, wide = (4 / 9) ** (1 / 5), math.sqrt(20.75 / 3) * (4 / 3) ** (1 / 5)
    middle = (gauss(0) + 2 * gauss(1 / h)) / (3 * h)
    end = (gauss(0) + gauss(1 / h) + gauss(2 / h)) / (3 * h)
    g = (middle * end * end) ** (1 / 3)
    inner, outer = h * (middle / g) ** -0.5, h * (end / g) ** -0.5
    assert inner < outer
    near = (gauss(3 / outer) / outer + gauss(2 / inner) / inner + gauss(1 / outer) / outer) / 3
    shares = np.array([3 / 4 * near, 1 / 4 * gauss(3 / wide) / wide])
    X, y, query = column(-1, 0, 1, 5), classes(0, 0, 0, 1), np.array([2.0])
    assert_allclose(kernel_density_probabilities(X, y, query, "adaptive"), shares / shares.sum(), rtol=1e-13)


def test_far_queries_do_not_underflow():
    found = kernel_density_probabilities(column(0, 1, 10, 11), classes(0, 0, 1, 1), np.array([1e4]))
    assert_allclose(found, [0, 1], atol=1e-300)


# Dependency-aware ranking


def test_daf_is_the_mean_with_a_feature_less_that_without_it():
    found = daf([(0, 1), (1,), (0, 2)], [0.8, 0.6, 0.7], 4)
    assert_allclose(found, [0.15, 0, 0, NAN], atol=1e-15)
    assert_allclose(daf([(0,), (0, 1), (0, 1)], [0.5, 0.7, 0.8], 2), [NAN, 0.25])


def test_order_changes_by_places_and_value_by_daf():
    before, after = np.array([0.3, 0.2, 0.1]), np.array([0.1, 0.2, 0.3])
    assert order_change(before, after) == pytest.approx(4 / 3)
    assert value_change(before, after) == pytest.approx(0.4 / 3)
    assert order_change(np.zeros(3), np.array([0.0, 0, 1])) == pytest.approx(4 / 3)
    assert math.isnan(order_change(before, np.array([0.1, NAN, 0.3])))
    assert math.isnan(value_change(np.array([0.1, NAN, 0.3]), after))


# Active sampling


def test_the_estimate_starts_uniform_and_counts_each_value_once_more():
    assert_allclose(posterior(np.array([[0.0, 0.0], [3.0, 1.0]])), [[1 / 2, 1 / 2], [4 / 6, 2 / 6]])


def test_benefit_is_the_expected_change_of_the_class_entropy():
    # Either value makes 2/3 and 1/3 of the region's halves: p(c, y) is 1/3 and 1/4, then 1/6 and 1/4.
    later = -(math.log(4 / 7) / 3 + math.log(3 / 7) / 4 + math.log(2 / 5) / 6 + math.log(3 / 5) / 4)
    expected = math.log(2) - later
    assert_allclose(benefit(np.zeros((2, 1, 2)), np.array([[0.5], [0.5]])), [[expected], [expected]], rtol=1e-13)


def test_an_uneven_region_expects_its_values_with_their_own_probabilities():
    counts = np.array([[[1.0, 0.0]], [[0.0, 0.0]]])
    # The first class has p(y) = 2/3, 1/3; later 3/4, 1/4 with probability 2/3, and 1/2, 1/2 with 1/3.
    p = 0.5

    def class_entropy(share):
        joint = np.array([[p * share, p * (1 - share)], [p / 2, p / 2]])
        return -sum(joint[c, v] * math.log(joint[c, v] / joint[:, v].sum()) for c in (0, 1) for v in (0, 1))

    expected = abs(2 / 3 * class_entropy(3 / 4) + 1 / 3 * class_entropy(1 / 2) - class_entropy(2 / 3))
    assert_allclose(benefit(counts, np.array([[p], [p]]))[0, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_the_decoupled_benefit_equals_the_whole_one(seed):
    generator = np.random.default_rng(seed)
    counts = generator.integers(0, 6, (3, 4, 3)).astype(np.float64)
    p_cx = generator.random((3, 4)) * (generator.random((3, 4)) < 0.8)
    p_cx[:, 1] *= seed % 2
    p_cx /= p_cx.sum()
    assert_allclose(decoupled_benefit(counts, p_cx), benefit(counts, p_cx), atol=1e-12, rtol=0)


def test_the_error_is_what_the_estimated_classifier_misses_of_the_true_joint():
    joint = np.array([[[0.4, 0.2]], [[0.1, 0.3]]])
    assert map_error(joint, joint) == pytest.approx(0.3)
    assert map_error(joint, np.full((2, 1, 2), 0.25)) == pytest.approx(0.4)
    assert map_error(joint, joint[::-1]) == pytest.approx(0.7)


def test_spearmans_correlation_takes_mean_ranks():
    assert spearman([1, 2, 3], [5, 4, 3]) == -1
    assert spearman([0.1, 0.1, 0.7], [1, 2, 3]) == 0.875


def test_mean_square_error_is_over_runs():
    assert mse(0.5, [0.4, 0.7]) == pytest.approx(0.025)


# Query-sensitive selection


def test_features_on_which_the_query_is_unusual_are_added():
    query, mean, sd = np.array([0.5, 6, -4, NAN, 9, 9]), np.ones(6), np.array([1.0, 5, 4, 1, 1, 1])
    assert query_sensitive_subset(query, (4,), mean, sd, (0, 1, 2, 3, 4)) == (4, 1, 2)


def test_the_nearest_row_is_by_squares_of_normalised_differences():
    X = np.array([[3, 0], [2, 20], [0, 40], [4, 40]], dtype=np.float64)
    assert nearest(X, np.zeros(2)) == 1
    assert nearest(X, np.zeros(2), [1]) == 0
    assert nearest(X, np.zeros(2), [1], without=0) == 1
    assert nearest(X, np.zeros(2), []) == 0
    assert nearest(X, np.array([0.0, 20.0]), [1, 0], nominal=(0,)) == 2


def test_missing_cells_are_as_far_as_possible_and_ties_go_to_the_first():
    X = column(NAN, 0, 8)
    assert nearest(X, np.array([4.0])) == 0
    assert nearest(X, np.array([3.0])) == 1
    assert nearest(X, np.array([NAN]), nominal=(0,)) == 0
    assert nearest(column(3, 1, NAN), np.array([2.0]), nominal=(0,)) == 2


LINE, HALVES, QUARTER = column(0, 1, 4, 8), classes(0, 0, 1, 1), np.array([0.25])


def test_thresholds_follow_the_difference_to_the_nearest_other_row():
    # Eighths: 0 and 1 are each other's, agreeing at 1; 4 has 1, not agreeing, at 3; 8 has 4, agreeing, at 4.
    factors = (1 - 1 / 8) * (1 - 1 / 8) * (1 - 1 / 8) * (1 + 2 / 8)
    assert_allclose(learn_thresholds(LINE, HALVES, QUARTER, eta=1.0), [factors / 4])
    assert_allclose(learn_thresholds(LINE, HALVES, QUARTER, eta=1.0, passes=2), [factors**2 / 4])


def test_the_deviation_is_that_of_the_normalised_values_unless_given():
    sd = np.std([0, 1 / 8, 4 / 8, 1], ddof=1)
    assert_allclose(learn_thresholds(LINE, HALVES, eta=0.0), [sd])
    assert_allclose(learn_thresholds(LINE, HALVES, eta=0.5), learn_thresholds(LINE, HALVES, np.array([sd]), 0.5))


def test_thresholds_do_not_fall_below_zero_and_stay_there():
    assert_array_equal(learn_thresholds(LINE, HALVES, QUARTER, eta=10.0), [0])


def test_every_numeric_feature_known_in_both_is_updated_whatever_the_distance():
    X = np.column_stack([LINE, [0, NAN, 1, 0.5], [0, 1, 0, 1]])
    found = learn_thresholds(X, HALVES, np.full(3, 0.25), eta=1.0, subset=[0], nominal=(2,))
    # The second is known in both of the last pair alone, which agrees at 1/2.
    assert_allclose(found, [learn_thresholds(LINE, HALVES, QUARTER, eta=1.0)[0], (1 + 1 / 4) / 4, NAN])


def test_without_a_subset_the_distance_is_of_all_features():
    X = np.column_stack([LINE, [0, 1, 1, 0]])
    # Squares of 1 for 0 and 8, which are nearest each other, and 9/64 for 1 and 4; neither pair agrees.
    factors = ((1 - (1 - 1 / 4) / 2) * (1 - (3 / 8 - 1 / 4) / 2)) ** 2
    found = learn_thresholds(X, HALVES, np.array([0.25, 0.25]), eta=0.5, nominal=(1,))
    assert_allclose(found, [factors / 4, NAN])
