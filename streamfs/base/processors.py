"""The processors that threads may use."""

import os


def n_processors() -> int:
    """Return the number of processors of this process, or what NUMBA_NUM_THREADS says if that is less."""
    n = len(os.sched_getaffinity(0))
    said = os.environ.get("NUMBA_NUM_THREADS", "")
    return min(n, int(said)) if said.isdecimal() and int(said) > 0 else n
