"""Link, broker, disk or gateway stand still while nodes go on: that is no silence, and changes no decision."""

import resource
import signal
import time
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from itertools import groupby
from random import Random
from typing import NamedTuple

import orjson
import pytest
from gateway_process import linux
from helpers.broker import Broker
from helpers.records import Models, new_core, raw
from survival import watched
from test_disk import fill_disk, limit_files
from traffic import START, Sent, pairs, procedure, stamp, traffic

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.records import clock_record

pytestmark = [pytest.mark.mqtt, linux]

PERIOD = 0.1  # seconds
PATIENT = {"lateness": 1.0, "overtaking": 1.0, "grace": 1.0}  # seconds: the test's own pauses are shorter
SETTINGS = {
    "time": PATIENT,
    "streams": {"reopen_after": None},
    "broker": {"receive_maximum": 1000},
    "limits": {"queue": 1000},
}
DECISIONS = {f"{stream}/1" for stream in pairs()}


@cache
def quick_model():
    return replace(procedure(), period=PERIOD)


class Stall(NamedTuple):
    """What stands still, and from when to when, in seconds since the first message."""

    what: str
    begin: float
    end: float


def quick_traffic():
    """Return the usual messages, in turn with a tick of `PERIOD`, by their times of sending."""
    sent = [Sent(topic, with_stamp(payload)) for topic, payload in traffic()]
    return [(time - START, list(of_tick)) for time, of_tick in groupby(sent, key=stamp)]


def with_stamp(payload):
    """Return a payload whose stamp is that of ticks of `PERIOD`."""
    reading = orjson.loads(payload)
    return orjson.dumps(reading | {"t": START + round((reading["t"] - START) * PERIOD, 6)})


def decide_live(folder, stalls, *sabotage):
    """Let nodes send in real time, with stalls; return the decisions, and what the gateway has counted."""
    with (
        Broker() as broker,
        watched(folder, broker, *sabotage, model=quick_model(), **SETTINGS) as parts,
        ExitStack() as exits,
    ):
        network, gateway, publisher, witness = parts
        exits.callback(broker.resume)  # else it could not end
        ways = {
            "link": (network.stall, network.resume),
            "broker": (broker.suspend, broker.resume),
            "disk": (lambda: fill_disk(gateway), lambda: limit_files(gateway, resource.RLIM_INFINITY)),
            "gateway": (lambda: gateway.signal(signal.SIGSTOP), lambda: gateway.signal(signal.SIGCONT)),
        }
        events = [(due, lambda sent=sent: publisher.send(sent)) for due, sent in quick_traffic()]
        for what, *times in stalls:
            events += zip(times, ways[what], strict=True)
        begun = time.monotonic()
        for due, act in sorted(events, key=lambda event: event[0]):
            time.sleep(max(0.0, begun + due - time.monotonic()))
            act()
        witness.await_decisions(DECISIONS)
        gateway.stop()
        decisions = {name: orjson.loads(payloads[0]) for name, payloads in witness.decisions.items()}
    return decisions, gateway.counters


@cache
def unstalled():
    """Return the decisions if every message arrives as it is sent, the last of them by silence."""
    model = quick_model()
    core, _ = new_core(Models(model), Bindings.pairs(model.channels, pairs()), reopen_after=None, **PATIENT)
    records = [raw(sent.topic, sent.payload, START + due) for due, tick in quick_traffic() for sent in tick]
    decisions = core.take([*records, clock_record(records[-1].arrival + 100.0)]).decisions
    return {each["id"]: each for each in (decision.to_json() for decision in decisions)}


@pytest.mark.parametrize("what", ["link", "broker", "disk", "gateway"])
def test_what_stands_still_for_a_while_changes_no_decision(tmp_path, what):
    decisions, counters = decide_live(tmp_path, [Stall(what, 1.5, 3.5)])
    assert decisions == unstalled()
    assert counters["late"] == 0


def test_a_disk_that_is_slow_changes_no_decision(tmp_path):
    decisions, counters = decide_live(tmp_path, [], "sync", 1.5)
    assert decisions == unstalled()
    assert counters["late"] == 0


@pytest.mark.parametrize("seed", range(2))
def test_stalls_that_overlap_change_no_decision(tmp_path, seed):
    random = Random(seed)  # noqa: S311 - no secret
    stalls = []
    for what in random.sample(["link", "broker", "disk", "gateway"], 3):
        begin = random.uniform(0.5, 4.0)
        stalls.append(Stall(what, begin, begin + random.uniform(1.0, 2.5)))
    decisions, counters = decide_live(tmp_path, stalls)
    assert decisions == unstalled(), stalls
    assert counters["late"] == 0
