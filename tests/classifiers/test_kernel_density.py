"""The kernel density classifier against a naive one, textbook densities, and its laws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles.kernel_density import kernel_density_probabilities
from sklearn.utils.estimator_checks import check_estimator

from streamfs.classifiers._kernel_density import TILE
from streamfs.classifiers.kernel_density import KernelDensityClassifier

KERNELS = ["standard", "adaptive"]
NOMINAL = [2]


@st.composite
def problems(draw, with_missing=True):
    """Training rows of two numeric features and a nominal one, their classes, and queries."""
    seed, n_rows, n_classes = draw(st.integers(0, 10**6)), draw(st.integers(2, 25)), draw(st.integers(1, 4))
    random = np.random.default_rng(seed)
    y = np.append(np.arange(min(n_classes, n_rows)), random.integers(0, n_classes, max(0, n_rows - n_classes)))
    values = random.normal(size=(n_rows + 6, 3)).round(draw(st.integers(0, 3))) * [1.0, 100.0, 1.0]
    values[:, :2] += 0.5 * random.integers(0, 3, size=(len(values), 1))
    values[:, 2] = random.integers(0, draw(st.integers(1, 4)), len(values))
    if with_missing:
        values[random.random(values.shape) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    return values[:n_rows], y, values[n_rows:]


def in_ranges(X, queries):
    """Numeric values as shares of the training rows' ranges, so that a range is 1."""
    low, high = np.fmin.reduce(X), np.fmax.reduce(X)
    spans = np.where(low < high, high - low, 1.0)
    low[NOMINAL], spans[NOMINAL] = 0.0, 1.0
    return (X - low) / spans, (queries - low) / spans


def probabilities(X, y, queries, **chosen):
    return KernelDensityClassifier(**chosen).fit(X, y).predict_proba(queries)


