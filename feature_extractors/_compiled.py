"""Kernels: functions of restricted Python, which are compiled or loaded when they are first called.

Importing them imports no compiler. numba takes a `Kernel` for a function of its own, by the names that it reads.
"""

import os
import sys
from collections.abc import Callable, Sequence
from functools import cache, cached_property, update_wrapper
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

NO_NUMBA = "these kernels are not built in C, and numba is not installed: pip install 'streamfs[train]'"

STALE = "%s was not built from these sources, so numba compiles all kernels: make kernels"

_NUMBA = "feature_extractors._numba"

_waiting: list[Callable[[], None]] = []


def numba_side() -> ModuleType:
    """Return the module that compiles by numba, which it imports at the first call."""
    is_first = _NUMBA not in sys.modules
    try:
        module = import_module(_NUMBA)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(NO_NUMBA, name="numba") from error
    while is_first and _waiting:
        _waiting.pop()()
    return module


def when_numba_is_used(call: Callable[[], None]) -> None:
    """Call a function when numba is first used in this process: now, if it has been."""
    if _NUMBA in sys.modules:
        call()
    else:
        _waiting.append(call)


def digest_of(files: Sequence[str]) -> str:
    """Return a digest of source files, named from the folder of the packages."""
    root, digest = Path(__file__).parents[1], sha256()
    for file in files:
        digest.update((root / file).read_bytes())
    return digest.hexdigest()


@cache
def in_c() -> ModuleType | None:
    """Return the extension module of kernels in C; None if there is none of the kernels as they stand.

    The environment variable STREAMFS_KERNELS chooses `c` or `numba`; with `c` nothing else will do.
    """
    choice = os.environ.get("STREAMFS_KERNELS", "")
    module = None if choice == "numba" else _built()
    is_current = module is not None and _is_of_these_sources(module)
    if choice == "c" and not is_current:
        raise ImportError("STREAMFS_KERNELS is c, but no kernels were built from these sources: install streamfs")
    if module is not None and not is_current:
        import logging  # noqa: PLC0415 - only in a working tree

        logging.getLogger(__name__).warning(STALE, module.__file__)
    return module if is_current else None


def _built() -> ModuleType | None:
    try:
        return import_module("feature_extractors._serving")
    except ImportError:
        return None


def _is_of_these_sources(module: ModuleType) -> bool:
    try:
        return bool(digest_of(module.SOURCES.split()) == module.DIGEST)
    except FileNotFoundError:
        return False


class Kernel:
    """A function of restricted Python, compiled at its first call.

    Parameters
    ----------
    function : callable
        Its definition in Python.
    **options
        Of `numba.njit`.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.py_func = function
        self.targetoptions = options
        self._run: Callable[..., Any] = self._choose
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        return self._run(*args)

    def _choose(self, *args: Any) -> Any:
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        self._run = getattr(in_c(), name, None) or self.dispatcher
        return self._run(*args)

    @property
    def is_compiled(self) -> bool:
        """Whether numba has been asked for this function."""
        return "dispatcher" in vars(self)

    @cached_property
    def dispatcher(self) -> Any:
        """The function that numba compiles."""
        return numba_side().compiled(self.py_func, self.targetoptions)

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_


class Primitive:
    """A function that kernels call and numba has in a form of its own, under the same name; here in Python."""

    __name__: str

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)

    @property
    def _numba_type_(self) -> Any:
        return numba_side().type_of(self.__name__)


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator of kernels that numba compiles with these options."""
    return lambda function: Kernel(function, **options)


creating = compiled(cache=True, nogil=True)
"""Decorator of a kernel that may create arrays."""

inlined = compiled(forceinline=True)
"""Decorator of parts of a kernel, which LLVM puts in their places: numba would take a quarter longer to do so."""


@Primitive
def pointer(address: int) -> int:
    """Return an address as a pointer."""
    return address


@Primitive
def prefetch(address: int) -> None:
    """Prefetch the cache line at an address, which need not be valid."""


@Primitive
def carray(address: int, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the array at a pointer."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    described = {"data": (int(address), False), "shape": tuple(map(int, shape)), "version": 3}
    kind = np.dtype(dtype)
    holder = type("Memory", (), {"__array_interface__": {**described, "typestr": kind.str, "descr": kind.descr}})
    return np.asarray(holder()).view(kind, np.recarray) if kind.names else np.asarray(holder())


@Primitive
def address_in(array: npt.NDArray[Any], index: int) -> int:
    """Return the address of an element of a contiguous array, by its flat index."""
    return int(array.ctypes.data + index * array.itemsize)
