"""Compiled estimates of a candidate feature, and the expected information gain of one more value."""

from math import log
from typing import NamedTuple

from feature_extractors.arrays import Array
from streamfs.base._compiled import kernel


class Estimate(NamedTuple):
    """Values extracted of a candidate feature, from which all its benefits follow.

    `counts`, (n_classes, n_joint, n_values), may be expected numbers, `sizes` are their sums, and `weights`,
    (n_classes, n_joint), the numbers of instances that the regions represent, `total` in all.
    """

    counts: Array
    sizes: Array
    weights: Array
    total: float
    scratch: Array


@kernel
def count_value(known: Estimate, label: int, joint: int, value: int, times: float) -> None:
    """Count a value extracted in a region."""
    known.counts[label, joint, value] += times
    known.sizes[label, joint] += times


@kernel
def change_within(known: Estimate, label: int, joint: int) -> float:
    """Return the expected change of the entropy within a region if one more value is extracted in it.

    With the prior's ones included, the entropy of counts m of sum M is log M - sum(m log m) / M.
    """
    n_values = known.counts.shape[2]
    n_known = known.sizes[label, joint] + n_values
    now = 0.0
    added = 0.0
    for value in range(n_values):
        count = known.counts[label, joint, value] + 1.0
        term = count * log(count)
        now += term
        added += count * ((count + 1.0) * log(count + 1.0) - term)
    expected = log(n_known + 1.0) - (now + added / n_known) / (n_known + 1.0)
    change: float = expected - (log(n_known) - now / n_known)
    return change


@kernel
def entropy_across(known: Estimate, label: int, joint: int, share: float) -> float:
    """Return the expected entropy at a joint value if one more value is extracted in a region, `share` of it.

    Its distribution is the scratch array's last row; the value lowers all probabilities and raises its own.
    """
    counts, scratch = known.counts, known.scratch
    n_classes, _, n_values = counts.shape
    n_known = known.sizes[label, joint] + n_values
    step = share / (n_known + 1.0)
    expected = 0.0
    for value in range(n_values):
        probability = scratch[label, value]
        fallen = scratch[n_classes, value] - step * probability
        risen = fallen + step
        expected -= (1.0 - probability) * (fallen * log(fallen)) + probability * (risen * log(risen))
    return expected


@kernel
def estimate_joint(known: Estimate, joint: int, weight: float) -> float:
    """Write the distributions at a joint value into the scratch array; return the entropy over all classes."""
    counts, sizes, weights, _, scratch = known
    n_classes, _, n_values = counts.shape
    scratch[n_classes] = 0.0
    for label in range(n_classes):
        share = weights[label, joint] / weight
        for value in range(n_values):
            scratch[label, value] = (counts[label, joint, value] + 1.0) / (sizes[label, joint] + n_values)
            scratch[n_classes, value] += share * scratch[label, value]
    entropy = 0.0
    for value in range(n_values):
        entropy -= scratch[n_classes, value] * log(scratch[n_classes, value])
    return entropy


@kernel
def joint_benefits(known: Estimate, joint: int, benefits: Array) -> None:
    """Write the benefits of the regions of one joint value: 0 for one that is all of it, or none of it."""
    n_classes = len(known.weights)
    weight = 0.0
    for label in range(n_classes):
        weight += known.weights[label, joint]
    now = estimate_joint(known, joint, weight)
    for label in range(n_classes):
        own = known.weights[label, joint]
        benefits[label, joint] = 0.0
        if own in (0.0, weight):
            continue
        across = entropy_across(known, label, joint, own / weight) - now
        benefits[label, joint] = abs(own * change_within(known, label, joint) - weight * across) / known.total


@kernel
def all_benefits(known: Estimate, benefits: Array) -> None:
    """Write the benefits of all regions."""
    for joint in range(benefits.shape[1]):
        joint_benefits(known, joint, benefits)


@kernel
def most_probable_class(known: Estimate, joint: int, value: int) -> int:
    """Return the most probable class at a joint value and a value of the candidate; the first of equals."""
    best, best_weight = 0, -1.0
    n_values = known.counts.shape[2]
    for label in range(known.counts.shape[0]):
        weight = known.weights[label, joint] * (known.counts[label, joint, value] + 1.0)
        weight /= known.sizes[label, joint] + n_values  # weights are whole: equals are equal to the bit
        if weight > best_weight:
            best, best_weight = label, weight
    return best


@kernel
def right_share(known: Estimate, truth: Array, joint: int) -> float:
    """Return the probability of a joint value and a correct class there, given the true distribution."""
    share = 0.0
    for value in range(known.counts.shape[2]):
        share += truth[most_probable_class(known, joint, value), joint, value]
    return share
