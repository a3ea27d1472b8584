"""Blends: the mean of a forest and linear scores, their fit, and use in a procedure."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.random_models import blended, random_forest, random_procedure
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from oracles import extra_trees, linear_scores
from oracles import ridge as naive

from streamfs import Procedure, evaluate
from streamfs.classifiers import BlendedForest, Calibration
from streamfs.classifiers.ridge import fit_ridge
from streamfs.data import StreamSet
from streamfs.errors import ModelError, TranslationError

NAN = float("nan")
SEEDS = st.integers(0, 2**32 - 1)


def blend(seed, n_features=3, n_classes=3, n_trees=4):
    rng = np.random.default_rng(seed)
    return blended(random_forest(seed, n_features, n_classes, n_trees), rng, n_features)


@given(seed=SEEDS, n_classes=st.integers(1, 7), n_rows=st.sampled_from([1, 20]))
@settings(max_examples=30)
def test_probabilities_are_the_mean_of_both(seed, n_classes, n_rows):
    both, rng = blend(seed, n_classes=n_classes), np.random.default_rng(seed)
    rows = rng.choice([-2.0, 0.0, 0.5, 1.0, 3.0, 7.0, 1e301, np.inf, -np.inf, NAN], (n_rows, 3))
    for row, found in zip(rows, both.probabilities(rows), strict=True):
        trees = extra_trees.evaluate(extra_trees.nested(both), row.tolist())
        assert_allclose(found, (trees + linear_scores.probabilities(both.linear, row)) / 2, rtol=1e-9, atol=1e-12)


@given(seed=SEEDS, n_classes=st.integers(2, 4), n_ticks=st.integers(1, 3), n_features=st.sampled_from([1, 4, 40]))
@settings(max_examples=20)
def test_scores_are_those_that_leaving_streams_out_chooses(seed, n_classes, n_ticks, n_features):
    rng = np.random.default_rng(seed)
    labels = np.arange(12) % n_classes
    X = rng.normal(labels[:, np.newaxis, np.newaxis], 1.5, (12, n_ticks, n_features)) * rng.choice(
        [1e-3, 1.0, 1e3]
    )
    X[rng.random(X.shape) < 0.1] = NAN
    X[..., 0] = rng.choice([X[0, 0, 0], 3.0, NAN])  # constant, or missing
    weights = rng.random((12, n_ticks)) + 0.1
    weights[::3, 1:] = 0.0
    found, wanted = fit_ridge(X, labels, weights, n_classes), naive.fit(X, labels, weights, n_classes)
    for one, other in zip(found, wanted, strict=True):
        assert_allclose(one, other, rtol=1e-6, atol=1e-6 * max(1e-9, np.abs(other).max()))


def test_are_the_same_for_rows_of_the_features_that_are_read():
    both = blend(3, n_features=9)
    read, rows = list(both.features_tested()), np.random.default_rng(3).normal(size=(50, 9))
    assert_allclose(both.reading(read).probabilities(rows[:, read]), both.probabilities(rows), rtol=0)


@given(seed=SEEDS)
@settings(max_examples=10)
def test_a_procedure_with_it_is_saved_and_decides_alike(seed, tmp_path_factory):
    rng = np.random.default_rng(seed)
    both = blend(seed, 5).calibrated(Calibration(1.4, 0.1, 0.2, clock=0))
    procedure, path = random_procedure(rng, both), tmp_path_factory.mktemp("models") / "m.streamfs"
    procedure.save(path)
    loaded = Procedure.load(path)
    assert (loaded.digest, type(loaded.classifier)) == (procedure.digest, BlendedForest)
    values = np.round(rng.normal(size=(8, 12, 2)), 1)
    streams = StreamSet(values, rng.choice(procedure.classes, 8), ["a", "b"], 0.5)
    assert repr(evaluate(loaded, streams).decisions) == repr(evaluate(procedure, streams).decisions)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("linear_starts", lambda x: x[:0], r"linear.starts is of float64 and shape \(0,\), expected"),
        ("linear_starts", lambda x: x[::-1] - x.max(), "expected rising numbers"),
        ("linear_features", lambda x: x - 9, "linear.features is -9 at term 0, expected a feature"),
        ("linear_factors", lambda x: x * NAN, "linear.factors holds nan, expected finite numbers"),
        ("linear_factors", lambda x: x[0], r"linear.factors has shape \(\d, 3\), expected some segments"),
        ("linear_lowest", lambda x: x + 99.0, "at term 0, expected at most"),
        ("linear_clock", lambda x: x - 9, "linear.clock is -9, expected a feature, or -1 with one segment"),
        ("linear_clock", lambda x: x.astype(float), "linear.clock is of float64"),
        ("linear_offsets", lambda _: None, "linear.offsets is missing"),
    ],
)
def test_what_is_no_blend_is_refused(name, change, message):
    arrays = blend(8).to_arrays()
    assert len(arrays["linear_starts"]) > 1
    changed = change(arrays.pop(name))
    arrays |= {} if changed is None else {name: changed}
    with pytest.raises(ModelError, match=message):
        BlendedForest.from_arrays(arrays)


def test_scores_of_other_classes_are_refused():
    with pytest.raises(ModelError, match=r"linear\.offsets has 2 classes, expected 3"):
        replace(blend(1), linear=blend(1, n_classes=2).linear)


def test_crossings_of_thresholds_are_not_enough_for_sums():
    with pytest.raises(TranslationError, match='expected classifier="extra-trees" in training, or to send values'):
        blend(1).counting({0: "mean(a)"})


def test_what_it_says_of_a_row_is_explained():
    both = blend(2)
    *_, said = both.explain(np.array([2.0, 1.0, -1.0]), ["x", "y", "z"], ["t", "u", "v"])
    scores = linear_scores.probabilities(both.linear, np.array([2.0, 1.0, -1.0]))
    assert said.startswith(f"the linear scores say {'tuv'[scores.argmax()]}")
    assert "linear scores" in both.describe()
    assert "linear      sums of" in both.text(["x", "y", "z"])
