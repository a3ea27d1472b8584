"""Train procedures on recorded streams, and evaluate them."""

import re
from datetime import timedelta
from functools import partial

import numpy as np
import pytest
from helpers.own_classifier import NearestMean, learn_nearest_mean
from helpers.procedures import labelled_streams, mean_procedure
from river.linear_model import LogisticRegression
from river.naive_bayes import GaussianNB
from river.preprocessing import StandardScaler
from river.tree import HoeffdingTreeClassifier

import feature_extractors as fx
from sensors_sim.same_source import SameSource
from streamfs import (
    Costs,
    Engine,
    Pricing,
    Promise,
    StreamRelief,
    StreamSet,
    evaluate,
    tabulate,
    train,
    train_promised,
)
from streamfs.classifiers.tree import Tree
from streamfs.data.default_features import default_channels
from streamfs.errors import DataError, TrainingError
from streamfs.evaluation.evaluation import replay, sweep, write_csv
from streamfs.evaluation.trajectories import Trajectories
from streamfs.training.cross_validation import stratified_folds
from streamfs.training.subset_size import cheapest_good, sizes_to_try


@pytest.fixture(scope="module")
def streams():
    return labelled_streams(n_streams=80)


@pytest.fixture(scope="module")
def procedure(streams):
    return train(streams, confidence=0.85, seed=1, select="streamrelief")


def test_training_finds_the_informative_columns(procedure):
    assert all("level" in channel for channel in procedure.channels)
    assert procedure.classes == ("busy", "calm")
    assert isinstance(procedure.classifier, Tree)
    assert procedure.classifier.features_tested() == tuple(range(len(procedure.features)))
    assert procedure.about["seed"] == 1
    assert {f.name for f in procedure.features} <= set(procedure.about["offered"])


def test_leaves_count_streams(procedure, streams):
    assert procedure.classifier.counts[0].sum() == pytest.approx(len(streams))


def test_training_is_reproducible(procedure, streams):
    assert train(streams, confidence=0.85, seed=1, select="streamrelief").digest == procedure.digest


def test_evaluation_measures_what_the_paper_defines():
    values = np.array([0.2, 0.9, 0.9, 0.9])[:, np.newaxis, np.newaxis] * np.ones((4, 5, 1))
    streams = StreamSet(values, ["off", "on", "off", "on"], ["x"])
    evaluation = evaluate(mean_procedure(time_limit=5), streams)
    assert [decision.label for decision in evaluation.decisions] == [None, "on", "on", "on"]
    assert evaluation.completeness == 3 / 4
    assert evaluation.accuracy == 2 / 3
    assert evaluation.ticks == (5 + 1 + 1 + 1) / 4
    assert evaluation.cost == (5 * 2.0 + 3 * 2.0) / 4 + 1.5
    nothing = evaluate(mean_procedure(confidence=0.99), streams)
    assert nothing.completeness == 0
    assert np.isnan(nothing.accuracy)


def test_a_trained_procedure_generalises(procedure):
    evaluation = evaluate(procedure, labelled_streams(n_streams=40, seed=9))
    assert evaluation.completeness > 0.9
    assert evaluation.accuracy > 0.85
    assert evaluation.offered_cost >= evaluation.cost


def test_the_table_decides_as_the_engine_does(streams):
    """The fast choice of the number of features agrees with the engine."""
    features = [
        fx.get(name) for name in ("mean(a.level)", "mean_absolute_difference(a.level, b.level)", "count()")
    ]
    trained = train(streams, features=features, select=None, confidence=0.8)
    lengths = np.random.default_rng(4).integers(1, 8, len(streams))
    ragged = StreamSet(streams.values, streams.labels, streams.columns, 1.0, streams.names, lengths)
    table = tabulate(ragged, trained.features)
    classes, ticks = Trajectories.of(trained.classifier, table, trained.time_limit).decide(trained.confidence)
    for decision, found, tick in zip(evaluate(trained, ragged).decisions, classes, ticks, strict=True):
        assert decision.label == (None if found < 0 else trained.classes[found])
        assert decision.tick == tick


def test_a_river_classifier_serves(streams):
    trained = train(
        streams,
        n_features=2,
        confidence=0.8,
        classifier=HoeffdingTreeClassifier(grace_period=20),
        select="streamrelief",
    )
    evaluation = evaluate(trained, labelled_streams(n_streams=40, seed=3))
    assert evaluation.completeness > 0.5
    assert evaluation.accuracy > 0.8


@pytest.mark.parametrize("select", [StreamRelief, "streamrelief", "literal", "relief", None])
def test_every_way_to_select_trains(streams, select):
    features = [fx.get(f"mean({column})") for column in streams.columns]
    n_features = None if select is None else 4
    trained = train(streams, features=features, select=select, n_features=n_features, confidence=0.8)
    assert {feature.name for feature in trained.features} <= {feature.name for feature in features}


