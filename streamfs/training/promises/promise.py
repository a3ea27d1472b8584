"""A promise, and the tests by which streams show that it is kept."""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log
from numbers import Real

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, bdtrik

from feature_extractors.arrays import Array
from streamfs.training.promises.curve import ByClass, reduced

ACCURACY_PART = 0.8
"""Share of the risk for the accuracy if completeness is promised, too: accuracy decides the cost."""

PER_CLASS = ("labelled", "found")
"""What may be promised of each class: the right share of streams labelled so, or of those that are so."""

MOST_BITS_KEPT = 12
"""Binary digits of the numbers of streams for all of which it is kept how many may fail."""


@dataclass(frozen=True)
class Promise:
    """The shares of right labels and of labelled streams that are promised, and at what risk.

    Parameters
    ----------
    accuracy : float
        Share of the labelled streams whose label is right, at least.
    completeness : float, optional
        Share of the streams that get a label, at least; by default it is not promised.
    risk : float
        Probability, over the draw of the streams for the test, that a procedure is certified that does not keep
        the promise.
    per_class : {"labelled", "found"}, optional
        The accuracy is promised of each class, too: "labelled", of the streams labelled so, at least that share is
        so; "found", of the streams that are so, at least that share is labelled so. The more classes, the more
        streams are needed, of the rarest above all.

    Raises
    ------
    ValueError
        If one of them does not lie between 0 and 1, or `per_class` is something else.
    TypeError
        If one is not a number.

    Examples
    --------
    >>> promise = Promise(accuracy=0.9, risk=0.05)
    >>> promise.fewest_labelled
    29
    >>> promise.accuracy_p_values([28, 29, 100], [28, 29, 96]).round(3).tolist()
    [0.052, 0.047, 0.024]
    """

    accuracy: float = 0.9
    completeness: float | None = None
    risk: float = 0.05
    per_class: str | None = None

    def __post_init__(self) -> None:
        if self.per_class not in (None, *PER_CLASS):
            raise ValueError(f"per_class is {self.per_class!r}, expected {' or '.join(PER_CLASS)}")
        for name in ("accuracy", "completeness", "risk"):
            value = getattr(self, name)
            if value is None and name == "completeness":
                continue
            if not isinstance(value, Real):
                raise TypeError(f"{name} is {value!r}, expected a number of more than 0 and less than 1")
            if not 0 < float(value) < 1:
                raise ValueError(f"{name} is {value}, expected more than 0 and less than 1")
            object.__setattr__(self, name, float(value))  # a model file holds Python's own

    @property
    def accuracy_risk(self) -> float:
        """The risk of the accuracy: all of it if nothing else is promised."""
        return self.risk * (1.0 if self.completeness is None else ACCURACY_PART)

    @property
    def completeness_risk(self) -> float:
        """The risk of the completeness; 0 if it is not promised."""
        return self.risk - self.accuracy_risk

    @property
    def fewest_labelled(self) -> int:
        """Labelled streams below which no test can be passed, even if all labels are right."""
        return ceil(log(self.accuracy_risk) / log(self.accuracy) - 1e-9)

    @property
    def fewest_streams(self) -> int:
        """Streams below which no test can be passed, even if all are labelled rightly."""
        if self.completeness is None:
            return self.fewest_labelled
        return max(self.fewest_labelled, ceil(log(self.completeness_risk) / log(self.completeness) - 1e-9))

    def accuracy_p_values(self, n_labelled: npt.ArrayLike, n_right: npt.ArrayLike) -> Array:
        """Probability of no more wrong labels, if the accuracy were just not kept; 1 without any label."""
        labelled = np.asarray(n_labelled, dtype=np.int64)
        wrong = np.subtract(labelled, n_right, dtype=np.float64)
        return np.where(labelled > 0, bdtr(wrong, labelled, 1.0 - self.accuracy), 1.0)

    def class_p_values(self, by_class: ByClass) -> Array:
        """Probability of no more wrong labels of a class, if its share were just not kept, of the worst class.

        The shape is (n_thresholds,). That some class is not kept is the union of as many hypotheses, of which the
        one with the largest p-value is tested at the whole risk (R. L. Berger, Multiparameter hypothesis testing
        and acceptance sampling, Technometrics 24, 1982): all classes are kept unless that risk comes true.

        Raises
        ------
        ValueError
            If nothing is promised of each class.
        """
        if self.per_class is None:
            raise ValueError("per_class is None, expected labelled or found: nothing is promised of each class")
        found = self.accuracy_p_values(self._of_which(by_class), by_class.right_of)
        return np.asarray(found.max(axis=1, initial=0.0))

    def least_share(self, by_class: ByClass) -> Array:
        """Return the share that is promised of each class, of that where it is the least, for thresholds."""
        shares = by_class.right_of / np.maximum(self._of_which(by_class), 1)
        return np.asarray(shares.min(axis=1, initial=1.0))

    def class_chances(self, by_class: ByClass, errors: float | Array, n_of: int, n_streams: int) -> Array:
        """Probability that each class passes, for thresholds, if shares are less by some standard errors.

        `by_class` counts among `n_of` streams; `n_streams` others are tested.
        """
        of_which = self._of_which(by_class)
        share = reduced(by_class.right_of / np.maximum(of_which, 1), of_which, np.expand_dims(errors, -1))
        tested = np.round(of_which * (n_streams / max(n_of, 1))).astype(np.int64)
        each = _chances_of_passing(tested, 1.0 - share, 1.0 - self.accuracy, self.accuracy_risk)
        return np.asarray(each.prod(axis=-1))

    def _of_which(self, by_class: ByClass) -> np.ndarray:
        if self.per_class == "labelled":
            return by_class.labelled_as
        return np.broadcast_to(by_class.streams_of, by_class.right_of.shape)

    def completeness_p_values(self, n_labelled: npt.ArrayLike, n_streams: int) -> Array:
        """Probability of as many labelled streams, or more, if the completeness were just not kept.

        Raises
        ------
        ValueError
            If no completeness is promised.
        """
        if self.completeness is None:
            raise ValueError("completeness is None, expected a share: nothing is promised of it")
        unlabelled = np.subtract(n_streams, n_labelled, dtype=np.float64)
        return np.asarray(bdtr(unlabelled, n_streams, 1.0 - self.completeness))

    def chances(self, completeness: npt.ArrayLike, accuracy: npt.ArrayLike, n_streams: int) -> Array:
        """Probability that streams pass both tests, if these are the true shares.

        Parameters
        ----------
        completeness, accuracy : array_like
            True shares.
        n_streams : int
            Streams in the test; that as many of them are labelled as expected is taken for granted.
        """
        complete = self.completeness_chances(completeness, n_streams)
        return self.accuracy_chances(completeness, accuracy, n_streams) * complete

    def accuracy_chances(self, completeness: npt.ArrayLike, accuracy: npt.ArrayLike, n_streams: int) -> Array:
        """Probability that streams pass the test of the accuracy, if these are the true shares."""
        labelled = np.round(np.asarray(completeness) * n_streams).astype(np.int64)
        return _chances_of_passing(labelled, 1.0 - np.asarray(accuracy), 1.0 - self.accuracy, self.accuracy_risk)

    def completeness_chances(self, completeness: npt.ArrayLike, n_streams: int) -> Array:
        """Probability that streams pass the test of the completeness, if this is the true share; 1 without one."""
        unlabelled = 1.0 - np.asarray(completeness)
        if self.completeness is None:
            return np.ones(unlabelled.shape)
        n = np.full(unlabelled.shape, n_streams)
        return _chances_of_passing(n, unlabelled, 1.0 - self.completeness, self.completeness_risk)


