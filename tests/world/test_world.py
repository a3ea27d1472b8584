"""Simulated worlds: what nothing may go wrong in, and that what does is noticed and made small."""

import ast
from collections import Counter

import pytest
from campaign import Report, campaign, simulator, smallest
from ledger import next_seed, note, noted
from planted import BUGS, ROOT
from planted import GATEWAY as FILES
from scenario import draw
from world import run

from streamfs.gateway.storage.log import Log

GATEWAY = ROOT / FILES


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 80, 20))
def test_nothing_goes_wrong(first):
    (report,) = campaign(first, 20, 1e9, 1)
    assert report.wrong == []


def test_a_world_always_goes_the_same_way(tmp_path):
    scenario = draw(4)
    one, other = (run(scenario, tmp_path / "world") for _ in range(2))
    assert one.n_lives > 1
    assert one == other


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
