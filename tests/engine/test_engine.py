"""The engine: episodes, time limits, late and duplicate samples, snapshots."""

import copy
import dataclasses
import pickle
import runpy

import numpy as np
import pytest
from helpers.own_classifier import Opaque
from helpers.procedures import labelled_streams, mean_procedure, step_tree
from helpers.random_models import any_classifier, any_forest, random_forest, random_procedure, tick_thresholds
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from oracles.papers import classification_cost

from feature_extractors import _driver, _loop
from streamfs import Costs, Engine, StreamSet, evaluate, train
from streamfs.base import growable_array as growth
from streamfs.classifiers import _calibration, _evaluate, _forest
from streamfs.classifiers.forest import Forest
from streamfs.data.feature_table import tabulate
from streamfs.engine import _arena
from streamfs.engine.engine import DECIDED, FREE, OPEN, WAITING
from streamfs.errors import ModelError
from streamfs.evaluation.trajectories import Trajectories
from streamfs.procedure import TickThresholds

NAN = float("nan")
FAR = 2**40


def random_samples(rng, n_rows, n_samples):
    """Rows in any order, with repetitions; times with repeats, gaps and steps back; values with gaps."""
    rows = rng.integers(n_rows, size=n_samples)
    times = np.sort(rng.integers(0, 30, n_samples)) * 0.5 - rng.choice([0.0, 0.2, 1.0], n_samples)
    samples = np.round(rng.normal(1, 1.5, (n_samples, 2)))
    samples[rng.random(samples.shape) < 0.2] = rng.choice([NAN, np.inf, -1e200])
    return rows, times, samples


def content(engine):
    return (
        engine._table.state.tobytes(),
        engine._table.streams.tobytes(),
        engine._table.status.tobytes(),
        engine.counters,
    )


def test_a_stream_is_decided_as_soon_as_its_confidence_suffices():
    engine = Engine(mean_procedure())
    assert engine.push("s", 0.0, [0.1]) is None
    decision = engine.push("s", 1.0, [1.9])
    assert (decision.label, decision.tick, decision.reason, decision.time) == ("on", 2, "confident", 1.0)
    assert decision.confidence == 31 / 32
    assert decision.episode == 1


@pytest.mark.parametrize("wrap", [lambda tree: tree, Opaque], ids=["compiled", "plain"])
def test_the_first_class_is_decided_as_any_other(wrap):
    procedure = mean_procedure(confidence=0.8)
    engine = Engine(dataclasses.replace(procedure, classifier=wrap(procedure.classifier)))
    decisions = [engine.push("s", 0.0, [0.1]), *engine.push_batch(["t", "u"], [0.0, 0.0], [[0.1], [0.9]])]
    assert [(decision.label, decision.reason) for decision in decisions] == [
        ("off", "confident"),
        ("off", "confident"),
        ("on", "confident"),
    ]


@pytest.mark.parametrize("a", [1.0, 0.25])
def test_a_decision_costs_equation_1(a):
    engine = Engine(mean_procedure(costs=Costs([2.0], [3.0], a=a, b=0.5), time_limit=4))
    assert engine.push("fast", 0.0, [1.0]).cost == a * 1 * 2.0 + 0.5 * 3.0
    for tick in range(3):
        assert engine.push("slow", float(tick), [0.0]) is None
    timeout = engine.push("slow", 3.0, [0.0])
    assert (timeout.label, timeout.reason, timeout.tick) == (None, "timeout", 4)
    assert timeout.cost == classification_cost(4, np.array([2.0]), np.array([3.0]), a, 0.5) == a * 4 * 2.0 + 1.5


def test_an_episode_opens_at_the_first_complete_sample():
    engine = Engine(mean_procedure(time_limit=2))
    assert engine.push("s", 0.0, [NAN]) is None
    assert engine.push("s", 5.0, [0.0]) is None
    assert engine.push("s", 6.0, [NAN]).tick == 2
    assert engine.counters["before_opening"] == 1


def test_late_and_duplicate_samples_change_nothing_and_are_counted():
    engine, undisturbed = Engine(mean_procedure()), Engine(mean_procedure())
    for time, value in ((0.0, 0.0), (1.0, 0.2), (2.0, 0.3), (3.0, 0.4)):
        expected = undisturbed.push("s", time, [value])
        assert engine.push("s", time, [value]) == expected
        engine.push("s", time, [9.0])
        engine.push("s", time - 1.0, [9.0])
    assert engine.counters["duplicate"] == 4
    assert engine.counters["late"] == 4
    assert engine.counters["samples"] == 12
    assert engine.snapshot() != undisturbed.snapshot()
    decision = engine.push("s", 4.0, [2.0])
    assert decision == undisturbed.push("s", 4.0, [2.0])
    assert decision.label == "on"


