"""Many streams at once, each followed until it is decided: no clock, no threads, no input or output.

The state of all streams stands in arrays, one row a stream. Driven by grid ticks, it is the same engine under a
gateway, a replay of a file and a test.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from feature_extractors import Program
from feature_extractors.base import LARGEST, Array
from streamfs import container
from streamfs.errors import ModelError
from streamfs.growth import grown, spare
from streamfs.procedure import Decision, Procedure

KIND, VERSION = "snapshot", 2

MAX_LEFT = 10_000

FREE, WAITING, OPEN, DECIDED = range(4)
"""What a row holds: no stream; one whose episode has not begun; one that is followed; one that is decided."""

Rows = npt.NDArray[np.int64]

_COLUMNS: dict[str, tuple[Any, float]] = {
    "start": (np.float64, np.nan),
    "tick": (np.int64, 0),
    "episode": (np.int64, 1),
    "confidence": (np.float64, np.nan),
    "status": (np.int8, FREE),
}
"""What is kept of a stream beside its features' state: dtype, and the value in a new row."""


class Engine:
    """Follow streams through a classification procedure.

    Parameters
    ----------
    procedure : Procedure
        What to run.

    Attributes
    ----------
    counters : collections.Counter
        ``samples`` taken; ``before_opening`` (incomplete samples of a stream whose episode has not begun),
        ``late``, ``duplicate`` and ``after_decision`` samples, which change nothing; ``not_finite`` readings
        (infinite, or beyond 1e100), taken as missing.

    Notes
    -----
    An episode opens at the first sample with a value in every column. A sample belongs to the tick nearest to its
    time, counted in periods from there; ticks may be missing, but time goes on: the time limit counts them. A
    sample of a tick that has passed is late, one of the newest tick a duplicate. Of the streams that have left,
    the names and the numbers of their episodes are kept, so that no two decisions bear one id; of those that left
    longest ago, beyond ten thousand, only the highest number, from which any new stream then counts on.

    Examples
    --------
    >>> import feature_extractors as fx
    >>> from streamfs import Costs, Procedure
    >>> from streamfs.classifiers.tree import Tree
    >>> tree = Tree.from_json({
    ...     "feature": [0, -1, -1], "nominal": [False] * 3, "threshold": [0.5, 0.0, 0.0],
    ...     "first_child": [1, 0, 0], "n_children": [2, 0, 0], "code": [0.0] * 3, "share": [1.0, 0.5, 0.5],
    ...     "counts": [[20.0, 20.0], [12.0, 8.0], [0.0, 19.0]], "laplace": True,
    ... })
    >>> procedure = Procedure((fx.get("mean(light)"),), tree, ("off", "on"), Costs([1.0]), 0.9, time_limit=60)
    >>> engine = Engine(procedure)
    >>> engine.push("desk", 0.0, [0.3])
    >>> engine.push("desk", 1.0, [0.9]).label
    'on'
    """

    def __init__(self, procedure: Procedure) -> None:
        self.procedure = procedure
        self.counters: Counter[str] = Counter()
        self._program = Program(procedure.features, procedure.channels)
        self._row_of: dict[str, int] = {}
        self._names: list[str] = []
        self._free: list[int] = []
        self._left: dict[str, int] = {}
        self._floor = 0
        self._state = self._program.new_state(0)
        self._columns = {name: np.empty(0, dtype) for name, (dtype, _) in _COLUMNS.items()}

    @property
    def n_open(self) -> int:
        """Streams that are being followed."""
        return int(np.count_nonzero(self._columns["status"] == OPEN))

    @property
    def n_streams(self) -> int:
        """Streams that are known, decided ones among them."""
        return len(self._row_of)

    @property
    def streams(self) -> tuple[str, ...]:
        """Names of the streams that are known, decided ones among them."""
        return tuple(self._row_of)

    def row(self, stream: str) -> int:
        """The row of a stream, which `push_rows` takes; a new one where the stream is new."""
        return self._row(stream)

    def rows(self, *statuses: int) -> Rows:
        """Rows of the streams in any of these states, rising."""
        status = self._columns["status"][: len(self._names)]
        wanted = status == statuses[0]
        for other in statuses[1:]:
            wanted |= status == other
        return np.flatnonzero(wanted)

    def name(self, row: int) -> str:
        """The stream in a row."""
        return self._names[row]

    def status(self, stream: str) -> int:
        """What the stream's row holds; FREE for an unknown stream."""
        row = self._row_of.get(stream)
        return FREE if row is None else int(self._columns["status"][row])

    def episode(self, stream: str) -> int:
        """The number of a stream's newest episode."""
        return int(self._columns["episode"][self._known(stream)])

    def values(self, stream: str) -> Array:
        """The features' newest values of a stream, shape (n_features,)."""
        return self._state[self._known(stream), : len(self.procedure.features)].copy()

    def decided_at(self, rows: Rows) -> Array:
        """Event times, in seconds, of the last ticks of decided streams; NaN where an episode never opened."""
        ticks = self._columns["tick"][rows]
        return self._columns["start"][rows] + (ticks - 1) * self.procedure.period

    def is_decided(self, stream: str) -> bool:
        """Whether the stream's episode has ended."""
        row = self._row_of.get(stream)
        return row is not None and bool(self._columns["status"][row] == DECIDED)

    def admit(self, stream: str) -> None:
        """Make a stream known before its first sample; one that is known stays as it is."""
        self._row(stream)

    def push(self, stream: str, time: float, sample: npt.ArrayLike) -> Decision | None:
        """Take one sample of one stream.

        Parameters
        ----------
        stream : str
            Its name; a new name is a new stream.
        time : float
            Event time, seconds.
        sample : array_like of shape (n_channels,)
            Values in the order of the procedure's channels; NaN is missing.

        Returns
        -------
        Decision or None
            Where this sample ends the episode.
        """
        decisions = self.push_batch([stream], [time], np.asarray(sample, dtype=np.float64)[np.newaxis])
        return decisions[0] if decisions else None

    def push_batch(self, streams: Sequence[str], times: npt.ArrayLike, samples: npt.ArrayLike) -> list[Decision]:
        """Take a batch of samples, in order.

        Parameters
        ----------
        streams : sequence of str
            The stream of each sample; one may come several times.
        times : array_like of shape (n_samples,)
            Event times, seconds.
        samples : array_like of shape (n_samples, n_channels)
            Values in the order of the procedure's channels; NaN is missing.

        Returns
        -------
        list of Decision
            Of the episodes that these samples end.

        Raises
        ------
        ValueError
            If shapes do not fit, or a time is not finite; nothing is taken then. Also if a plain Python feature
            fails: where a stream comes several times, its samples before are taken and their decisions lost.
        """
        unnamed = next((stream for stream in streams if not isinstance(stream, str)), None)
        if unnamed is not None:
            raise TypeError(f"stream is {unnamed!r}, expected its name as text")
        times = np.asarray(times, dtype=np.float64)
        samples = np.array(samples, dtype=np.float64, ndmin=2)
        shape = (len(streams), len(self.procedure.channels))
        samples = samples.reshape(shape) if samples.size == 0 == shape[0] * shape[1] else samples
        if samples.shape != shape:
            raise ValueError(f"samples have shape {samples.shape}, expected {shape}: {self.procedure.channels}")
        if times.shape != shape[:1]:
            raise ValueError(f"times have shape {times.shape}, expected {shape[:1]}")
        if not np.isfinite(times).all():
            wrong = int(np.argmin(np.isfinite(times)))
            raise ValueError(f"time of a sample of stream {streams[wrong]!r} is {times[wrong]}")
        self.counters["samples"] += len(streams)
        self.counters["not_finite"] += int(np.count_nonzero(np.abs(samples) > LARGEST))
        rows = np.fromiter((self._row(stream) for stream in streams), dtype=np.int64, count=len(streams))
        decisions: list[Decision] = []
        for turn in _turns(rows):
            decisions += self._take(rows[turn], times[turn], samples[turn])
        return decisions

    def push_rows(self, rows: Rows, time: float, samples: Array) -> list[Decision]:
        """Take a sample of each of some rows at one time: what `push_batch` does, for those who hold the rows.

        Parameters
        ----------
        rows : ndarray of shape (n_samples,)
            As `row` has given them, each once.
        time : float
            Event time, seconds.
        samples : ndarray of shape (n_samples, n_channels)
            Values in the order of the procedure's channels; NaN is missing.
        """
        self.counters["samples"] += len(rows)
        self.counters["not_finite"] += int(np.count_nonzero(np.abs(samples) > LARGEST))
        return self._take(rows, np.full(len(rows), time), samples)

    def expire(self, now: float) -> list[Decision]:
        """Time out the streams whose time limit has passed.

        Parameters
        ----------
        now : float
            Event time up to which all samples have come (the watermark), seconds.
        """
        limit = self.procedure.time_limit * self.procedure.period
        open_rows = np.flatnonzero(self._columns["status"] == OPEN)
        overdue = open_rows[self._columns["start"][open_rows] + limit <= now]
        return self._time_out(overdue)

    def close(self, stream: str) -> Decision | None:
        """Forget a stream that has left; if it was not decided, that is its decision.

        Raises
        ------
        ValueError
            If the stream is not known.
        """
        row = self._known(stream)
        undecided = self._columns["status"][row] != DECIDED
        decision = self._decide(row, None, "closed") if undecided else None
        self.remember(stream, self.release(stream))
        return decision

    def release(self, stream: str) -> int:
        """Let go of a stream without a decision, for another engine to `adopt`; return the number of its episode.

        Raises
        ------
        ValueError
            If the stream is not known.
        """
        row = self._known(stream)
        self._columns["status"][row] = FREE
        self._names[row] = ""
        del self._row_of[stream]
        self._free.append(row)
        return int(self._columns["episode"][row])

    def remember(self, stream: str, episode: int) -> None:
        """Let a stream that has left count on from an episode, should it come again."""
        self._left[stream] = episode
        if len(self._left) > MAX_LEFT:
            self._floor = max(self._floor, self._left.pop(next(iter(self._left))))

    def adopt(self, stream: str, episode: int, *, decided_at: float | None = None) -> int:
        """Take over a stream from another engine, and return its row.

        Parameters
        ----------
        stream : str
            Its name.
        episode : int
            The number of its episode there.
        decided_at : float, optional
            Event time, in seconds, at which that episode was decided; None where it has not begun.
        """
        row = self._row(stream)
        self._columns["episode"][row] = episode
        if decided_at is not None:
            self._columns["status"][row] = DECIDED
            self._columns["start"][row], self._columns["tick"][row] = decided_at, 1  # what the method tells
        return row

    def inherit(self, other: "Engine") -> None:
        """Count on from the episodes of the streams that have left another engine."""
        self._left = {**other._left, **self._left}  # noqa: SLF001 - another of this class
        self._floor = max(self._floor, other._floor)  # noqa: SLF001

    def reopen(self, stream: str) -> None:
        """Let a decided stream begin its next episode with its next complete sample.

        Raises
        ------
        ValueError
            If the stream is not known, or not decided.
        """
        row = self._known(stream)
        if self._columns["status"][row] != DECIDED:
            raise ValueError(f"stream {stream!r} is not decided yet")
        self._reset(row, int(self._columns["episode"][row]) + 1)

    def snapshot(self) -> bytes:
        """Everything that the engine knows of its streams; `restore` goes on from it bit for bit."""
        return container.pack(KIND, VERSION, *self.freeze())

    def freeze(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Copy what `snapshot` packs: a header of what JSON can hold, and arrays."""
        used = len(self._names)
        header = {
            "procedure": self.procedure.digest,
            "state_versions": [feature.state_version for feature in self.procedure.features],
            "names": self._names.copy(),
            "free": self._free.copy(),
            "left": self._left.copy(),
            "floor": self._floor,
            "counters": dict(self.counters),
        }
        arrays = {name: column[:used].copy() for name, column in self._columns.items()}
        return header, arrays | {"state": self._state[:used].copy()}

    @classmethod
    def restore(cls, procedure: Procedure, snapshot: bytes) -> Self:
        """Go on from a snapshot.

        Raises
        ------
        ModelError
            If the snapshot is damaged, or was taken under another procedure or other versions of its features.
        """
        header, arrays, _ = container.unpack(snapshot, KIND, VERSION, "the snapshot")
        return cls.thaw(procedure, header, arrays)

    @classmethod
    def thaw(cls, procedure: Procedure, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Go on from what `freeze` has copied; as `restore`."""
        if header["procedure"] != procedure.digest:
            raise ModelError(f"the snapshot belongs to procedure {header['procedure']}, not to {procedure.digest}")
        versions = [feature.state_version for feature in procedure.features]
        if header["state_versions"] != versions:
            raise ModelError(f"the snapshot has state versions {header['state_versions']}, expected {versions}")
        engine = cls(procedure)
        engine._names = list(header["names"])
        engine._free = list(header["free"])
        free = set(engine._free)
        engine._row_of = {name: row for row, name in enumerate(engine._names) if row not in free}
        engine._left = dict(header["left"])
        engine._floor = header["floor"]
        engine.counters = Counter(header["counters"])
        engine._state = arrays["state"]
        engine._columns = {name: arrays[name] for name in _COLUMNS}
        return engine

    def _take(self, rows: Rows, times: Array, samples: Array) -> list[Decision]:
        """Take samples of as many different streams."""
        column = self._columns
        complete = (np.abs(samples) <= LARGEST).all(axis=1)
        opening = (column["status"][rows] == WAITING) & complete
        column["start"][rows[opening]] = times[opening]
        column["status"][rows[opening]] = OPEN
        status = column["status"][rows]
        self.counters["before_opening"] += int(np.count_nonzero(status == WAITING))
        self.counters["after_decision"] += int(np.count_nonzero(status == DECIDED))
        is_open = np.flatnonzero(status == OPEN)
        rows, times, samples = rows[is_open], times[is_open], samples[is_open]
        limit = self.procedure.time_limit
        elapsed = np.floor((times - column["start"][rows]) / self.procedure.period + 0.5)
        ticks = np.clip(elapsed, -1, limit).astype(np.int64) + 1
        overdue = ticks > limit
        self.counters["duplicate"] += int(np.count_nonzero(ticks == column["tick"][rows]))
        self.counters["late"] += int(np.count_nonzero(ticks < column["tick"][rows]))
        new = (ticks > column["tick"][rows]) & ~overdue
        decided = self._classify(rows[new], ticks[new], samples[new])  # first: a plain Python feature may fail
        timed_out = self._time_out(rows[overdue])
        self.counters["after_decision"] += len(timed_out)
        return timed_out + decided

    def _classify(self, rows: Rows, ticks: Rows, samples: Array) -> list[Decision]:
        """Move streams on by a tick each, and decide those whose confidence suffices or whose time is up."""
        if not len(rows):
            return []
        seconds = (ticks - 1).astype(np.float64) * self.procedure.period
        values = self._program.advance(self._state, rows, np.ascontiguousarray(samples), seconds)
        probabilities = self.procedure.classifier.probabilities(values)
        best = probabilities.argmax(axis=1)
        confidence = probabilities[np.arange(len(rows)), best]
        self._columns["tick"][rows] = ticks
        self._columns["confidence"][rows] = confidence
        decisions = []
        for i in np.flatnonzero((confidence >= self.procedure.confidence) | (ticks == self.procedure.time_limit)):
            confident = confidence[i] >= self.procedure.confidence
            label = self.procedure.classes[best[i]] if confident else None
            decisions.append(self._decide(int(rows[i]), label, "confident" if confident else "timeout"))
        return decisions

    def _time_out(self, rows: Iterable[int]) -> list[Decision]:
        decisions = []
        for row in rows:
            self._columns["tick"][row] = self.procedure.time_limit
            decisions.append(self._decide(int(row), None, "timeout"))
        return decisions

    def _decide(self, row: int, label: str | None, reason: str) -> Decision:
        self._columns["status"][row] = DECIDED
        tick = int(self._columns["tick"][row])
        return Decision(
            stream=self._names[row],
            episode=int(self._columns["episode"][row]),
            label=label,
            confidence=float(self._columns["confidence"][row]),
            tick=tick,
            cost=self.procedure.cost(tick),
            reason=reason,
            time=float(self._columns["start"][row] + (tick - 1) * self.procedure.period),
        )

    def _known(self, stream: str) -> int:
        if stream not in self._row_of:
            raise ValueError(f"stream {stream!r} is not known")
        return self._row_of[stream]

    def _row(self, stream: str) -> int:
        """The row of a stream, a new one where the stream is new."""
        row = self._row_of.get(stream)
        if row is None:
            stream = str(stream)  # a name of numpy's own kind is no JSON
            row = self._free.pop() if self._free else len(self._names)
            if row == len(self._names):
                self._names.append(stream)
                self._grow()
            self._names[row] = stream
            self._row_of[stream] = row
            self._reset(row, self._left.pop(stream, self._floor) + 1)
        return row

    def _reset(self, row: int, episode: int) -> None:
        for name, (_, value) in _COLUMNS.items():
            self._columns[name][row] = value
        self._columns["episode"][row] = episode
        self._columns["status"][row] = WAITING
        self._state[row] = self._program.new_state(1)[0]

    def _grow(self) -> None:
        """Make room for the newest row, and for some more."""
        capacity = len(self._state)
        if len(self._names) > capacity:
            more = spare(capacity)
            self._state = grown(self._state, self._program.new_state(more))
            for name, (dtype, value) in _COLUMNS.items():
                self._columns[name] = grown(self._columns[name], np.full(more, value, dtype))


def _turns(rows: Rows) -> list[npt.NDArray[np.intp]]:
    """Split a batch so that no stream comes twice in a turn, and each stream's samples keep their order."""
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(rows) else np.zeros(0, np.intp)
    if len(starts) == len(rows):
        return [np.arange(len(rows))]
    turn = np.arange(len(rows)) - np.repeat(starts, np.diff(np.r_[starts, len(rows)]))
    return [np.sort(order[turn == k]) for k in range(turn.max() + 1)]
