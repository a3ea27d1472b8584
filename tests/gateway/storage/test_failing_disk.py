"""A log on a disk that is full or fails."""

import errno
import os
import shutil
import subprocess
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from logs import RECORDS, append_each, contents, file_limit, filled, record

from streamfs.errors import StorageError
from streamfs.gateway.storage import log as log_module
from streamfs.gateway.storage.frames import pack_frame
from streamfs.gateway.storage.log import Log, read_segment
from streamfs.gateway.storage.segment import Segment, segments


@pytest.mark.parametrize("limit", [30, 400, 700])
def test_a_file_that_may_not_grow_keeps_what_was_whole(tmp_path, limit):
    records = [record(i) for i in range(30)]
    with closing(Log(tmp_path)) as log:
        with file_limit(limit), pytest.raises(StorageError, match="cannot be written: File too large"):
            append_each(log, records)
        n_stored = log.end
        assert n_stored < len(records)
        log.append(records[n_stored:])
        log.sync()
        assert [record for _, record in log.read()] == records
    assert contents(tmp_path) == records


@pytest.fixture
def small_disk(tmp_path):
    """Mount a disk of 256 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    words = [mount, "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder]
    if None in (mount, umount) or subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run([umount, folder], check=True)


def test_a_full_disk_keeps_what_was_whole_and_goes_on_when_there_is_room(small_disk):
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(200_000))
    records = [record(i, 300) for i in range(200)]
    with closing(Log(small_disk / "log", segment_bytes=20_000)) as log:
        with pytest.raises(StorageError, match="No space left on device"):
            append_each(log, records)
        n_stored = log.end
        with pytest.raises(StorageError, match="No space left on device"):
            log.append(records[n_stored:])
        assert [record for _, record in log.read()] == records[:n_stored]
        ballast.unlink()
        log.append(records[n_stored:])
        log.sync()
    assert contents(small_disk / "log") == records


class FailingSegment(Segment):
    """A segment on a disk that fails on demand, and remembers what would survive a power failure."""

    fails_to = frozenset()
    durable = None  # contents by name

    def __init__(self, path, size=0):
        self.path = path
        if not size:
            self.durable.pop(path.name, None)
        super().__init__(path, size)

    @classmethod
    def check(cls, what):
        if what in cls.fails_to:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def sync(self):
        self.check("sync")
        super().sync()
        self.durable[self.path.name] = self.path.read_bytes()

    def _write(self, data):
        if "write" in self.fails_to:
            data = data[: len(data) // 2]
            self._file.write(data)
            try:
                self.check("write")
            except OSError:
                self.is_sound = "cut" not in self.fails_to
                if self.is_sound:
                    self._cut(self.size)
                raise
        super()._write(data)

    def _cut(self, size):
        self.check("cut")
        super()._cut(size)


@pytest.fixture
def failing(monkeypatch):
    """Return what the disk fails to do: a set to add to."""
    monkeypatch.setattr(log_module, "Segment", FailingSegment)
    monkeypatch.setattr(FailingSegment, "fails_to", set())
    monkeypatch.setattr(FailingSegment, "durable", {})
    return FailingSegment.fails_to


@pytest.mark.parametrize("also", [set(), {"cut"}])
def test_what_a_failed_sync_may_have_lost_is_written_anew(tmp_path, failing, also):
    records = [record(i) for i in range(8)]
    with closing(Log(tmp_path)) as log:
        log.append(records[:3])
        log.sync()
        log.append(records[3:5])
        failing |= {"sync", *also}
        for _ in range(3):
            with pytest.raises(StorageError, match="cannot be written: Input/output error"):
                log.sync()
        failing.clear()
        log.append(records[5:7])
        log.sync()
        assert (log.n_segments, log.end) == (2, 7)
        assert len(list(read_segment(segments(tmp_path)[0]))) == (5 if also else 3)
        assert list(read_segment(segments(tmp_path)[1])) == list(enumerate(records[3:7], 4))
        log.append(records[7:])
        assert [record for _, record in log.read()] == records
    assert contents(tmp_path) == records


def test_a_segment_whose_half_written_frame_cannot_be_cut_off_is_given_up(tmp_path, failing):
    records = [record(i) for i in range(4)]
    with closing(Log(tmp_path)) as log:
        log.append(records[:1])
        log.sync()
        log.append(records[1:2])
        failing |= {"write", "cut"}
        with pytest.raises(StorageError):
            log.append(records[2:])
        failing.clear()
        assert log.append(records[2:]) == 4
        log.sync()
        assert [record for _, record in log.read()] == records
    assert contents(tmp_path) == records


def test_what_follows_the_start_of_the_next_segment_is_not_read_twice(tmp_path):
    records = filled(tmp_path)
    shutil.copytree(tmp_path, tmp_path / "copy")
    path = segments(tmp_path)[0]
    with closing(Log(tmp_path / "other")) as log:
        log.append(records[:6])
        log.release(6)
    rest = tmp_path / "copy" / f"{6:020d}.log"
    writer = Segment(rest)
    writer.write([pack_frame(6, records[6:9]), pack_frame(9, records[9:])])
    writer.close()
    assert path.stat().st_size == segments(tmp_path / "copy")[0].stat().st_size
    assert contents(tmp_path / "copy") == records


class Disk(RuleBasedStateMachine):
    """A log on a disk that fails and loses power: what was synced stays, and the rest goes from its end only."""

    @initialize(segment_bytes=st.sampled_from([1, 200, 100_000]))
    def open_at_first(self, segment_bytes):
        self.patches = pytest.MonkeyPatch()
        self.patches.setattr(log_module, "Segment", FailingSegment)
        self.patches.setattr(log_module, "sync_folder", self.sync_folder)
        self.patches.setattr(FailingSegment, "durable", {})
        self.patches.setattr(FailingSegment, "fails_to", set())
        self.folder = TemporaryDirectory()
        self.path, self.segment_bytes = Path(self.folder.name), segment_bytes
        self.appended, self.n_synced, self.names = [], 0, set()
        self.open()

    def teardown(self):
        self.log.close()
        self.folder.cleanup()
        self.patches.undo()

    def open(self):
        self.log = Log(self.path, segment_bytes=self.segment_bytes)
        self.log.begin()
        assert self.n_synced <= self.log.end <= len(self.appended)
        del self.appended[self.log.end :]
        self.n_synced = self.log.end

    def sync_folder(self, folder):
        FailingSegment.check("sync")
        self.names = {path.name for path in segments(folder)}

    @rule(frame=st.lists(RECORDS, min_size=1, max_size=3))
    def append(self, frame):
        try:
            self.log.append(frame)
            self.appended += frame
        except StorageError:
            assert FailingSegment.fails_to
        assert self.log.end == len(self.appended)

    @rule()
    def sync(self):
        try:
            self.log.sync()
            self.n_synced = len(self.appended)
        except StorageError:
            assert FailingSegment.fails_to

    @rule(faults=st.sets(st.sampled_from(["sync", "write", "cut"])))
    def fail(self, faults):
        FailingSegment.fails_to = faults

    @rule()
    def kill(self):
        FailingSegment.fails_to = set()
        self.log.close()
        self.open()

    @rule(data=st.data())
    def lose_power(self, data):
        FailingSegment.fails_to = set()
        self.log.close()
        for path in segments(self.path):
            content, durable = path.read_bytes(), FailingSegment.durable.get(path.name, b"")
            if path.name not in self.names and data.draw(st.booleans()):
                path.unlink()
            else:
                assert content.startswith(durable)
                path.write_bytes(content[: data.draw(st.integers(len(durable), len(content)))])
        self.open()

    @rule(data=st.data())
    def release(self, data):
        before = self.log.start
        position = data.draw(st.integers(0, self.n_synced))
        try:
            self.log.release(position)
        except StorageError:
            assert "sync" in FailingSegment.fails_to
        assert before <= self.log.start <= max(position, before)

    @invariant()
    def is_read(self):
        if not FailingSegment.fails_to and self.log.end == self.n_synced:
            assert [record for _, record in self.log.read(self.log.start)] == self.appended[self.log.start :]


TestDisk = Disk.TestCase


TestDisk.settings = settings(max_examples=50, stateful_step_count=30)
