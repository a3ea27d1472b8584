"""Promised procedures from recorded streams; an engine decides as was certified."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.procedures import labelled_streams
from helpers.training_options import grouped
from numpy.testing import assert_allclose, assert_array_equal
from oracles import promises as naive_promises
from scipy.stats import binom

import feature_extractors as fx
from streamfs import Costs, Procedure, SearchSettings, StreamSet, evaluate, tabulate, train_promised
from streamfs.classifiers.boosted_trees import BoostedTrees
from streamfs.classifiers.calibration import Calibration
from streamfs.classifiers.forest import Forest
from streamfs.classifiers.tree import Tree
from streamfs.costs.pricing import Pricing
from streamfs.costs.radio_profiles import profile
from streamfs.costs.spending import MessageSpending
from streamfs.errors import DataError, TrainingError
from streamfs.evaluation.model_card import markdown
from streamfs.evaluation.traffic import measure_traffic
from streamfs.evaluation.trajectories import Trajectories
from streamfs.procedure import TickThresholds
from streamfs.selection.by_name import SELECTORS
from streamfs.training import held_out, learners
from streamfs.training.learners import tree_learner
from streamfs.training.promises import (
    Promise,
    PromiseError,
    problem,
    search_and_certify,
    split,
    subset_scorer,
)
from streamfs.training.promises.candidates import Candidates
from streamfs.training.promises.certificate import walk
from streamfs.training.promises.finalists import Finalist
from streamfs.training.promises.held_out import HeldOut
from streamfs.training.promises.problem import PromiseProblem
from streamfs.training.promises.search_and_certify import PromiseTrainer
from streamfs.training.promises.split import TrainTestSplit
from streamfs.training.promises.subset_score import SubsetScore, evaluate_starts

FEATURES = ["mean(a.level)", "mean(b.level)", "mean(a.noise)"]
PROMISE = Promise(accuracy=0.8, completeness=0.8, risk=0.1)


def kept(streams, **options):
    """A procedure that keeps a low promise, of extra trees unless the options say otherwise."""
    options = {"classifier": "extra-trees", "as_offered": True, "n_jobs": 1, **options}
    given = {"features": FEATURES, "promise": PROMISE, **options}
    return train_promised(streams, **grouped(**given))


@pytest.fixture(scope="module")
def streams():
    return labelled_streams(n_streams=160, n_ticks=10)


@pytest.fixture(scope="module")
def procedure(streams):
    return kept(streams)


@pytest.fixture(scope="module")
def late(streams):
    """A procedure that decides nothing before tick 4."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(problem, "starts_of", lambda *_: (4,))
        return kept(streams)


@pytest.fixture(scope="module")
def scores(streams, tmp_path_factory):
    """What a search by C4.5 has written."""
    path = tmp_path_factory.mktemp("scores") / "search.jsonl"
    kept(streams, classifier="c45", resume=path)
    return path.read_bytes()


@pytest.fixture
def plan(streams):
    return PromiseProblem(
        streams,
        PROMISE,
        [fx.get(name) for name in FEATURES],
        Pricing(profile("transmissions")),
        make_selector=None,
        learners=("c45",),
        min_leaf=2,
        time_limit=10,
        groups=None,
        search=SearchSettings(as_offered=True),
        seed=0,
        n_jobs=1,
    )


def waiting(n_streams=160, n_ticks=16, start=9, seed=0):
    """Two classes that no tick separates before a given one, in two redundant columns."""
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(n_streams) % 2, "on", "off")
    step = (labels == "on")[:, np.newaxis] & (np.arange(1, n_ticks + 1) >= start)
    values = np.stack([4.0 * step + rng.normal(0, 1, step.shape) for _ in range(2)], axis=2)
    return StreamSet(values, labels, ["a.level", "b.load"])


