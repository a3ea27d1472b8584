"""Any classifier with calibrated confidence: saved, loaded and served as it is offline."""

import numpy as np
import pytest
from helpers.own_classifier import NearestMean
from helpers.random_models import random_tree
from hypothesis import given, settings
from hypothesis import strategies as st
from river.naive_bayes import GaussianNB
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_info, threadpool_limits

import feature_extractors as fx
from streamfs import Costs, Engine, Procedure, StreamSet, tabulate
from streamfs.base import container
from streamfs.classifiers import (
    CalibratedClassifier,
    Calibration,
    EstimatorClassifier,
    OnlineClassifier,
    kinds,
    register,
)
from streamfs.errors import ModelError, TrainingError

NAMES = ("count()", "mean(a)", "last(b)")
CLASSES = ("z", "m", "a")
"""Not sorted: a procedure keeps the order of its classes."""


def rows(rng, n):
    values = rng.normal(0, 1, (n, 3))
    values[:, 0] = rng.integers(1, 20, n)
    values[rng.random(n) < 0.1, 2] = np.nan
    return values


def any_base(rng):
    """A classifier of any kind that has no compiled calibration of a clock's growth."""
    values, labels = rows(rng, 60), np.array(CLASSES)[rng.permutation(np.arange(60) % 3)]
    match rng.integers(4):
        case 0:
            return OnlineClassifier(GaussianNB(), NAMES, CLASSES).learn(values, labels.tolist())
        case 1:
            model = RandomForestClassifier(3, max_depth=3, random_state=0)
            return EstimatorClassifier(model, NAMES, CLASSES).learn(values, labels, rng.random(60))
        case 2:
            return random_tree(rng, 3)
    return NearestMean(rng.normal(0, 1, (3, 3)))


def calibrated_slowly(calibration, probabilities, values):
    """What the calibration makes of a row, in plain Python."""
    best = int(np.argmax(probabilities))
    others = np.delete(probabilities, best)
    others = others / others.sum() if others.sum() > 0 else np.full(len(others), 1 / len(others))
    inside = np.clip(probabilities[best], 2.0**-53, 1 - 2.0**-53)
    x = calibration.slope * np.log(inside / (1 - inside)) + calibration.intercept
    sure = 1 / (1 + np.exp(-x - calibration.growth * np.log(values[0])))
    return best, sure, np.insert((1 - sure) * others, best, sure)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_it_is_saved_loaded_and_served_as_it_is_offline(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    calibration = Calibration(rng.uniform(0.1, 2.0), rng.normal(), rng.uniform(0.0, 0.5), clock=0)
    base = any_base(rng)
    classifier = base.calibrated(calibration)
    assert isinstance(classifier, CalibratedClassifier)
    values = rows(rng, 40)
    plain, said = base.probabilities(values), classifier.probabilities(values)
    np.testing.assert_allclose(said.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(said.argmax(axis=1), plain.argmax(axis=1))
    for row in range(40):
        best, sure, expected = calibrated_slowly(calibration, plain[row], values[row])
        if expected.max() == sure > 0.5:
            np.testing.assert_allclose(said[row], expected, atol=1e-12)
        else:
            assert said[row, best] == said[row].max() > sure - 1e-12

    features = tuple(map(fx.get, NAMES))
    procedure = Procedure(features, classifier, CLASSES, Costs(np.ones(3)), 0.8, 8)
    path = tmp_path_factory.getbasetemp() / "m.streamfs"
    procedure.save(path)
    register_own()
    loaded = Procedure.load(path, trust=True)
    np.testing.assert_array_equal(loaded.classifier.probabilities(values), said)
    assert loaded.classifier.uncalibrated().probabilities(values) == pytest.approx(plain)
    assert loaded.digest == procedure.digest

    streams = StreamSet(rng.normal(0, 1, (10, 8, 2)), np.array(CLASSES)[np.arange(10) % 3], ["a", "b"])
    table = tabulate(streams, features)
    answers = classifier.probabilities(table.values.reshape(-1, 3)).reshape(10, 8, 3)
    engine, decided = Engine(loaded), {}
    for tick in range(8):
        for stream in range(10):
            decision = engine.push(str(stream), float(tick), streams.values[stream, tick])
            decided |= {} if decision is None else {stream: decision}
    for stream in range(10):
        sure = np.flatnonzero(answers[stream].max(axis=1) >= 0.8)
        if len(sure):
            assert decided[stream].tick == sure[0] + 1
            assert decided[stream].label == CLASSES[answers[stream, sure[0]].argmax()]
            assert decided[stream].confidence == answers[stream, sure[0]].max()
        else:
            assert decided[stream].label is None


def register_own():
    if "nearest-mean" not in kinds.words():
        register(NearestMean)


@pytest.fixture(autouse=True)
def own_kinds(monkeypatch):
    monkeypatch.setattr(kinds, "_KINDS", dict(kinds._KINDS))


@pytest.fixture
def online():
    values, labels = rows(np.random.default_rng(0), 60), np.array(CLASSES)[np.arange(60) % 3]
    return OnlineClassifier(GaussianNB(), NAMES, CLASSES).learn(values, labels.tolist())


def test_the_base_goes_on_learning_and_is_kept_in_snapshots(online):
    classifier, other = (online.calibrated(Calibration(0.5, 0.1)) for _ in range(2))
    values = np.array([[2.0, 0.3, 0.2]])
    before = classifier.probabilities(values), classifier.dump()
    assert classifier.learn_one(values[0], "m")
    assert (classifier.probabilities(values) != before[0]).any()
    classifier.restore(before[1])
    np.testing.assert_array_equal(classifier.probabilities(values), before[0])
    assert other.calibrated(None) is other.uncalibrated() is online
    assert classifier.calibrated(Calibration(2.0, 0.0)).base is online
    assert "calibrated  slope 0.5, intercept 0.1" in classifier.text(NAMES, CLASSES)
    assert classifier.describe().endswith("with calibrated confidence")


def test_it_reads_its_clock(online):
    tree = random_tree(np.random.default_rng(3), 3, n_tests=1)
    clock = next(i for i in range(3) if i not in tree.features_tested())
    assert clock in tree.calibrated(Calibration(1.0, 0.0, 0.2, clock=clock)).features_tested()
    with pytest.raises(ValueError, match="tests feature 7, expected at most 2"):
        online.calibrated(Calibration(1.0, 0.0, 0.2, clock=7)).require_features(3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"base": {}}, "classifier is missing, expected one of tree"),
        ({"base": {"classifier": "bush"}}, "classifier is 'bush', expected one of tree"),
        ({"base": {"classifier": "river"}}, "identity is missing, expected a text"),
        ({"base": 3}, "base is 3, expected an object"),
        ({"calibration": []}, "calibration is empty"),
        ({"calibration": [0.0, 1.0]}, r"calibrated\.calibration: slope is 0\.0, expected a positive number"),
    ],
)
def test_a_damaged_file_is_refused(online, tmp_path, change, message):
    features = tuple(map(fx.get, NAMES))
    calibrated = online.calibrated(Calibration(0.5, 0.0))
    procedure = Procedure(features, calibrated, CLASSES, Costs(np.ones(3)), 0.8, 8)
    header, arrays, sealed = container.unpack(procedure.packed, "model", 1, "it")
    nested = {"base": {"classifier": "calibrated", "base": {}, "calibration": []}}
    for wrong, expected in ((change, message), (nested, "base is a calibrated classifier, expected another kind")):
        (tmp_path / "m").write_bytes(container.pack("model", 1, {**header, **wrong}, arrays, **sealed))
        with pytest.raises(ModelError, match=f"is damaged: {expected}"):
            Procedure.load(tmp_path / "m", trust=True)
    procedure.save(tmp_path / "m")
    with pytest.raises(ModelError, match="holds a pickled River model"):
        Procedure.load(tmp_path / "m")


