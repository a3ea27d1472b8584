"""What trees and forests say of a row, in words, is what they compute."""

import numpy as np
from helpers.procedures import step_tree
from helpers.random_models import random_forest, random_tree
from hypothesis import given
from hypothesis import strategies as st

from streamfs.classifiers import Calibration
from streamfs.classifiers.explanation import forest_leaves

NAMES, CLASSES = ["mean(x)", "max(y)", "min(z)"], ["calm", "busy", "odd"]


@given(st.integers(0, 2**32 - 1))
def test_a_row_without_gaps_ends_where_the_tree_says(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, len(NAMES))
    row = rng.integers(0, 4, len(NAMES)).astype(float)
    lines = tree.explain(row, NAMES, CLASSES)
    if any("not known" in line for line in lines):
        return  # a nominal test without a branch for the code
    likeliest = tree.probabilities(row[np.newaxis])[0]
    assert lines[-1] == f"so it is {CLASSES[likeliest.argmax()]}, by {100 * likeliest.max():.3g} %"


@given(st.integers(0, 2**32 - 1))
def test_the_leaves_of_a_forest_are_those_whose_mean_it_states(seed):
    forest = random_forest(seed)
    rng = np.random.default_rng(seed)
    row = np.where(rng.random(3) < 0.2, np.nan, rng.normal(size=3))
    leaves, _ = forest_leaves(forest, row)
    np.testing.assert_allclose(forest.shares[leaves].mean(axis=0), forest.probabilities(row[np.newaxis])[0])


def test_what_is_said_names_features_values_and_classes():
    tree = step_tree(threshold=0.5)
    assert tree.explain(np.array([0.75]), ["mean(x)"], ["off", "on"]) == [
        "mean(x) is 0.75, above 0.5",
        "so it is on, by 96.9 %",
    ]
    missing, _ = tree.explain(np.array([np.nan]), ["mean(x)"], ["off", "on"])
    assert missing.startswith("mean(x) is not known")
    votes, *asked = random_forest(1).explain(np.zeros(3), NAMES, CLASSES)
    assert votes.startswith("of 4 trees ")
    assert sum(int(part.split()[0]) for part in votes.removeprefix("of 4 trees ").split(" and ")) == 4
    assert all("asked" in line for line in asked)


def test_a_classifier_with_a_calibration_around_it_says_what_it_says_without():
    tree, clocked = step_tree(), Calibration(slope=1.0, intercept=0.0, growth=0.1, clock=1)
    said = [each.explain(np.ones(2), ["x", "n"], ["off", "on"]) for each in (tree, tree.calibrated(clocked))]
    assert said[0] == said[1] != []
