"""What a feature is: a kind of step function, the columns it reads, its parameters."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]

LARGEST = 1e100
"""A reading beyond it, either way, is none: it counts as missing, so that no running square overflows."""


@dataclass(frozen=True)
class Step:
    """A step function, which is compiled, or fetched from numba's cache, when somebody needs it.

    Parameters
    ----------
    function : callable
        ``step(state, inputs, params, t) -> value``, of pointers to float64 and a float64, as numba can compile it:
        one sample of the feature's columns moves the state on. The state starts as zeros, ``t`` is the time in
        seconds since the first sample, and the inputs are finite: the driver keeps samples with a missing input
        away from the step.
    """

    function: Callable[..., float]


step = Step
"""Decorates a step function."""

kernel = njit(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Decorates what steps share: compiled into each that calls it, and called by nothing else."""


@dataclass(frozen=True)
class Parameter:
    """A number that a kind of feature takes.

    Parameters
    ----------
    name : str
        How text names write it.
    default : float, optional
        The value where none is given; None where one must be.
    low, high : float
        The least and the greatest value allowed.
    whole : bool
        Whether only whole numbers will do.
    """

    name: str
    default: float | None = None
    low: float = -np.inf
    high: float = np.inf
    whole: bool = False

    def check(self, value: float) -> float:
        """Return the value as a float.

        Raises
        ------
        ValueError
            If the value is not finite, outside the bounds, or not whole where it should be.
        """
        value = float(value)
        if not (self.low <= value <= self.high and np.isfinite(value)):
            raise ValueError(f"{self.name} is {value}, expected a number from {self.low:g} to {self.high:g}")
        if self.whole and value != int(value):
            raise ValueError(f"{self.name} is {value}, expected a whole number")
        return value


@dataclass(frozen=True)
class Kind:
    """All features that share one step function.

    Parameters
    ----------
    name : str
        The first word of the text name.
    n_columns : int
        How many columns a feature of this kind reads.
    step : Step or PythonStep
        The step, or what `python_feature` puts in its place.
    state_size : callable
        From the parameters' values to the number of floats of state.
    parameters : tuple of Parameter
        In the order in which the step finds them.
    state_version : int
        Raised whenever the meaning of the state changes, so that old snapshots are refused.
    """

    name: str
    n_columns: int
    step: Any
    state_size: Callable[..., int]
    parameters: tuple[Parameter, ...] = ()
    state_version: int = 1


@dataclass(frozen=True)
class Feature:
    """A function from the prefixes of a stream to a number.

    Features are made from text names by `feature_extractors.get`, of plain Python functions by
    `feature_extractors.python_feature`, or of a kind directly.

    Parameters
    ----------
    kind : Kind
        Which step function.
    columns : tuple of str
        The channels read, in the step's order: columns, optionally with a report policy.
    params : mapping of str to float
        Values of the kind's parameters; the missing ones take their defaults.

    Raises
    ------
    ValueError
        If the number of columns, the name of a parameter or its value does not suit the kind.

    Examples
    --------
    >>> import feature_extractors as fx
    >>> feature = fx.get("mean(a.light; window=32)")
    >>> feature.columns, feature.params["window"], feature.name
    (('a.light',), 32.0, 'mean(a.light; window=32)')
    """

    kind: Kind
    columns: tuple[str, ...] = ()
    params: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        kind = self.kind
        if isinstance(self.columns, str):
            raise TypeError(f"columns are {self.columns!r}, expected a tuple of channels")
        object.__setattr__(self, "columns", tuple(self.columns))
        if len(self.columns) != kind.n_columns:
            raise ValueError(
                f"{kind.name} reads {kind.n_columns} columns, got {len(self.columns)}: {', '.join(self.columns)}"
            )
        unknown = set(self.params) - {p.name for p in kind.parameters}
        if unknown:
            raise ValueError(f"{kind.name} has no parameter {min(unknown)!r}")
        values = {}
        for parameter in kind.parameters:
            value = self.params.get(parameter.name, parameter.default)
            if value is None:
                raise ValueError(f"{kind.name} needs a value of {parameter.name}")
            values[parameter.name] = parameter.check(value)
        object.__setattr__(self, "params", values)

    @property
    def name(self) -> str:
        """The text name, from which `feature_extractors.get` makes an equal feature."""
        columns = ", ".join(self.columns)
        if not self.params:
            return f"{self.kind.name}({columns})"
        params = ", ".join(f"{name}={format_number(value)}" for name, value in self.params.items())
        return f"{self.kind.name}({columns}; {params})"

    @property
    def state_size(self) -> int:
        """Number of floats that the feature keeps of a stream, whatever its length."""
        return self.kind.state_size(**self.params)

    @property
    def state_version(self) -> int:
        """Version of the state's meaning."""
        return self.kind.state_version

    def __str__(self) -> str:
        return self.name


def channels_of(features: Iterable[Feature]) -> tuple[str, ...]:
    """Name the channels that some features read, each once, in the order in which they first occur.

    Raises
    ------
    TypeError
        If a feature is a text; `feature_extractors.get` makes one of it.

    Examples
    --------
    >>> import feature_extractors as fx
    >>> channels_of([fx.get("mean(b)"), fx.get("correlation(a, b)"), fx.get("count()")])
    ('b', 'a')
    """
    features = tuple(features)
    for feature in features:
        if not isinstance(feature, Feature):
            raise TypeError(
                f"feature is {feature!r}, expected a Feature, which feature_extractors.get makes of text"
            )
    return tuple(dict.fromkeys(channel for feature in features for channel in feature.columns))


def format_number(value: float) -> str:
    """Write a number so that it reads back the same, whole numbers without a point.

    Examples
    --------
    >>> format_number(32.0), format_number(0.1)
    ('32', '0.1')
    """
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


def sized(n_floats: int) -> Callable[..., int]:
    """Return a state size that no parameter changes."""

    def state_size(**_params: float) -> int:
        return n_floats

    return state_size