def test_samples_after_the_decision_are_ignored_until_reopened():
    engine = Engine(mean_procedure())
    assert engine.push("s", 0.0, [1.0]).label == "on"
    assert engine.push("s", 1.0, [1.0]) is None
    assert engine.counters["after_decision"] == 1
    engine.reopen("s")
    assert engine.push("s", 2.0, [0.0]) is None
    assert engine.push("s", 3.0, [4.0]).episode == 2


def test_the_time_limit_counts_ticks_that_never_came():
    engine = Engine(mean_procedure(time_limit=5))
    engine.push("s", 0.0, [0.0])
    assert engine.push("s", 4.0, [0.0]).reason == "timeout"
    engine.push("t", 10.0, [0.0])
    decision = engine.push("t", 100.0, [5.0])
    assert (decision.label, decision.tick, decision.time) == (None, 5, 14.0)


def test_a_time_beyond_all_reason_is_a_time_out_and_one_before_is_late():
    engine = Engine(mean_procedure(time_limit=5))
    engine.push_batch(np.array(["s", "t"]), np.zeros(2), np.zeros((2, 1)))
    assert engine.push("s", 1e300, [0.0]).reason == "timeout"
    assert engine.push("t", -1e300, [0.0]) is None
    assert engine.counters["late"] == 1
    assert Engine.restore(engine.procedure, engine.snapshot()).snapshot() == engine.snapshot()
    with pytest.raises(TypeError, match="stream is 7"):
        engine.push(7, 0.0, [0.0])


def test_expire_times_out_by_event_time():
    engine = Engine(mean_procedure(time_limit=5))
    engine.push("s", 100.0, [0.0])
    engine.push("t", 102.0, [0.0])
    assert engine.expire(104.9) == []
    (decision,) = engine.expire(105.0)
    assert (decision.stream, decision.reason, decision.tick, decision.cost) == ("s", "timeout", 5, 11.5)
    assert engine.n_open == 1
    assert engine.push("s", 106.0, [9.0]) is None


def test_close_ends_an_episode_and_forgets_the_stream():
    engine = Engine(mean_procedure())
    engine.push("s", 0.0, [0.0])
    engine.push("s", 1.0, [0.0])
    decision = engine.close("s")
    assert (decision.reason, decision.label, decision.tick, decision.cost) == ("closed", None, 2, 5.5)
    assert engine.streams == ()
    assert engine.push("s", 9.0, [5.0]).episode == 2
    assert engine.close("s") is None
    with pytest.raises(ValueError, match="'nobody' is not known"):
        engine.close("nobody")


def test_infinite_readings_are_missing_and_counted():
    engine = Engine(mean_procedure())
    engine.push("s", 0.0, [0.0])
    assert engine.push("s", 1.0, [np.inf]) is None
    assert engine.push("s", 2.0, [-1e300]) is None
    assert engine.counters["not_finite"] == 2
    assert engine.push("s", 3.0, [1.1]).label == "on"


@pytest.mark.parametrize(
    ("streams", "times", "samples", "message"),
    [
        (["s"], [0.0], [[1.0, 2.0]], r"shape \(1, 2\), expected \(1, 1\)"),
        (["s"], [0.0, 1.0], [[1.0]], r"times have shape \(2,\)"),
        (["s"], [NAN], [[1.0]], "time of a sample of stream 's' is nan"),
    ],
)
def test_a_bad_batch_is_refused_whole(streams, times, samples, message):
    engine = Engine(mean_procedure())
    before = engine.snapshot()
    with pytest.raises(ValueError, match=message):
        engine.push_batch(streams, times, samples)
    assert engine.snapshot() == before


@pytest.fixture(scope="module")
def trained():
    streams = labelled_streams(gaps=0.05)
    return train(streams, confidence=0.8, seed=1, select="streamrelief"), streams


@given(seed=st.integers(0, 2**32 - 1))
def test_batches_and_single_samples_make_the_same_decisions(trained, seed):
    """In any interleaving that keeps each stream's order, cut into any batches, through a snapshot at any time."""
    procedure, streams = trained
    rng = np.random.default_rng(seed)
    seen = streams.seen_through(procedure.channels)
    n_streams, n_ticks = len(seen), seen.n_ticks
    order = rng.permutation(np.repeat(np.arange(n_streams), n_ticks))
    tick = np.zeros(n_streams, dtype=int)
    ticks = np.empty(len(order), dtype=int)
    for index, stream in enumerate(order):
        ticks[index] = tick[stream]
        tick[stream] += 1
    engine, decisions, at = Engine(procedure), [], 0
    while at < len(order):
        size = int(rng.choice([1, 7, 400]))
        part = slice(at, at + size)
        names = [seen.names[i] for i in order[part]]
        decisions += engine.push_batch(names, ticks[part] * 1.0, seen.values[order[part], ticks[part]])
        at += size
        if rng.random() < 0.2:
            engine = Engine.restore(procedure, engine.snapshot())
    expected = evaluate(procedure, streams).decisions
    assert sorted(decisions, key=lambda d: d.stream) == sorted(expected, key=lambda d: d.stream)
    assert engine.counters["samples"] == len(order)