class Hiding:
    """Ranks noise first, and only it as relevant."""

    ranking_ = np.array([2, 0])
    relevant_ = np.array([False, False, True])

    def __init__(self, _costs, **_parameters):
        pass

    def fit(self, _table):
        return self


def test_a_floor_hides_no_feature_that_is_needed(streams):
    trained = train(streams, features=[f"mean({c})" for c in streams.columns[:3]], select=Hiding, confidence=0.8)
    assert "mean(a.level)" in [feature.name for feature in trained.features]


@pytest.mark.parametrize("limit", [7, timedelta(seconds=7.5)])
def test_a_time_limit_is_in_ticks_or_in_time(streams, limit):
    features = [fx.get("mean(a.level)")]
    assert train(streams, features=features, n_features=1, time_limit=limit, select="streamrelief").time_limit == 7
    for wrong in (0, timedelta(seconds=0.5)):
        with pytest.raises(ValueError, match="time limit is 0"):
            train(streams, features=features, n_features=1, time_limit=wrong, select="streamrelief")


def test_costs_are_the_transmissions_of_the_channels(streams):
    names = ("mean(a.level)", "correlation(a.level, b.level)", "correlation(a.level, a.level)", "count()")
    costs = Costs.estimate(streams, [fx.get(name) for name in names], _transmissions())
    assert costs.each.tolist() == [1.0, 2.0, 1.0, 0.0]
    changes = Costs.estimate(streams, [fx.get("last(a.level@flag:1.5)")], _transmissions()).each[0]
    flags = streams.column("a.level") > 1.5
    assert changes == ((flags[:, 1:] != flags[:, :-1]).sum() + len(streams)) / flags.size


def _transmissions():
    from streamfs.costs.radio_profiles import profile  # noqa: PLC0415

    return profile("transmissions")


def test_default_channels_share_their_steps_over_roles(streams):
    channels = default_channels(streams)
    assert channels[0] == "a.level"
    assert [c.removeprefix("a.") for c in channels if c.startswith("a.")] == [
        c.removeprefix("b.") for c in channels if c.startswith("b.")
    ]


def test_streams_of_unequal_length_and_with_gaps_train():
    full = labelled_streams(n_streams=60, gaps=0.2)
    lengths = np.random.default_rng(0).integers(3, 21, 60)
    ragged = StreamSet(full.values, full.labels, full.columns, 1.0, full.names, lengths)
    trained = train(ragged, confidence=0.8, select="streamrelief")
    evaluation = evaluate(trained, ragged)
    assert len(evaluation.decisions) == 60
    for decision, length in zip(evaluation.decisions, lengths, strict=True):
        assert decision.tick <= length
        assert decision.reason in ("confident", "timeout", "closed")


def test_a_held_value_lasts_as_long_as_the_silence():
    values = np.full((1, 6, 1), np.nan)
    values[0, 0, 0] = 5.0
    streams = StreamSet(values, ["on"], ["x"], period=2.0)
    assert np.isfinite(streams.seen_through(["x@delta:1"]).values[0, :, 0]).tolist() == [True] * 6
    assert (
        np.isfinite(streams.seen_through(["x@delta:1"], 4.0).values[0, :, 0]).tolist() == [True] * 3 + [False] * 3
    )
    with pytest.raises(ValueError, match="max_silence is 1 s"):
        streams.seen_through(["x@delta:1"], 1.0)


def test_a_stream_that_never_opens_is_closed_at_tick_0():
    streams = StreamSet([[[np.nan], [np.nan]], [[1.0], [1.0]]], ["off", "on"], ["x"])
    never, on = evaluate(mean_procedure(), streams).decisions
    assert (never.reason, never.tick, never.label, never.cost) == ("closed", 0, None, 1.5)
    assert on.label == "on"


def test_a_sweep_gives_more_confidence_for_more_cost(procedure, streams, tmp_path):
    thresholds = [0.6, 0.8, 0.95]
    evaluations = sweep(procedure, streams, thresholds)
    costs = [evaluation.cost for evaluation in evaluations]
    assert costs == sorted(costs)
    assert [evaluation.confidence for evaluation in evaluations] == thresholds
    write_csv([evaluation.summary() for evaluation in evaluations], tmp_path / "sweep.csv")
    lines = (tmp_path / "sweep.csv").read_text().splitlines()
    assert lines[0].startswith("confidence,streams,completeness,accuracy,ticks,cost")
    assert len(lines) == 4


def test_replay_yields_every_stream_once(procedure, streams):
    names = [decision.stream for decision in replay(procedure, streams)]
    assert sorted(names) == sorted(streams.names)


