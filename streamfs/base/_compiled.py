"""How kernels are compiled."""

from numba import njit

kernel = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
"""Decorates a kernel that makes no arrays: it need not count the references to those that it is given.

Counting takes more time than all else where a function that does little is given many arrays.
"""

inlined = njit(cache=True, nogil=True, error_model="numpy", _nrt=False, inline="always")
"""Decorates a part of such a kernel that many arrays are given to, again and again."""
