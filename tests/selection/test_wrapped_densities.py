"""Subsets evaluated by kernel densities, as if the classifier were fitted to each fold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamfs.classifiers.kernel_density import KernelDensityClassifier
from streamfs.selection.criteria import EstimatorEvaluator
from streamfs.selection.folds import Fold, make_folds
from streamfs.selection.wrapped_densities import DensityEvaluator

NOMINAL = [1, 4]


def rows(seed, n_rows=60, n_classes=3):
    """Rows with missing cells, of which the second and the last feature are nominal."""
    random = np.random.default_rng(seed)
    y = np.array(["b", "a", "c"])[np.arange(n_rows) % n_classes]
    X = random.normal(size=(n_rows, 5)) + 0.7 * (y == "a")[:, None]
    X[:, NOMINAL] = random.integers(0, 3, size=(n_rows, 2))
    X[random.random(X.shape) < 0.1] = np.nan
    return X, y


@pytest.mark.parametrize("kernel", ["standard", "adaptive"])
@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.sets(st.integers(0, 4), min_size=1), st.sampled_from([None, 0.3]))
def test_a_subset_is_evaluated_as_if_the_classifier_were_fitted_to_each_fold(kernel, seed, subset, bandwidth):
    X, y = rows(seed)
    classifier = KernelDensityClassifier(kernel, NOMINAL, bandwidth)
    folds = make_folds(X, y, None, 4, seed)
    fitted = EstimatorEvaluator(classifier, X, y, folds)
    assert DensityEvaluator.prepare(classifier, X, y, folds)(sorted(subset)) == fitted(sorted(subset))


def test_a_class_missing_from_training_is_never_predicted():
    X, y = np.array([[0.0], [0.1], [1.0], [1.1], [2.0]]), np.array(["a", "a", "b", "b", "c"])
    folds = [
        Fold(np.arange(4), np.array([4])),
        Fold(np.arange(1, 5), np.array([0])),
        Fold(np.arange(5), np.array([])),
    ]
    assert DensityEvaluator.prepare(KernelDensityClassifier(), X, y, folds)([0]) == 0.5
    y[4] = "0"
    assert DensityEvaluator.prepare(KernelDensityClassifier(), X, y, folds[:1])([0]) == 0.0


@pytest.mark.parametrize(
    ("chosen", "message"), [({"kernel": "flat"}, "kernel is 'flat'"), ({"nominal": [5]}, "nominal holds 5")]
)
def test_a_wrong_parameter_of_the_classifier_is_named(chosen, message):
    X, y = rows(0)
    with pytest.raises(ValueError, match=message):
        DensityEvaluator.prepare(KernelDensityClassifier(**chosen), X, y, make_folds(X, y, None, 3, 0))
