"""Selectors by name in training and in the experiment."""

from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.procedures import labelled_streams
from helpers.tables import plain_table

import feature_extractors as fx
import feature_extractors.base
from streamfs import Costs, Engine, Procedure, Relief, evaluate, train
from streamfs.cli import parameters as arguments
from streamfs.cli.app import cli
from streamfs.errors import TrainingError
from streamfs.experiments import sources
from streamfs.experiments.experiment import Experiment
from streamfs.experiments.outcome import OTHERS
from streamfs.relief import position_grid
from streamfs.selection import Finco, SequentialSelector
from streamfs.selection.by_name import SELECTORS, OnRows
from streamfs.training.query_sensitive import NeighborsLearner, named_neighbors


def determined_by_the_second(n_streams=24, n_ticks=6):
    """A table of three features, the second of which determines the class."""
    rng = np.random.default_rng(0)
    labels = np.arange(n_streams) % 2
    values = rng.normal(size=(n_streams, n_ticks, 3))
    values[:, :, 1] += 6 * labels[:, np.newaxis]
    return plain_table(values, labels)


@pytest.mark.parametrize("name", arguments.SELECTIONS)
def test_every_selection_finds_the_feature_that_separates_the_classes(name):
    table = determined_by_the_second()
    selector = SELECTORS[name](
        Costs(np.ones(3)), confidence=0.9, horizon=6, positions=np.array([1, 3, 6]), random_state=0
    )
    selector.fit(table)
    assert selector.ranking_[0] == 1
    assert len(set(selector.ranking_.tolist())) == len(selector.ranking_)


@pytest.mark.parametrize("name", ["finco", "forward", "active"])
def test_a_selection_trains_a_procedure(name):
    streams = labelled_streams(24, 8)
    procedure = train(streams, select=name, features=["mean(a.level)", "max(a.noise)", "mean(b.level)"])
    assert procedure.features
    assert {feature.name for feature in procedure.features} <= set(procedure.about["offered"])


def test_a_selection_is_a_method_of_the_experiment():
    streams = labelled_streams(24, 8)
    features = train(streams, select=None).features
    experiment = Experiment(streams, labelled_streams(12, 8), features)
    for name in ("lvf", "floating"):
        assert name in OTHERS
        (outcome,) = experiment.run(name, [0.8])
        assert outcome.method == name
        assert 1 <= outcome.n_tested <= outcome.n_offered


def test_the_experiment_lists_its_methods():
    streams = labelled_streams(24, 8)
    experiment = Experiment(streams, streams, train(streams, select=None).features)
    with pytest.raises(ValueError, match=r"method is 'ouija', expected one of naive, .*, lvf, .*, active"):
        list(experiment.run("ouija", [0.9]))


@pytest.mark.slow
def test_the_command_line_compares_a_further_selection(monkeypatch):
    monkeypatch.setattr(sources, "Motes", partial(sources.Motes, n_training=60, n_testing=30, n_ticks=20))
    result = CliRunner().invoke(
        cli,
        ["figure2", "--seeds", "1", "--n-jobs", "1", "--thresholds", "0.8", "--also", "finco", "--json"],
    )
    assert result.exit_code == 0, result.output
    assert '"finco"' in result.stdout


def test_rows_of_one_stream_are_a_group_and_at_most_most_rows_are_drawn():
    class Recorder:
        def fit(self, X, y, groups):
            self.seen = X, y, groups
            self.ranking_ = np.array([0])

    table, recorder = determined_by_the_second(), Recorder()
    OnRows(recorder, [1, 3, 4], most_rows=50, random_state=3).fit(table)
    X, y, groups = recorder.seen
    assert X.shape == (50, 3)
    assert (table.labels[groups] == y).all()
    assert len(np.unique(groups)) < 50
    first = X
    OnRows(recorder, [1, 3, 4], most_rows=50, random_state=3).fit(table)
    np.testing.assert_array_equal(recorder.seen[0], first)
    OnRows(recorder, [1, 3, 4], most_rows=50, random_state=4).fit(table)
    assert not np.array_equal(recorder.seen[0], first)


def test_a_rare_class_is_among_the_drawn_rows():
    labels = np.repeat(["common", "rare"], [400, 6])
    table = plain_table(np.arange(406 * 12.0).reshape(406, 12, 1), labels)
    for seed in range(5):
        streams, ticks = table.sample_rows(np.arange(1, 13), 100, seed)
        assert (labels[streams] == "rare").sum() == 20
        assert (labels[streams] == "common").sum() == round(100 * 400 / 406)
        assert len(set(zip(streams.tolist(), ticks.tolist(), strict=True))) == len(streams)


def test_neighbours_that_cannot_reach_the_confidence_label_nothing():
    streams = labelled_streams(8, 4)
    features = [fx.get("mean(a.level)"), fx.get("mean(b.level)")]
    for outcome in Experiment(streams, streams, features).run("qsfs1", [0.99, 1.0]):
        assert (outcome.completeness, outcome.cost, outcome.n_tested) == (0.0, 0.0, 0)


def test_an_empty_selection_is_an_error_with_advice():
    table = determined_by_the_second()
    with pytest.raises(TrainingError, match="Relief selects none of 3 features on 24 rows: take another"):
        OnRows(Relief(threshold=1.0), [1]).fit(table)


def test_folds_of_a_wrapper_keep_streams_together():
    """With five copies of every stream's row, a fold that split a stream would find its copies: accuracy 1."""
    rng = np.random.default_rng(1)
    values = np.repeat(rng.normal(size=(20, 1, 2)), 5, axis=1)
    table = plain_table(values, np.arange(20) % 2)
    selector = SequentialSelector()
    OnRows(selector, [1, 2, 3, 4, 5]).fit(table)
    assert selector.score_ < 0.9


def test_an_infinite_value_counts_as_missing():
    table = determined_by_the_second()
    table.values[0, 0, 0] = np.inf
    assert OnRows(Finco(), [1, 2]).fit(table).ranking_[0] == 1


def test_lazy_neighbours_are_a_method_with_the_cost_of_their_decisions():
    training, testing = labelled_streams(24, 8), labelled_streams(16, 8, seed=1)
    names = ["mean(a.level)", "max(a.noise)", "mean(b.level)", "last(b.noise)"]
    features = [fx.get(name) for name in names]
    experiment = Experiment(training, testing, features)
    (outcome,) = experiment.run("qsfs1", [0.8])
    lazy = NeighborsLearner(named_neighbors("qsfs1", 0.8, 2), position_grid(8))(experiment.training)
    procedure = Procedure(tuple(features), lazy, training.classes, experiment.costs, 0.8, 8)
    measured = evaluate(procedure, testing)
    assert (outcome.completeness, outcome.ticks) == (measured.completeness, measured.ticks)
    tested = list(lazy.features_tested())
    assert outcome.n_tested == len(tested)
    sent = []
    for decision, readings in zip(measured.decisions, testing.values, strict=True):
        engine = Engine(procedure)
        (row,) = [engine.row("s")]
        asked = np.ones(4, dtype=bool)
        messages = 0
        for tick in range(decision.tick):
            messages += sum(
                asked[procedure.channels.index(c)] for c in fx.base.channels_of([features[i] for i in tested])
            )
            engine.push("s", float(tick), readings[tick, [testing.columns.index(c) for c in procedure.channels]])
            asked = engine.asked(np.array([row]))[0]
        sent.append(messages)
    assert outcome.sent == pytest.approx(np.mean(sent))
