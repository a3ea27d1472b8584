"""What nodes have reported: the readings in a gateway's log or spool."""

from collections import Counter
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from streamfs.errors import LogError, PayloadError
from streamfs.gateway.core.bindings import Route, quantity_sent
from streamfs.gateway.core.records import MESSAGE, Record
from streamfs.gateway.core.routes import level_of
from streamfs.gateway.messages.codecs import Codec, Reading, Reported, Several
from streamfs.gateway.storage.log_reader import read_log
from streamfs.gateway.storage.segment import first_position, segment_name, segments
from streamfs.gateway.storage.state import log_folder


class Collected(NamedTuple):
    """A reading of a node.

    Parameters
    ----------
    node : str
        The node.
    time : float
        Seconds by the node's clock, or of arrival if it has none.
    quantity : str
        What was measured; with its report policy if the messages carry something else, such as a flag or a mean.
    value : float
        The reading; NaN if it is missing.
    """

    node: str
    time: float
    quantity: str
    value: float


def collect(
    folder: str | PathLike[str], routes: Sequence[Route], prefix: str, left_out: Counter[str]
) -> Iterator[Collected]:
    """Yield the readings in a gateway's state or spool, in the order of their messages.

    Parameters
    ----------
    folder : path
        A state, whose log is read, or a folder with segments of a log; the gateway may be running.
    routes : sequence of Route
        Topics and their formats; the first that matches a topic counts.
    prefix : str
        Prefix of the gateway's own topics, whose messages are not readings.
    left_out : Counter
        Counts messages that are not readings: ``unbound`` by their topics, or ``unreadable``.

    Raises
    ------
    LogError
        If there is no log, or a segment is missing or damaged.
    """
    place = log_folder(folder) if log_folder(folder).is_dir() else Path(folder)
    paths = segments(place)
    if not paths:
        raise LogError(f"{folder} has no segment of a log, expected files such as {segment_name(0)}")
    for _, record in read_log(place, first_position(paths[0])):
        if record.kind == MESSAGE and not record.topic.startswith(f"{prefix}/"):
            yield from _readings(record, routes, left_out)


def _readings(record: Record, routes: Sequence[Route], left_out: Counter[str]) -> Iterator[Collected]:
    """Yield the readings of a message."""
    target = _target(record.topic, routes)
    if target is None:
        left_out["unbound"] += 1
        return
    node, channel, codec = target
    try:
        decoded = codec.decode(record.payload, record.arrival, record.content_type)
    except PayloadError:
        left_out["unreadable"] += 1
        return
    parts = decoded.parts if isinstance(decoded, Several) else ((channel, decoded),)
    for name, part in parts:
        if name is None:
            left_out["unreadable"] += 1
            continue
        quantity = quantity_sent(name)
        for time, value in _samples(part, record.arrival):
            yield Collected(node, time, quantity, value)


def _target(topic: str, routes: Sequence[Route]) -> tuple[str, str | None, Codec] | None:
    """Return a topic's node, channel (None if the payload names it) and codec; None for other topics."""
    for route in routes:
        found = None if route.ignores(topic) else route.find(topic)
        if found is not None:
            return level_of(found.node), found.channel, found.codec
    return None


def _samples(part: Reported, arrival: float) -> Iterator[tuple[float, float]]:
    """Yield times and values."""
    if isinstance(part, Reading):
        yield (arrival if part.time is None else part.time), part.value
        return
    times, values = part.arrays()
    yield from zip(times.tolist(), values.tolist(), strict=True)
