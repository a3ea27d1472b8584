"""Nearest neighbours against naive ones and scikit-learn's, and the rules of ties and missing values."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles.query_sensitive import nearest, squared_diff
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import check_estimator

from streamfs.classifiers import neighbours
from streamfs.classifiers.neighbours import NeighborsClassifier


def make_table(seed, n_rows, n_features, missing, *, coarse):
    """Values with ties, gaps, a nominal and a constant feature, and queries that leave the training range."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows + 8, n_features))
    if coarse:
        X = np.round(2.0 * X)
    X[:, 0] = rng.integers(4, size=len(X))
    X[:n_rows, -1] = X[0, -1] if n_features > 2 else X[:n_rows, -1]
    X[rng.random(X.shape) < missing] = np.nan
    y = rng.integers(3, size=n_rows)
    return X[:n_rows], y, X[n_rows:]


tables = st.builds(
    make_table,
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(3, 25),
    n_features=st.integers(1, 5),
    missing=st.sampled_from([0.0, 0.1, 0.5]),
    coarse=st.booleans(),
)


def naive_sums(X, query, nominal):
    """The squared distances of all rows."""
    sums = []
    for row in X:
        total = 0.0
        for j in range(X.shape[1]):
            total += squared_diff(X, query, row, j, nominal)
        sums.append(total)
    return sums


def naive_neighbours(X, query, k, nominal):
    """The nearest rows and their distances, by sorting all."""
    sums = naive_sums(X, query, nominal)
    rows = sorted(range(len(X)), key=lambda i: (sums[i], i))[:k]
    return rows, [math.sqrt(sums[i]) for i in rows]


class TestAgainstNaive:
    @settings(deadline=None)
    @given(table=tables, is_nominal=st.booleans(), k=st.integers(1, 3))
    def test_the_nearest_rows_and_distances(self, table, is_nominal, k):
        X, y, queries = table
        nominal = [0] if is_nominal else []
        distances, rows = NeighborsClassifier(k, nominal=nominal).fit(X, y).kneighbors(queries)
        for i, query in enumerate(queries):
            expected, expected_distances = naive_neighbours(X, query, k, nominal)
            assert rows[i].tolist() == expected
            assert distances[i].tolist() == expected_distances
            assert rows[i, 0] == nearest(X, query, nominal=nominal)

    @settings(deadline=None)
    @given(table=tables, k=st.integers(1, 3))
    def test_probabilities_are_shares_of_the_votes(self, table, k):
        X, y, queries = table
        classifier = NeighborsClassifier(k).fit(X, y)
        for query, shares in zip(queries, classifier.predict_proba(queries), strict=True):
            votes = [y[i] for i in naive_neighbours(X, query, k, [])[0]]
            assert shares.tolist() == [votes.count(c) / k for c in classifier.classes_]
            assert classifier.predict([query])[0] == max(sorted(set(votes)), key=votes.count)

    @settings(deadline=None, max_examples=30)
    @example(table=make_table(3028, 7, 2, 0.5, coarse=True), k=1)
    @given(table=tables, k=st.integers(1, 3))
    def test_all_that_are_as_near_as_the_last_vote_if_asked(self, table, k):
        X, y, queries = table
        classifier = NeighborsClassifier(k, ties="all").fit(X, y)
        for query, shares in zip(queries, classifier.predict_proba(queries), strict=True):
            sums = naive_sums(X, query, [])  # of which roots may be equal where they are not
            votes = [label for label, each in zip(y, sums, strict=True) if each <= sorted(sums)[k - 1]]
            assert shares.tolist() == [votes.count(c) / len(votes) for c in classifier.classes_]


@pytest.mark.parametrize(("power", "metric"), [(1, "manhattan"), (2, "euclidean")])
@pytest.mark.parametrize("k", [1, 4])
def test_unscaled_it_is_scikit_learns(power, metric, k):
    rng = np.random.default_rng(0)
    X, y, queries = rng.normal(size=(80, 5)), rng.integers(3, size=80), rng.normal(size=(40, 5))
    ours = NeighborsClassifier(k, power=power, scale=False).fit(X, y)
    peer = KNeighborsClassifier(k, metric=metric, algorithm="brute").fit(X, y)
    distances, rows = peer.kneighbors(queries)
    assert_allclose(ours.kneighbors(queries)[0], distances)
    assert_array_equal(ours.kneighbors(queries)[1], rows)
    assert_array_equal(ours.predict_proba(queries), peer.predict_proba(queries))
    assert_array_equal(ours.predict(queries), peer.predict(queries))


