"""How well one number a stream alone tells its class: what is too good to be true leaks."""

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array

N_NEIGHBORS = 5
MOST = 1000
"""Streams that are compared; of more, that many are drawn."""


def alone(numbers: Array, classes: npt.ArrayLike) -> float:
    """Return how well a number tells the class of a stream, from 0 (chance) to 1 (always).

    The class of each stream is guessed from the five others whose numbers are nearest, ties included, each
    counting the less the more frequent its class is. The recall of the classes is averaged, and measured from that
    of chance.

    Parameters
    ----------
    numbers : ndarray of shape (n_streams,)
        A number a stream; NaN is unknown, and left out.
    classes : array_like of shape (n_streams,)
        The class of each stream, such as its label or its group.

    Returns
    -------
    float
        NaN if fewer than two classes have two streams.

    Examples
    --------
    >>> round(alone(np.arange(20.0), np.repeat(["low", "high"], 10)), 2)
    0.9
    """
    known = ~np.isnan(numbers)
    names, codes = np.unique(np.asarray(classes)[known], return_inverse=True)
    common = np.bincount(codes, minlength=len(names)) >= 2
    if common.sum() < 2:
        return float("nan")
    kept = common[codes]
    codes, values = (np.cumsum(common) - 1)[codes[kept]], numbers[known][kept]
    if len(values) > MOST:
        drawn = np.random.default_rng(0).choice(len(values), MOST, replace=False)
        codes, values = codes[drawn], values[drawn]
    n_classes = int(common.sum())
    weights = np.eye(n_classes)[codes] / np.bincount(codes, minlength=n_classes).clip(1)
    distances = np.abs(values[:, np.newaxis] - values)
    np.fill_diagonal(distances, np.inf)
    n_near = min(N_NEIGHBORS, len(values) - 1)
    reach = np.partition(distances, n_near - 1, axis=1)[:, n_near - 1 : n_near]
    guessed = ((distances <= reach) @ weights).argmax(axis=1)
    recalls = [float((guessed[codes == code] == code).mean()) for code in np.unique(codes)]
    chance = 1 / len(recalls)
    return max(0.0, (float(np.mean(recalls)) - chance) / (1 - chance))
