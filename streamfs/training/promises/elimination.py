"""Features in the order in which a forest can do without them."""

import numpy as np

from streamfs.data.feature_table import FeatureTable
from streamfs.data.streams import Integers
from streamfs.training.learners import grown_forest

N_TREES = 50
"""Trees of the forests by which features are eliminated."""

MIN_LEAF = 2
"""Streams that a leaf of these trees holds at least."""

LEFT = 0.7
"""Share of the features that each forest leaves for the next."""


def elimination(table: FeatureTable, time_limit: int, seed: int) -> Integers:
    """Put features in order: the last that a forest can do without first.

    Parameters
    ----------
    table : FeatureTable
        Of the features.
    time_limit : int
        Ticks.
    seed : int
        Seeds the forests.

    Returns
    -------
    ndarray of int of shape (n_features,)
        Their places.

    Notes
    -----
    A forest is grown, the features that lower the impurity least are put last, and the next forest is grown on the
    others. So features come first that tell much together, even if neither of them tells anything alone. Of
    several that tell the same, each takes a part of what they tell in the early forests; once some are gone, those
    left are found to tell more.

    References
    ----------
    I. Guyon, J. Weston, S. Barnhill and V. Vapnik, Gene selection for cancer classification using support vector
    machines, Machine Learning 46, 2002: recursive elimination, there by the weights of a linear machine.

    Examples
    --------
    >>> from streamfs.data.feature_table import plain_table
    >>> values = np.random.default_rng(0).normal(size=(40, 3, 2))
    >>> labels = np.where(values[:, 0, 1] > 0, "up", "down")
    >>> elimination(plain_table(values, labels), time_limit=3, seed=0).tolist()
    [1, 0]
    """
    left, order = np.arange(table.values.shape[2]), np.arange(0)
    while len(left):
        forest = grown_forest(table.with_features(left.tolist()), MIN_LEAF, time_limit, seed, N_TREES)
        falling = left[np.argsort(-forest.feature_importances_, kind="stable")]
        n_left = min(int(LEFT * len(left)), len(left) - 1)
        left, order = np.sort(falling[:n_left]), np.concatenate([falling[n_left:], order])
    return order