class TestMissing:
    def test_unscaled_numbers_differ_by_the_most_that_they_can(self):
        X = [[0.0], [10.0], [np.nan]]
        distances, rows = NeighborsClassifier(3, scale=False).fit(X, [0, 1, 1]).kneighbors([[np.nan], [4.0]])
        assert rows.tolist() == [[0, 1, 2], [0, 1, 2]]
        assert distances.tolist() == [[10.0, 10.0, 10.0], [4.0, 6.0, 6.0]]

    def test_categories_differ_by_those_that_training_has(self):
        X = [[7.0], [3.0], [5.0], [np.nan]]
        classifier = NeighborsClassifier(4, nominal=[0]).fit(X, [0, 0, 1, 1])
        distances, rows = classifier.kneighbors([[5.0], [np.nan], [99.0]])
        assert rows.tolist() == [[2, 3, 0, 1], [0, 1, 2, 3], [3, 0, 1, 2]]
        assert_allclose(distances, [[0.0, 2 / 3, 1.0, 1.0], [2 / 3] * 4, [2 / 3, 1.0, 1.0, 1.0]])

    def test_unknown_and_constant_features_have_no_effect(self):
        X = [[np.nan, 2.0, 0.0], [np.nan, 2.0, 1.0]]
        distances, _ = NeighborsClassifier(2).fit(X, [0, 1]).kneighbors([[np.nan, 5.0, 0.25], [3.0, 2.0, 0.25]])
        assert_allclose(distances**2, 1.0 + np.array([[0.0625, 0.5625]] * 2))


class TestTies:
    def test_the_lowest_index_is_taken(self):
        rows = NeighborsClassifier(2).fit([[1.0], [0.0], [1.0], [0.0]], [0, 0, 1, 1]).kneighbors([[0.5]])[1]
        assert rows.tolist() == [[0, 1]]

    def test_the_first_class_wins(self):
        classifier = NeighborsClassifier(2).fit([[0.0], [1.0]], ["b", "a"])
        assert classifier.predict([[0.1]]).tolist() == ["a"]


def test_the_number_of_threads_changes_nothing(monkeypatch):
    X, y, _ = make_table(3, 60, 4, 0.1, coarse=True)
    queries = make_table(4, 37, 4, 0.1, coarse=True)[0]
    classifier = NeighborsClassifier(3, nominal=[0]).fit(X, y)
    expected = classifier.kneighbors(queries)
    monkeypatch.setattr(neighbours, "MUCH_WORK", 0)
    for n_threads in (2, 5, 100):
        monkeypatch.setattr(neighbours, "n_processors", lambda n=n_threads: n)
        for one, many in zip(expected, classifier.kneighbors(queries), strict=True):
            assert_array_equal(one, many)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors is 0, expected a whole number, at least 1"),
        ({"n_neighbors": 4}, "n_neighbors is 4"),
        ({"n_neighbors": 1.5}, "n_neighbors is 1.5"),
        ({"power": 3}, "power is 3, expected a whole number, 1 to 2"),
        ({"nominal": [2]}, "nominal holds 2, expected features from 0 to 1"),
        ({"nominal": [-1]}, "nominal holds -1"),
    ],
)
def test_a_parameter_out_of_range_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        NeighborsClassifier(**({"n_neighbors": 1} | parameters)).fit([[0.0, 1.0], [1.0, 1.0]], [0, 1])


def test_a_span_that_no_number_holds_is_refused():
    with pytest.raises(ValueError, match="feature 1 spans more than a number can hold"):
        NeighborsClassifier(1).fit([[0.0, -1e308], [1.0, 1e308]], [0, 1])


def test_scikit_learn_conventions():
    for result in check_estimator(NeighborsClassifier(), on_skip=None):
        assert result["status"] in {"passed", "skipped"}, result["check_name"]
