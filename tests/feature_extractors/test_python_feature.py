"""Features of plain Python functions: the laws of the compiled ones, and the road from training to a gateway."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers.signals import ARBITRARY_SIGNALS, SIGNALS, on_every_signal
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import feature_extractors as fx
from feature_extractors.arrays import Array
from feature_extractors.base import Feature
from feature_extractors.checks import ALL_CHECKS, Check, check_equals_definition, check_feature, columns_of
from streamfs import Costs, Engine, Procedure, StreamRelief, StreamSet, evaluate, tabulate, train
from streamfs.errors import ModelError

NAN = float("nan")


def middle(values: Array, _times: Array) -> Any:
    return np.median(values[:, 0])


def gap(values: Array, times: Array) -> float:
    """The columns' newest difference, weighed by the time that the window spans; undefined at first."""
    return float((values[-1, 0] - values[-1, 1]) * (times[-1] - times[0])) if len(times) > 1 else NAN


def pace(values: Array, times: Array) -> int:
    """Whole seconds that the window spans."""
    return int(times[-1] - times[0]) + len(values)


FEATURES = (
    fx.python_feature(middle, ["a"]),
    fx.python_feature(middle, ["a"], window=1),
    fx.python_feature(middle, ["a"], window=7),
    fx.python_feature(gap, ["a", "b"], window=3),
    fx.python_feature(gap, ["a", "a"], window=50),
    fx.python_feature(pace, [], window=5),
)

by_feature = pytest.mark.parametrize("feature", FEATURES, ids=str)


def read_by(feature: Feature, signal: Array) -> Array:
    return signal[:, : len(columns_of(feature))]


@pytest.mark.slow
@pytest.mark.parametrize("feature", FEATURES[1:], ids=str)  # the first has a state that is long to fill
@pytest.mark.parametrize("check", ALL_CHECKS)
def test_law(check: Check, feature: Feature) -> None:
    on_every_signal(lambda signal: check(feature, read_by(feature, signal)))


@given(feature=st.sampled_from(FEATURES[1:]), signal=ARBITRARY_SIGNALS)
def test_laws_on_any_signal(feature: Feature, signal: Array) -> None:
    for check in ALL_CHECKS:
        check(feature, read_by(feature, signal))


@by_feature
def test_all_checks_at_once(feature: Feature) -> None:
    check_feature(feature, read_by(feature, SIGNALS["sparse NaN"]))


@given(window=st.integers(1, 9), signal=ARBITRARY_SIGNALS, data=st.data())
def test_the_function_sees_the_newest_samples_that_count(window: int, signal: Array, data: st.DataObject) -> None:
    def seen(values: Array, times: Array) -> float:
        assert values.shape == (len(times), 2)
        return float(np.arange(1, len(times) + 1) @ (np.hypot(*values.T) + times))

    def definition(values: Array, times: Array) -> float:
        counts = ~np.isnan(values).any(axis=1)
        return seen(values[counts][-window:], times[counts][-window:]) if counts.any() else NAN

    steps = data.draw(st.lists(st.floats(0.1, 60.0), min_size=len(signal), max_size=len(signal)))
    times = np.cumsum(steps) - steps[0]
    check_equals_definition(fx.python_feature(seen, ["a", "b"], window=window), definition, signal, times)


@pytest.mark.parametrize("window", [2, 16])
def test_a_windowed_mean_is_the_catalogue_s(window: int) -> None:
    mine = fx.python_feature(lambda values, _times: values.mean(), ["a"], "my_mean", window)
    theirs = fx.get(f"mean(a; window={window})")
    computed = fx.scan([theirs, mine], SIGNALS["sparse NaN"][np.newaxis, :, :1])[0]
    np.testing.assert_allclose(computed[:, 1], computed[:, 0], rtol=1e-12, atol=1e-14)


def test_features_of_both_sorts_stand_in_any_order() -> None:
    features = [fx.get("mean(b)"), FEATURES[3], fx.get("variance(a)"), FEATURES[2], fx.get("count()")]
    signal = SIGNALS["sparse NaN"][np.newaxis]
    together = fx.scan(features, signal, columns=("a", "b"))
    for i, feature in enumerate(features):
        assert_array_equal(together[:, :, [i]], fx.scan([feature], signal, columns=("a", "b")))


# Names


def test_its_kind_gives_the_feature_back() -> None:
    feature = fx.python_feature(middle, ["a.light@delta:0.50", "inlet north"], window=60)
    assert feature.name == 'middle(a.light@delta:0.5, "inlet north"; window=60)'
    assert fx.get(feature.name, (*fx.KINDS, feature.kind)) == feature
    assert fx.get("middle(x, y)", [feature.kind]).params == {"window": 1000}
    with pytest.raises(ValueError, match="middle is not a kind of feature"):
        fx.get(feature.name)


