"""What is searched for a promise, and how it is scored."""

from dataclasses import replace

import numpy as np
import pytest
from low_promises import FEATURES, PROMISE, kept
from numpy.testing import assert_allclose, assert_array_equal

import feature_extractors as fx
from streamfs import Costs, SearchSettings, StreamSet, evaluate, tabulate
from streamfs.classifiers.calibration import Calibration
from streamfs.errors import TrainingError
from streamfs.selection.by_name import SELECTORS
from streamfs.training import learners
from streamfs.training.learners import tree_learner
from streamfs.training.promises import problem, search_and_certify
from streamfs.training.promises.candidates import Candidates
from streamfs.training.promises.finalists import Finalist
from streamfs.training.promises.search_and_certify import PromiseTrainer
from streamfs.training.promises.subset_score import SubsetScore, evaluate_starts


def test_the_learner_that_is_cheaper_on_the_features_found_is_fitted(plan):
    trainer = plan.trainer()
    both = {"c45": trainer.learners["c45"], "stump": tree_learner(40, 10)}
    trainer = replace(trainer, learners=both)
    found = trainer.search(trainer.scorer(PROMISE))
    cheaper = max(both, key=lambda name: trainer.evaluate_learner(name, found, PROMISE).score)
    assert trainer.fit(found.subset, PROMISE, found.start).learner == cheaper == "c45"


def test_what_tests_no_feature_once_it_is_fitted_gives_way_to_the_next_best(plan, monkeypatch):
    trainer = plan.trainer()
    trainer = replace(trainer, learners={"leaf": tree_learner(1000, 10), "c45": trainer.learners["c45"]})
    monkeypatch.setattr(search_and_certify, "_score", lambda each: each.learner == "leaf")
    assert trainer.fit(plan.candidates.proposed, PROMISE).learner == "c45"
    with pytest.raises(TrainingError, match="tells the classes apart"):
        replace(trainer, learners={"leaf": tree_learner(1000, 10)}).fit(plan.candidates.proposed, PROMISE)


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
