"""What a node does besides features and calibration: report policies, messages, and the walk through a forest.

It is restricted Python. A policy's state is `REPORT_SIZE` reals, NaN and zeros at first; it returns what the
model sees at a tick, as `feature_extractors.report.Policy.seen` does for whole streams.
"""

import math
from typing import Any

import numpy as np

HELD, TICK, LAST, TOTAL, N = range(5)
REPORT_SIZE = 5
"""The value that holds; the number of ticks; the tick at which it was sent; a block's sum and its number."""


def _held(report: Any, tick: float, max_silence: float) -> float:
    return report[HELD] if tick - report[LAST] <= max_silence else math.nan


def _hold(report: Any, tick: float, x: float) -> None:
    report[HELD] = x
    report[LAST] = tick


def _see_change(report: Any, message: float, step: float, max_silence: float) -> float:
    """See each message that differs from the last one by more than a step."""
    tick = report[TICK]
    report[TICK] += 1.0
    if not math.isnan(message):
        if not math.fabs(message - report[HELD]) <= step:
            _hold(report, tick, message)
        if tick - report[LAST] >= max_silence:
            report[LAST] = tick
    return _held(report, tick, max_silence)


def delta(report: Any, x: float, value: float, max_silence: float) -> float:
    """See each value that differs from the last one seen by more than `value`."""
    return _see_change(report, x, value, max_silence)


def flag(report: Any, x: float, value: float, max_silence: float) -> float:
    """See whether values are above `value`, as 1 or 0."""
    if math.isnan(x):
        return _see_change(report, x, 0.0, max_silence)
    return _see_change(report, 1.0 if x > value else 0.0, 0.0, max_silence)


def quantised(report: Any, x: float, value: float, max_silence: float) -> float:
    """See values rounded to multiples of `value`."""
    return _see_change(report, np.rint(x / value) * value + 0.0, 0.0, max_silence)


def every(report: Any, x: float, value: float, max_silence: float) -> float:
    """See the value of each `value`-th tick."""
    tick = report[TICK]
    report[TICK] += 1.0
    if tick % value == 0.0 and not math.isnan(x):
        _hold(report, tick, x)
    return _held(report, tick, max_silence)


def mean(report: Any, x: float, value: float, max_silence: float) -> float:
    """See the mean of each block of `value` ticks, at its end."""
    tick = report[TICK]
    report[TICK] += 1.0
    if not math.isnan(x):
        report[TOTAL] += x
        report[N] += 1.0
    if tick % value == value - 1.0:
        if report[N] > 0.0:
            _hold(report, tick, report[TOTAL] / report[N])
        report[TOTAL] = 0.0
        report[N] = 0.0
    return _held(report, tick, max_silence)


POLICIES = {"delta": delta, "flag": flag, "quantised": quantised, "every": every, "mean": mean}
"""The policies that hold a value, by their kinds."""


def message_of(report: Any) -> float:
    """Return what is sent at the tick that a policy has just seen; NaN if that is nothing."""
    return report[HELD] if report[LAST] == report[TICK] - 1.0 else math.nan


def limited(x: float, lowest: float, undefined: float) -> float:
    """Return a feature within the limits of what is sent, `lowest` and its negative; or what stands for NaN."""
    return undefined if math.isnan(x) else min(max(x, lowest), -lowest)


def crossed(x: float, levels: Any, undefined: float) -> float:
    """Return how many of some levels a feature is above; or what stands for NaN."""
    if math.isnan(x):
        return undefined
    n = 0.0
    for level in levels:
        if x > level:
            n += 1.0
    return n


def sum_shares(
    thresholds: Any, features: Any, skips: Any, rows: Any, sizes: Any, shares: Any, values: Any, sums: Any
) -> None:
    """Sum the class probabilities of the leaves that values reach, tree by tree.

    The tests of a tree stand before those of the next; behind a test are those of the branch below, whose number
    is its skip, and then those of the branch above. Leaves stand in the same order, each with a row of the shares.
    Of a test's feature the number is doubled, and 1 is added if a missing value is above all thresholds.
    """
    for c in range(shares.shape[1]):
        sums[0, c] = 0.0
    first, first_leaf = 0, 0
    for size in sizes:
        node, leaf, left = first, first_leaf, size
        while left > 0:
            value = values[0, features[node] // 2]
            is_above = features[node] % 2 if math.isnan(value) else value > thresholds[node]
            below = skips[node]
            node += 1
            if is_above:
                node += below
                leaf += below + 1
                left -= below + 1
            else:
                left = below
        for c in range(shares.shape[1]):
            sums[0, c] += shares[rows[leaf], c]
        first += size
        first_leaf += size + 1


def count_steps(values: Any, steps: Any, rounded: Any) -> None:
    """Write how many steps of a grid each value is; NaN for one that is missing, or has no grid."""
    for f in range(len(steps)):
        rounded[0, f] = np.rint(values[0, f] / steps[f]) if steps[f] > 0.0 else math.nan


def divide(sums: Any, n: float) -> None:
    """Divide a row by a number."""
    for c in range(sums.shape[1]):
        sums[0, c] /= n
