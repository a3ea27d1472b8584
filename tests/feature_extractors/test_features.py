"""Every feature obeys every law, on every signal, and is what the papers define."""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from helpers.signals import ARBITRARY_SIGNALS, SIGNALS, named, on_every_signal, replaced
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import features as naive_features
from oracles.features import windowed

import feature_extractors as fx
from feature_extractors.arrays import Array
from feature_extractors.base import LARGEST, Feature, Kind, Step, sized
from feature_extractors.catalogue import KINDS, SHAPE_KINDS
from feature_extractors.checks import (
    ALL_CHECKS,
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
        "last(a; lowest=0.5)",
        "mean(a)",
        "variance(a)",
        "skewness(a)",
        "kurtosis(a)",
        "energy(a)",
        "min(a)",
        "max(a)",
        "range(a)",
        "quantile(a)",
        "quantile(a; q=0.1)",
        "quantile(a; q=0.9)",
        "interquartile_range(a)",
        "time_of_max(a)",
        "time_of_min(a)",
        "slope(a)",
        "exponential_mean(a; alpha=0.01)",
        "exponential_mean(a; alpha=0.5)",
        "exponential_mean(a; alpha=1)",
        "change(a)",
        "mean_absolute_increment(a)",
        "increment_variance(a)",
        "largest_increment(a)",
        "mean_crossings(a)",
        "sign_runs(a)",
        "longest_rise(a)",
        "longest_fall(a)",
        "peaks(a)",
        "autocorrelation(a)",
        "autocorrelation(a; lag=7)",
        "band_power(a)",
        "band_power(a; cycle=2)",
        "band_power(a; cycle=5.3)",
        "band_share(a)",
        "band_share(a; cycle=2)",
        "band_share(a; cycle=5.3)",
        "normalised_last(a)",
        "normalised_min(a)",
        "normalised_max(a)",
        "normalised_slope(a)",
        "pattern_max(a; kernel=0, dilation=1)",
        "pattern_max(a; kernel=55, dilation=3)",
        "pattern_share(a; kernel=83, dilation=1, bias=0)",
        "pattern_share(a; kernel=28, dilation=2, bias=-0.7)",
        "normalised_pattern_max(a; kernel=83, dilation=1)",
        "normalised_pattern_max(a; kernel=28, dilation=2)",
        "normalised_pattern_share(a; kernel=0, dilation=1, bias=0)",
        "normalised_pattern_share(a; kernel=55, dilation=3, bias=-0.7)",
        "mean(a; window=2)",
        "mean(a; window=3)",
        "mean(a; window=16)",
        "variance(a; window=2)",
        "variance(a; window=3)",
        "variance(a; window=16)",
        "skewness(a; window=3)",
        "skewness(a; window=16)",
        "kurtosis(a; window=4)",
        "kurtosis(a; window=16)",
        "energy(a; window=2)",
        "energy(a; window=16)",
        "min(a; window=2)",
        "min(a; window=3)",
        "min(a; window=16)",
        "max(a; window=2)",
        "max(a; window=3)",
        "max(a; window=16)",
        "range(a; window=2)",
        "range(a; window=16)",
        "quantile(a; q=0.5, window=2)",
        "quantile(a; q=0.9, window=3)",
        "quantile(a; q=0.1, window=16)",
        "interquartile_range(a; window=3)",
        "interquartile_range(a; window=16)",
        "slope(a; window=2)",
        "slope(a; window=3)",
        "slope(a; window=16)",
        "change(a; window=2)",
        "change(a; window=16)",
        "mean_absolute_increment(a; window=2)",
        "mean_absolute_increment(a; window=16)",
        "increment_variance(a; window=3)",
        "increment_variance(a; window=16)",
        "largest_increment(a; window=2)",
        "largest_increment(a; window=16)",
        "mean_crossings(a; window=3)",
        "mean_crossings(a; window=16)",
        "sign_runs(a; window=3)",
        "sign_runs(a; window=16)",
        "longest_rise(a; window=2)",
        "longest_rise(a; window=16)",
        "longest_fall(a; window=16)",
        "peaks(a; window=3)",
        "peaks(a; window=16)",
        "autocorrelation(a; lag=1, window=3)",
        "autocorrelation(a; lag=5, window=16)",
        "band_power(a; cycle=2, window=3)",
        "band_power(a; cycle=5.3, window=16)",
        "band_share(a; cycle=2, window=3)",
        "band_share(a; cycle=5.3, window=16)",
        "correlation(a, b)",
        "correlation(a, a)",
        "increment_correlation(a, b)",
        "increment_correlation(a, a)",
        "lagged_correlation(a, b)",
        "lagged_correlation(a, b; lag=5)",
        "lagged_correlation(a, a; lag=2)",
        "increment_sign_agreement(a, b)",
        "increment_sign_agreement(a, a)",
        "mean_absolute_difference(a, b)",
        "mean_absolute_difference(a, a)",
        "mean_relative_difference(a, b)",
        "mean_relative_difference(a, a)",
        "mean_difference(a, b)",
        "mean_difference(a, a)",
        "mean_signed_difference(a, b)",
        "mean_signed_difference(a, a)",
        "deviation_difference(a, b)",
        "deviation_difference(a, a)",
        "regression_slope(a, b)",
        "regression_slope(a, a)",
        "regression_residual(a, b)",
        "regression_residual(a, a)",
        "flag_agreement(a, b; threshold=0)",
        "flag_agreement(a, b; threshold=0.5)",
        "flag_agreement(a, b; threshold=-1.1)",
        "flag_agreement(a, b; threshold=0, hysteresis=0)",
        "flag_agreement(a, b; threshold=0, hysteresis=0.5)",
        "flag_agreement(a, b; threshold=-1, hysteresis=2)",
        "correlation(a, b; window=2)",
        "correlation(a, b; window=16)",
        "correlation(a, a; window=3)",
        "increment_correlation(a, b; window=3)",
        "increment_correlation(a, b; window=16)",
        "increment_correlation(a, a; window=16)",
        "lagged_correlation(a, b; lag=1, window=3)",
        "lagged_correlation(a, b; lag=5, window=16)",
        "lagged_correlation(a, a; lag=2, window=16)",
        "increment_sign_agreement(a, b; window=2)",
        "increment_sign_agreement(a, b; window=16)",
        "mean_absolute_difference(a, b; window=2)",
        "mean_absolute_difference(a, b; window=16)",
        "mean_relative_difference(a, b; window=2)",
        "mean_relative_difference(a, b; window=16)",
        "mean_difference(a, b; window=2)",
        "mean_difference(a, b; window=16)",
        "mean_signed_difference(a, b; window=2)",
        "mean_signed_difference(a, b; window=16)",
        "deviation_difference(a, b; window=3)",
        "deviation_difference(a, b; window=16)",
        "regression_slope(a, b; window=2)",
        "regression_slope(a, b; window=16)",
        "regression_slope(a, a; window=3)",
        "regression_residual(a, b; window=3)",
        "regression_residual(a, b; window=16)",
        "regression_residual(a, a; window=16)",
        "flag_agreement(a, b; threshold=0, window=3)",
        "flag_agreement(a, b; threshold=0.5, window=16)",
    )
)

