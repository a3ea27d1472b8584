"""The front: no point is beaten, no much better one is left out, and a point becomes a measured model."""

import re
from datetime import timedelta
from math import ceil
from pathlib import Path

import numpy as np
import pytest
from helpers.training_options import grouped
from hypothesis import given
from hypothesis import strategies as st
from oracles.promises import pareto
from scipy.stats import binomtest

from streamfs import Pricing, Procedure, Promise, SearchSettings, StreamSet, evaluate, tabulate
from streamfs.classifiers import Calibration
from streamfs.errors import DataError, TrainingError
from streamfs.evaluation.trajectories import Trajectories
from streamfs.training.promises.curve import Curve
from streamfs.training.promises.explore import exploration, explore, points_of
from streamfs.training.promises.explored import Front, identity, lower_bound
from streamfs.training.promises.front import FrontPoint, front, read_front, unbeaten, write_front
from streamfs.training.promises.held_out import HeldOut

FEATURES = ["mean(loud)", "mean(soft)"]
AS_OFFERED = SearchSettings(as_offered=True)
SHARES = st.sampled_from([0.7, 0.702, 0.75, 0.8, 0.9, 1.0])
SPENT = st.sampled_from([0.0, 1.0, 1.01, 2.0, 5.0, 5.05, 40.0])
POINTS = st.lists(st.builds(FrontPoint, SHARES, SHARES, SPENT, SPENT, st.just(0.5), st.just(("mean(t)",))))


