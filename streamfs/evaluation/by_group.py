"""How many streams of each group were labelled, and how many of these rightly."""

from typing import Any

import numpy as np
import numpy.typing as npt


def counts_by_group(
    is_labelled: npt.NDArray[np.bool_], is_right: npt.NDArray[np.bool_], groups: npt.NDArray[Any]
) -> list[dict[str, Any]]:
    """Return the streams of each group, those labelled, and those labelled rightly, in the groups' order.

    Parameters
    ----------
    is_labelled, is_right : ndarray of bool, shape (n_streams,)
        Whether each stream got a label, and whether that is right.
    groups : ndarray of shape (n_streams,)
        The group of each stream.

    Examples
    --------
    >>> yes = np.array([True, True, False])
    >>> counts_by_group(yes, yes, np.array(["hall", "lab", "lab"]))[1]
    {'group': 'lab', 'streams': 2, 'labelled': 1, 'right': 1}
    """
    return [
        {
            "group": str(group),
            "streams": int(inside.sum()),
            "labelled": int((inside & is_labelled).sum()),
            "right": int((inside & is_labelled & is_right).sum()),
        }
        for group in np.unique(groups)
        for inside in [groups == group]
    ]
