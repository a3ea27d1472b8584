"""The Las Vegas filter: the smallest of many random subsets that is consistent enough."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_random_state

from streamfs.selection.inconsistency_filter import InconsistencyFilter
from streamfs.selection.inconsistency_rate import Features, SubsetInconsistency


class LasVegasFilter(InconsistencyFilter):
    """Selects the smallest of many random subsets whose inconsistency rate is at most a threshold.

    Parameters
    ----------
    threshold : float
        The highest inconsistency rate that is taken, from 0 to 1.
    max_tries : int
        How many subsets to draw.
    discretiser : transformer or "passthrough", optional
        Makes values discrete, one feature of each, by default an `EqualWidthDiscretiser`, whose `nominal` names
        the features that are so already; or takes them as they are.
    random_state : int, RandomState or None
        Seeds the draw.

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features,)
        Which features are selected: always at least one.
    ranking_ : ndarray of int of shape (n_selected,)
        Their indices, rising: one is no better than another.
    inconsistency_ : float
        Their inconsistency rate. Where that of all features is above the threshold, all are selected.
    discretiser_ : transformer
        The fitted discretiser, where there is one.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Each feature is in a subset or not with even odds, and the empty subset is passed over. A subset takes the
    place of the best if it is smaller or as large: of equally small ones the last drawn is selected. A count of
    inconsistent rows is broken off once it is above the threshold. Even odds draw few small subsets of many
    features: of 60 features hardly one below 20.

    References
    ----------
    Liu and Setiono, A probabilistic approach to feature selection, ICML 1996, let 77 p^5 subsets be drawn for p
    features. Acuna and Coaquira, Feature selection for supervised classification, find 1000 to be enough; they
    print "below the threshold" for a smaller subset and, so it seems, "at most" for an equally large one. At most
    is taken for both, or a threshold of 0 would let none in.

    Examples
    --------
    >>> X = [[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 0]]
    >>> LasVegasFilter(discretiser="passthrough", random_state=0).fit(X, [0, 1, 1, 0]).ranking_.size
    2
    """

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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.max_tries, Integral) or self.max_tries < 1:
            raise ValueError(f"max_tries is {self.max_tries!r}, expected a whole number, at least 1")

    def _search(self, rates: SubsetInconsistency) -> Features:
        random = check_random_state(self.random_state)
        best = np.arange(self.n_features_in_)
        for _ in range(self.max_tries):
            drawn = np.flatnonzero(random.randint(2, size=self.n_features_in_))
            if 0 < len(drawn) <= len(best) and rates.rate(drawn, self.threshold) <= self.threshold:
                best = drawn
        return best