class TestTheEvidence:
    def test_equals_the_decisions_of_an_engine_on_the_test_streams(self, streams, procedure):
        evidence, testing = procedure.about["promise"], TrainTestSplit.of(streams, None, 0).test
        evaluation = evaluate(procedure, testing)
        assert evidence["streams"] == len(testing)
        assert evidence["searched_on"] == len(streams) - len(testing)
        assert evaluation.completeness == evidence["labelled"] / evidence["streams"] >= 0.8
        assert evaluation.accuracy == evidence["right"] / evidence["labelled"] >= 0.8
        assert evaluation.ticks == evidence["ticks"]
        by_class = {row["class"]: row for row in evaluation.by_class()}
        for ours, theirs in (("streams_of", "streams"), ("labelled_as", "labelled"), ("right_of", "right")):
            assert evidence[ours] == {label: row[theirs] for label, row in by_class.items()}
        assert {row["accuracy"] for row in by_class.values()} == {
            evidence["right_of"][label] / evidence["labelled_as"][label] for label in by_class
        }
        assert evaluation.rule.levels[0] == evidence["threshold"]

    def test_is_the_messages_that_were_sent_until_then(self, streams, procedure):
        testing = TrainTestSplit.of(streams, None, 0).test
        spent = MessageSpending(testing, procedure.channels, testing.lengths).until(procedure.features)
        decisions = evaluate(procedure, testing).decisions
        assert_allclose(
            procedure.about["promise"]["cost"],
            np.mean([spent[i, decision.tick - 1] for i, decision in enumerate(decisions)]),
        )

    def test_has_the_messages_that_were_sent_before_an_episode_opened(self):
        recorded = labelled_streams(n_streams=160, n_ticks=10)
        recorded.values[::3, :3, 3] = np.nan
        distance, mild = "mean_absolute_difference(a.level, b.noise)", Promise(0.55, 0.5, 0.2)
        found = kept(recorded, features=[distance], promise=mild, classifier="c45")
        testing = TrainTestSplit.of(recorded, None, 0).test
        assert_allclose(found.about["promise"]["cost"], sum(measure_traffic(found, testing).channels.values()))

    def test_is_small_were_the_promise_just_broken(self, procedure):
        evidence = procedure.about["promise"]
        n, labelled = evidence["streams"], evidence["labelled"]
        accurate = naive_promises.accuracy_p_value(labelled, labelled - evidence["right"], 0.8)
        complete = naive_promises.completeness_p_value(n, labelled, 0.8)
        assert_allclose([evidence["p_accuracy"], evidence["p_completeness"]], [accurate, complete], rtol=1e-9)
        assert max(accurate, complete) <= evidence["risk"] == 0.1

    def test_reports_the_number_of_subsets_scored(self, streams):
        assert kept(streams, strategy="exhaustive").about["promise"]["subsets"] == 7

    def test_of_a_promise_without_completeness_says_so(self, streams):
        evidence = kept(streams, promise=Promise(0.8, risk=0.1)).about["promise"]
        assert (evidence["completeness"], evidence["p_completeness"]) == (None, None)


class TestTheProcedure:
    @pytest.mark.parametrize("model", ["c45", "extra-trees", "boosting"])
    @pytest.mark.parametrize("channel", ["a.level", "a.level@delta:0.5"])
    def test_decides_when_it_is_loaded_as_the_trajectories_that_were_tested(self, tmp_path, model, channel):
        recorded = labelled_streams(n_streams=160, n_ticks=10, gaps=0.1)
        features = [f"mean({channel})", "min(b.level@every:2)", "mean(b.noise)"]
        found = kept(recorded, features=features, classifier=model, max_silence=4.0)
        assert found.about["classifier"] == model
        assert isinstance(found.classifier, {"c45": Tree, "extra-trees": Forest, "boosting": BoostedTrees}[model])
        found.save(tmp_path / "kept.streamfs")
        loaded = Procedure.load(tmp_path / "kept.streamfs")
        assert loaded.digest == found.digest
        assert loaded.about == found.about
        unseen = labelled_streams(n_streams=60, n_ticks=10, gaps=0.2, seed=7)
        lengths = np.random.default_rng(1).integers(0, 11, 60)
        unseen = StreamSet(unseen.values, unseen.labels, unseen.columns, lengths=lengths)
        table = tabulate(unseen, found.features, 4.0)
        trajectories = Trajectories.of(found.classifier, table, found.time_limit)
        classes, ticks = trajectories.decide(found.rule)
        assert 0 < (classes >= 0).sum() < 60
        for decision, place, tick in zip(evaluate(loaded, unseen).decisions, classes, ticks, strict=True):
            assert decision.label == (None if place < 0 else found.classes[place])
            assert decision.tick == tick

    def test_is_the_same_for_any_number_of_threads_and_each_time(self, streams, procedure):
        for n_jobs in (2, 1, -1):
            again = kept(streams, n_jobs=n_jobs)
            assert again.digest == procedure.digest
            assert again.about == procedure.about

    def test_keeps_its_promise_on_streams_to_come(self, procedure):
        evaluation = evaluate(procedure, labelled_streams(n_streams=1000, n_ticks=10, seed=5))
        assert evaluation.accuracy > 0.8
        assert evaluation.completeness > 0.8

    def test_has_no_feature_that_its_classifier_does_not_test(self, streams):
        found = kept(streams, classifier="c45")
        assert found.classifier.features_tested() == tuple(range(len(found.features)))
        assert "count()" not in [feature.name for feature in found.features]

    def test_charges_a_channel_that_features_share_once(self, streams):
        features = ["mean(a.level)", "max(a.level)", "min(a.level)"]
        found = kept(streams, features=features)
        assert len(found.features) > 1
        assert_allclose(found.costs.each.sum(), 1.0)

    def test_knows_all_classes(self, streams):
        labels = np.where(np.arange(160) % 8 == 3, "aaa", streams.labels)
        values = streams.values + np.where(labels == "aaa", 9.0, 0.0)[:, np.newaxis, np.newaxis]
        three = StreamSet(values, labels, streams.columns)
        found = kept(three)
        assert found.classes == ("aaa", "busy", "calm")
        assert evaluate(found, three).accuracy > 0.8

    def test_names_the_group_that_fares_worst(self, streams):
        rooms = np.array([f"room{i % 16}" for i in range(len(streams))])
        found = kept(streams, groups=rooms)
        worst = found.about["promise"]["worst_group"]
        testing = TrainTestSplit.of(streams, rooms, 0)
        decisions = evaluate(found, testing.test).decisions
        right = {room: [] for room in testing.test_groups}
        for decision, label, room in zip(decisions, testing.test.labels, testing.test_groups, strict=True):
            if decision.label is not None:
                right[room].append(decision.label == label)
        assert worst["right"] / worst["labelled"] == min(np.mean(each) for each in right.values() if each)
        assert (worst["labelled"], worst["right"]) == (len(right[worst["group"]]), sum(right[worst["group"]]))
        assert f"Of its groups `{worst['group']}` fared worst" in markdown(found)
        assert "fared worst" not in markdown(kept(streams))

    def test_may_be_of_each_class(self, streams):
        with pytest.raises(
            PromiseError, match=r"accuracy 0\.9[0-9]* of each class .* of the streams of each class "
        ):
            kept(streams, promise=Promise(0.95, risk=0.1, per_class="found"))
        found = kept(streams, promise=Promise(0.75, risk=0.1, per_class="found"))
        evidence = found.about["promise"]
        for label, n in evidence["streams_of"].items():
            assert binom.cdf(n - evidence["right_of"][label], n, 0.25) <= 0.1
        card = markdown(found)
        assert (
            "At least 75 % of the labels are right, and as many of the streams of each class get its label" in card
        )
        assert "not of each class" not in card
        assert "not of each class" in markdown(kept(streams))

    def test_takes_numbers_of_numpy(self, streams, tmp_path):
        found = kept(streams, promise=Promise(np.float64(0.8), np.float32(0.75), np.float64(0.1)))
        found.save(tmp_path / "kept.streamfs")
        assert Procedure.load(tmp_path / "kept.streamfs").about["promise"]["completeness"] == 0.75

    def test_ends_at_the_horizon(self, streams):
        one, other = kept(streams, horizon=6), kept(streams, time_limit=6)
        assert one.time_limit == 6
        assert one.digest == other.digest


