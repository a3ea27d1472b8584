"""A spool keeps each record once, as it came first, also if a log goes on from a copy that is cut elsewhere."""

from contextlib import closing

import pytest
from logs import filled, record

from streamfs.errors import StorageError
from streamfs.gateway.storage import spool_writer
from streamfs.gateway.storage.log import Log
from streamfs.gateway.storage.log_reader import read_log
from streamfs.gateway.storage.segment import segments


def spool_of(tmp_path, n_released, **options):
    """Return a spool with some of the records of a log that is gone, and what is there."""
    spool = tmp_path / "spool"
    filled(tmp_path / "gone", **options)
    with closing(Log(tmp_path / "gone", spool=spool)) as log:
        log.release(n_released)
    return spool, [path.read_bytes() for path in segments(spool)]


@pytest.mark.parametrize(("here", "there"), [(400, 200), (200, 400), (400, 1), (1, 400), (600, 400), (400, 600)])
def test_a_log_cut_elsewhere_adds_to_the_spool_what_it_lacks(tmp_path, monkeypatch, here, there):
    """In whatever steps; what is there is not touched again."""
    monkeypatch.setattr(spool_writer, "_AT_ONCE", 2)
    spool, known = spool_of(tmp_path, 8, n_frames=12, size=1, segment_bytes=here)
    assert known
    records = filled(tmp_path / "mirror", 12, size=1, segment_bytes=there)
    with closing(Log(tmp_path / "mirror", spool=spool)) as log:
        for position in range(13):
            log.release(position)
            spooled = [each for _, each in read_log(spool)]
            assert spooled == records[: max(len(spooled), log.start)]
    assert [path.read_bytes() for path in segments(spool)][: len(known)] == known


def test_frames_need_not_agree(tmp_path):
    spool, _ = spool_of(tmp_path, 9, n_frames=5, size=3, segment_bytes=1)
    records = filled(tmp_path / "mirror", 3, size=5, segment_bytes=1)
    with closing(Log(tmp_path / "mirror", spool=spool)) as log:
        log.release(10)
    assert [each for _, each in read_log(spool)] == records[:10]


def test_a_spool_with_other_records_is_not_touched(tmp_path):
    spool, known = spool_of(tmp_path, 9, segment_bytes=1)
    with closing(Log(tmp_path / "anew", spool=spool, segment_bytes=1)) as log:
        for number in range(3):
            log.append([record(number + 1)])
        with pytest.raises(StorageError, match=r"spool has other records than .*anew: move them away"):
            log.release(2)
        assert [path.read_bytes() for path in segments(spool)] == known
        assert log.start == 0
        for path in segments(spool):
            path.unlink()
        log.release(2)
        assert (log.start, len([*read_log(spool)])) == (2, 2)


@pytest.mark.parametrize("log", ["gone", "mirror"])
def test_gaps_are_filled(tmp_path, log):
    """A failure of the power may undo some of several moves, and the disk of the log may be gone after that."""
    spool, _ = spool_of(tmp_path, 9, n_frames=5, segment_bytes=1)
    undone = segments(spool)[1]
    undone.rename(tmp_path / "gone" / undone.name)
    records = filled(tmp_path / "mirror", 15, size=1, segment_bytes=1000)
    with closing(Log(tmp_path / log, spool=spool)) as opened:
        opened.release(15)
        assert [each for _, each in read_log(spool)] == records[: opened.start]
        assert opened.start > 9


def test_a_damaged_spool_keeps_the_segment(tmp_path):
    spool, (damaged, *_) = spool_of(tmp_path, 9, n_frames=9, size=1, segment_bytes=400)
    segments(spool)[0].write_bytes(damaged[:30] + b"~" + damaged[31:])
    records = filled(tmp_path / "mirror", 9, size=1, segment_bytes=1)
    with closing(Log(tmp_path / "mirror", spool=spool)) as log:
        with pytest.raises(StorageError, match=r"0\.log is damaged at byte 23: no whole frame there"):
            log.release(9)
        assert [each for _, each in log.read()] == records[log.start :]
