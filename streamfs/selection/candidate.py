"""A candidate feature that is extracted on some instances only."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from feature_extractors.arrays import Array, Integers
from streamfs.selection._benefit import Estimate, count_value
from streamfs.selection._sampling import count_and_update, draw, make_pools, open_pools, sample
from streamfs.selection.regions import Regions, decisions, joint_probabilities


class Sampled(NamedTuple):
    """A sampled candidate: its estimate, and the instances on which it was extracted, in order."""

    known: Estimate
    drawn: Integers


def sample_recorded(
    regions: Regions, values: Integers, truth: Array, order: Integers, budget: int, *, is_active: bool
) -> tuple[Sampled, Array]:
    """Sample at most `budget` instances of a candidate; return them and the error rate, by `truth`, after each.

    The next instance in the shuffled `order` is actively the first in the best region, otherwise the first of all.
    """
    known = regions.estimate(truth.shape[2])
    pools = make_pools(regions.region_of, order, *regions.weights.shape)
    drawn = np.empty(min(budget, len(order)), dtype=np.int64)
    rights = np.empty(len(drawn) + 1)
    sample(known, pools, order, is_active, np.ascontiguousarray(values), truth, drawn, rights)
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
            count_and_update(known, pools, instance, value)
        else:
            count_value(known, int(regions.labels[instance]), int(regions.joint[instance]), value, 1.0)
        drawn[step] = instance
    return Sampled(known, drawn)


def error_rate(regions: Regions, known: Estimate, truth: Array) -> float:
    """Return the error rate, 0 to 1, of the most probable class by the estimate, given the true distribution."""
    right = np.take_along_axis(truth, decisions(known)[np.newaxis], axis=0).sum()
    return float(1.0 - regions.right_elsewhere - right)


class RecordedCandidates(NamedTuple):
    """Candidates whose values, (n_instances,) each, are all known.

    `truths` are the estimates from all values, and `true_errors` the error rates of their classifiers.
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
