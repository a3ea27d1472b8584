"""Sequential selection: features added or removed one by one, by a criterion."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import get_tags

from streamfs.base.estimators import training_rows
from streamfs.base.feature_selector import FeatureSelector
from streamfs.base.parameters import Flag, Folds, Made, OneOf, RealNumber, Whole
from streamfs.classifiers.neighbours import NeighborsClassifier
from streamfs.selection.criteria import WrapperAccuracy
from streamfs.selection.evaluators import Criterion
from streamfs.selection.search import DIRECTIONS, Scores, SearchStep, SequentialSearch


class SequentialSelector(FeatureSelector):
    """Sequential forward or backward selection, floating or not, with any classifier or criterion.

    Parameters
    ----------
    estimator : classifier, optional
        The classifier whose out-of-fold accuracy scores a subset; by default `NeighborsClassifier()`.
    direction : {"forward", "backward"}
        From no feature up, or from all features down.
    floating : bool
        Whether each step is followed by steps back while they are better than all earlier subsets of their size.
    take, remove : int, optional
        Features that a round adds and removes, one by one; by default one added forward, one removed backward.
        Forward, more must be added than removed; backward, fewer.
    n_features : int or "best"
        Number of features at which to stop, or to stop when the score no longer rises (forward) or begins to fall
        (backward).
    criterion : Criterion, optional
        Scores subsets, in place of a classifier.
    cv : int, splitter, or iterable of (training, test)
        Folds for the classifier, as in `WrapperAccuracy`; ignored if there is a criterion.
    tolerance : float
        With `n_features="best"`: a forward step must raise the score by more than this; a backward step may lower
        it by as much.
    random_state : int, optional
        Seed of the folds.
    callback : callable, optional
        Called with each `SearchStep`; if it returns True the search ends there, with the best subset so far.

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features,)
        Mask of the selected features, at least one.
    ranking_ : ndarray of int of shape (n_selected,)
        The selected features, forward in the order in which they entered, backward rising.
    score_ : float
        The score of the selected features.
    history_ : list of SearchStep
        Each subset that the search reached, and its score.
    n_evaluated_ : int
        Number of subsets evaluated.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.

    Notes
    -----
    No subset is evaluated twice. Among features of the same score that of the lowest index is added or removed.
    The first feature enters whatever its score. A round of several changes is accepted or rejected as a whole, and
    rounds are whole. A floating search ends when the next step on would be rejected, and returns the best of all
    its subsets, of equals the smallest.

    References
    ----------
    E. Acuna and F. Coaquira, Feature selection for supervised classification (forward stops where the recognition
    rate no longer increases, backward where it starts to decrease); P. Pudil, J. Novovicova and J. Kittler,
    Floating search methods in feature selection, Pattern Recognition Letters 15, 1994.

    Examples
    --------
    >>> X = np.tile([[0.0, 3.0, 1.0], [0.2, 1.0, 2.0], [1.0, 2.0, 1.0], [1.2, 3.0, 2.0]], (5, 1))
    >>> selector = SequentialSelector(n_features=2).fit(X, [0, 0, 1, 1] * 5)
    >>> selector.ranking_.tolist(), selector.score_
    ([0, 1], 1.0)
    """

    _parameter_constraints: ClassVar = {
        "estimator": [Made("fit", "predict"), None],
        "direction": [OneOf(*DIRECTIONS)],
        "floating": [Flag()],
        "take": [Whole(), None],
        "remove": [Whole(), None],
        "n_features": [Whole(1), OneOf("best")],
        "criterion": [Made("prepare"), None],
        "cv": [Folds()],
        "tolerance": [RealNumber()],
        "random_state": [Whole(most=2**32 - 1), None],
        "callback": [callable, None],
    }

    def __init__(
        self,
        estimator: Any = None,
        direction: Literal["forward", "backward"] = "forward",
        floating: bool = False,
        take: int | None = None,
        remove: int | None = None,
        n_features: int | Literal["best"] = "best",
        criterion: Criterion | None = None,
        cv: Any = 5,
        tolerance: float = 0.0,
        random_state: int | None = 0,
        callback: Callable[[SearchStep], bool | None] | None = None,
    ) -> None:
        self.estimator = estimator
        self.direction = direction
        self.floating = floating
        self.take = take
        self.remove = remove
        self.n_features = n_features
        self.criterion = criterion
        self.cv = cv
        self.tolerance = tolerance
        self.random_state = random_state
        self.callback = callback

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> Self:
        """Search for the best subset.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Values; NaN is missing, if the classifier accepts it.
        y : array-like of shape (n,)
            Classes.
        groups : array-like of shape (n,), optional
            Rows of one group, such as one stream, are never on both sides of a fold.

        Raises
        ------
        ValueError
            If a parameter is out of range, X is infinite, or NaN if the classifier does not accept it, or the
            rounds do not reach `n_features`.
        DataError
            If there is only one class, or a class has a single row, or group.
        """
        self._validate_params()
        search, criterion = self._search(), self._criterion()
        values, labels = training_rows(self, X, y, groups)
        groups = None if groups is None else np.asarray(groups)
        scores = Scores(criterion.prepare(values, labels, groups), values.shape[1])
        self.history_: list[SearchStep] = []
        self._run(search, scores)
        best = search.result(self.history_)
        self.score_ = best.score
        self.n_evaluated_ = len(scores.known)
        self.ranking_ = np.array(best.subset if search.is_forward else sorted(best.subset), np.int64)
        self.support_ = np.zeros(values.shape[1], np.bool_)
        self.support_[self.ranking_] = True
        return self

    def _search(self) -> SequentialSearch:
        """Return the variant of the search."""
        size = None if self.n_features == "best" else self.n_features
        return SequentialSearch(
            self.direction, bool(self.floating), self.take, self.remove, size, float(self.tolerance)
        )

    def _criterion(self) -> Criterion:
        """Return what scores subsets."""
        if self.criterion is None:
            estimator = NeighborsClassifier() if self.estimator is None else self.estimator
            return WrapperAccuracy(estimator, self.cv, self.random_state)
        if self.estimator is not None:
            raise ValueError("both estimator and criterion are given, expected one of them")
        return self.criterion

    def _run(self, search: SequentialSearch, scores: Scores) -> None:
        """Extend the history until the search ends, or the callback ends it."""
        for step in search.steps(scores):
            self.history_.append(step)
            if self.callback is not None and self.callback(step):
                return
        if search.size is not None and len(self.history_[-1].subset) != search.size:
            take, remove = search.round
            raise ValueError(
                f"n_features is {search.size}, which rounds that add {take} and remove {remove} do not reach "
                f"among {scores.n_features} features"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None or get_tags(self.estimator).input_tags.allow_nan
        return tags
