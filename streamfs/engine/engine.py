"""Follow many streams until each is decided: no clock, no threads, no input or output."""

import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import isfinite
from operator import itemgetter
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.base import container
from streamfs.engine import _stopping, _ticks
from streamfs.engine._arena import COUNTERS, DECIDED, ENDED, FREE, OPEN, WAITING, KernelArena
from streamfs.engine.channel_requests import ChannelRequests
from streamfs.engine.samples import as_samples, as_times, contiguous, split_into_turns
from streamfs.engine.snapshot_checks import validate_snapshot
from streamfs.engine.stream_table import Rows, StreamTable
from streamfs.procedure.procedure import Decision, Procedure
from streamfs.procedure.requested_channels import RequestedChannels
from streamfs.procedure.stopping import checked_actions

KIND, VERSION = "snapshot", 4
UNLABELLED = {_stopping.NO_LABEL: "timeout", _stopping.GIVEN_UP: "given_up"}
"""The reasons of decisions without a label that a sample leads to."""

__all__ = ["DECIDED", "FREE", "OPEN", "WAITING", "Engine"]


class Engine:
    """Follow streams through a classification procedure.

    Parameters
    ----------
    procedure : Procedure
        What to run.

    Notes
    -----
    An episode opens at the first sample with a value in every column that does not open later. A sample belongs to
    the tick nearest to its time, counted in periods from the opening; missing ticks count towards the time limit.
    A sample of an earlier tick is late, one of the newest tick a duplicate. The names and episode numbers of the
    last ten thousand streams that left are kept, so that decision ids are unique; of those that left earlier only
    the highest number is kept, and new streams count from there.

    Calls must not overlap: threads that share an engine need a lock around every one of them.

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
        self._program = procedure.program
        self._arena = KernelArena(self._program, procedure)
        requested = RequestedChannels.of(procedure.classifier, procedure.features)
        self._table = StreamTable(self._program, self._arena, has_costs=requested is not None)
        self._registry = self._table.registry
        self._requests = ChannelRequests(procedure, requested, self._table)
        has_forest = self._arena.has_forest
        has_classifier = self._arena.has_tree or has_forest
        self._is_compiled = has_classifier and self._arena.has_thresholds and self._program.is_compiled
        self._take_many, self._take_one = _ticks.BY_FOREST if has_forest else _ticks.BY_TREE
        self._record, single = self._arena.record, self._arena["single_sample"]
        self._single_sample, self._single_row = single.data, single[:1].view(np.int64)
        self._pack_sample = struct.Struct(f"qd{len(procedure.channels)}d").pack_into

    def __reduce__(self) -> NoReturn:
        raise TypeError("an engine cannot be copied or pickled, take a snapshot")

    @property
    def counters(self) -> Counter[str]:
        """Counters by name.

        ``samples`` taken; ``before_opening`` (incomplete samples before the episode), ``late``, ``duplicate`` and
        ``after_decision`` samples, which have no effect; ``not_finite`` readings (infinite, or beyond 1e100),
        taken to be missing.
        """
        return Counter(dict(zip(COUNTERS, self._arena["counters"].tolist(), strict=True)))

    @property
    def n_open(self) -> int:
        """Number of open episodes."""
        return int(np.count_nonzero(self._table.status == OPEN))

    @property
    def n_undecided(self) -> int:
        """Number of streams that are waiting or open."""
        status = self._table.status
        return int(np.count_nonzero((status == WAITING) | (status == OPEN)))

    @property
    def n_streams(self) -> int:
        """Number of known streams, decided ones included."""
        return len(self._registry.row_of)

    @property
    def streams(self) -> tuple[str, ...]:
        """Names of the known streams, decided ones included."""
        return tuple(self._registry.row_of)

    def row(self, stream: str) -> int:
        """Return the row of a stream, for `push_rows`; a new stream gets a new row."""
        return self._table.row(stream)

    def rows(self, *statuses: int) -> Rows:
        """Return the rows of the streams in any of these states, ascending."""
        wanted = sum(1 << status for status in set(statuses))
        found: Rows = _ticks.rows_in(self._table.status[: len(self._registry.names)], wanted)
        return found

    def name(self, row: int) -> str:
        """Return the stream in a row."""
        return self._registry.names[row]

    @property
    def capacity(self) -> int:
        """Number of rows, free ones included."""
        return len(self._table.status)

    def names(self, rows: Rows) -> list[str]:
        """Return the streams in some rows."""
        names = self._registry.names
        return [names[row] for row in rows.tolist()]

    def progress(self, rows: Rows) -> npt.NDArray[Any]:
        """Return copies of the streams' start, newest tick, episode number and confidence, shape (n_rows,)."""
        return self._table.streams[rows]

    def statuses(self, rows: Rows) -> npt.NDArray[np.int8]:
        """Return copies of the statuses of rows, shape (n_rows,)."""
        return self._table.status[rows]

    def newest_values(self, rows: Rows) -> Array:
        """Return copies of streams' newest feature values, shape (n_rows, n_features)."""
        return self._table.newest(rows)

    def status(self, stream: str) -> int:
        """Return the status of the stream's row; FREE for an unknown stream."""
        row = self._registry.row_of.get(stream)
        return FREE if row is None else int(self._table.status[row])

    def episode(self, stream: str) -> int:
        """Return the number of a stream's newest episode."""
        return int(self._table.streams["episode"][self._registry.row(stream)])

    def tick(self, stream: str) -> int:
        """Return the newest tick of a stream's newest episode; 0 before it opens."""
        return int(self._table.streams["tick"][self._registry.row(stream)])

    def values(self, stream: str) -> Array:
        """Return a stream's newest feature values, shape (n_features,)."""
        return self._table.state[self._registry.row(stream), : len(self.procedure.features)].copy()

    @cached_property
    def varies(self) -> bool:
        """Whether streams may begin or stop requesting a channel between the first tick and the decision."""
        return self.procedure.classifier.releases_features or max(self.procedure.openings, default=1) > 1

    def asked(self, rows: Rows, ahead: int = 1) -> npt.NDArray[np.bool_]:
        """Return which channels streams request for the `ahead` ticks that follow, shape (n_rows, n_channels).

        A channel is requested from its opening tick on. If the procedure's classifier releases features, it is
        only requested while the newest values call for it, and then not again before the next episode. Samples
        count as missing in the other channels even if they arrive. A decided stream has the requests with which it
        ended.
        """
        return self._requests.channels(rows, ahead)

    def decided_at(self, rows: Rows) -> Array:
        """Return the event times, in seconds, of decided streams' last ticks; NaN if an episode never opened."""
        ticks = self._table.streams["tick"][rows]
        return self._table.streams["start"][rows] + (ticks - 1) * self.procedure.period

    def is_waiting(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Return which streams wait for their episode to begin."""
        waiting: npt.NDArray[np.bool_] = self._table.status[rows] == WAITING
        return waiting

    def is_decided(self, stream: str) -> bool:
        """Return whether the stream's episode has ended."""
        row = self._registry.row_of.get(stream)
        return row is not None and bool(self._table.status[row] == DECIDED)

    def admit(self, stream: str) -> None:
        """Add a stream before its first sample; a known stream is left unchanged."""
        self.row(stream)

    def push(self, stream: str, time: float, sample: Sequence[float] | Array) -> Decision | None:
        """Take one sample of one stream.

        Parameters
        ----------
        stream : str
            Its name; a new name adds a stream.
        time : float
            Event time, seconds.
        sample : sequence of float, or ndarray of shape (n_channels,)
            Values in the order of the procedure's channels; NaN is missing.

        Returns
        -------
        Decision or None
            The decision, if this sample ends the episode.

        Raises
        ------
        TypeError
            If the stream is not a string.
        ValueError
            If the sample is not one number per channel, or as `push_batch`.
        """
        row = self._registry.row_of.get(stream)
        if row is None or not self._is_compiled or not isfinite(time):
            return self._push_slowly(stream, time, sample)
        try:
            numbers = sample.tolist() if isinstance(sample, np.ndarray) else sample  # much quicker to unpack
            self._pack_sample(self._single_sample, 0, row, time, *numbers)
        except (struct.error, TypeError) as error:
            raise self._misfit(sample) from error
        n_ended = self._take_one(self._record)
        return self._ended(n_ended, self._single_row)[0] if n_ended else None

    def push_batch(self, streams: Sequence[str], times: npt.ArrayLike, samples: npt.ArrayLike) -> list[Decision]:
        """Take a batch of samples, in order.

        Parameters
        ----------
        streams : sequence of str
            The stream of each sample; one may occur several times.
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
            fails, or the answer of a classifier or stopping rule does not fit: if a stream occurs several times,
            its earlier samples are taken and their decisions lost.
        """
        times = np.asarray(times, dtype=np.float64)
        samples = as_samples(self.procedure, len(streams), samples)
        times = as_times(times, len(streams), lambda i: f"stream {streams[i]!r}")
        return self.take(self._table.rows(streams), times, samples)

    def push_rows(self, rows: Rows, times: npt.ArrayLike, samples: npt.ArrayLike) -> list[Decision]:
        """Take samples of streams by their rows, otherwise as `push_batch`.

        Parameters
        ----------
        rows : ndarray of int64, shape (n_samples,)
            As returned by `row`; one may occur several times.
        times : float or array_like of shape (n_samples,)
            Event times, seconds; one number for all samples at that time.
        samples : array_like of shape (n_samples, n_channels)
            Values in the order of the procedure's channels; NaN is missing.

        Returns
        -------
        list of Decision
            Of the episodes that these samples end.

        Raises
        ------
        TypeError
            If the rows are not whole numbers.
        ValueError
            As `push_batch`; also if a row holds no stream. Nothing is taken then.
        """
        rows = np.asarray(rows)
        if rows.size and rows.dtype.kind not in "iu":
            raise TypeError(f"rows are of {rows.dtype}, expected whole numbers")
        rows = contiguous(rows.astype(np.int64, copy=False))
        if rows.ndim != 1:
            raise ValueError(f"rows have shape {rows.shape}, expected one dimension")
        samples = as_samples(self.procedure, len(rows), samples)
        times = np.asarray(times, dtype=np.float64)
        times = times if times.ndim else np.full(len(rows), times)
        times = as_times(times, len(rows), lambda i: f"row {rows[i]}")
        return self.take(rows, times, samples)

    def take(self, rows: Rows, times: Array, samples: Array) -> list[Decision]:
        """Take samples as `push_rows` does, given arrays as kernels read them; only the rows are validated."""
        self._reserve_ends(len(rows))
        if not self._is_compiled:
            return self._take_in_turns(rows, times, samples)
        n_ended = self._take_many(self._record, rows, times, samples)
        if n_ended == 0:
            return []
        if n_ended < 0:
            raise ValueError(f"row is {rows[-1 - n_ended]}, expected one that holds a stream")
        return self._ended(n_ended, rows)

    def expire(self, now: float) -> list[Decision]:
        """Time out the streams whose time limit has passed.

        Parameters
        ----------
        now : float
            Event time up to which all samples have arrived (the watermark), seconds.
        """
        rows = _ticks.overdue(self._record, float(now))
        self._requests.charge(rows, self.procedure.time_limit)
        self._table.streams["tick"][rows] = self.procedure.time_limit
        self._table.status[rows] = DECIDED
        return [self._decision(row, None, "timeout") for row in rows.tolist()]

    def next_deadline(self) -> float:
        """Return the event time, in seconds, from which `expire` times out a stream; infinity if none is open."""
        starts = self._table.streams["start"][self._table.status == OPEN]
        limit: float = self.procedure.time_limit * self.procedure.period
        return float(starts.min(initial=np.inf)) + limit

    def close(self, stream: str) -> Decision | None:
        """Remove a stream that has left; if it was undecided, return a decision without a label.

        Raises
        ------
        ValueError
            If the stream is not known.
        """
        row = self._registry.row(stream)
        undecided = self._table.status[row] != DECIDED
        decision = self._decision(row, None, "closed") if undecided else None
        self.remember(stream, self.release(stream))
        return decision

    def release(self, stream: str) -> int:
        """Remove a stream without a decision, for another engine to `adopt`; return its episode number.

        Raises
        ------
        ValueError
            If the stream is not known.
        """
        row = self._registry.remove(stream)
        self._table.status[row] = FREE
        return int(self._table.streams["episode"][row])

    def remember(self, stream: str, episode: int) -> None:
        """Keep the episode number of a stream that has left, to count on from if it returns."""
        self._registry.remember(stream, episode)

    def adopt(self, stream: str, episode: int, *, decided_at: float | None = None) -> int:
        """Take over a stream from another engine, and return its row.

        Parameters
        ----------
        stream : str
            Its name.
        episode : int
            The number of its episode there.
        decided_at : float, optional
            Event time, in seconds, at which that episode was decided; None if it has not begun.
        """
        row = self.row(stream)
        self._table.streams["episode"][row] = episode
        if decided_at is not None:
            self._table.status[row] = DECIDED
            self._table.streams["start"][row], self._table.streams["tick"][row] = decided_at, 1  # for `decided_at`
        return row

    def part_of(self, streams: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
        """Copy the state of some streams, for another engine with the same procedure to `place_part`."""
        return self._table.part_of(self._registry.rows(streams))

    def place_part(self, streams: Sequence[str], part: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on with streams that are new here as another engine, with the same procedure, has left them."""
        self._table.place_part(self._table.rows(streams), part)
        self._arena.record["earliest"] = -np.inf

    def inherit(self, other: "Engine") -> None:
        """Take over the episode numbers of streams that have left another engine."""
        self._registry.inherit(other._registry)  # noqa: SLF001 - another of this class

    def reopen(self, stream: str) -> None:
        """Let a decided stream begin its next episode with its next complete sample.

        Raises
        ------
        ValueError
            If the stream is not known, or not decided.
        """
        row = self._registry.row(stream)
        if self._table.status[row] != DECIDED:
            raise ValueError(f"stream {stream!r} is not decided yet")
        self._table.reset(row, int(self._table.streams["episode"][row]) + 1)

    def snapshot(self, *, compress: bool = True) -> bytes:
        """Pack the state of all streams; `restore` continues from it bit for bit."""
        return container.pack(KIND, VERSION, *self.to_state(), compress=compress)

    def to_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Copy what `snapshot` packs: a JSON header, and arrays."""
        names, arrays = self._table.to_state()
        header = {
            "procedure": self.procedure.digest,
            "state_versions": [feature.state_version for feature in self.procedure.features],
            **names,
            "counters": dict(self.counters),
        }
        return header, arrays

    @classmethod
    def restore(cls, procedure: Procedure, snapshot: bytes) -> Self:
        """Return an engine that continues from a snapshot.

        Raises
        ------
        ModelError
            If the snapshot is damaged, or was taken under another procedure or other versions of its features.

        Notes
        -----
        The features' own state cannot be validated: so far a snapshot is trusted.
        """
        header, arrays, _ = container.unpack(snapshot, KIND, VERSION, "the snapshot")
        return cls.from_state(procedure, header, arrays)

    @classmethod
    def from_state(
        cls, procedure: Procedure, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
    ) -> Self:
        """Return an engine that continues from copies of what `to_state` returned; otherwise as `restore`."""
        engine = cls(procedure)
        engine.take_over(header, arrays)
        return engine

    def take_over(self, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue, without streams so far, from copies of what `to_state` returned; otherwise as `restore`."""
        validate_snapshot(header, arrays, self.procedure, self._program.state_size)
        self._table.restore(header, arrays)
        self._registry = self._table.registry
        self._arena["counters"][:] = [header["counters"][name] for name in COUNTERS]
        self._arena.record["earliest"] = -np.inf

    def _push_slowly(self, stream: str, time: float, sample: Sequence[float] | Array) -> Decision | None:
        """Take one sample of a new stream, or of a procedure that is not compiled."""
        try:  # so that the same samples are refused
            self._pack_sample(self._single_sample, 0, 0, 0.0, *np.asarray(sample).tolist())
        except (struct.error, TypeError) as error:
            raise self._misfit(sample) from error
        decisions = self.push_batch([stream], [time], self._arena["single_sample"][np.newaxis, 2:].copy())
        return decisions[0] if decisions else None

    def _misfit(self, sample: object) -> ValueError:
        return ValueError(f"sample is {sample!r}, expected numbers of {self.procedure.channels}")

    def _ended(self, n_ended: int, rows: Rows) -> list[Decision]:
        """Return the decisions of the episodes that the newest samples have ended."""
        ended = self._arena["ended"][:n_ended]
        decisions = []
        for row, label in zip(rows[ended["sample"]].tolist(), ended["label"].tolist(), strict=True):
            if label < 0:
                decisions.append(self._decision(row, None, UNLABELLED[label]))
            else:
                decisions.append(self._decision(row, self.procedure.classes[label], "confident"))
        return decisions

    def _take_in_turns(self, rows: Rows, times: Array, samples: Array) -> list[Decision]:
        """Take samples if a feature, the classifier or the stopping rule has no compiled form."""
        unknown = _ticks.first_unknown(self._record, rows)
        if unknown >= 0:
            raise ValueError(f"row is {rows[unknown]}, expected one that holds a stream")
        decisions: list[tuple[int, Decision]] = []
        for turn in split_into_turns(rows):
            of_turn = self._take_turn(rows[turn], times[turn], samples[turn])
            decisions += zip(turn[self._arena["ended"]["sample"][: len(of_turn)]].tolist(), of_turn, strict=True)
        decisions.sort(key=itemgetter(0))
        return [decision for _, decision in decisions]

    def _take_turn(self, rows: Rows, times: Array, samples: Array) -> list[Decision]:
        """Take samples of distinct streams."""
        ticks: Rows = np.empty(len(rows), dtype=np.int64)
        _ticks.place(self._record, rows, times, samples, ticks)
        moving = np.flatnonzero(ticks > 0)
        probabilities, actions = np.empty((0, len(self.procedure.classes))), np.empty(0, dtype=np.int64)
        if len(moving):
            seconds = np.multiply(ticks[moving] - 1, self.procedure.period, dtype=np.float64)
            moved = self._table.state[rows[moving]]  # a copy: if classifier or rule fails, no stream has moved
            shown = self._requests.shown(rows[moving], ticks[moving], samples[moving])
            values = self._program.advance(moved, np.arange(len(moving)), shown, seconds)
            probabilities = self._answer(values)
            actions = checked_actions(self.procedure.rule, ticks[moving], probabilities)
            self._requests.charge(rows[moving], ticks[moving])
            self._table.state[rows[moving]] = moved
        self._requests.charge(rows[ticks == _ticks.OVERDUE], self.procedure.time_limit)
        return self._ended(_ticks.settle(self._record, rows, ticks, probabilities, actions), rows)

    def _answer(self, values: Array) -> Array:
        """Return the classifier's probabilities for rows of features."""
        answer = contiguous(np.asarray(self.procedure.classifier.probabilities(values), dtype=np.float64))
        expected = len(values), len(self.procedure.classes)
        if answer.shape != expected:
            raise ValueError(f"the classifier's answer has shape {answer.shape}, expected {expected}")
        return answer

    def _decision(self, row: int, label: str | None, reason: str) -> Decision:
        start, tick, episode, confidence = self._table.streams[row].item()
        return Decision(
            stream=self._registry.names[row],
            episode=episode,
            label=label,
            confidence=confidence,
            tick=tick,
            cost=self._requests.cost(row, tick),
            reason=reason,
            time=start + (tick - 1) * self.procedure.period,
        )

    def _reserve_ends(self, n_samples: int) -> None:
        """Reserve space for the episodes that `n_samples` samples may end."""
        if n_samples > len(self._arena["ended"]):
            self._arena.hold(ended=np.zeros(n_samples, dtype=ENDED))
