"""Compilation of kernels."""

from feature_extractors._compiled import compiled

kernel = compiled(cache=True, nogil=True, error_model="numpy", _nrt=False)
"""Decorator of a kernel that creates no arrays, so that it need not count references to its arguments.

For a small function of many arrays, counting would take most of the time.
"""

vectorised = compiled(cache=True, nogil=True, error_model="numpy", _nrt=False, inline="never")
"""Decorator of loops of such a kernel that fill vector registers: in C they stand for themselves, once a width."""

inlined = compiled(error_model="numpy", _nrt=False, forceinline=True)
"""Decorator of a part of such a kernel that is called often, with many arrays: LLVM puts it in its place."""