DEFINITIONS: dict[tuple[str, ...], Callable[..., float]] = {
    ("count",): naive_features.count,
    ("last",): naive_features.last,
    ("last", "lowest"): naive_features.last_unless_lower,
    ("mean",): naive_features.mean,
    ("variance",): naive_features.variance,
    ("skewness",): naive_features.skewness,
    ("kurtosis",): naive_features.kurtosis,
    ("energy",): naive_features.energy,
    ("min",): naive_features.minimum,
    ("max",): naive_features.maximum,
    ("range",): naive_features.value_range,
    ("quantile", "q"): naive_features.quantile,
    ("interquartile_range",): naive_features.interquartile_range,
    ("time_of_max",): naive_features.time_of_max,
    ("time_of_min",): naive_features.time_of_min,
    ("slope",): naive_features.slope,
    ("exponential_mean", "alpha"): naive_features.exponentially_weighted_mean,
    ("change",): naive_features.change,
    ("mean_absolute_increment",): naive_features.mean_absolute_increment,
    ("increment_variance",): naive_features.increment_variance,
    ("largest_increment",): naive_features.largest_increment,
    ("mean_crossings",): naive_features.mean_crossings,
    ("sign_runs",): naive_features.sign_runs,
    ("longest_rise",): naive_features.longest_rise,
    ("longest_fall",): naive_features.longest_fall,
    ("peaks",): naive_features.peaks,
    ("autocorrelation", "lag"): naive_features.autocorrelation,
    ("band_power", "cycle"): naive_features.band_power,
    ("band_share", "cycle"): naive_features.band_share,
    ("normalised_last",): naive_features.normalised_last,
    ("normalised_min",): naive_features.normalised_minimum,
    ("normalised_max",): naive_features.normalised_maximum,
    ("normalised_slope",): naive_features.normalised_slope,
    ("pattern_max", "kernel", "dilation"): naive_features.pattern_max,
    ("pattern_share", "kernel", "dilation", "bias"): naive_features.pattern_share,
    ("normalised_pattern_max", "kernel", "dilation"): naive_features.normalised_pattern_max,
    ("normalised_pattern_share", "kernel", "dilation", "bias"): naive_features.normalised_pattern_share,
    ("correlation",): naive_features.correlation,
    ("increment_correlation",): naive_features.correlation_of_increments,
    ("lagged_correlation", "lag"): naive_features.lagged_correlation,
    ("increment_sign_agreement",): naive_features.increment_sign_agreement,
    ("mean_absolute_difference",): naive_features.mean_absolute_difference,
    ("mean_relative_difference",): naive_features.mean_relative_difference,
    ("mean_difference",): naive_features.mean_difference,
    ("mean_signed_difference",): naive_features.mean_signed_difference,
    ("deviation_difference",): naive_features.deviation_difference,
    ("regression_slope",): naive_features.regression_slope,
    ("regression_residual",): naive_features.regression_residual,
    ("flag_agreement", "threshold"): naive_features.flag_agreement,
    ("flag_agreement", "threshold", "hysteresis"): naive_features.steady_flag_agreement,
    ("mean", "window"): windowed(naive_features.mean),
    ("variance", "window"): windowed(naive_features.variance),
    ("skewness", "window"): windowed(naive_features.skewness),
    ("kurtosis", "window"): windowed(naive_features.kurtosis),
    ("energy", "window"): windowed(naive_features.energy),
    ("min", "window"): windowed(naive_features.minimum),
    ("max", "window"): windowed(naive_features.maximum),
    ("range", "window"): windowed(naive_features.value_range),
    ("quantile", "q", "window"): windowed(naive_features.exact_quantile),
    ("interquartile_range", "window"): windowed(naive_features.exact_interquartile_range),
    ("slope", "window"): windowed(naive_features.slope),
    ("change", "window"): windowed(naive_features.change),
    ("mean_absolute_increment", "window"): windowed(naive_features.mean_absolute_increment),
    ("increment_variance", "window"): windowed(naive_features.increment_variance),
    ("largest_increment", "window"): windowed(naive_features.largest_increment),
    ("mean_crossings", "window"): windowed(naive_features.crossings_of_one_mean),
    ("sign_runs", "window"): windowed(naive_features.sign_runs),
    ("longest_rise", "window"): windowed(naive_features.longest_rise),
    ("longest_fall", "window"): windowed(naive_features.longest_fall),
    ("peaks", "window"): windowed(naive_features.peaks),
    ("autocorrelation", "lag", "window"): windowed(naive_features.autocorrelation),
    ("band_power", "cycle", "window"): windowed(naive_features.band_power),
    ("band_share", "cycle", "window"): windowed(naive_features.band_share),
    ("correlation", "window"): windowed(naive_features.correlation),
    ("increment_correlation", "window"): windowed(naive_features.correlation_of_increments),
    ("lagged_correlation", "lag", "window"): windowed(naive_features.lagged_correlation),
    ("increment_sign_agreement", "window"): windowed(naive_features.increment_sign_agreement),
    ("mean_absolute_difference", "window"): windowed(naive_features.mean_absolute_difference),
    ("mean_relative_difference", "window"): windowed(naive_features.mean_relative_difference),
    ("mean_difference", "window"): windowed(naive_features.mean_difference),
    ("mean_signed_difference", "window"): windowed(naive_features.mean_signed_difference),
    ("deviation_difference", "window"): windowed(naive_features.deviation_difference),
    ("regression_slope", "window"): windowed(naive_features.regression_slope),
    ("regression_residual", "window"): windowed(naive_features.regression_residual),
    ("flag_agreement", "threshold", "window"): windowed(naive_features.flag_agreement),
}

