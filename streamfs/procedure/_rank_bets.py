"""Bets on ranks, of many quantities at once."""

from math import log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from streamfs.base._compiled import kernel

Counts = npt.NDArray[np.int64]

N_CELLS = 8
"""Equal parts of the ranks from 0 to 1."""

N_WAYS = 2
"""Half is bet on cells, half on pairs of them."""

PRIOR = 0.5
"""Ranks that each cell, or pair, seems to have had before the first."""

KEPT = 0.99
"""Of what past ranks count, at each new one."""

SUM = 2.1098
"""At least the sum of 1 / (n log(n)^2) over all n from 2 on."""

MOST = 1e300  # that a wealth is said to be


@kernel
def to_the_eighths(x: float, eighths: int) -> float:
    """Return x to the power of `eighths` / 8, from 1 to 8, by roots, which are alike on all processors."""
    if eighths == 8:
        return x
    half = sqrt(x)
    quarter = sqrt(half)
    power = half if eighths >= 4 else 1.0
    if eighths % 4 >= 2:
        power *= quarter
    return power * sqrt(quarter) if eighths % 2 == 1 else power


@kernel
def bet_on_ranks(
    reference: Counts,
    total: Counts,
    eighths: Counts,
    seen: Counts,
    n: Counts,
    cells: Any,
    wealths: Any,
    at: Counts,
) -> float:
    """Take a value of each quantity, in the bin `at` it, -1 for none, and bet on its rank.

    Values in one bin have ranks between those of the bins beside it, all of which are alike probable: the bet is
    the mean of those on each. Return the highest wealth of any quantity.

    Parameters
    ----------
    reference, seen : ndarray of shape (n_quantities, n_bins)
        How often values fell in each bin: of the reference, and so far.
    total : ndarray of shape (n_quantities,)
        Number of values of the reference.
    eighths : ndarray of shape (n_quantities,)
        What a value counts, 1 to 8: 8 / m of values of which m go together.
    n : ndarray of shape (n_quantities,)
        Number of values so far.
    cells : ndarray of shape (n_quantities, N_CELLS)
        How often ranks fell in each cell so far, the older, the less; one that spans several has a part in each.
    wealths : ndarray of shape (n_quantities, N_WAYS)
        Of each way to bet.
    """
    highest, part, n_last = 0.0, 0.0, 0
    for k in range(len(at)):
        if at[k] < 0:
            continue
        greater, together = 0, 8.0 / eighths[k]
        for b in range(at[k] + 1, reference.shape[1]):
            greater += reference[k, b] + seen[k, b]
        equal = reference[k, at[k]] + seen[k, at[k]] + together
        all_known = total[k] + n[k] + together
        first, last = N_CELLS * greater / all_known, N_CELLS * (greater + equal) / all_known  # in cells
        n[k] += 1
        seen[k, at[k]] += 1
        if n[k] != n_last:
            n_last = n[k]
            part = (0.5 if n_last == 1 else 0.5 / (SUM * n_last * log(n_last) ** 2)) / N_WAYS
        known, in_cells, in_pairs = 0.0, 0.0, 0.0
        for c in range(N_CELLS):
            known += cells[k, c]
        for c in range(int(first), N_CELLS):
            if c >= last:
                break
            there, pair = (min(last, c + 1.0) - max(first, float(c))) / (last - first), c - c % 2
            in_cells += there * (cells[k, c] + PRIOR)
            in_pairs += there * (cells[k, pair] + cells[k, pair + 1] + PRIOR)
        n_pairs = N_CELLS // 2
        fine = N_CELLS * in_cells / (known + N_CELLS * PRIOR)
        coarse = n_pairs * in_pairs / (known + n_pairs * PRIOR)
        wealths[k, 0] = min((wealths[k, 0] + part) * to_the_eighths(fine, eighths[k]), MOST)
        wealths[k, 1] = min((wealths[k, 1] + part) * to_the_eighths(coarse, eighths[k]), MOST)
        highest = max(highest, wealths[k, 0] + wealths[k, 1])
        for c in range(N_CELLS):
            there = max(min(last, c + 1.0) - max(first, float(c)), 0.0) / (last - first)
            cells[k, c] = KEPT * cells[k, c] + there * eighths[k] / 8.0
    return highest
