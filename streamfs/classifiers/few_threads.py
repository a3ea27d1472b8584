"""How many threads scikit-learn fits with."""

from contextlib import AbstractContextManager
from typing import Any

from threadpoolctl import threadpool_limits

from feature_extractors.arrays import Array

_MANY = 2**24
"""Values from which scikit-learn has several threads: with fewer, on a busy machine, they wait for one another."""


def few_threads(rows: Array) -> AbstractContextManager[Any]:
    """Let scikit-learn fit few rows, shape (n_rows, n_features), with one thread, in a with statement."""
    limits: AbstractContextManager[Any] = threadpool_limits(1 if rows.size < _MANY else None, user_api="openmp")
    return limits
