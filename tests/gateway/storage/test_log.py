"""The log: what was appended is read again, whatever is torn, damaged, full or failing."""

import errno
import os
import resource
import shutil
import subprocess
import sys
import tracemalloc
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from streamfs.errors import LogError, StateError, StorageError
from streamfs.gateway.core.records import Record
from streamfs.gateway.storage import log as log_module
from streamfs.gateway.storage import segment as segment_module
from streamfs.gateway.storage.frames import Frame, pack_frame
from streamfs.gateway.storage.journal import Entry, Journal
from streamfs.gateway.storage.log import Log, read_log, read_segment
from streamfs.gateway.storage.segment import HEADER_BYTES, Segment, find_end, segments

CHARACTERS = st.sampled_from("ab/+\0é☂𝄞")  # of one to four bytes
RECORDS = st.builds(
    Record,
    kind=st.integers(0, 255),
    arrival=st.floats(allow_nan=False),
    topic=st.text(CHARACTERS, max_size=12),
    payload=st.binary(max_size=40),
    content_type=st.text(CHARACTERS, max_size=4),
)
SOME = settings(max_examples=40)  # each example waits for the disk
FRAMES = st.lists(st.lists(RECORDS, min_size=1, max_size=4), min_size=1, max_size=6)


def record(number, n_bytes=20):
    return Record(0, float(number), f"sensors/n{number}/light", b"%d" % number * n_bytes)


def filled(folder, n_frames=4, *, size=3, **options):
    """Make a log with some frames of records, and close it; return the records."""
    records = [record(i) for i in range(n_frames * size)]
    with closing(Log(folder, **options)) as log:
        for start in range(0, len(records), size):
            log.append(records[start : start + size])
            log.sync()
    return records


def append_each(log, records):
    for each in records:
        log.append([each])


def contents(folder, start=0, **options):
    with closing(Log(folder, **options)) as log:
        return [record for _, record in log.read(start)]


@SOME
@given(frames=FRAMES, segment_bytes=st.integers(1, 500))
def test_what_was_appended_is_read_from_any_position(frames, segment_bytes):
    records = list(chain(*frames))
    with TemporaryDirectory() as folder:
        with closing(Log(folder, segment_bytes=segment_bytes)) as log:
            ends = [log.append(frame) for frame in frames]
            log.sync()
            assert ends[-1] == log.end == len(records)
            assert log.n_bytes == sum(path.stat().st_size for path in segments(Path(folder)))
        with closing(Log(folder)) as log:
            assert (log.end, log.torn_bytes) == (len(records), 0)
            for start in range(len(records) + 1):
                assert list(log.read(start)) == list(enumerate(records[start:], start + 1))


@SOME
@given(frames=FRAMES, data=st.data())
def test_a_cut_anywhere_loses_only_the_frames_behind_it(frames, data):
    with TemporaryDirectory() as folder:
        ends = []
        with closing(Log(folder)) as log:
            for frame in frames:
                log.append(frame)
                ends.append(log.n_bytes)
        path = segments(Path(folder))[0]
        cut = data.draw(st.integers(0, ends[-1]))
        os.truncate(path, cut)
        whole = list(chain(*(frame for frame, end in zip(frames, ends, strict=True) if end <= cut)))
        with closing(Log(folder)) as log:
            assert [record for _, record in log.read()] == whole
            kept = max((end for end in ends if end <= cut), default=HEADER_BYTES if cut >= HEADER_BYTES else 0)
            assert log.torn_bytes == cut - kept
            log.append(frames[0])
            log.sync()
        assert contents(folder) == whole + frames[0]


@SOME
@given(data=st.data())
def test_a_bit_that_flips_before_the_last_frame_is_noticed(data):
    with TemporaryDirectory() as folder:
        filled(folder)
        path = segments(Path(folder))[0]
        whole = path.read_bytes()
        last_frame = whole.rindex(whole[15:19])
        flip(path, data.draw(st.integers(0, 8 * last_frame - 1)))
        with pytest.raises(LogError, match=path.name):
            Log(folder)


