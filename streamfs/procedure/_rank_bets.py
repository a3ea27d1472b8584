"""Bets on ranks, of many quantities at once."""

from math import exp, inf, log
from typing import Any

import numpy as np
import numpy.typing as npt

from streamfs.base._compiled import kernel
from streamfs.classifiers._splitmix import uniform

Counts = npt.NDArray[np.int64]

POWERS = (0.1, 0.3, 0.6)
"""Of a rank, which a bet multiplies by."""

N_WAYS = 4 * len(POWERS)
SUM = 2.1098
"""At least the sum of 1 / (n log(n)^2) over all n from 2 on."""

SMALLEST = 1e-9  # rank that is bet on


@kernel
def bet_on_ranks(
    reference: Counts, seen: Counts, n: Counts, log_wealths: Any, at: Counts, generator: Any
) -> float:
    """Take a value of each quantity, in the bin `at` it, -1 for none, and bet on its rank.

    Return the logarithm of the highest wealth of a way to bet on any of them.

    Parameters
    ----------
    reference, seen : ndarray of shape (n_quantities, n_bins)
        How often values fell in each bin: of the reference, and so far.
    n : ndarray of shape (n_quantities,)
        Number of values so far.
    log_wealths : ndarray of shape (n_quantities, N_WAYS)
        Of each way to bet: low ranks, high ones, extreme ones and middle ones, by each power.
    generator : ndarray of shape (1,)
        Breaks ties.
    """
    highest = -inf
    for k in range(len(at)):
        chance = uniform(generator)
        if at[k] < 0:
            continue
        seen[k, at[k]] += 1
        greater, known = 0, 0
        for b in range(reference.shape[1]):
            in_bin = reference[k, b] + seen[k, b]
            known += in_bin
            if b > at[k]:
                greater += in_bin
        rank = (greater + chance * (reference[k, at[k]] + seen[k, at[k]])) / known
        extreme = 2.0 * min(rank, 1.0 - rank)
        n[k] += 1
        part = 0.5 if n[k] == 1 else 0.5 / (SUM * n[k] * log(n[k]) ** 2)
        more = log(part / N_WAYS)
        for i in range(4):
            bet_on = rank if i == 0 else 1.0 - rank if i == 1 else extreme if i == 2 else 1.0 - extreme
            logarithm = log(max(bet_on, SMALLEST))
            for j in range(len(POWERS)):
                way = i * len(POWERS) + j
                before = log_wealths[k, way]
                high, low = max(before, more), min(before, more)
                after = high if low == -inf else high + log(1.0 + exp(low - high))
                log_wealths[k, way] = after + log(POWERS[j]) + (POWERS[j] - 1.0) * logarithm
                highest = max(highest, log_wealths[k, way])
    return highest