def test_a_restored_engine_is_bit_identical(trained):
    procedure, streams = trained
    seen = streams.seen_through(procedure.channels)
    engine = Engine(procedure)
    for tick in range(3):
        engine.push_batch(seen.names, np.full(len(seen), float(tick)), seen.values[:, tick])
    engine.close(seen.names[0])
    other = Engine.restore(procedure, engine.snapshot())
    assert other.snapshot() == engine.snapshot()
    for tick in range(3, 10):
        batch = seen.names, np.full(len(seen), float(tick)), seen.values[:, tick]
        assert other.push_batch(*batch) == engine.push_batch(*batch)
        assert other.snapshot() == engine.snapshot()
    assert_array_equal(other.streams, engine.streams)


def test_a_snapshot_of_another_procedure_or_a_damaged_one_is_refused():
    engine = Engine(mean_procedure())
    engine.push("s", 0.0, [0.0])
    snapshot = engine.snapshot()
    with pytest.raises(ModelError, match="belongs to procedure"):
        Engine.restore(mean_procedure(confidence=0.8), snapshot)
    for at in range(0, len(snapshot), 97):
        damaged = bytearray(snapshot)
        damaged[at] ^= 0xFF
        with pytest.raises(ModelError):
            Engine.restore(mean_procedure(), bytes(damaged))


@pytest.mark.parametrize("name", ["state", "streams", "status"])
def test_a_snapshot_whose_tables_do_not_fit_is_refused(name):
    engine = Engine(mean_procedure())
    engine.push_batch(["s", "t"], np.zeros(2), np.zeros((2, 1)))
    header, arrays = engine.to_state()
    with pytest.raises(ModelError, match=rf"{name} of shape \(1.*, expected \(2"):
        Engine.from_state(engine.procedure, header, {**arrays, name: arrays[name][:1]})
    with pytest.raises(ModelError, match="state of shape"):
        Engine.from_state(engine.procedure, header, {**arrays, "state": arrays["state"][:, :4]})


def copied_state():
    """Two streams with a free row between them."""
    engine = Engine(mean_procedure())
    engine.push_batch(["s", "gone", "t"], np.zeros(3), np.zeros((3, 1)))
    engine.close("gone")
    return engine.to_state()


@pytest.mark.parametrize("writeable", [True, False])
def test_a_restored_engine_shares_no_memory(writeable):
    header, arrays = copied_state()
    for array in arrays.values():
        array.flags.writeable = writeable
    before = {name: array.tobytes() for name, array in arrays.items()}
    one, other = (Engine.from_state(mean_procedure(), header, arrays) for _ in range(2))
    untouched = content(other)
    for i in range(100):
        one.push(f"new{i}", 0.0, [0.0])
    one.push_batch(["s", "t"], [1.0, 1.0], [[9.0], [0.0]])
    assert content(other) == untouched
    assert {name: array.tobytes() for name, array in arrays.items()} == before
    assert other.push("s", 1.0, [9.0]).label == "on"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"status": np.array([4, 0, 2], np.int8)}, "status of row 0 is 4, expected 0 to 3"),
        ({"status": np.array([2, 0, -1], np.int8)}, "status of row 2 is -1"),
        ({"status": np.zeros((3, 0), np.int8)}, r"status of shape \(3, 0\), expected \(3,\)"),
        ({"status": np.array([2, 0, 2])}, "status is of int64, expected int8"),
        ({"status": [2, 0, 2]}, "status is of .*list"),
        ({"streams": np.zeros((3, 0), _arena.STREAM)}, r"streams of shape \(3, 0\)"),
        ({"streams": np.zeros(3)}, "streams is of float64"),
        ({"state": np.zeros((3, 5), ">f8")}, "state is of >f8, expected float64"),
        ({"streams tick": -1}, "tick of row 2 is -1"),
        ({"streams episode": 2**62}, "episode of row 2 is"),
        ({"free": []}, "free rows are not those that hold no stream"),
        ({"free": [1, 1]}, "free rows"),
        ({"free": [2]}, "free rows"),
        ({"free": [10**9]}, "free rows"),
        ({"free": [-1]}, "counts -1, expected a whole number from 0"),
        ({"free": [1.0]}, r"counts 1\.0, expected a whole number"),
        ({"free": [True]}, "counts True"),
        ({"free": 1}, "free are 1, expected a list"),
        ({"names": ["s", "", 7]}, "names a stream 7, expected text"),
        ({"names": ["s", "", "s"]}, "names two streams alike"),
        ({"names": "stu"}, "names are 'stu', expected a list"),
        ({"left": ["s"]}, "left are .* expected a dict"),
        ({"left": {"s": "1"}}, "counts '1'"),
        ({"floor": 2**70}, "counts 11805"),
        ({"counters": dict.fromkeys(_arena.COUNTERS, 2**70)}, "counts 11805"),
        ({"counters": {"samples": 1}}, "has no not_finite"),
    ],
)
def test_an_inconsistent_snapshot_is_refused(change, message):
    header, arrays = copied_state()
    for name, value in change.items():
        if name.startswith("streams "):
            arrays["streams"][name.removeprefix("streams ")][2] = value
        else:
            (arrays if name in arrays else header)[name] = value
    with pytest.raises(ModelError, match=f"the snapshot.*{message}"):
        Engine.from_state(mean_procedure(), header, arrays)


