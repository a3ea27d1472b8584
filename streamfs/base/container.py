"""One file of JSON, arrays and sealed parts, that notices when it is damaged: models and snapshots."""

import hashlib
import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from streamfs.errors import ModelError

HEADER = "header.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same content always makes the same bytes

Arrays = Mapping[str, npt.NDArray[Any]]


def pack(kind: str, version: int, header: Mapping[str, Any], arrays: Arrays, **sealed: bytes) -> bytes:
    """Pack a header, named arrays and sealed parts into bytes: a line that says what it is, and a zip archive.

    Parameters
    ----------
    kind, version : str, int
        What this is, which `unpack` demands again.
    header : mapping
        Anything that JSON can hold.
    arrays : mapping of str to ndarray
        Numeric arrays.
    **sealed : bytes
        Parts that `unpack` hands over unread.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, HEADER, orjson.dumps(header, option=orjson.OPT_INDENT_2))
        for name, array in arrays.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, np.ascontiguousarray(array), allow_pickle=False)
            _add(archive, f"{name}.npy", part.getvalue())
        for name, data in sealed.items():
            _add(archive, name, data)
    content = buffer.getvalue()
    return b"streamfs %s %d %s\n" % (kind.encode(), version, _checksum(content)) + content


def unpack(
    data: bytes, kind: str, version: int, source: str
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]], dict[str, bytes]]:
    """Unpack what `pack` packed: the header, the arrays, and the sealed parts.

    Raises
    ------
    ModelError
        Naming the source, if the bytes are of another kind, of another version, or damaged.
    """
    line, _, content = data.partition(b"\n")
    words = line.split(b" ")
    if len(words) != 4 or words[:2] != [b"streamfs", kind.encode()]:
        raise ModelError(f"{source} is no streamfs {kind}")
    if words[2] != b"%d" % version:
        found = words[2][:20].decode(errors="replace")
        raise ModelError(
            f"{source} has version {found} of the {kind} format, expected {version}; "
            "make it anew with this version of streamfs"
        )
    if words[3] != _checksum(content):
        raise ModelError(f"{source} is damaged: its content does not match its checksum")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        if HEADER not in parts:
            raise ModelError(f"{source} is damaged: it has no {HEADER}")
        header: dict[str, Any] = orjson.loads(parts.pop(HEADER))
        arrays = {
            name.removesuffix(".npy"): np.lib.format.read_array(io.BytesIO(part), allow_pickle=False)
            for name, part in parts.items()
            if name.endswith(".npy")
        }
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
        raise ModelError(f"{source} is damaged: {error}") from error
    return header, arrays, {name: part for name, part in parts.items() if not name.endswith(".npy")}


def write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(data)
    partial.replace(path)


def digest(data: bytes) -> str:
    """A short name for some bytes."""
    return hashlib.sha256(data).hexdigest()[:16]


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
