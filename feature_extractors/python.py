"""Features of plain Python functions: the same laws as the compiled ones, without their speed."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from feature_extractors.base import Array, Feature, Kind, Parameter
from feature_extractors.catalogue import KINDS, canonical

Function = Callable[[Array, Array], Any]

_WINDOW = Parameter("window", default=1000, low=1, high=1_000_000, whole=True)


@dataclass(frozen=True)
class PythonStep:
    """What stands in a kind for the compiled step: a plain function."""

    function: Function


@dataclass(frozen=True)
class _RingSize:
    """State size: how many samples have come, and the time and values of the newest `window`."""

    n_columns: int

    def __call__(self, window: float) -> int:
        return 1 + int(window) * (1 + self.n_columns)


def python_feature(
    function: Function, columns: Sequence[str], name: str | None = None, window: int = 1000
) -> Feature:
    """Make a feature of a plain Python function.

    Parameters
    ----------
    function : callable
        ``function(values, times)`` is given the newest samples in which no column is missing: `values` of shape
        (n_samples, n_columns), oldest first, and `times` of shape (n_samples,), seconds since the episode's first
        tick. Both are its own, to change or to keep. It returns a number; what is not finite is not defined yet.
        The number must depend on nothing else.
    columns : sequence of str
        The channels that it reads: columns, optionally with a report policy.
    name : str, optional
        Its name in text names and model files: letters, digits and underscores, and no kind of the catalogue. By
        default the function's own.
    window : int
        How many samples the function is given at most, from 1 to 1,000,000. Each stream keeps as many: a time and
        a number a column, 8 bytes each.

    Returns
    -------
    Feature
        Its `kind` is what `feature_extractors.get` and ``Procedure.load`` need to know its text name: a model file
        holds the name and the window, but not the function.

    Raises
    ------
    ValueError
        If the name or the window will not do.

    Notes
    -----
    The function is called at each sample, one after the other and holding Python's global lock: a thousand times
    slower than the catalogue's features, and slower still where it looks at the whole of a long window.

    Where the function raises, or returns what is no number, `scan` and `Program.advance` raise a ValueError that
    names the feature and the length of the prefix, with the function's own error as its cause. The batch is not
    taken then: the state of its streams is what it was.

    Examples
    --------
    >>> import feature_extractors as fx
    >>> def middle(values, times):
    ...     return np.median(values[:, 0])
    >>> feature = fx.python_feature(middle, ["a.light"], window=3)
    >>> feature.name
    'middle(a.light; window=3)'
    >>> fx.scan([feature], [[[5.0], [1.0], [2.0], [9.0]]]).ravel()
    array([5., 3., 2., 2.])
    >>> fx.get("middle(b.light; window=60)", (*fx.KINDS, feature.kind)).columns
    ('b.light',)
    """
    if not callable(function):
        raise TypeError(f"function is {function!r}, expected a callable")
    if isinstance(columns, str):
        raise TypeError(f"columns are {columns!r}, expected a sequence of channels")
    name = getattr(function, "__name__", "") if name is None else name
    if not re.fullmatch(r"\w+", name):
        raise ValueError(f"name is {name!r}, expected letters, digits and underscores: give name= such a one")
    if any(kind.name == name for kind in KINDS):
        raise ValueError(f"name is {name!r}, a kind of the catalogue: give name= another")
    columns = tuple(canonical(channel) for channel in columns)
    kind = Kind(name, len(columns), PythonStep(function), _RingSize(len(columns)), (_WINDOW,))
    return Feature(kind, columns, {"window": window})


def call(feature: Feature, state: Array, inputs: Array, t: float) -> float:
    """Move the state of a Python feature on by one sample, and return the value.

    Parameters
    ----------
    feature : Feature
        Made by `python_feature`.
    state : ndarray of shape (state_size,)
        Changed in place: how many samples have come, then a ring of samples, each a time and its values.
    inputs : ndarray of shape (n_columns,)
        Finite values of its columns.
    t : float
        Seconds since the first tick.

    Raises
    ------
    ValueError
        If the function fails.
    """
    window = int(feature.params["window"])
    ring = state[1:].reshape(window, 1 + len(inputs))
    n = int(state[0]) + 1
    state[0] = n
    ring[(n - 1) % window] = t, *inputs
    samples = ring[np.arange(max(0, n - window), n) % window]  # a copy, which the function may do with as it likes
    try:
        result = feature.kind.step.function(samples[:, 1:], samples[:, 0])
    except Exception as error:
        raise ValueError(f"{feature.name} raised {error!r} on a prefix of {n} samples") from error
    try:
        value = float(result)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{feature.name} returned {result!r} on a prefix of {n} samples, expected a number"
        ) from error
    return value if math.isfinite(value) else math.nan
