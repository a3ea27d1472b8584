"""Groups of streams, rooms or sites, which future streams may not share: the one that fares worst."""

from typing import Any

import numpy.typing as npt

from feature_extractors.arrays import Integers
from streamfs.evaluation.by_group import counts_by_group


def worst_group(labels: Integers, truth: Integers, groups: npt.NDArray[Any]) -> dict[str, Any]:
    """Return the group whose labels are right least often, with counts; of equal ones the first.

    Parameters
    ----------
    labels, truth : ndarray of int, shape (n_streams,)
        The class that each stream was given, -1 for none, and its class.
    groups : ndarray of shape (n_streams,)
        The group of each stream. Groups without a label are left out, unless no group has one.

    Examples
    --------
    >>> import numpy as np
    >>> worst_group(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]), np.array(["hall", "hall", "lab", "lab"]))
    {'group': 'lab', 'streams': 2, 'labelled': 2, 'right': 1}
    """
    found = counts_by_group(labels >= 0, labels == truth, groups)
    return min(found, key=lambda each: each["right"] / each["labelled"] if each["labelled"] else 1.0)
