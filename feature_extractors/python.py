"""Features of Python functions, which obey the laws of the compiled ones but are slower."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from feature_extractors.arrays import Array
from feature_extractors.base import Feature, Kind, Parameter
from feature_extractors.catalogue import KINDS, canonical

Function = Callable[[Array, Array], Any]

_WINDOW = Parameter("window", default=1000, low=1, high=1_000_000, whole=True)


@dataclass(frozen=True)
class PythonStep:
    """The Python function that takes the place of a compiled step in a kind."""

    function: Function


@dataclass(frozen=True)
class _RingSize:
    """State size: a count of samples, and the time and values of the newest `window` of them."""

    n_columns: int

    def __call__(self, window: float) -> int:
        return 1 + int(window) * (1 + self.n_columns)


def python_feature(
    function: Function, columns: Sequence[str], name: str | None = None, window: int = 1000
) -> Feature:
    """Make a feature from a Python function.

    Parameters
    ----------
    function : callable
        ``function(values, times)`` receives the newest complete samples: `values` of shape (n_samples, n_columns),
        oldest first, and `times` of shape (n_samples,), seconds since the episode's first tick. Both are copies,
        which it may modify or keep. It returns a number that depends on nothing else; one that is not finite means
        that the feature is not defined yet.
    columns : sequence of str
        The channels that it reads: columns, optionally with a report policy.
    name : str, optional
        Name in text names and model files: letters, digits and underscores, but not a kind of the catalogue. By
        default the function's own name.
    window : int
        Maximum number of samples that the function receives, from 1 to 1,000,000. Each stream keeps as many: a
        time and a number per column, 8 bytes each.

    Returns
    -------
    Feature
        Pass its `kind` to `feature_extractors.get` and ``Procedure.load`` to make its text name known: a model
        file holds the name and the window, but not the function.

    Raises
    ------
    ValueError
        If the name or the window is not valid.

    Notes
    -----
    The function is called once per sample, holding Python's global lock. This is a thousand times slower than the
    catalogue's features, and slower still if it reads all of a long window.

    If the function raises, or returns something other than a number, `scan` and `Program.advance` raise a
    ValueError that names the feature and the length of the prefix, with the function's own error as its cause. The
    state of the batch's streams is then unchanged.

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
        raise ValueError(f"name is {name!r}, expected letters, digits and underscores: pass another name=")
    if any(kind.name == name for kind in KINDS):
        raise ValueError(f"name is {name!r}, expected one that is not in the catalogue: pass another name=")
    columns = tuple(canonical(channel) for channel in columns)
    kind = Kind(name, len(columns), PythonStep(function), _RingSize(len(columns)), (_WINDOW,))
    return Feature(kind, columns, {"window": window})


def call(feature: Feature, state: Array, inputs: Array, t: float) -> float:
    """Update the state of a Python feature by one sample of finite inputs at time t, and return the value.

    The state, (state_size,), is a count of samples and a ring of samples, each a time and its values.
    """
    window = int(feature.params["window"])
    ring = state[1:].reshape(window, 1 + len(inputs))
    n = int(state[0]) + 1
    state[0] = n
    ring[(n - 1) % window] = t, *inputs
    samples = ring[np.arange(max(0, n - window), n) % window]  # a copy, which the function may modify
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