@pytest.mark.parametrize("kernel", KERNELS)
@settings(deadline=None)
@given(problems())
def test_probabilities_are_those_of_the_slow_estimate(kernel, problem):
    X, y, queries = problem
    rows, asked = in_ranges(X, queries)
    naive = [kernel_density_probabilities(rows, y, query, kernel, NOMINAL) for query in asked]
    assert_allclose(probabilities(X, y, queries, kernel=kernel, nominal=NOMINAL), naive, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
@settings(deadline=None)
@given(problems(with_missing=False))
def test_where_all_is_known_ranges_do_not_matter(kernel, problem):
    X, y, queries = problem
    naive = [kernel_density_probabilities(X, y, query, kernel, NOMINAL) for query in queries]
    assert_allclose(probabilities(X, y, queries, kernel=kernel, nominal=NOMINAL), naive, rtol=0, atol=1e-10)


def test_classes_of_many_rows_are_those_of_the_slow_estimate():
    y = np.repeat([0, 1], [TILE + 3, 40])
    X = np.random.default_rng(0).normal(size=(len(y), 1)) + y[:, None]
    queries = np.array([[-9.0], [0.5], [30.0]])
    naive = [kernel_density_probabilities(X, y, query) for query in queries]
    assert_allclose(probabilities(X, y, queries), naive, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
@settings(deadline=None)
@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_nothing_but_rounding(kernel, problem, random):
    X, y, queries = problem
    order = random.sample(range(len(y)), len(y))
    as_given = probabilities(X, y, queries, kernel=kernel, nominal=NOMINAL)
    assert_allclose(
        probabilities(X[order], y[order], queries, kernel=kernel, nominal=NOMINAL), as_given, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("kernel", KERNELS)
@settings(deadline=None)
@given(problems(), st.floats(1e-3, 1e3), st.floats(-100, 100))
def test_the_unit_and_the_zero_of_a_feature_change_nothing(kernel, problem, unit, zero):
    X, y, queries = problem
    X[0, 0], X[-1, 0] = 0.0, 1.0  # else it is constant, and its own unit counts
    as_given = probabilities(X, y, queries, kernel=kernel, nominal=NOMINAL)
    for values in (X, queries):
        values[:, 0] = unit * values[:, 0] + zero
    assert_allclose(probabilities(X, y, queries, kernel=kernel, nominal=NOMINAL), as_given, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@settings(deadline=None)
@given(problems())
def test_the_codes_of_categories_are_only_names(kernel, problem):
    X, y, queries = problem
    as_given = probabilities(X, y, queries, kernel=kernel, nominal=NOMINAL)
    for values in (X, queries):
        values[:, 2] = 7.5 - 3.0 * values[:, 2]
    assert_array_equal(probabilities(X, y, queries, kernel=kernel, nominal=NOMINAL), as_given)


ANY = st.floats(-8e307, 8e307) | st.sampled_from([math.nan, 0.0, 1.0, -1e-300, 5e-324, 1e300])


@pytest.mark.parametrize("kernel", KERNELS)
@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(ANY, ANY, st.integers(0, 2)), min_size=1, max_size=9), st.tuples(ANY, ANY))
def test_probabilities_sum_to_one_whatever_the_numbers_are(kernel, rows, query):
    X, y = np.array(rows)[:, :2], np.array(rows)[:, 2]
    answered = probabilities(X, y, [query], kernel=kernel)
    assert np.isfinite(answered).all()
    assert_allclose(answered.sum(), 1.0, rtol=1e-12)


def normal(x, width):
    return math.exp(-0.5 * (x / width) ** 2) / width


def test_a_class_is_the_mean_of_normal_curves_around_its_rows():
    widths = np.sqrt([2.0, 8.0]) * (4.0 / (3 * 2)) ** 0.2
    density = [
        np.mean([normal(3.0 - x, w) for x in rows]) for rows, w in zip([[0, 2], [4, 8]], widths, strict=True)
    ]
    classifier = KernelDensityClassifier().fit([[0.0], [2.0], [4.0], [8.0]], [0, 0, 1, 1])
    assert_allclose(classifier.bandwidths_[:, 0], widths, rtol=1e-14)
    assert_allclose(classifier.predict_proba([[3.0]])[0], np.array(density) / np.sum(density), rtol=1e-13)


def test_a_nominal_feature_alone_is_estimated_by_laplaces_rule():
    X, y = [[0.0], [0.0], [1.0], [2.0], [2.0], [np.nan]], [0, 0, 0, 1, 1, 1]
    classifier = KernelDensityClassifier(nominal=[0]).fit(X[:5], y[:5])
    in_class = np.array([[3 / 6, 1 / 5], [2 / 6, 1 / 5], [1 / 6, 3 / 5], [1 / 6, 1 / 5]]) * [3, 2]
    expected = in_class / in_class.sum(axis=1, keepdims=True)
    assert_allclose(classifier.predict_proba([[0.0], [1.0], [2.0], [9.0]]), expected, rtol=1e-13)
    assert np.isnan(classifier.bandwidths_).all()


def test_a_bandwidth_is_in_deviations_of_the_class():
    X, y = np.array([[0.0, 5.0], [2.0, 5.0], [4.0, 5.0], [8.0, 7.0]]), [0, 0, 1, 1]
    everywhere = X[:, 1].std(ddof=1)
    for kernel in KERNELS:
        widths = KernelDensityClassifier(kernel, bandwidth=0.5).fit(X, y).bandwidths_
        assert_allclose(widths, 0.5 * np.array([[2**0.5, everywhere], [8**0.5, 2**0.5]]), rtol=1e-14)
    reference = (4 / (4 * 2)) ** (1 / 6)
    assert_array_equal(probabilities(X, y, X, bandwidth=reference), probabilities(X, y, X))


def test_the_adaptive_kernel_is_wider_where_rows_are_sparse():
    X, y = [[0.0], [0.1], [0.2], [0.3], [3.0], [9.0]], [0, 0, 0, 0, 0, 1]
    log_factors = KernelDensityClassifier("adaptive").fit(X, y).densities_.rows[0].log_factors
    assert log_factors[4] > 0.0 > log_factors[:4].max()
    assert log_factors.sum() == pytest.approx(0.0, abs=1e-14)
    assert_array_equal(KernelDensityClassifier().fit(X, y).densities_.rows[0].log_factors, 0.0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_who_knows_nothing_of_a_query_answers_by_the_shares_of_the_classes(kernel):
    X = [[0.0, np.nan], [1.0, np.nan], [2.0, np.nan], [9.0, np.nan]]
    classifier = KernelDensityClassifier(kernel).fit(X, ["a", "a", "a", "b"])
    assert_array_equal(classifier.class_prior_, [0.75, 0.25])
    assert_allclose(classifier.predict_proba([[np.nan, np.nan], [np.nan, 5.0]]), [[0.75, 0.25]] * 2, rtol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_row_a_class_is_enough(kernel):
    classifier = KernelDensityClassifier(kernel).fit([[1.0, 4.0], [3.0, 4.0]], ["low", "high"])
    assert classifier.predict([[1.5, 4.0], [2.5, 4.0], [1e9, 4.0]]).tolist() == ["low", "high", "high"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_constant_feature_does_not_separate_classes_of_equal_size(kernel):
    X, y = np.array([[0.0, 0.1], [1.0, 0.1], [1.5, 0.1], [3.0, 0.1]]), [0, 0, 1, 1]
    constant = probabilities(X, y, [[1.2, 0.1], [1.2, 7.0]], kernel=kernel)
    assert_allclose(constant[0], constant[1], rtol=1e-13)


def test_a_class_of_one_value_has_the_deviation_of_all_rows():
    X, y = [[0.1], [0.1], [0.1], [0.0], [1.0]], [0, 0, 0, 1, 1]  # three times 0.1 is not 0.3
    widths = KernelDensityClassifier(bandwidth=1.0).fit(X, y).bandwidths_
    assert_allclose(widths[0], np.std(X, ddof=1), rtol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("missing", [0.0, np.nan])
def test_classes_that_hardly_vary_leave_a_probability_between_them(kernel, missing):
    wide, narrow = (
        np.repeat([[0.0], [1.0], [missing]], 40, axis=1),
        np.repeat([[0.0], [1e-160], [missing]], 40, axis=1),
    )
    X = np.vstack([np.hstack([wide, narrow]), np.hstack([narrow, wide])])
    assert_allclose(probabilities(X, [0, 0, 0, 1, 1, 1], [np.full(80, 0.5)], kernel=kernel), [[0.5, 0.5]])


def test_equally_probable_classes_give_the_first():
    assert KernelDensityClassifier().fit([[0.0], [2.0]], ["b", "a"]).predict([[1.0]]) == ["a"]


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"kernel": "normal"}, "kernel is 'normal', expected 'standard' or 'adaptive'"),
        ({"bandwidth": 0.0}, "bandwidth is 0.0, expected a number, more than 0"),
        ({"bandwidth": np.inf}, "bandwidth is inf"),
        ({"bandwidth": "wide"}, "bandwidth is 'wide'"),
        ({"nominal": [2]}, r"nominal holds 2, expected features from 0 to 1"),
        ({"nominal": [-1]}, "nominal holds -1"),
    ],
)
def test_a_wrong_parameter_is_named(chosen, message):
    with pytest.raises(ValueError, match=message):
        KernelDensityClassifier(**chosen).fit([[1.0, 2.0], [3.0, 4.0]], [0, 1])


def test_values_too_far_apart_for_a_number_are_refused():
    with pytest.raises(ValueError, match="feature 1 spans more than a number can hold"):
        KernelDensityClassifier().fit([[0.0, -1e308], [1.0, 1e308]], [0, 1])


@pytest.mark.parametrize("kernel", KERNELS)
def test_scikit_learn_conventions(kernel):
    for result in check_estimator(KernelDensityClassifier(kernel), on_skip=None):
        assert result["status"] in {"passed", "skipped"}, result["check_name"]
