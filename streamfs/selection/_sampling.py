"""Compiled active sampling: the work of a step does not depend on the number of regions."""

from typing import NamedTuple

import numpy as np

from feature_extractors.arrays import Array, Integers
from streamfs.base._compiled import kernel
from streamfs.selection._benefit import Estimate, all_benefits, count_value, joint_benefits, right_share

NOBODY = -1
"""No instance is left."""
_EXHAUSTED = -1.0  # below any benefit


class Pools(NamedTuple):
    """Instances on which a candidate may still be extracted.

    A region is a class times the number of joint values, plus a joint value. `members` are the instances by
    region, in random order, from `next_member` to `ends`. Entry 1 of the `tournament` is the largest benefit of a
    region with instances left; the winner of entries 2i and 2i + 1 is entry i, and the regions are the second
    half.
    """

    region_of: Integers
    members: Integers
    next_member: Integers
    ends: Integers
    benefits: Array
    tournament: Array


def make_pools(region_of: Integers, order: Integers, n_classes: int, n_joint: int) -> Pools:
    """Lay out the instances that may be extracted, in their random order."""
    n_regions = n_classes * n_joint
    sizes = np.bincount(region_of[order], minlength=n_regions)
    ends = np.cumsum(sizes)
    members = np.empty_like(order)
    lay_out(region_of, order, ends - sizes, members)
    half = 1 << (n_regions - 1).bit_length()
    benefits = np.zeros((n_classes, n_joint))
    return Pools(region_of, members, ends - sizes, ends, benefits, np.full(2 * half, _EXHAUSTED))


@kernel
def lay_out(region_of: Integers, order: Integers, places: Integers, members: Integers) -> None:
    """Arrange instances by region, in their order; the places of the regions advance."""
    for instance in order:
        region = region_of[instance]
        members[places[region]] = instance
        places[region] += 1


@kernel
def enter(pools: Pools, region: int, benefit: float) -> None:
    """Enter a region with its benefit into the tournament, if it has instances left."""
    tournament = pools.tournament
    place = len(tournament) // 2 + region
    tournament[place] = benefit if pools.next_member[region] < pools.ends[region] else _EXHAUSTED
    while place > 1:
        place = place // 2
        tournament[place] = max(tournament[2 * place], tournament[2 * place + 1])


@kernel
def open_pools(known: Estimate, pools: Pools) -> None:
    """Enter all regions into the tournament."""
    all_benefits(known, pools.benefits)
    n_classes, n_joint = pools.benefits.shape
    for label in range(n_classes):
        for joint in range(n_joint):
            enter(pools, label * n_joint + joint, pools.benefits[label, joint])


@kernel
def best_region(pools: Pools) -> int:
    """Return the region of the largest benefit, the first of equals; `NOBODY` if no instance is left."""
    tournament = pools.tournament
    if tournament[1] == _EXHAUSTED:
        return NOBODY
    place, half = 1, len(tournament) // 2
    while place < half:
        place *= 2
        if tournament[place] < tournament[place + 1]:
            place += 1
    return place - half


@kernel
def draw(pools: Pools) -> int:
    """Draw the next instance of the best region."""
    region = best_region(pools)
    if region == NOBODY:
        return NOBODY
    instance: int = pools.members[pools.next_member[region]]
    pools.next_member[region] += 1
    return instance


@kernel
def renew(known: Estimate, pools: Pools, joint: int) -> None:
    """Update the benefits of the regions of a joint value."""
    n_classes, n_joint = pools.benefits.shape
    joint_benefits(known, joint, pools.benefits)
    for label in range(n_classes):
        enter(pools, label * n_joint + joint, pools.benefits[label, joint])


@kernel
def count_and_update(known: Estimate, pools: Pools, instance: int, value: int) -> None:
    """Count an extracted value and update the benefits."""
    n_joint = pools.benefits.shape[1]
    region = pools.region_of[instance]
    count_value(known, region // n_joint, region % n_joint, value, 1.0)
    renew(known, pools, region % n_joint)


@kernel
def sample(
    known: Estimate,
    pools: Pools,
    order: Integers,
    is_active: bool,
    values: Integers,
    truth: Array,
    drawn: Integers,
    rights: Array,
) -> None:
    """Draw instances actively or in order, count their values, and track the share correctly classified.

    Entry k of `rights` is the share after k values; the length of `drawn` is the number of instances to draw.
    """
    n_joint = known.counts.shape[1]
    rights[0] = 0.0
    for joint in range(n_joint):
        rights[0] += right_share(known, truth, joint)
    if is_active:
        open_pools(known, pools)
    for step in range(len(drawn)):
        instance = draw(pools) if is_active else order[step]
        region = pools.region_of[instance]
        before = right_share(known, truth, region % n_joint)
        if is_active:
            count_and_update(known, pools, instance, values[instance])
        else:
            count_value(known, region // n_joint, region % n_joint, values[instance], 1.0)
        rights[step + 1] = rights[step] + (right_share(known, truth, region % n_joint) - before)
        drawn[step] = instance
