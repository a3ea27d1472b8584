"""The benchmarks of promises measure what they say."""

import sys
from importlib import import_module
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from streamfs import Pricing, SearchSettings, train_promised
from streamfs.training.promises import Promise, PromiseError
from streamfs.training.promises.curve import Curve

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
settings, further, world, regret, kept, monitored = map(
    import_module,
    (
        "promise_settings",
        "promise_further",
        "promise_world",
        "promise_regret",
        "promise_kept",
        "promise_monitored",
    ),
)


def a_curve(labelled, right, n_streams):
    labelled, right = np.array(labelled), np.array(right)
    none = np.zeros(len(labelled))
    return Curve(np.linspace(0.9, 0.6, len(labelled)), labelled, right, none, none, n_streams)


def test_settings_are_many_and_differ():
    told = {tuple(value for name, value in s.row().items() if name != "setting") for s in settings.SETTINGS}
    assert len(told) == len(settings.SETTINGS) >= 20
    assert [s.number for s in settings.SETTINGS] == list(range(len(told)))


def test_streams_are_drawn_alike_for_a_seed_and_never_among_the_unseen():
    setting = settings.Setting(0, settings.PLAIN, "flat", 20, 10)
    again, other, unseen = setting.recorded(3), setting.recorded(4), setting.unseen(3, 20)
    assert_array_equal(setting.recorded(3).values, again.values)
    assert not np.array_equal(other.values, again.values)
    assert not np.array_equal(unseen.values, again.values)


def test_further_settings_are_drawn_alike_for_a_seed():
    for setting in further.FURTHER.values():
        streams, again, other = (setting.streams(50, (seed,)) for seed in (0, 0, 1))
        assert streams.columns == setting.columns
        assert len(streams.classes) == len(setting.shares)
        assert_array_equal(streams.values, again.values)
        assert not np.array_equal(streams.values, other.values)


def test_nine_features_are_three_of_each_quantity():
    streams = settings.Setting(0, settings.PLAIN, "flat", 20, 10).recorded(0)
    names = [feature.name for feature in settings.offered(streams, settings.NINE)]
    assert len(set(names)) == 9
    assert [sum(f".{q}" in name for name in names) for q in settings.QUANTITIES] == [3, 3, 3]


def test_intervals_are_those_of_printed_tables():
    assert_allclose(kept.interval(0, 10), (0.0, 0.3085), atol=5e-5)
    assert_allclose(kept.interval(5, 10), (0.1871, 0.8129), atol=5e-5)
    assert_allclose(kept.interval(10, 10), (0.6915, 1.0), atol=5e-5)


def test_a_quantile_knows_infinite_values_and_leaves_out_what_is_none():
    assert regret.quantile([inf, 1.0, nan, 2.0], 0.5) == 2.0
    assert regret.quantile([inf, 1.0, nan, 2.0], 0.9) == inf
    assert np.isnan(regret.quantile([nan], 0.5))


def test_a_margin_is_what_the_test_asks_beyond_the_promise():
    assert_allclose(kept.margins(0.9, np.array([28, 29, 61]), 0.05), [inf, 0.1, 59 / 61 - 0.9])


def test_an_oracle_has_the_margins_of_the_better_threshold_in_the_worse_share():
    curve = a_curve([61, 100], [61, 95], 100)
    by_accuracy = (1.0 - 0.9) / (59 / 61 - 0.9)
    assert_allclose(kept.slack(curve, Promise(0.9, None, kept.RISK), 100), by_accuracy)
    assert kept.slack(curve, Promise(0.9, 0.9, kept.RISK), 100) < by_accuracy
    assert kept.slack(curve, Promise(0.96, 0.9, kept.RISK), 100) < 0.0


def test_only_a_refusal_of_ones_own_is_infinitely_dear():
    assert world.ratio(3.0, 2.0) == 1.5
    assert world.ratio(inf, 2.0) == inf
    assert np.isnan(world.ratio(inf, inf))
    assert np.isnan(world.ratio(3.0, inf))


def test_a_trial_is_what_training_does():
    setting = settings.Setting(0, settings.CALIBRATED, "light dear", 150, 10)
    promise = Promise(0.8, 0.7)
    row = kept.trial(kept.Asked(setting, promise), seed=1, n_unseen=400)
    streams = setting.recorded(1)
    procedure = train_promised(
        streams,
        promise,
        features=settings.offered(streams, settings.FIVE),
        pricing=Pricing(prices=settings.PRICES["light dear"]),
        search=SearchSettings(as_offered=True),
        seed=1,
    )
    assert (row["refused"], row["learner"]) == (False, procedure.about["classifier"])
    assert row["scored"] == procedure.about["promise"]["subsets"]
    assert row["threshold"] == procedure.confidence
    assert row["broken"] == (row["accuracy"] < 0.8 or row["completeness"] < 0.7)