class TestTheCheapest:
    def test_channel_of_two_that_say_the_same_is_taken(self):
        recorded = waiting(start=3)
        features = ["last(a.level)", "last(b.load)"]
        for dear, cheap in (("level", "b.load"), ("load", "a.level")):
            found = kept(recorded, features=features, prices={dear: 3.0})
            assert found.channels == (cheap,)

    def test_policy_is_found_where_it_must_be(self):
        recorded = waiting()
        plain = kept(recorded, features=["last(a.level)"])
        found = kept(recorded, features=["last(a.level)"], as_offered=False)
        assert plain.channels == ("a.level",)
        assert all("@" in channel for channel in found.channels)
        assert found.about["promise"]["cost"] < 0.6 * plain.about["promise"]["cost"]
        assert found.about["promise"]["accuracy"] == 0.8

    def test_feature_by_costs_of_ones_own_is_taken(self):
        recorded, features = waiting(start=2), ["last(a.level)", "last(b.load)"]
        for costs, name in ((Costs([5.0, 1.0], [0.0, 2.0]), "last(b.load)"), (Costs([1.0, 5.0]), "last(a.level)")):
            found = kept(recorded, features=features, costs=costs, as_offered=False)
            paid = [feature.name for feature in found.features if feature.columns]
            assert paid == [name]
            evidence = found.about["promise"]
            once = costs.once[features.index(name)]
            assert_allclose(evidence["cost"], evidence["ticks"] + once)
            assert_allclose(found.costs.classification(3), 3 + once)

    def test_exhaustive_search_is_not_dearer_than_a_floating_one(self, plan):
        trainer = plan.trainer()
        floating = trainer.search(trainer.scorer(PROMISE))
        assert trainer.search(trainer.scorer(PROMISE), "exhaustive").score >= floating.score

    @pytest.mark.parametrize("select", ["streamrelief", "literal", "relief"])
    def test_of_many_features_is_searched_among_those_that_are_proposed(self, streams, select):
        names = [f"{kind}({column})" for kind in ("mean", "max", "min") for column in streams.columns]
        found = kept(streams, features=names, select=select, classifier="c45")
        assert any(f.name in names for f in found.features)
        assert found.about["promise"]["subsets"] < 300


