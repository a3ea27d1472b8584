"""The Las Vegas filter: the smallest sufficiently consistent one of many random subsets."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_random_state

from streamfs.base.parameters import Made, OneOf, RealNumber, Seed, Whole
from streamfs.selection.inconsistency_filter import InconsistencyFilter
from streamfs.selection.inconsistency_rate import Features, SubsetInconsistency


class LasVegasFilter(InconsistencyFilter):
    """Selects the smallest of many random subsets whose inconsistency rate is at most a threshold.

    Parameters
    ----------
    threshold : float
        The highest accepted inconsistency rate, from 0 to 1.
    max_tries : int
        Number of subsets to draw.
    discretiser : transformer or "passthrough", optional
        Makes values discrete, one feature from each; by default an `EqualWidthDiscretiser`, whose `nominal` lists
        the features that already are. "passthrough" leaves them unchanged.
    random_state : int, RandomState or None
        Seed of the draw.

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features,)
        Mask of the selected features, at least one.
    ranking_ : ndarray of int of shape (n_selected,)
        Their indices, rising; they are not ordered by quality.
    inconsistency_ : float
        Their inconsistency rate. If that of all features is above the threshold, all are selected.
    discretiser_ : transformer
        The fitted discretiser, if any.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Each feature is in a subset with even odds, and the empty subset is skipped. A subset replaces the best if it
    is smaller or as large: among equally small ones the last drawn is selected. Counting of inconsistent rows
    stops once the rate is above the threshold. Even odds draw few small subsets of many features: from 60 features
    hardly any below 20.

    References
    ----------
    Liu and Setiono, A probabilistic approach to feature selection, ICML 1996, draw 77 p^5 subsets for p features.
    Acuna and Coaquira, Feature selection for supervised classification, find 1000 to be enough; they print "below
    the threshold" for a smaller subset and, apparently, "at most" for an equally large one. Here it is "at most"
    for both, as a threshold of 0 would otherwise accept no subset.

    Examples
    --------
    >>> X = [[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 0]]
    >>> LasVegasFilter(discretiser="passthrough", random_state=0).fit(X, [0, 1, 1, 0]).ranking_.size
    2
    """

    _parameter_constraints: ClassVar = {
        "threshold": [RealNumber(0.0, 1.0)],
        "max_tries": [Whole(1)],
        "discretiser": [Made("fit_transform"), OneOf("passthrough"), None],
        "random_state": [Seed()],
    }

    def __init__(
        self,
        threshold: float = 0.0,
        max_tries: int = 1000,
        discretiser: Any = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.threshold = threshold
        self.max_tries = max_tries
        self.discretiser = discretiser
        self.random_state = random_state

    def _search(self, rates: SubsetInconsistency) -> Features:
        random = check_random_state(self.random_state)
        best = np.arange(self.n_features_in_)
        for _ in range(self.max_tries):
            drawn = np.flatnonzero(random.randint(2, size=self.n_features_in_))
            if 0 < len(drawn) <= len(best) and rates.rate(drawn, self.threshold) <= self.threshold:
                best = drawn
        return best
