"""The laws of features, as functions that can be run on any feature.

Each raises an `AssertionError` that shows the values for which the law does not hold. A signal has shape
(n_ticks, n_columns): the feature's columns, each once, in order of first occurrence.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from numpy.testing import assert_allclose, assert_array_equal, assert_equal

from feature_extractors.arrays import Array, Integers
from feature_extractors.base import LARGEST, Feature, Kind, sized
from feature_extractors.catalogue import KINDS, get
from feature_extractors.drive import Program, scan
from feature_extractors.moments import LAST

TOLERANCE = 1e-9
"""Largest deviation of a value from its definition, as a share of the feature's scale."""

N_GUARDS = 64
"""Number of guard floats on either side of a feature's state."""

Definition = Callable[[Array, Array], float]


def check_feature(feature: Feature, values: Array | None = None) -> None:
    """Run every check that needs no definition.

    Parameters
    ----------
    feature : Feature
        The feature to check.
    values : ndarray of shape (n_ticks, n_columns), optional
        The signal to check it on; by default several that have revealed faults before.

    Raises
    ------
    AssertionError
        If a law does not hold.

    Examples
    --------
    >>> import feature_extractors as fx
    >>> check_feature(fx.get("correlation(a, b)"))
    """
    check_name_round_trips(feature)
    for signal in _signals(len(columns_of(feature))) if values is None else [values]:
        for check in ALL_CHECKS:
            check(feature, signal)


def check_name_round_trips(feature: Feature) -> None:
    """Check that the text name makes an equal feature of the same name."""
    again = get(feature.name, (*KINDS, feature.kind))
    assert_equal(again, feature)
    assert_equal(again.name, feature.name)
    assert_equal(hash(again), hash(feature))


def check_stream_equals_scan(feature: Feature, values: Array, seed: int = 0) -> None:
    """Check that samples of three interleaved streams, live or in random batches, give exactly a scan's values.

    The state is copied between batches, as by a snapshot.
    """
    rng = np.random.default_rng(seed)
    streams = np.stack([values, values[::-1], rng.permutation(values)])
    rows = rng.permutation(np.repeat(np.arange(len(streams)), len(values)))
    whole = scan((feature,), streams)
    one_at_a_time = np.arange(1, len(rows))
    at_random = np.sort(rng.integers(0, len(rows) + 1, size=len(values)))
    for cuts in (one_at_a_time, at_random):
        assert_array_equal(_advance(feature, streams, rows, cuts), whole)


