"""Completeness, accuracy and cost of a procedure on labelled streams, as the paper defines them."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.base.progress import Progress
from streamfs.data.frames import frame_of
from streamfs.data.stream_arrays import Labels
from streamfs.data.streams import StreamSet, require_streams
from streamfs.engine.engine import Engine
from streamfs.evaluation.by_group import counts_by_group
from streamfs.procedure.fits import require_classes, require_columns, require_period
from streamfs.procedure.procedure import Decision, Procedure
from streamfs.procedure.promise_monitor import PromiseMonitor, monitor_of
from streamfs.procedure.stopping import StoppingRule


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The decisions of a procedure on labelled streams, and their quality.

    Parameters
    ----------
    decisions : tuple of Decision
        One per stream, in the streams' order.
    labels : ndarray of shape (n_streams,)
        The true classes.
    rule : StoppingRule
        The rule by which the streams were decided.
    offered_cost : float
        Mean cost over the features that were offered to the classifier (equation 1).
    """

    decisions: tuple[Decision, ...]
    labels: Labels
    rule: StoppingRule
    offered_cost: float

    @property
    def confidence(self) -> float:
        """The threshold; NaN if it depends on the tick, or another rule decided."""
        thresholds = self.rule.thresholds()
        return nan if thresholds is None or thresholds.ticks != (1,) else thresholds.levels[0]

    @property
    def completeness(self) -> float:
        """Share of the streams that were labelled; NaN without streams."""
        return _mean([d.label is not None for d in self.decisions])

    @property
    def accuracy(self) -> float:
        """Share of the labelled streams whose label is right; NaN if none was labelled."""
        pairs = zip(self.decisions, self.labels, strict=True)
        return _mean([d.label == truth for d, truth in pairs if d.label is not None])

    @property
    def cost(self) -> float:
        """Mean classification cost of all streams, including those without a label (equation 1)."""
        return _mean([d.cost for d in self.decisions])

    @property
    def ticks(self) -> float:
        """Mean number of ticks."""
        return _mean([d.tick for d in self.decisions])

    def by_class(self) -> list[dict[str, Any]]:
        """Return figures of each class: its streams, those labelled so, those rightly, and both shares.

        `accuracy` is the share of the labels of a class that are right (precision), `found` the share of its
        streams that get its label (recall); NaN of none.
        """
        labels = np.array([d.label for d in self.decisions], dtype=object)
        rows = []
        for label in np.unique(self.labels).tolist():
            is_so, is_said = self.labels == label, labels == label
            right, said, streams = (int(np.sum(which)) for which in (is_so & is_said, is_said, is_so))
            rows.append(
                {
                    "class": label,
                    "streams": streams,
                    "labelled": said,
                    "right": right,
                    "accuracy": right / said if said else nan,
                    "found": right / streams,
                }
            )
        return rows

    def by_group(self, groups: npt.ArrayLike) -> list[dict[str, Any]]:
        """Return the streams of each group, given that of each stream, and how many were labelled, and rightly."""
        labels = np.array([d.label for d in self.decisions], dtype=object)
        is_labelled = np.array([label is not None for label in labels])
        return counts_by_group(is_labelled, labels == self.labels, np.asarray(groups))

    def __repr__(self) -> str:
        figures = f"completeness {self.completeness:.3g}, accuracy {self.accuracy:.3g}, {self.ticks:.3g} ticks"
        return f"Evaluation({len(self.decisions)} streams, {figures})"

    def _repr_html_(self) -> str:
        from streamfs.evaluation.notebook import evaluation_html  # noqa: PLC0415 - for notebooks alone

        return evaluation_html(self)

    def to_frame(self) -> Any:
        """Return a frame of polars with a row for each stream: its decision and its true class, `truth`."""
        return decisions_frame(self.decisions).with_columns(frame_of({"truth": self.labels})["truth"])

    def summary(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {
            "confidence": self.confidence,
            "streams": len(self.decisions),
            "completeness": self.completeness,
            "accuracy": self.accuracy,
            "ticks": self.ticks,
            "cost": self.cost,
            "offered_cost": self.offered_cost,
        }


def decisions_frame(decisions: Sequence[Decision]) -> Any:
    """Return a frame of polars with a row for each decision, and a column for each of its fields.

    What is not known, such as the label of a stream that has none, is null.

    Examples
    --------
    >>> made = Decision("p1", 1, "same", 0.97, 4, 0.5, "confident", 15.0)
    >>> decisions_frame([made]).row(0)
    ('p1', 1, 'same', 0.97, 4, 0.5, 'confident', 15.0)
    """
    names = [each.name for each in fields(Decision)]
    return frame_of({name: [getattr(made, name) for made in decisions] for name in names})


def evaluate(procedure: Procedure, streams: StreamSet) -> Evaluation:
    """Run a procedure over labelled streams, tick by tick, as a gateway would.

    Parameters
    ----------
    procedure : Procedure
        The procedure.
    streams : StreamSet
        Recorded streams with the columns of the procedure's channels.

    Raises
    ------
    DataError
        If a column is missing, the period differs, or a label is not one of the procedure's classes.
    TypeError
        If an argument is something else, such as the path of a file.
    """
    _require_procedure(procedure)
    require_streams(streams)
    require_classes(procedure, streams)
    decided = {decision.stream: decision for decision in replay(procedure, streams)}
    decisions = tuple(decided[name] for name in streams.names)
    offered = _mean([procedure.offered_cost(d.tick) for d in decisions])
    return Evaluation(decisions, streams.labels, procedure.rule, offered)


def replay(procedure: Procedure, streams: StreamSet, start: float = 0.0) -> Iterator[Decision]:
    """Push recorded streams through an engine, yielding each decision when it is made.

    Parameters
    ----------
    procedure : Procedure
        The procedure.
    streams : StreamSet
        Recorded streams; a stream that ends undecided is closed.
    start : float
        Event time of the first tick, seconds.

    Raises
    ------
    DataError
        If a column is missing, or the period differs.
    TypeError
        If an argument is something else, such as the path of a file.
    """
    for decision, _ in replay_with_values(procedure, streams, start):
        yield decision


def replay_with_values(
    procedure: Procedure, streams: StreamSet, start: float = 0.0
) -> Iterator[tuple[Decision, Array]]:
    """Yield each decision as `replay` does, with the feature values behind it, shape (n_features,)."""
    seen, engine = _admitted(procedure, streams)
    going = np.ones(len(seen), dtype=bool)
    place = {name: index for index, name in enumerate(seen.names)}
    for tick in range(seen.n_ticks):
        now = np.flatnonzero(going & (tick < seen.lengths))
        time = start + tick * seen.period
        names = [seen.names[i] for i in now]
        for decision in engine.push_batch(names, np.full(len(now), time), seen.values[now, tick]):
            going[place[decision.stream]] = False
            yield decision, engine.values(decision.stream)
    for index in np.flatnonzero(going):
        values = engine.values(seen.names[index])
        closed = engine.close(seen.names[index])
        if closed is not None:
            yield closed, values


class RecordedEpisode(NamedTuple):
    """An episode of a recorded stream: number of the stream, first tick, the one after the last, and decision."""

    stream: int
    begin: int
    end: int
    decision: Decision | None


def replay_episodes(
    procedure: Procedure, streams: StreamSet, begin_next: Callable[[int, int], int | None] | None = None
) -> Iterator[RecordedEpisode]:
    """Push recorded streams through an engine, again and again; yield each episode when it ends.

    Parameters
    ----------
    procedure : Procedure
        The procedure.
    streams : StreamSet
        Recorded streams; one that ends undecided is closed, and its last episode has no decision.
    begin_next : callable, optional
        Returns the place of the tick at which a stream's next episode begins, or None if there is none, given the
        stream's place and that of the first tick after a decision; by default there is one episode.

    Raises
    ------
    DataError, TypeError
        As for `replay`.
    """
    seen, engine = _admitted(procedure, streams)
    place = {name: index for index, name in enumerate(seen.names)}
    begins = np.zeros(len(seen), dtype=np.int64)
    for tick in range(seen.n_ticks):
        if tick:
            for index in np.flatnonzero(begins == tick):
                engine.reopen(seen.names[index])
        now = np.flatnonzero((begins <= tick) & (tick < seen.lengths))
        names = [seen.names[index] for index in now]
        for decision in engine.push_batch(names, np.full(len(now), tick * seen.period), seen.values[now, tick]):
            stream = place[decision.stream]
            yield RecordedEpisode(stream, int(begins[stream]), tick + 1, decision)
            following = None if begin_next is None else begin_next(stream, tick + 1)
            begins[stream] = seen.n_ticks if following is None else max(following, tick + 1)
    for index in np.flatnonzero(begins < seen.lengths):
        yield RecordedEpisode(int(index), int(begins[index]), int(seen.lengths[index]), None)


def monitored(procedure: Procedure, streams: StreamSet) -> PromiseMonitor | None:
    """Return the monitor of a procedure's promise, having seen all decisions and labels; None without a promise.

    Labels are shown in random order, since of streams that begin together the easy ones are decided first. Raise a
    DataError or a TypeError as `evaluate`, and a ModelError if the promise is damaged.
    """
    monitor = monitor_of(procedure)
    if monitor is not None:
        labels = dict(zip(streams.names, map(str, streams.labels), strict=True))
        decisions = []
        for decision, values in replay_with_values(procedure, streams):
            monitor.decided(decision, values)
            decisions.append(decision)
        monitor.finish()
        for index in np.random.default_rng(0).permutation(len(decisions)).tolist():
            decision = decisions[index]
            truth = labels[decision.stream]
            monitor.found(decision.label, truth, decision.time)
            if decision.label is not None:
                monitor.labelled(decision.label == truth, decision.time, confidence=decision.confidence)
    return monitor


def sweep(
    procedure: Procedure,
    streams: StreamSet,
    rules: Sequence[float | StoppingRule],
    progress: Progress | None = None,
) -> list[Evaluation]:
    """Evaluate a procedure at several confidence thresholds, or stopping rules, each in place of its own."""
    evaluations = []
    if progress is not None:
        progress("thresholds", 0, len(rules))
    for index, rule in enumerate(rules):
        if isinstance(rule, StoppingRule):
            other = procedure.with_stopping(rule)
        else:
            other = procedure.with_confidence(rule)
        evaluations.append(evaluate(other, streams))
        if progress is not None:
            progress("thresholds", index + 1, len(rules))
    return evaluations


def write_csv(rows: Sequence[Mapping[str, Any]], path: str | Path) -> None:
    """Write rows as CSV, with the columns of the first; NaN is an empty cell."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow({name: "" if value != value else value for name, value in row.items()})  # noqa: PLR0124


def _admitted(procedure: Procedure, streams: StreamSet) -> tuple[StreamSet, Engine]:
    """Return streams as a gateway sees them, and an engine that has admitted them; raise as `replay`."""
    _require_procedure(procedure)
    require_streams(streams)
    require_period(procedure, streams)
    require_columns(procedure, streams)
    seen, engine = streams.seen_through(procedure.channels, procedure.max_silence), Engine(procedure)
    for name in seen.names:
        engine.admit(name)
    return seen, engine


def _require_procedure(procedure: object) -> None:
    if not isinstance(procedure, Procedure):
        raise TypeError(f"procedure is {procedure!r}, expected a Procedure, such as Procedure.load('a.streamfs')")


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