WITHOUT_UNIT = (
    "skewness",
    "kurtosis",
    "autocorrelation",
    "band_share",
    "correlation",
    "increment_correlation",
    "lagged_correlation",
    "normalised_last",
    "normalised_min",
    "normalised_max",
    "normalised_slope",
    "normalised_pattern_max",
)

SCALES: dict[str, Callable[..., float]] = dict.fromkeys(WITHOUT_UNIT, lambda *_: 1.0) | {
    "increment_variance": lambda a: a**2,
    "band_power": lambda a: a**2,
    "pattern_max": lambda a: a,
    "deviation_difference": max,
    "regression_slope": lambda a, b: b / a if a > 0 else 0.0,
    "regression_residual": lambda _, b: b,
}
"""The least scale of a kind, of the spreads of its columns: where samples cancel, rounding leaves that much."""

VANISHING = (
    "autocorrelation",
    "band_share",
    "correlation",
    "increment_correlation",
    "lagged_correlation",
    "regression_slope",
    "regression_residual",
)
"""Kinds that are none while the squares of what they divide by vanish."""

NORMALISED = ("normalised_last", "normalised_min", "normalised_max", "normalised_slope")
NORMALISED_PATTERNS = ("normalised_pattern_max", "normalised_pattern_share")
"""Kinds that are 0 while the squares of what they divide by vanish."""

