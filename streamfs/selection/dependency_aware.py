"""Dependency-aware feature ranking: a feature is ranked by what random subsets gain from it."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.utils.validation import check_random_state

from feature_extractors.arrays import Array, Flags
from streamfs.base.estimators import require_whole, training_rows
from streamfs.base.feature_selector import FeatureSelector
from streamfs.base.parameters import MOST_JOBS, Made, Seed, Whole
from streamfs.classifiers.neighbours import NeighborsClassifier
from streamfs.selection.criteria import WrapperAccuracy
from streamfs.selection.evaluators import Criterion
from streamfs.selection.stopping import Check, StoppingRule, order_change, ranked, value_change


class DependencyAwareRanking(FeatureSelector):
    """Ranks features by the mean quality of random subsets with the feature less that of those without it.

    A feature thus counts by its contribution to others; the number of evaluations is that of the subsets (probes),
    whatever the number of features. The quality of a subset is any criterion: a classifier's accuracy on it, or a
    filter.

    Parameters
    ----------
    criterion : Criterion, optional
        Scores a subset; by default the cross-validated accuracy of three nearest neighbours.
    max_probe : int, optional
        Size of the largest probe; by default all features. Sizes are uniform from 1 to this number.
    n_probes : int
        Maximum number of probes.
    stopping : callable, optional
        When to stop earlier: a rule of `streamfs.selection.stopping`, or any function of all checks so far that
        returns whether to stop.
    check_every : int
        Number of probes between checks; the first check is made once every feature has a coefficient.
    n_features : int, optional
        Number of best features to select; by default all.
    n_jobs : int, optional
        Number of workers, as in joblib; the result does not depend on it. They are threads, unless
        `joblib.parallel_config` selects another backend, which pays if the criterion holds Python's lock.
    random_state : int, RandomState or None
        Seed of the probes.

    Attributes
    ----------
    daf_ : ndarray of shape (n_features_in_,)
        Equation 3, in units of the criterion.
    ranking_ : ndarray of int
        The selected features, best first; among equals the lowest index is first.
    support_ : ndarray of bool of shape (n_features_in_,)
        Mask of the selected features.
    n_probes_ : int
        Number of probes drawn.
    checked_at_ : ndarray of int of shape (n_checks,)
        Number of probes at each check.
    order_changes_, value_changes_ : ndarray of shape (n_checks,)
        C and C^2: the mean change of the features' places, and of their coefficients, since the previous check;
        NaN at the first.
    stopped_by_ : callable or None
        The rule that stopped the drawing; None if all `n_probes` were drawn.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    The coefficient of a feature that was in no probe, or in every one, is undefined: nothing is checked until all
    are defined. Probes are drawn in one sequence and their qualities added in that order, so the result is the
    same for any `n_jobs` and `check_every`. The quality of the first probe is subtracted from each, which changes
    no coefficient: if all are equal, the coefficients are exactly 0. Besides the criterion, the work for a probe
    is proportional to the number of features, and only sums are stored. Missing values (NaN) are left to the
    criterion.

    References
    ----------
    Somol, Grim, Filip and Pudil, On stopping rules in dependency-aware feature ranking, CIARP 2013, equations 1 to
    3; the method is from Somol, Grim and Pudil, Fast dependency-aware feature selection in very-high-dimensional
    pattern recognition, SMC 2011.

    Examples
    --------
    Two features that determine the class only together, and two of noise:

    >>> from streamfs.selection.stopping import ValueChange
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> y = (X[:, 1] > 0) == (X[:, 3] > 0)
    >>> ranking = DependencyAwareRanking(
    ...     n_probes=1000, stopping=ValueChange(0.01), check_every=50, n_features=2, random_state=0
    ... ).fit(X, y)
    >>> sorted(ranking.ranking_.tolist())
    [1, 3]
    >>> ranking.stopped_by_, ranking.n_probes_
    (ValueChange(threshold=0.01), 200)

    With a linear support vector machine:

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import LinearSVC
    >>> linear = WrapperAccuracy(make_pipeline(StandardScaler(), LinearSVC()))
    >>> ranking = DependencyAwareRanking(linear, n_probes=40, n_features=2, random_state=0)
    >>> sorted(ranking.fit(X, X[:, 0] - X[:, 2] > 0).ranking_.tolist())
    [0, 2]
    """

    _parameter_constraints: ClassVar = {
        "criterion": [Made("prepare"), None],
        "max_probe": [Whole(1), None],
        "n_probes": [Whole(1)],
        "stopping": [callable, None],
        "check_every": [Whole(1)],
        "n_features": [Whole(1), None],
        "n_jobs": [Whole(-MOST_JOBS, MOST_JOBS), None],
        "random_state": [Seed()],
    }

    def __init__(
        self,
        criterion: Criterion | None = None,
        max_probe: int | None = None,
        n_probes: int = 4000,
        stopping: StoppingRule | None = None,
        check_every: int = 400,
        n_features: int | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.criterion = criterion
        self.max_probe = max_probe
        self.n_probes = n_probes
        self.stopping = stopping
        self.check_every = check_every
        self.n_features = n_features
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> Self:
        """Draw probes and rank the features.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Values; NaN is missing.
        y : array_like of shape (n_rows,)
            Classes.
        groups : array_like of shape (n_rows,), optional
            For the criterion: rows of one group are never on both sides of a fold.

        Raises
        ------
        ValueError
            If there is only one feature, a parameter is out of range, the criterion gives a number that is not
            finite, or a feature was in none of the probes or in all of them.
        """
        values, labels = training_rows(self, X, y, groups, ensure_min_samples=2)
        self._check_parameters()
        criterion = WrapperAccuracy(NeighborsClassifier()) if self.criterion is None else self.criterion
        evaluate = criterion.prepare(values, labels, None if groups is None else np.asarray(groups))
        sums, checks, self.stopped_by_ = _Sums(self.n_features_in_), list[Check](), None
        with Parallel(n_jobs=self.n_jobs, prefer="threads") as parallel:
            for probes in self._draw():
                sums.add(probes, parallel(delayed(evaluate)(probe) for probe in probes))
                if len(probes) == self.check_every and sums.are_defined:
                    checks.append(_check(sums, checks))
                    if self.stopping is not None and self.stopping(checks):
                        self.stopped_by_ = self.stopping
                        break
        self._keep(sums, checks)
        return self

    def _check_parameters(self) -> None:
        n = self.n_features_in_
        if n < 2:
            raise ValueError(f"X has {n} feature(s), expected at least 2: a lone feature is in every probe")
        for name in ("max_probe", "n_features"):
            if getattr(self, name) is not None:
                require_whole(name, getattr(self, name), 1, n)

    def _draw(self) -> Iterator[list[tuple[int, ...]]]:
        """Draw the probes in one sequence, a batch for each check."""
        random, n, largest = check_random_state(self.random_state), self.n_features_in_, self.max_probe
        for first in range(0, self.n_probes, self.check_every):
            n_drawn = min(self.check_every, self.n_probes - first)
            sizes = (random.randint(1, 1 + (largest or n)) for _ in range(n_drawn))
            yield [tuple(np.sort(random.permutation(n)[:size]).tolist()) for size in sizes]

    def _keep(self, sums: "_Sums", checks: Sequence[Check]) -> None:
        sums.require_defined()
        self.daf_ = sums.daf()
        self.ranking_ = ranked(self.daf_)[: self.n_features]
        self.support_ = np.isin(np.arange(self.n_features_in_), self.ranking_)
        self.n_probes_ = sums.n_probes
        self.checked_at_ = np.array([check.n_probes for check in checks], dtype=np.int64)
        self.order_changes_ = np.array([check.order_change for check in checks])
        self.value_changes_ = np.array([check.value_change for check in checks])


class _Sums:
    """Sums over the probes so far, for each feature."""

    def __init__(self, n_features: int) -> None:
        self.n_probes = 0
        self._n_inside = np.zeros(n_features, np.int64)
        self._inside = np.zeros(n_features)
        self._all = self._first = 0.0

    def add(self, probes: Sequence[tuple[int, ...]], qualities: Sequence[float]) -> None:
        """Add probes in their order."""
        for probe, quality in zip(probes, qualities, strict=True):
            if not np.isfinite(quality):
                raise ValueError(f"criterion is {quality} for features {list(probe)}, expected a finite number")
            if self.n_probes == 0:
                self._first = quality
            members, gain = np.array(probe), quality - self._first
            self.n_probes += 1
            self._n_inside[members] += 1
            self._inside[members] += gain
            self._all += gain

    @property
    def _is_defined(self) -> Flags:
        return (self._n_inside > 0) & (self._n_inside < self.n_probes)

    @property
    def are_defined(self) -> bool:
        """Whether every feature has been in some probe and out of another."""
        return bool(self._is_defined.all())

    def require_defined(self) -> None:
        """Raise an error that names the first feature that has not been both in a probe and out of one."""
        undefined = np.flatnonzero(~self._is_defined)
        if len(undefined):
            where = "none" if self._n_inside[undefined[0]] == 0 else "all"
            raise ValueError(
                f"feature {undefined[0]} was in {where} of the {self.n_probes} probes, expected it to be in some "
                f"and out of others: raise n_probes, or change max_probe"
            )

    def daf(self) -> Array:
        """Return the coefficients of equation 3; every feature must be defined."""
        outside, n_outside = self._all - self._inside, self.n_probes - self._n_inside
        return self._inside / self._n_inside - outside / n_outside


def _check(sums: _Sums, before: Sequence[Check]) -> Check:
    """Compare the coefficients with those of the previous check."""
    daf = sums.daf()
    if not before:
        return Check(sums.n_probes, daf, np.nan, np.nan)
    last = before[-1].daf
    return Check(sums.n_probes, daf, order_change(last, daf), value_change(last, daf))