@SOME
@given(data=st.data())
def test_a_bit_that_flips_in_an_older_segment_is_noticed(data):
    with TemporaryDirectory() as folder:
        filled(folder, segment_bytes=300)
        older = segments(Path(folder))[:-1]
        assert len(older) > 1
        path = data.draw(st.sampled_from(older))
        flip(path, data.draw(st.integers(0, 8 * path.stat().st_size - 1)))
        with closing(Log(folder)) as log, pytest.raises(LogError, match=path.name):
            list(log.read())
        with pytest.raises(LogError, match=path.name):
            list(read_segment(path))


def flip(path, bit):
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def test_zeros_behind_the_end_are_a_torn_frame(tmp_path):
    records = filled(tmp_path)
    path = segments(tmp_path)[0]
    os.truncate(path, path.stat().st_size + 1000)
    with closing(Log(tmp_path)) as log:
        assert log.torn_bytes == 1000
        assert [record for _, record in log.read()] == records


def test_a_payload_that_holds_a_log_does_not_look_like_frames_when_it_is_torn(tmp_path):
    filled(tmp_path / "first")
    copy = segments(tmp_path / "first")[0].read_bytes()
    with closing(Log(tmp_path / "second")) as log:
        log.append([record(0)])
        end = log.n_bytes
        log.append([Record(0, 0.0, "backup", copy)])
    path = segments(tmp_path / "second")[0]
    os.truncate(path, path.stat().st_size - 1)
    with closing(Log(tmp_path / "second")) as log:
        assert (log.end, log.n_bytes) == (1, end)


def test_a_length_that_was_never_written_takes_no_memory(tmp_path):
    filled(tmp_path)
    path = segments(tmp_path)[0]
    whole = path.read_bytes()
    path.write_bytes(whole + whole[15:19] + b"\0\0\0\0\xff\xff\xff\xff" + bytes(12) + b"torn")
    tracemalloc.start()
    with closing(Log(tmp_path)) as log:
        assert (log.end, log.torn_bytes) == (12, 28)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_frames_that_are_written_while_the_end_is_looked_for_are_no_damage(tmp_path, monkeypatch):
    with closing(Log(tmp_path)) as log:
        log.append([record(0)])

        def frames_and_more(*segment):
            yield from frames(*segment)
            log.append([record(1)])
            log.append([record(2)])

        with monkeypatch.context() as meanwhile:
            frames = segment_module._frames
            meanwhile.setattr(segment_module, "_frames", frames_and_more)
            assert find_end(segments(tmp_path)[0])[0] == 1
        assert find_end(segments(tmp_path)[0])[0] == 3


def test_a_missing_segment_is_noticed(tmp_path):
    filled(tmp_path, segment_bytes=300)
    segments(tmp_path)[1].unlink()
    with closing(Log(tmp_path)) as log, pytest.raises(LogError, match="is whole up to record 3, expected 6"):
        list(log.read())


def test_a_frame_that_stands_where_it_does_not_belong_is_noticed(tmp_path):
    filled(tmp_path)
    path = segments(tmp_path)[0]
    path.rename(path.with_name(f"{7:020d}.log"))
    with pytest.raises(LogError, match="the frame at byte 23 starts with record 0, expected 7"):
        Log(tmp_path)


def test_another_version_is_refused(tmp_path):
    filled(tmp_path)
    path = segments(tmp_path)[0]
    path.write_bytes(path.read_bytes().replace(b"log 1", b"log 2", 1))
    with pytest.raises(LogError, match="has version 2 of the log, expected 1"):
        Log(tmp_path)


def test_a_file_that_is_no_segment_is_refused(tmp_path):
    (tmp_path / f"{0:020d}.log").write_bytes(b"something else, and rather longer than a header")
    with pytest.raises(LogError, match="is not a segment of a streamfs log"):
        Log(tmp_path)


def test_a_log_that_has_become_shorter_is_noticed(tmp_path):
    filled(tmp_path)
    with closing(Log(tmp_path)) as log:
        path = segments(tmp_path)[0]
        os.truncate(path, path.stat().st_size - 1)
        with pytest.raises(LogError, match="whole up to record 9, expected 12"):
            list(log.read())


