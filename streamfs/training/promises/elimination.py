"""Features in the order in which a forest can do without them."""

import numpy as np

from feature_extractors.arrays import Integers
from streamfs.data.feature_table import FeatureTable
from streamfs.training.learners import grown_forest

N_TREES = 50
"""Trees of the forests by which features are eliminated."""

MIN_LEAF = 2
"""Least number of streams in a leaf of these trees."""

LEFT = 0.7
"""Share of the features that each forest leaves for the next."""


def elimination(table: FeatureTable, time_limit: int, seed: int) -> Integers:
    """Order the places of features by recursive elimination, the last that a forest can do without first.

    A forest is grown, the features that lower the impurity least are put last, and the next forest is grown on
    the others. So features come first that separate the classes together, even if neither does alone. Redundant
    features share their importance in the early forests; once some are removed, that of the others rises.

    I. Guyon, J. Weston, S. Barnhill and V. Vapnik, Gene selection for cancer classification using support vector
    machines, Machine Learning 46, 2002 (there by the weights of a linear machine).
    """
    left, order = np.arange(table.values.shape[2]), np.arange(0)
    while len(left):
        forest = grown_forest(table.with_features(left.tolist()), MIN_LEAF, time_limit, seed, N_TREES)
        falling = left[np.argsort(-forest.feature_importances_, kind="stable")]
        n_left = min(int(LEFT * len(left)), len(left) - 1)
        left, order = np.sort(falling[:n_left]), np.concatenate([falling[n_left:], order])
    return order
