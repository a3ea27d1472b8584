"""The log: what was appended is read, and damage is noticed."""

import os
import tracemalloc
from contextlib import closing
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logs import RECORDS, contents, filled, record

from streamfs.errors import LogError
from streamfs.gateway.core.records import Record
from streamfs.gateway.storage import segment as segment_module
from streamfs.gateway.storage.frames import Frame, pack_frame
from streamfs.gateway.storage.log import Log, read_log, read_segment
from streamfs.gateway.storage.segment import HEADER_BYTES, find_end, segments

SOME = settings(max_examples=40)  # each example waits for the disk
FRAMES = st.lists(st.lists(RECORDS, min_size=1, max_size=4), min_size=1, max_size=6)


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
