"""Arrays that scikit-learn would take as they are are taken so, and nothing that it refuses."""

import numpy as np
import polars as pl
import pytest

from streamfs.base import estimators
from streamfs.classifiers import C45Classifier

ROWS = np.array([[0.0, np.nan], [0.5, 1.0], [1.0, 2.0], [1.5, 3.0]])
LABELS = np.array(["a", "a", "b", "b"])
WEIGHTS = np.array([1.0, 2.0, 0.0, 0.5])


@pytest.fixture
def alone(monkeypatch):
    """Let scikit-learn's checks not be asked."""
    for name in ("validate_data", "check_classification_targets", "_check_sample_weight"):
        monkeypatch.setattr(estimators, name, None)


@pytest.mark.usefixtures("alone")
def test_plain_arrays_are_not_checked_again():
    tree = C45Classifier().fit(ROWS, LABELS, WEIGHTS)
    assert (tree.n_features_in_, list(tree.classes_)) == (2, ["a", "b"])
    rows, labels = estimators.training_rows(C45Classifier(), ROWS, LABELS)
    assert rows is ROWS
    assert labels is LABELS


def test_the_names_of_an_earlier_frame_are_forgotten():
    tree = C45Classifier().fit(pl.DataFrame(ROWS, schema=["x", "y"]), LABELS)
    assert list(tree.feature_names_in_) == ["x", "y"]
    assert not hasattr(tree.fit(ROWS, LABELS), "feature_names_in_")


@pytest.mark.parametrize(
    ("rows", "labels", "weights", "message"),
    [
        (np.where(np.isnan(ROWS), np.inf, ROWS), LABELS, WEIGHTS, "contains infinity"),
        (ROWS[:0], LABELS[:0], None, "0 sample"),
        (ROWS[:, :0], LABELS, None, "0 feature"),
        (ROWS[0], LABELS, None, "Expected 2D array"),
        (ROWS, LABELS[:3], None, "inconsistent numbers of samples"),
        (ROWS, np.array([0.5, 1.0, 1.5, 2.0]), None, "Unknown label type"),
        (ROWS, np.array([0, 0, 1, 1])[:, np.newaxis].repeat(2, axis=1), None, "y should be a 1d array"),
        (ROWS, LABELS, -WEIGHTS, "Negative values"),
        (ROWS, LABELS, WEIGHTS * np.nan, "contains NaN"),
        (ROWS, LABELS, WEIGHTS[:3], "sample_weight.shape"),
        (ROWS, LABELS, np.array([np.inf, 1.0, 1.0, 1.0]), "contains infinity"),
    ],
)
def test_what_scikit_learn_refuses_is_refused(rows, labels, weights, message):
    with pytest.raises(ValueError, match=message):
        C45Classifier().fit(rows, labels, weights)


def test_many_classes_are_warned_of():
    with pytest.warns(UserWarning, match="unique classes is greater than 50%"):
        C45Classifier().fit(np.zeros((30, 1)), np.arange(30))
