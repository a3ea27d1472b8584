"""The committer: what it says is durable is, whatever the disk does, and the loop never waits for it."""

import logging
import random
import resource
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing, contextmanager
from threading import Event, current_thread
from threading import enumerate as threads

import pytest

from streamfs.errors import StateError, StorageError
from streamfs.gateway.core.records import Record
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.storage.committer import Commit, Committer
from streamfs.gateway.storage.journal import Entry, Journal
from streamfs.gateway.storage.log import Log
from streamfs.gateway.storage.state import State

PATIENCE = 30  # seconds until a test gives up
RETRY = (0.001, 0.01)


def records(first, n=3, n_bytes=4):
    return [
        Record(0, float(i), f"sensors/n{i}/light", b"%04d" % i * (n_bytes // 4)) for i in range(first, first + n)
    ]


def entry(**changes):
    return Entry(**({"publications": [Publication("streamfs/decision/n1", b"{}")]} | changes))


class SlowLog(Log):
    """A log whose sync blocks until it is released."""

    def __init__(self, folder):
        super().__init__(folder)
        self.is_syncing, self.may_sync = Event(), Event()

    def sync(self):
        self.is_syncing.set()
        assert self.may_sync.wait(PATIENCE)
        super().sync()


class Faulty:
    """What a step of a log or a journal does: it notes when it is called, and raises the errors that wait."""

    def __init__(self):
        self.calls, self.errors, self.has_failed = [], [], Event()

    def __call__(self, name):
        self.calls.append(name)
        if self.errors and self.errors[0][0] == name:
            error = self.errors.pop(0)[1]
            self.has_failed.set()
            raise error


class FaultyLog(Log):
    def __init__(self, folder, step, **options):
        super().__init__(folder, **options)
        self.step = step

    def append(self, records):
        self.step("append")
        return super().append(records)

    def sync(self):
        self.step("sync")
        super().sync()

    def release(self, position):
        self.step("release")
        super().release(position)


class FaultyJournal(Journal):
    def __init__(self, path, step):
        super().__init__(path)
        self.step = step

    def commit(self, entry):
        entry.packed_snapshot()  # as a commit does that fails late
        self.step("commit")
        return super().commit(entry)


class Loop:
    """What a gateway's loop does with a committer."""

    def __init__(self, log, journal):
        self.log, self.journal = log, journal
        self.woken = Event()
        self.committer = Committer(log, journal, self.woken.set, retry=RETRY)

    def done(self):
        assert self.woken.wait(PATIENCE)
        self.woken.clear()
        return self.committer.done()

    def commit(self, *commit):
        self.committer.submit(Commit(*commit))
        (done,) = self.done()
        return done


@contextmanager
def looping(log, journal):
    with closing(log), journal:
        loop = Loop(log, journal)
        yield loop
        loop.committer.stop(PATIENCE)
    assert not [thread for thread in threads() if thread.name == "committer"]


@pytest.fixture
def step():
    return Faulty()


@pytest.fixture
def loop(tmp_path, step):
    """Return a loop whose disk fails on demand."""
    log = FaultyLog(tmp_path, step, segment_bytes=200)
    with looping(log, FaultyJournal(tmp_path / "journal.sqlite", step)) as loop:
        yield loop


def test_a_commit_is_done_when_it_is_in_log_and_journal(loop, step):
    commit = Commit(records(0), 2, entry())
    assert loop.commit(*commit) == (2, [1], commit)
    assert step.calls == ["append", "sync", "commit"]
    assert (loop.log.end, loop.journal.position) == (3, 3)
    assert loop.commit([], 1, entry()).numbers == [2]
    assert loop.journal.position == 3
    assert loop.committer.counters == Counter(commits=2, committed_records=3)
    assert loop.committer.fsync_seconds > 0
    assert loop.committer.is_storing


def test_an_entry_with_nothing_in_it_leaves_the_journal_alone(loop, step):
    assert loop.commit(records(0), 3, Entry()).numbers == []
    assert step.calls == ["append", "sync"]
    assert (loop.log.end, loop.journal.position) == (3, 0)


def test_the_loop_goes_on_while_the_disk_is_slow(tmp_path):
    log = SlowLog(tmp_path)
    with looping(log, Journal(tmp_path / "journal.sqlite")) as loop:
        loop.committer.submit(Commit(records(0), 3, entry()))
        assert log.is_syncing.wait(PATIENCE)
        assert loop.committer.is_busy
        assert loop.committer.done() == []
        assert loop.journal.position == 0
        with pytest.raises(ValueError, match="the committer is busy, expected an idle one"):
            loop.committer.submit(Commit([], 0, Entry()))
        log.may_sync.set()
        assert [done.n_messages for done in loop.done()] == [3]
        assert not loop.committer.is_busy


@pytest.mark.parametrize(
    ("failing", "calls"),
    [
        ("append", ["append", "append", "append", "sync", "commit"]),
        ("sync", ["append", "sync", "sync", "sync", "commit"]),
        ("commit", ["append", "sync", "commit", "commit", "commit"]),
    ],
)
def test_a_step_that_fails_is_repeated_and_no_other(loop, step, caplog, failing, calls):
    step.errors = [(failing, StorageError("the disk is full"))] * 2
    loop.committer.submit(Commit(records(0), 3, entry()))
    assert step.has_failed.wait(PATIENCE)
    assert [done.numbers for done in loop.done()] == [[1]]
    assert step.calls == calls
    assert [record for _, record in loop.log.read()] == records(0)
    assert loop.committer.counters["commit_failures"] == 2
    assert loop.committer.is_storing
    assert [told.levelno for told in caplog.records] == [logging.ERROR]
    assert "the disk is full (retried until it succeeds" in caplog.text


def test_each_distinct_error_is_logged_once(loop, step, caplog):
    for text in ("full", "failing", "full"):
        step.errors = [("sync", StorageError(text))]
        loop.commit(records(loop.log.end), 1, entry())
    assert [told.args[0] for told in caplog.records] == ["full", "failing"]


def test_it_is_not_storing_while_the_disk_fails(loop, step):
    forever = [("commit", StorageError("full"))] * 10_000
    step.errors = forever
    loop.committer.submit(Commit(records(0), 3, entry()))
    assert step.has_failed.wait(PATIENCE)
    assert (loop.committer.is_storing, loop.committer.is_busy, loop.committer.done()) == (False, True, [])
    forever.clear()
    assert len(loop.done()) == 1
    assert loop.committer.is_storing


def test_a_snapshot_is_packed_once_and_not_in_the_loop(loop, step):
    packed_in = []

    def pack():
        packed_in.append(current_thread().name)
        return b"state"

    step.errors = [("commit", StorageError("full"))]
    commit = Commit(records(0), 3, entry(snapshot=pack))
    assert loop.commit(*commit).commit == commit
    assert packed_in == ["committer"]
    assert list(loop.journal.snapshots()) == [(3, b"state")]


def test_the_log_lets_go_of_what_no_snapshot_needs(loop, step):
    for i in range(4):
        loop.commit(records(3 * i), 3, entry(snapshot=b"state"))
    assert loop.committer.stop(PATIENCE)
    assert step.calls.count("release") == 4
    assert loop.log.start == loop.journal.oldest_snapshot_position == 9


def test_a_release_that_fails_is_counted_and_made_up_for(loop, step, caplog):
    step.errors = [("release", StorageError("the spool is full"))] * 3
    for i in range(3):
        loop.commit(records(3 * i), 3, entry(snapshot=b"state"))
    loop.commit(records(9), 3, entry())
    assert loop.log.start == 0
    assert loop.committer.counters["release_failures"] == 3
    assert loop.committer.is_storing
    assert caplog.text.count("the spool is full") == 1
    loop.commit(records(12), 3, entry(snapshot=b"state"))
    assert loop.committer.stop(PATIENCE)
    assert loop.log.start == 9


def test_any_other_error_comes_out_in_the_loop(loop, step):
    step.errors = [("commit", StateError("the journal is damaged"))]
    loop.committer.submit(Commit(records(0), 3, entry()))
    for _ in range(2):
        loop.woken.wait(PATIENCE)
        with pytest.raises(StateError, match="the journal is damaged"):
            loop.committer.done()
    assert not loop.committer.is_storing
    with pytest.raises(ValueError, match="busy"):
        loop.committer.submit(Commit([], 0, Entry()))
    assert not loop.committer.stop(PATIENCE)


def test_an_error_does_not_swallow_what_was_done_before(loop, step):
    step.errors = [("release", RuntimeError("unheard of"))]
    loop.committer.submit(Commit(records(0), 3, entry(snapshot=b"state")))
    assert loop.woken.wait(PATIENCE)
    loop.committer._thread.join(PATIENCE)
    assert [done.n_messages for done in loop.committer.done()] == [3]
    with pytest.raises(RuntimeError, match="unheard of"):
        loop.committer.done()


def test_stopping_waits_for_the_commit_under_way(tmp_path):
    log = SlowLog(tmp_path)
    with looping(log, Journal(tmp_path / "journal.sqlite")) as loop:
        loop.committer.submit(Commit(records(0), 3, entry()))
        assert not loop.committer.stop(0.01)
        log.may_sync.set()
        assert [done.n_messages for done in loop.done()] == [3]
        assert loop.committer.stop(PATIENCE)
        with pytest.raises(ValueError, match="the committer is stopped"):
            loop.committer.submit(Commit([], 0, Entry()))


def test_stopping_waits_for_a_disk_that_recovers(loop, step):
    step.errors = [("commit", StorageError("full"))] * 5
    loop.committer.submit(Commit(records(0), 3, entry()))
    assert loop.committer.stop(PATIENCE)
    assert [done.n_messages for done in loop.done()] == [3]


def test_stopping_gives_up_a_disk_that_stays_full(loop, step):
    step.errors = [("commit", StorageError("full"))] * 10_000_000
    loop.committer.submit(Commit(records(0), 3, entry()))
    assert step.has_failed.wait(PATIENCE)
    assert not loop.committer.stop(0.05)
    loop.committer._thread.join(PATIENCE)
    assert not loop.committer._thread.is_alive()
    assert loop.committer.done() == []
    assert [record for _, record in loop.log.read()] == records(0)


def test_retries_must_be_possible(tmp_path):
    with closing(Log(tmp_path)) as log, Journal(tmp_path / "journal.sqlite") as journal:
        for retry in ((0, 1), (2, 1)):
            with pytest.raises(ValueError, match="expected two rising numbers of seconds"):
                Committer(log, journal, Event().set, retry=retry)


def test_a_full_disk_delays_and_loses_nothing(tmp_path):
    class Watched(Log):
        has_failed = Event()

        def append(self, records):
            try:
                return super().append(records)
            except StorageError:
                self.has_failed.set()
                raise

    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    log = Watched(tmp_path)
    with looping(log, Journal(tmp_path / "journal.sqlite")) as loop:
        loop.commit(records(0, 100, 1000), 100, entry())
        resource.setrlimit(resource.RLIMIT_FSIZE, (log.n_bytes + 5000, old[1]))
        try:
            loop.committer.submit(Commit(records(100, 100, 1000), 100, entry()))
            assert log.has_failed.wait(PATIENCE)
            assert loop.committer.done() == []
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)
        assert [done.n_messages for done in loop.done()] == [100]
        assert [record for _, record in log.read()] == records(0, 200, 1000)
        assert (loop.journal.position, loop.journal.count("outbox")) == (200, 2)


# A gateway in little: each record whose number is a multiple of 5 makes a decision. It goes on where it stopped.
GATEWAY = """
import random, sys
from threading import Event
from streamfs.gateway.storage.committer import Commit, Committer
from streamfs.gateway.storage.journal import Entry
from streamfs.gateway.storage.log import Record
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.storage.state import State
from streamfs.procedure.procedure import Decision

def effects(numbers):
    made = [i for i in numbers if i % 5 == 0]
    decisions = [Decision(f"n{i}", 1, "walk", 0.9, 1, 1.0, "confident", float(i)) for i in made]
    return Entry(decisions=decisions, publications=[Publication(f"decision/n{i}", b"{}") for i in made])

random.seed(sys.argv[2])
with State(sys.argv[1], segment_bytes=5000) as state:
    woken = Event()
    committer = Committer(state.log, state.journal, woken.set)
    first = state.log.end
    entry = effects(range(state.journal.position, first))
    while True:
        last = first + random.randrange(1, 40)
        new = effects(range(first, last))
        entry.decisions += new.decisions
        entry.publications += new.publications
        entry.snapshot = b"%d" % last if random.random() < 0.2 else None
        records = [Record(0, float(i), "number", b"%d" % i) for i in range(first, last)]
        committer.submit(Commit(records, 1, entry))
        woken.wait()
        woken.clear()
        for done in committer.done():
            print(last, flush=True)
        first, entry = last, Entry()
"""


def test_what_was_announced_survives_any_number_of_kills(tmp_path):
    moments = random.Random(4)  # noqa: S311 - seeded
    announced = 0
    for seed in range(10):
        words = [sys.executable, "-c", GATEWAY, tmp_path, str(seed)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            told = [process.stdout.readline() for _ in range(moments.randrange(1, 60))]
            process.send_signal(signal.SIGKILL)
            told += process.stdout
        announced = max(announced, *(int(line) for line in told if line.endswith("\n")))
        check_agreement(tmp_path, announced)
    assert announced > 1000


def check_agreement(folder, announced):
    """Check that log and journal hold what was announced, and each decision once."""
    with State(folder, segment_bytes=5000) as state:
        log, journal = state.log, state.journal
        assert max(announced, journal.position) <= log.end
        assert log.start <= journal.oldest_snapshot_position <= journal.position
        numbers = range(log.start, log.end)
        assert [(position, record.payload) for position, record in log.read(log.start)] == [
            (number + 1, b"%d" % number) for number in numbers
        ]
        made = [row["stream"] for row in journal.decisions()]
        assert made == [f"n{number}" for number in range(0, max(announced, journal.position), 5)]
        published = [publication.topic for _, publication in journal.outbox(limit=10**9)]
        assert published == [f"decision/{stream}" for stream in made]
        assert all(state == b"%d" % position for position, state in journal.snapshots())
