"""A threshold on what a classifier states: decisions stay, and what is stated of them is true."""

import numpy as np
import pytest
from helpers.own_classifier import NearestMean, learn_nearest_mean
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from river.linear_model import SoftmaxRegression
from river.preprocessing import StandardScaler
from sklearn.naive_bayes import GaussianNB

from streamfs import StreamSet, evaluate, tabulate, train
from streamfs.errors import TrainingError
from streamfs.evaluation.trajectories import Trajectories
from streamfs.training.held_out import Followed
from streamfs.training.luck import believed_share
from streamfs.training.true_threshold import LUCK, TrueThreshold


def followed(seed, n_classes, power, n_streams=50, n_ticks=12):
    """Streams of which a classifier states a power of the probability that it is right."""
    rng = np.random.default_rng(seed)
    chance = rng.uniform(1.0 / n_classes, 1.0, (n_streams, n_ticks))
    truth = np.arange(n_streams) % n_classes
    right = rng.random(chance.shape) < chance
    best = np.where(right, truth[:, np.newaxis], (truth[:, np.newaxis] + 1) % n_classes)
    ticks = rng.integers(1, n_ticks + 1, n_streams)
    stated = np.where(np.arange(n_ticks) < ticks[:, np.newaxis], np.maximum(chance**power, 1.0 / n_classes), 0.0)
    return Followed(Trajectories(best, stated, ticks), truth, np.zeros(chance.shape), np.arange(1, n_ticks + 1))


@given(st.integers(0, 1000), st.integers(2, 6), st.sampled_from([0.2, 1.0, 3.0]), st.floats(0.3, 0.95))
def test_the_same_streams_are_decided_and_as_many_are_right_as_is_stated(seed, n_classes, power, threshold):
    found = followed(seed, n_classes, power)
    if not (found.trajectories.confidence >= threshold).any():
        return
    true = TrueThreshold.of(found, threshold)
    right = []
    for stream, said in enumerate(found.trajectories.confidence):
        ticks = [tick for tick, each in enumerate(said) if each >= threshold]
        assert true.columns[stream] == (ticks[0] if ticks else -1)
        if ticks:
            right.append(found.trajectories.best[stream, ticks[0]] == found.truth[stream])
    share = max(np.bincount(found.truth)) / len(found.truth)
    believed = max(believed_share(np.array(right), share, len(right), LUCK), 1.0 / n_classes)
    assert true.stated[true.columns >= 0].mean() == pytest.approx(believed, abs=0.01)
    rows = np.full((found.trajectories.confidence.size, n_classes), np.nan)
    rows[:, 0] = found.trajectories.confidence.ravel()
    rows[:, 1:] = (1.0 - rows[:, :1]) / (n_classes - 1)
    may_be = rows[:, 0] >= 1.0 / n_classes  # beyond a stream's end nothing is stated
    applied = true.calibration.apply(rows[may_be]).max(axis=1)
    assert_array_equal(applied >= true.threshold, rows[may_be, 0] >= threshold)


def noise(n_streams, seed):
    rng = np.random.default_rng(seed)
    labels = np.arange(n_streams) % 3
    values = rng.normal(1.5 * labels[:, np.newaxis, np.newaxis], 1.0, (n_streams, 20, 1))
    return StreamSet(values, labels.astype(str), ["x"])


@pytest.mark.parametrize(
    "model", ["c45", "extra-trees", StandardScaler() | SoftmaxRegression(), GaussianNB(), "qsfs1"]
)
@pytest.mark.parametrize("select", ["relief", None])
def test_any_classifier_decides_as_it_would_and_states_what_is_true(model, select):
    training, testing = noise(120, 0), noise(400, 1)
    options = {"select": select, "n_features": 2 if select else None, "confidence": 0.7}
    procedure = train(training, features=["mean(x)", "last(x)", "count()"], classifier=model, **options)
    found = evaluate(procedure, testing)
    plain = procedure.classifier.uncalibrated()
    labels, ticks = Trajectories.of(plain, tabulate(testing, procedure.features), procedure.time_limit).decide(0.7)
    assert [decision.label for decision in found.decisions] == [None if i < 0 else str(i) for i in labels]
    assert_allclose([decision.tick for decision in found.decisions], ticks)
    stated = np.mean([decision.confidence for decision in found.decisions if decision.label is not None])
    assert abs(stated - found.accuracy) < 0.1
    assert procedure.about["held_out"]["asked"] == 0.7


def test_a_model_that_labels_no_stream_is_refused_though_held_out_ones_are_labelled():
    """A classifier on all streams may be less sure than those on four fifths of them."""
    streams = noise(60, 0)

    def learn(table):
        return NearestMean(learn_nearest_mean(table).means, 0.95 if len(table.labels) < 60 else 0.7)

    for select, confidence, reached in ((None, 0.9, "0.7"), ("channels", 0.5, "0.33")):
        with pytest.raises(TrainingError, match=rf"gives no stream a label at .* Give a confidence of {reached} "):
            train(streams, features=["mean(x)"], select=select, classifier=learn, confidence=confidence)
