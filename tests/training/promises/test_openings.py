"""Channels that open later: chosen where they are spared most streams, certified as an engine decides."""

from itertools import product

import numpy as np
import pytest
from helpers.elsewhere import Elsewhere
from helpers.training_options import grouped

import feature_extractors as fx
from streamfs import StreamSet, evaluate, train_promised
from streamfs.base.workers import working_with
from streamfs.costs.pricing import Pricing
from streamfs.costs.rates import COUNTED, orders_by
from streamfs.evaluation.model_card import markdown
from streamfs.evaluation.traffic import measure_traffic
from streamfs.procedure import Procedure
from streamfs.training.promises import Promise, openings
from streamfs.training.promises.openings import OpeningSearch, fitted_later, opened_later
from streamfs.training.promises.paired import share_better
from streamfs.training.promises.problem import PromiseProblem
from streamfs.training.promises.search_settings import SearchSettings
from streamfs.training.promises.split import TrainTestSplit

PROMISE = Promise(0.8, 0.8, risk=0.1)
FEATURES = ["mean(cheap)", "mean(dear)", "mean(useless)"]
PRICES = {"dear": 10.0}


def easy_and_hard(n_streams=250, n_ticks=8, share_hard=0.3, seed=0):
    """Streams of two classes that a cheap column tells apart, but for some, of which only a dear one tells."""
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(n_streams) % 2, "on", "off")
    level = np.where(labels == "on", 3.0, -3.0)
    is_hard = rng.random(n_streams) < share_hard
    values = rng.normal(size=(n_streams, n_ticks, 3))
    values[:, :, 0] += np.where(is_hard, 0.0, level)[:, np.newaxis]
    values[:, :, 1] += np.where(is_hard, level, 0.0)[:, np.newaxis]
    return StreamSet(values, labels, ["cheap", "dear", "useless"])


def promised(streams, **options):
    given = {"features": FEATURES, "promise": PROMISE, "prices": PRICES, "n_jobs": 1, "classifier": "extra-trees"}
    return train_promised(streams, **grouped(**given, **options))


@pytest.fixture(scope="module")
def streams():
    return easy_and_hard()


@pytest.fixture(scope="module")
def procedure(streams):
    return promised(streams)


def problem_of(streams, **search):
    """The same, with its parts."""
    features = [fx.get(name) for name in FEATURES]
    of_search = SearchSettings(**search)
    pricing = Pricing(prices=PRICES)
    limit = streams.n_ticks
    learners = ("extra-trees",)
    return PromiseProblem(streams, PROMISE, features, pricing, None, learners, 2, limit, None, of_search, 0, 1)


def test_a_dear_channel_opens_for_those_that_a_cheap_one_leaves_undecided(procedure):
    opening = zip(procedure.channels, procedure.openings, strict=True)
    later = {channel.partition("@")[0]: tick > 1 for channel, tick in opening}
    assert later["dear"]
    assert not later["cheap"]
    assert procedure.about["promise"]["cost"] < 0.3 * (1 + PRICES["dear"])  # that of both from the first tick on


def test_what_was_certified_is_what_an_engine_does(streams, procedure, tmp_path):
    evidence = procedure.about["promise"]
    test = TrainTestSplit.of(streams, None, 0).test
    decisions = evaluate(procedure, test).decisions
    assert sum(decision.label is not None for decision in decisions) == evidence["labelled"]
    assert measure_traffic(procedure, test).paid(COUNTED, PRICES) == pytest.approx(evidence["cost"])
    procedure.save(tmp_path / "model.streamfs")
    assert Procedure.load(tmp_path / "model.streamfs").openings == procedure.openings


def test_the_card_says_from_which_tick_on_a_channel_is_asked_for(procedure):
    last = max(procedure.openings)
    assert f"{last} on, of streams that are undecided." in markdown(procedure)


def test_nothing_opens_later_where_channels_stay_as_they_are_offered(streams):
    assert set(promised(streams, as_offered=True).openings) == {1}


def test_nothing_is_searched_where_nothing_can_be_spared():
    streams = easy_and_hard(share_hard=0.0)
    found = problem_of(streams)
    trainer = found.trainer()
    scorer = trainer.scorer(PROMISE)
    best = trainer.search(scorer)
    search = OpeningSearch(trainer, scorer, best)
    assert not search.may_gain()
    assert opened_later(trainer, scorer, best) == (trainer, best)


def test_what_is_found_stays_when_the_time_is_over(streams):
    trainer = problem_of(streams).trainer()
    scorer = trainer.scorer(PROMISE)
    best = trainer.search(scorer)
    scorer._until = -np.inf
    assert OpeningSearch(trainer, scorer, best).may_gain()
    assert opened_later(trainer, scorer, best) == (trainer, best)


def test_combinations_are_all_with_one_or_two_ticks(streams):
    trainer = problem_of(streams).trainer()
    scorer = trainer.scorer(PROMISE)
    search = OpeningSearch(trainer, scorer, trainer.search(scorer))
    assert set(search._moved) == {"cheap", "dear", "useless"}
    expected = set()
    for ticks in product([None, 1, 3], repeat=3):
        named = {(q, tick) for q, tick in zip(search._moved, ticks, strict=True) if tick}
        expected.add(frozenset(named))
    assert set(search._combinations()) == expected


def test_a_gain_below_the_margin_changes_nothing(streams, monkeypatch):
    monkeypatch.setattr(openings, "GAIN", 1e9)
    assert set(promised(streams).openings) == {1}


def test_what_is_better_on_too_few_draws_of_the_streams_changes_nothing(streams):
    trainer = problem_of(streams).trainer()
    scorer = trainer.scorer(PROMISE)
    trainer.search(scorer)
    model = trainer.fit_best(scorer)
    assert share_better(model.followed, model.followed, PROMISE, 100) == 0.0
    other, later = fitted_later(trainer, scorer, model)
    assert other is not trainer
    assert share_better(later.followed, model.followed, PROMISE, 100) >= openings.OFTEN
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(openings, "OFTEN", 1.1)
        assert fitted_later(trainer, scorer, model) == (trainer, model)


def test_each_node_hears_an_order_a_tick_at_which_something_opens():
    channels = ["a.x", "b.x@from:3", "a.y@from:3", "a.z@from:3", "a.w@from:5"]
    assert orders_by(channels, 6).tolist() == [0, 0, 2, 2, 3, 3]


def test_the_same_model_is_found_wherever_subsets_are_scored(streams, procedure, tmp_path):
    log, others = tmp_path / "scores.jsonl", Elsewhere()
    with working_with(others):
        found = promised(streams, resume=log)
        known = len(others.functions)
        again = promised(streams, resume=log)
    assert found.packed == again.packed == procedure.packed
    assert {"Follower", "Opened"} <= {*others.functions}
    assert "Follower" not in others.functions[known:]  # the log has all scores