def _chances_of_passing(n: npt.NDArray[np.int64], p: Array, promised: float, risk: float) -> Array:
    """Probability that of n streams, which fail with probability p, no more fail than the test allows."""
    n_bits = int(n.max(initial=0)).bit_length()
    if n_bits <= MOST_BITS_KEPT:
        allowed = _all_failures_allowed(n_bits, promised, risk)[n]
    else:
        sizes, places = np.unique(n, return_inverse=True)
        allowed = failures_allowed(sizes, promised, risk)[places].reshape(n.shape)
    return np.where(allowed >= 0, bdtr(np.maximum(allowed, 0.0), n, p), 0.0)


@lru_cache(maxsize=64)
def _all_failures_allowed(n_bits: int, promised: float, risk: float) -> Array:
    """Return how many may fail of all numbers of streams below a power of two; a search asks for them often."""
    return failures_allowed(np.arange(1 << n_bits), promised, risk)


def failures_allowed(n: npt.ArrayLike, promised: float, risk: float) -> Array:
    """Return how many of n streams may fail if the test is to pass; -1 if n is too small."""
    sizes = np.asarray(n, dtype=np.int64)
    most = np.floor(np.nan_to_num(bdtrik(risk, sizes, promised)) + 1e-6)
    most -= bdtr(most, np.maximum(sizes, 1), promised) > risk
    return np.where((sizes > 0) & (bdtr(0.0, np.maximum(sizes, 1), promised) <= risk), most, -1.0)