class TestTheStart:
    """The tick before which nothing is decided."""

    def test_is_the_first_tick_where_that_suffices(self, procedure):
        assert procedure.about["promise"]["start"] == 1
        assert procedure.rule.ticks[0] == 1

    def test_is_in_the_model_and_what_an_engine_decides_is_what_was_certified(self, streams, late, tmp_path):
        evidence = late.about["promise"]
        assert evidence["start"] == 4
        given_up = evidence.get("patience"), evidence.get("floor", 0.0)
        assert late.stopping == TickThresholds.since(4, evidence["threshold"], *given_up)
        assert f"{evidence['threshold']:.3g} from tick 4" in late.text()
        late.save(tmp_path / "late.streamfs")
        found = evaluate(Procedure.load(tmp_path / "late.streamfs"), TrainTestSplit.of(streams, None, 0).test)
        assert min(decision.tick for decision in found.decisions) == 4
        assert found.completeness == evidence["labelled"] / evidence["streams"]
        assert found.accuracy == evidence["right"] / evidence["labelled"]
        assert found.ticks == evidence["ticks"]

    def test_is_on_the_card_which_says_if_the_rule_is_another(self, late):
        assert "from tick 4" in markdown(late)
        assert "Nothing is promised" not in markdown(late)
        for other in (late.with_confidence(late.confidence), late.with_stopping(TickThresholds((3,), (0.9,)))):
            assert "**Nothing is promised of this model.** What follows was certified at" in markdown(other)

    def test_is_at_most_a_tick_that_enough_streams_of_each_class_reach(self, plan):
        table = plan.trainer().scouted.table
        assert problem.starts_of(table, 10, 0.5)[0] == 1
        assert problem.starts_of(table, 10, 0.5)[-1] == 10
        assert problem.starts_of(table, 6, 0.5)[-1] == 6
        short = np.where(table.labels == "calm", 3, 10)
        assert problem.starts_of(replace(table, lengths=short), 10, 0.5) == (1, 2, 3)
        assert problem.starts_of(replace(table, lengths=0 * short), 10, 0.5) == (1,)
        some = np.where(np.arange(len(short)) % 7 < 2, 4, 10)
        assert [problem.starts_of(replace(table, lengths=some), 10, share)[-1] for share in (0.6, 0.8)] == [10, 4]

    def test_classifiers_are_fitted_to_the_ticks_from_it_on(self, plan):
        table, seen = plan.trainer().scouted.table, []
        table = replace(table, lengths=np.where(np.arange(96) % 2, 10, 3))
        learners.since(seen.append, 4, 8)(table)
        assert_array_equal(seen[0].values, table.values[:, 3:8])
        assert_array_equal(seen[0].lengths, np.where(np.arange(96) % 2, 7, 0))
        rows, _ = seen[0].rows()
        assert rows.tolist() == [i for _ in range(5) for i in range(1, 96, 2)]
        assert learners.since(seen.append, 1, 8) == seen.append

    def test_a_curve_from_it_on_has_what_thresholds_from_it_on_decide(self, plan):
        trainer = replace(plan.trainer(), falls=())
        model = replace(trainer.fit(trainer.candidates.proposed, PROMISE), start=3)
        test = plan.split.test
        table = tabulate(test, model.features)
        trajectories = Trajectories.of(model.classifier, table, 10)
        for point in trainer.curve(model, test).thinned(9).points():
            classes, ticks = trajectories.decide(TickThresholds((3,), (point.threshold,)))
            assert_allclose([point.completeness, point.ticks], [(classes >= 0).mean(), ticks.mean()])


class TestWhatMayBePaid:
    def test_a_promise_that_costs_more_is_refused(self, streams, procedure):
        assert kept(streams, max_cost=1e6).digest == procedure.digest
        asked = r"accuracy 0\.8 at completeness 0\.8 \(risk 0\.1\)"
        message = r" costs [\d.]+ a stream on the streams of the test, expected at most 0\.1: allow more"
        with pytest.raises(PromiseError, match=asked + message) as refused:
            kept(streams, max_cost=0.1)
        assert refused.value.best.cost > 0.1
        assert refused.value.streams_needed is None

    def test_of_a_promise_without_completeness_a_label_is_paid_for(self, streams):
        mild = Promise(0.8, risk=0.1)
        evidence = kept(streams, promise=mild).about["promise"]
        a_label = evidence["cost"] * evidence["streams"] / evidence["labelled"]
        if a_label > evidence["cost"]:
            with pytest.raises(PromiseError, match=r"a label on the streams of the test, expected at most 0\.1"):
                kept(streams, promise=mild, max_cost=0.1)


class TestTheTestIsApart:
    def test_search_fit_and_order_of_thresholds_do_not_depend_on_the_test_streams(self, plan, monkeypatch):
        walked, trainer = [], plan.trainer()
        scorer = trainer.scorer(PROMISE)
        found = trainer.search(scorer)
        model = trainer.fit(found.subset, PROMISE, found.start)

        def spy(curve, promise, thresholds):
            walked.append((curve, promise, thresholds.tolist()))
            return certify(curve, promise, thresholds)

        certify = search_and_certify.certify
        monkeypatch.setattr(search_and_certify, "certify", spy)
        trainer.certify(model, PROMISE)
        test = plan.split.test
        other = StreamSet(-test.values[::-1], test.labels, test.columns)
        apart = replace(trainer, split=plan.split._replace(test=other))
        again = apart.scorer(PROMISE)
        model_again = apart.fit(apart.search(again).subset, PROMISE, found.start)
        assert again.scores == scorer.scores
        assert model_again.classifier.to_json() == model.classifier.to_json()
        with pytest.raises(PromiseError):
            apart.certify(model_again, PROMISE)
        (curve, _, order), (other_curve, _, other_order) = walked
        assert order == other_order == walk(model.held_out, PROMISE, len(test)).thresholds.tolist()
        assert curve.points() != other_curve.points()

    def test_groups_are_never_on_both_sides(self, streams, monkeypatch):
        groups = np.array([f"room {i // 4}" for i in range(160)])
        made = []
        for module in (split, held_out):

            def spy(X, y, sites, cv, seed, make_folds=module.make_folds):
                made.append((np.asarray(sites), make_folds(X, y, sites, cv, seed)))
                return made[-1][1]

            monkeypatch.setattr(module, "make_folds", spy)
        kept(streams, groups=groups.tolist(), classifier="c45")
        assert len(made) >= 2
        assert {len(sites) for sites, _ in made[1:]} == {96}
        for sites, folds in made:
            for fold in folds:
                assert not set(sites[fold.training]) & set(sites[fold.test])
        train = set(made[1][0])
        assert not train & (set(groups) - train)
        assert set(made[0][0]) == set(groups)

    def test_streams_of_a_room_are_tested_together(self, streams):
        groups = np.arange(160) % 16
        parts = TrainTestSplit.of(streams, groups, 0)
        rooms = [{groups[streams.names.index(name)] for name in part.names} for part in parts[:2]]
        assert not rooms[0] & rooms[1]
        assert kept(streams, groups=groups).about["promise"]["streams"] == len(parts.test)


