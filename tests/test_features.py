"""Every feature obeys every law, on every signal, and is what the papers define."""

from collections.abc import Callable
from functools import partial
from typing import Any

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import cfunc
from numpy.testing import assert_allclose, assert_array_equal
from signals import ARBITRARY_SIGNALS, SIGNALS

import feature_extractors as fx
from feature_extractors.base import STEP, Array, Feature, Kind, sized
from feature_extractors.catalogue import KINDS
from feature_extractors.checks import (
    ALL_CHECKS,
    Check,
    Definition,
    check_equals_definition,
    check_feature,
    check_name_round_trips,
    check_state_is_bounded,
    check_streams_are_independent,
    columns_of,
)

FEATURES = tuple(
    fx.get(name)
    for name in (
        "count()",
        "last(a)",
        "mean(a)",
        "mean(a; window=2)",
        "mean(a; window=3)",
        "mean(a; window=16)",
        "variance(a)",
        "variance(a; window=2)",
        "variance(a; window=3)",
        "variance(a; window=16)",
        "min(a)",
        "max(a)",
        "range(a)",
        "slope(a)",
        "exponential_mean(a; alpha=0.01)",
        "exponential_mean(a; alpha=0.5)",
        "exponential_mean(a; alpha=1)",
        "correlation(a, b)",
        "correlation(a, a)",
        "increment_correlation(a, b)",
        "increment_correlation(a, a)",
        "mean_absolute_difference(a, b)",
        "mean_absolute_difference(a, a)",
        "flag_agreement(a, b; threshold=0)",
        "flag_agreement(a, b; threshold=0.5)",
        "flag_agreement(a, b; threshold=-1.1)",
    )
)

DEFINITIONS: dict[tuple[str, ...], Callable[..., float]] = {
    ("count",): naive.count,
    ("last",): naive.last,
    ("mean",): naive.mean,
    ("mean", "window"): naive.windowed_mean,
    ("variance",): naive.variance,
    ("variance", "window"): naive.windowed_variance,
    ("min",): naive.minimum,
    ("max",): naive.maximum,
    ("range",): naive.value_range,
    ("slope",): naive.slope,
    ("exponential_mean", "alpha"): naive.exponentially_weighted_mean,
    ("correlation",): naive.correlation,
    ("increment_correlation",): naive.correlation_of_increments,
    ("mean_absolute_difference",): naive.mean_absolute_difference,
    ("flag_agreement", "threshold"): naive.flag_agreement,
}

by_feature = pytest.mark.parametrize("feature", FEATURES, ids=str)
by_signal = pytest.mark.parametrize("signal", SIGNALS.values(), ids=SIGNALS.keys())
correlations = tuple(feature for feature in FEATURES if "correlation" in feature.kind.name)


def key(kind: Kind) -> tuple[str, ...]:
    return kind.name, *(parameter.name for parameter in kind.parameters)


def definition_of(feature: Feature) -> Definition:
    params = {name: int(value) if name == "window" else value for name, value in feature.params.items()}
    return partial(DEFINITIONS[key(feature.kind)], **params)


def read_by(feature: Feature, signal: Array) -> Array:
    return signal[:, : len(columns_of(feature))]


def test_every_kind_is_tried() -> None:
    assert {key(kind) for kind in KINDS} == set(DEFINITIONS) == {key(feature.kind) for feature in FEATURES}


@by_signal
@by_feature
@pytest.mark.parametrize("check", ALL_CHECKS)
def test_law(check: Check, feature: Feature, signal: Array) -> None:
    check(feature, read_by(feature, signal))


@given(feature=st.sampled_from(FEATURES), signal=ARBITRARY_SIGNALS)
@pytest.mark.parametrize("check", ALL_CHECKS)
def test_law_on_any_signal(check: Check, feature: Feature, signal: Array) -> None:
    check(feature, read_by(feature, signal))


@by_feature
def test_all_checks_at_once(feature: Feature) -> None:
    check_feature(feature)


@by_signal
@by_feature
def test_definition(feature: Feature, signal: Array) -> None:
    if feature in correlations and signal is SIGNALS["denormal"]:
        signal = 1e180 * signal  # see test_a_spread_whose_square_vanishes_is_none
    check_equals_definition(feature, definition_of(feature), read_by(feature, signal))


@given(feature=st.sampled_from(FEATURES), signal=ARBITRARY_SIGNALS, data=st.data())
def test_definition_on_any_signal(feature: Feature, signal: Array, data: st.DataObject) -> None:
    steps = data.draw(st.lists(st.integers(0, 100_000), min_size=len(signal), max_size=len(signal)))
    times = np.cumsum(steps) / 1000 - steps[0] / 1000
    check_equals_definition(feature, definition_of(feature), read_by(feature, signal), times)


@pytest.mark.parametrize("feature", correlations, ids=str)
def test_a_spread_whose_square_vanishes_is_none(feature: Feature) -> None:
    values = read_by(feature, SIGNALS["denormal"])
    assert_array_equal(fx.scan([feature], values[np.newaxis]), np.nan)


@pytest.mark.parametrize("window", [2, 3, 16])
@pytest.mark.parametrize("outlier", [1e12, -1e15])
def test_a_window_forgets_an_outlier(window: int, outlier: float) -> None:
    """Once it has left the window no digit is missing, wherever in a block it stood."""
    features = [fx.get(f"mean(a; window={window})"), fx.get(f"variance(a; window={window})")]
    noise = SIGNALS["noise"][np.newaxis, :, :1]
    clean = fx.scan(features, noise)[0]
    for tick in range(2 * window):
        values = noise.copy()
        values[0, tick] = outlier
        after = tick + window
        assert_allclose(fx.scan(features, values)[0, after:], clean[after:], rtol=1e-9, atol=1e-12)


