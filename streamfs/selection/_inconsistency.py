"""Kernels that group rows of equal values and count those outside the largest class of their group.

Values are passed as bits, so equal values have equal bits. A row is looked up in an open-addressing hash table of
group numbers above 0 and compared with the first row of that group, so collisions of hashes do not matter.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors._compiled import creating
from feature_extractors.arrays import Integers
from streamfs.base._compiled import inlined, kernel

Bits = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int32]

SCATTER = np.uint64(0x9E3779B97F4A7C15)
FOLD = np.uint64(32)


class Groups(NamedTuple):
    """A hash table of the groups, and the first row of each."""

    slots: Numbers
    first_rows: Numbers


class GroupClassCounts(NamedTuple):
    """A hash table of the classes in each group: group, class and number of rows."""

    slots: Numbers
    groups: Numbers
    labels: Numbers
    sizes: Numbers


@inlined
def scattered(hashed: np.uint64, bits: np.uint64) -> np.uint64:
    """Mix bits into a hash, whose upper half is used."""
    mixed = hashed ^ bits
    return (mixed ^ (mixed >> FOLD)) * SCATTER


@inlined
def find_row(bits: Bits, features: Integers, row: int, slots: Numbers, first_rows: Numbers) -> np.int64:
    """Return the slot of a row's group: its own, or the empty one for it."""
    hashed = np.uint64(0)
    for feature in features:
        hashed = scattered(hashed, bits[row, feature])
    slot = np.int64(hashed >> FOLD) & (len(slots) - 1)
    while slots[slot] > 0:
        first = first_rows[slots[slot] - 1]
        for feature in features:
            if bits[row, feature] != bits[first, feature]:
                break
        else:
            return slot
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@inlined
def find_pair(group: int, label: int, slots: Numbers, groups: Numbers, labels: Numbers) -> np.int64:
    """Return the slot of a group and a class."""
    hashed = scattered(scattered(np.uint64(0), np.uint64(group)), np.uint64(label))
    slot = np.int64(hashed >> FOLD) & (len(slots) - 1)
    while slots[slot] > 0:
        pair = slots[slot] - 1
        if groups[pair] == group and labels[pair] == label:
            break
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@kernel
def number(bits: Bits, features: Integers, found: Groups, groups: Integers) -> None:
    """See `number_groups`."""
    n_groups = 0
    for row in range(len(bits)):
        slot = find_row(bits, features, row, found.slots, found.first_rows)
        if found.slots[slot] == 0:
            found.first_rows[n_groups] = row
            n_groups += 1
            found.slots[slot] = n_groups
        groups[row] = found.slots[slot] - 1


@kernel
def count(
    bits: Bits,
    features: Integers,
    labels: Integers,
    at_most: float,
    found: Groups,
    pairs: GroupClassCounts,
    largest: Numbers,
) -> int:
    """See `n_inconsistent`."""
    n_groups = n_pairs = n_outside = 0
    for row in range(len(bits)):
        slot = find_row(bits, features, row, found.slots, found.first_rows)
        if found.slots[slot] == 0:
            found.first_rows[n_groups] = row
            n_groups += 1
            found.slots[slot] = n_groups
        group = found.slots[slot] - 1
        slot = find_pair(group, labels[row], pairs.slots, pairs.groups, pairs.labels)
        if pairs.slots[slot] == 0:
            pairs.groups[n_pairs], pairs.labels[n_pairs] = group, labels[row]
            n_pairs += 1
            pairs.slots[slot] = n_pairs
        pair = pairs.slots[slot] - 1
        pairs.sizes[pair] += 1
        if pairs.sizes[pair] > largest[group]:
            largest[group] = pairs.sizes[pair]
        else:
            n_outside += 1
            if n_outside / len(bits) > at_most:
                break
    return n_outside


@kernel
def n_slots(n_rows: int) -> int:
    """Return the size of a hash table for `n_rows` rows: a power of two, at most half full."""
    n = 2
    while n < 2 * n_rows:
        n *= 2
    return n


@creating
def number_groups(bits: Bits, features: Integers) -> Integers:
    """Return the group of each row, numbered from 0 in the order of their first rows."""
    n_rows = len(bits)
    groups = np.empty(n_rows, np.int64)
    number(bits, features, Groups(np.zeros(n_slots(n_rows), np.int32), np.empty(n_rows, np.int32)), groups)
    return groups


@creating
def n_inconsistent(bits: Bits, features: Integers, labels: Integers, at_most: float) -> int:
    """Count rows outside the largest class of their group; stop once their share is above `at_most`."""
    n_rows = len(bits)
    slots, pair_slots = np.zeros(n_slots(n_rows), np.int32), np.zeros(n_slots(n_rows), np.int32)
    first_rows, largest = np.empty(n_rows, np.int32), np.zeros(n_rows, np.int32)
    pair_groups, pair_labels = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    pairs = GroupClassCounts(pair_slots, pair_groups, pair_labels, np.zeros(n_rows, np.int32))
    n_outside: int = count(bits, features, labels, at_most, Groups(slots, first_rows), pairs, largest)
    return n_outside


@creating
def rows_in_doubt(groups: Integers, labels: Integers) -> tuple[Integers, Integers]:
    """Return the rows of groups with several classes, group by group, and the end of each of these groups."""
    n_groups = groups.max() + 1
    sizes, first_labels, is_mixed = np.zeros(n_groups, np.int64), np.empty(n_groups, np.int64), np.zeros(n_groups)
    for row in range(len(groups)):
        group = groups[row]
        if sizes[group] == 0:
            first_labels[group] = labels[row]
        elif first_labels[group] != labels[row]:
            is_mixed[group] = 1
        sizes[group] += 1
    places = np.cumsum(sizes * (is_mixed > 0))
    ends = places[is_mixed > 0]
    rows = np.empty(places[-1], np.int64)
    for row in range(len(groups) - 1, -1, -1):
        if is_mixed[groups[row]] > 0:
            places[groups[row]] -= 1
            rows[places[groups[row]]] = row
    return rows, ends


@kernel
def n_inconsistent_with(
    rows: Integers, ends: Integers, codes: Integers, labels: Integers, counts: Integers, largest: Integers
) -> int:
    """Count as `n_inconsistent`, with groups split by one more feature; leaves `counts` and `largest` at zero."""
    n_outside = start = 0
    for end in ends:
        for row in rows[start:end]:
            code, label = codes[row], labels[row]
            counts[code, label] += 1
            if counts[code, label] > largest[code]:
                largest[code] = counts[code, label]
            else:
                n_outside += 1
        for row in rows[start:end]:
            counts[codes[row], labels[row]] = largest[codes[row]] = 0
        start = end
    return n_outside