def test_a_snapshot_that_lacks_a_part_is_refused():
    header, arrays = copied_state()
    for name in (*header, *arrays):
        kept = [{key: part for key, part in parts.items() if key != name} for parts in (header, arrays)]
        with pytest.raises(ModelError, match=f"the snapshot has no {name}"):
            Engine.from_state(mean_procedure(), *kept)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_an_engine_is_not_copied_but_by_a_snapshot(copied):
    with pytest.raises(TypeError, match="take a snapshot"):
        copied(Engine(mean_procedure()))


@pytest.mark.parametrize("n_calls", [1, 2, 3])
def test_streams_that_memory_does_not_suffice_for_leave_the_others_as_they_are(n_calls, monkeypatch):
    engine, undisturbed = Engine(mean_procedure()), Engine(mean_procedure())
    for each in (engine, undisturbed):
        each.push_batch([f"s{i}" for i in range(16)], np.zeros(16), np.zeros((16, 1)))
    calls = []

    def failing(array, rows):
        calls.append(len(rows))
        if len(calls) == n_calls:
            raise MemoryError
        return growth.append_rows(array, rows)

    with monkeypatch.context() as patch:
        patch.setattr("streamfs.engine.stream_table.append_rows", failing)
        with pytest.raises(MemoryError):
            engine.push("new", 0.0, [0.0])
    assert engine.streams == undisturbed.streams
    for name in ("state", "streams", "status"):
        assert engine._arena.record[name][0] == engine._arena[name].ctypes.data
    names = [*(f"s{i}" for i in range(16)), *(f"new{i}" for i in range(50))]
    batch = names, np.ones(66), np.linspace(0.0, 2.0, 66)[:, np.newaxis]
    assert engine.push_batch(*batch) == undisturbed.push_batch(*batch)
    assert engine.snapshot() == undisturbed.snapshot()
    assert len(engine._table.state) == len(engine._table.streams) == len(engine._table.status)


@pytest.mark.parametrize("shape", [(1, 2), (2, 2), (3, 1), (3, 3), (3, 0), (6,)])
def test_an_answer_of_a_classifier_that_does_not_fit_is_refused_and_moves_no_stream(shape):
    tree, names = step_tree(), ["a", "b", "c"]
    engine = Engine(dataclasses.replace(mean_procedure(), classifier=Opaque(tree)))
    engine.push_batch(names, np.zeros(3), np.zeros((3, 1)))
    before = engine._table.state.tobytes(), engine._table.streams.tobytes(), engine._table.status.tobytes()
    engine.procedure.classifier.probabilities = lambda _values: np.full(shape, 0.5)
    with pytest.raises(ValueError, match=r"the classifier's answer has shape .*, expected \(3, 2\)"):
        engine.push_batch(names, np.ones(3), np.full((3, 1), 9.0))
    assert (
        engine._table.state.tobytes(),
        engine._table.streams.tobytes(),
        engine._table.status.tobytes(),
    ) == before
    engine.procedure.classifier.probabilities = tree.probabilities
    assert len(engine.push_batch(names, np.ones(3), np.full((3, 1), 9.0))) == 3


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((16, 5), np.float32),
        np.zeros((5, 16)).T,
        np.zeros((32, 5))[::2],
        np.broadcast_to(0.0, (16, 5)),
        np.zeros((15, 5)),
        np.zeros((16, 6)),
        np.zeros(80),
    ],
)
def test_an_arena_holds_only_what_its_kernels_can_use(array):
    engine = Engine(mean_procedure())
    for i in range(3):
        engine.row(f"s{i}")
    held = engine._arena["state"]
    assert held.shape == (16, 5)
    with pytest.raises(TypeError, match=r"state is of .*expected float64 and at least"):
        engine._arena.hold(state=array)
    assert engine._arena["state"] is held


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (_driver, "BLOCK", 8),
        (_driver, "ENTRY", np.dtype([("address", np.int64)])),
        (_loop, "TASK_SIZE", 20),
        (_evaluate, "NODE", np.dtype([("feature", np.int64)])),
        (_evaluate, "WAY", np.dtype([("feature", np.int64)])),
        (_forest, "GROUP", 8),
        (_forest, "BLOCK", 64),
        (_forest, "WAY", np.dtype([("feature", np.int64)])),
        (_calibration, "CALIBRATION", np.dtype([("slope", np.int64)])),
    ],
)
def test_kernels_that_were_compiled_for_another_layout_do_not_fit_the_arena(module, name, value, monkeypatch):
    """For a new type numba would compile again."""
    same = runpy.run_path(_arena.__file__)["ARENA"]
    monkeypatch.setattr(module, name, value)
    assert same == _arena.ARENA
    assert runpy.run_path(_arena.__file__)["ARENA"] != same


