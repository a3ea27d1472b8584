"""Boosting: scikit-learn's own probabilities, those of the definition, and use in a procedure."""

import numpy as np
import pytest
from helpers.random_models import boosted, random_forest, random_procedure
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import extra_trees as naive
from sklearn.ensemble import HistGradientBoostingClassifier as ScikitLearns
from sklearn.utils.estimator_checks import check_estimator

from streamfs import Procedure, evaluate
from streamfs.classifiers import BoostedTrees, BoostingClassifier, Calibration
from streamfs.data import StreamSet
from streamfs.errors import ModelError

NAN = float("nan")
SEEDS = st.integers(0, 2**32 - 1)


def table(seed, n_classes, n_rows=300, n_features=4, decimals=1):
    """Rows with missing values, weights of which some are zero, and labels that depend on two of the features."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, n_features)), decimals)
    score = X[:, 0] - X[:, 1] + rng.normal(size=n_rows)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    X[rng.random(X.shape) < 0.1] = NAN
    return X, y, rng.random(n_rows) * (rng.random(n_rows) < 0.9)


@given(
    seed=SEEDS,
    n_classes=st.integers(2, 5),
    max_leaves=st.sampled_from([2, 15, 31]),
    values=st.sampled_from([(300, 1), (300, 9), (900, 9), (900, 2)]),
    is_weighted=st.booleans(),
)
@settings(max_examples=24)
def test_probabilities_are_scikit_learns(seed, n_classes, max_leaves, values, is_weighted):
    n_rows, decimals = values
    X, y, weights = table(seed, n_classes, n_rows, decimals=decimals)
    weights = weights if is_weighted else np.ones(len(X))
    missing = np.full((len(X), 1), NAN)  # a column without any value, which scikit-learn refuses
    ours = BoostingClassifier(12, 0.3, max_leaves, 5, random_state=seed).fit(np.hstack([X, missing]), y, weights)
    peer = ScikitLearns(
        max_iter=12,
        learning_rate=0.3,
        max_leaf_nodes=max_leaves,
        min_samples_leaf=5,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=seed,
    ).fit(X[weights > 0], y[weights > 0], weights[weights > 0])
    X[0] = NAN
    assert_allclose(ours.predict_proba(np.hstack([X, missing])), peer.predict_proba(X), rtol=1e-9, atol=1e-12)


@given(seed=SEEDS, n_classes=st.integers(1, 7), n_trees=st.sampled_from([1, 4, 17]))
@settings(max_examples=30)
def test_probabilities_are_the_shares_of_exponentials_of_summed_scores(seed, n_classes, n_trees):
    rng = np.random.default_rng(seed)
    trees = boosted(random_forest(seed, n_classes=n_classes, n_trees=n_trees), rng)
    rows = rng.choice([-2.0, 0.0, 0.5, 1e301, np.inf, -np.inf, NAN], (20, 3))
    for row, found in zip(rows, trees.probabilities(rows), strict=True):
        scores = naive.evaluate(naive.nested(trees), row.tolist()) * n_trees
        assert_allclose(found, np.exp(scores) / np.exp(scores).sum(), rtol=1e-9)


def test_scores_of_any_size_are_turned_into_probabilities():
    leaf = np.array([-1]), np.zeros(1), *np.zeros((2, 1), int)
    trees = BoostedTrees(*leaf, np.array([[1e308, 0.0, -1e308]]), np.array([0]))
    assert_array_equal(trees.probabilities(np.empty((1, 0))), [[1.0, 0.0, 0.0]])


@given(seed=SEEDS)
@settings(max_examples=10)
def test_a_procedure_with_it_is_saved_and_decides_alike(seed, tmp_path_factory):
    rng = np.random.default_rng(seed)
    trees = boosted(random_forest(seed, 5), rng).calibrated(Calibration(1.4, 0.1))
    procedure, path = random_procedure(rng, trees), tmp_path_factory.mktemp("models") / "m.streamfs"
    procedure.save(path)
    loaded = Procedure.load(path)
    assert (loaded.digest, type(loaded.classifier)) == (procedure.digest, BoostedTrees)
    values = np.round(rng.normal(size=(8, 12, 2)), 1)
    streams = StreamSet(values, rng.choice(procedure.classes, 8), ["a", "b"], 0.5)
    assert repr(evaluate(loaded, streams).decisions) == repr(evaluate(procedure, streams).decisions)


def test_scores_that_are_not_finite_are_refused():
    arrays = boosted(random_forest(1), np.random.default_rng(1)).to_arrays()
    arrays["shares"][3, 1] = np.inf
    with pytest.raises(ModelError, match=r"shares is .*inf.* at node 3, expected finite numbers"):
        BoostedTrees.from_arrays(arrays)


def test_one_class_is_certain():
    assert_array_equal(BoostingClassifier().fit([[1.0], [NAN]], ["a", "a"]).predict_proba([[3.0]]), [[1.0]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_rounds": 0}, "n_rounds is 0, expected a whole number, at least 1"),
        ({"max_leaves": 1}, "max_leaves is 1, expected a whole number, at least 2"),
        ({"min_rows": 0}, "min_rows is 0"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0, expected a number, more than 0"),
        ({"l2": NAN}, "l2 is nan, expected a number, at least 0"),
    ],
)
def test_parameters_out_of_range_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        BoostingClassifier(**given).fit([[1.0], [2.0]], [0, 1])


def test_scikit_learns_checks_pass():
    for result in check_estimator(BoostingClassifier(3), on_skip=None):
        assert result["status"] in {"passed", "skipped"}, result["check_name"]


def test_no_column_is_sorted_for_each_of_its_bins(monkeypatch):
    """As scikit-learn does from 1.8 on with weights, which took most of the time."""
    binning = pytest.importorskip("sklearn.ensemble._hist_gradient_boosting.binning")
    monkeypatch.delattr(binning, "_weighted_percentile", raising=False)
    X, y, weights = table(0, 2, 900, decimals=9)
    BoostingClassifier(2).fit(X, y, weights)
