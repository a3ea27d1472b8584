"""ReliefF: Relief with several neighbours of every class."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Integers
from streamfs.base.parameters import Whole
from streamfs.relief._search import Voting
from streamfs.relief.neighbours import relieff_voting
from streamfs.relief.relief import Relief


class ReliefF(Relief):
    """ReliefF weights: for each feature, how much farther an instance's near misses are than its near hits.

    Parameters
    ----------
    n_neighbors : int
        Number of hits, and of misses of each other class; all of a class that has fewer.
    n_instances : int, optional
        Number of instances to draw at random; by default all are used, and nothing is random.
    power : {1, 2}
        Power of each difference.
    nominal : sequence of int, optional
        Indices of the features that are codes of categories.
    ranges : array_like of shape (2, n_features), optional
        Lows and highs of the features, as in `Relief`.
    random_state : int, RandomState or None
        Seed of the draw.
    threshold : float
        A feature is selected if its weight exceeds this value.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features,)
        Weights, from -1 to 1.
    support_, ranking_ : ndarray
        The selected features, as in `Relief`.
    n_features_in_ : int
        Number of features.

    References
    ----------
    Kononenko, Estimating attributes, ECML 1994; Robnik-Sikonja and Kononenko, Theoretical and empirical analysis
    of ReliefF and RReliefF, Machine Learning 53, 2003.

    Notes
    -----
    The misses of class C have weight P(C) / (1 - P(class of the instance)), where P is the share of all instances,
    drawn or not; the hits, and the misses of each class, are averaged over those found. Ties and missing values
    are as in `Relief`.

    Examples
    --------
    >>> X = [[0.0, 3.0], [0.1, 1.0], [0.9, 2.9], [1.0, 1.1]]
    >>> ReliefF(n_neighbors=1).fit(X, [0, 0, 1, 1]).feature_importances_.round(2).tolist()
    [0.8, -0.9]
    """

    _parameter_constraints: ClassVar = {
        **Relief._parameter_constraints,  # noqa: SLF001 - inherited
        "n_neighbors": [Whole(1)],
    }

    def __init__(
        self,
        n_neighbors: int = 10,
        n_instances: int | None = None,
        power: int = 1,
        nominal: Sequence[int] | None = None,
        ranges: npt.ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        threshold: float = 0.0,
    ) -> None:
        super().__init__(n_instances, power, nominal, ranges, random_state, threshold)
        self.n_neighbors = n_neighbors

    def _voting(self, counts: Integers) -> Voting:
        return relieff_voting(counts, min(int(self.n_neighbors), int(counts.max())))
