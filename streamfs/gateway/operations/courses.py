"""The course of streams: class probabilities and feature values over ticks, in files that are written on and on.

A file has a line of JSON, and then records of one size, of one model. When it is full, the next begins, and the
oldest goes. Readers need nothing of the gateway.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from streamfs.errors import StateError

VERSION = 1
FILE_BYTES, MOST_FILES = 8 * 2**20, 4
"""Bytes after which the next file begins, and files that are kept."""

_NAME = re.compile(r"course-(\d{1,18})")


class Course(NamedTuple):
    """What one model saw of an episode of a stream: ticks, shape (n,), and what it had at each of them.

    ``probabilities`` are NaN where the model is not asked without need; ``times`` are seconds since 1970 at which
    the gateway looked.
    """

    classes: tuple[str, ...]
    features: tuple[str, ...]
    episode: int
    ticks: npt.NDArray[Any]
    times: npt.NDArray[Any]
    confidences: npt.NDArray[Any]
    probabilities: npt.NDArray[Any]
    values: npt.NDArray[Any]


def key_of(stream: str) -> int:
    """Return the number that stands for a stream."""
    return int.from_bytes(blake2b(stream.encode(errors="surrogateescape"), digest_size=8).digest(), "little")


def record_type(n_classes: int, n_features: int) -> np.dtype[Any]:
    """Return the type of the records of a model."""
    return np.dtype(
        [
            ("key", "<u8"),
            ("episode", "<i4"),
            ("tick", "<i4"),
            ("time", "<f8"),
            ("confidence", "<f4"),
            ("probabilities", "<f4", (n_classes,)),
            ("values", "<f4", (n_features,)),
        ]
    )


def course_files(folder: Path) -> list[Path]:
    """Return the files of a folder, oldest first."""
    found = ((_NAME.fullmatch(path.name), path) for path in folder.glob("course-*"))
    return [path for _, path in sorted((int(name[1]), path) for name, path in found if name is not None)]


class CourseWriter:
    """Writes records into a folder; `open_file` makes a file that its owner alone can read."""

    def __init__(self, folder: Path, open_file: Callable[[Path], Any]) -> None:
        self._folder = folder
        self._open = open_file
        self._digest = ""
        self._path: Path | None = None
        self._n_bytes = 0

    def write(self, digest: str, names: tuple[Sequence[str], Sequence[str]], records: npt.NDArray[Any]) -> None:
        """Append records of a model, given its classes and features."""
        if self._path is None or digest != self._digest or self._n_bytes >= FILE_BYTES:
            self._begin(digest, names)
        assert self._path is not None  # noqa: S101 - for mypy
        with self._open(self._path) as file:
            file.write(records.tobytes())
        self._n_bytes += records.nbytes

    def _begin(self, digest: str, names: tuple[Sequence[str], Sequence[str]]) -> None:
        files = course_files(self._folder)
        for path in files[: max(0, len(files) + 1 - MOST_FILES)]:
            path.unlink(missing_ok=True)
        number = int(files[-1].name.partition("-")[2]) + 1 if files else 0
        classes, features = names
        head = {"version": VERSION, "model": digest, "classes": list(classes), "features": list(features)}
        self._digest, self._path, self._n_bytes = digest, self._folder / f"course-{number}", 0
        with self._open(self._path) as file:
            file.write(orjson.dumps(head) + b"\n")


def courses_of(packed: Iterable[bytes], stream: str) -> list[Course]:
    """Return what files show of a stream, by episode, the newest last; damaged files are left out."""
    parts: dict[tuple[int, tuple[str, ...], tuple[str, ...]], list[npt.NDArray[Any]]] = {}
    key = key_of(stream)
    for content in packed:
        end = content.find(b"\n")
        try:
            head = orjson.loads(content[:end])
            if head["version"] != VERSION:
                continue
            names = tuple(map(str, head["classes"])), tuple(map(str, head["features"]))
        except (orjson.JSONDecodeError, KeyError, TypeError):
            continue
        dtype = record_type(*map(len, names))
        records = np.frombuffer(content, dtype, (len(content) - end - 1) // dtype.itemsize, end + 1)
        found = records[records["key"] == key]
        for episode in np.unique(found["episode"]).tolist():
            parts.setdefault((episode, *names), []).append(found[found["episode"] == episode])
    return [
        _course(*name, np.concatenate(some)) for name, some in sorted(parts.items(), key=lambda item: item[0][0])
    ]


def to_json(courses: Iterable[Course]) -> bytes:
    """Return courses as JSON, which `from_json` reads."""
    return orjson.dumps([course._asdict() for course in courses], option=orjson.OPT_SERIALIZE_NUMPY)


def from_json(text: bytes) -> list[Course]:
    """Return the courses that `to_json` has written; raise a StateError if they are damaged."""
    try:
        found = orjson.loads(text)
        if not isinstance(found, list):
            raise TypeError(f"it is {type(found).__name__}, expected a list")  # noqa: TRY301 - as the others
        return [_read(each) for each in found]
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise StateError(f"the course of a stream is damaged: {error}") from error


def _read(found: dict[str, Any]) -> Course:
    classes, features = (tuple(map(str, found[name])) for name in ("classes", "features"))
    times, confidences, probabilities, values = (
        np.array(found[name], dtype=np.float64)  # null becomes NaN
        for name in ("times", "confidences", "probabilities", "values")
    )
    ticks = np.array(found["ticks"], dtype=np.int64)
    return Course(classes, features, int(found["episode"]), ticks, times, confidences, probabilities, values)


def _course(
    episode: int, classes: tuple[str, ...], features: tuple[str, ...], records: npt.NDArray[Any]
) -> Course:
    _, first = np.unique(records["tick"], return_index=True)  # a gateway that was killed looks twice
    kept = records[first]
    names = "tick", "time", "confidence", "probabilities", "values"
    return Course(classes, features, episode, *(np.ascontiguousarray(kept[name]) for name in names))
