"""Features and classification as River has them: its checks pass, and the numbers are those of `scan`."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from river import compose, preprocessing
from river.checks import yield_checks
from river.linear_model import LogisticRegression
from river.naive_bayes import GaussianNB

import feature_extractors as fx
from feature_extractors.for_river import FeatureStatistic, PairStatistic, StreamFeatures
from streamfs.classifiers import PrefixClassifier

MODELS = [StreamFeatures(("slope", "variance")), PrefixClassifier(GaussianNB())]
CHECKS = [(model, check) for model in MODELS for check in yield_checks(model)]
SAMPLES = np.random.default_rng(0).normal(size=(12, 2))


@pytest.mark.parametrize(("model", "check"), CHECKS)
def test_rivers_checks_pass(model, check):
    check(model.clone())


@pytest.mark.parametrize("name", ["mean(x)", "slope(x)", "variance(x; window=4)", "skewness(x)"])
def test_a_statistic_is_the_feature(name):
    statistic, found = FeatureStatistic(name, period=2.0), []
    for number in SAMPLES[:, 0]:
        statistic.update(number)
        found.append(np.nan if statistic.get() is None else statistic.get())
    assert_array_equal(found, fx.scan([fx.get(name)], SAMPLES[np.newaxis, :, :1], 2.0 * np.arange(12))[0, :, 0])
    again = pickle.loads(pickle.dumps(statistic))  # noqa: S301 - made here
    again.update(9.0)
    assert again.get() != statistic.get()


def test_a_statistic_of_pairs_is_the_feature():
    statistic = PairStatistic("correlation(x, y)")
    for x, y in SAMPLES:
        statistic.update(x, y)
    assert statistic.get() == fx.scan([fx.get("correlation(x, y)")], SAMPLES[np.newaxis])[0, -1, 0]
    with pytest.raises(ValueError, match=r"feature is 'mean\(x\)' of 1 columns, expected 2"):
        PairStatistic("mean(x)")
    with pytest.raises(ValueError, match=r"feature is 'correlation\(x, y\)' of 2 columns, expected 1"):
        FeatureStatistic("correlation(x, y)")


def test_streams_that_alternate_are_followed_apart():
    features = StreamFeatures(("mean", "correlation(a, b)"), key="node", period=2.0)
    for (a, b), (c, d) in zip(SAMPLES[:6], SAMPLES[6:], strict=True):
        features.learn_one({"node": "n1", "a": a, "b": b, "note": "text"})
        features.learn_one({"node": "n2", "b": d, "a": c})
    names, both = ["correlation(a, b)", "mean(a)", "mean(b)"], SAMPLES.reshape(2, 6, 2)
    expected = fx.scan([fx.get(name) for name in names], both, 2.0 * np.arange(6), ["a", "b"])
    for place, node in enumerate(("n1", "n2")):
        assert features.transform_one({"node": node}) == dict(
            zip(names, expected[place, -1].tolist(), strict=True)
        )
    features.forget("n1")
    assert features.transform_one({"node": "n1"}) == {}


def test_only_learning_moves_a_stream():
    features = StreamFeatures(("mean",))
    features.learn_one({"x": 1.0})
    before = copy.deepcopy(features)
    features.transform_one({"x": 100.0})
    assert features.transform_one({}) == before.transform_one({}) == {"mean(x)": 1.0}


def test_it_stands_in_a_pipeline():
    model = compose.Pipeline(StreamFeatures(("mean",)), preprocessing.StandardScaler(), LogisticRegression())
    for number in range(40):
        model.learn_one({"x": float(number)}, number >= 20)
    assert set(model.predict_proba_one({"x": 1.0})) == {False, True}


def test_a_stream_is_labelled_once_it_is_sure_enough():
    known = PrefixClassifier(GaussianNB(), ("mean",), key="node")
    for number in range(30):
        known.learn_one({"node": "low", "x": number % 3}, "low")
        known.learn_one({"node": "high", "x": 6 + number % 3}, "high")
    before = known.model.predict_proba_one({"mean(x)": 4.0})
    known.learn_one({"node": "new", "x": 4.0}, None)
    assert known.model.predict_proba_one({"mean(x)": 4.0}) == before
    assert known.predict_one({"node": "new"}) in ("low", "high")
    known.confidence = 1.1
    assert known.predict_one({"node": "new"}) is None
    known.forget("new")
    assert known.predict_proba_one({"node": "new"}) == known.model.predict_proba_one({})
