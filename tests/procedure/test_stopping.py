"""Thresholds that depend on the tick: refused, saved, said, and honoured by whatever decides."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.lazy import random_procedure as random_lazy_procedure
from helpers.own_classifier import Opaque
from helpers.procedures import labelled_streams, mean_procedure
from helpers.random_models import random_forest, random_procedure, tick_thresholds
from hypothesis import given, settings
from hypothesis import strategies as st

from streamfs import Engine, Procedure, StreamSet, evaluate
from streamfs.base import container
from streamfs.classifiers.calibration import Calibration
from streamfs.data.feature_table import tabulate
from streamfs.errors import ModelError
from streamfs.evaluation import Evaluation, sweep
from streamfs.evaluation.trajectories import Trajectories
from streamfs.procedure import Action, TickThresholds
from streamfs.procedure.header import read_stopping

NAN = float("nan")
SEEDS = st.integers(0, 2**32 - 1)
FALLING = TickThresholds((1, 4, 10), (0.97, 0.9, 0.0))


def naive_level(thresholds, tick):
    pairs = zip(thresholds.ticks, thresholds.levels, strict=True)
    return [math.inf, *(level for first, level in pairs if first <= tick)][-1]


def naive_floor(thresholds, tick):
    pairs = zip(thresholds.ticks, thresholds.floors, strict=True)
    return [0.0, *(floor for first, floor in pairs if first <= tick)][-1]


@given(tick_thresholds(), st.integers(1, 20))
def test_the_threshold_of_a_tick_is_the_last_that_has_begun(thresholds, n_ticks):
    expected = [naive_level(thresholds, tick) for tick in range(1, n_ticks + 1)]
    assert thresholds.by_tick(n_ticks).tolist() == expected
    assert [thresholds.at(tick) for tick in range(1, n_ticks + 1)] == expected
    for tick in range(1, n_ticks + 1):
        floor = naive_floor(thresholds, tick)
        given_up = thresholds.actions_of(tick, np.array([floor, floor - 0.01])) == Action.GIVE_UP
        assert given_up.tolist() == [False, expected[tick - 1] > floor - 0.01]


@pytest.mark.parametrize(
    ("ticks", "levels", "error", "message"),
    [
        ((), (), ValueError, "ticks is empty, expected at least one"),
        ((0, 2), (0.9, 0.8), ValueError, r"ticks\[0\] is 0, expected at least 1"),
        ((1, 5, 5), (0.9,) * 3, ValueError, r"ticks\[2\] is 5, expected more than 5"),
        ((1, 5, 3), (0.9,) * 3, ValueError, r"ticks\[2\] is 3, expected more than 5"),
        ((1, 2.5), (0.9, 0.8), TypeError, r"ticks\[1\] is 2\.5, expected a whole number"),
        ((True,), (0.9,), TypeError, r"ticks\[0\] is True"),
        ((1, "2"), (0.9, 0.8), TypeError, r"ticks\[1\] is '2'"),
        ((1,), (0.9, 0.8), ValueError, "levels has 2 numbers, expected 1, one per tick"),
        ((1, 2), (0.9,), ValueError, "levels has 1 numbers, expected 2"),
        ((1, 2), (0.9, -0.1), ValueError, r"levels\[1\] is -0\.1, expected a number from 0 to 1"),
        ((1,), (1.01,), ValueError, r"levels\[0\] is 1\.01"),
        ((1,), (NAN,), ValueError, r"levels\[0\] is nan"),
        ((1,), (True,), ValueError, r"levels\[0\] is True"),
        ((1,), ("0.9",), ValueError, r"levels\[0\] is '0\.9'"),
    ],
)
def test_thresholds_that_are_wrong_are_refused_by_name(ticks, levels, error, message):
    with pytest.raises(error, match=message):
        TickThresholds(ticks, levels)
    with pytest.raises(ModelError, match=rf"m\.streamfs is damaged: stopping\.{message}"):
        read_stopping(
            {"stopping": {"rule": "thresholds", "ticks": list(ticks), "levels": list(levels)}}, "m.streamfs"
        )


def test_a_tick_beyond_the_time_limit_is_refused():
    with pytest.raises(ValueError, match="stopping has tick 10, expected none beyond the time limit of 9"):
        replace(mean_procedure(time_limit=9), stopping=FALLING)
    assert replace(mean_procedure(time_limit=10), stopping=FALLING).rule == FALLING


def test_the_numbers_of_numpy_are_welcome():
    given_by_numpy = TickThresholds(np.array([1, 4, 10]), np.array([0.97, 0.9, 0.0]))
    assert given_by_numpy == FALLING
    assert (
        replace(mean_procedure(), stopping=given_by_numpy).digest
        == replace(mean_procedure(), stopping=FALLING).digest
    )


def test_without_them_the_confidence_holds_at_every_tick():
    procedure = mean_procedure(confidence=0.8)
    assert procedure.rule == TickThresholds((1,), (0.8,))
    by_tick = replace(procedure, stopping=FALLING)
    assert (by_tick.confidence, by_tick.rule) == (0.8, FALLING)
    again = by_tick.with_confidence(0.7)
    assert (again.confidence, again.stopping, again.rule.levels) == (0.7, None, (0.7,))


@given(tick_thresholds())
def test_a_file_keeps_them(tmp_path_factory, thresholds):
    procedure, path = replace(mean_procedure(), stopping=thresholds), tmp_path_factory.mktemp("m") / "m.streamfs"
    procedure.save(path)
    loaded = Procedure.load(path)
    assert (loaded.stopping, loaded.digest) == (thresholds, procedure.digest)
    assert replace(loaded).packed == procedure.packed
    assert loaded.digest != mean_procedure().digest


def test_a_file_with_one_threshold_is_as_before_and_one_with_several_is_of_a_new_version(tmp_path):
    assert mean_procedure().packed.startswith(b"streamfs model 1 ")
    assert replace(mean_procedure(), stopping=FALLING).packed.startswith(b"streamfs model 2 ")
    header, arrays, _ = container.unpack(mean_procedure().packed, "model", 1, "it")
    assert "stopping" not in header
    for version in (0, 3):
        (tmp_path / "m").write_bytes(container.pack("model", version, header, arrays))
        with pytest.raises(ModelError, match=f"has version {version} of the model format, expected 2"):
            Procedure.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("stopping", "message"),
    [
        ({"ticks": [1]}, "stopping.rule is None, expected thresholds, or one of your own given to register_rule"),
        ({"rule": [1]}, "stopping.rule is [1], expected thresholds"),
        ({"rule": "leads", "margin": 0.3}, "stopping.rule is 'leads', expected thresholds"),
        (0.9, "stopping is 0.9, expected an object"),
        (None, "stopping is None, expected an object"),
        ({"rule": "thresholds", "ticks": [1]}, "stopping.levels is missing"),
        ({"rule": "thresholds", "ticks": [1], "levels": [0.9], "since": []}, "stopping.since is unknown"),
        ({"rule": "thresholds", "ticks": 1, "levels": [0.9]}, "stopping.ticks is 1, expected a list of numbers"),
        (
            {"rule": "thresholds", "ticks": [1, 1], "levels": [0.9, 0.8]},
            "stopping.ticks[1] is 1, expected more than 1",
        ),
        (
            {"rule": "thresholds", "ticks": [1, 11], "levels": [0.9, 0.8]},
            "stopping has tick 11, expected none beyond the time limit of 10",
        ),
    ],
)
def test_a_file_whose_thresholds_are_wrong_is_refused_by_name(tmp_path, stopping, message):
    packed = replace(mean_procedure(), stopping=FALLING).packed
    header, arrays, _ = container.unpack(packed, "model", 2, "it")
    (tmp_path / "m.streamfs").write_bytes(container.pack("model", 2, {**header, "stopping": stopping}, arrays))
    with pytest.raises(ModelError, match=re.escape(f"m.streamfs is damaged: {message}")):
        Procedure.load(tmp_path / "m.streamfs")


def test_floors_are_refused_by_name_and_left_out_of_files_without_them():
    with pytest.raises(ValueError, match=r"floors has 1 numbers, expected 2"):
        TickThresholds((1, 2), (0.9, 0.8), (0.5,))
    with pytest.raises(ValueError, match=r"floors\[1\] is 1\.5, expected a number from 0 to 1"):
        TickThresholds((1, 2), (0.9, 0.8), (0.5, 1.5))
    assert FALLING.to_json() == {"rule": "thresholds", "ticks": [1, 4, 10], "levels": [0.97, 0.9, 0.0]}
    assert TickThresholds.since(1, 0.9, 4, 0.6).to_json()["floors"] == [0.0, 0.6]
    assert TickThresholds.since(3, 0.9) == TickThresholds((3,), (0.9,))


def test_they_are_said_in_words():
    text = replace(mean_procedure(), stopping=FALLING).text()
    assert "stopping    0.97 from tick 1, 0.9 from tick 4, at tick 10 in any case\n" in text
    assert "confidence" not in text
    assert "confidence  0.9\n" in mean_procedure().text()
    assert TickThresholds((1, 4), (0.97, 0.0)).text(10) == "0.97 from tick 1, from tick 4 in any case"
    points = TickThresholds((1, 3, 4, 6, 7, 9, 10, 12, 13, 20), (1.0, *[0.9, 1.0] * 4, 0.0))
    assert points.text(20) == "0.9 at 4 ticks from 3 to 12, 1 at the others, at tick 20 in any case"
    longer = replace(points, ticks=(1, 3, 5, 6, 7, 9, 11, 12, 13, 20))
    assert longer.text(20) == "0.9 at 6 ticks from 3 to 12, 1 at the others, at tick 20 in any case"
    anyway = TickThresholds((3, 4, 6, 7, 9, 10, 20), (0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0))
    assert anyway.text(20) == "in any case at the first of 4 ticks from 3 to 20"
    falling = TickThresholds((1, 2, 3, 4, 9, 20), (0.97, 0.95, 0.93, 0.91, 0.88, 0.0))
    assert falling.text(20) == "0.97 from tick 1, falling to 0.88 from tick 9, at tick 20 in any case"
    apart = TickThresholds((1, 2, 5, 6, 9, 10, 13, 14, 20), (0.97, 1.0, 0.95, 1.0, 0.93, 1.0, 0.91, 1.0, 0.0))
    assert (
        apart.text(20) == "0.97 falling to 0.91 at 4 ticks from 1 to 13, 1 at the others, at tick 20 in any case"
    )
    few = TickThresholds((1, 3, 4, 20), (1.0, 0.9, 1.0, 0.0))
    assert few.text(20) == "1 from tick 1, 0.9 from tick 3, 1 from tick 4, at tick 20 in any case"


def test_an_engine_decides_by_the_threshold_of_the_tick():
    """The mean stays low, so that "off" has a confidence of 21 / 26, about 0.81."""
    steps = TickThresholds((1, 3, 5), (0.9, 0.81, 0.8))
    engine = Engine(replace(mean_procedure(), stopping=steps))
    ended = [engine.push("s", float(tick), [0.0]) for tick in range(5)]
    assert ended[:4] == [None] * 4
    assert (ended[4].label, ended[4].reason, ended[4].tick) == ("off", "confident", 5)
    assert engine.tick("s") == 5


def test_nothing_is_decided_before_the_first_tick_however_sure():
    certain = TickThresholds((3,), (0.0,))
    engine = Engine(replace(mean_procedure(), stopping=certain))
    ended = [engine.push("s", float(tick), [0.9]) for tick in range(3)]
    assert ended[:2] == [None, None]
    assert (ended[2].label, ended[2].reason, ended[2].tick) == ("on", "confident", 3)
    assert certain.actions(np.array([2, 3]), np.ones((2, 1))).tolist() == [Action.WAIT, Action.DECIDE]
    assert math.isnan(Evaluation((), np.array([]), certain, 0.0).confidence)


def test_at_a_threshold_of_0_a_stream_that_reaches_the_time_limit_has_a_label():
    engine = Engine(replace(mean_procedure(time_limit=3), stopping=TickThresholds((1, 3), (1.0, 0.0))))
    for tick in range(2):
        assert engine.push("reaches", float(tick), [0.0]) is None
        assert engine.push("misses", float(tick), [0.0]) is None
    assert engine.push("reaches", 2.0, [NAN]).reason == "confident"
    [missed] = engine.expire(3.0)
    assert (missed.stream, missed.label, missed.reason) == ("misses", None, "timeout")


def test_a_probability_that_is_not_a_number_decides_nothing():
    procedure = replace(mean_procedure(time_limit=2), stopping=TickThresholds((1,), (0.0,)))
    engine = Engine(replace(procedure, classifier=Opaque(procedure.classifier)))
    engine.procedure.classifier.probabilities = lambda values: np.full((len(values), 2), NAN)
    assert engine.push("s", 0.0, [0.0]) is None
    assert (engine.push("s", 1.0, [0.0]).label, engine.counters["samples"]) == (None, 2)


def own(rng):
    procedure = random_procedure(rng)
    return replace(procedure, classifier=Opaque(procedure.classifier))


def with_forest(rng):
    forest = random_forest(rng.integers(2**32), n_features=5, n_classes=3)
    return random_procedure(rng, forest.calibrated(Calibration(1.5, 0.2) if rng.random() < 0.5 else None))


@pytest.mark.parametrize("make", [random_procedure, own, with_forest, random_lazy_procedure])
@given(seed=SEEDS, thresholds=tick_thresholds())
@settings(max_examples=50)
def test_offline_is_online(make, seed, thresholds):
    """An engine and the trajectories decide as a look at each tick in turn does."""
    rng = np.random.default_rng(seed)
    procedure = replace(make(rng), stopping=thresholds)
    columns = [channel.partition("@")[0] for channel in procedure.channels]
    values = np.round(rng.normal(1, 1.5, (20, 12, len(columns))))
    values[rng.random(values.shape) < 0.2] = NAN
    lengths = rng.integers(1, 13, 20)
    streams = StreamSet(values, rng.choice(procedure.classes, 20), columns, 0.5, lengths=lengths)
    decisions = evaluate(procedure, streams).decisions
    table = tabulate(streams, procedure.features, procedure.max_silence)
    trajectories = Trajectories.of(procedure.classifier, table, procedure.time_limit)
    found, ticks = trajectories.decide(thresholds)
    for index, decision in enumerate(decisions):
        label, tick, is_given_up = None, trajectories.ticks[index], False
        for at in range(1, trajectories.ticks[index] + 1):
            confidence = trajectories.confidence[index, at - 1]
            if confidence >= naive_level(thresholds, at):
                label, tick = procedure.classes[trajectories.best[index, at - 1]], at
                break
            if confidence < naive_floor(thresholds, at):
                tick, is_given_up = at, True
                break
        assert (decision.label, decision.tick) == (label, tick)
        assert (None if found[index] < 0 else procedure.classes[found[index]], ticks[index]) == (label, tick)
        assert (decision.reason == "confident") == (label is not None)
        assert (decision.reason == "given_up") == is_given_up


@given(level=st.sampled_from([0.5, 0.7, 0.9]), seed=SEEDS, n_same=st.integers(1, 4))
@settings(max_examples=20)
def test_thresholds_that_are_all_alike_are_one(level, seed, n_same):
    rng = np.random.default_rng(seed)
    one = random_procedure(rng).with_confidence(level)
    alike = replace(one, stopping=TickThresholds(tuple(range(1, 1 + n_same)), (level,) * n_same))
    values = np.round(rng.normal(1, 1.5, (20, 12, 2)))
    streams = StreamSet(values, rng.choice(one.classes, 20), one.channels, 0.5)
    assert evaluate(alike, streams).decisions == evaluate(one, streams).decisions


def test_an_evaluation_has_the_thresholds_it_was_made_at():
    streams = labelled_streams(n_streams=12)
    streams.labels = np.where(streams.labels == "busy", "on", "off")
    procedure = replace(mean_procedure(column="a.level"), stopping=FALLING)
    own_ones, one = sweep(procedure, streams, [FALLING, 0.8])
    assert own_ones.rule == evaluate(procedure, streams).rule == FALLING
    assert own_ones.decisions == evaluate(procedure, streams).decisions
    assert np.isnan(own_ones.confidence)
    assert one.confidence == one.summary()["confidence"] == 0.8
    assert one.decisions == evaluate(procedure.with_confidence(0.8), streams).decisions != own_ones.decisions