@pytest.mark.parametrize("name", ["TASK_SIZE", "ROOM"])
def test_a_driver_that_was_compiled_for_another_task_does_not_fit_the_table(name, monkeypatch):
    monkeypatch.setattr(_loop, name, 20)
    assert runpy.run_path(_driver.__file__)["ENTRY"] != _driver.ENTRY


def test_decisions_come_in_the_order_of_the_samples():
    names = ["c", "a", "b", "a"]
    engine = Engine(mean_procedure())
    engine.push_batch(["b", "a", "c"], np.zeros(3), np.zeros((3, 1)))
    decisions = engine.push_batch(names, [1.0, 1.0, 1.0, 2.0], [[5.0], [0.0], [5.0], [5.0]])
    assert [decision.stream for decision in decisions] == ["c", "b", "a"]


def test_streams_come_and_go():
    engine = Engine(mean_procedure())
    for generation in range(50):
        names = [f"s{generation}-{k}" for k in range(10)]
        engine.push_batch(names, np.zeros(10), np.zeros((10, 1)))
        for name in names:
            assert engine.close(name).reason == "closed"
    assert len(engine._table.state) <= 32
    assert engine.n_open == 0


def test_rows_hold_streams_by_position():
    engine = Engine(mean_procedure())
    assert [engine.row(name) for name in ("a", "b", "c", "a")] == [0, 1, 2, 0]
    engine.push_batch(["b", "c"], [0.0, 4.0], [[0.0], [5.0]])
    assert engine.rows(WAITING).tolist() == [0]
    assert engine.rows(OPEN).tolist() == [1]
    assert engine.rows(DECIDED).tolist() == [2]
    assert engine.rows(DECIDED, WAITING).tolist() == [0, 2]
    assert engine.release("b") == 1
    assert engine.rows(WAITING, OPEN, DECIDED).tolist() == [0, 2]
    assert [engine.status(name) for name in ("a", "b", "c")] == [WAITING, FREE, DECIDED]
    assert engine.streams == ("a", "c")
    assert engine.n_streams == 2
    assert engine.row("d") == 1
    assert engine.name(1) == "d"


@given(seed=st.integers(0, 2**32 - 1))
def test_rows_take_samples_bit_for_bit_as_a_batch_of_names_does(trained, seed):
    procedure, _ = trained
    rng = np.random.default_rng(seed)
    names = [f"s{i}" for i in range(7)]
    by_name, by_row = Engine(procedure), Engine(procedure)
    for engine in (by_name, by_row):
        for name in names:
            engine.admit(name)
    for tick in range(procedure.time_limit + 2):
        rows = rng.permutation(len(names))[: rng.integers(len(names) + 1)]
        samples = rng.normal(1.5, 2, (len(rows), len(procedure.channels)))
        samples[rng.random(samples.shape) < 0.1] = rng.choice([NAN, np.inf, 1e200])
        time = tick - rng.choice([0.0, 0.0, 0.3, 2.0])
        expected = by_name.push_batch([names[row] for row in rows], np.full(len(rows), time), samples)
        assert by_row.push_rows(rows, time, samples) == expected
        assert by_row.snapshot() == by_name.snapshot()


@pytest.mark.parametrize("is_known", [True, False])
@given(seed=st.integers(0, 2**32 - 1))
def test_streams_that_come_again_in_a_batch_are_decided_as_one_sample_at_a_time(is_known, seed):
    """However the samples are cut into batches, by row or by name, within the compiled pass or outside."""
    rng = np.random.default_rng(seed)
    procedure = random_procedure(rng, any_classifier(rng, 5))
    if not is_known:
        procedure = dataclasses.replace(procedure, classifier=Opaque(procedure.classifier))
    names = [f"s{i}" for i in range(rng.choice([1, 3, 100]))]
    batches, singles = Engine(procedure), Engine(procedure)
    for engine in (batches, singles):
        for name in names:
            engine.admit(name)
    rows, times, samples = random_samples(rng, len(names), 120)
    expected = [singles.push(names[row], *sample) for row, *sample in zip(rows, times, samples, strict=True)]
    found = []
    for part in np.split(np.arange(120), np.sort(rng.integers(0, 301, 3))):
        if rng.random() < 0.5:
            found += batches.push_rows(rows[part], times[part], samples[part])
        else:
            found += batches.push_batch([names[row] for row in rows[part]], times[part], samples[part])
    assert repr(found) == repr([decision for decision in expected if decision])
    assert content(batches) == content(singles)


