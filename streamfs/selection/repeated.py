"""Repeated selection: the features chosen most often, their number being the mean."""

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import check_random_state, get_tags

from feature_extractors.arrays import Array, Integers
from streamfs.base.estimators import training_rows
from streamfs.base.feature_selector import FeatureSelector
from streamfs.base.parameters import Made, Seed, Whole


class RepeatedSelector(FeatureSelector):
    """Repeats a random selector: the mean number of features, and those chosen most often.

    Parameters
    ----------
    selector : selector
        One of `streamfs.selection`, with `fit(X, y, groups)`, `support_` and `ranking_`. It is cloned for each
        repetition, and each parameter that is or ends in ``random_state`` gets a new seed.
    n_repetitions : int
        Number of repetitions.
    random_state : int, RandomState or None
        Seed of the order of the rows and of the selectors.

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features,)
        Mask of the selected features; empty only if most repetitions selected none.
    ranking_ : ndarray of int of shape (n_selected,)
        The selected features, most often chosen first; among equals those that entered earlier on average.
    sizes_ : ndarray of int of shape (n_repetitions,)
        Number of features that each repetition chose.
    frequencies_ : ndarray of int of shape (n_features,)
        Number of repetitions that chose each feature.
    rankings_ : list of ndarray of int
        Choice of each repetition, in its order.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.

    Notes
    -----
    Each repetition has the rows in another order. The size is the mean of the sizes, rounded, halves up. Ties are
    broken by the order of selection: among equally often chosen features the one with the lowest sum of places of
    entry comes first, then that of the lowest index.

    References
    ----------
    E. Acuna and F. Coaquira, Feature selection for supervised classification: methodology for wrapper methods. It
    does not give the weights that break ties: here they fall evenly with the place of entry.

    Examples
    --------
    >>> from streamfs.selection.sequential import SequentialSelector
    >>> X = np.tile([[0.0, 3.0, 1.0], [0.2, 1.0, 2.0], [1.0, 2.0, 1.0], [1.2, 3.0, 2.0]], (5, 1))
    >>> selector = RepeatedSelector(SequentialSelector(), n_repetitions=3, random_state=0)
    >>> selector.fit(X, [0, 0, 1, 1] * 5).frequencies_.tolist()
    [3, 0, 0]
    """

    _parameter_constraints: ClassVar = {
        "selector": [Made("fit", "get_support", "get_params")],
        "n_repetitions": [Whole(1)],
        "random_state": [Seed()],
    }

    def __init__(
        self, selector: Any, n_repetitions: int = 10, random_state: int | np.random.RandomState | None = None
    ) -> None:
        self.selector = selector
        self.n_repetitions = n_repetitions
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> Self:
        """Repeat the selection.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Values.
        y : array-like of shape (n,)
            Classes.
        groups : array-like of shape (n,), optional
            Passed on, in the order of the rows.

        Raises
        ------
        ValueError
            If `n_repetitions` is below 1, or as the selector raises.
        """
        values, labels = training_rows(self, X, y, groups)
        groups = None if groups is None else np.asarray(groups)
        random = check_random_state(self.random_state)
        self.rankings_ = [self._repetition(values, labels, groups, random) for _ in range(self.n_repetitions)]
        self._vote(values.shape[1])
        return self

    def _repetition(
        self,
        values: Array,
        labels: npt.NDArray[Any],
        groups: npt.NDArray[Any] | None,
        random: np.random.RandomState,
    ) -> Integers:
        """Select with the rows in another order."""
        selector = clone(self.selector)
        names = [name for name in selector.get_params() if name.split("__")[-1] == "random_state"]
        selector.set_params(**{name: random.randint(np.iinfo(np.int32).max) for name in sorted(names)})
        order = random.permutation(len(values))
        if groups is None:
            selector.fit(values[order], labels[order])
        else:
            selector.fit(values[order], labels[order], groups=groups[order])
        ranking = np.asarray(selector.ranking_, np.int64)
        if not np.array_equal(np.sort(ranking), np.flatnonzero(selector.support_)):
            raise ValueError(f"ranking_ of {selector} is {ranking}, expected the selected features in order")
        return ranking

    def _vote(self, n_features: int) -> None:
        """Select the features chosen most often, as many as were chosen on average."""
        self.sizes_ = np.array([len(ranking) for ranking in self.rankings_])
        self.frequencies_ = np.zeros(n_features, np.int64)
        places = np.zeros(n_features, np.int64)
        for ranking in self.rankings_:
            self.frequencies_[ranking] += 1
            places[ranking] += np.arange(len(ranking))
        size = int(np.floor(self.sizes_.mean() + 0.5))
        self.ranking_: Integers = np.lexsort((places, -self.frequencies_))[:size].astype(np.int64)
        self.support_ = np.zeros(n_features, np.bool_)
        self.support_[self.ranking_] = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self.selector).input_tags.allow_nan
        return tags
