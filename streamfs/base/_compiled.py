"""Compilation of kernels."""

from feature_extractors._compiled import compiled

kernel = compiled(cache=True, nogil=True, error_model="numpy", _nrt=False)
"""Decorator of a kernel that creates no arrays, so that it need not count references to its arguments.

For a small function of many arrays, counting would take most of the time.
"""

inlined = compiled(cache=True, nogil=True, error_model="numpy", _nrt=False, inline="always")
"""Decorator of a part of such a kernel that is called often, with many arrays."""