def test_two_of_one_function_are_equal() -> None:
    assert fx.python_feature(middle, ["a"]) == fx.python_feature(middle, ["a"], "middle", 1000)
    assert fx.python_feature(middle, ["a"]) != fx.python_feature(middle, ["a"], window=9)
    assert fx.python_feature(middle, ["a"]) != fx.python_feature(pace, ["a"], "middle")


@pytest.mark.parametrize(
    ("function", "given", "error", "message"),
    [
        (lambda values, _times: values.sum(), {}, ValueError, "name is '<lambda>', expected letters"),
        (partial(middle), {}, ValueError, "name is '', expected letters"),
        (middle, {"name": "in the middle"}, ValueError, "name is 'in the middle', expected letters"),
        (middle, {"name": "mean"}, ValueError, "name is 'mean', expected one that is not in the catalogue"),
        (middle, {"window": 0}, ValueError, "window is 0.0, expected a number from 1 to 1e\\+06"),
        (middle, {"window": 2.5}, ValueError, "window is 2.5, expected a whole number"),
        (middle, {"columns": "ab"}, TypeError, "columns are 'ab', expected a sequence of channels"),
        (middle, {"columns": ["a@no:1"]}, ValueError, "report policy is 'no:1'"),
        ("middle", {}, TypeError, "function is 'middle', expected a callable"),
    ],
)
def test_a_slip_is_named(function: Any, given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fx.python_feature(function, **({"columns": ["a"]} | given))


# What the function does


def test_the_function_may_do_with_its_arrays_as_it_likes() -> None:
    kept = []

    def grasping(values: Array, times: Array) -> float:
        kept.append((values, times))
        total = float(values.sum() + times.sum())
        for array in kept[-1]:
            array[:] = -1e9
        return total

    feature = fx.python_feature(grasping, ["a"], window=4)
    honest = fx.python_feature(lambda values, times: values.sum() + times.sum(), ["a"], "honest", 4)
    computed = fx.scan([feature, honest], SIGNALS["noise"][np.newaxis, :, :1])
    assert_array_equal(computed[:, :, 0], computed[:, :, 1])
    assert all((values == -1e9).all() for values, _ in kept)


@pytest.mark.parametrize(
    ("result", "expected"), [(True, 1.0), (np.float32(0.5), 0.5), (7, 7.0), (NAN, NAN), (np.inf, NAN)]
)
def test_what_is_not_finite_is_undefined(result: Any, expected: float) -> None:
    feature = fx.python_feature(lambda _values, _times: result, ["a"], "fixed")
    assert_array_equal(fx.scan([feature], [[[1.0], [NAN]]]), [[[expected], [expected]]])


def failing(at: int, result: Callable[[], Any]) -> Callable[[Array, Array], Any]:
    """A function that fails on a prefix of ``at`` samples."""
    return lambda values, _times: result() if len(values) == at else values.sum()


def raising() -> float:
    return 1 // 0


@pytest.mark.parametrize(
    ("result", "message", "cause"),
    [
        (
            raising,
            r"odd\(a; window=9\) raised ZeroDivisionError\(.*\) on a prefix of 3 samples",
            ZeroDivisionError,
        ),
        (lambda: None, r"odd\(a; window=9\) returned None on a prefix of 3 samples, expected a number", TypeError),
        (lambda: "x", "returned 'x' on a prefix of 3 samples, expected a number", ValueError),
        (lambda: 10**400, "on a prefix of 3 samples, expected a number", OverflowError),
    ],
)
def test_a_function_that_fails_moves_no_stream(result: Any, message: str, cause: type[Exception]) -> None:
    features = [fx.get("mean(a)"), fx.python_feature(failing(3, result), ["a"], "odd", 9), fx.get("count()")]
    program = fx.Program(features, ["a"])
    rows, samples = np.array([1, 0, 1, 0, 1, 1]), np.arange(6.0)[:, np.newaxis]
    state = program.new_state(3)
    program.advance(state, rows[:3], samples[:3], np.arange(3.0))
    before = state.copy()
    with pytest.raises(ValueError, match=message) as caught:
        program.advance(state, rows[3:], samples[3:], np.arange(3.0))
    assert isinstance(caught.value.__cause__, cause)
    assert_array_equal(state, before)


# From training to a gateway


def rising(values: Array, _times: Array) -> float:
    """Share of the steps that go up: alone in telling a saw from one that is mirrored in time."""
    return float(np.mean(np.diff(values[:, 0]) > 0)) if len(values) > 5 else NAN


RISING = fx.python_feature(rising, ["level"], window=20)


@pytest.fixture(scope="module")
def saws() -> StreamSet:
    rng = np.random.default_rng(5)
    labels = np.repeat(["slow rise", "slow fall"], 30)
    phases = (np.arange(24) + rng.integers(0, 5, size=60)[:, np.newaxis]) % 5
    values = np.where(labels[:, np.newaxis] == "slow rise", phases, 4 - phases) + rng.normal(0, 0.1, (60, 24))
    return StreamSet(values[:, :, np.newaxis], labels, ["level"], 2.0)


@pytest.fixture(scope="module")
def procedure(saws: StreamSet) -> Procedure:
    return train(
        saws,
        features=["mean(level)", RISING, "range(level)", "count()"],
        confidence=0.8,
        seed=1,
        select="streamrelief",
    )


def follow(streams: StreamSet, engine: Engine, ticks: range) -> list[Any]:
    return [
        decision
        for tick in ticks
        for decision in engine.push_batch(
            streams.names, np.full(len(streams), streams.period * tick), streams.values[:, tick]
        )
    ]


def test_stream_relief_finds_the_informative_one(saws: StreamSet) -> None:
    features = [fx.get("mean(level)"), RISING, fx.get("range(level)")]
    relief = StreamRelief(Costs([1.0, 1.0, 1.0])).fit(tabulate(saws, features))
    assert relief.ranking_[0] == 1
    assert list(relief.relevant_) == [False, True, False]


def test_from_training_to_a_gateway(procedure: Procedure, saws: StreamSet, tmp_path: Any) -> None:
    assert [feature.name for feature in procedure.features] == ["rising(level; window=20)"]
    evaluation = evaluate(procedure, saws)
    assert evaluation.completeness > 0.9
    assert evaluation.accuracy > 0.9
    procedure.save(tmp_path / "saws.streamfs")
    loaded = Procedure.load(tmp_path / "saws.streamfs", kinds=[RISING.kind])
    assert loaded.digest == procedure.digest
    assert loaded.features == (RISING,)
    decisions = follow(saws, Engine(loaded), range(24))
    assert sorted(decisions, key=lambda d: d.stream) == sorted(evaluation.decisions, key=lambda d: d.stream)


def test_a_model_says_which_kind_it_needs(procedure: Procedure, tmp_path: Any) -> None:
    procedure.save(tmp_path / "saws.streamfs")
    with pytest.raises(
        ModelError, match=r"saws.streamfs reads rising\(level; window=20\).* pass your own kinds by kinds="
    ):
        Procedure.load(tmp_path / "saws.streamfs")
    with pytest.raises(ModelError, match=r"rising is not a kind of the catalogue"):
        Procedure.load(tmp_path / "saws.streamfs", [FEATURES[0].kind])


def test_a_snapshot_holds_the_samples(procedure: Procedure, saws: StreamSet) -> None:
    whole, halves = Engine(procedure), Engine(procedure)
    expected = follow(saws, whole, range(24))
    decisions = follow(saws, halves, range(3))
    halves = Engine.restore(procedure, halves.snapshot())
    assert decisions + follow(saws, halves, range(3, 24)) == expected
    assert halves.snapshot() == whole.snapshot()


def test_an_engine_goes_on_where_a_function_failed(procedure: Procedure, saws: StreamSet) -> None:
    fails = {2: True, 30: True}

    def moody(values: Array, times: Array) -> float:
        if fails.pop(int(times[-1]) // 2, False):
            raise RuntimeError("not today")
        return rising(values, times)

    mine = fx.python_feature(moody, ["level"], "rising", 20)
    engine, calm = Engine(replace(procedure, features=(mine,), time_limit=40)), Engine(procedure)
    assert engine.push("silent", 0.0, [0.0]) is None
    decisions = follow(saws, engine, range(2))
    with pytest.raises(ValueError, match=r"raised RuntimeError\('not today'\) on a prefix of 3 samples"):
        follow(saws, engine, range(2, 3))
    assert decisions + follow(saws, engine, range(2, 24)) == follow(saws, calm, range(24))
    assert engine.push("late", 40.0, [0.0]) is None
    batch = ["silent", "late"], [100.0, 100.0], [[0.0], [0.0]]
    with pytest.raises(ValueError, match="on a prefix of 2 samples"):
        engine.push_batch(*batch)
    assert [(d.stream, d.reason) for d in engine.push_batch(*batch)] == [("silent", "timeout")]
