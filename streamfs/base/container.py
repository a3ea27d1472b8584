"""Container of JSON, arrays and opaque parts with a checksum: the format of models and snapshots."""

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
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same content always gives the same bytes

Arrays = Mapping[str, npt.NDArray[Any]]


def pack(kind: str, version: int, header: Mapping[str, Any], arrays: Arrays, **sealed: bytes) -> bytes:
    """Pack a JSON header, numeric arrays and opaque parts: a line of kind and version, and a zip archive."""
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
    data: bytes, kind: str, version: int, source: str, oldest: int | None = None
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]], dict[str, bytes]]:
    """Return header, arrays and opaque parts, or raise a ModelError that names `source`.

    Versions from the `oldest` are read; by default `version` alone.
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
    """Write a file atomically."""
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(data)
    partial.replace(path)


def digest(data: bytes) -> str:
    """Return a short digest of some bytes."""
    return hashlib.sha256(data).hexdigest()[:16]


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