def test_an_estimator_that_takes_no_nan_says_what_to_do():
    rng = np.random.default_rng(0)
    values, labels = rows(rng, 60), np.array(CLASSES)[np.arange(60) % 3].tolist()
    given = EstimatorClassifier(LogisticRegression(), NAMES, CLASSES)
    with pytest.raises(TrainingError, match=r"last\(b\) and 0 other features may be undefined .*SimpleImputer"):
        given.learn(values, labels)
    known = np.nan_to_num(values)
    given.learn(known, labels)
    said = given.probabilities(np.vstack([known[:2], values[np.isnan(values).any(axis=1)][:1]]))
    np.testing.assert_array_equal(said[:2], given.probabilities(known[:2]))
    assert said[2].tolist() == [1 / 3] * 3
    assert given.n_failures == 1
    assert given.probabilities(np.empty((0, 3))).shape == (0, 3)
    with pytest.raises(TrainingError, match="LogisticRegression cannot be fitted: "):
        given.learn(known, ["a"] * 60)
    with pytest.raises(
        TypeError, match="classifier is a SimpleImputer, expected a classifier with fit and predict_proba"
    ):
        EstimatorClassifier(SimpleImputer(), NAMES, CLASSES)
    with pytest.raises(ValueError, match=r"the model was fitted to the classes a, expected \('a', 'b'\)"):
        EstimatorClassifier(given.model, NAMES, ("a", "b"))


class Counting(RandomForestClassifier):
    """Keeps how many threads scikit-learn's loops have while it is fitted."""

    def fit(self, X, y, sample_weight=None):
        self.n_threads = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"}
        return super().fit(X, y, sample_weight)


def test_an_estimator_is_fitted_to_few_rows_with_one_thread():
    values, labels = rows(np.random.default_rng(0), 60), np.array(CLASSES)[np.arange(60) % 3].tolist()
    with threadpool_limits(2, user_api="openmp"):
        given = EstimatorClassifier(Counting(2), NAMES, CLASSES).learn(values, labels)
    assert given.model.n_threads == {1}


def test_an_estimator_is_copied_and_its_rows_weigh():
    rng = np.random.default_rng(0)
    values, labels = np.nan_to_num(rows(rng, 60)), np.array(CLASSES)[np.arange(60) % 3]
    weights = np.where(labels == "m", 100.0, 1.0)
    for model in (LogisticRegression(), make_pipeline(SimpleImputer(), LogisticRegression())):
        even, uneven = (
            EstimatorClassifier(model, NAMES, CLASSES).learn(values, labels.tolist(), each).probabilities(values)
            for each in (None, weights)
        )
        assert uneven[:, 1].mean() > 0.9
        assert even[:, 1].mean() < 0.5
        assert not hasattr(model, "classes_")