class TestRefusals:
    def test_noise_keeps_no_promise_however_many_there_are(self, streams):
        with pytest.raises(PromiseError, match="cannot be promised: the best threshold") as refused:
            kept(streams, features=["mean(a.noise)", "mean(b.noise)"])
        error = refused.value
        assert error.streams_needed is None
        assert error.best.accuracy < 0.8
        labelled = [point["completeness"] for point in error.curve]
        assert labelled == sorted(labelled)
        assert error.best._asdict() in error.curve or len(error.curve) == 12

    def test_a_promise_nearly_kept_says_how_many_streams_would_do(self):
        few = labelled_streams(n_streams=100, n_ticks=3)
        names = ["mean(a.noise)", "last(b.level@flag:2)"]
        with pytest.raises(
            PromiseError, match=r"about \d+ streams are needed, \d+ more than there are"
        ) as refused:
            kept(few, features=names, promise=Promise(0.84, 0.5, 0.02), classifier="c45")
        needed = refused.value.streams_needed
        assert needed > 100
        assert f"about {needed} streams are needed, {needed - 100} more than there are" in str(refused.value)
        assert refused.value.best.accuracy > 0.84

    def test_few_streams_are_refused_before_anything_is_fitted(self, streams, monkeypatch):
        monkeypatch.setattr(HeldOut, "curves", None)
        with pytest.raises(DataError, match="of 160 streams 64 are left for the test, expected at least 299"):
            kept(streams, promise=Promise(0.99, risk=0.05))

    def test_constant_features_are_refused(self, streams):
        flat = StreamSet(np.ones_like(streams.values), streams.labels, streams.columns)
        with pytest.raises(TrainingError, match="tells the classes apart on 96 streams"):
            kept(flat, classifier="c45")

    def test_a_class_without_readings_is_named(self, streams):
        values = streams.values.copy()
        values[streams.labels == "calm", :, 1] = np.nan
        with pytest.raises(DataError, match=r"class 'calm' .* b\.level has 0 readings"):
            kept(StreamSet(values, streams.labels, streams.columns))