def test_folds_spread_every_class():
    labels = np.array(["a"] * 20 + ["b"] * 10)
    folds = stratified_folds(labels, 5, 0)
    assert [(labels[fold.test] == "b").sum() for fold in folds] == [2] * 5
    with pytest.raises(DataError, match="class 'b' has only 3 streams"):
        stratified_folds(["a"] * 20 + ["b"] * 3, 5, 0)


def test_all_small_sizes_are_tried_then_a_third_more_each_time():
    assert sizes_to_try(40).tolist() == [*range(1, 13), 16, 21, 28, 37, 40]
    assert sizes_to_try(1).tolist() == [1]


def test_the_cheapest_of_the_good_is_taken():
    completeness = np.array([0.5, 0.99, 1.0, 1.0])
    accuracy = np.array([1.0, 0.98, 0.99, 0.90])
    assert cheapest_good(completeness, accuracy, np.array([1.0, 3.0, 4.0, 2.0])) == 1
    assert cheapest_good(np.array([1.0, 0.5]), np.array([0.5, 0.9]), np.array([1.0, 2.0])) == 0


def test_bad_training_data_is_named(streams):
    with pytest.raises(DataError, match="one class only"):
        train(streams.take(np.flatnonzero(streams.labels == "calm")), select="streamrelief")
    with pytest.raises(DataError, match="column 'z' does not exist"):
        train(streams, features=[fx.get("mean(z)")], select="streamrelief")
    noise = [fx.get("mean(a.noise)"), fx.get("last(b.noise)")]
    with pytest.raises(TrainingError, match=r"confidence 0\.9"):
        train(streams, features=noise, confidence=0.9, select="streamrelief")
    with pytest.raises(TrainingError, match=r"no feature of .*, such as .*, tells the classes apart"):
        train(streams, features=[fx.get("count()")], select=None)
    with pytest.raises(ValueError, match="n_features is 9"):
        train(streams, features=noise, n_features=9, select="streamrelief")
    with pytest.raises(ValueError, match="1 costs, expected 2"):
        train(streams, features=noise, costs=Costs([1.0]), select="streamrelief")
    wanted = r"prices is \{'noise': 3\.0\}, expected none besides costs: prices apply only to estimated costs"
    own = {"features": noise, "costs": Costs([1.0, 1.0]), "pricing": Pricing(prices={"noise": 3.0})}
    for one_way in (train, partial(train_promised, promise=Promise(0.9))):
        with pytest.raises(ValueError, match=wanted):
            one_way(streams, **own)
    with pytest.raises(
        ValueError, match=r"select is 'best', expected one of channels, streamrelief, literal, relief, .*, or None"
    ):
        train(streams, select="best")
    with pytest.raises(TypeError, match="select is 3, expected one of channels, streamrelief"):
        train(streams, select=3)
    with pytest.raises(TypeError, match="pricing is 3, expected a radio's name or a Pricing"):
        train(streams, features=noise, pricing=3)
    with pytest.raises(ValueError, match="confidence is nan"):
        train(streams, features=noise, confidence=float("nan"), select="streamrelief")
    with pytest.raises(ValueError, match="whole ticks"):
        train(streams, features=noise, time_limit=2.5, select="streamrelief")


@pytest.mark.parametrize(
    "options",
    [
        {"select": "streamrelief"},
        {"select": "literal", "n_features": 1},
        {"select": None},
        {"select": None, "classifier": "extra-trees"},
        {"select": None, "classifier": GaussianNB()},
    ],
    ids=["ranked", "first", "all", "forest", "river"],
)
def test_a_model_that_labels_no_held_out_stream_is_refused(options):
    """The confidence that the message names labels some."""
    rng = np.random.default_rng(0)
    labels = np.resize([*"abcdef"], 90)
    values = rng.normal(labels[:, np.newaxis, np.newaxis] > "c", 0.8, (90, 8, 1))
    few = StreamSet(values, labels, ["x"])
    with pytest.raises(TrainingError, match=r"held-out stream a label at confidence 0\.97: the highest") as caught:
        train(few, features=["mean(x)"], confidence=0.97, **options)
    is_tree = "classifier" not in options
    needed = (
        "with 6 classes, 0.97 takes a leaf of 161 streams of one class and no other, and a tree is fitted to 12"
    )
    assert (needed in str(caught.value)) == is_tree
    enough = float(re.search(r"Give a confidence of ([\d.]+) at most", str(caught.value))[1])
    enough -= 0.02  # a classifier on all streams may be a little less sure
    facts = train(few, features=["mean(x)"], confidence=enough, **options).about["held_out"]
    assert 0 < sum(facts["labelled_of"].values()) == facts["labelled"] <= facts["streams"] == 90
    assert facts["asked"] == enough


