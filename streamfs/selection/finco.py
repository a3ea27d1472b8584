"""FINCO: sequential forward selection by the inconsistency rate."""

from typing import Any, ClassVar

import numpy as np

from streamfs.base.parameters import Made, OneOf, RealNumber
from streamfs.selection.inconsistency_filter import InconsistencyFilter
from streamfs.selection.inconsistency_rate import Features, SubsetInconsistency


class Finco(InconsistencyFilter):
    """Adds the feature that gives the lowest inconsistency rate, until the rate is low enough or stops falling.

    Parameters
    ----------
    threshold : float
        The inconsistency rate at which no more features are added, from 0 to 1; the slides use 0 to 0.1.
    discretiser : transformer or "passthrough", optional
        Makes values discrete, one feature from each; by default an `EqualWidthDiscretiser`, whose `nominal` lists
        the features that already are. "passthrough" leaves them unchanged.

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features,)
        Mask of the selected features, at least one.
    ranking_ : ndarray of int of shape (n_selected,)
        Their indices, in the order of entry.
    path_ : ndarray of shape (n_selected,)
        The inconsistency rate after each entry.
    inconsistency_ : float
        The last of these; above the threshold if no feature lowers it.
    discretiser_ : transformer
        The fitted discretiser, if any.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    The first feature enters whatever its rate, and the feature that reaches the threshold is kept. Among equally
    good features the one of the lowest index enters. The rows are grouped by the entered features once per step;
    the work of trying another feature does not grow with their number, and fewer and fewer rows are in doubt.

    References
    ----------
    Acuna and Coaquira, Feature selection for supervised classification. Their algorithm adds a feature if the rate
    with it is above that without it and below the threshold; here the rate must fall, and features are added until
    the threshold is reached, as in their text.

    Examples
    --------
    >>> X = [[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 1]]
    >>> selector = Finco(threshold=0.0, discretiser="passthrough").fit(X, [0, 1, 2, 2])
    >>> selector.ranking_.tolist(), selector.path_.tolist()
    ([0, 1], [0.25, 0.0])
    """

    _parameter_constraints: ClassVar = {
        "threshold": [RealNumber(0.0, 1.0)],
        "discretiser": [Made("fit_transform"), OneOf("passthrough"), None],
    }

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