@given(seed=st.integers(0, 2**32 - 1), stopping=st.none() | tick_thresholds())
def test_a_tree_or_forest_decides_within_the_compiled_pass_as_it_does_outside(seed, stopping):
    """Numeric and nominal tests, missing values, unseen codes, late samples and time-outs."""
    rng = np.random.default_rng(seed)
    inside = random_procedure(rng, any_classifier(rng, 5), stopping=stopping)
    engines = [Engine(inside), Engine(dataclasses.replace(inside, classifier=Opaque(inside.classifier)))]
    n_streams = int(rng.choice([60, 90]))
    rows, times, samples = random_samples(rng, n_streams, 240)
    for engine in engines:
        for i in range(n_streams):
            engine.admit(f"s{i}")
    for part in np.array_split(np.arange(240), 5):
        decisions = [repr(engine.push_rows(rows[part], times[part], samples[part])) for engine in engines]
        assert decisions[0] == decisions[1]
        assert content(engines[0]) == content(engines[1])


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_a_forest_says_in_every_path_what_its_probabilities_are(seed):
    """To the last bit: one at a time, in batches of any length, by name and row, and through a snapshot."""
    rng = np.random.default_rng(seed)
    forest, n_streams = any_forest(rng, 5), int(rng.choice([1, 14, 16, 17, 33, 600]))
    engine = Engine(dataclasses.replace(random_procedure(rng, forest), confidence=1.0))
    names = [f"s{i}" for i in range(n_streams)]
    rows = np.array([engine.row(name) for name in names])
    for tick in range(4):
        samples = np.round(rng.normal(1, 1.5, (n_streams, 2)), 1)
        samples[rng.random(samples.shape) < 0.2 * (tick > 0)] = NAN
        times = np.full(n_streams, 0.5 * tick)
        for part in np.array_split(rng.permutation(n_streams), rng.integers(1, 4)):
            if len(part) < 20:
                for i in part:
                    engine.push(names[i], times[i], samples[i])
            elif rng.random() < 0.5:
                engine.push_rows(rows[part], times[part], samples[part])
            else:
                engine.push_batch([names[i] for i in part], times[part], samples[part])
        expected = forest.probabilities(np.stack([engine.values(name) for name in names]))
        assert_array_equal(engine._table.streams["confidence"][rows], expected.max(axis=1))
        if rng.random() < 0.3:
            engine = Engine.restore(engine.procedure, engine.snapshot())


def test_a_forest_is_evaluated_within_the_compiled_pass(monkeypatch):
    forest = random_forest(1, n_features=5, n_classes=2, n_trees=20)
    engine = Engine(
        random_procedure(np.random.default_rng(1), forest, stopping=TickThresholds((1, 2), (1.0, 0.0)))
    )
    twin, answers = Engine(dataclasses.replace(engine.procedure, classifier=Opaque(forest))), []
    expected = [twin.push("s", time, [0.5, 1.5]) for time in (0.0, 0.5)]
    monkeypatch.setattr(Forest, "probabilities", lambda *_: answers.append("outside"))
    assert [engine.push("s", time, [0.5, 1.5]) for time in (0.0, 0.5)] == expected
    assert (expected[1].label, answers) != (None, ["outside"])


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("row", [-1, 1, 2, 16, FAR, -FAR])
def test_a_row_without_a_stream_is_refused_with_the_whole_batch(row, is_known):
    procedure = mean_procedure()
    if not is_known:
        procedure = dataclasses.replace(procedure, classifier=Opaque(procedure.classifier))
    engine = Engine(procedure)
    for name in ("a", "gone"):
        engine.push(name, 0.0, [0.0])
    engine.close("gone")
    before = content(engine)
    with pytest.raises(ValueError, match=f"row is {row}, expected one that holds a stream"):
        engine.push_rows(np.array([0, row]), 1.0, [[0.0], [0.0]])
    assert content(engine) == before