def test_a_trial_is_refused_where_training_is():
    setting = settings.Setting(0, settings.NOISY, "flat", 150, 5)
    promise = Promise(0.9, 0.9)
    row = kept.trial(kept.Asked(setting, promise), seed=0, n_unseen=400)
    assert (row["refused"], row["broken"], row["accuracy"]) == (True, False, None)
    streams = setting.recorded(0)
    features = settings.offered(streams, settings.FIVE)
    with pytest.raises(PromiseError):
        train_promised(streams, promise, features=features, search=SearchSettings(as_offered=True))


@pytest.fixture(scope="module")
def rows():
    setting = settings.Setting(0, settings.CALIBRATED, "light dear", 300, 10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world, "NINE", settings.NINE[1::3])
        return list(world.World(setting, n_unseen=500).rows())


def test_each_way_is_scored_once_a_promise(rows):
    for promise in world.PROMISES:
        ways = [row["way"] for row in rows if row["promised_accuracy"] == promise.accuracy]
        assert len(ways) == len(set(ways)) == 10


def test_others_are_compared_with_the_best_score_and_the_best_in_hindsight(rows):
    certified = [row for row in rows if row["cost"] < inf]
    assert {row["to_exhaustive"] for row in certified if row["way"] == world.EXHAUSTIVE} == {1.0}
    assert {row["to_hindsight"] for row in certified if row["way"] == world.HINDSIGHT} == {1.0}
    assert all(row["to_hindsight"] >= 1.0 for row in certified if row["kept"])
    assert {row["scored"] for row in rows if row["way"] == world.EXHAUSTIVE} == {7}


def test_what_keeps_its_promise_is_no_cheaper_than_at_an_oracles_threshold(rows):
    assert all(row["cost"] >= row["oracle_cost"] - 1e-9 for row in rows if row["kept"])


def test_remembered_curves_are_those_that_are_had_anew():
    setting = settings.Setting(0, settings.PLAIN, "flat", 60, 5)
    held_out = setting.problem(Promise(), 0, settings.FIVE).trainer().held_out("extra-trees")
    remembering = world.remembering(held_out)
    first, again, anew = remembering.curves([0, 1]), remembering.curves((0, 1)), held_out.curves([0, 1])
    assert first is again
    assert_array_equal(first[1].thresholds, anew[1].thresholds)
    assert_array_equal(first[1].n_right, anew[1].n_right)


def test_unseen_streams_are_followed_as_training_follows_its_own():
    setting = settings.Setting(0, settings.PLAIN, "light dear", 100, 5)
    trainer = setting.problem(Promise(0.6), 0, settings.FIVE).trainer()
    model = trainer.fit((2, 5), Promise(0.6))
    streams = setting.unseen(0, 50)
    found, expected = world.Unseen(trainer, streams).curve(model), trainer.curve(model, streams)
    for name in ("thresholds", "n_labelled", "n_right", "cost", "ticks"):
        assert_array_equal(getattr(found, name), getattr(expected, name))


def test_a_test_of_a_fixed_size_has_the_least_size_with_its_risk_and_power():
    rng = np.random.default_rng(0)
    n = monitored.fixed_sample(0.8, 0.6, 0.05, 0.8)
    kept_, fallen = (rng.binomial(n, share, 100_000) for share in (0.8, 0.6))
    most = max(right for right in range(n) if (kept_ <= right).mean() <= 0.05)
    assert (fallen <= most).mean() == pytest.approx(0.8, abs=0.05)
    assert monitored.fixed_sample(0.8, 0.6, 0.05, 0.7) < n < monitored.fixed_sample(0.8, 0.7, 0.05, 0.8)


def test_simulated_decisions_are_those_of_the_reference():
    procedure, draw = monitored.simulated(0.8, 0)
    monitor = monitored.PromiseMonitor(procedure)
    for decision, values in draw(200):
        monitor.decided(decision, values)
    monitor.finish()
    assert (monitor.status, monitor.to_json()["decisions"]) == ("kept so far", 200)
