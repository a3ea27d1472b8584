"""The view of a gateway for `streamfs page`: files that it writes at leisure, and that nothing else needs."""

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import Event, Thread
from time import monotonic, thread_time, time
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from streamfs.base.version import __version__
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.model_streams import ModelStreams
from streamfs.gateway.core.view_arrays import changed_rows, model_facts, moment, node_arrays, stream_arrays
from streamfs.gateway.operations.courses import (
    CourseWriter,
    course_files,
    courses_of,
    key_of,
    record_type,
    to_json,
)
from streamfs.gateway.operations.health import Health, Statistics
from streamfs.gateway.operations.view_file import NOW, STREAMS, pack
from streamfs.gateway.storage.folders import OWNERS_FILE, OWNERS_FOLDER, make_folder
from streamfs.procedure.procedure import Decision

_log = logging.getLogger(__name__)

SHARE, SHARE_OF_FACTS = 0.01, 0.002
"""Share of a processor that the view may take, and of which what has no row for each stream."""

MOST_DECISIONS, MOST_LETTERS = 200, 100
"""Newest decisions and dead letters that it shows."""

_COURSE_SECONDS = 0.002  # of the processor for looking at the course of streams at a time
_FEW, _MANY = 16, 8192  # streams that are looked at together


class Shown(Protocol):
    """What the view needs of a gateway beside its core."""

    ready: Event

    def statistics(self) -> Statistics:
        """Return statistics that are at most a second old."""

    def health(self) -> Health:
        """Return the state of health."""


class ViewRows(NamedTuple):
    """Copies with a row for each stream and node, and records of the course of some streams."""

    facts: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]
    records: list[tuple[str, Any, npt.NDArray[Any]]]
    spent: float


