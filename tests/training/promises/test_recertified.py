"""Procedures that are certified anew at another place."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import feature_extractors as fx
from streamfs import C45Classifier, Costs, Procedure, Promise, PromiseError, StreamSet, evaluate, train_promised
from streamfs.errors import DataError, ModelError, TrainingError
from streamfs.evaluation.model_card import facts, markdown
from streamfs.procedure.promise_monitor import monitor_of
from streamfs.training.promises import recertify
from streamfs.training.promises.recertified import streams_needed

PROMISE = Promise(0.8)


def recorded(seed, n=120, level=0.0, apart=2.0, labels=("calm", "busy")):
    """Streams whose mean says which of two classes they are of."""
    of = np.resize(labels, n)
    levels = level + apart * (of == "busy")
    values = np.random.default_rng(seed).normal(levels[:, None, None], 1.0, (n, 6, 1))
    return StreamSet(values, of, ["noise"])


@cache
def trained():
    return train_promised(recorded(0), PROMISE, features=["mean(noise)", "last(noise)"], n_jobs=1)


def test_where_a_threshold_will_do_nothing_else_changes():
    new = recertify(trained(), recorded(1), n_jobs=1)
    assert new.about["recertified"] == [
        {"model": trained().digest, "how": "threshold", "promise": trained().about["promise"]}
    ]
    assert new.about["promise"]["streams"] == 48
    assert new.classifier is trained().classifier
    assert new.about["card"] == trained().about["card"]
    assert new.rule.at(1) == pytest.approx(new.about["promise"]["threshold"])
    assert monitor_of(new).status == "kept so far"


def test_where_none_will_the_classifier_is_fitted_anew():
    there = {"level": 3.0}
    assert evaluate(trained(), recorded(3, **there)).accuracy < 0.6
    new = recertify(trained(), recorded(2, **there), n_jobs=1)
    assert new.about["recertified"][0]["how"] == "classifier"
    assert set(new.features) <= set(trained().features)
    assert evaluate(new, recorded(3, n=400, **there)).accuracy >= 0.8
    with pytest.raises(PromiseError):
        recertify(trained(), recorded(2, **there), retrain=False, n_jobs=1)
    again = recertify(new, recorded(4, **there), n_jobs=1)
    assert [earlier["model"] for earlier in again.about["recertified"]] == [trained().digest, new.digest]


def test_a_channel_is_open_at_first_though_others_suffice():
    def place(seed):
        streams, noise = recorded(seed, apart=4.0), np.random.default_rng(seed).normal(size=(120, 6, 1))
        return StreamSet(np.concatenate([noise, streams.values], axis=2), streams.labels, ["early", "late"])

    offered = ["mean(early)", "mean(late@from:3)"]
    tree = C45Classifier().fit([[0.0, 0.0], [4.0, 4.0]], ["calm", "busy"]).tree_
    both = Procedure([*map(fx.get, offered)], tree, ("busy", "calm"), Costs([1.0, 1.0]), 0.9, time_limit=6)
    new = recertify(both, place(1), PROMISE, n_jobs=1)
    assert [feature.name for feature in new.features] == offered


def test_noise_is_refused():
    for seed in range(3):
        with pytest.raises(TrainingError):
            recertify(trained(), recorded(seed, n=60, apart=0.0), n_jobs=1)


def test_what_was_promised_before_is_on_the_card():
    new = recertify(trained(), recorded(1), Promise(0.7), n_jobs=1)
    assert facts(new)["promise"]["accuracy"] == 0.7
    assert facts(trained())["recertified"] == []
    assert "recertified with another threshold, from model" in markdown(new)
    assert "which was promised an accuracy of 80 %" in markdown(new)
    with pytest.raises(ModelError, match="the model is damaged: recertified has no how"):
        facts(replace(new, about={**new.about, "recertified": [{"model": "x"}]}))
    with pytest.raises(ModelError, match="the model is damaged: recertified is 7, expected a list"):
        facts(replace(new, about={**new.about, "recertified": 7}))


def test_streams_that_will_not_do_are_refused():
    with pytest.raises(DataError, match="of 20 streams 8 are left for the test, expected at least 14"):
        recertify(trained(), recorded(1, n=20), n_jobs=1)
    with pytest.raises(DataError, match="no stream has the label 'calm'"):
        recertify(trained(), recorded(1, labels=("busy",)), n_jobs=1)
    with pytest.raises(ValueError, match="promise is None, expected one"):
        recertify(replace(trained(), about={}), recorded(1), n_jobs=1)


def test_the_better_the_labels_the_fewer_are_needed():
    needed = [streams_needed(PROMISE, accuracy) for accuracy in (1.0, 0.95, 0.9, 0.85)]
    assert needed == sorted(needed)
    assert needed[0] == 35
    assert streams_needed(PROMISE, 0.8) is None
