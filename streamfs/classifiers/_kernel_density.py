"""Log densities of one class: sums of product kernels over its rows, tile by tile."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.base._compiled import kernel

TILE = 1024
"""Rows of a class that are taken at a time, so that their columns stay cached while all queries are answered."""


class ClassKernels(NamedTuple):
    """The rows of one class, each the centre of a product of kernels."""

    columns: Array  # (n_features, n_rows); numeric ones in bandwidths, nominal ones as codes; NaN is missing
    is_nominal: npt.NDArray[np.bool_]  # (n_features,)
    log_equal: Array  # (n_features,); log of the kernel at no difference
    log_other: Array  # (n_features,); log of the kernel at another category
    log_factors: Array  # (n_rows,); log of the factor on a row's bandwidths
    falls: Array  # (n_rows,); -1 / (2 factor^2)


def log_densities(rows: ClassKernels, queries: Array) -> Array:
    """Return the log of the mean over the rows of the product of the features' kernels, shape (n_queries,).

    Queries are scaled as the rows' columns are; a value missing on either side leaves its kernel out of the
    product.
    """
    sums: Array = np.full(len(queries), -np.inf)
    _add_log_sums(*rows, np.ascontiguousarray(queries), np.empty(TILE), sums)
    return sums - math.log(len(rows.falls))


@kernel
def _add_log_sums(
    columns: Array,
    is_nominal: npt.NDArray[np.bool_],
    log_equal: Array,
    log_other: Array,
    log_factors: Array,
    falls: Array,
    queries: Array,
    scratch: Array,
    sums: Array,
) -> None:
    """Add the rows' products for each query to its sum, in logs; `scratch` has room for a tile."""
    n_features, n_rows = columns.shape
    for start in range(0, n_rows, TILE):
        stop = min(start + TILE, n_rows)
        products = scratch[: stop - start]
        for q in range(len(queries)):
            products[:] = 0.0
            for f in range(n_features):
                value, column = queries[q, f], columns[f, start:stop]
                if value != value:
                    continue
                if is_nominal[f]:
                    _take_nominal(value, column, log_equal[f], log_other[f], products)
                else:
                    _take_numeric(
                        value, column, log_equal[f], log_factors[start:stop], falls[start:stop], products
                    )
            sums[q] = _log_add(sums[q], _log_sum(products))


@kernel
def _take_numeric(
    value: float, column: Array, log_equal: float, log_factors: Array, falls: Array, products: Array
) -> None:
    """Multiply each row's product, in logs, by its normal kernel."""
    for i in range(len(products)):
        apart = value - column[i]
        log_kernel = log_equal - log_factors[i] + falls[i] * (apart * apart)
        products[i] += log_kernel if apart == apart else 0.0


@kernel
def _take_nominal(value: float, column: Array, log_equal: float, log_other: float, products: Array) -> None:
    """Multiply each row's product, in logs, by its kernel of categories."""
    for i in range(len(products)):
        log_kernel = log_equal if column[i] == value else log_other
        products[i] += log_kernel if column[i] == column[i] else 0.0


@kernel
def _log_sum(logs: Array) -> float:
    """Log of the sum of the exponentials."""
    top = logs[0]
    for i in range(1, len(logs)):
        top = max(top, logs[i])
    total = 0.0
    for i in range(len(logs)):
        total += math.exp(logs[i] - top)
    result: float = top + math.log(total)
    return result


@kernel
def _log_add(a: float, b: float) -> float:
    """Log of the sum of two exponentials, of which the first may be of minus infinity."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))
