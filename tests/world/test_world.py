"""Simulated worlds: what nothing may go wrong in, and that what does is noticed and made small."""

import ast
import pickle
from collections import Counter
from itertools import groupby, pairwise

import numpy as np
import orjson
import pytest
import simulated_broker
from campaign import Report, campaign, simulator, smallest
from checks import problems_of
from devices import device_bindings
from fault import Fault
from ledger import next_seed, note, noted
from planted import BUGS, ROOT
from planted import GATEWAY as FILES
from scenario import HOSTILE, LATENESS, NODES, WALL, Scenario, Sent, bindings, draw
from world import World, run, seams

from streamfs.gateway.core.records import CLOCK, START
from streamfs.gateway.storage import log
from streamfs.gateway.storage.committer import Committer
from streamfs.gateway.storage.log import Log

GATEWAY = ROOT / FILES


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 80, 20))
def test_nothing_goes_wrong(first):
    (report,) = campaign(first, 20, 1e9, 1)
    assert report.wrong == []


def test_a_world_always_goes_the_same_way(tmp_path, monkeypatch):
    """Also as the first of a process, and in one whose number, which is in the lock, has more digits."""
    scenario = draw(20)
    for cached in (bindings, device_bindings):
        cached.cache_clear()
    one = run(scenario, tmp_path / "world")
    monkeypatch.setattr(log, "getpid", lambda: 4_194_303)
    other = run(scenario, tmp_path / "world")
    assert one.n_lives > 1
    assert pickle.dumps(one.devices) == pickle.dumps(other.devices)  # which have no equality
    assert one == other._replace(devices=one.devices)


def test_a_world_that_goes_wrong_is_made_small(monkeypatch):
    def forget(log):
        log._unsynced.clear()
        log._synced = log.end

    monkeypatch.setattr(Log, "sync", forget)
    with simulator() as simulate:
        seed = next(seed for seed in range(50) if simulate(draw(seed))[1])
    scenario, problems = smallest(seed)
    assert problems
    assert "power" in {fault.kind for fault in scenario.faults}
    assert len(scenario.messages) < len(draw(seed).messages)


def test_a_campaign_goes_on_where_its_ledger_ends(tmp_path):
    ledger, wrong = tmp_path / "worlds.jsonl", [(7, {"die", "cut"}, ["lost: a message"])]
    assert next_seed(ledger) == 0
    reports = [Report(0, 5, Counter(die=3), 2, 0.25, []), Report(5, 5, Counter(cut=1, die=2), 1, 0.5, wrong)]
    for report in reports:
        note(ledger, "these", report)
    assert [*noted(ledger)] == [("these", report) for report in reports]
    assert next_seed(ledger) == 10


def test_without_messages_a_gateway_commits_at_most_once_a_second(tmp_path, monkeypatch):
    """Also at the first start, whatever the broker confirms meanwhile, and where two answers come at once."""
    faults = Fault("lag", 6.0, 9.0, 0.45), Fault("stall", 12.0, 14.5), Fault("lag", 18.0, 19.0, 0.9)
    reading = Sent(3.0, "sensors/n0/x", orjson.dumps({"t": WALL + 3, "v": 0.25}), 1)
    commits = {"messages": 9, "seconds": 0.02, "snapshot_seconds": 1e9, "segment_bytes": 9000, "max_queue": 9}
    options = {"lateness": LATENESS, "grace": None, "reopen_after": None}
    scenario = Scenario(0, "alone", options, commits, 20, (reading,), faults, is_mirrored=False)
    times, committed, submit = [], set(), Committer.submit

    def note(committer, commit):
        if commit.n_messages == 0 and world.timeline.now < scenario.end:
            times.append(world.timeline.now)
            committed.update(record.kind for record in commit.records)
            committed.update("confirmed" for _ in commit.entry.confirmed)
        submit(committer, commit)

    monkeypatch.setattr(Committer, "submit", note)
    monkeypatch.setattr(simulated_broker, "LONGEST", 0.0)  # it looks as often as a real one
    world = World(scenario, tmp_path)
    with seams(world):
        world.run()
    assert committed == {START, CLOCK, "confirmed"}
    assert min(after - before for before, after in pairwise(times)) >= 1.0


@pytest.mark.parametrize("begin", np.linspace(7.2, 8.2, 6))
def test_control_is_published_again_where_the_answer_to_a_connection_is_lost(tmp_path, begin):
    """The broker has forgotten everything, and says with the next connection that the session was there."""
    faults = Fault("forget", 6.0), Fault("lag", 6.0, 10.0, 0.5), Fault("stall", begin, 12.0, 1.0)
    unheard = Sent(7.0, f"sensors/{HOSTILE}/x", b"", 0)
    commits = {"messages": 9, "seconds": 0.02, "snapshot_seconds": 1e9, "segment_bytes": 9000, "max_queue": 9}
    options = {"lateness": LATENESS, "grace": None, "reopen_after": None}
    scenario = Scenario(0, "alone", options, commits, 20, (unheard,), faults, is_mirrored=False)
    outcome = run(scenario, tmp_path / "world")
    assert problems_of(scenario, outcome) == []
    *_, last = ([*each] for _, each in groupby(outcome.published, key=lambda each: each[0]))
    assert [said for _, said in last][: len(NODES)] == [said for _, said in outcome.published][: len(NODES)]


@pytest.mark.parametrize("seed", [21320, 26740, 115517, 142020])
def test_what_was_wrong_once_is_right(seed):
    with simulator() as simulate:
        assert simulate(draw(seed))[1] == []


def test_every_clock_of_the_gateway_is_simulated():
    """Who imports one is known to `world.seams`; the network is simulated as a whole, the view changes nothing.

    The simulated gateways are not divided, so that they neither look for others nor stand by for one.
    """
    importing = set()
    for path in GATEWAY.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if "time" in names:
                importing.add(path.relative_to(GATEWAY).as_posix())
    network = {path for path in importing if path.startswith("transport/") or path == "operations/web.py"}
    loop = {"batch", "commit_cycle", "dead_letters", "outbox", "redeliveries", "service", "storage/committer"}
    for_people = {"view_writer.py", "operations/actions.py"}
    divided = {"host.py", "standby.py", "statuses.py"}
    assert importing - network - for_people - divided == {f"{name}.py" for name in loop}


@pytest.mark.parametrize("bug", BUGS, ids=[bug.what for bug in BUGS])
def test_a_planted_bug_has_its_place(bug):
    assert (GATEWAY / bug.file).read_text(encoding="utf-8").count(bug.text) == 1
