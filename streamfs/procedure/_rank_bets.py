"""Bets on ranks, of many quantities at once."""

from math import log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from streamfs.base._compiled import kernel
from streamfs.classifiers._splitmix import uniform

Counts = npt.NDArray[np.int64]

POWERS = (0.125, 0.25, 0.5)
"""Of a rank, which a bet multiplies by: the power's derivative. Roots give them on all processors alike."""

N_WAYS = 4 * len(POWERS)
SUM = 2.1098
"""At least the sum of 1 / (n log(n)^2) over all n from 2 on."""

SMALLEST = 1e-9  # rank that is bet on
MOST = 1e300  # that a wealth is said to be


@kernel
def bet_on_ranks(
    reference: Counts, total: Counts, seen: Counts, n: Counts, wealths: Any, at: Counts, generator: Any
) -> float:
    """Take a value of each quantity, in the bin `at` it, -1 for none, and bet on its rank.

    Return the highest wealth of a way to bet on any of them.

    Parameters
    ----------
    reference, seen : ndarray of shape (n_quantities, n_bins)
        How often values fell in each bin: of the reference, and so far.
    total : ndarray of shape (n_quantities,)
        Number of values of the reference.
    n : ndarray of shape (n_quantities,)
        Number of values so far.
    wealths : ndarray of shape (n_quantities, N_WAYS)
        Of each way to bet: low ranks, high ones, extreme ones and middle ones, by each power.
    generator : ndarray of shape (1,)
        Breaks ties.
    """
    highest, part, n_last = 0.0, 0.0, 0
    for k in range(len(at)):
        chance = uniform(generator)
        if at[k] < 0:
            continue
        n[k] += 1
        seen[k, at[k]] += 1
        known, greater = total[k] + n[k], 0
        for b in range(at[k] + 1, reference.shape[1]):
            greater += reference[k, b] + seen[k, b]
        rank = (greater + chance * (reference[k, at[k]] + seen[k, at[k]])) / known
        extreme = 2.0 * min(rank, 1.0 - rank)
        if n[k] != n_last:
            n_last = n[k]
            part = (0.5 if n_last == 1 else 0.5 / (SUM * n_last * log(n_last) ** 2)) / N_WAYS
        for i in range(4):
            bet_on = rank if i == 0 else 1.0 - rank if i == 1 else extreme if i == 2 else 1.0 - extreme
            half = sqrt(max(bet_on, SMALLEST))
            quarter = sqrt(half)
            eighth = sqrt(quarter)
            for j in range(len(POWERS)):
                way = i * len(POWERS) + j
                root = half * quarter * eighth if j == 0 else half * quarter if j == 1 else half
                factor = POWERS[j] / root
                wealths[k, way] = min((wealths[k, way] + part) * factor, MOST)
                highest = max(highest, wealths[k, way])
    return highest
