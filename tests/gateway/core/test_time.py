"""Event time: every stream has its own, which no other node can move, and a stall is not silence."""

from dataclasses import replace
from operator import attrgetter, itemgetter
from random import Random

import numpy as np
import pytest
from helpers.procedures import channels_procedure
from helpers.records import Models, message, new_core, raw
from helpers.stories import PAIRS
from hypothesis import given, settings
from hypothesis import strategies as st

from streamfs import StreamSet, evaluate
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.records import MESSAGE, clock_record, start_record
from streamfs.gateway.operations.clock_warnings import clock_warnings
from streamfs.procedure.stopping import TickThresholds

COLUMNS = {"alone": ("x", "door@flag:0.5"), "paired": ("a.x", "b.x", "b.door@flag:0.5")}
NODES = ("n0", "n1", "n2", "n3")
LATENESS = 2.0  # seconds
SEEDS = st.integers(0, 2**32)


def begun(kind, nodes=NODES, **options):
    """Return a core that follows nodes, alone or in pairs."""
    columns = COLUMNS[kind]
    models = Models(channels_procedure(*columns, confidence=0.85, threshold=0.537, time_limit=9))
    bindings = Bindings.pairs(columns, PAIRS) if kind == "paired" else Bindings.single(columns, nodes)
    return new_core(models, bindings, lateness=LATENESS, **options)[0]


def fleet(random, n_ticks=40, period=1.0):
    """Return (arrival, node, stamp, value, sequence, channel) of nodes with jitter, some of which fall silent."""
    sent = []
    for node in NODES:
        ends, offset = random.choice([n_ticks, n_ticks, 15]), random.choice([0.0, 0.0, 0.3])
        for channel, rate in (("x", 0.95), ("door@flag:0.5", 0.2)):
            sequence = 0
            for tick in range(ends):
                if random.random() < rate:
                    stamp, value = tick * period + random.uniform(-0.4, 0.4), random.choice([0.0, 0.25, 0.5, 1.0])
                    arrival = 1e9 + stamp + offset + random.uniform(0.0, LATENESS / 2)
                    sent.append((arrival, node, stamp, value, sequence, channel))
                    sequence += 1
    return sorted(sent)


def clocks(first, last):
    """Silence that is proved every second, a moment after."""
    return [(1e9 + second + 0.1, clock_record(1e9 + second)) for second in range(first, last)]


def records_of(sent):
    return [(arrival, message(node, *rest, arrival)) for arrival, node, *rest in sent]


def in_order(events):
    return [record for _, record in sorted(events, key=lambda event: event[0])]


def decisions_of(core, records, streams=None):
    """Return the decisions of streams, by stream and episode."""
    made = [decision for record in records for decision in core.take([record]).decisions]
    made += core.finish().decisions
    made.sort(key=attrgetter("stream", "episode"))
    return [decision.to_json() for decision in made if streams is None or decision.stream in streams]


WILD = (0.0, 1.0, -3.0, 60.0, 9000.0, -9000.0, 3e8, -2e9, 4e9)


def disturbances(random, nodes, n=60):
    """What nodes may send: any stamp, chained jumps, constant offsets, nothing readable."""
    stamp, events = random.choice(WILD), []
    for _ in range(n):
        node, arrival = random.choice(nodes), 1e9 + random.uniform(0.0, 60.0)
        chained = stamp + random.choice([1.0, *WILD])
        stamp = random.choice([chained, arrival - 1e9, random.uniform(-1e3, 1e4)])
        sequence = random.choice([None, 0, random.randint(0, 2**40)])
        value = random.choice([0.0, 1.0, -1e300])
        channel = random.choice(COLUMNS["alone"])
        stamped = min(max(stamp, 0.0), 4e9)
        record = message(node, stamped, value, sequence, channel, arrival)
        events.append((arrival, record if random.random() < 0.9 else raw(record.topic, b"{", arrival)))
    return events


