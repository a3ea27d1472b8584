"""All that can be read of the channels found: read where it is better, over these channels as they open."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.training_options import grouped

import feature_extractors as fx
from feature_extractors.base import channels_of
from feature_extractors.catalogue import SHAPE_KINDS
from streamfs import StreamSet, evaluate, train_promised
from streamfs.base.progress import quiet
from streamfs.costs.pricing import Pricing
from streamfs.costs.rates import COUNTED
from streamfs.evaluation.traffic import measure_traffic
from streamfs.training.learners import N_TREES
from streamfs.training.promises import Promise, full_reading
from streamfs.training.promises.full_reading import fitted_to_all
from streamfs.training.promises.policies import reading
from streamfs.training.promises.problem import PromiseProblem
from streamfs.training.promises.search_settings import SearchSettings
from streamfs.training.promises.split import TrainTestSplit

PROMISE = Promise(0.7, 0.8, risk=0.1)
FEATURES = ["last(a)", "mean(a)", "max(a)", "min(a)", "mean(b)"]


@pytest.fixture(scope="module")
def streams():
    """Noise of two levels, which the mean tells better than the last reading; `b` is of no use."""
    rng, labels = np.random.default_rng(0), np.arange(200) % 2
    values = rng.normal(size=(200, 10, 2))
    values[:, :, 0] += 0.8 * labels[:, np.newaxis]
    return StreamSet(values, labels.astype(str), ["a", "b"])


def problem_of(streams):
    features, pricing, learners = [fx.get(name) for name in FEATURES], Pricing(), ("extra-trees",)
    limit, search = streams.n_ticks, SearchSettings()
    return PromiseProblem(streams, PROMISE, features, pricing, None, learners, 2, limit, None, search, 0, 1)


def last_alone(streams):
    """A model that reads the last reading of a channel alone, and its trainer."""
    trainer = problem_of(streams).trainer()
    place = [feature.name for feature in trainer.candidates.features].index("last(a@every:2)")
    return trainer, trainer.fit((place,), PROMISE)


def promised(streams, **options):
    return train_promised(streams, **grouped(features=FEATURES, promise=PROMISE, n_jobs=1, **options))


@pytest.fixture(scope="module")
def full(streams):
    """A procedure that reads all that can be read of its channels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(full_reading, "GAIN", -np.inf)
        return promised(streams)


def test_features_read_some_channels_alone_as_these_open():
    offered = [
        fx.get(name) for name in ("mean(a)", "mean(a@every:2)", "max(a@every:2)", "correlation(a, b)", "count()")
    ]
    found = reading(["a@every:2@from:3", "b"], offered)
    assert [feature.name for feature in found] == ["mean(a@every:2@from:3)", "max(a@every:2@from:3)"]
    assert [feature.name for feature in reading(["a", "b"], offered)] == ["mean(a)", "correlation(a, b)"]


def test_all_that_can_be_read_of_its_channels_is_read(streams):
    trainer, model = last_alone(streams)
    other, full = fitted_to_all(trainer, model, PROMISE)
    assert {"mean(a@every:2)", "last(a@every:2)"} < {feature.name for feature in full.features}
    assert channels_of(full.features) == channels_of(model.features)
    best = max(full.held_out.accuracy[full.held_out.completeness >= PROMISE.completeness])
    assert best > max(model.held_out.accuracy[model.held_out.completeness >= PROMISE.completeness])
    assert {feature.name for feature in full.features} <= {each.name for each in other.candidates.features}


def test_half_of_the_trees_read_what_was_found(streams, monkeypatch):
    trainer, model = last_alone(streams)
    monkeypatch.setattr(full_reading, "GAIN", -np.inf)
    _, full = fitted_to_all(trainer, model, PROMISE)
    forest, found = full.classifier, {full.features.index(feature) for feature in model.features}
    assert len(full.features) > len(found)
    trees = np.split(forest.feature, forest.roots[1:])
    assert len(trees) == 2 * N_TREES
    assert all(set(tree[tree >= 0]) <= found for tree in trees[:N_TREES])


def test_what_is_no_better_by_a_tenth_changes_nothing(streams, monkeypatch):
    trainer, model = last_alone(streams)
    monkeypatch.setattr(full_reading, "GAIN", np.inf)
    assert fitted_to_all(trainer, model, PROMISE) == (trainer, model)


def test_nothing_is_fitted_where_all_is_read(streams, monkeypatch):
    trainer, model = last_alone(streams)
    everything = trainer.with_features(reading(channels_of(model.features), trainer.candidates.offers[0]))
    full = everything.fit(everything.candidates.proposed, PROMISE)
    monkeypatch.setattr(full_reading, "GAIN", -np.inf)
    assert fitted_to_all(everything, full, PROMISE) == (everything, full)


def test_no_more_is_computed_than_tables_may_hold(streams, monkeypatch):
    trainer, model = last_alone(streams)
    train = trainer.split.train
    monkeypatch.setattr(full_reading, "GAIN", -np.inf)
    monkeypatch.setattr(full_reading, "MOST_VALUES", 3 * len(train) * train.n_ticks)
    _, full = fitted_to_all(trainer, model, PROMISE)
    assert len([feature for feature in full.features if feature.columns]) == 3


def test_by_default_all_kinds_are_read_but_of_given_features_these_alone(streams, full, monkeypatch):
    monkeypatch.setattr(full_reading, "GAIN", -np.inf)
    procedure = train_promised(streams, PROMISE, classifier="extra-trees", n_jobs=1)
    assert {feature.kind for feature in procedure.features} & set(SHAPE_KINDS)
    given = {fx.get(name).kind for name in FEATURES} | {fx.get("count()").kind}
    assert {feature.kind for feature in full.features} <= given


def test_what_was_certified_is_what_an_engine_does(streams, full):
    evidence, test = full.about["promise"], TrainTestSplit.of(streams, None, 0).test
    decisions = evaluate(full, test).decisions
    assert sum(decision.label is not None for decision in decisions) == evidence["labelled"]
    assert measure_traffic(full, test).paid(COUNTED, {}) == pytest.approx(evidence["cost"])


@pytest.mark.parametrize("kept", ["as they are offered", "with costs of their own"])
def test_other_features_are_not_read_where_they_cost(streams, monkeypatch, kept):
    monkeypatch.setattr("streamfs.training.promises.problem.fitted_to_all", None)
    problem = problem_of(streams)
    if kept == "as they are offered":
        problem = replace(problem, search=SearchSettings(as_offered=True))
    else:
        problem = replace(problem, pricing=Pricing(own=dict.fromkeys(FEATURES, (1.0, 0.0))))
    assert problem.found(quiet).model.features