def test_a_class_of_one_stream_is_not_held_out():
    values = np.repeat([[[0.0]], [[0.1]], [[1.0]]], 5, axis=1)
    lone = StreamSet(values, ["off", "off", "on"], ["x"])
    options = {"features": ["mean(x)"], "select": None, "classifier": GaussianNB()}
    assert "held_out" not in train(lone, **options).about
    with pytest.raises(
        TrainingError, match=r"the classifier gives no stream a label at confidence 0\.9: the highest"
    ):
        train(lone, **options | {"classifier": unsure})


def unsure(table):
    """Fit a classifier that states at most 0.6."""
    return NearestMean(learn_nearest_mean(table).means, 0.6)


def test_streams_that_do_not_fit_a_model_are_named(procedure, streams):
    with pytest.raises(DataError, match=r"tick of 2 s, the model one of 1 s"):
        evaluate(procedure, StreamSet(streams.values, streams.labels, streams.columns, 2.0))
    with pytest.raises(DataError, match="label 'odd'"):
        evaluate(procedure, StreamSet(streams.values, ["odd"] * len(streams), streams.columns))
    with pytest.raises(DataError, match="is not in the streams"):
        evaluate(procedure, StreamSet(streams.values[:, :, :1], streams.labels, ["other"]))


def test_a_class_that_is_never_complete_is_named(streams):
    values = streams.values.copy()
    values[streams.labels == "calm", :, 1] = np.nan
    gone = StreamSet(values, streams.labels, streams.columns)
    with pytest.raises(DataError, match=r"class 'calm' .* b\.level has 0 readings"):
        train(gone, n_features=2, select="streamrelief")


def test_a_column_without_readings_is_left_out(streams):
    dead = np.concatenate([streams.values, np.full((80, 20, 1), np.nan)], axis=2)
    assert "dead" not in default_channels(StreamSet(dead, streams.labels, [*streams.columns, "dead"]))


def test_default_flags_are_crossed_at_any_offset():
    rng = np.random.default_rng(0)
    for offset in (0.0, 1013.0, 1e9):
        streams = StreamSet(offset + rng.normal(0, 0.3, (20, 30, 1)), ["x"] * 20, ["p"])
        flag = next(channel for channel in default_channels(streams) if "flag" in channel)
        assert 0.3 < streams.seen_through([flag]).values.mean() < 0.7


@pytest.mark.parametrize(
    "model", [LogisticRegression(), StandardScaler() | LogisticRegression()], ids=["bare", "piped"]
)
def test_a_river_model_of_two_classes_is_given_true_and_false(streams, model):
    trained = train(
        streams, features=["mean(a.level)", "mean(b.level)"], select=None, confidence=0.7, classifier=model
    )
    evaluation = evaluate(trained, labelled_streams(n_streams=40, seed=3))
    assert evaluation.completeness > 0.8
    assert evaluation.accuracy > 0.9
    three = StreamSet(streams.values, np.resize(["a", "b", "c"], len(streams)), streams.columns)
    with pytest.raises(TrainingError, match="separates two classes, not 3"):
        train(three, features=["mean(a.level)"], select=None, classifier=model)


def test_a_time_limit_beyond_the_recordings_changes_no_ranking(streams):
    features = [f"mean({column})" for column in streams.columns]
    one, other = (
        train(streams, features=features, confidence=0.8, time_limit=limit, select="streamrelief")
        for limit in (20, 5000)
    )
    assert [f.name for f in one.features] == [f.name for f in other.features]
    assert other.time_limit == 5000


def test_the_procedure_keeps_what_its_folds_promised():
    """Completeness and accuracy on other pairs are near those of the training."""
    learning, testing = (StreamSet(*SameSource().sample(n, 40, seed=s)) for n, s in ((160, 0), (200, 9)))
    evaluation = evaluate(train(learning, confidence=0.85, select="streamrelief"), testing)
    assert evaluation.completeness > 0.85
    assert evaluation.accuracy > 0.75


def test_some_features_keeps_the_rest_of_the_table(streams):
    table = tabulate(streams, [fx.get("mean(a.level)"), fx.get("max(b.level)")])
    assert table.with_features([1]).names == ("max(b.level)",)
    assert (table.with_features([1]).values[:, :, 0] == table.values[:, :, 1]).all()


def test_an_engine_needs_no_features_of_a_stump():
    stump = Tree.from_json(
        {
            "feature": [-1],
            "nominal": [False],
            "threshold": [0.0],
            "first_child": [0],
            "n_children": [0],
            "code": [0.0],
            "share": [1.0],
            "counts": [[1.0, 30.0]],
            "laplace": True,
        }
    )
    from streamfs import Procedure  # noqa: PLC0415

    engine = Engine(Procedure((), stump, ("off", "on"), Costs([]), 0.9, 5))
    assert engine.push("s", 0.0, []).label == "on"
