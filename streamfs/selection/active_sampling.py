"""Active sampling: find the best candidate feature from few of its values."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_random_state

from feature_extractors.arrays import Array, Integers
from streamfs.base.estimators import query_rows, require_whole, training_rows
from streamfs.base.feature_selector import FeatureSelector
from streamfs.base.parameters import OneOf, Seed, Whole, Wholes
from streamfs.selection.candidate import RecordedCandidates, sample_by
from streamfs.selection.possible_values import Extract, PossibleValues
from streamfs.selection.regions import decisions, make_regions

POLICIES = ("active", "random")
"""Where the next value is extracted: in the region of the largest expected benefit, or anywhere."""


class ActiveFeatureSampling(FeatureSelector):
    """Ranks candidate features by error rates estimated from a few values, extracted where most informative.

    Some features, and the classes, are known of all instances; extracting the other features, the candidates, has
    a cost. The region of an instance is its class and the joint value of the previous features. For each
    candidate, values are extracted one by one in the region where the next value is expected to change the entropy
    of the class the most.

    Parameters
    ----------
    previous : sequence of int
        Indices of the features known of all instances; all others are candidates.
    n_features : int
        Number of candidates to choose.
    policy : {"active", "random"}
        Where values are extracted.
    budget : int
        Number of instances on which each candidate is extracted; all, if there are fewer.
    test_size : int, optional
        Number of instances held out at random for the error rates; every candidate is extracted on them too. By
        default errors are counted by the values of all instances, which then must be known, as in the paper's
        experiment.
    n_values : sequence of int, optional
        Number of possible values of each feature, which are whole numbers from 0. By default those that occur in
        X.
    prior : int
        Number of instances added to each class and joint value, including joint values that do not occur.
    random_state : int, RandomState or None
        Seed of the draws.

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features_in_,)
        Mask of the previous features and the chosen candidates.
    ranking_ : ndarray of int
        Their indices: the previous features, then the chosen ones, best first.
    candidates_ : ndarray of int
        Indices of the candidates, rising; the following have an entry for each.
    error_rates_ : ndarray of shape (n_candidates,)
        Estimated error rate of Bayes' classifier of the previous features and the candidate, from 0 to 1.
    candidate_ranking_ : ndarray of int of shape (n_candidates,)
        Indices of the candidates by error rate, lowest first; among equals the lowest index is first.
    drawn_ : list of ndarray of int
        Instances on which each candidate was extracted, in order, without those held out.
    error_curves_ : ndarray of shape (n_candidates, n_drawn + 1), or None
        The error rates after each value, from none on; None if `test_size` is given.
    true_error_rates_ : ndarray of shape (n_candidates,), or None
        The error rates of the classifiers trained on all values; None if `test_size` is given.
    test_ : ndarray of int
        The instances held out.
    n_extracted_ : int
        Number of values extracted, of all candidates.
    total_cost_ : int
        That number plus the cost of extracting the chosen candidates on all other instances, in values.
    regions_ : Regions
        Of the instances; their `error_before` is the error rate with the previous features alone.
    classes_ : ndarray
        The classes.

    References
    ----------
    Veeramachaneni and Avesani, Active sampling for feature selection, ICDM 2003.

    Notes
    -----
    p(value | class, joint value) is Bayes' estimate with a Dirichlet prior of ones. Probabilities of regions are
    relative frequencies; the paper does not say, but its Table 1 is reproduced with `prior` 1, over the product of
    the values that occur. The paper's error rate is 1 less the sum of p(x, y, class) at the most probable class:
    the joint, where the print has a conditional. A region without instances left is skipped; among equally good
    regions the first is chosen, by class and then by joint value, and among equally probable classes the first.
    The distribution by which errors are counted is estimated in the same way, from all values.

    The time of a step grows with the number of classes times that of values, and with the logarithm of the number
    of regions.

    Examples
    --------
    The second of two candidates separates the classes.

    >>> import numpy as np
    >>> y = np.arange(100) % 2
    >>> X = np.stack([np.arange(100) // 50, np.arange(100) // 25 % 2, y], axis=1).astype(float)
    >>> sampling = ActiveFeatureSampling(previous=[0], budget=8, random_state=0).fit(X, y)
    >>> sampling.ranking_.tolist(), sampling.n_extracted_, sampling.total_cost_
    ([0, 2], 16, 108)

    Unknown values are extracted by a function.

    >>> unknown = np.where([True, False, False], X, np.nan)
    >>> sampling = ActiveFeatureSampling([0], budget=8, test_size=10, n_values=[2, 2, 2], random_state=0)
    >>> sampling.fit(unknown, y, extract=lambda instance, feature: X[instance, feature]).n_extracted_
    36
    """

    _parameter_constraints: ClassVar = {
        "previous": [Wholes()],
        "n_features": [Whole(1)],
        "policy": [OneOf(*POLICIES)],
        "budget": [Whole()],
        "test_size": [Whole(1), None],
        "n_values": [Wholes(), None],
        "prior": [Whole()],
        "random_state": [Seed()],
    }

    def __init__(
        self,
        previous: Sequence[int] = (),
        n_features: int = 1,
        policy: str = "active",
        budget: int = 100,
        test_size: int | None = None,
        n_values: Sequence[int] | None = None,
        prior: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.previous = previous
        self.n_features = n_features
        self.policy = policy
        self.budget = budget
        self.test_size = test_size
        self.n_values = n_values
        self.prior = prior
        self.random_state = random_state

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,  # noqa: ARG002 - there are no folds
        extract: Extract | None = None,
    ) -> Self:
        """Sample the candidates, rank and choose them.

        Parameters
        ----------
        X : array_like of shape (n_instances, n_features)
            Values of nominal features; NaN is treated as a value, unless `n_values` gives the possible values.
            With `extract`, the candidates are ignored.
        y : array_like of shape (n_instances,)
            Classes.
        groups : ignored
            For compatibility with other selectors.
        extract : callable, optional
            Measures a feature on an instance: called with the indices of instance and feature. By default values
            are read from X.

        Raises
        ------
        ValueError
            If a parameter is out of range, there is only one class, or a candidate's value is not possible.
        """
        values, targets = training_rows(self, X, y)
        self.classes_, labels = np.unique(targets, return_inverse=True)
        if len(self.classes_) == 1:
            raise ValueError("y holds one class, expected at least 2")
        self._check(*values.shape, asks=extract is not None)
        self.candidates_ = np.setdiff1d(np.arange(values.shape[1]), self.previous)
        self.regions_ = make_regions(labels, values[:, list(self.previous)], self.prior)
        self._possible = [self._values_of(f, values[:, f]) for f in self.candidates_.tolist()]
        random = check_random_state(self.random_state)
        shuffled = random.permutation(len(values)).astype(np.int64)
        self.test_, others = np.split(shuffled, [self.test_size or 0])
        orders = [random.permutation(others) for _ in self.candidates_]
        if self.test_size is None:
            self._rate_by_all(values, orders)
        else:
            self._rate_by_test([self._look(p, values, extract) for p in self._possible], orders)
        self._choose(len(values))
        return self

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Classify instances by the previous features and the best candidate.

        Parameters
        ----------
        X : array_like of shape (n_instances, n_features)
            Values; other features are ignored.

        Returns
        -------
        ndarray of shape (n_instances,)
            The most probable class by the extracted values: without the candidate if its value is not possible,
            and of all instances if the joint value of the previous features did not occur.
        """
        values = query_rows(self, X)
        best = int(np.argmin(self.error_rates_.round(12)))
        decided = np.column_stack([decisions(self._sampled[best].known), self.regions_.weights.argmax(axis=0)])
        decided = np.vstack([decided, np.full(decided.shape[1], np.bincount(self.regions_.labels).argmax())])
        joint = self.regions_.joint_of(values[:, list(self.previous)])
        numbers = self._possible[best].numbers(values[:, self.candidates_[best]])
        labels: npt.NDArray[Any] = self.classes_[decided[joint, numbers]]
        return labels

    def _values_of(self, feature: int, column: Array) -> PossibleValues:
        """Return the possible values of a candidate."""
        if self.n_values is None:
            return PossibleValues.occurring(feature, column)
        return PossibleValues(feature, np.arange(self.n_values[feature], dtype=np.float64))

    def _rate_by_all(self, values: Array, orders: Sequence[Integers]) -> None:
        """Sample candidates whose values are all known, and count errors by all of them."""
        numbers = [possible.require(values[:, possible.feature]) for possible in self._possible]
        recorded = RecordedCandidates.of(self.regions_, numbers, [len(possible) for possible in self._possible])
        self._sampled, curves = [], []
        for candidate, order in enumerate(orders):
            is_active = self.policy == "active"
            sampled, curve = recorded.sample(candidate, order, self.budget, is_active=is_active)
            self._sampled.append(sampled)
            curves.append(curve)
        self.error_curves_: Array | None = np.array(curves)
        self.error_rates_ = self.error_curves_[:, -1].copy()
        self.true_error_rates_: Array | None = recorded.true_errors

    def _rate_by_test(self, looks: Sequence[Callable[[int], int]], orders: Sequence[Integers]) -> None:
        """Sample candidates, and count errors on the instances held out."""
        regions, is_active = self.regions_, self.policy == "active"
        self._sampled, rates = [], []
        for possible, look, order in zip(self._possible, looks, orders, strict=True):
            sampled = sample_by(regions, len(possible), look, order, self.budget, is_active=is_active)
            found = [look(instance) for instance in self.test_.tolist()]
            predicted = decisions(sampled.known)[regions.joint[self.test_], found]
            rates.append(np.mean(predicted != regions.labels[self.test_]))
            self._sampled.append(sampled)
        self.error_rates_ = np.array(rates)
        self.error_curves_ = self.true_error_rates_ = None

    @staticmethod
    def _look(possible: PossibleValues, values: Array, extract: Extract | None) -> Callable[[int], int]:
        """Return a function that gives the number of a candidate's value on an instance."""
        if extract is not None:
            return partial(possible.ask, extract)
        look: Callable[[int], int] = possible.require(values[:, possible.feature]).item
        return look

    def _choose(self, n_instances: int) -> None:
        """Rank the candidates, choose the best, and add up the costs."""
        order = np.argsort(self.error_rates_.round(12), kind="stable")
        self.candidate_ranking_ = self.candidates_[order]
        self.ranking_ = np.array([*self.previous, *self.candidate_ranking_[: self.n_features]], dtype=np.int64)
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[self.ranking_] = True
        self.drawn_ = [sampled.drawn for sampled in self._sampled]
        extracted = np.array([len(self.test_) + len(drawn) for drawn in self.drawn_])
        self.n_extracted_ = int(extracted.sum())
        self.total_cost_ = self.n_extracted_ + int((n_instances - extracted[order[: self.n_features]]).sum())

    def _check(self, n_instances: int, n_features: int, *, asks: bool) -> None:
        """Refuse parameters that are out of range."""
        for feature in self.previous:
            require_whole("an index in previous", feature, 0, n_features - 1)
        n_candidates = n_features - len(set(self.previous))
        if n_features - len(self.previous) != n_candidates or not n_candidates:
            raise ValueError(
                f"previous is {list(self.previous)}, expected no index twice and not all {n_features}"
            )
        require_whole("n_features", self.n_features, 1, n_candidates)
        if self.test_size is not None:
            require_whole("test_size", self.test_size, 1, n_instances - 1)
        if self.n_values is not None and len(self.n_values) != n_features:
            raise ValueError(f"n_values has {len(self.n_values)} entries, expected {n_features}")
        for n_values in () if self.n_values is None else self.n_values:
            require_whole("an entry of n_values", n_values, 1)
        if asks and (self.test_size is None or self.n_values is None):
            raise ValueError("test_size or n_values is None, expected both where values are extracted one by one")