class ViewWriter:
    """Writes what can be seen of a gateway into a folder; without one, only what HTTP shows is made.

    Facts are written every `seconds`, and after decisions and dead letters; streams and nodes, and the course of
    streams, every `seconds`; each as seldom as its processor time, within the loop and in a thread of its own,
    demands. What cannot be written is left out: nothing depends on it.

    Attributes
    ----------
    cpu_seconds : float
        Processor time so far.
    http : str, optional
        Address at which actions are taken.
    muted : callable
        Returns the warnings that are not to be shown, and until when.
    """

    def __init__(self, folder: Path | None, seconds: float = 1.0) -> None:
        self.cpu_seconds = 0.0
        self.folder = folder
        self.http: str | None = None
        self.muted: Callable[[], Mapping[str, float]] = dict
        self._kept: dict[str, bytes] = {}  # by name, where there is no folder
        self._began = time()
        self._seconds = seconds
        self._due = self._news_due = self._rows_due = 0.0
        self._rows_written = 0.0
        self._energy_before: float | None = None  # of earlier runs
        self._has_news = False
        self._thread: Thread | None = None
        self._decisions: deque[dict[str, Any]] = deque(maxlen=MOST_DECISIONS)
        self._letters: deque[dict[str, Any]] = deque(maxlen=MOST_LETTERS)
        self._known: dict[str, npt.NDArray[np.int64]] = {}  # moments at which somebody looked, by model
        self._n_looks, self._next_row = _FEW, 0
        self._has_begun = self._is_failing = self._is_broken = False
        self._courses = None if folder is None else CourseWriter(folder, _opened)

    def note_decisions(self, decisions: Iterable[Decision]) -> None:
        """Take decisions."""
        self._note(self._decisions, [decision.to_json() for decision in decisions])

    def note_rejected(self, letters: Iterable[Mapping[str, Any]]) -> None:
        """Take messages that could not be read."""
        self._note(self._letters, letters)

    def _note(self, kept: deque[dict[str, Any]], found: Iterable[Mapping[str, Any]]) -> None:
        fresh = [{**each, "at": time()} for each in found]
        kept.extend(fresh)
        self._has_news |= bool(fresh)

    def advance(self, core: Core, gateway: Shown) -> None:
        """Begin to write what is due of a core and its gateway."""
        now, due = monotonic(), self._news_due if self._has_news else self._due
        if now < due or self._is_broken or (self._thread is not None and self._thread.is_alive()):
            return
        self._has_news = False
        try:
            self._begin(self._facts(core, gateway), self._rows(core) if now >= self._rows_due else None)
        except Exception:  # noqa: BLE001 - whatever it is, the gateway goes on
            self._is_broken = True
            _log.exception("the view for streamfs page cannot be made; there is none until the next start")

    def finish(self, core: Core, gateway: Shown) -> None:
        """Write a last view, as far as a second suffices."""
        self._join()
        if self._is_broken:
            return
        self._begin({**self._facts(core, gateway), "has_ended": True}, self._rows(core))
        self._join()

    def newest(self, name: str) -> bytes:
        """Return the newest of one kind, empty before the first; may be called from any thread."""
        if self.folder is None:
            return self._kept.get(name, b"")
        try:
            return (self.folder / name).read_bytes()
        except OSError:
            return b""

    def course(self, stream: str) -> bytes:
        """Return the course of a stream as JSON, of the newest files; may be called from any thread."""
        paths = [] if self.folder is None else course_files(self.folder)[-2:]
        return to_json(courses_of((path.read_bytes() for path in paths), stream))

    def _facts(self, core: Core, gateway: Shown) -> dict[str, Any]:
        """Return what is shown of the gateway as a whole."""
        statistics, health = gateway.statistics(), gateway.health()
        if self._energy_before is None:
            self._energy_before = statistics.energy
        problems = health.problems()
        orphans = sorted(core.orphans.items(), key=lambda each: -each[1])[:MOST_LETTERS]
        return {
            "name": core.options.name,
            "prefix": core.options.prefix,
            "program": __version__,
            "began": self._began,
            "seconds": self._seconds,
            "http": self.http,
            "has_ended": False,
            "is_ready": gateway.ready.is_set() and not problems,
            "problems": problems,
            "warnings": health.warnings(),
            "muted": dict(self.muted()),
            "counters": dict(statistics.counters),
            "gauges": dict(statistics.gauges),
            "decided": [[reason, label, n] for (reason, label), n in statistics.decisions.items()],
            "open": dict(statistics.models),
            "energy": statistics.energy,
            "energy_before": self._energy_before,
            "unit": statistics.unit,
            "alerts": dict(statistics.alerts),
            "promise": statistics.promise,
            "reopen_after": core.options.streams.reopen_after,
            "decisions": list(self._decisions),
            "letters": list(self._letters),
            "orphans": dict(orphans),
            "devices": [
                {"node": device.node, "profile": device.profile.partition(":")[0], "state": device.state}
                for device in core.conduct.devices.values()
            ],
        }

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join(0.5)

    def _begin(self, facts: dict[str, Any], rows: ViewRows | None) -> None:
        self._thread = Thread(target=self._write, args=[facts, rows], name="streamfs-view", daemon=True)
        self._thread.start()

    def _rows(self, core: Core) -> ViewRows:
        began = thread_time()
        models = [(model, *stream_arrays(model, core.joiner)) for model in core.roster.models]
        nodes, of_nodes = node_arrays(core.roster, core.joiner, core.batteries)
        in_use = {model.procedure.digest for model, _, _ in models}
        self._known = {digest: seen for digest, seen in self._known.items() if digest in in_use}
        records = [found for model, _, _ in models if (found := self._look(model)) is not None]
        arrays = {f"nodes.{name}": array for name, array in of_nodes.items()}
        for place, (_, _, copies) in enumerate(models):
            arrays |= {f"model{place}.{name}": array for name, array in copies.items()}
        facts = {
            "models": [model_facts(model) for model, _, _ in models],
            "channels": core.joiner.channels,
            "streams": [names for _, names, _ in models],
            "nodes": nodes,
        }
        return ViewRows(facts, arrays, records, thread_time() - began)

    def _look(self, model: ModelStreams) -> tuple[str, Any, npt.NDArray[Any]] | None:
        """Return records of some streams whose course has gone on, beginning where the last look ended."""
        if self._courses is None:
            return None
        began = thread_time()
        procedure, engine = model.procedure, model.engine
        seen = self._seen(model)
        rows = changed_rows(model, seen)
        if not len(rows):
            return None
        start = int(np.searchsorted(rows, self._next_row))
        rows = np.roll(rows, -start)[: self._n_looks]
        self._next_row = int(rows[-1]) + 1
        seen[rows] = moment(model, rows)
        values, progress = engine.newest_values(rows), engine.progress(rows)
        records = np.zeros(len(rows), record_type(len(procedure.classes), len(procedure.features)))
        records["key"] = [key_of(name) for name in engine.names(rows)]
        for name in ("episode", "tick", "confidence"):
            records[name] = progress[name]
        records["time"], records["probabilities"] = time(), np.nan
        with np.errstate(over="ignore"):  # features may be as large as readings
            records["values"] = values
        if not procedure.classifier.uncalibrated().pickled:  # others would count what they fail at
            records["probabilities"] = procedure.classifier.probabilities(values)
        self._n_looks = _paced(self._n_looks, len(rows), thread_time() - began)
        return procedure.digest, (procedure.classes, [feature.name for feature in procedure.features]), records

    def _seen(self, model: ModelStreams) -> npt.NDArray[np.int64]:
        """Return the moments at which somebody looked at each row of a model."""
        seen = self._known.get(model.procedure.digest, np.zeros(0, dtype=np.int64))
        missing = model.engine.capacity - len(seen)
        if missing > 0:
            seen = np.concatenate([seen, np.zeros(missing, dtype=np.int64)])
        self._known[model.procedure.digest] = seen
        return seen

    def _write(self, facts: dict[str, Any], rows: ViewRows | None) -> None:
        """Pack and write, in the thread of its own."""
        began, of_rows = thread_time(), 0.0
        try:
            if rows is not None:
                written = time()
                self._store(STREAMS, pack({**rows.facts, "written": written}, rows.arrays), rows.records)
                self._rows_written = written
                of_rows = rows.spent + thread_time() - began
            self._store(NOW, pack({**facts, "rows_written": self._rows_written, "written": time()}, {}))
            self._is_failing = False
        except OSError as error:
            if not self._is_failing:
                _log.warning("the view for streamfs page cannot be written: %s; it is tried again", error)
            self._is_failing = True
        finally:
            spent = thread_time() - began + (0.0 if rows is None else rows.spent)
            self.cpu_seconds += spent
            if rows is not None:
                self._rows_due = monotonic() + max(self._seconds, of_rows / (SHARE - SHARE_OF_FACTS))
            self._news_due = monotonic() + (spent - of_rows) / SHARE_OF_FACTS
            self._due = max(monotonic() + self._seconds, self._news_due)

    def _store(
        self,
        name: str,
        parts: list[bytes | memoryview],
        records: Iterable[tuple[str, Any, npt.NDArray[Any]]] = (),
    ) -> None:
        """Write one in place of the one before, and records behind those before."""
        if self.folder is None:
            self._kept[name] = b"".join(parts)
            return
        if self._has_begun:  # nothing takes the place of a state that was moved, and is to be put back
            self.folder.mkdir(OWNERS_FOLDER, exist_ok=True)
        else:
            make_folder(self.folder, OWNERS_FOLDER)
            self._has_begun = True
        fresh = self.folder / f"{name}.new"
        fresh.unlink(missing_ok=True)
        with _opened(fresh) as file:
            file.writelines(parts)
        fresh.replace(self.folder / name)
        if self._courses is not None:
            for digest, of_model, some in records:
                self._courses.write(digest, of_model, some)


def _paced(n_looks: int, n_rows: int, spent: float) -> int:
    """Return how many streams may be looked at next, given what the last look at some took."""
    if n_rows < n_looks and spent <= _COURSE_SECONDS:
        return n_looks
    factor = min(2.0, max(0.5, _COURSE_SECONDS / max(spent, 1e-6)))
    return min(_MANY, max(_FEW, int(n_looks * factor)))


def _opened(path: Path) -> BinaryIO:
    """Open a file that its owner alone can read, to append to it."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, OWNERS_FILE), "ab")