@pytest.mark.parametrize(
    ("rows", "times", "samples", "error", "message"),
    [
        ([0.0], 0.0, [[0.0]], TypeError, "rows are of float64, expected whole numbers"),
        ([[0]], 0.0, [[0.0]], ValueError, r"rows have shape \(1, 1\)"),
        ([0], [0.0, 1.0], [[0.0]], ValueError, r"times have shape \(2,\), expected \(1,\)"),
        ([0], 0.0, [[0.0, 1.0]], ValueError, r"shape \(1, 2\), expected \(1, 1\)"),
        ([0], NAN, [[0.0]], ValueError, "time of a sample of row 0 is nan"),
        ([0], [np.inf], [[0.0]], ValueError, "time of a sample of row 0 is inf"),
    ],
)
def test_bad_samples_of_rows_are_refused_whole(rows, times, samples, error, message):
    engine = Engine(mean_procedure())
    engine.push("s", 0.0, [0.0])
    before = content(engine)
    with pytest.raises(error, match=message):
        engine.push_rows(rows, times, samples)
    assert content(engine) == before
    assert engine.push_rows([], 0.0, []) == []


@pytest.mark.parametrize("stream", ["known", "new"])
@pytest.mark.parametrize(
    ("time", "sample"),
    [
        *((1.0, sample) for sample in ([0.0, 1.0], [], ["x"], ["0.3"], [None], [[0.0]], [10**400], [1j])),
        *((1.0, sample) for sample in (None, 0.0, np.float64(0.0), "1", np.zeros((1, 1)), np.array(0.0))),
        (NAN, [0.0]),
    ],
)
def test_a_bad_sample_is_refused_and_makes_no_stream_known(stream, time, sample):
    engine = Engine(mean_procedure())
    engine.push("known", 0.0, [0.0])
    before = content(engine)
    message = "is nan" if np.isnan(time) else "sample is .*, expected numbers of"
    with pytest.raises(ValueError, match=message):
        engine.push(stream, time, sample)
    assert content(engine) == before
    assert engine.streams == ("known",)


@given(seed=st.integers(0, 2**32 - 1))
def test_expiry_finds_every_stream_that_is_due_and_no_other(seed):
    """Also through snapshots, and with streams that open, end and leave in between."""
    rng = np.random.default_rng(seed)
    engine, opened = Engine(mean_procedure(time_limit=5)), {}
    for now in np.cumsum(rng.integers(0, 4, 30) * 0.5):
        for name in {f"s{i}" for i in rng.integers(40, size=rng.integers(6))}:
            time = now - rng.choice([0.0, 1.0, 7.0])
            decision = engine.push(name, float(time), [float(rng.random() < 0.2)])
            if decision:
                opened.pop(name, None)
            elif engine.status(name) == OPEN:
                opened.setdefault(name, time)
        if opened and rng.random() < 0.3:
            gone = min(opened)
            del opened[gone]
            engine.close(gone)
        if rng.random() < 0.2:
            engine = Engine.restore(engine.procedure, engine.snapshot())
        due = {name for name, time in opened.items() if time + 5.0 <= now}
        assert engine.next_deadline() == min((time + 5.0 for time in opened.values()), default=np.inf)
        assert {decision.stream for decision in engine.expire(float(now))} == due
        for name in due:
            del opened[name]


def test_a_stream_has_its_episode_values_and_decision_time():
    engine = Engine(mean_procedure(period=2.0))
    engine.push_batch(["s", "t"], [10.0, 10.0], [[0.25], [0.0]])
    assert_array_equal(engine.values("s"), [0.25])
    engine.push("s", 12.0, [0.75])
    values = engine.values("s")
    assert_array_equal(values, [0.5])
    engine.push("s", 14.0, [9.5])
    assert_array_equal(values, [0.5])  # a copy
    assert_array_equal(engine.values("s"), [3.5])
    assert_array_equal(engine.decided_at(engine.rows(DECIDED)), [14.0])
    assert engine.episode("s") == 1
    engine.reopen("s")
    assert engine.episode("s") == 2
    assert engine.episode("t") == 1
    for ask in (engine.episode, engine.values, engine.release):
        with pytest.raises(ValueError, match="'nobody' is not known"):
            ask("nobody")


def test_a_stream_that_another_engine_adopts_goes_on_counting_there():
    old, new = Engine(mean_procedure()), Engine(mean_procedure(confidence=0.5))
    old.push_batch(["decided", "waiting"], [7.0, 7.0], [[1.0], [NAN]])
    old.push("decided", 8.0, [1.0])
    old.reopen("decided")
    old.push("decided", 9.0, [1.0])
    (row,) = old.rows(DECIDED)
    at = float(old.decided_at(np.array([row]))[0])
    new.adopt("decided", old.release("decided"), decided_at=at)
    new.adopt("waiting", old.release("waiting"))
    assert old.n_streams == 0
    assert_array_equal(new.decided_at(new.rows(DECIDED)), [9.0])
    assert new.push("decided", 10.0, [1.0]) is None
    new.reopen("decided")
    assert new.push("decided", 11.0, [1.0]).episode == 3
    assert new.push("waiting", 11.0, [1.0]).episode == 1