by_feature = pytest.mark.parametrize("feature", FEATURES, ids=str)


def key(kind: Kind) -> tuple[str, ...]:
    return kind.name, *(parameter.name for parameter in kind.parameters)


ONE_OF_EACH_KIND = tuple({key(feature.kind): feature for feature in FEATURES}.values())
WINDOWED = tuple(feature for feature in FEATURES if "window" in feature.params)


def definition_of(feature: Feature) -> Definition:
    whole = {"lag", "window", "kernel", "dilation"}
    params = {name: int(value) if name in whole else value for name, value in feature.params.items()}
    return partial(DEFINITIONS[key(feature.kind)], **params)


def read_by(feature: Feature, signal: Array) -> Array:
    return signal[:, : len(columns_of(feature))]


def scale_of(feature: Feature, values: Array) -> float:
    """The least scale of a feature on a signal, by `SCALES`."""
    names = columns_of(feature)
    columns = [values[np.abs(values[:, at]) <= LARGEST, at] for at in map(names.index, feature.columns)]
    spreads = [float(np.ptp(column)) if len(column) else 0.0 for column in columns]
    return SCALES[feature.kind.name](*spreads) if feature.kind.name in SCALES else 0.0


def test_every_kind_is_tried() -> None:
    assert {key(kind) for kind in KINDS} == set(DEFINITIONS) == {key(feature.kind) for feature in FEATURES}


@pytest.mark.slow
@pytest.mark.parametrize("feature", ONE_OF_EACH_KIND, ids=str)
def test_laws(feature: Feature) -> None:
    for check in ALL_CHECKS:
        on_every_signal(lambda signal, check=check: check(feature, read_by(feature, signal)))


@given(feature=st.sampled_from(FEATURES), signal=ARBITRARY_SIGNALS)
def test_laws_on_any_signal(feature: Feature, signal: Array) -> None:
    for check in ALL_CHECKS:
        check(feature, read_by(feature, signal))


@pytest.mark.slow
@by_feature
def test_all_checks_at_once(feature: Feature) -> None:
    check_feature(feature)


@by_feature
def test_definition(feature: Feature) -> None:
    def law(signal: Array) -> None:
        if feature.kind.name in (*VANISHING, *NORMALISED, *NORMALISED_PATTERNS) and signal is SIGNALS["denormal"]:
            signal = 1e180 * signal  # see test_a_spread_whose_square_vanishes_is_none, or 0
        values = read_by(feature, signal)
        check_equals_definition(feature, definition_of(feature), values, scale=scale_of(feature, values))

    on_every_signal(law)


@given(signal=ARBITRARY_SIGNALS, data=st.data())
@settings(max_examples=40)
def test_definition_on_any_signal(signal: Array, data: st.DataObject) -> None:
    steps = data.draw(st.lists(st.integers(0, 100_000), min_size=len(signal), max_size=len(signal)))
    times = np.cumsum(steps) / 1000 - steps[0] / 1000
    for feature in FEATURES:
        values = read_by(feature, signal)
        with named(f"feature: {feature}"):
            check_equals_definition(feature, definition_of(feature), values, times, scale_of(feature, values))


