"""A candidate feature that is extracted on some instances only."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from feature_extractors.base import Array
from streamfs.data.streams import Integers
from streamfs.selection._benefit import Estimate, learn
from streamfs.selection._sampling import draw, learn_actively, make_pools, open_pools, sample
from streamfs.selection.regions import Regions, decisions, joint_probabilities


class Sampled(NamedTuple):
    """A sampled candidate: its estimate, and the instances on which it was extracted, in order."""

    known: Estimate
    drawn: Integers


def sample_recorded(
    regions: Regions, values: Integers, truth: Array, order: Integers, budget: int, *, is_active: bool
) -> tuple[Sampled, Array]:
    """Sample a candidate whose values are all known; return the sample and the error rate after each value.

    Errors are counted by `truth`, as `joint_probabilities` makes it, of shape (n_classes, n_joint, n_values). At
    most `budget` instances are drawn from the shuffled `order`: actively the next is the first in the best region,
    otherwise the first of all. The rates, from 0 to 1, have shape (n_drawn + 1,).
    """
    known = regions.estimate(truth.shape[2])
    pools = make_pools(regions.region_of, order, *regions.weights.shape)
    drawn = np.empty(min(budget, len(order)), dtype=np.int64)
    rights = np.empty(len(drawn) + 1)
    sample(known, pools, order, is_active, values, truth, drawn, rights)
    return Sampled(known, drawn), 1.0 - regions.right_elsewhere - rights


def sample_by(
    regions: Regions,
    n_values: int,
    extract: Callable[[int], int],
    order: Integers,
    budget: int,
    *,
    is_active: bool,
) -> Sampled:
    """Sample a candidate by extracting one value after the other; otherwise as `sample_recorded`."""
    known = regions.estimate(n_values)
    pools = make_pools(regions.region_of, order, *regions.weights.shape)
    if is_active:
        open_pools(known, pools)
    drawn = np.empty(min(budget, len(order)), dtype=np.int64)
    for step in range(len(drawn)):
        instance = draw(pools) if is_active else int(order[step])
        value = extract(instance)
        if is_active:
            learn_actively(known, pools, instance, value)
        else:
            learn(known, int(regions.labels[instance]), int(regions.joint[instance]), value, 1.0)
        drawn[step] = instance
    return Sampled(known, drawn)


def error_rate(regions: Regions, known: Estimate, truth: Array) -> float:
    """Return the error rate, 0 to 1, of the most probable class by the estimate, given the true distribution."""
    right = np.take_along_axis(truth, decisions(known)[np.newaxis], axis=0).sum()
    return float(1.0 - regions.right_elsewhere - right)


class RecordedCandidates(NamedTuple):
    """Candidates whose values are all known.

    `values` are numbers from 0, one array of shape (n_instances,) per candidate; `truths` the estimates from all
    values, by which errors are counted; `true_errors` the error rates of the classifiers of all values, from 0 to
    1.
    """

    regions: Regions
    values: tuple[Integers, ...]
    truths: tuple[Array, ...]
    true_errors: Array

    @classmethod
    def of(cls, regions: Regions, values: Sequence[Integers], n_values: Sequence[int]) -> "RecordedCandidates":
        """Estimate candidates from all values; each has a number of possible values."""
        known = [regions.estimate_of(numbers, n) for numbers, n in zip(values, n_values, strict=True)]
        truths = tuple(joint_probabilities(estimate) for estimate in known)
        errors = [error_rate(regions, estimate, truth) for estimate, truth in zip(known, truths, strict=True)]
        return cls(regions, tuple(values), truths, np.array(errors))

    def sample(self, candidate: int, order: Integers, budget: int, *, is_active: bool) -> tuple[Sampled, Array]:
        """Sample a candidate on some instances and track its error rate, as `sample_recorded`."""
        values, truth = self.values[candidate], self.truths[candidate]
        return sample_recorded(self.regions, values, truth, order, budget, is_active=is_active)


def spearman(scores: Array, truth: Array) -> Array:
    """Return Spearman's rank correlation with the true scores, 1 - 6 sum d^2 / (M (M^2 - 1)).

    Scores, (..., M), equal to 12 decimals are tied and have the mean rank; at least two candidates are needed.

    Notes
    -----
    With ties this is not Pearson's correlation of the ranks, but it is defined if all scores are equal, as before
    any value is extracted: one half, if no true scores are tied.

    Examples
    --------
    >>> import numpy as np
    >>> spearman(np.array([[0.1, 0.2, 0.4], [0.3, 0.3, 0.3]]), np.array([0.0, 0.3, 0.2]))
    array([0.5, 0.5])
    """
    from scipy.stats import rankdata  # noqa: PLC0415 - takes a second, and only experiments need it

    n_candidates = len(truth)
    if n_candidates < 2:
        raise ValueError(f"there are {n_candidates} scores, expected at least 2")
    gaps = rankdata(np.round(scores, 12), axis=-1) - rankdata(np.round(truth, 12))
    correlations: Array = 1.0 - 6.0 * (gaps**2).sum(axis=-1) / (n_candidates * (n_candidates**2 - 1))
    return correlations


def mean_square_error(errors: Array, truth: Array) -> Array:
    """Return the mean square difference between estimated, (n_runs, ..., M, n_sizes), and true error rates, (M,).

    Examples
    --------
    >>> import numpy as np
    >>> mean_square_error(np.array([[[0.5, 0.3]], [[0.1, 0.3]]]), np.array([0.2])).round(3)
    array([[0.05, 0.01]])
    """
    squares: Array = ((errors - truth[:, np.newaxis]) ** 2).mean(axis=0)
    return squares
