"""Thresholds from which deciding now is expected to cost no more than waiting (ECONOMY-gamma)."""

import numpy as np

from feature_extractors.arrays import Array, Integers

MOST_GROUPS = 10
"""Most groups of confidence that are compared."""


def anticipated_levels(confidence: Array, costs: Array, n_groups: int) -> Array:
    """Return the threshold of each point, from which no later point is expected to cost less.

    Parameters
    ----------
    confidence : ndarray of shape (n_streams, n_points)
        Of held-out streams; a stream that has ended has less than all others.
    costs : ndarray of shape (n_streams, n_points)
        What deciding each stream at each point costs.
    n_groups : int
        Number of groups of equal size into which the streams are divided at each point, by confidence.

    Returns
    -------
    ndarray of shape (n_points,)
        The lowest confidence above all groups of a point in which waiting is expected to cost less; 0 if there is
        no such group, 1 if it is the highest.

    Notes
    -----
    A Markov chain of the groups foretells those of later points. In the paper, a group in which waiting does not
    pay is decided even below one in which it does; thresholds, which an engine's compiled pass knows, wait there.

    References
    ----------
    Y. Achenchabe, A. Bondu, A. Cornuéjols and A. Dachraoui, Early classification of time series: cost-based
    optimization criterion and algorithms, Machine Learning 110, 2021: ECONOMY-gamma.

    Examples
    --------
    >>> confidence = np.array([[0.6, 0.7], [0.6, 0.9], [0.9, 0.9], [0.9, 0.7]])
    >>> costs = np.array([[1.0, 0.2], [0.0, 0.2], [0.0, 0.2], [0.0, 0.2]])
    >>> anticipated_levels(confidence, costs, n_groups=2)
    array([0.75, 0.  ])
    """
    edges = np.quantile(confidence, np.arange(1, n_groups) / n_groups, axis=0)
    groups = (confidence >= edges[:, np.newaxis]).sum(axis=0)
    levels = np.zeros(confidence.shape[1])
    expected = _means(groups[:, -1], costs[:, -1], n_groups)[:, np.newaxis]
    for point in range(len(levels) - 2, -1, -1):
        now = _means(groups[:, point], costs[:, point], n_groups)
        later = _transitions(groups[:, point], groups[:, point + 1], n_groups) @ expected
        waiting = np.flatnonzero(later.min(axis=1) < now)
        if len(waiting):
            levels[point] = [*edges[:, point], 1.0][waiting[-1]]
        expected = np.column_stack([now, later])
    return levels


def _means(groups: Integers, costs: Array, n_groups: int) -> Array:
    """Return the mean cost of each group; of an empty one, that of all."""
    sizes = np.bincount(groups, minlength=n_groups)
    sums = np.bincount(groups, costs, minlength=n_groups)
    return np.where(sizes > 0, sums / np.maximum(sizes, 1), costs.mean())


def _transitions(before: Integers, after: Integers, n_groups: int) -> Array:
    """Return the share of each group that goes to each group; of an empty one, equal shares."""
    counts = np.bincount(before * n_groups + after, minlength=n_groups**2).reshape(n_groups, n_groups)
    counts[counts.sum(axis=1) == 0] = 1
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