@pytest.mark.parametrize("kind", COLUMNS)
@given(SEEDS, st.sampled_from([None, 4.0]))
@settings(max_examples=15)
def test_no_node_changes_a_decision_of_a_stream_that_it_does_not_feed(kind, seed, reopen_after):
    random = Random(seed)  # noqa: S311 - no secret
    undisturbed = records_of(fleet(random)) + clocks(0, 60)
    strange = random.sample(NODES, random.choice([1, 1, 2]))
    honest = {name for name, pair in PAIRS.items() if not set(pair.values()) & set(strange)}
    if kind == "alone":
        honest = set(NODES) - set(strange)
    disturbed = [*undisturbed, *disturbances(random, strange)]
    found = [
        decisions_of(begun(kind, reopen_after=reopen_after), in_order(events), honest)
        for events in (undisturbed, disturbed)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", COLUMNS)
@given(SEEDS)
@settings(max_examples=15)
def test_a_stall_is_not_silence(kind, seed):
    """Messages wait, and come together; meanwhile no silence is proved.

    Two stalls make delays of up to 80 s, so that silence may have to last for twice that.
    """
    random = Random(seed)  # noqa: S311 - no secret
    usual = records_of(fleet(random)) + clocks(0, 400)
    stalled = usual
    for _ in range(2):
        begin = 1e9 + random.uniform(0.0, 50.0)
        end = begin + random.uniform(0.0, 40.0)
        stalled = [held_back(*event, begin, end) for event in stalled]
    late = [event for event in stalled if event is not None]
    found = [decisions_of(begun(kind), in_order(events)) for events in (usual, late)]
    assert found[0] == found[1]


def held_back(arrival, record, begin, end):
    """Return when a record comes if nothing does between begin and end; meanwhile no silence is proved."""
    if not begin <= arrival < end:
        return arrival, record
    if record.kind == MESSAGE:
        return end, record._replace(arrival=end)
    return end, clock_record(begin - 1.0)


STEPS = (0.0, 1e-3, 60.0, -60.0, 3600.0, -3600.0, 3e7, -3e7, 3e8, -3e8)


@pytest.mark.parametrize("kind", COLUMNS)
@given(SEEDS, st.sampled_from([None, 4.0]))
@settings(max_examples=15)
def test_no_step_of_the_gateways_clock_changes_a_decision(kind, seed, reopen_after):
    """While a gateway runs its clock does not step; from one run to the next it may, by minutes and years."""
    random = Random(seed)  # noqa: S311 - no secret
    events = sorted(records_of(fleet(random)) + clocks(0, 400), key=itemgetter(0))
    starts = sorted(random.sample(range(len(events)), random.choice([1, 3])))
    found = []
    for steps in ([], [0.0] * len(starts), [random.choice(STEPS) for _ in starts]):
        core = begun(kind, reopen_after=reopen_after)
        of_runs = dict(zip(starts, steps, strict=False))
        found.append(decisions_of(core, with_restarts(events, of_runs, core.procedure.digest)))
    assert found[0] == found[1] == found[2]


def with_restarts(events, steps, digest):
    """Return the records of runs; before those that begin a further run the clock is set by some seconds."""
    records, offset = [], 0.0
    for number, (time, record) in enumerate(events):
        if number in steps:
            offset += steps[number]
            records.append(start_record(digest, time + offset))
        records.append(record._replace(arrival=record.arrival + offset))
    return records


@pytest.mark.parametrize("pause", [60.0, 3e7])
@pytest.mark.parametrize("column", ["x", "door@flag:0.5"])
def test_a_pause_gives_a_node_without_stamps_no_ticks(column, pause):
    """Its time is the gateway's, which may have been set meanwhile; what had come before is decided on."""
    found = []
    for step in (0.0, pause):
        core, records = begun_with(column), []
        for second in range(60):
            now = 1e9 + second + (step if second >= 30 else 0.0)
            records += [start_record(core.procedure.digest, now)] if second == 30 else []
            records += [message("n0", None, 0.5, None, column, now + 0.3), clock_record(now + 0.4)]
        decisions = core.take(records).decisions
        found.append([(decision.tick, decision.reason) for decision in decisions])
        assert core.counters["late"] == core.counters["skipped"] == 0
    assert len(found[0]) == 7
    assert found[0] == found[1]


def begun_with(column):
    """Return a core that follows one node with one column, and never becomes sure."""
    models = Models(channels_procedure(column, threshold=0.537, time_limit=6))
    return new_core(models, Bindings.single((column,), ["n0"]), lateness=LATENESS, reopen_after=2.0)[0]


def test_one_stamp_of_the_future_costs_no_more_than_its_reading():
    core = begun("alone", ["n0"])
    stamps = [*range(6), 90_000, *range(6, 12)]
    core.take([message("n0", float(stamp), 0.0, i, arrival=1e9 + i) for i, stamp in enumerate(stamps)])
    assert (core.counters["future"], core.counters["late"]) == (1, 0)


@pytest.mark.parametrize("apart", [None, 0.0, 0.01])
def test_stamps_of_the_future_are_believed_once_three_samples_agree(apart):
    """Whether a sample is one message, or two that come at once or soon after another."""
    core, channels = begun("alone", ["n0"]), ("x",) if apart is None else ("x", "door@flag:0.5")
    stamps = [*range(6), *range(90_000, 90_006)]
    core.take(
        message("n0", float(stamp), 0.0, i, channel, 1e9 + i + (apart or 0.0) * k)
        for i, stamp in enumerate(stamps)
        for k, channel in enumerate(channels)
    )
    assert (core.counters["future"], core.counters["late"]) == (2 * len(channels), 0)
    assert core.joiner.streams["time"][0] == 90_005.0


@pytest.mark.parametrize("interval", [1, 60])
def test_a_node_is_waited_for_as_long_as_its_delays_suggest(interval):
    """A prompt node is not waited for beyond a tick; one that sends batches is waited for a batch or two."""
    core, last = begun("alone", ["n0"]), 1e9
    for k in range(20):
        last = 1e9 + (k + 1) * interval
        stamps = range(k * interval, (k + 1) * interval)
        core.take([message("n0", float(stamp), 0.0, stamp, arrival=last) for stamp in stamps])
    newest = 20 * interval - 1.0
    for waited, is_due in ((max(1.0, 2.0 * (interval - 1)), False), (2.0 * interval, True)):
        core.take([clock_record(last + waited)])
        assert (core.joiner.streams["time"][0] > newest) == is_due


@pytest.mark.parametrize(("back", "apart"), [(30.0, 0.0), (3600.0, 0.01), (3e8, 0.0), (3e8, 0.01)])
def test_a_clock_that_is_set_back_costs_two_samples(back, apart):
    """The stream goes on in its own time, and its decisions are in the time of the node."""
    core = begun("alone", ["n0"], reopen_after=1.0)
    stamps = [3e8 + tick - back * (tick >= 10) for tick in range(30)]
    decisions = core.take(
        message("n0", stamp, 0.0, i, channel, 1e9 + i + apart * k)
        for i, stamp in enumerate(stamps)
        for k, channel in enumerate(("x", "door@flag:0.5"))
    ).decisions
    assert (core.counters["shifted"], core.counters["late"]) == (1, 2 * 2)
    assert [decision.reason for decision in decisions] == ["timeout"] * 2
    assert [decision.time - 3e8 for decision in decisions] == [8.0, 20.0 - back]


@pytest.mark.parametrize("ahead", [3600.0, -3600.0, 1e8, 15.0, 5.0])
def test_a_pair_whose_clocks_differ_is_decided_in_the_time_of_its_first_node(ahead):
    """Up to ten ticks it waits for the node that is behind, and beyond that it is shifted onto the other."""
    core, n_ticks = begun("paired", ["n0", "n1"], reopen_after=3.0), 60
    by_stamp = []
    for tick in range(n_ticks):
        arrival = 1e9 + tick
        records = [
            message("n0", 2e8 + tick, float(tick % 2), tick, "x", arrival),
            message("n1", 2e8 + ahead + tick, float(tick % 2), tick, "x", arrival),
            message("n1", 2e8 + ahead + tick, 1.0, tick, "door@flag:0.5", arrival),
        ]
        by_stamp += [decision for decision in core.take(records).decisions if decision.stream == "p"]
    is_far = abs(ahead) > 10.0
    assert core.counters["aligned"] == is_far
    late = core.joiner.streams["time"][0] - (2e8 + n_ticks - 1)
    assert late == (0.0 if is_far else min(ahead, 0.0))
    shown = core.joiner.cells["value"][:3].tolist()
    assert shown[0] == shown[1] if is_far else shown[2] == 1.0
    assert by_stamp
    assert 2e8 + 10 < by_stamp[-1].time < 2e8 + n_ticks


def test_a_node_of_a_pair_that_sends_what_it_has_kept_is_waited_for():
    core = begun("paired", ["n0", "n1"])
    for tick in range(200):
        core.take([message("n0", 2e8 + tick, 0.0, tick, "x", 1e9 + tick)])
        if tick < 20 or tick >= 150:  # ten a tick, until it has caught up
            first = tick if tick < 20 else 20 + 10 * (tick - 150)
            stamps = range(first, min(first + (1 if tick < 20 else 10), tick + 1))
            of_tick = [message("n1", 2e8 + at, 0.0, at, "x", 1e9 + tick + (at - first) / 20) for at in stamps]
            core.take(of_tick or [message("n1", 2e8 + tick, 0.0, tick, "x", 1e9 + tick)])
    assert (core.counters["aligned"], core.counters["late"]) == (0, 0)
    assert core.joiner.streams["time"][0] == 2e8 + 199


def test_old_readings_that_come_at_once_set_no_clock_back():
    core = begun("alone", ["n0"])
    core.take([message("n0", float(tick), 0.0, tick, "x", 1e9 + tick) for tick in range(100)])
    core.take([message("n0", float(tick), 0.0, 1000 + tick, "x", 1e9 + 100 + tick / 100) for tick in range(50)])
    assert (core.counters["shifted"], core.counters["late"]) == (0, 50)


def test_clocks_that_are_wrong_are_named_with_what_to_do():
    core = begun("alone")
    for node, ahead in (("n0", 0.0), ("n1", 7200.0), ("n2", -100.0), ("n3", 0.0)):
        stamps = [1e9 + ahead + tick for tick in range(20)]
        if node == "n3":
            stamps[12] += 1e6
        core.take([message(node, stamp, 0.0, i, arrival=1e9 + i) for i, stamp in enumerate(stamps)])
    core.take([message("n0", 1e9 + tick - 50.0, 0.0, tick, arrival=1e9 + tick) for tick in range(20, 30)])
    warnings = clock_warnings(core.clocks_astray(1e9 + 60.0), 0.0)
    assert warnings == [
        "the clock of n1 is 7200 s ahead, near a whole hour or a part of it: set its time_zone",
        "the clock of n2 is 100 s behind; set it",
        "the clock of n0 was set back by 50 s; its streams go on, and their decisions have its time",
        "1 readings of n3 were left out: far ahead of its others; look at its clock",
    ]
    assert clock_warnings(core.clocks_astray(1e9 + 9000.0), 0.0) == warnings[:3], "an old stamp is forgotten"
    (of_gateway,) = clock_warnings([], -3600.0)
    assert of_gateway.startswith("the wall clock was set by -3600 s while the gateway ran")


def test_a_stream_that_has_ended_is_labelled_in_silence_as_streams_that_last_are():
    procedure = replace(channels_procedure("light"), stopping=TickThresholds((4,), (0.0,)))
    core, _ = new_core(Models(procedure), Bindings.single(["light"], ["n1"]), lateness=0.0)
    core.take([message("n1", 0.0, 0.9, channel="light")])
    (online,) = core.take([clock_record(30.0)]).decisions
    walks = StreamSet(np.full((2, 6, 1), 0.9), ["on", "on"], ["light"], lengths=[1, 6])
    closed, waited = (evaluate(procedure, each).decisions[0] for each in (walks, walks.lasting()))
    assert (closed.label, waited.label, waited.tick) == (None, online.label, online.tick)