def test_the_wrong_definition_is_seen() -> None:
    with pytest.raises(AssertionError, match="Mismatched elements"):
        check_equals_definition(fx.get("last(a)"), naive.mean, SIGNALS["ramp"][:, :1])
    with pytest.raises(AssertionError, match="nan location"):
        check_equals_definition(fx.get("mean(a)"), naive.variance, SIGNALS["constant"][:, :1])


def test_a_lost_digit_is_seen_at_a_large_offset() -> None:
    def rounded(values: Array, times: Array) -> float:
        return naive.variance(values.astype(np.float32).astype(np.float64), times)

    with pytest.raises(AssertionError, match="Mismatched elements"):
        check_equals_definition(fx.get("variance(a)"), rounded, SIGNALS["large offset"][:, :1])


# Features that break one law each: the checks must see it.


@cfunc(STEP)
def _writes_beyond(state: Any, inputs: Any, _params: Any, _t: Any) -> Any:
    state[1] += inputs[0]
    return inputs[0]


@cfunc(STEP)
def _reads_beyond(state: Any, inputs: Any, _params: Any, _t: Any) -> Any:
    return state[1] + inputs[0]


@cfunc(STEP)
def _writes_into_the_row_before(state: Any, inputs: Any, _params: Any, _t: Any) -> Any:
    state[-2] += inputs[0]
    return inputs[0]


def broken(step: Any) -> Feature:
    return Feature(Kind("broken", 1, step, sized(1)), ("a",))


@pytest.mark.parametrize("step", [_writes_beyond, _reads_beyond])
def test_a_feature_that_leaves_its_state_is_seen(step: Any) -> None:
    with pytest.raises(AssertionError):
        check_state_is_bounded(broken(step), SIGNALS["noise"][:, :1])


def test_a_feature_that_writes_into_another_stream_is_seen() -> None:
    with pytest.raises(AssertionError):
        check_streams_are_independent(broken(_writes_into_the_row_before), SIGNALS["noise"][:, :1])


def test_a_name_that_another_kind_has_is_seen() -> None:
    mine = Feature(Kind("mean", 1, _reads_beyond, sized(1)), ("a",))
    with pytest.raises(AssertionError):
        check_name_round_trips(mine)


def test_a_column_that_needs_quotes_and_has_none_is_seen() -> None:
    feature = Feature(fx.get("mean(a)").kind, ("inlet north",))
    with pytest.raises(ValueError, match="'mean\\(inlet north\\)' is no feature"):
        check_name_round_trips(feature)


# Slips of a caller


def test_scan_names_an_unknown_column() -> None:
    with pytest.raises(ValueError, match=r"mean\(c\) reads column 'c', expected one of \['a', 'b'\]"):
        fx.scan([fx.get("mean(c)")], np.zeros((1, 3, 2)), columns=("a", "b"))


@pytest.mark.parametrize(
    ("shape", "n_times", "message"),
    [
        ((3, 1), None, r"values have shape \(3, 1\), expected \(n_streams, n_ticks, n_columns\)"),
        ((1, 3, 2), None, "values have 2 columns, expected 1: a"),
        ((1, 3, 1), 4, r"times have shape \(4,\), expected \(3,\)"),
    ],
)
def test_scan_names_a_wrong_shape(shape: tuple[int, ...], n_times: int | None, message: str) -> None:
    times = None if n_times is None else np.arange(float(n_times))
    with pytest.raises(ValueError, match=message):
        fx.scan([fx.get("mean(a)")], np.zeros(shape), times)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": np.array([0, 2])}, "rows reach from 0 to 2, expected 0 to 1"),
        ({"rows": np.array([-1, 0])}, "rows reach from -1 to 0, expected 0 to 1"),
        ({"samples": np.zeros((2, 3))}, r"samples have shape \(2, 3\), expected \(2, 1\)"),
        ({"times": np.zeros(1)}, r"times have shape \(1,\), expected \(2,\)"),
        ({"state": np.zeros((2, 7))}, "rows of state have 7 floats, expected 5"),
    ],
)
def test_advance_names_what_does_not_fit(change: dict[str, Any], message: str) -> None:
    program = fx.Program([fx.get("mean(a)")], ["a"])
    batch = {
        "state": program.new_state(2),
        "rows": np.array([0, 1]),
        "samples": np.zeros((2, 1)),
        "times": np.zeros(2),
    }
    with pytest.raises(ValueError, match=message):
        program.advance(**(batch | change))


def test_nothing_to_do_is_no_slip() -> None:
    assert fx.scan([], np.zeros((2, 3, 0))).shape == (2, 3, 0)
    assert fx.scan([fx.get("mean(a)")], np.zeros((0, 3, 1))).shape == (0, 3, 1)
    assert fx.scan([fx.get("count()")], np.zeros((2, 0, 0))).shape == (2, 0, 1)


def test_columns_are_found_by_name() -> None:
    values = SIGNALS["noise"][np.newaxis]
    features = [fx.get("last(b)"), fx.get("last(a)")]
    assert_array_equal(fx.scan(features, values), values)
    assert_array_equal(fx.scan(features, values, columns=("a", "b")), values[:, :, ::-1])


def test_samples_of_columns_need_not_lie_side_by_side() -> None:
    program = fx.Program([fx.get("last(a)")], ["a"])
    rows, samples = np.zeros(40, dtype=np.int64), SIGNALS["noise"][:, 1:]
    computed = program.advance(program.new_state(1), rows, samples, np.arange(40.0))
    assert_array_equal(computed, samples)
