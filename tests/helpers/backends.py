"""Kernels in C, by numba or in Python, whichever a test asks for."""

import ctypes
import sys
from contextlib import contextmanager
from types import FunctionType

import numpy as np

from feature_extractors import _loop, drive
from feature_extractors._compiled import Kernel, in_c

BACKENDS = ("c", "numba", "python")

_LOOP = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_int64))
_kept = {}


def kernels():
    """Return all kernels that are loaded, each once."""
    modules = [
        module for name, module in sys.modules.items() if name.startswith(("streamfs", "feature_extractors"))
    ]
    found = [value for module in modules for value in vars(module).values() if isinstance(value, Kernel)]
    return list({id(kernel): kernel for kernel in found}.values())


@contextmanager
def backend(name):
    """Let kernels be those of a backend; what has no C is by numba."""
    before = {kernel: kernel._run for kernel in kernels()}
    address_of = drive.address_of
    try:
        for kernel in before:
            kernel._run = _run_of(kernel, name)
        drive.address_of = {"c": _in_c, "numba": _loop.address_by_numba, "python": _in_python}[name]
        with np.errstate(all="ignore"):
            yield
    finally:
        drive.address_of = address_of
        for kernel, run in before.items():
            kernel._run = run


def _run_of(kernel, name):
    if name == "python" and kernel.__name__ == "tick_of":
        return lambda time, period: np.floor(np.float64(time) / period + 0.5).astype(np.int64)  # even of -inf
    if name == "python":
        return lambda *args: kernel.py_func(*map(as_records, args))
    known = getattr(in_c(), f"{kernel.__module__}.{kernel.__qualname__}", None) if name == "c" else None
    return known or kernel.dispatcher


def as_records(value):
    """Return arrays of records so that their fields are attributes, as in kernels."""
    if isinstance(value, tuple):
        items = map(as_records, value)
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    is_plain = isinstance(value, np.ndarray) and value.dtype.names and not isinstance(value, np.recarray)
    return value.view(value.dtype, np.recarray) if is_plain else value


def _in_c(function, n_columns):
    return in_c().LOOPS[f"{function.__module__}.{function.__qualname__}/{n_columns}"]


def _in_python(function, n_columns):
    key = function, n_columns
    if key not in _kept:
        known = {**vars(_loop), "step": function, "n_inputs": n_columns}
        _kept[key] = _LOOP(FunctionType(_loop._loop.__code__, known))
    return ctypes.cast(_kept[key], ctypes.c_void_p).value
