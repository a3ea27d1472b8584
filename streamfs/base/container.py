"""Container of JSON, arrays and opaque parts with a checksum: the format of models and snapshots."""

import ast
import hashlib
import io
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import orjson

from streamfs.base.plain_files import read_file
from streamfs.errors import ModelError

HEADER = "header.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same content always gives the same bytes

_MEMBER, _ENTRY, _END = struct.Struct("<4s5H3I2H"), struct.Struct("<4s6H3I5H2I"), struct.Struct("<4s4H2IH")
_FORMAT, _UNIX, _DATE = 20, 3 << 8, 1 << 5 | 1  # version 2.0 of the format, its writer's system, and `_EPOCH`
_MODE = 0o600 << 16
_SHORT = 1 << 30  # bytes; from twice as many on, zip archives have other records

_ENCRYPTED = 1  # the bit of a member's flags
_METHODS = zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED
_LARGEST = 1 << 31  # rows or columns of an array, which may have none of the others
_NPY: Any = np.lib.format  # without types before NumPy 2.4

DAMAGED = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What content raises, in zipfile, numpy, JSON or here, that was not written by `pack`."""

Arrays = Mapping[str, npt.NDArray[Any]]


def pack(
    kind: str, version: int, header: Mapping[str, Any], arrays: Arrays, *, compress: bool = True, **sealed: bytes
) -> bytes:
    """Pack a JSON header, numeric arrays and opaque parts: a line of kind and version, and a zip archive."""
    members = {
        HEADER: orjson.dumps(header, option=orjson.OPT_INDENT_2 if compress else None),
        **{f"{name}.npy": _npy(np.ascontiguousarray(array)) for name, array in arrays.items()},
        **sealed,
    }
    is_short = sum(map(len, members.values())) < _SHORT
    content = _stored(members) if is_short and not compress else _zipped(members, compress=compress)
    return b"streamfs %s %d %s\n" % (kind.encode(), version, _checksum(content)) + content


def unpack(
    data: bytes, kind: str, version: int, source: str, oldest: int | None = None, largest: float = math.inf
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]], dict[str, bytes]]:
    """Return header, arrays and opaque parts, or raise a ModelError that names `source`.

    Versions from the `oldest` are read; by default `version` alone. Content that unpacks to more bytes than the
    `largest` number is refused before it is unpacked.
    """
    line, _, content = data.partition(b"\n")
    words = line.split(b" ")
    if len(words) != 4 or words[:2] != [b"streamfs", kind.encode()]:
        raise ModelError(f"{source} is not a streamfs {kind}")
    if words[2] not in [b"%d" % each for each in range(version if oldest is None else oldest, version + 1)]:
        found = words[2][:20].decode(errors="replace")
        raise ModelError(
            f"{source} has version {found} of the {kind} format, expected {version}; "
            "create it again with this version of streamfs"
        )
    if words[3] != _checksum(content):
        raise ModelError(f"{source} is damaged: its content does not match its checksum")
    try:
        parts = _members(content, largest)
        if HEADER not in parts:
            raise ModelError(f"{source} is damaged: it has no {HEADER}")
        header: dict[str, Any] = orjson.loads(parts.pop(HEADER))
        arrays = {
            name.removesuffix(".npy"): _array(name, part) for name, part in parts.items() if name.endswith(".npy")
        }
    except DAMAGED as error:
        raise damaged(source, error) from error
    return header, arrays, {name: part for name, part in parts.items() if not name.endswith(".npy")}


def damaged(source: object, error: BaseException) -> ModelError:
    """Return the error for content from a source that raised another one."""
    return ModelError(f"{source} is damaged: {error or type(error).__name__}")


def read(path: Path, largest: int) -> bytes:
    """Read a plain file, or raise a ModelError if that fails or it has more bytes than the `largest`."""
    try:
        return read_file(path, largest)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error


def write(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Write a file with this mode atomically, also if the power fails: its content is durable before its name.

    A device or a pipe, such as ``/dev/null``, is written to, and not replaced.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    partial = path.with_name(path.name + ".partial")
    try:
        partial.touch(mode)
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:  # such as of a full disk, which names no file
        with suppress(OSError):
            partial.unlink()
        raise OSError(error.errno, error.strerror, str(path)) from error


def digest(data: bytes) -> str:
    """Return a short digest of some bytes."""
    return hashlib.sha256(data).hexdigest()[:16]


def _members(content: bytes, largest: float) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        total = sum(member.file_size for member in members)
        if total > largest:
            raise ValueError(f"its content unpacks to {total} bytes, expected at most {largest}")
        return {member.filename: _read_member(archive, member) for member in members}


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    if member.flag_bits & _ENCRYPTED or member.compress_type not in _METHODS:
        raise ValueError(f"{member.filename!r} is encrypted, or compressed in a way that is not used here")
    with archive.open(member) as file:
        return file.read(member.file_size)  # no more than it says, whatever it would unpack to


def _array(name: str, part: bytes) -> npt.NDArray[Any]:
    """Read an array of NumPy's format, whose shape must fit the bytes that are there."""
    length = struct.Struct({b"\1\0": "<H", b"\2\0": "<I"}[part[6:8]])
    start = 8 + length.size
    end = start + length.unpack(part[8:start])[0]
    shape, dtype, order = _array_head(part[start:end])
    n_bytes = len(part) - end
    if math.prod(shape) * dtype.itemsize != n_bytes or any(not 0 <= size < _LARGEST for size in shape):
        raise ValueError(f"{name} has shape {shape} of {dtype}, which does not fit its {n_bytes} bytes")
    return np.frombuffer(part, dtype, offset=end).reshape(shape, order=order).copy()