@by_feature
def test_definition_after_many_ticks(feature: Feature) -> None:
    """Small errors at each tick do not add up."""
    values = read_by(feature, 1e6 + np.random.default_rng(3).normal(size=(2000, 2)))
    computed = fx.scan([feature], values[np.newaxis])[0, -1, 0]
    read = values[:, [columns_of(feature).index(column) for column in feature.columns]]
    expected = definition_of(feature)(read, np.arange(2000.0))
    assert_allclose(computed, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("feature", [f for f in FEATURES if f.kind.name in VANISHING], ids=str)
def test_a_spread_whose_square_vanishes_is_none(feature: Feature) -> None:
    values = read_by(feature, SIGNALS["denormal"])
    assert_array_equal(fx.scan([feature], values[np.newaxis]), np.nan)


@pytest.mark.parametrize("feature", [f for f in FEATURES if f.kind.name in NORMALISED], ids=str)
def test_a_number_is_0_over_a_spread_whose_square_vanishes(feature: Feature) -> None:
    values = read_by(feature, SIGNALS["denormal"])
    computed = fx.scan([feature], values[np.newaxis]).ravel()
    assert_array_equal(computed[1:], 0.0)


@pytest.mark.parametrize("feature", [f for f in FEATURES if f.kind in SHAPE_KINDS], ids=str)
def test_neither_level_nor_scale_changes_a_shape(feature: Feature) -> None:
    values = read_by(feature, np.random.default_rng(0).normal(size=(60, 2)).cumsum(axis=0))[np.newaxis]
    computed = fx.scan([feature], 1000.0 + 64.0 * values)
    assert_allclose(computed, fx.scan([feature], values), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("feature", [f for f in FEATURES if f.kind.name in NORMALISED_PATTERNS], ids=str)
def test_a_pattern_is_0_over_a_spread_whose_square_vanishes(feature: Feature) -> None:
    values = read_by(feature, SIGNALS["denormal"])
    computed = fx.scan([feature], values[np.newaxis]).ravel()
    is_above = feature.params.get("bias", 0.0) < 0.0
    assert_array_equal(computed[8 * int(feature.params["dilation"]) :], float(is_above))


@pytest.mark.parametrize("feature", WINDOWED, ids=str)
def test_a_window_forgets_an_outlier(feature: Feature) -> None:
    """Once it has left the window no digit is missing, wherever in a block it stood."""
    window, noise = int(feature.params["window"]), read_by(feature, SIGNALS["noise"])
    clean = fx.scan([feature], noise[np.newaxis])[0]
    ticks, columns = range(min(2 * window, len(noise) - window)), range(noise.shape[1])
    for outlier, column, tick in product([1e12, -1e15, 1e100], columns, ticks):
        computed = fx.scan([feature], replaced(noise, tick, column, outlier)[np.newaxis])[0, tick + window :]
        assert_allclose(computed, clean[tick + window :], 1e-9, 1e-12, err_msg=f"{outlier:g} at tick {tick}")


@pytest.mark.parametrize("window", ["", "; window=50"])
def test_higher_moments_outlive_a_giant(window: str) -> None:
    """One value in n that dwarfs the others leaves the moments of a one among zeros."""
    values = SIGNALS["noise"][np.newaxis, :, :1].copy()
    values[0, 20] = 1e100
    skewness, kurtosis = fx.scan([fx.get(f"skewness(a{window})"), fx.get(f"kurtosis(a{window})")], values)[
        0, 20:
    ].T
    share = 1.0 / np.arange(21.0, 41.0)
    assert_allclose(skewness, (1 - 2 * share) / np.sqrt(share * (1 - share)), rtol=1e-12)
    assert_allclose(kurtosis, ((1 - share) ** 3 + share**3) / (share * (1 - share)) - 3, rtol=1e-12)


def test_a_value_on_the_mean_but_for_rounding_is_no_crossing() -> None:
    values = np.array([0.1, 0.3, 0.2, 0.3, 0.1, 0.2])[:, np.newaxis]
    for name in ("mean_crossings(a)", "mean_crossings(a; window=6)"):
        feature = fx.get(name)
        check_equals_definition(feature, definition_of(feature), values)
    assert fx.scan([fx.get("mean_crossings(a)")], values[np.newaxis]).ravel().tolist() == [0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize("offset", [0.0, 64.0])
def test_a_response_equal_to_the_bias_but_for_rounding_is_not_above_it(offset: float) -> None:
    values = np.array([0.1, 0.2, 0, 0, 0, 0, 0, 0, 0])[:, np.newaxis] + offset  # 2 * 0.1 + 2 * 0.2 > 0.6 in floats
    for bias, share in ((0.6, 0.0), (0.599999, 1.0)):
        feature = fx.get(f"pattern_share(a; kernel=0, dilation=1, bias={bias})")
        check_equals_definition(feature, definition_of(feature), values)
        assert fx.scan([feature], values[np.newaxis])[0, -1, 0] == share


@pytest.mark.parametrize("dilation", [1, 2, 3, 7])
@pytest.mark.parametrize("kind", ["pattern_max", "normalised_pattern_max"])
def test_every_kernel_is_what_it_is_defined_as(kind: str, dilation: int) -> None:
    values = 1e6 + np.random.default_rng(dilation).normal(size=(1, 8 * dilation + 20, 1)).cumsum(axis=1)
    features = [fx.get(f"{kind}(a; kernel={kernel}, dilation={dilation})") for kernel in range(84)]
    computed, times = fx.scan(features, values)[0, -1], np.arange(float(values.shape[1]))
    expected = [definition_of(feature)(values[0], times) for feature in features]
    assert_allclose(computed, expected, rtol=1e-9)


def test_the_wrong_definition_is_seen() -> None:
    with pytest.raises(AssertionError, match="Mismatched elements"):
        check_equals_definition(fx.get("last(a)"), naive_features.mean, SIGNALS["ramp"][:, :1])
    with pytest.raises(AssertionError, match="nan location"):
        check_equals_definition(fx.get("mean(a)"), naive_features.variance, SIGNALS["constant"][:, :1])


def test_a_lost_digit_is_seen_at_a_large_offset() -> None:
    def rounded(values: Array, times: Array) -> float:
        return naive_features.variance(values.astype(np.float32).astype(np.float64), times)

    with pytest.raises(AssertionError, match="Mismatched elements"):
        check_equals_definition(fx.get("variance(a)"), rounded, SIGNALS["large offset"][:, :1])


def test_a_difference_within_a_given_scale_is_allowed() -> None:
    def nearly(values: Array, times: Array) -> float:
        return naive_features.last(values, times) + 1e-6

    values = SIGNALS["noise"][:, :1]
    check_equals_definition(fx.get("last(a)"), nearly, values, scale=2e3)
    with pytest.raises(AssertionError, match="Mismatched elements"):
        check_equals_definition(fx.get("last(a)"), nearly, values, scale=5e2)


# Features that break one law each: the checks must see it.


@Step
def _writes_beyond(state: Any, inputs: Any, _params: Any, _t: Any) -> Any:
    state[1] += inputs[0]
    return inputs[0]


@Step
def _reads_beyond(state: Any, inputs: Any, _params: Any, _t: Any) -> Any:
    return state[1] + inputs[0]


@Step
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
    with pytest.raises(ValueError, match="'mean\\(inlet north\\)' is not a feature"):
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
        ({"rows": np.array([0, 2])}, "rows are 0 to 2, expected 0 to 1"),
        ({"rows": np.array([-1, 0])}, "rows are -1 to 0, expected 0 to 1"),
        ({"samples": np.zeros((2, 3))}, r"samples have shape \(2, 3\), expected \(2, 1\)"),
        ({"times": np.zeros(1)}, r"times have shape \(1,\), expected \(2,\)"),
        ({"state": np.zeros((2, 7))}, r"state has shape \(2, 7\), expected rows of 5 floats"),
        ({"state": np.zeros(5)}, r"state has shape \(5,\), expected rows of 5 floats"),
        ({"rows": np.zeros((2, 1), dtype=np.int64)}, r"rows have shape \(2, 1\)"),
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"state": np.zeros((2, 5), np.float32)}, "state is of float32, expected contiguous, writeable float64"),
        ({"state": np.zeros((5, 2)).T}, "state is of float64, expected contiguous, writeable float64"),
        ({"state": np.zeros((2, 5))[::-1]}, "contiguous, writeable"),
        ({"state": np.broadcast_to(0.0, (2, 5))}, "contiguous, writeable"),
        ({"rows": np.array([0.0, 1.0])}, "rows are of float64, expected whole numbers"),
        ({"rows": np.array([False, True])}, "rows are of bool, expected whole numbers"),
    ],
)
def test_advance_refuses_what_the_driver_cannot_work_on(change: dict[str, Any], message: str) -> None:
    program = fx.Program([fx.get("mean(a)")], ["a"])
    batch = {
        "state": program.new_state(2),
        "rows": np.array([0, 1]),
        "samples": np.zeros((2, 1)),
        "times": np.zeros(2),
    }
    with pytest.raises(TypeError, match=message):
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