class TestGoingOn:
    def counted(self, monkeypatch):
        """Count the curves that are computed."""
        asked = []

        def curves(held, chosen, starts, compute=HeldOut.curves):
            asked.append(tuple(chosen))
            return compute(held, chosen, starts)

        monkeypatch.setattr(HeldOut, "curves", curves)
        return asked

    def test_a_finished_search_is_not_scored_again(self, streams, tmp_path, monkeypatch):
        asked, path = self.counted(monkeypatch), tmp_path / "search.jsonl"
        first = kept(streams, classifier="c45", resume=path)
        n_first, written = len(asked), path.read_bytes()
        again = kept(streams, classifier="c45", resume=path, n_jobs=2)
        assert again.digest == first.digest
        assert again.about == first.about
        assert path.read_bytes() == written
        assert 2 * n_first - len(asked) == first.about["promise"]["subsets"] == written.count(b"\n")

    @pytest.mark.parametrize("n_lines", [0, 1, 3])
    def test_a_search_that_was_stopped_goes_the_same_way(self, streams, tmp_path, n_lines):
        path = tmp_path / "search.jsonl"
        first = kept(streams, classifier="c45", resume=path)
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:n_lines]) + lines[n_lines][:-9])
        assert kept(streams, classifier="c45", resume=path).digest == first.digest
        assert path.read_bytes().splitlines(keepends=True) == lines

    @pytest.mark.parametrize(
        "other",
        [
            {"seed": 1},
            {"promise": Promise(0.8, 0.8, 0.2)},
            {"time_limit": 9},
            {"min_leaf": 3},
            {"prices": {"level": 2.0}},
            {"profile": "esp32_wifi"},
            {"groups": np.arange(160) // 2},
            {"max_silence": 5.0},
            {"classifier": "extra-trees"},
            {"max_cost": 1e6},
            {"streams": "columns"},
            {"streams": "period"},
            {"streams": "lengths"},
            {"streams": "labels"},
        ],
        ids=str,
    )
    def test_scores_of_another_problem_do_not_count(self, streams, scores, tmp_path, other, monkeypatch):
        path, options = tmp_path / "search.jsonl", {"classifier": "c45", **other}
        path.write_bytes(scores)
        values, labels, columns = streams.values, streams.labels, streams.columns
        changed = {
            "columns": (values, labels, [columns[1], columns[0], *columns[2:]]),
            "period": (values, labels, columns, 2.0),
            "lengths": (values, labels, columns, 1.0, None, np.full(160, 9)),
            "labels": (values, np.roll(labels, 1), columns),
            None: (values, labels, columns),
        }
        asked = self.counted(monkeypatch)
        kept(StreamSet(*changed[options.pop("streams", None)]), resume=path, **options)
        assert path.read_bytes().startswith(scores)
        assert path.read_bytes().count(b"\n") - scores.count(b"\n") > 3
        assert len(asked) > 3

    def test_scores_of_another_version_do_not_count(self, plan, monkeypatch):
        before = plan._digest()
        assert plan._digest() == before
        monkeypatch.setattr("streamfs.training.promises.problem.SCORES_VERSION", 0)
        assert plan._digest() != before

    def test_another_file_is_not_written_over(self, streams, tmp_path):
        path = tmp_path / "mine.json"
        path.write_bytes(b'{"my": "data"}')
        with pytest.raises(DataError, match=r"line 1 of .*mine\.json"):
            kept(streams, resume=path)
        assert path.read_bytes() == b'{"my": "data"}'


class TestTime:
    def test_the_best_so_far_is_used_when_the_time_is_over(self, streams, monkeypatch):
        now = iter(range(1000))
        monkeypatch.setattr(subset_scorer.time, "monotonic", lambda: float(next(now)))
        found = kept(streams, classifier="c45", seconds=2.5)
        assert found.about["promise"]["subsets"] == 2
        assert evaluate(found, streams).accuracy > 0.8

    def test_progress_is_reported(self, streams):
        told = []
        kept(streams, classifier="c45", progress=lambda *step: told.append(step))
        what = list(dict.fromkeys(step[0] for step in told))
        assert what == ["computing the features", "searching the cheapest features", "building the classifier"]
        *done, end = [step[1:] for step in told if step[0] == "searching the cheapest features"]
        assert done == [(n, 0) for n in range(1, len(done) + 1)]
        assert end == (len(done), len(done))


class TestWrongArguments:
    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"promise": 0.9}, TypeError, r"promise is 0.9, expected a Promise, such as Promise\(accuracy=0.9\)"),
            ({"promise": {"accuracy": 0.9}}, TypeError, "expected a Promise"),
            ({"confidence": 0.9}, TypeError, "unexpected keyword argument 'confidence'"),
            ({"classifier": "qsfs1"}, ValueError, "classifier is 'qsfs1', expected one of extra-trees, c45"),
            ({"classifier": "forest"}, ValueError, "classifier is 'forest', expected one of extra-trees, c45"),
            ({"strategy": "best"}, ValueError, "strategy is 'best', expected one of floating, exhaustive"),
            ({"seconds": 0}, ValueError, "seconds is 0, expected a number of more than 0"),
            ({"seconds": float("nan")}, ValueError, "seconds is nan, expected a number of more than 0"),
            ({"seconds": "1"}, ValueError, "seconds is '1', expected a number"),
            ({"max_cost": -1.0}, ValueError, "max_cost is -1.0, expected a number of more than 0"),
            ({"seed": -1}, ValueError, "seed is -1, expected a whole number, 0 to 2147483647"),
            ({"seed": None}, ValueError, "seed is None, expected a whole number"),
            ({"n_jobs": 0}, ValueError, "n_jobs is 0, expected a whole number of threads, or -1 for all"),
            ({"n_jobs": 1.5}, ValueError, "n_jobs is 1.5, expected a whole number"),
            ({"groups": [1, 2]}, DataError, r"groups have shape \(2,\), expected \(160,\), one a stream"),
            ({"groups": np.arange(160) % 9}, DataError, "there are 9 groups, expected at least 10"),
            ({"groups": [None, *range(159)]}, DataError, "the group of stream pair-000 is None"),
            ({"prices": {"light": 2.0}}, DataError, "there is a price of 'light', expected one of level, noise"),
            ({"prices": {"level": -1.0}}, ValueError, "price of level is -1.0, expected a finite number"),
            ({"costs": Costs([1.0])}, ValueError, "there are 1 costs, expected 3, one a feature"),
            ({"time_limit": 0}, ValueError, "time limit is 0, expected whole ticks, at least 1"),
            ({"time_limit": 3, "horizon": 3}, ValueError, "horizon is 3 and time_limit 3, expected one of them"),
            ({"max_silence": 0.5}, ValueError, "max_silence is 0.5 s, expected at least a tick of 1 s"),
            ({"features": ["count()"]}, TrainingError, r"none of count\(\) is left to search"),
            ({"features": ["mean(z)"]}, DataError, "column 'z' does not exist"),
            ({"select": "best"}, ValueError, "select is 'best', expected one of streamrelief"),
            ({"resume": "."}, IsADirectoryError, "Is a directory"),
            ({"resume": "no/where.jsonl"}, FileNotFoundError, r"no/where\.jsonl"),
        ],
        ids=str,
    )
    def test_are_named(self, streams, options, error, message):
        with pytest.raises(error, match=message):
            kept(streams, **options)

    def test_many_features_are_not_exhausted(self, streams):
        names = [f"{kind}({column})" for kind in ("mean", "max", "min") for column in streams.columns]
        with pytest.raises(ValueError, match="there are 12 features to exhaust, expected at most 10"):
            kept(streams, features=names, strategy="exhaustive")

    @pytest.mark.parametrize("select", ["streamrelief", None])
    def test_many_features_of_a_few_channels_are_not_exhausted_either(self, streams, select):
        channels = ("a.level", "a.level@delta:0.5")
        names = [f"{kind}({c})" for kind in ("mean", "max", "min", "last", "range", "slope") for c in channels]
        with pytest.raises(ValueError, match="there are 12 features to exhaust, expected at most 10"):
            kept(streams, features=names, strategy="exhaustive", select=select)


