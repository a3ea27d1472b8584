"""The format of model files and snapshots."""

import errno
import os

import numpy as np
import pytest

from streamfs.base import container
from streamfs.base.container import pack, unpack

PADDED = np.dtype([("x", "f8"), ("flag", "u1")], align=True)


def records(garbage):
    memory = np.full(3 * PADDED.itemsize, garbage, dtype=np.uint8)
    found = memory.view(PADDED)
    found["x"], found["flag"] = [1.0, 2.0, np.nan], [0, 1, 2]
    return found


def test_what_lies_between_fields_is_not_written():
    assert PADDED.itemsize > 9
    one, other = (pack("thing", 1, {}, {"records": records(garbage)}) for garbage in (0, 7))
    assert one == other


@pytest.mark.parametrize("dtype", [PADDED, np.dtype([("x", "f8"), ("n", "i8")]), np.dtype("f8")])
def test_arrays_are_read_back_aligned_as_they_were(dtype):
    _, read, _ = unpack(pack("thing", 1, {}, {"array": np.zeros(2, dtype)}), "thing", 1, "here")
    assert read["array"].dtype == dtype
    assert read["array"].dtype.isalignedstruct == dtype.isalignedstruct


def test_content_that_is_not_compressed_is_read_back_the_same():
    arrays, sealed = {"x": np.zeros(1000)}, {"model": b"as it is"}
    plain, small = (pack("thing", 1, {"n": 1}, arrays, compress=each, **sealed) for each in (False, True))
    assert len(small) < 1000
    assert 8000 < len(plain) < 8600
    (header, read, also), expected = unpack(plain, "thing", 1, "here"), unpack(small, "thing", 1, "here")
    assert (header, also) == (expected[0], expected[2])
    np.testing.assert_array_equal(read["x"], expected[1]["x"])


@pytest.mark.parametrize("n", [0, 1, 20])
def test_short_content_is_that_of_a_zip_archive_to_the_byte(n):
    members = {f"member{number}.npy": bytes(range(number)) * number for number in range(n)}
    assert container._stored(members) == container._zipped(members, compress=False)


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    container.write(pipe, b"model")
    assert (os.read(reader, 9), pipe.is_fifo(), [*tmp_path.iterdir()]) == (b"model", True, [pipe])
    os.close(reader)


def test_nothing_is_left_where_the_disk_is_full(tmp_path, monkeypatch):
    def fill(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fill)
    with pytest.raises(OSError, match=r"No space left on device: '.*model'"):
        container.write(tmp_path / "model", b"0")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("shape", [(0, 5000), (5000, 0), (0,)])
def test_an_array_of_nothing_is_read_back_however_wide_its_rows(shape):
    _, read, _ = unpack(pack("thing", 1, {}, {"array": np.zeros(shape)}), "thing", 1, "here")
    assert read["array"].shape == shape


@pytest.mark.parametrize("shape", ["(0, 9999999999)", "(-1, -8)", "(8, -1)", "(7,)"])
def test_an_array_of_another_shape_than_its_bytes_is_refused(shape):
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    with pytest.raises(ValueError, match="does not fit"):
        container._array("x", b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(64))
