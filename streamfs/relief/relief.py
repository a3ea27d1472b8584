"""Relief on a plain table of instances."""

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_random_state

from feature_extractors.arrays import Integers
from streamfs.base.estimators import training_rows
from streamfs.base.feature_selector import FeatureSelector
from streamfs.base.parameters import Numbers, RealNumber, Seed, Whole, Wholes
from streamfs.relief._search import Voting
from streamfs.relief.neighbours import relief_voting
from streamfs.relief.rows import group_numbers, make_rows, require_classes


class Relief(FeatureSelector):
    """Relief weights: for each feature, how much farther an instance's near miss is than its near hit.

    As a selector it keeps the features whose weight exceeds a threshold.

    Parameters
    ----------
    n_instances : int, optional
        Number of instances to draw at random; by default all are used, and nothing is random.
    power : {1, 2}
        Power of each difference.
    nominal : sequence of int, optional
        Indices of the features that are codes of categories.
    ranges : array_like of shape (2, n_features), optional
        Lows and highs of the features, by default those of the values, all of which they must include. Those of
        nominal features are ignored.
    random_state : int, RandomState or None
        Seed of the draw.
    threshold : float
        A feature is selected if its weight exceeds this value.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features,)
        Equation 2, from -1 to 1.
    support_ : ndarray of bool of shape (n_features,)
        Mask of the selected features; it may be empty.
    ranking_ : ndarray of int of shape (n_selected,)
        The selected features, largest weight first.
    n_features_in_ : int
        Number of features.

    References
    ----------
    Kira and Rendell, The feature selection problem, AAAI 1992; Gao and Wang, ICDM 2005, equation 2.

    Notes
    -----
    The near miss is the nearest instance of any other class. Missing values (NaN) differ by the maximum possible;
    a missing category among V by 1 - 1/V. Among equally near instances the one of the lowest index is chosen.
    Distances are sums over the features, in order, of differences divided by the range: a difference of shares of
    the range would be rounded differently and break ties differently. Work grows with the square of the number of
    instances, memory linearly.

    Examples
    --------
    >>> X = [[0.0, 3.0], [0.1, 1.0], [0.9, 2.9], [1.0, 1.1]]
    >>> Relief().fit(X, [0, 0, 1, 1]).feature_importances_.round(2).tolist()
    [0.8, -0.9]
    >>> Relief(threshold=0.5).fit(X, [0, 0, 1, 1]).get_support().tolist()
    [True, False]
    """

    _parameter_constraints: ClassVar = {
        "n_instances": [Whole(1), None],
        "power": [Whole(1, 2)],
        "nominal": [Wholes(), None],
        "ranges": [Numbers(), None],
        "random_state": [Seed()],
        "threshold": [RealNumber(-np.inf)],
    }

    def __init__(
        self,
        n_instances: int | None = None,
        power: int = 1,
        nominal: Sequence[int] | None = None,
        ranges: npt.ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        threshold: float = 0.0,
    ) -> None:
        self.n_instances = n_instances
        self.power = power
        self.nominal = nominal
        self.ranges = ranges
        self.random_state = random_state
        self.threshold = threshold

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> Self:
        """Compute the weights.

        Parameters
        ----------
        X : array_like of shape (n_instances, n_features)
            Values; NaN is missing.
        y : array_like of shape (n_instances,)
            Classes.
        groups : array_like of shape (n_instances,), optional
            Instances of one group, such as those of one stream, are not neighbours; by default each is a group.

        Raises
        ------
        ValueError
            If y is continuous, there is only one class, a parameter is out of range, a value is infinite or
            outside its range, or the number of groups differs from that of instances.
        """
        values, labels = training_rows(self, X, y)
        classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        require_classes(classes, counts, 1)
        nominal = np.flatnonzero(self._is_nominal(values.shape[1])).tolist()
        rows = make_rows(values, codes, group_numbers(groups, len(values)), self.power, nominal, self.ranges)
        gains = rows.mean_gains(self._voting(counts), [len(values)], self._choose(len(values)))
        self.feature_importances_ = gains[0]
        self.support_ = gains[0] > self.threshold
        order = np.argsort(-gains[0], kind="stable")
        self.ranking_ = order[self.support_[order]]
        return self

    def _voting(self, counts: Integers) -> Voting:
        """Return how near instances vote, given the sizes of the classes."""
        return relief_voting(len(counts))

    def _choose(self, n_rows: int) -> Integers | None:
        """Return the instances to average over, None for all."""
        if self.n_instances is None:
            return None
        if not 1 <= self.n_instances <= n_rows:
            raise ValueError(f"n_instances is {self.n_instances}, expected 1 to {n_rows}")
        random = check_random_state(self.random_state)
        chosen: Integers = np.sort(random.choice(n_rows, self.n_instances, replace=False)).astype(np.int64)
        return chosen