def test_a_rare_class_that_only_the_test_has_is_refused_before_anything_is_fitted(streams, monkeypatch):
    monkeypatch.setattr(HeldOut, "curves", None)
    sites = np.arange(160) % 20
    labels = np.where(np.isin(sites, [3, 4]), "aaa", np.where(sites % 2, "a", "b"))
    recorded = StreamSet(streams.values, labels, streams.columns)
    seeds = [s for s in range(30) if refuses(recorded, sites, s)]
    assert seeds
    with pytest.raises(DataError, match=r"of 2 groups of class 'aaa' (none|1) is left to train on"):
        kept(recorded, groups=sites, seed=seeds[0])


def refuses(recorded, sites, seed):
    try:
        TrainTestSplit.of(recorded, sites, seed)
    except DataError:
        return True
    return False


def test_the_learner_that_is_cheaper_on_the_features_found_is_fitted(plan):
    trainer = plan.trainer()
    both = {"c45": trainer.learners["c45"], "stump": tree_learner(40, 10)}
    trainer = replace(trainer, learners=both)
    found = trainer.search(trainer.scorer(PROMISE))
    cheaper = max(both, key=lambda name: trainer.evaluate_learner(name, found, PROMISE).score)
    assert trainer.fit(found.subset, PROMISE, found.start).learner == cheaper == "c45"


def test_subsets_are_scored_by_their_chance_in_a_test_of_the_size_of_the_test_streams(plan):
    trainer, subset = plan.trainer(), plan.candidates.proposed[-1:]
    curves = trainer.scouted.curves([*plan.candidates.free, *subset], trainer.starts)
    by_64, by_96 = (evaluate_starts(curves, PROMISE, n, subset) for n in (64, 96))
    scorer = trainer.scorer(PROMISE)
    trainer.search(scorer, "exhaustive")
    assert trainer.evaluate(subset, PROMISE) == scorer.scores[subset] == by_64
    assert by_64.chance != by_96.chance


def test_thresholds_mean_the_same_if_the_calibration_halves_them(plan, monkeypatch):
    trainer, test = plan.trainer(), plan.split.test
    plain = trainer.fit(plan.candidates.proposed, PROMISE)
    monkeypatch.setattr(Calibration, "fit", lambda *_: Calibration(1.0, -6.0))
    half = trainer.fit(plan.candidates.proposed, PROMISE)
    assert_allclose(half.held_out.thresholds[-3:], 0.5, atol=1e-6)
    counts, plain_counts = (trainer.curve(m, test).at(m.held_out.thresholds) for m in (half, plain))
    assert_array_equal(counts, plain_counts)


def test_a_class_that_no_stream_of_the_test_has_does_not_change_what_the_others_are_called(plan):
    trainer, test = plan.trainer(), plan.split.test
    calm = test.take(np.flatnonzero(test.labels == "calm"))
    model = trainer.fit(plan.candidates.proposed, PROMISE)
    assert trainer.curve(model, calm).accuracy[-1] > 0.8


def test_values_are_held_equally_long_in_search_fit_and_test(plan, monkeypatch):
    asked = []
    for module in (learners, problem, search_and_certify):
        monkeypatch.setattr(module, "tabulate", lambda *args: asked.append(args[2]) or tabulate(*args))
    held = replace(plan, pricing=replace(plan.pricing, max_silence=2.0))
    trainer = held.trainer()
    trainer.curve(trainer.fit(held.candidates.proposed, PROMISE), held.split.test)
    assert len(asked) >= 3
    assert set(asked) == {2.0}


@pytest.mark.parametrize(("own", "ways"), [(None, 2), (dict.fromkeys(FEATURES, (1.0, 0.0)), 1)])
def test_features_are_added_together_only_if_they_share_costs(plan, own, ways):
    candidates = replace(plan, pricing=replace(plan.pricing, own=own)).candidates
    assert len(candidates.groupings) == ways


