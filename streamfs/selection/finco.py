"""FINCO: sequential forward selection by the inconsistency rate."""

from typing import Any

import numpy as np

from streamfs.selection.inconsistency_filter import InconsistencyFilter
from streamfs.selection.inconsistency_rate import Features, SubsetInconsistency


class Finco(InconsistencyFilter):
    """Adds the feature that gives the lowest inconsistency rate, until that is low enough or falls no more.

    Parameters
    ----------
    threshold : float
        The inconsistency rate at which no more features are added, from 0 to 1; the slides take 0 to 0.1.
    discretiser : transformer or "passthrough", optional
        Makes values discrete, one feature of each, by default an `EqualWidthDiscretiser`, whose `nominal` names
        the features that are so already; or takes them as they are.

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features,)
        Which features are selected: always at least one.
    ranking_ : ndarray of int of shape (n_selected,)
        Their indices, the first entered first.
    path_ : ndarray of shape (n_selected,)
        The inconsistency rate after each entry.
    inconsistency_ : float
        The last of these. It may be above the threshold, where no feature makes it fall.
    discretiser_ : transformer
        The fitted discretiser, where there is one.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    The first feature enters whatever its rate is, and the feature whose rate is at most the threshold stays. Of
    equally good features the one of the lowest index enters. The rows are put into groups by the features entered
    once a step; the work of trying one feature more does not grow with those, and ever fewer rows are in doubt.

    References
    ----------
    Acuna and Coaquira, Feature selection for supervised classification. Their algorithm adds a feature where the
    rate with it is above that without it and below the threshold; that it falls is taken, and that it goes on
    until the threshold is reached, as their text has it.

    Examples
    --------
    >>> X = [[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 1]]
    >>> selector = Finco(threshold=0.0, discretiser="passthrough").fit(X, [0, 1, 2, 2])
    >>> selector.ranking_.tolist(), selector.path_.tolist()
    ([0, 1], [0.25, 0.0])
    """

    def __init__(self, threshold: float = 0.05, discretiser: Any = None) -> None:
        self.threshold = threshold
        self.discretiser = discretiser

    def _search(self, rates: SubsetInconsistency) -> Features:
        chosen: list[int] = []
        path = [np.inf]
        while path[-1] > self.threshold and len(chosen) < self.n_features_in_:
            outside = [feature for feature in range(self.n_features_in_) if feature not in chosen]
            with_each = rates.rates_with_each(chosen, outside)
            if with_each.min() >= path[-1]:
                break
            chosen.append(outside[int(with_each.argmin())])
            path.append(with_each.min())
        self.path_ = np.array(path[1:])
        return chosen