def _npy(array: npt.NDArray[Any]) -> bytes:
    """Return a contiguous array in NumPy's format; between the fields of records is 0, not old memory."""
    if _is_padded(array.dtype):
        clean = np.zeros(array.shape, array.dtype)
        for name in array.dtype.names or ():
            clean[name] = array[name]
        array = clean
    return _head(array.shape, array.dtype) + array.tobytes()


@lru_cache(1024)
def _is_padded(dtype: np.dtype[Any]) -> bool:
    """Return whether records have bytes that belong to no field."""
    return dtype.fields is not None and sum(field[0].itemsize for field in dtype.fields.values()) < dtype.itemsize


@lru_cache(1024)
def _head(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bytes:
    """Return the head of an array in NumPy's format; kept, since a snapshot has the same ones again and again."""
    if dtype.hasobject:
        raise ValueError(f"an array has dtype {dtype}, expected numbers")
    head = io.BytesIO()
    described = {"descr": _NPY.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    _NPY.write_array_header_1_0(head, described)
    return head.getvalue()


@lru_cache(1024)
def _array_head(head: bytes) -> tuple[tuple[int, ...], np.dtype[Any], Literal["C", "F"]]:
    """Return shape, type and order; kept, since a gateway that starts reads the same ones again and again."""
    read = ast.literal_eval(head.decode("latin1"))
    return read["shape"], _as_made(_NPY.descr_to_dtype(read["descr"])), "F" if read["fortran_order"] else "C"


def _as_made(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of padded records as the compiler aligns them, which NumPy's format does not tell.

    To compiled code, records that are aligned and those that only lie as if they were are two types.
    """
    if not _is_padded(dtype):
        return dtype
    aligned = np.dtype([(name, dtype[name]) for name in dtype.names or ()], align=True)
    return aligned if aligned == dtype else dtype


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _zipped(members: Mapping[str, bytes], *, compress: bool) -> bytes:
    """Return a zip archive."""
    buffer, method = io.BytesIO(), zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, method)
    return buffer.getvalue()


def _stored(members: Mapping[str, bytes]) -> bytes:
    """Return a short zip archive, not compressed: to the byte that of `_zipped`, in a tenth of its time."""
    parts: list[bytes] = []
    entries, end = [], 0
    for name, data in members.items():
        title, n_bytes = name.encode("ascii"), len(data)
        about = (_FORMAT, 0, zipfile.ZIP_STORED, 0, _DATE, zlib.crc32(data), n_bytes, n_bytes, len(title), 0)
        entries.append(_ENTRY.pack(b"PK\1\2", _UNIX | _FORMAT, *about, 0, 0, 0, _MODE, end) + title)
        parts += _MEMBER.pack(b"PK\3\4", *about), title, data
        end += _MEMBER.size + len(title) + n_bytes
    directory, n = b"".join(entries), len(entries)
    return b"".join((*parts, directory, _END.pack(b"PK\5\6", 0, 0, n, n, len(directory), end, 0)))
