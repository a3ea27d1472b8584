"""When batches are committed."""

import pytest
from helpers.records import ids, message

from streamfs.gateway import batch as batch_module
from streamfs.gateway.batch import CommitBatch
from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.options import Commits
from streamfs.gateway.messages.publication import Publication
from streamfs.procedure.procedure import Decision

NOTHING = Effects()
SAID = Effects(publications=[Publication("streamfs/control/n1", b"{}")])


class Clock:
    """A clock that is set by the test."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(batch_module, "monotonic", clock)
    return clock


def commit(batch, confirmed=()):
    return batch.commit(list(confirmed), lambda: lambda: b"state", lambda: [("n1", "x", 1, 0.0)])


def test_a_batch_is_due_some_time_after_its_first_message(clock):
    batch = CommitBatch(Commits(messages=10, seconds=0.5))
    assert batch.wait is None
    batch.add([message("n1", 0.0, 1.0)], 1, NOTHING)
    clock.now += 0.3
    batch.add([message("n1", 1.0, 1.0)], 1, NOTHING)
    assert batch.wait == pytest.approx(0.2)
    assert batch.oldest == 1000.0
    clock.now += 1.0
    assert batch.wait == 0.0


def test_a_batch_is_due_at_once_if_there_are_enough_messages(clock):
    batch = CommitBatch(Commits(messages=3, seconds=0.5))
    batch.add([], 2, NOTHING)  # messages that left no record are to be acknowledged too
    assert (len(batch), batch.wait) == (2, 0.5)
    batch.add([message("n1", 0.0, 1.0)], 1, NOTHING)
    assert (len(batch), batch.wait) == (3, 0.0)
    assert clock.now == 1000.0


def test_what_is_to_be_said_without_a_message_is_committed_too(clock):
    batch = CommitBatch(Commits(messages=3, seconds=0.5))
    batch.add([], 0, NOTHING)
    assert batch.wait is None
    batch.add([], 0, SAID)
    clock.now += 0.5
    assert batch.wait == 0.0
    assert batch.n_publications == 1


def test_a_commit_has_all_that_waited_and_the_next_begins_anew(clock):
    batch = CommitBatch(Commits(messages=3, seconds=0.5))
    decision = Decision("n1", 1, "on", 0.9, 2, 2.0, "confident", 1.0)
    records = [message("n1", 0.0, 1.0), message("n1", 1.0, 1.0)]
    batch.add(records[:1], 1, SAID)
    batch.add(records[1:], 2, Effects(decisions=[decision], energy=[{"kind": "decision"}]))
    done = commit(batch, [7])
    assert (done.records, done.n_messages, done.entry.confirmed) == (records, 3, [7])
    assert (ids(done.entry.decisions), done.entry.publications) == (["n1/1"], SAID.publications)
    assert (done.entry.energy, done.entry.snapshot) == ([{"kind": "decision"}], None)
    assert (len(batch), batch.wait, batch.oldest, batch.n_publications) == (0, None, None, 0)
    assert commit(batch).entry.is_empty
    assert SAID.publications == [Publication("streamfs/control/n1", b"{}")]
    assert clock.now == 1000.0


def test_now_and_then_the_whole_state_is_committed_if_it_has_changed(clock):
    batch = CommitBatch(Commits(snapshot_seconds=60.0))
    batch.add([message("n1", 0.0, 1.0)], 1, NOTHING)
    assert commit(batch).entry.snapshot is None
    clock.now += 60.0
    entry = commit(batch).entry  # of what has changed since the last snapshot, not since the last commit
    assert entry.packed_snapshot() == b"state"
    assert entry.marks == [("n1", "x", 1, 0.0)]
    clock.now += 60.0
    assert commit(batch).entry.snapshot is None
    batch.add([message("n1", 1.0, 1.0)], 1, NOTHING)
    assert commit(batch).entry.snapshot is not None


def test_a_snapshot_may_be_wanted_before_its_time(clock):
    batch = CommitBatch(Commits(snapshot_seconds=60.0))
    batch.add([message("n1", 0.0, 1.0)], 1, NOTHING)
    batch.want_snapshot()
    assert commit(batch).entry.snapshot is not None
    assert clock.now == 1000.0
