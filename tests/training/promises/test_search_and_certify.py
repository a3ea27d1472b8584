"""Promised procedures from recorded streams; an engine decides as was certified."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.procedures import labelled_streams
from low_promises import PROMISE, kept
from numpy.testing import assert_allclose, assert_array_equal
from oracles import promises as naive_promises
from scipy.stats import binom

from streamfs import Costs, Procedure, StreamSet, evaluate, tabulate
from streamfs.classifiers.boosted_trees import BoostedTrees
from streamfs.classifiers.forest import Forest
from streamfs.classifiers.tree import Tree
from streamfs.costs.spending import MessageSpending
from streamfs.evaluation.model_card import markdown
from streamfs.evaluation.traffic import measure_traffic
from streamfs.evaluation.trajectories import Trajectories
from streamfs.procedure import TickThresholds
from streamfs.training import held_out, learners
from streamfs.training.promises import Promise, PromiseError, problem, search_and_certify, split, subset_scorer
from streamfs.training.promises.certificate import walk
from streamfs.training.promises.split import TrainTestSplit


@pytest.fixture(scope="module")
def procedure(streams):
    return kept(streams)


@pytest.fixture(scope="module")
def late(streams):
    """A procedure that decides nothing before tick 4."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(problem, "starts_of", lambda *_: (4,))
        return kept(streams)


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
    @pytest.mark.parametrize(
        ("model", "channel"),
        [
            ("c45", "a.level"),
            *((model, "a.level@delta:0.5") for model in ("c45", "extra-trees", "boosting")),
        ],
    )
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
            PromiseError, match=r"accuracy 0\.9[0-9]* of each label .* of the labels of each class "
        ):
            kept(streams, promise=Promise(0.9, risk=0.1, per_class="labelled"), time_limit=1)
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


class TestFewStreams:
    def test_are_held_out_again_and_count_once(self, plan):
        trainer = plan.trainer()
        model = trainer.fit(trainer.candidates.proposed, PROMISE)
        n_streams = len(trainer.split.train)
        n_repetitions = min(search_and_certify.MOST_REPETITIONS, search_and_certify.MOST_FOLLOWED // n_streams)
        assert n_repetitions > 1
        assert model.followed.n_repetitions == n_repetitions
        assert model.held_out.n_streams == n_streams
        assert model.held_out.completeness.max() <= 1.0

    def test_in_groups_that_are_left_out_one_by_one_are_held_out_once(self, plan):
        trainer = replace(plan, groups=np.arange(len(plan.streams)) % 15).trainer()
        assert trainer.fit(trainer.candidates.proposed, PROMISE).followed.n_repetitions == 1


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