def test_an_engine_counts_on_from_the_streams_that_have_left_another(monkeypatch):
    monkeypatch.setattr("streamfs.engine.stream_registry.MAX_LEFT", 1)
    old, new = Engine(mean_procedure()), Engine(mean_procedure())
    old.remember("gone", 6)
    old.remember("left", 2)
    new.inherit(old)
    assert new.push("left", 0.0, [1.0]).episode == 3
    assert new.push("gone", 0.0, [1.0]).episode == 7
    assert new.push("new", 0.0, [1.0]).episode == 7


def test_of_streams_that_left_long_ago_only_the_highest_number_is_kept(monkeypatch):
    monkeypatch.setattr("streamfs.engine.stream_registry.MAX_LEFT", 3)
    engine = Engine(mean_procedure())
    engine.remember("eldest", 9)
    for i, name in enumerate("abcd"):
        engine.remember(name, i + 1)
    assert engine.push("new", 0.0, [1.0]).episode == 10
    assert engine.push("eldest", 0.0, [1.0]).episode == 10
    assert [engine.push(name, 0.0, [1.0]).episode for name in "abcd"] == [10, 3, 4, 5]


@given(seed=st.integers(0, 2**32 - 1))
def test_decision_ids_are_unique(seed):
    """Also beyond the number of remembered streams, through snapshots, and from one engine to the next."""
    rng = np.random.default_rng(seed)
    engine, seen = Engine(mean_procedure()), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamfs.engine.stream_registry.MAX_LEFT", 3)
        for time in range(80):
            name = f"s{rng.integers(8)}"
            what = rng.choice(["push", "close", "reopen", "restore", "move"], p=[0.5, 0.3, 0.1, 0.05, 0.05])
            if what == "push":
                seen.append(engine.push(name, float(time), [float(rng.random() < 0.7)]))
            elif what == "close" and engine.status(name) != FREE:
                seen.append(engine.close(name))
            elif what == "reopen" and engine.is_decided(name):
                engine.reopen(name)
            elif what == "restore":
                engine = Engine.restore(engine.procedure, engine.snapshot())
            elif what == "move":
                engine = moved(engine)
    ids = [(decision.stream, decision.episode) for decision in seen if decision]
    assert len(set(ids)) == len(ids)


def moved(engine):
    """Return an engine that continues with another's streams, except open ones."""
    new = Engine(engine.procedure)
    new.inherit(engine)
    for stream in engine.streams:
        status, is_decided = engine.status(stream), engine.is_decided(stream)
        episode = engine.release(stream)
        if status == OPEN:
            new.remember(stream, episode)
        else:
            new.adopt(stream, episode, decided_at=0.0 if is_decided else None)
    return new


@pytest.mark.parametrize("wrap", [lambda classifier: classifier, Opaque], ids=["compiled", "plain"])
@given(st.integers(0, 2**32), st.integers(2, 9))
def test_what_arrives_before_a_channel_opens_is_not_seen(wrap, seed, opening):
    rng = np.random.default_rng(seed)
    procedure = random_procedure(rng, wrap(any_classifier(rng, 5)), b=f"b@from:{opening}")
    values = np.round(rng.normal(1, 1.5, (6, 12, 2)))
    values[rng.random(values.shape) < 0.2] = NAN
    streams = StreamSet(values, ["t"] * 6, ["a", "b"], procedure.period)
    engine, decisions = Engine(procedure), []
    for tick in range(12):
        decisions += engine.push_batch(streams.names, np.full(6, 0.5 * tick), values[:, tick])
    table = tabulate(streams, procedure.features)
    labels, ticks = Trajectories.of(procedure.classifier, table, procedure.time_limit).decide(procedure.confidence)
    ended = {decision.stream: decision for decision in decisions}
    for name, label, tick in zip(streams.names, labels, ticks, strict=True):
        expected = None if label < 0 else procedure.classes[label]
        assert expected is None or (ended[name].label, ended[name].tick) == (expected, tick)
        assert expected is not None or name not in ended or ended[name].reason == "timeout"


def test_streams_ask_for_a_channel_from_its_opening_tick_on():
    engine = Engine(random_procedure(np.random.default_rng(0), b="b@from:4"))
    engine.admit("s")
    row, asked = np.array([engine.row("s")]), []
    for tick in range(4):
        asked.append(engine.asked(row)[0].tolist())
        engine.push("s", 0.5 * tick, [1.0, NAN])
    assert asked == [[True, False]] * 3 + [[True, True]]
    assert engine.counters["before_opening"] == 0
    assert engine.asked(row, ahead=-1)[0].tolist() == [True, False]


def test_a_channel_must_be_open_at_the_first_tick_and_none_opens_after_the_last():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="b@from:10 opens beyond the time limit of 9 ticks"):
        random_procedure(rng, b="b@from:10")
    with pytest.raises(ValueError, match="channels are x@from:2, expected one that is open from tick 1 on"):
        mean_procedure(column="x@from:2")
