"""Kernels that fit the thresholds of unusual values to each instance's nearest other one."""

import numpy as np

from feature_extractors.arrays import Array, Integers
from streamfs.base._compiled import kernel
from streamfs.classifiers._lazy import Stored, distance


@kernel
def nearest_others(stored: Stored, groups: Integers, compared: Integers, neighbours: Integers) -> None:
    """Fill `neighbours` with the nearest instance of another group to each, the lowest of equals; -1 if none."""
    for i in range(len(neighbours)):
        least = np.inf
        neighbours[i] = -1
        for other in range(len(neighbours)):
            if groups[other] != groups[i]:
                apart = distance(stored, stored.values[i], other, compared, least)
                if neighbours[i] < 0 or apart < least:
                    least, neighbours[i] = apart, other


@kernel
def update_thresholds(
    stored: Stored, classes: Integers, neighbours: Integers, deviations: Array, eta: float, thresholds: Array
) -> None:
    """Update the thresholds by each instance in turn, as in the table of LearnT; none falls below 0."""
    for i in range(len(neighbours)):
        other = neighbours[i]
        if other < 0:
            continue
        rate = eta if classes[i] == classes[other] else -eta
        for f in range(len(thresholds)):
            gap = abs(stored.values[i, f] - stored.values[other, f]) / stored.spans[f]
            if gap == gap:
                thresholds[f] = max(0.0, thresholds[f] * (1.0 + rate * (gap - deviations[f])))
