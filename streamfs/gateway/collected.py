"""What nodes have reported, and people have said of it: the readings and labels in a gateway's log or spool."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import inf
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from streamfs.errors import LogError, PayloadError
from streamfs.gateway.core.bindings import STANDARD, Route, quantity_sent
from streamfs.gateway.core.labels import decode_label
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.records import MESSAGE, SETTINGS, START, Record
from streamfs.gateway.core.replay_configuration import Heard, heard_by
from streamfs.gateway.core.routes import level_of
from streamfs.gateway.messages.codecs import Codec, Reading, Reported, Several
from streamfs.gateway.recovery import newest_configuration
from streamfs.gateway.storage.journal_reader import JournalReader
from streamfs.gateway.storage.log_reader import read_log
from streamfs.gateway.storage.segment import first_position, segment_name, segments
from streamfs.gateway.storage.state import journal_path, log_folder


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
    folder: str | PathLike[str], routes: Sequence[Route] | None, prefix: str, left_out: Counter[str]
) -> Iterator[Collected]:
    """Yield the readings in a gateway's state or spool, in the order of their messages.

    Parameters
    ----------
    folder : path
        A state, whose log is read, or a folder with segments of a log; the gateway may be running.
    routes : sequence of Route, optional
        Topics and their formats; the first that matches a topic counts. By default they are those by which the
        gateway has read its messages, as its log and its journal say, and the names of nodes, too.
    prefix : str
        Prefix of the gateway's own topics, whose messages are not readings.
    left_out : Counter
        Counts messages that are not readings: ``unbound`` by their topics, or ``unreadable``.

    Raises
    ------
    LogError
        If there is no log, or a segment is missing or damaged.
    """
    given = Heard((STANDARD,) if routes is None else tuple(routes), {}, prefix)
    for record, heard in _messages(folder, given, is_known=routes is not None):
        if not record.topic.startswith(f"{heard.prefix}/"):
            yield from _readings(record, heard, left_out)


def _messages(folder: str | PathLike[str], given: Heard, *, is_known: bool) -> Iterator[tuple[Record, Heard]]:
    """Yield the messages in a log, with how they are read: as given, unless log and journal say it better."""
    heard = given if is_known else _heard_at_first(folder, given)
    for record in _records(folder):
        if not is_known and record.kind in (START, SETTINGS) and record.payload:
            heard = heard_by(record.payload)
        elif record.kind == MESSAGE:
            yield record, heard


def _heard_at_first(folder: str | PathLike[str], by_default: Heard) -> Heard:
    """Return how a gateway reads messages by its journal's newest snapshot, if there is one."""
    if not journal_path(folder).is_file():
        return by_default
    with JournalReader(journal_path(folder)) as journal:
        _, content = newest_configuration(journal.snapshots())
    return heard_by(content) if content else by_default


class LabelledSpan(NamedTuple):
    """What a stream was, from a time until just before another, in seconds."""

    stream: str
    start: float
    end: float
    label: str


def collect_labels(
    folder: str | PathLike[str], prefix: str | None, left_out: Counter[str], span: float = inf
) -> list[LabelledSpan]:
    """Return what streams were by the labels published to a gateway, each stream's in order.

    A label says what has been: from the label before it, of the same stream, but for at most `span` seconds, until
    its own time, or else its arrival. Of several of an episode, the last counts.

    Parameters
    ----------
    folder : path
        As for `collect`.
    prefix : str, optional
        Prefix of the gateway's topics; by default as its log and its journal say.
    left_out : Counter
        Counts messages that cannot be read as ``labels that cannot be read``.
    span : float
        Seconds.

    Raises
    ------
    LogError
        As for `collect`.
    """
    said: dict[str, dict[object, tuple[float, str]]] = defaultdict(dict)
    given = Heard((), {}, Options.prefix if prefix is None else prefix)
    for record, heard in _messages(folder, given, is_known=prefix is not None):
        stream = record.topic.removeprefix(f"{heard.prefix}/label/")
        if stream == record.topic or not record.payload:
            continue
        try:
            label = decode_label(record.payload)
        except PayloadError:
            left_out["labels that cannot be read"] += 1
            continue
        time = record.arrival if label.time is None else label.time
        said[stream][time if label.episode is None else f"episode {label.episode}"] = time, label.label
    return [each for stream in sorted(said) for each in _spans(stream, sorted(said[stream].values()), span)]


def _spans(stream: str, labels: Sequence[tuple[float, str]], span: float) -> Iterator[LabelledSpan]:
    before = -inf
    for time, label in labels:
        if time > before:
            yield LabelledSpan(stream, max(before, time - span, 0.0), time, label)
        before = time


def _records(folder: str | PathLike[str]) -> Iterator[Record]:
    """Yield the records in a log."""
    place = log_folder(folder) if log_folder(folder).is_dir() else Path(folder)
    paths = segments(place)
    if not paths:
        raise LogError(f"{folder} has no segment of a log, expected files such as {segment_name(0)}")
    for _, record in read_log(place, first_position(paths[0])):
        yield record


def _readings(record: Record, heard: Heard, left_out: Counter[str]) -> Iterator[Collected]:
    """Yield the readings of a message."""
    target = _target(record.topic, heard)
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


def _target(topic: str, heard: Heard) -> tuple[str, str | None, Codec] | None:
    """Return a topic's node, channel (None if the payload names it) and codec; None for other topics."""
    for route in heard.routes:
        found = None if route.ignores(topic) else route.find(topic)
        if found is not None:
            return heard.aliases.get(found.node) or level_of(found.node), found.channel, found.codec
    return None


def _samples(part: Reported, arrival: float) -> Iterator[tuple[float, float]]:
    """Yield times and values."""
    if isinstance(part, Reading):
        yield (arrival if part.time is None else part.time), part.value
        return
    times, values = part.arrays()
    yield from zip(times.tolist(), values.tolist(), strict=True)
