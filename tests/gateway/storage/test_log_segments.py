"""Segments of a log: releasing, moving to a spool, folders."""

import errno
import os
import subprocess
import sys
from contextlib import closing
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from logs import append_each, contents, filled, record

from streamfs.errors import StateError, StorageError
from streamfs.gateway.storage import log as log_module
from streamfs.gateway.storage.journal import Entry, Journal
from streamfs.gateway.storage.log import Log, read_log, read_segment
from streamfs.gateway.storage.segment import segments


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
        with pytest.raises(StorageError, match="spool cannot be read: No such file"):
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
        log.begin()
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
        with pytest.raises(StateError, match=f"by another gateway, process {os.getpid()}: stop it, or name"):
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
