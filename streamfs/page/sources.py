"""Where a page finds a gateway: a folder that it writes, its state or its view, or the address of its HTTP."""

import mmap
import re
from collections.abc import Hashable, Iterable
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from pathlib import Path
from time import monotonic, time
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

from streamfs.errors import StateError
from streamfs.gateway.operations.courses import Course, course_files, courses_of, from_json
from streamfs.gateway.operations.view_file import LARGEST, NOW, Packed
from streamfs.gateway.storage.journal_reader import JournalReader
from streamfs.gateway.storage.state import journal_path, models_folder, view_folder

_PATIENCE = 3.0  # seconds for a gateway's answer
_PAUSE = 0.5  # seconds between questions to a gateway, whoever looks
_DIGEST = re.compile(r"[0-9a-f]{8,128}")


class Fetched(NamedTuple):
    """A view as it was written, and how far the gateway's clock is ahead of ours, in seconds."""

    packed: Packed
    ahead: float = 0.0


class GatewayPlace(Protocol):
    """Where a gateway shows itself."""

    place: str

    def stamp(self) -> Hashable:
        """Return what differs from the time before if the gateway may have written anew."""

    def fetch(self, kind: str) -> Fetched:
        """Return a view; raise a StateError if there is none."""

    def courses(self, stream: str) -> list[Course]:
        """Return the course of a stream, by episode."""

    def decisions(self, streams: Iterable[str], limit: int) -> dict[str, list[dict[str, Any]]]:
        """Return the newest decisions of each stream that has any, newest first."""

    def models(self) -> list[Path]:
        """Return the files of the models that are kept, newest first."""

    def address(self, said: str | None) -> str | None:
        """Return where the gateway takes actions, given what it says of that; None where it takes none."""


class GatewayFolder:
    """The folder of a gateway's state, or of its view alone."""

    def __init__(self, folder: Path) -> None:
        self.place = str(folder)
        is_view = (folder / NOW).exists() and not journal_path(folder).exists()
        self._state = None if is_view else folder
        self._view = folder if is_view else view_folder(folder)

    def stamp(self) -> Hashable:
        """Return when the view was written; None without one."""
        try:
            found = (self._view / NOW).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino

    def fetch(self, kind: str) -> Fetched:
        """Return a view, which stays as it is when the next is written."""
        path = self._view / kind
        try:
            with path.open("rb") as file:
                return Fetched(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:  # an empty file cannot be mapped
            raise StateError(f"{path} cannot be read: {getattr(error, 'strerror', error)}") from error

    def courses(self, stream: str) -> list[Course]:
        """Return the course of a stream, by episode."""
        return courses_of((path.read_bytes() for path in course_files(self._view)), stream)

    def decisions(self, streams: Iterable[str], limit: int) -> dict[str, list[dict[str, Any]]]:
        """Return the newest decisions of each stream that has any, newest first; none without a journal."""
        if self._state is None or not journal_path(self._state).exists():
            return {}
        with JournalReader(journal_path(self._state)) as journal:
            found = {stream: journal.decisions(limit, stream=stream)[::-1] for stream in streams}
        return {stream: decisions for stream, decisions in found.items() if decisions}

    def models(self) -> list[Path]:
        """Return the files of the models that the state keeps, newest first."""
        if self._state is None:
            return []
        found = [path for path in models_folder(self._state).glob("*.streamfs") if _DIGEST.fullmatch(path.stem)]
        return sorted(found, key=lambda path: -path.stat().st_mtime)

    def address(self, said: str | None) -> str | None:
        """Return where the gateway says that it takes actions."""
        return said


class HttpGateway:
    """The HTTP of a gateway, which need not run on this machine."""

    def __init__(self, url: str) -> None:
        self.place = url.rstrip("/")

    def stamp(self) -> Hashable:
        """Return a number that changes twice a second, since the gateway alone knows when it writes."""
        return monotonic() // _PAUSE

    def fetch(self, kind: str) -> Fetched:
        """Return a view."""
        return self._get(f"/view/{kind}")

    def courses(self, stream: str) -> list[Course]:
        """Return the course of a stream, by episode."""
        return from_json(bytes(self._get(f"/course?stream={quote(stream, safe='')}").packed))

    def decisions(self, streams: Iterable[str], limit: int) -> dict[str, list[dict[str, Any]]]:  # noqa: ARG002
        """Return none: a gateway does not tell its journal over HTTP."""
        return {}

    def models(self) -> list[Path]:
        """Return none, as above."""
        return []

    def address(self, said: str | None) -> str | None:
        """Return this address if the gateway takes actions."""
        return None if said is None else self.place

    def _get(self, path: str) -> Fetched:
        try:
            with urlopen(f"{self.place}{path}", timeout=_PATIENCE) as answer:  # noqa: S310 - see `source_of`
                packed, date = answer.read(LARGEST + 1), answer.headers.get("Date")
        except (OSError, HTTPException) as error:
            raise StateError(f"{self.place} does not answer: {getattr(error, 'reason', error)}") from error
        if len(packed) > LARGEST:
            raise StateError(f"{self.place}{path} has more than {LARGEST} bytes")
        return Fetched(packed, 0.0 if date is None else _ahead(date))


def _ahead(date: str) -> float:
    """Return how far a clock is ahead, by the date of an answer, in whole seconds; 0 where that is not known."""
    try:
        ahead = parsedate_to_datetime(date).timestamp() - time()
    except (TypeError, ValueError):
        return 0.0
    return ahead if abs(ahead) > 1.5 else 0.0


def source_of(text: str) -> GatewayPlace:
    """Return the source that a person names; raise a ValueError if it is neither a folder nor an address.

    Examples
    --------
    >>> source_of("http://attic.example:9464/").place
    'http://attic.example:9464'
    """
    if urlsplit(text).scheme in ("http", "https"):
        return HttpGateway(text)
    folder = Path(text)
    if "://" in text or (folder.exists() and not folder.is_dir()):
        raise ValueError(f"{text!r} is neither the folder of a gateway's state nor http://HOST:PORT")
    return GatewayFolder(folder)
