"""Regions of instances: those of the same class and joint value of the features known of all instances."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.selection._benefit import Estimate, all_benefits


@dataclass(frozen=True, eq=False)
class Regions:
    """Instances by class and joint value of the previous features; NaN is treated as a value.

    `joint_values`, (n_joint, n_previous), are those that occur, sorted; `weights`, (n_classes, n_joint), the
    numbers of instances with those of the prior, and `total` their sum and the prior's at joint values that do not
    occur.
    """

    labels: Integers
    joint: Integers
    joint_values: Array
    weights: Array
    total: float

    @property
    def region_of(self) -> Integers:
        """The region of each instance, by class, then by joint value."""
        regions: Integers = self.labels * self.weights.shape[1] + self.joint
        return regions

    @property
    def error_before(self) -> float:
        """Error rate, from 0 to 1, of the most probable class by the previous features alone."""
        return float(1.0 - self.right_elsewhere - self.weights.max(axis=0).sum() / self.total)

    @property
    def right_elsewhere(self) -> float:
        """Probability, by the prior, of a correct class at a joint value that does not occur."""
        n_classes = len(self.weights)
        return float((self.total - self.weights.sum()) / (self.total * n_classes))

    def estimate(self, n_values: int) -> Estimate:
        """Return the estimate of a candidate feature of `n_values` values before any is extracted."""
        n_classes, n_joint = self.weights.shape
        counts = np.zeros((n_classes, n_joint, n_values))
        return Estimate(counts, counts.sum(axis=2), self.weights, self.total, np.empty((n_classes + 1, n_values)))

    def estimate_of(self, values: Integers, n_values: int) -> Estimate:
        """Return the estimate of a candidate feature from all its values; -1 was not extracted."""
        known = self.estimate(n_values)
        seen = values >= 0
        np.add.at(known.counts, (self.labels[seen], self.joint[seen], values[seen]), 1.0)
        known.sizes[:] = known.counts.sum(axis=2)
        return known

    def joint_of(self, previous: Array) -> Integers:
        """Return the joint values of rows of previous features; -1 for one that does not occur."""
        places = {_key(row): index for index, row in enumerate(self.joint_values)}
        return np.array([places.get(_key(row), -1) for row in previous], dtype=np.int64)


def make_regions(labels: npt.ArrayLike, previous: npt.ArrayLike, prior: int = 0) -> Regions:
    """Divide instances into regions by class and joint value of any number of features; NaN is treated as a value.

    Labels are numbers from 0. `prior` instances are added to each class and joint value, including joint values
    that do not occur: 0 makes probabilities of regions relative frequencies, 1 is Laplace's law.

    Examples
    --------
    >>> regions = make_regions([0, 0, 1, 1], [[3.0], [5.0], [5.0], [5.0]])
    >>> regions.weights.tolist(), regions.error_before
    ([[1.0, 1.0], [0.0, 2.0]], 0.25)
    """
    values = np.asarray(previous, dtype=np.float64)
    classes = np.asarray(labels, dtype=np.int64)
    joint, n_cells = np.zeros(len(values), dtype=np.int64), 1.0
    for column in values.T:
        found, codes = np.unique(column, return_inverse=True)
        joint = np.unique(joint * len(found) + codes, return_inverse=True)[1].astype(np.int64)
        n_cells *= len(found)
    _, first = np.unique(joint, return_index=True)
    n_classes = int(classes.max()) + 1
    weights = np.full((n_classes, len(first)), float(prior))
    np.add.at(weights, (classes, joint), 1.0)
    total = float(weights.sum()) + prior * n_classes * (n_cells - len(first))
    return Regions(classes, joint, values[first], weights, total)


def benefits(known: Estimate) -> Array:
    """Return the expected benefit of one more value in each region, shape (n_classes, n_joint), in nats.

    Veeramachaneni and Avesani, Active sampling for feature selection, ICDM 2003, equations 1 to 3, decoupled:
    |p(a, b) (E H'(Y | a, b) - H(Y | a, b)) - p(b) (E H'(Y | b) - H(Y | b))|, where E H' is expected after one more
    value from class a and joint value b. The print has p(a, b) before the second difference too, with which the
    form does not equal equation 3; with p(b) it does.
    """
    found = np.empty(known.weights.shape)
    all_benefits(known, found)
    return found


def decisions(known: Estimate) -> Integers:
    """Return the most probable class, the first of equals, at each joint value and value, (n_joint, n_values).

    This is Bayes' maximum a posteriori classifier of the extracted values.
    """
    n_values = known.counts.shape[2]
    likelihoods = known.weights[:, :, np.newaxis] * (known.counts + 1.0)  # in this order, so that equals are equal
    classes: Integers = (likelihoods / (known.sizes + n_values)[:, :, np.newaxis]).argmax(axis=0)
    return classes


def joint_probabilities(known: Estimate) -> Array:
    """Estimate p(class, joint value, value) by Bayes with a Dirichlet prior of ones, shape as the counts."""
    n_values = known.counts.shape[2]
    conditional = (known.counts + 1.0) / (known.sizes + n_values)[:, :, np.newaxis]
    probabilities: Array = conditional * (known.weights / known.total)[:, :, np.newaxis]
    return probabilities


def class_uncertainty(known: Estimate) -> float:
    """Estimate the entropy of the class given previous features and candidate, in nats: equation 1."""
    p = joint_probabilities(known)
    of_all = np.broadcast_to(p.sum(axis=0), p.shape)
    occurs = p > 0
    return float((p[occurs] * np.log(of_all[occurs] / p[occurs])).sum())


def _key(row: Array) -> tuple[float | None, ...]:
    """Return values as a key in which missing values are equal."""
    return tuple(None if value != value else float(value) for value in row)  # noqa: PLR0124 - only NaN differs
