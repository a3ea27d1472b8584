"""The paper's experiment, compared with the engine, with counting by hand, and across processes."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from helpers.procedures import labelled_streams

import feature_extractors as fx
from feature_extractors.report import split_channel
from sensors_sim.same_source import OFFSETS
from streamfs import C45Classifier, Costs, Procedure, StreamRelief, StreamSet, evaluate
from streamfs.cli import parameters
from streamfs.costs.costs import price_of
from streamfs.costs.radio_profiles import profile
from streamfs.costs.spending import messages_sent
from streamfs.data import datasets
from streamfs.errors import DataError
from streamfs.experiments.experiment import Experiment
from streamfs.experiments.figure2 import compare
from streamfs.experiments.outcome import MEASURES, METHODS, Outcome
from streamfs.experiments.sources import LabelledFile, Motes, RecordedPairs
from streamfs.experiments.summary import compare_with_cheapest, mean_and_interval, shorten, summarise
from streamfs.relief import position_grid
from streamfs.selection.by_name import SELECTORS
from streamfs.training.query_sensitive import NAMED

NAMES = (
    "mean_absolute_difference(a.level, b.level)",
    "mean_absolute_difference(a.level@delta:1, b.level@delta:1)",
    "mean(a.level@flag:1.5)",
    "mean(a.noise)",
    "max(b.level@delta:1)",
    "count()",
)
THRESHOLDS = (0.8, 0.9, 0.97)


@pytest.fixture(scope="module")
def experiment():
    training, testing = labelled_streams(60, 12, seed=0), labelled_streams(50, 12, seed=1)
    return Experiment(training, testing, [fx.get(name) for name in NAMES], {"level": 3.0}, seed=0), testing


def refitted(experiment, split="gain_ratio"):
    """Fit the tree on all features again; return it as a procedure of the features that it tests."""
    table = experiment.training
    rows = table.values.reshape(-1, len(NAMES))
    labels = np.repeat(table.labels, table.n_ticks)
    costs = None if split == "gain_ratio" else experiment.costs.each
    tree = C45Classifier(split, costs).fit(rows, labels).tree_
    tested = tree.features_tested()
    packed = replace(tree, feature=np.where(tree.feature < 0, -1, np.searchsorted(tested, tree.feature)))
    features = tuple(fx.get(NAMES[i]) for i in tested)
    return Procedure(features, packed, ("busy", "calm"), experiment.costs.take(tested), 0.9, 12)


@pytest.mark.parametrize(("method", "split"), [("naive", "gain_ratio"), ("cost-based", "gain_per_cost")])
def test_outcomes_are_those_of_the_engine(experiment, method, split):
    experiment, testing = experiment
    procedure = refitted(experiment, split)
    for outcome in experiment.run(method, THRESHOLDS):
        evaluation = evaluate(procedure.with_confidence(outcome.confidence), testing)
        assert outcome.completeness == evaluation.completeness
        assert outcome.accuracy == pytest.approx(evaluation.accuracy, nan_ok=True)
        assert outcome.ticks == pytest.approx(evaluation.ticks)
        assert outcome.cost == pytest.approx(evaluation.cost)
        assert outcome.offered_cost == pytest.approx(experiment.costs.classification(outcome.ticks))
        assert (outcome.n_tested, outcome.n_offered) == (len(procedure.features), len(NAMES))
        sent = 0.0
        for decision, values in zip(evaluation.decisions, testing.values, strict=True):
            for channel in procedure.channels:
                column, policy = split_channel(channel)
                series = values[: decision.tick, testing.columns.index(column)]
                price = 3.0 if column.endswith("level") else 1.0
                sent += price * np.isfinite(policy.sent(series)).sum() / len(testing)
        assert outcome.sent == pytest.approx(sent)


def test_a_message_before_the_first_complete_tick_is_counted():
    values = np.array([[[1.0, np.nan], [1.0, np.nan], [1.0, 5.0], [1.0, 5.0]]])
    streams = StreamSet(values, ["one"], ["x", "y"])
    sent = messages_sent(streams, ["x", "y", "x@delta:1"], {"y": 2.0})
    assert sent["x"].tolist() == [[1, 2, 3, 4]]
    assert sent["y"].tolist() == [[0, 0, 2, 4]]
    assert sent["x@delta:1"].tolist() == [[1, 1, 1, 1]]


def test_messages_are_counted_from_the_first_tick_though_the_episode_opens_later(experiment):
    experiment, testing = experiment
    values = np.concatenate([np.full((len(testing), 2, 4), np.nan), testing.values], axis=1)
    values[:, 1, 0] = 0.0  # one column has a reading a tick before the others
    late = StreamSet(values, testing.labels, testing.columns)
    features = [fx.get(name) for name in NAMES]
    training = labelled_streams(60, 12, seed=0)
    later = Experiment(training, late, features, {"level": 3.0}, seed=0)
    procedure = refitted(experiment)
    channels = {channel: split_channel(channel) for channel in procedure.channels}
    n_early = sum(column == "a.level" for column, _ in channels.values())
    assert n_early
    for before, outcome in zip(experiment.run("naive", [0.9]), later.run("naive", [0.9]), strict=True):
        assert (outcome.completeness, outcome.ticks) == (before.completeness, before.ticks)
        evaluation = evaluate(procedure, testing)
        sent = 0.0
        for decision, readings in zip(evaluation.decisions, late.values, strict=True):
            for column, policy in channels.values():
                series = readings[: decision.tick + 2, late.columns.index(column)]
                price = 3.0 if column.endswith("level") else 1.0
                sent += price * np.isfinite(policy.sent(series)).sum() / len(late)
        assert outcome.sent == pytest.approx(sent)
        assert outcome.sent > before.sent


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_informative_columns(experiment, method):
    outcomes = list(experiment[0].run(method, [0.8]))
    assert [outcome.method for outcome in outcomes] == [method]
    assert outcomes[0].completeness > 0.9
    assert outcomes[0].accuracy > 0.8


def test_test_streams_do_not_affect_training():
    training = labelled_streams(40, 8, seed=0)
    alike = labelled_streams(30, 8, seed=1)
    unlike = StreamSet(2.0 - 3.0 * alike.values, alike.labels, alike.columns)
    fitted, accuracies = [], []
    for testing in (alike, unlike):
        experiment = Experiment(training, testing, [fx.get(name) for name in NAMES], seed=0)
        outcomes = [outcome for method in METHODS for outcome in experiment.run(method, [0.7, 0.9])]
        sizes = [(outcome.n_tested, outcome.n_offered) for outcome in outcomes]
        trees = {chosen: tree.to_json() for chosen, (tree, _) in experiment._trees.items()}
        fitted.append((experiment.costs.each.tolist(), sizes, trees))
        accuracies.append(np.array([outcome.accuracy for outcome in outcomes]))
    assert fitted[0] == fitted[1]
    assert (accuracies[0] != accuracies[1]).all()


def test_features_are_ranked_for_each_threshold(experiment):
    experiment, _ = experiment
    experiment._trees.clear()
    thresholds = [0.45, 0.505, 0.52, 0.9]
    list(experiment.run("literal", thresholds, n_features=2))
    expected = set()
    for confidence in thresholds:
        positions = position_grid(experiment.time_limit)
        selector = StreamRelief.literal(experiment.costs, confidence=confidence, positions=positions)
        expected.add(tuple(selector.fit(experiment.training).ranking_[:2].tolist()))
    assert len(expected) > 1
    assert set(experiment._trees) == expected


@pytest.mark.parametrize(("n_training", "what"), [(0, "train on"), (8, "test on")])
def test_missing_streams_are_refused(n_training, what):
    streams = labelled_streams(8, 4)
    with pytest.raises(DataError, match=f"there are no streams to {what}"):
        Experiment(streams.take(range(n_training)), streams.take(range(8 - n_training)), [fx.get("mean(a.level)")])


def test_streams_that_never_open_are_refused():
    values = np.full((20, 4, 2), np.nan)
    values[:10, :, 0], values[10:] = 1.0, 2.0
    streams = StreamSet(values, np.repeat(["a", "b"], 10), ["x", "y"])
    with pytest.raises(DataError, match=r"no stream of class 'a' has a tick .* y has 0 readings"):
        Experiment(streams, streams, [fx.get("mean(x)"), fx.get("mean(y)")])


def test_a_number_of_features_is_respected(experiment):
    experiment, _ = experiment
    assert [outcome.n_offered for outcome in experiment.run("literal", THRESHOLDS, n_features=2)] == [2, 2, 2]
    with pytest.raises(ValueError, match="method is 'best', expected one of naive"):
        list(experiment.run("best", THRESHOLDS))
    with pytest.raises(ValueError, match="n_features is 7, expected 1 to 6"):
        list(experiment.run("Relief", THRESHOLDS, n_features=7))
    with pytest.raises(ValueError, match="method is 'best', expected one of naive"):
        compare(Small(), methods=["naive", "best"])


def test_without_a_confident_leaf_no_stream_is_labelled():
    rng = np.random.default_rng(0)
    streams = StreamSet(rng.normal(size=(24, 3, 1)), np.tile(["a", "b"], 12), ["x"])
    experiment = Experiment(streams, streams, [fx.get("last(x)"), fx.get("count()")])
    for method in METHODS:
        (outcome,) = experiment.run(method, [1.0])
        assert outcome.completeness == 0
        assert np.isnan(outcome.accuracy)
        assert outcome.ticks == 3


def outcome_of(method="naive", confidence=0.9, seed=0, cost=1.0, accuracy=0.9):
    return Outcome(method, confidence, seed, 1.0, accuracy, 2.0, cost, 1.0, 3.0, 2, 5)


def test_a_summary_holds_means_and_intervals():
    outcomes = [outcome_of(seed=0, cost=1.0, accuracy=np.nan), outcome_of(seed=1, cost=3.0), outcome_of("Relief")]
    first, second = summarise(outcomes)
    assert (first["method"], first["seeds"], first["cost"]) == ("naive", 2, 2.0)
    assert first["cost_ci"] == pytest.approx(12.7062, abs=1e-4)  # t of one degree of freedom, times 1
    assert first["accuracy"] == 0.9
    assert np.isnan(first["accuracy_ci"])
    assert second["seeds"] == 1
    measured = {*MEASURES, *(f"{name}_ci" for name in MEASURES)}
    assert set(first) == {"method", "confidence", "seeds", "refused", *measured}
    assert first["refused"] == second["refused"] == 0
    assert np.isnan(mean_and_interval(np.zeros(0))).all()


def test_stream_relief_is_compared_with_the_cheapest_other():
    costs = {"naive": 9.0, "Relief": 4.0, "literal": 1.0, "StreamRelief": 2.0}
    rows = summarise([outcome_of(method, cost=cost) for method, cost in costs.items()])
    rows[-1]["accuracy"] = 0.85
    (found,) = compare_with_cheapest(rows)
    assert found["cheapest_other"] == "Relief"
    assert found["cost_ratio"] == 0.5
    assert found["sent_ratio"] == 1.0
    assert found["accuracy_gap"] == pytest.approx(-0.05)
    assert found["completeness_gap"] == 0


def test_a_shortened_summary_has_few_thresholds():
    rows = summarise([outcome_of(confidence=c, seed=s) for c in np.linspace(0.8, 0.99, 20) for s in (0, 1)])
    assert [row["confidence"] for row in shorten(rows, 3)] == ["0.8", "0.9", "0.99"]
    assert shorten(rows)[0]["cost"] == "1 ±0"


@dataclass(frozen=True)
class Small(Motes):
    """A few short streams."""

    n_training: int = 24
    n_testing: int = 10
    n_ticks: int = 6

    def features(self, training):
        return super().features(training)[::9]


def test_outcomes_are_the_same_for_any_number_of_processes():
    one = compare(Small(), thresholds=[0.8, 0.9], n_seeds=2, n_jobs=1)
    two = compare(Small(), thresholds=[0.8, 0.9], n_seeds=2, n_jobs=2)
    assert [replace(outcome, accuracy=0.0) for outcome in one] == [replace(o, accuracy=0.0) for o in two]
    np.testing.assert_array_equal([o.accuracy for o in one], [o.accuracy for o in two])
    keys = [(outcome.seed, outcome.method, outcome.confidence) for outcome in one]
    assert keys == [(seed, method, c) for seed in (0, 1) for method in METHODS for c in (0.8, 0.9)]
    assert one != compare(Small(noise=3.0), thresholds=[0.8, 0.9], n_seeds=2, n_jobs=1)


def test_motes_have_the_offsets_of_the_setting():
    quiet, _ = Motes(noise=0.0, n_training=400, n_ticks=1).split(3)
    same = quiet.labels == "same"
    for quantity, offset in OFFSETS.items():
        apart = quiet.column(f"a.{quantity}")[same] - quiet.column(f"b.{quantity}")[same]
        assert apart.std() == pytest.approx(np.sqrt(2) * offset, rel=0.25)
    training, testing = Motes(n_training=10, n_testing=12, n_ticks=5).split(1)
    assert (len(training), len(testing), training.n_ticks, training.period) == (10, 12, 5, 10.0)


def test_a_file_is_split_by_the_seed(tmp_path):
    streams = labelled_streams(20, 4)
    streams.write(tmp_path / "streams.csv")
    source = LabelledFile(tmp_path / "streams.csv")
    training, testing = source.split(1)
    assert sorted([*training.names, *testing.names]) == sorted(streams.names)
    assert source.split(1)[0].names == training.names != source.split(2)[0].names
    assert len(source.features(training)) > 10


def test_the_choices_of_the_command_line_exist():
    assert parameters.RECORDINGS == datasets.NAMES
    assert tuple(SELECTORS) == parameters.SELECTIONS
    assert tuple(NAMED) == parameters.LAZY


def test_features_of_recorded_pairs_read_both_nodes(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMFS_DATA", str(tmp_path))
    features = RecordedPairs("sml2010").features(labelled_streams(20, 4))
    assert features
    assert all(len(feature.columns) == 2 for feature in features)
    with pytest.raises(DataError, match="sml2010"):
        RecordedPairs("sml2010").split(0)


def test_prices_make_columns_more_expensive():
    streams = labelled_streams(8, 5)
    features = [fx.get("mean(a.level)"), fx.get("correlation(a.level, b.noise)"), fx.get("count()")]
    costs = Costs.estimate(streams, features, profile("transmissions"), prices={"level": 4.0})
    assert costs.each.tolist() == [4.0, 5.0, 0.0]
    assert (price_of("a.level", {"level": 4.0}), price_of("level", {"level": 4.0}), price_of("x", None)) == (
        4,
        4,
        1,
    )
    with pytest.raises(DataError, match="price of 'sound', expected one of level, noise"):
        Costs.estimate(streams, features, profile("transmissions"), prices={"sound": 4.0})
    with pytest.raises(ValueError, match="price of level is -1"):
        Costs.estimate(streams, features, profile("transmissions"), prices={"level": -1.0})


def test_a_refused_promise_has_no_figures():
    training, testing = Motes(n_training=200, n_testing=100, n_ticks=20).split(0)
    features = [fx.get("correlation(a.light, b.light)"), fx.get("mean_absolute_difference(a.light, b.light)")]
    experiment = Experiment(training, testing, features, {"light": 3.0})
    kept, refused = experiment.run("promise", [0.7, 0.999])
    assert (kept.method, kept.confidence, kept.n_offered) == ("promise", 0.7, kept.n_tested)
    assert kept.completeness >= 0.85
    assert kept.cost == pytest.approx(kept.n_tested * kept.sent)  # each feature pays both channels
    assert kept.sent == pytest.approx(6 * kept.ticks)
    assert np.isnan([getattr(refused, name) for name in MEASURES]).all()
    rows = summarise([kept, refused])
    assert [row["refused"] for row in rows] == [0, 1]


def test_what_each_process_has_done_is_reported():
    said = []
    found = compare(
        Small(),
        thresholds=[0.8, 0.9],
        n_seeds=2,
        methods=["naive", "cost-based"],
        n_jobs=2,
        progress=lambda *report: said.append(report),
    )
    what = "seeds, methods, thresholds"
    assert said[0] == (what, 0, 8)
    assert said[-1] == (what, len(found), 8)
    assert [done for _, done, _ in said] == sorted(done for _, done, _ in said)
