"""Streams that are drawn at random, class by class, one by one or whole groups of them."""

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Integers


def draw_streams(labels: npt.NDArray[np.str_], share: float, seed: int) -> Integers:
    """Return the places of a share of the streams of each class, ascending."""
    rng, drawn = _random(share, seed), np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        drawn[members[: round(share * len(members))]] = True
    return np.flatnonzero(drawn)


def draw_groups(
    labels: npt.NDArray[np.str_], groups: npt.NDArray[np.generic], share: float, seed: int
) -> Integers:
    """Return the places of the streams of some groups, ascending: of each class about a share.

    Groups come in random order, and each is drawn if the numbers of streams drawn of the classes are then nearer
    to the share.

    Examples
    --------
    >>> draw_groups(np.array(["a", "b", "a", "b"]), np.array([7, 7, 8, 8]), share=0.5, seed=0).tolist()
    [0, 1]
    """
    of_class = labels[:, np.newaxis] == np.unique(labels)
    members = np.unique(groups, return_inverse=True)[1]
    counts = np.array([of_class[members == group].sum(axis=0) for group in range(members.max(initial=-1) + 1)])
    missing, drawn = share * of_class.sum(axis=0), []
    for group in _random(share, seed).permutation(len(counts)):
        if ((missing - counts[group]) ** 2).sum() < (missing**2).sum():
            missing = missing - counts[group]
            drawn.append(group)
    return np.flatnonzero(np.isin(members, drawn))


def _random(share: float, seed: int) -> np.random.Generator:
    if not 0 <= share <= 1:
        raise ValueError(f"share is {share}, expected 0 to 1")
    return np.random.default_rng(seed)