def test_files_of_other_names_are_left_alone(tmp_path):
    (tmp_path / "debug.log").write_bytes(b"hello")
    assert contents(tmp_path) == []
    assert (tmp_path / "debug.log").read_bytes() == b"hello"


def test_positions_beyond_the_end_and_before_the_start_are_refused(tmp_path):
    filled(tmp_path, segment_bytes=300)
    with closing(Log(tmp_path)) as log:
        assert list(log.read(12)) == []
        with pytest.raises(ValueError, match="start is 13, expected a position from 0 to 12"):
            list(log.read(13))
        log.release(7)
        assert log.start == 6
        with pytest.raises(LogError, match="starts at record 6, expected 5"):
            list(log.read(5))


def test_wrong_records_are_refused_and_nothing_is_appended(tmp_path):
    with closing(Log(tmp_path)) as log:
        for kind in (256, -1):
            with pytest.raises(ValueError, match=f"kind is {kind}, expected 0 to 255"):
                log.append([Record(kind, 0.0, "", b"")])
        assert log.append([]) == log.end == 0
    with pytest.raises(ValueError, match="segment_bytes is 0, expected at least 1"):
        Log(tmp_path, segment_bytes=0)


@given(st.lists(RECORDS, min_size=1, max_size=4), st.data())
def test_a_frame_in_memory_is_read_back_or_is_known_to_be_damaged(records, data):
    packed = pack_frame(7, records)
    frame = Frame.of(packed)
    assert (frame.first, [*frame.records()]) == (7, records)
    place = data.draw(st.integers(0, len(packed) - 1))
    with pytest.raises(LogError, match="damaged"):
        Frame.of(packed[:place] + bytes([packed[place] ^ 1]) + packed[place + 1 :])
    with pytest.raises(LogError, match=r"damaged|expected at least"):
        Frame.of(packed[:place])


def test_a_closed_log_takes_nothing(tmp_path):
    log = Log(tmp_path)
    log.append([record(0)])
    log.close()
    with pytest.raises(ValueError, match="is closed"):
        log.append([record(1)])
    with pytest.raises(ValueError, match="is closed"):
        log.sync()
    with closing(Log(tmp_path)) as again:
        assert again.end == 1


def test_released_segments_are_gone_but_the_newest_stays(tmp_path):
    records = filled(tmp_path, segment_bytes=300)
    with closing(Log(tmp_path)) as log:
        n_segments = log.n_segments
        log.release(5)
        assert (log.start, log.n_segments) == (3, n_segments - 1)
        log.release(12)
        assert (log.start, log.n_segments) == (9, 1)
        assert log.n_bytes == sum(path.stat().st_size for path in segments(tmp_path))
        assert log.append([record(12)]) == 13
    assert contents(tmp_path, 9) == [*records[9:], record(12)]


def test_a_segment_spans_so_much_time_at_most(tmp_path):
    with closing(Log(tmp_path, segment_seconds=4.0)) as log:
        append_each(log, [record(second) for second in (0, 1, 4, 5, 9, 10, 30)])
        assert [int(path.stem) for path in segments(tmp_path)] == [0, 3, 5, 6]
        assert len([*log.read()]) == 7


def test_released_segments_move_to_the_spool(tmp_path):
    records = filled(tmp_path / "log", segment_bytes=300)
    with closing(Log(tmp_path / "log", spool=tmp_path / "spool")) as log:
        log.release(9)
    assert [record for _, record in read_log(tmp_path / "spool")] == records[:9]
    paths = segments(tmp_path / "spool")
    assert list(chain(*map(read_segment, paths))) == list(enumerate(records[:9], 1))


def test_released_segments_move_to_a_spool_on_another_disk(tmp_path):
    memory = Path("/dev/shm")  # noqa: S108 - another file system is what is wanted
    if not os.access(memory, os.W_OK) or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system at /dev/shm")
    records = filled(tmp_path, segment_bytes=300)
    with TemporaryDirectory(dir=memory) as spool:
        with closing(Log(tmp_path, spool=spool)) as log:
            log.release(9)
        assert [record for _, record in read_log(spool)] == records[:9]
        assert sorted(Path(spool).iterdir()) == segments(Path(spool))
    assert contents(tmp_path, 9) == records[9:]