@pytest.mark.parametrize(
    ("n_features", "search", "is_ranked"),
    [(10, "floating", False), (11, "floating", True), (11, "exhaustive", False)],
)
def test_many_features_are_ranked_but_not_a_few_nor_those_to_exhaust(plan, n_features, search, is_ranked):
    windows = [fx.get(f"mean(a.level; window={n})") for n in range(2, n_features + 2)]
    asked = replace(plan, features=windows, search=SearchSettings(search), make_selector=SELECTORS["relief"])
    assert (asked._propose(plan.streams) is not None) == is_ranked


def test_the_subset_found_is_followed_at_every_tick(plan, monkeypatch):
    monkeypatch.setattr(problem, "SCOUTED_TICKS", 4)
    trainer = plan.trainer()
    assert len(trainer.scouted.ticks) == 4
    assert trainer.held_out("c45").ticks.tolist() == list(range(1, 11))


def test_all_subsets_of_the_offered_features_are_searched_and_no_variants():
    streams = StreamSet(np.random.default_rng(0).normal(size=(20, 16, 1)), ["off", "on"] * 10, ["t"])
    found = Candidates.among(streams, [fx.get("mean(t)"), fx.get("max(t)")], None, vary=True)
    assert [found.features[place].name for place in found.proposed] == ["mean(t)", "max(t)"]
    assert len(found.features) > 3


def test_all_features_and_all_columns_as_recorded_are_scored_beside_what_is_searched(streams):
    names = [
        "mean(a.level@every:2)",
        "max(b.level)",
        "flag_agreement(a.level@flag:2, b.level@flag:2; threshold=0.5)",
    ]
    found = Candidates.among(streams, [fx.get(name) for name in names], None, vary=True)
    everything, recorded = ([found.features[i].name for i in subset] for subset in found.plain)
    assert everything == names
    assert sorted(recorded) == ["max(b.level)", "mean(a.level)"]
    offered = Candidates.among(streams, [fx.get(name) for name in FEATURES], None, vary=True)
    assert offered.plain == (offered.proposed,)


def test_what_a_search_has_found_must_be_better_than_what_was_not_searched_by_more_than_luck(plan, monkeypatch):
    trainer = plan.trainer()
    scorer = trainer.scorer(PROMISE)
    trainer.search(scorer)
    found = []
    monkeypatch.setattr(PromiseTrainer, "_fitted", lambda _, best: found.append(best.way[0]))
    for doubt in (-2.0, 50.0):
        monkeypatch.setattr(search_and_certify, "doubt_of", lambda is_plain, _, d=doubt: 0.0 if is_plain else d)
        trainer.fit_best(scorer)
    assert len(found[0]) < len(found[1]) == len(plan.candidates.proposed)


def test_what_waits_is_doubted_more_and_the_best_that_does_not_is_tried_with_each_learner(plan, monkeypatch):
    trainer = replace(plan.trainer(), learners=dict.fromkeys(("extra-trees", "c45")), starts=(1, 4))
    plain, found = plan.candidates.plain[-1], plan.candidates.plain[-1][:1]
    scorer = trainer.scorer(PROMISE)
    scorer.scores |= {subset: SubsetScore(subset, 0.9, 1.0, 0.0, start=4) for subset in (plain, found)}
    followed = []

    def follow(_, way, learner, __):
        followed.append((*way, learner))
        score = SubsetScore(way[0], 0.1 * way[1] + 0.01 * len(way[0]), 1.0, 0.0)
        return Finalist(way, learner, score, None, None, None)

    monkeypatch.setattr(PromiseTrainer, "_followed", follow)
    monkeypatch.setattr(PromiseTrainer, "_fitted", lambda _, best: best)
    assert trainer.fit_best(scorer).way[:2] == (plain, 4)
    ways = [(plain, 4, 0.0), (plain, 1, 0.0), (found, 4, 1.0), (found, 1, 0.5)]
    assert sorted(each[:3] for each in followed if each[3] == "extra-trees") == sorted(ways)
    assert {each[:3] for each in followed if each[3] == "c45"} == {*ways[:3]}


def test_a_search_is_no_worse_than_all_features(plan):
    trainer = plan.trainer()
    scorer = trainer.scorer(PROMISE)
    found = trainer.search(scorer)
    assert set(plan.candidates.plain) <= set(scorer.scores)
    assert found.score >= trainer.evaluate(plan.candidates.proposed, PROMISE).score


def test_costs_of_ones_own_are_weighed_as_they_say(streams):
    alike, weighed = (
        kept(streams, costs=Costs([1.0, 1.0, 1.0], [5.0, 5.0, 5.0], a=a, b=b)) for a, b in ((1.0, 1.0), (2.0, 3.0))
    )
    assert (weighed.costs.a, weighed.costs.b) == (weighed.offered.a, weighed.offered.b) == (2.0, 3.0)
    assert weighed.about["promise"]["cost"] > 2 * alike.about["promise"]["cost"]
    assert evaluate(weighed, streams).cost > 2 * evaluate(alike, streams).cost
