"""Sources for topics that no profile has, by what their messages look like."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs.checks import clock
from streamfs.gateway.messages.codecs.paths import scalars
from streamfs.gateway.messages.message import Message
from streamfs.gateway.settings.quantity_words import is_like
from streamfs.gateway.settings.sources import InputSource

_GENERIC = frozenset(
    (
        *("sensor", "sensors", "binary_sensor", "climate", "relay", "device", "devices", "tele", "stat"),
        *("state", "status", "value", "values", "data", "up", "event", "events", "info", "json", "get", "current"),
        *("measurement", "measurements", "reading", "readings", "out"),
    )
)  # levels that name no device, in small letters
_TIMES = ("time", "timestamp", "ts", "t", "datetime", "date", "last_seen", "tst", "created_at", "Time")
_IDENTITIES = ("id", "mac", "address", "addr", "sn", "serial", "device", "device_id", "dev_eui", "name", "model")
_LEAST_TIME = 1e8  # in seconds or milliseconds since 1970
_STATES = {"on": "off", "open": "closed", "true": "false", "detected": "clear", "online": "offline"}
_MISSING = ("unavailable", "unknown", "nan", "null")


class GuessedSource(NamedTuple):
    """A source that reads topics, the devices in these, and the quantities."""

    source: InputSource
    nodes: Sequence[str]
    topics: Sequence[str]
    quantities: Sequence[str]


@dataclass
class _Alike:
    """Messages whose topics have as many levels, and the quantity at one of them; None if payloads have it."""

    place: int | None
    topics: dict[str, list[Message]] = field(default_factory=lambda: defaultdict(list))
    names: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))  # by quantity
    documents: list[Any] = field(default_factory=list)


def guessed_sources(messages: Sequence[Message], wanted: Sequence[str]) -> tuple[list[GuessedSource], list[str]]:
    """Return sources that read messages of no profile, each tried; and remarks on topics that cannot be read.

    A topic may name the quantity, ``shellies/ht1/sensor/temperature``, also behind the device,
    ``homeassistant/sensor/kitchen_temperature/state``; or else the payload names quantities.
    """
    forms: dict[tuple[Any, ...], _Alike] = {}
    for message in messages:
        document = _document(message.payload)
        if document is None or "$" in message.topic:
            continue
        levels = message.topic.split("/")
        place, named = _named(levels, document, wanted)
        if named:
            first = levels[0] if len(levels) > 2 or place is None else ""
            alike = forms.setdefault((first, len(levels), place), _Alike(place))
            alike.topics[message.topic].append(message)
            alike.documents.append(document)
            for quantity, name in named.items():
                alike.names[quantity][name] = None
    mixed = {topic: key for each in forms.values() for topic, key in _mixed(each)}
    remarks = [
        f"{topic} has several devices, told apart by {key}: a source has its node from the topic alone"
        for topic, key in mixed.items()
    ]
    sources = [source for alike in forms.values() for source in _sources(alike, mixed)]
    return [found for source in sources if (found := _tried(source, messages, mixed)) is not None], remarks


def _document(payload: bytes) -> Any:
    """Return JSON, or a word for a state; None for all else."""
    try:
        return orjson.loads(payload)
    except orjson.JSONDecodeError:
        word = payload.decode(errors="replace").strip()
    return word if word.lower() in {*_STATES, *_STATES.values(), *_MISSING} else None


def _named(levels: list[str], document: Any, wanted: Sequence[str]) -> tuple[int | None, dict[str, str]]:
    """Return the level that names a quantity, or None, and names there or in the payload by quantity."""
    if isinstance(document, dict) and not {"v", "value"} & document.keys():
        values = {path: value for path, value in scalars(document) if _is_value(value)}
        return None, {quantity: path for quantity in wanted if (path := _best(values, quantity))}
    if isinstance(document, list):
        return None, {}
    for place in reversed(range(len(levels))):
        found = {quantity: levels[place] for quantity in wanted if is_like(levels[place], quantity)}
        if found:
            return place, found
    return None, {}


def _best(values: Mapping[str, Any], quantity: str) -> str:
    """Return the path that names a quantity best: in its last name, and shortly; empty if none does."""
    alike = [path for path in values if is_like(path, quantity)]
    return min(
        alike, key=lambda path: (not is_like(path.rpartition(".")[2], quantity), len(path), path), default=""
    )


def _is_value(value: object) -> bool:
    """Return whether a value may be a reading: a number, but no time, or a state."""
    if isinstance(value, int | float):
        return abs(value) < _LEAST_TIME
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return value.lower() in {*_STATES, *_STATES.values()}
    return True


def _mixed(alike: _Alike) -> Iterator[tuple[str, str]]:
    """Yield topics on which several devices send, and the key of the payload that tells them apart."""
    for topic, messages in alike.topics.items():
        documents = [_document(message.payload) for message in messages]
        for key in _IDENTITIES:
            if len({str(each[key]) for each in documents if isinstance(each, dict) and key in each}) > 1:
                yield topic, key
                break


def _sources(alike: _Alike, mixed: Mapping[str, str]) -> Iterator[InputSource]:
    """Yield sources for messages of one form."""
    topics = [topic.split("/") for topic in alike.topics if topic not in mixed]
    if not topics:
        return
    common: dict[str, Any] = {"values": _values(alike.documents), **_time(alike)}
    place, levels = alike.place, list(topics[0])
    first, last = _device(topics, place, alike.names)
    if first is not None:
        levels[first : last + 1] = ["{node}" if first == last else "{node...}"]
        if place is None:
            fields = {"|".join(names): quantity for quantity, names in alike.names.items()}
        else:
            at = place if place < first else place - (last - first)
            levels[at] = "{channel}"
            fields = {name: quantity for quantity, names in alike.names.items() for name in names}
        yield InputSource("/".join(levels), fields=fields, **common)
    elif place is not None:
        for quantity, names in alike.names.items():
            ends = (name.rpartition("_")[2] for name in names if "_" in name)
            for end in dict.fromkeys(end for end in ends if is_like(end, quantity)):
                levels[place] = "{node}_" + end
                yield InputSource("/".join(levels), channel=quantity, **common)


def _device(topics: Sequence[list[str]], place: int | None, quantities: Collection[str]) -> tuple[int | None, int]:
    """Return the first and the last level of the names of devices; None if no level names them."""
    others = [level for level in range(len(topics[0])) if level != place]
    differ = [level for level in others if len({levels[level] for levels in topics}) > 1]
    if place is not None and differ and differ[0] < place < differ[-1]:
        differ = [level for level in differ if level < place]
    if differ:
        return differ[0], differ[-1]
    named = [
        level
        for level in others
        if (level or len(topics[0]) < 3)
        and not (_is_generic(topics[0][level]) or any(is_like(topics[0][level], each) for each in quantities))
    ]
    before = [level for level in named if place is None or level < place] or named
    return (before[-1], before[-1]) if before else (None, 0)


def _is_generic(level: str) -> bool:
    return level.lower() in _GENERIC or (level.isdigit() and len(level) < 3)


def _values(documents: Sequence[Any]) -> dict[str, Any]:
    """Return numbers for the states in payloads, and for their contraries."""
    texts = {text for document in documents for _, text in scalars(document) if isinstance(text, str)}
    pairs = {**_STATES, **{low: high for high, low in _STATES.items()}}
    found: dict[str, Any] = {}
    for text in sorted(texts):
        if text.lower() in pairs:
            other = pairs[text.lower()]
            other = other.upper() if text.isupper() else other.title() if text.istitle() else other
            found |= {text: int(text.lower() in _STATES), other: int(other.lower() in _STATES)}
        elif text.lower() in _MISSING:
            found[text] = "missing"
    return found


def _time(alike: _Alike) -> dict[str, str]:
    """Return the options of the time in payloads, if there is one that can be read."""
    read = clock("any")
    for key in _TIMES:
        stamps = [each[key] for each in alike.documents if isinstance(each, dict) and key in each]
        try:
            if stamps and all(read(key, stamp) for stamp in stamps):
                return {"time": key, "time_unit": "any"}
        except PayloadError:
            continue
    return {}


def _tried(source: InputSource, messages: Sequence[Message], mixed: Mapping[str, str]) -> GuessedSource | None:
    """Return a source with what it reads; None if that is nothing."""
    try:
        route = source.route()
    except ValueError:
        return None
    nodes: dict[str, None] = {}
    topics: dict[str, None] = {}
    for message in messages:
        routed = None if message.topic in mixed else route.find(message.topic)
        try:
            if routed is not None:
                routed.codec.decode(message.payload, message.arrival, message.content_type)
                nodes[routed.called], topics[message.topic] = None, None
        except PayloadError:
            continue
    quantities = [source.channel] if source.channel else [*source.fields.values()]
    return GuessedSource(source, [*nodes], [*topics], quantities) if nodes else None