def test_a_spool_that_fails_keeps_the_segment(tmp_path):
    records = filled(tmp_path / "log", segment_bytes=300)
    with closing(Log(tmp_path / "log", spool=tmp_path / "spool")) as log:
        (tmp_path / "spool").rmdir()
        with pytest.raises(StorageError, match="spool cannot be written: No such file"):
            log.release(9)
        assert [record for _, record in log.read()] == records
        (tmp_path / "spool").mkdir()
        log.release(9)
        assert log.start == 9


def test_a_spool_whose_sync_failed_is_synced_before_the_folder_that_was_moved_from(tmp_path, monkeypatch):
    synced, failing = [], [OSError(errno.EIO, "failing")]

    def sync(folder):
        if folder.name == "spool" and failing:
            raise failing.pop()
        synced.append(folder.name)

    filled(tmp_path / "log", segment_bytes=300)
    with closing(Log(tmp_path / "log", spool=tmp_path / "spool", segment_bytes=300)) as log:
        monkeypatch.setattr(log_module, "sync_folder", sync)
        with pytest.raises(StorageError, match="failing"):
            log.release(9)
        append_each(log, [record(second) for second in range(9)])
        assert synced[:2] == ["spool", "log"]
        synced.clear()
        log.release(9)
        assert synced == ["spool", "log"]


def test_a_second_gateway_is_refused(tmp_path):
    with closing(Log(tmp_path)):
        with pytest.raises(StateError, match=f"is in use by another gateway, process {os.getpid()}"):
            Log(tmp_path)
        code = "import sys; from streamfs.gateway.storage.log import Log; Log(sys.argv[1])"
        ended = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
        assert "is in use by another gateway" in ended.stderr
    Log(tmp_path).close()


def test_nothing_is_written_to_what_was_deleted_or_moved(tmp_path):
    """It would not be there at the next start; what is put back takes it."""
    folder, aside = tmp_path / "log", tmp_path / "aside"
    with closing(Log(folder)) as log:
        append_each(log, [record(0)])
        for moved in (folder, folder / "lock", *segments(folder)):
            moved.rename(aside)
            with pytest.raises(StorageError, match="was deleted or moved while in use; put it back, or start"):
                log.append([record(1)])
            aside.rename(moved)
        append_each(log, [record(1)])
    assert contents(folder) == [record(0), record(1)]
    with Journal(tmp_path / "journal.sqlite") as journal:
        journal.path.rename(aside)
        with pytest.raises(StorageError, match="was deleted or moved while in use"):
            journal.commit(Entry(1))
        aside.rename(journal.path)
        journal.commit(Entry(1))


def test_folders_that_a_process_made_and_did_not_sync_are_durable(tmp_path, monkeypatch):
    synced, fsync = set(), os.fsync

    def sync(descriptor):
        synced.add(Path(f"/proc/self/fd/{descriptor}").resolve())
        fsync(descriptor)

    for folder in (tmp_path / "state", tmp_path / "spools"):
        folder.mkdir()
        (folder / "segments").mkdir()
    monkeypatch.setattr(os, "fsync", sync)
    with closing(Log(tmp_path / "state/segments", spool=tmp_path / "spools/segments")):
        assert {tmp_path / "state", tmp_path / "spools"} <= synced


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="file/log cannot be written: Not a directory"):
        Log(tmp_path / "file" / "log")


def test_a_folder_that_is_not_there_is_not_read(tmp_path):
    with pytest.raises(LogError, match="nowhere cannot be read: No such file"):
        list(read_log(tmp_path / "nowhere"))


def test_a_log_is_read_while_it_is_written(tmp_path):
    records = [record(i) for i in range(600)]
    seen = []

    def read():
        while not seen or seen[-1] < len(records):
            read = [record for _, record in read_log(tmp_path)]
            assert read == records[: len(read)]
            seen.append(len(read))

    with closing(Log(tmp_path, segment_bytes=5000)) as log:
        reader = Thread(target=read)
        reader.start()
        for start in range(0, len(records), 3):
            log.append(records[start : start + 3])
        reader.join(60)
    assert seen[-1] == len(records)


@contextmanager
def file_limit(n_bytes):
    """Let no file grow beyond a size."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


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