def check_is_causal(feature: Feature, values: Array) -> None:
    """Check that later samples never change earlier values."""
    whole = scan((feature,), values[np.newaxis])[0]
    for n_ticks in {1, (len(values) + 1) // 2}:
        assert_array_equal(scan((feature,), values[np.newaxis, :n_ticks])[0], whole[:n_ticks])


def check_streams_are_independent(feature: Feature, values: Array, seed: int = 0) -> None:
    """Check that samples of one stream affect neither the values nor the state of another."""
    program = Program((feature,), columns_of(feature))
    state = np.full((3, program.state_size), 123.0)
    state[1] = program.new_state(1)
    program.advance(state, np.ones(len(values), dtype=np.int64), values, _seconds(len(values)))
    assert_array_equal(state[[0, 2]], 123.0)
    alone = scan((feature,), values[np.newaxis])
    rows = np.random.default_rng(seed).permutation(np.repeat([0, 1, 2], len(values)))
    for other in (3.0 - 7.0 * values[::-1], np.full(values.shape, np.inf), np.full(values.shape, 1e6)):
        together = _advance(feature, np.stack([other, values, other]), rows, np.arange(1, len(rows), 8))
        assert_array_equal(together[1:2], alone)


def check_leaves_input_untouched(feature: Feature, values: Array) -> None:
    """Check that samples and times are not written to, and may be read-only."""
    program = Program((feature,), columns_of(feature))
    rows = np.zeros(len(values), dtype=np.int64)
    samples, times = values.copy(), _seconds(len(values))
    for writeable in (True, False):
        samples.flags.writeable = times.flags.writeable = writeable
        scan((feature,), samples[np.newaxis], times)
        program.advance(program.new_state(1), rows, samples, times)
        assert_array_equal(samples, values)
        assert_array_equal(times, _seconds(len(values)))


def check_state_is_bounded(feature: Feature, values: Array) -> None:
    """Check that the feature neither writes nor reads outside its own state, however long the stream.

    Its state lies between those of two features that see no sample, each `N_GUARDS` floats of guard values; other
    guard values give the same result. A feature that reaches further may still crash the process.
    """
    n_ticks = max(len(values), 3 * feature.state_size)
    long = np.resize(values, (n_ticks, values.shape[1]))
    columns = columns_of(feature)
    guard = Feature(Kind("guard", 1, LAST.step, sized(N_GUARDS)), ("guard of the check",))
    program = Program((guard, feature, guard), (*columns, *guard.columns))
    assert_equal(program.state_size, 3 + 2 * guard.state_size + feature.state_size)
    is_guard = np.ones(program.state_size, dtype=np.bool_)
    is_guard[[1, *range(3 + guard.state_size, program.state_size - guard.state_size)]] = False
    rows, samples = np.zeros(n_ticks, dtype=np.int64), np.column_stack([long, np.full(n_ticks, np.nan)])
    computed = []
    for guard_value in (123.0, -4e5):
        state = np.where(is_guard, guard_value, program.new_state(1))
        computed.append(program.advance(state, rows, samples, _seconds(n_ticks))[:, 1])
        assert_array_equal(state[0, is_guard], guard_value)
    assert_array_equal(computed[0], computed[1])


def check_nan_rule(feature: Feature, values: Array) -> None:
    """Check that a sample with a missing column repeats the last value and leaves the state unchanged.

    Such samples precede each sample of the signal: NaN or infinite in one column, 1 in the others. The check is
    void for a feature that reads no column.
    """
    program = Program((feature,), columns_of(feature))
    times, state = _seconds(len(values)), program.new_state(1)
    plain = program.advance(state, np.zeros(len(values), dtype=np.int64), values, times)
    for column in range(values.shape[1]):
        for missing in (np.nan, np.inf, -np.inf):
            samples = np.ones((2 * len(values), values.shape[1]))
            samples[::2, column] = missing
            samples[1::2] = values
            state_too = program.new_state(1)
            rows = np.zeros(len(samples), dtype=np.int64)
            computed = program.advance(state_too, rows, samples, np.repeat(times, 2))
            assert_array_equal(computed[1::2], plain)
            assert_array_equal(computed[::2], np.concatenate([[[np.nan]], plain[:-1]]))
            assert_array_equal(state_too, state)


def check_equals_definition(
    feature: Feature, definition: Definition, values: Array, times: npt.ArrayLike | None = None, scale: float = 0.0
) -> None:
    """Check that the value at every tick is that of a definition, applied to the prefix.

    Parameters
    ----------
    feature : Feature
        The feature to check.
    definition : callable
        Function from the samples so far of the feature's columns, shape (n_ticks, n_columns), in its order and
        with NaN if missing, and their times, shape (n_ticks,), to the value.
    values : ndarray of shape (n_ticks, n_columns)
        The signal.
    times : array_like of shape (n_ticks,), optional
        Seconds since the first tick; by default one second per tick.
    scale : float, optional
        Smallest scale of the feature on this signal, in the feature's unit: 1 for a dimensionless number, the
        spread of the samples for a difference that cancels.

    Raises
    ------
    AssertionError
        If a value differs from the definition by more than `TOLERANCE` times the feature's scale (or than the
        smallest normal number, if that is more), or only one of the two is defined.

    Notes
    -----
    The scale is the largest absolute value of the definition over the signal, or `scale` if that is more. So it is
    in the feature's own unit: at an offset of 1e9 the scale of the mean is 1e9, but that of the variance is still
    that of the noise, and lost digits are noticed.
    """
    times = _seconds(len(values)) if times is None else np.asarray(times, dtype=np.float64)
    names = columns_of(feature)
    read = np.where(np.abs(values) <= LARGEST, values, np.nan)[:, [names.index(name) for name in feature.columns]]
    expected = np.array([definition(read[:n], times[:n]) for n in range(1, len(values) + 1)])
    scale = np.max(np.abs(expected), initial=scale, where=np.isfinite(expected))
    nearest = max(TOLERANCE * float(scale), float(np.finfo(np.float64).tiny))
    computed = scan((feature,), values[np.newaxis], times)[0, :, 0]
    assert_allclose(computed, expected, rtol=0.0, atol=nearest)


Check = Callable[[Feature, Array], None]

ALL_CHECKS: tuple[Check, ...] = (
    check_state_is_bounded,
    check_streams_are_independent,
    check_stream_equals_scan,
    check_is_causal,
    check_leaves_input_untouched,
    check_nan_rule,
)
"""The checks of a feature and a signal, in an order in which each may rely on those before it."""


def columns_of(feature: Feature) -> tuple[str, ...]:
    """Return the columns of a feature's signals: those that it reads, each once."""
    return tuple(dict.fromkeys(feature.columns))


def _advance(feature: Feature, streams: Array, rows: Integers, cuts: Integers) -> Array:
    """Process samples of the streams in the order of `rows`, in batches; return values as `scan` does."""
    program = Program((feature,), columns_of(feature))
    n_streams, n_ticks, _ = streams.shape
    ticks = np.empty_like(rows)
    for stream in range(n_streams):
        ticks[rows == stream] = np.arange(n_ticks)
    state = program.new_state(n_streams)
    values = np.empty((n_streams, n_ticks, 1))
    for batch in np.split(np.arange(len(rows)), cuts):
        state = state.copy()
        at = rows[batch], ticks[batch]
        values[at] = program.advance(state, at[0], streams[at], _seconds(n_ticks)[at[1]])
    return values


def _seconds(n_ticks: int) -> Array:
    return np.arange(n_ticks, dtype=np.float64)


def _signals(n_columns: int) -> list[Array]:
    """Return noise, the same with an offset, with gaps, and after a gap; a constant; a single sample."""
    noise = np.random.default_rng(0).normal(size=(50, n_columns))
    gaps = np.where(np.abs(noise) > 1.0, np.nan, noise)
    late = np.concatenate([np.full((5, n_columns), np.nan), noise])
    return [noise, 1e9 + noise, gaps, late, np.full((20, n_columns), 0.1), noise[:1]]
