"""Features: a kind of step function, the columns that it reads, and its parameters."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any

import numpy as np

from feature_extractors._compiled import compiled

LARGEST = 1e100
"""Largest absolute value of a reading; a larger one counts as missing, so that no running square overflows."""


@dataclass(frozen=True)
class Step:
    """A step function, which is compiled, or loaded from numba's cache, on first use.

    ``step(state, inputs, params, t) -> value``, of pointers to float64 and a float64, updates the state by one
    sample of the feature's columns. The state starts as zeros, ``t`` is the time in seconds since the first
    sample, and the inputs are finite: the driver skips samples with a missing input.
    """

    function: Callable[..., float]


kernel = compiled(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Decorator of functions that steps share; they are compiled into their callers."""


@dataclass(frozen=True)
class Parameter:
    """A numeric parameter of a kind of feature, between `low` and `high`; without a default it is required."""

    name: str
    default: float | None = None
    low: float = -np.inf
    high: float = np.inf
    whole: bool = False

    def check(self, value: float) -> float:
        """Return the value as a float, or raise a ValueError if it is not allowed."""
        value = float(value)
        if not (self.low <= value <= self.high and np.isfinite(value)):
            raise ValueError(f"{self.name} is {value}, expected a number from {self.low:g} to {self.high:g}")
        if self.whole and value != int(value):
            raise ValueError(f"{self.name} is {value}, expected a whole number")
        return value


@dataclass(frozen=True)
class Kind:
    """A family of features that share a step function.

    Parameters
    ----------
    name : str
        First word of the text name.
    n_columns : int
        Number of columns that a feature of this kind reads.
    step : Step or PythonStep
        The step function, compiled or made by `python_feature`.
    state_size : callable
        Function from the parameters' values to the number of floats of the state.
    parameters : tuple of Parameter
        Parameters in the step's order.
    state_version : int
        Incremented whenever the meaning of the state changes, so that old snapshots are refused.
    """

    name: str
    n_columns: int
    step: Any
    state_size: Callable[..., int]
    parameters: tuple[Parameter, ...] = ()
    state_version: int = 1

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a decorated kind by its place: its function is not found there."""
        place = self.step.function.__module__, self.step.function.__name__
        if getattr(import_module(place[0]), place[1], None) is self:
            return _kind_at, place
        return Kind, tuple(getattr(self, each.name) for each in fields(self))


def _kind_at(module: str, name: str) -> Kind:
    """Return the kind that a module holds by a name."""
    found: Kind = getattr(import_module(module), name)
    return found


def kind(
    name: str,
    n_columns: int,
    state_size: Callable[..., int],
    parameters: tuple[Parameter, ...] = (),
    state_version: int = 1,
) -> Callable[[Callable[..., float]], Kind]:
    """Decorate a step function, which becomes a kind of feature."""
    return lambda function: Kind(name, n_columns, Step(function), state_size, parameters, state_version)


@dataclass(frozen=True)
class Feature:
    """A function from the prefixes of a stream to a number.

    Features are made from text names by `feature_extractors.get`, from Python functions by
    `feature_extractors.python_feature`, or directly from a kind.

    Parameters
    ----------
    kind : Kind
        The kind of feature.
    columns : tuple of str
        The channels that it reads, in the step's order: columns, optionally with a report policy.
    params : mapping of str to float
        Values of the kind's parameters; missing ones have their defaults.

    Raises
    ------
    ValueError
        If the number of columns, the name of a parameter or its value does not match the kind.

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
        """Text name, from which `feature_extractors.get` makes an equal feature."""
        columns = ", ".join(self.columns)
        if not self.params:
            return f"{self.kind.name}({columns})"
        params = ", ".join(f"{name}={format_number(value)}" for name, value in self.params.items())
        return f"{self.kind.name}({columns}; {params})"

    @property
    def state_size(self) -> int:
        """Number of floats of state per stream, whatever its length."""
        return self.kind.state_size(**self.params)

    @property
    def state_version(self) -> int:
        """Version of the state's meaning."""
        return self.kind.state_version

    def __repr__(self) -> str:
        return f"Feature({self.name})"

    def __str__(self) -> str:
        return self.name


def channels_of(features: Iterable[Feature]) -> tuple[str, ...]:
    """Return the channels that features read, each once, in order of first occurrence."""
    features = tuple(features)
    for feature in features:
        if not isinstance(feature, Feature):
            raise TypeError(
                f"feature is {feature!r}, expected a Feature, which feature_extractors.get makes from text"
            )
    return tuple(dict.fromkeys(channel for feature in features for channel in feature.columns))


def format_number(value: float) -> str:
    """Format a number so that it reads back the same, whole numbers without a point.

    Examples
    --------
    >>> format_number(32.0), format_number(0.1)
    ('32', '0.1')
    """
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


def sized(n_floats: int) -> Callable[..., int]:
    """Return a state size that does not depend on parameters."""

    def state_size(**_params: float) -> int:
        return n_floats

    return state_size
