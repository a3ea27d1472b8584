"""Drivers that run steps over every prefix of recorded streams, or over a batch of live samples.

Steps are called by address, so that one compiled driver serves every set of features; Python functions are called
after it. A stream's row of state holds the last value of each feature, followed by the features' own states.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from feature_extractors._driver import ENTRY, MANY, run, run_side_by_side, scratch
from feature_extractors._loop import address_of
from feature_extractors.arrays import Array, Integers
from feature_extractors.base import LARGEST, Feature, channels_of
from feature_extractors.python import PythonStep, call


class Program:
    """The steps of some features, laid out for the compiled driver.

    Parameters
    ----------
    features : sequence of Feature
        Features to compute, in order.
    columns : sequence of str
        Channels of the samples, as the features name them.

    Raises
    ------
    TypeError
        If a feature is a string; `feature_extractors.get` converts it.
    ValueError
        If a feature reads a channel that the samples do not have.

    Notes
    -----
    A program belongs to its process; addresses are never stored.
    """

    def __init__(self, features: Sequence[Feature], columns: Sequence[str]) -> None:
        self.features = tuple(features)
        self.columns = tuple(columns)
        where = {column: index for index, column in enumerate(self.columns)}
        for column in channels_of(self.features):
            if column not in where:
                reader = next(feature for feature in self.features if column in feature.columns)
                raise ValueError(f"{reader.name} reads column {column!r}, expected one of {list(where)}")
        sizes = [len(self.features), *(feature.state_size for feature in self.features)]
        states = np.array(sizes, dtype=np.int64).cumsum()
        params = [list(feature.params.values()) for feature in self.features]
        self.state_size = int(states[-1])
        self.table = np.zeros(len(self.features), dtype=ENTRY)
        self.table["address"] = [_address(feature) for feature in self.features]
        self.table["state"] = states[:-1]
        self.table["first_input"] = _starts([len(feature.columns) for feature in self.features])
        self.table["first_param"] = _starts([len(values) for values in params])
        self.inputs = np.array([where[c] for feature in self.features for c in feature.columns], dtype=np.int64)
        self.params = np.array([value for values in params for value in values] + [0.0])
        self._functions = [
            (place, feature, slice(start, start + feature.state_size), [where[c] for c in feature.columns])
            for place, (feature, start) in enumerate(zip(self.features, states[:-1], strict=True))
            if isinstance(feature.kind.step, PythonStep)
        ]

    @property
    def is_compiled(self) -> bool:
        """Whether no feature is a Python function."""
        return not self._functions

    def new_state(self, n_rows: int) -> Array:
        """Return the state of streams without samples, shape (n_rows, state_size)."""
        state = np.zeros((n_rows, self.state_size))
        state[:, : len(self.features)] = np.nan
        return state

    def advance(self, state: Array, rows: Integers, samples: Array, times: Array) -> Array:
        """Advance streams by a batch of samples, and return the features' values after each.

        Parameters
        ----------
        state : ndarray of float64, shape (n_rows, state_size)
            The state of all streams, contiguous; changed in place.
        rows : ndarray of int, shape (n_samples,)
            Row of state of each sample's stream; the samples of a stream are in order.
        samples : ndarray of shape (n_samples, n_columns)
            Values in the order of the program's columns; those that are not finite count as missing.
        times : ndarray of shape (n_samples,)
            Seconds since the first sample of the same stream.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            NaN while a feature is not defined.

        Raises
        ------
        TypeError
            If the state is not a contiguous, writeable array of float64, or the rows are not whole numbers.
        ValueError
            If shapes do not match, or a Python function fails; the state is then unchanged.
        """
        _require(state, rows)
        values = np.empty((len(rows), len(self.features)))
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(state):
            raise ValueError(f"rows are {rows.min()} to {rows.max()}, expected 0 to {len(state) - 1}")
        if samples.shape != (len(rows), len(self.columns)):
            raise ValueError(f"samples have shape {samples.shape}, expected {(len(rows), len(self.columns))}")
        if times.shape != rows.shape:
            raise ValueError(f"times have shape {times.shape}, expected {rows.shape}")
        if state.shape[1:] != (self.state_size,):
            raise ValueError(f"state has shape {state.shape}, expected rows of {self.state_size} floats")
        samples = np.ascontiguousarray(samples, dtype=np.float64)
        times = np.ascontiguousarray(times, dtype=np.float64)
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        if not self._functions:
            run(self.table, self.inputs, self.params, state, rows, samples, times, values, *scratch(self.inputs))
            return values
        streams, rows = np.unique(rows, return_inverse=True)
        moved = state[streams]  # a copy: if a function fails, no stream has advanced
        run(self.table, self.inputs, self.params, moved, rows, samples, times, values, *scratch(self.inputs))
        self._call_functions(moved, rows, samples, times, values)
        state[streams] = moved
        return values

    def _call_functions(self, state: Array, rows: Integers, samples: Array, times: Array, values: Array) -> None:
        """Run Python functions, as the compiled driver runs steps."""
        for place, feature, own, columns in self._functions:
            for i, row in enumerate(rows):
                inputs = samples[i, columns]
                if (np.abs(inputs) <= LARGEST).all():
                    state[row, place] = call(feature, state[row, own], inputs, times[i])
                values[i, place] = state[row, place]


def scan(
    features: Sequence[Feature],
    values: npt.ArrayLike,
    times: npt.ArrayLike | None = None,
    columns: Sequence[str] | None = None,
) -> Array:
    """Compute features of every prefix of recorded streams.

    Parameters
    ----------
    features : sequence of Feature
        Features to compute.
    values : array_like of shape (n_streams, n_ticks, n_columns)
        The recorded samples; values that are not finite count as missing.
    times : array_like of shape (n_ticks,), optional
        Seconds since the first tick; by default one second per tick.
    columns : sequence of str, optional
        Names of the columns; by default the features' own, in order of first occurrence.

    Returns
    -------
    ndarray of shape (n_streams, n_ticks, n_features)
        The value at tick i is that of the prefix up to and including i; NaN if it is not defined.

    Raises
    ------
    ValueError
        If shapes do not match, a feature reads an unknown column, or a Python function fails.

    Examples
    --------
    >>> import feature_extractors as fx
    >>> fx.scan([fx.get("mean(a)"), fx.get("range(a)")], [[[1.0], [3.0], [float("nan")], [5.0]]])
    array([[[1., 0.],
            [2., 2.],
            [2., 2.],
            [3., 4.]]])
    """
    values = np.ascontiguousarray(values, dtype=np.float64)
    if values.ndim != 3:
        raise ValueError(f"values have shape {values.shape}, expected (n_streams, n_ticks, n_columns)")
    n_streams, n_ticks, n_columns = values.shape
    if columns is None:
        columns = channels_of(features)
    if len(columns) != n_columns:
        raise ValueError(f"values have {n_columns} columns, expected {len(columns)}: {', '.join(columns)}")
    times = np.arange(n_ticks, dtype=np.float64) if times is None else np.asarray(times, dtype=np.float64)
    if times.shape != (n_ticks,):
        raise ValueError(f"times have shape {times.shape}, expected {(n_ticks,)}")
    program = Program(features, columns)
    rows = np.repeat(np.arange(n_streams), n_ticks)
    flat = values.reshape(n_streams * n_ticks, n_columns)
    state, seconds = program.new_state(n_streams), np.tile(times, n_streams)
    if program.is_compiled and n_streams >= MANY:
        result = np.empty((len(rows), len(program.features)))
        args = program.table, program.inputs, program.params, state, rows, flat, seconds, result
        run_side_by_side(*args, *scratch(program.inputs), n_ticks)
    else:
        result = program.advance(state, rows, flat, seconds)
    return result.reshape(n_streams, n_ticks, len(program.features))


def _address(feature: Feature) -> int:
    """Return the address of the loop of a feature's step; 0 for a Python function."""
    step = feature.kind.step
    if isinstance(step, PythonStep):
        return 0
    return address_of(step.function, len(feature.columns))


def _require(state: Array, rows: Integers) -> None:
    """Refuse arrays that the compiled driver cannot use."""
    if state.dtype != np.float64 or not state.flags.carray:
        raise TypeError(f"state is of {state.dtype}, expected contiguous, writeable float64")
    if rows.ndim != 1:
        raise ValueError(f"rows have shape {rows.shape}, expected one dimension")
    if rows.size and rows.dtype.kind not in "iu":
        raise TypeError(f"rows are of {rows.dtype}, expected whole numbers")


def _starts(counts: npt.ArrayLike) -> Integers:
    """Return the start of each run of a flat list."""
    lengths: Integers = np.asarray(counts, dtype=np.int64)
    starts: Integers = lengths.cumsum() - lengths
    return starts
