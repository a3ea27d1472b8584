"""Training neighbours that request further channels while a stream is unusual."""

from types import SimpleNamespace

import numpy as np
import orjson
import pytest
from helpers.procedures import labelled_streams
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

import feature_extractors as fx
from streamfs import evaluate, tabulate, train
from streamfs.classifiers.lazy import LazyNeighbors
from streamfs.cli.app import main
from streamfs.errors import TrainingError
from streamfs.selection.query_sensitive import QuerySensitiveNeighbors
from streamfs.training import query_sensitive
from streamfs.training.query_sensitive import NeighborsLearner, least_unanimous, named_neighbors, require_reach

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
    k = least_unanimous(confidence, n_classes)
    assert k >= 1
    assert (k + 1) / (k + n_classes) >= confidence
    assert k == 1 or k / (k - 1 + n_classes) < confidence


def test_no_number_of_neighbours_reaches_certainty():
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
    assert model.thresholds == {"qsfs1": "deviation", "qsfs2": "fitted"}[name]


def test_instances_are_one_row_a_stream_and_position(table):
    lazy = NeighborsLearner(QuerySensitiveNeighbors(Fixed((1,)), n_neighbors=3), np.array([1, 5, 9]))(table)
    streams, ticks = table.rows([1, 5, 9])
    assert len(lazy.values) == len(streams) == np.sum(table.lengths[:, np.newaxis] >= [1, 5, 9])
    np.testing.assert_array_equal(lazy.values, table.values[streams, ticks - 1])
    assert lazy.classes.tolist() == (table.labels[streams] == "calm").tolist()
    assert lazy.subset.tolist() == [False, True, False, False]


def test_the_default_selector_finds_the_features_that_separate_the_classes(table):
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
    monkeypatch.setattr(query_sensitive, "MOST_INSTANCES", 50)
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


@pytest.fixture(scope="module")
def streams():
    return labelled_streams(60, 12)


@pytest.fixture(scope="module")
def procedure(streams):
    return train(streams, features=FEATURES, classifier="qsfs1", confidence=0.8, seed=1, select="streamrelief")


def test_training_takes_neighbours_by_name(procedure, streams):
    neighbours = procedure.classifier.uncalibrated()
    assert isinstance(neighbours, LazyNeighbors)
    assert (neighbours.n_neighbors, neighbours.laplace) == (3, True)
    assert procedure.classifier.features_tested() == tuple(range(len(procedure.features)))
    assert any("level" in channel for channel in procedure.channels)
    assert (
        train(streams, features=FEATURES, classifier="qsfs1", confidence=0.8, seed=1, select="streamrelief").digest
        == procedure.digest
    )


def test_neighbours_decide_and_stop_requesting_channels(streams):
    procedure = train(
        streams, features=FEATURES[::2] + FEATURES[3:], select=None, classifier="qsfs1", confidence=0.99
    )
    assert len(procedure.channels) == 3
    evaluation = evaluate(procedure, labelled_streams(60, 12, seed=1))
    assert evaluation.completeness > 0.8
    assert evaluation.accuracy > 0.9
    full = [procedure.cost(decision.tick) for decision in evaluation.decisions]
    assert all(decision.cost <= cost + 1e-9 for decision, cost in zip(evaluation.decisions, full, strict=True))
    assert evaluation.cost < 0.9 * np.mean(full)
    assert evaluation.offered_cost == pytest.approx(np.mean(full))


def test_training_takes_a_users_own_neighbours(streams):
    model = QuerySensitiveNeighbors(Fixed((3,)), n_neighbors=5, laplace=True, thresholds="fitted", eta=0.01)
    procedure = train(streams, features=FEATURES, select=None, classifier=model, confidence=0.8)
    neighbours = procedure.classifier.uncalibrated()
    assert [f.name for f, kept in zip(procedure.features, neighbours.subset, strict=True) if kept] == [
        "mean(b.level)"
    ]
    assert (len(neighbours.values), neighbours.n_neighbors) == (720, 5)
    assert not hasattr(model, "lazy_")


def test_training_refuses_neighbours_that_cannot_be_sure_enough_and_unknown_names(streams):
    with pytest.raises(TrainingError, match=r"n_neighbors is 1, .*expected at least 8 for.*of 0\.9"):
        train(streams, classifier=QuerySensitiveNeighbors(laplace=True), select="streamrelief")
    with pytest.raises(TrainingError, match="confidence is 1, expected less than 1"):
        train(streams, classifier="qsfs2", confidence=1.0, select="streamrelief")
    with pytest.raises(
        ValueError, match="expected one of extra-trees, c45, boosting, qsfs1, qsfs2, or a classifier"
    ):
        train(streams, classifier="knn", select="streamrelief")


def test_the_default_by_its_name_is_the_default(streams):
    named, default = (
        train(streams, features=FEATURES, classifier=model, confidence=0.8, select="streamrelief")
        for model in ("c45", None)
    )
    assert named.digest == default.digest


def test_the_command_line_trains_neighbours_and_evaluates_them(streams, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    streams.write("rooms.csv")
    words = [word for feature in FEATURES for word in ("--feature", feature.name)]
    main(["train", "rooms.csv", "-o", "m.streamfs", "--classifier", "qsfs2", "--select", "none", *words])
    assert "8 of 720 instances vote" in capsys.readouterr().out
    main(["evaluate", "m.streamfs", "rooms.csv", "--json"])
    assert orjson.loads(capsys.readouterr().out.splitlines()[0])["completeness"] > 0.8
    with pytest.raises(SystemExit) as stop:
        main(["train", "rooms.csv", "-o", "n", "--classifier", "c45", "--river", "naive_bayes.GaussianNB"])
    assert stop.value.code == 2
    assert "--classifier c45 and --river are 2 classifiers" in capsys.readouterr().err