def noisy_streams(n_streams=240, seed=0, n_ticks=10):
    """Two columns that separate the classes, one better than the other."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(["calm", "busy"], n_streams // 2))
    level = np.where(labels == "calm", 0.0, 1.0)[:, None]
    columns = [level * gain + rng.normal(0, 1, (n_streams, n_ticks)) for gain in (1.2, 0.6)]
    return StreamSet(np.stack(columns, axis=2), labels, ["loud", "soft"])


@pytest.fixture(scope="module")
def streams():
    return noisy_streams()


@pytest.fixture(scope="module")
def found(streams):
    return explore(streams, FEATURES, search=AS_OFFERED, n_jobs=1)


@pytest.fixture(scope="module")
def middle(found):
    """A model of a point in the middle, and its number."""
    index = len(found.points) // 2
    return index, found.procedure(index)


def losses(points):
    return np.array([(-p.accuracy, -p.completeness, p.cost, p.ticks) for p in points]).reshape(-1, 4)


@given(POINTS)
def test_unbeaten_points_are_those_of_the_oracle(points):
    assert unbeaten(losses(points)).tolist() == pareto([point[:4] for point in points])


@given(POINTS, st.integers(1, 5))
def test_a_front_has_as_few_points_as_asked_for_the_cheapest_first_and_none_is_beaten(points, most):
    shown = front(points, most)
    assert len(shown) <= most
    assert bool(shown) == bool(points)
    assert [point.cost for point in shown] == sorted(point.cost for point in shown)
    assert pareto([point[:4] for point in shown]) == list(range(len(shown)))


@given(POINTS)
def test_no_much_better_point_is_left_out(points):
    shown = front(points, most=1000)
    for point in points:
        assert any(
            other.accuracy >= point.accuracy - 0.005 - 1e-9
            and other.completeness >= point.completeness - 0.005 - 1e-9
            and other.cost <= point.cost * 1.02 + 1e-9
            and other.ticks <= point.ticks * 1.02 + 1e-9
            for other in shown
        )


def test_of_points_that_are_nearly_equal_one_is_shown():
    point = FrontPoint(0.9, 0.8, 10.0, 5.0, 0.7, ("mean(t)",))
    near = point._replace(accuracy=0.904, cost=10.1)
    assert len(front([point, near])) == 1
    assert len(front([point, near._replace(accuracy=0.906, cost=10.5)])) == 2


def test_a_front_is_read_as_it_was_written(tmp_path):
    points = (
        FrontPoint(0.9, 1 / 3, 1e-5, 5.0, 0.1 + 0.2, ("count()", 'mean("a, b; @")')),
        FrontPoint(0.95, 0.8, 2e-5, 6.0, 0.7, ("mean(t)",)),
    )
    write_front(points, "abc", tmp_path / "front.csv")
    assert read_front(tmp_path / "front.csv", "abc") == points


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace("abc", "abd"), "was explored with other streams or options"),
        (lambda text: text.replace("0.25", "much"), "line 2 of .* is not a point of a front"),
        (lambda text: text.replace("threshold", "bar"), "line 2 of .* is not a point of a front"),
        (lambda text: text[: text.index("0.25")], "line 2 .* of a front: the line ends before completeness"),
        (lambda text: text[: text.index(",abc")], "line 2 .* of a front: the line ends before exploration"),
        (lambda text: text.replace('""', ""), "line 2 of .* is not a point of a front"),
        (lambda text: text.splitlines()[0], "has no points of a front"),
        (lambda _: "", "has no points of a front"),
        (
            lambda text: text.replace("\n1,", "\n2,"),
            "line 2 of .*: its number is 2, expected 1: leave the points in",
        ),
        (lambda text: text.replace("0.5,", "nan,"), "line 2 of .*: threshold is nan, expected more than 0"),
        (lambda text: text.rstrip() + ",more\n", r"line 2 of .* has the further cells \['more'\]"),
        (lambda text: text.replace("abc", "a" * 200_000), r"front\.csv cannot be read: field larger than"),
    ],
)
def test_a_front_that_cannot_be_read_is_refused(tmp_path, change, words):
    path = tmp_path / "front.csv"
    write_front([FrontPoint(0.25, 0.5, 1.0, 1.0, 0.5, ("mean(t)",))], "abc", path)
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(DataError, match=words):
        read_front(path, "abc")


def test_a_sorted_front_is_refused(tmp_path):
    path = tmp_path / "front.csv"
    point = FrontPoint(0.9, 0.9, 1.0, 1.0, 0.5, ("mean(t)",))
    write_front([point, point._replace(cost=2.0)], "abc", path)
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([head, *reversed(rows)]), encoding="utf-8")
    with pytest.raises(DataError, match="its number is 2, expected 1"):
        read_front(path, "abc")
    path.write_text("\ufeff" + "\n".join([head, *rows]), encoding="utf-8")
    assert read_front(path, "abc")[1].cost == 2.0


def test_no_point_that_is_found_beats_another(found):
    assert 3 <= len(found.points) <= 24
    assert pareto([point[:4] for point in found.points]) == list(range(len(found.points)))
    assert all(point.completeness >= 0.7 for point in found.points)
    assert all({"count()"} < set(point.features) <= {"count()", *FEATURES} for point in found.points)


def test_a_point_has_the_results_on_held_out_streams(found):
    trainer = found.problem.trainer()
    names = [feature.name for feature in trainer.candidates.features]
    held_out = trainer.held_out("extra-trees")
    for point in found.points:
        curve = held_out.curves([names.index(name) for name in point.features])[1]
        again = curve.at_threshold(point.threshold)
        assert (again.accuracy, again.completeness) == (point.accuracy, point.completeness)
        assert (again.cost, again.ticks) == pytest.approx((point.cost, point.ticks))


def test_the_curve_of_a_subset_is_computed_once_for_all_promises(streams, monkeypatch):
    asked = []
    compute = HeldOut.curves

    def curves(self, chosen, starts=(1,)):
        assert starts == (1,)
        asked.append((self.most_ticks, *chosen))
        return compute(self, chosen, starts)

    monkeypatch.setattr(HeldOut, "curves", curves)
    told = []
    explore(streams, FEATURES, search=AS_OFFERED, n_jobs=1, progress=lambda *report: told.append(report))
    assert len(asked) == len(set(asked))
    assert len({tuple(chosen) for _, *chosen in asked}) == 3
    assert len({what for what, _, _ in told if what.startswith("accuracy")}) >= 4


def test_promises_that_the_streams_could_not_pass_are_not_searched_for():
    told = set()
    explore(
        noisy_streams(60),
        ["mean(loud)"],
        search=AS_OFFERED,
        n_jobs=1,
        accuracies=(0.7, 0.99),
        completenesses=(0.6,),
        progress=lambda what, *_: told.add(what),
    )
    assert {what for what in told if what.startswith("accuracy")} == {"accuracy 0.7, completeness 0.6"}


def test_points_that_are_less_complete_than_the_least_that_is_asked_for_are_left_out(streams, found):
    assert min(point.completeness for point in found.points) < 0.95
    complete = explore(streams, FEATURES, search=AS_OFFERED, n_jobs=1, completenesses=(0.95,))
    assert min(point.completeness for point in complete.points) >= 0.95


def test_points_next_to_the_best_are_shown_if_none_is_accurate_enough():
    streams = noisy_streams(160, n_ticks=2)
    hopeless = explore(
        streams, ["mean(soft)"], search=AS_OFFERED, n_jobs=1, accuracies=(0.93,), completenesses=(0.5,)
    )
    accuracies = [point.accuracy for point in hopeless.points]
    assert max(accuracies) - 0.05 <= min(accuracies) <= max(accuracies) < 0.93


@pytest.mark.parametrize(("least", "shown"), [(0.8, [0.84, 0.8]), (0.85, [0.84, 0.8, 0.795])])
def test_less_accurate_points_are_not_shown_if_some_are_accurate_enough(least, shown):
    labelled, right = np.array([50, 100, 200]), np.array([42, 80, 159])
    curve = Curve(np.array([0.9, 0.8, 0.7]), labelled, right, np.ones(3), np.ones(3), 200)
    found = points_of({("mean(t)",): curve}, least, 0.2)
    assert [point.accuracy for point in found] == pytest.approx(shown)


def test_too_few_labelled_streams_are_an_error(streams):
    values = streams.values.copy()
    values[60:] = np.nan
    silent = StreamSet(values, streams.labels, streams.columns)
    with pytest.raises(TrainingError, match=r"no threshold labels 0\.7 of the streams that were held out"):
        explore(silent, FEATURES, search=AS_OFFERED, n_jobs=1)


@pytest.mark.parametrize(("half", "completeness", "labelled"), [(0, None, 1.0), (1, 0.9, 0.95)])
def test_the_table_of_the_handbook_is_what_promises_need(half, completeness, labelled):
    text = (Path(__file__).parents[3] / "docs" / "promises.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| 0.")]
    assert len(rows) == 5
    for row in rows:
        promise = Promise(float(row[0]), completeness)
        cells = [None if cell == "-" else cell.split("; ")[half] for cell in row[1:]]
        counted = [
            cell and [int(number) for number in re.fullmatch(r"(\d+) \((\d+)\)", cell).groups()] for cell in cells
        ]
        assert counted[0][0] == promise.fewest_streams
        assert all(recorded == ceil(2.5 * tested) for tested, recorded in filter(None, counted))
        for better, cell in zip((0.05, 0.02), counted[1:], strict=True):
            if cell is None:
                assert promise.accuracy + better >= 1
                continue
            accuracy = promise.accuracy + better
            chances = [promise.chances(labelled, accuracy, cell[0] + more) for more in (-1, 0, 1)]
            assert chances[0] < 0.8 <= min(chances[1:])


def test_with_little_time_there_is_a_front_of_the_scored_subsets(streams):
    found = explore(streams, FEATURES, search=SearchSettings(as_offered=True, seconds=1e-9), n_jobs=1)
    assert found.points


def test_a_model_of_a_point_has_the_reported_results_on_the_streams_set_apart(found, middle):
    _, procedure = middle
    evidence = procedure.about["point"]
    testing = found.problem.split.test
    evaluation = evaluate(procedure, testing)
    assert evidence["streams"] == len(testing) == 96
    assert evidence["accuracy"] == evaluation.accuracy
    assert evidence["completeness"] == evaluation.completeness
    assert evidence["labelled"] == round(evaluation.completeness * 96)
    assert evidence["threshold"] == procedure.confidence
    assert procedure.about["card"]["traffic"]["held_out"]


def test_the_bounds_are_those_of_clopper_and_pearson(middle):
    evidence = middle[1].about["point"]
    for good, n, name in (("right", "labelled", "accuracy"), ("labelled", "streams", "completeness")):
        interval = binomtest(evidence[good], evidence[n]).proportion_ci(0.90, "exact")
        assert evidence[f"{name}_at_least"] == pytest.approx(interval.low)


@given(st.integers(1, 60), st.data(), st.sampled_from([0.01, 0.05, 0.2]))
def test_a_bound_is_the_least_share_under_which_the_count_is_not_improbable(n, data, risk):
    good = data.draw(st.integers(0, n))
    low = lower_bound(good, n, risk)
    if good:
        assert binomtest(good, n, low, "greater").pvalue == pytest.approx(risk, rel=1e-6)
    else:
        assert low == 0.0


def test_the_threshold_of_a_point_means_the_same_after_the_calibration(found, middle):
    index, procedure = middle
    rows = tabulate(found.problem.streams, procedure.features).values.reshape(-1, len(procedure.features))
    said = procedure.classifier.calibrated(None).probabilities(rows).max(axis=1)
    calibrated = procedure.classifier.probabilities(rows).max(axis=1)
    threshold = found.points[index].threshold
    assert ((said >= threshold) == (calibrated >= procedure.confidence)).all()
    assert procedure.confidence != threshold


def test_the_threshold_of_a_point_means_the_same_if_the_calibration_halves_it(found, monkeypatch):
    index, point = next((i, p) for i, p in enumerate(found.points) if p.threshold > 0.6)
    plain = found.procedure(index)
    monkeypatch.setattr(Calibration, "fit", lambda *_: Calibration(1.0, -6.0))
    procedure = found.procedure(index)
    assert procedure.confidence == pytest.approx(0.5, abs=1e-6)
    assert procedure.classifier.calibration.of(point.threshold) < 0.5
    for name in ("labelled", "right", "ticks"):
        assert procedure.about["point"][name] == plain.about["point"][name]


def test_a_point_that_is_read_becomes_the_same_model(found, middle, streams, tmp_path):
    index, procedure = middle
    found.write(tmp_path / "front.csv")
    again = Front.read(tmp_path / "front.csv", exploration(streams, n_jobs=1))
    assert again.points == found.points
    model = again.procedure(index)
    assert model.digest == procedure.digest
    model.save(tmp_path / "m.streamfs")
    assert Procedure.load(tmp_path / "m.streamfs").about["point"] == procedure.about["point"]


@pytest.mark.parametrize(
    "options",
    [
        {"seed": 1},
        {"groups": np.arange(240) // 2},
        {"time_limit": 5},
        {"classifier": "c45"},
        {"pricing": "cc2420"},
        {"pricing": Pricing(prices={"loud": 2.0})},
    ],
)
def test_a_front_of_other_options_is_refused(found, streams, tmp_path, options):
    found.write(tmp_path / "front.csv")
    with pytest.raises(DataError, match="other streams or options"):
        Front.read(tmp_path / "front.csv", exploration(streams, n_jobs=1, **options))


def test_a_front_is_known_again_however_its_options_are_written(streams):
    plans = [
        exploration(streams, pricing=Pricing(prices={"loud": 2.0, "soft": 3.0}), time_limit=10),
        exploration(
            streams,
            FEATURES,
            pricing=Pricing(prices={"soft": 3.0, "loud": 2.0}),
            time_limit=timedelta(seconds=10),
            n_jobs=1,
        ),
    ]
    assert len({identity(plan) for plan in plans}) == 1


def test_fronts_of_earlier_versions_are_known_again():
    streams = StreamSet(np.arange(40.0).reshape(20, 2, 1), ["off", "on"] * 10, ["t"])
    assert identity(exploration(streams, ["mean(t)"])) == "4c550eb440bea79c"


def test_no_group_is_both_searched_and_set_apart(streams):
    groups = np.arange(len(streams)) // 4
    parts = exploration(streams, FEATURES, groups=groups).split
    place = dict(zip(streams.names, groups, strict=True))
    learning, testing = ({place[name] for name in part.names} for part in (parts.train, parts.test))
    assert not learning & testing


def test_a_point_that_labels_nothing_is_refused(found):
    nothing = Front((found.points[0]._replace(threshold=1.0),), found.problem)
    with pytest.raises(TrainingError, match="none of the 96 streams that were set apart gets a label"):
        nothing.procedure(0)


def test_a_decision_of_a_loaded_point_is_that_of_its_trajectories(middle):
    procedure = middle[1]
    fresh = noisy_streams(80, seed=5)
    values = tabulate(fresh, procedure.features).values
    rows = procedure.classifier.probabilities(values.reshape(-1, len(procedure.features)))
    shape = (*values.shape[:2], -1)
    confidence = rows.reshape(shape).max(axis=2)
    trajectories = Trajectories(rows.reshape(shape).argmax(axis=2), confidence, fresh.lengths)
    _, ticks = trajectories.decide(procedure.confidence)
    assert [decision.tick for decision in evaluate(procedure, fresh).decisions] == ticks.tolist()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"classifier": "qsfs1"}, ValueError, "classifier is 'qsfs1', expected one of extra-trees, c45"),
        ({"time_limit": timedelta(seconds=0.5)}, ValueError, "expected at least one tick of 1 s"),
        ({"accuracies": ()}, ValueError, "expected at least one of each"),
        ({"accuracies": (0.99999,)}, DataError, "record .* more"),
        ({"seconds": -1}, ValueError, "seconds is -1"),
        ({"select": "luck"}, ValueError, "select is 'luck', expected one of streamrelief"),
        ({"features": "mean(loud)"}, TypeError, r"expected a sequence of features: \['mean\(loud\)'\]"),
        ({"features": [3]}, TypeError, "features holds 3"),
        ({"features": []}, ValueError, "there are no features"),
        ({"features": ["mean(loud)", "mean(loud)"]}, ValueError, r"feature 'mean\(loud\)' is there twice"),
        ({"features": ["mean(quiet)"]}, DataError, "column 'quiet' does not exist, expected one of loud, soft"),
        ({"completenesses": (0.9999,), "accuracies": (0.5,)}, DataError, "record .* more"),
    ],
)
def test_wrong_options_are_refused_with_what_was_expected(streams, options, error, words):
    with pytest.raises(error, match=words):
        explore(streams, **grouped(**{"features": FEATURES, "n_jobs": 1, **options}))


def test_streams_of_one_class_are_refused():
    with pytest.raises(DataError, match="there is one class only"):
        exploration(StreamSet(np.zeros((20, 2, 1)), ["a"] * 20, ["t"]), ["mean(t)"])


def test_a_point_that_there_is_not_is_refused(found):
    with pytest.raises(ValueError, match=f"index is {len(found.points)}, expected 0 to {len(found.points) - 1}"):
        found.procedure(len(found.points))
