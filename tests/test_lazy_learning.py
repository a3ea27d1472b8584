"""From recorded streams to neighbours that ask for more where a stream is unusual."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from procedures import labelled_streams
from sklearn.base import BaseEstimator

import feature_extractors as fx
from streamfs import lazy_learning, tabulate
from streamfs.errors import TrainingError
from streamfs.lazy_learning import NeighborsLearner, least_neighbors, named_neighbors, require_reach
from streamfs.selection.query_sensitive import QuerySensitiveNeighbors

FEATURES = [fx.get(f"mean({column})") for column in ("a.noise", "a.level", "b.noise", "b.level")]


class Fixed(BaseEstimator):
    """Selects given features."""

    def __init__(self, features=()):
        self.features = features

    def fit(self, X, y, groups=None):
        self.fitted_ = SimpleNamespace(X=X, y=y, groups=groups)
        return self

    def get_support(self):
        return np.isin(np.arange(self.fitted_.X.shape[1]), self.features)


@pytest.fixture(scope="module")
def table():
    return tabulate(labelled_streams(40, 12, gaps=0.1), FEATURES)


@given(st.floats(0.01, 0.995), st.integers(2, 9))
def test_no_fewer_neighbours_reach_a_confidence(confidence, n_classes):
    k = least_neighbors(confidence, n_classes)
    assert k >= 1
    assert (k + 1) / (k + n_classes) >= confidence
    assert k == 1 or k / (k - 1 + n_classes) < confidence


def test_certainty_is_more_than_any_neighbours_have():
    with pytest.raises(TrainingError, match="confidence is 1, expected less than 1"):
        named_neighbors("qsfs1", 1.0, 2)


def test_neighbours_that_cannot_be_so_sure_are_refused_with_how_many_could():
    with pytest.raises(TrainingError, match=r"n_neighbors is 3.*reach 0\.667, expected at least 17 for.*of 0\.9"):
        require_reach(QuerySensitiveNeighbors(n_neighbors=3, laplace=True), 0.9, 3)
    require_reach(QuerySensitiveNeighbors(n_neighbors=17, laplace=True), 0.9, 3)
    require_reach(QuerySensitiveNeighbors(n_neighbors=1), 1.0, 3)


@pytest.mark.parametrize("name", ["qsfs1", "qsfs2"])
def test_names_are_the_papers_two_ways(name):
    model = named_neighbors(name, 0.9, 2)
    assert (model.n_neighbors, model.laplace) == (8, True)
    assert model.thresholds == {"qsfs1": "deviation", "qsfs2": "learnt"}[name]


def test_instances_are_one_row_a_stream_and_position(table):
    lazy = NeighborsLearner(QuerySensitiveNeighbors(Fixed((1,)), n_neighbors=3), np.array([1, 5, 9]))(table)
    streams, ticks = table.rows([1, 5, 9])
    assert len(lazy.values) == len(streams) == np.sum(table.lengths[:, np.newaxis] >= [1, 5, 9])
    np.testing.assert_array_equal(lazy.values, table.values[streams, ticks - 1])
    assert lazy.classes.tolist() == (table.labels[streams] == "calm").tolist()
    assert lazy.subset.tolist() == [False, True, False, False]


def test_the_default_selector_finds_what_tells_the_classes_apart(table):
    lazy = NeighborsLearner(named_neighbors("qsfs1", 0.9, 2), np.arange(1, 12, 2))(table)
    assert lazy.subset[[1, 3]].any()
    assert lazy.features_tested() == (0, 1, 2, 3)


def test_rows_of_one_stream_are_one_group(table):
    seen = []

    class Watching(Fixed):
        def fit(self, X, y, groups=None):
            seen.append(groups)
            return super().fit(X, y, groups)

    NeighborsLearner(QuerySensitiveNeighbors(Watching((0,))), np.array([1, 4]))(table)
    assert seen[0].tolist() == table.rows([1, 4])[0].tolist()


def test_of_too_many_rows_some_are_drawn_the_same_for_a_seed(table, monkeypatch):
    monkeypatch.setattr(lazy_learning, "MOST_INSTANCES", 50)
    one, same, other = (
        NeighborsLearner(QuerySensitiveNeighbors(Fixed((0,))), np.arange(1, 9), seed)(table) for seed in (0, 0, 1)
    )
    assert one.values.shape == (50, 4)
    np.testing.assert_array_equal(one.values, same.values)
    assert not np.array_equal(one.values, other.values)
    rows = {
        row.tobytes() for row in table.values[table.rows(np.arange(1, 9))[0], table.rows(np.arange(1, 9))[1] - 1]
    }
    assert {row.tobytes() for row in one.values} <= rows


def test_fewer_instances_than_neighbours_are_refused(table):
    with pytest.raises(
        TrainingError, match=r"there are 40 instances, expected at least the 98 neighbours that vote"
    ):
        NeighborsLearner(named_neighbors("qsfs1", 0.99, 2), np.array([1]))(table)


def test_a_selector_that_selects_nothing_is_refused(table):
    with pytest.raises(
        TrainingError, match=r"selects none of mean\(a\.noise\), mean\(a\.level\).*make it less strict"
    ):
        NeighborsLearner(QuerySensitiveNeighbors(Fixed()), np.array([1, 2]))(table)
