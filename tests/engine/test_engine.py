"""The engine: samples in, decisions out."""

import dataclasses

import numpy as np
import pytest
from engines import NAN, content, random_samples
from helpers.own_classifier import Opaque
from helpers.procedures import mean_procedure
from helpers.random_models import any_classifier, random_procedure
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from oracles.papers import classification_cost

from streamfs import Costs, Engine, evaluate
from streamfs.engine.engine import DECIDED, FREE, OPEN, WAITING

FAR = 2**40


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
