"""Sources for topics that no profile has, by what their messages look like."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from streamfs.base.scalars import scalars
from streamfs.errors import PayloadError
from streamfs.gateway.core.routes import addressed
from streamfs.gateway.messages.codecs import Reading, Reported, Several
from streamfs.gateway.messages.codecs.checks import clock, shown, unit_of
from streamfs.gateway.messages.message import Message
from streamfs.gateway.messages.senders import Sender
from streamfs.gateway.settings.quantity_words import is_like
from streamfs.gateway.settings.sources import InputSource

_GENERIC = frozenset(
    (
        *(
            "sensor",
            "sensors",
            "binary_sensor",
            "sensor_multilevel",
            "climate",
            "relay",
            "device",
            "devices",
            "tele",
            "stat",
        ),
        *("state", "status", "value", "values", "data", "up", "event", "events", "info", "json", "get", "current"),
        *("measurement", "measurements", "reading", "readings", "out", "telemetry", "uplink", "rx", "me"),
    )
)  # levels that name no device, in small letters
_TIMES = ("time", "timestamp", "ts", "t", "datetime", "date", "last_seen", "tst", "created_at", "Time")
_IDENTITIES = (
    *("deveui", "mac", "macaddress", "address", "addr", "serialnumber", "serialno", "serial", "sn", "deviceid"),
    *("sensorid", "nodeid", "tagid", "uuid", "id", "entityid", "device", "sensor", "node", "devicename", "name"),
)  # keys that tell devices apart, the best first, in small letters without - and _
_OF_RADIO = ("{model}-{id}", "{deveui}")  # nodes of gateways, which publish what any number of devices send
_MARKS_OF_PATHS = frozenset(".|*{}")  # names with one cannot be part of a path with a *
_LEAST_TIME = 1e8  # in seconds or milliseconds since 1970
_STATES = {"on": "off", "open": "closed", "true": "false", "detected": "clear", "online": "offline"}
_FAHRENHEIT = re.compile(r"(?:_[fF]|[a-z]F|temp(?:erature)?f)$")
_MISSING = ("unavailable", "unknown", "nan", "null")


class GuessedSource(NamedTuple):
    """A source that reads topics, the devices in these, the quantities, and arrivals less stamps by device."""

    source: InputSource
    nodes: Sequence[str]
    topics: Sequence[str]
    quantities: Sequence[str]
    offsets: Mapping[str, list[float]]  # seconds


class _Form(NamedTuple):
    """What messages of one source have in common."""

    first: str  # level of topics
    n_levels: int
    place: int | None  # level of topics that names the quantity; None if payloads do
    records: str | None = None  # where in payloads an array of objects with values is; "" if they are one
    node: str = ""  # how payloads name the devices of an array, if they have several


@dataclass
class _Alike:
    """Messages of one form."""

    form: _Form
    topics: dict[str, list[Message]] = field(default_factory=lambda: defaultdict(list))
    names: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))  # by quantity
    documents: list[Any] = field(default_factory=list)  # payloads, or the first of their records


def guessed_sources(messages: Sequence[Message], wanted: Sequence[str]) -> tuple[list[GuessedSource], list[str]]:
    """Return sources that read messages of no profile, each tried; and remarks on what they do not read.

    A topic may name the quantity, ``shellies/ht1/sensor/temperature``, also behind the device,
    ``homeassistant/sensor/kitchen_temperature/state``; or else the payload names quantities. Where several devices
    share a topic, the payload names them, also several in an array of objects that have names.
    """
    forms: dict[_Form, _Alike] = {}
    for message in messages:
        document = _document(message.payload)
        if document is None or "$" in message.topic:
            continue
        levels = message.topic.split("/")
        several = _several(document, wanted)
        records, body = (None, several.body) if several.node else _body(document, wanted)
        place, named = (None, several.names) if several.node else _named(levels, body, wanted)
        if named:
            first = levels[0] if len(levels) > 2 or place is None else ""
            form = _Form(first, len(levels), place, records, several.node)
            alike = forms.setdefault(form, _Alike(form))
            alike.topics[message.topic].append(message)
            alike.documents.append(body)
            for quantity, name in named.items():
                alike.names[quantity][name] = None
    several_last = sorted(forms.values(), key=lambda each: bool(each.form.node))
    mixed = {topic: node for each in several_last for topic, node in _mixed(each)}
    sources = [source for alike in forms.values() for source in (*_shared(alike, mixed), *_sources(alike, mixed))]
    found = [each for source in sources if (each := _tried(source, messages, mixed)) is not None]
    return found, [remark for each in forms.values() for remark in _remarks(each)]


def _document(payload: bytes) -> Any:
    """Return JSON, or a word for a state, or a number with a unit; None for all else."""
    try:
        return orjson.loads(payload)
    except orjson.JSONDecodeError:
        word = payload.decode(errors="replace").strip()
    return word if _is_value(word) or word.lower() in _MISSING else None


def _body(document: Any, wanted: Sequence[str]) -> tuple[str | None, Any]:
    """Return where a payload has an array of objects with times, "" if it is one, and the first of these.

    Of another payload return None, and all of it.
    """
    if _is_batch(document):
        return "", document[0]
    batches = {} if not isinstance(document, dict) else {k: v for k, v in document.items() if _is_batch(v)}
    if len(batches) == 1 and not any(_best(_values_in(document), quantity) for quantity in wanted):
        (path, records), *_ = batches.items()
        return path, records[0]
    return None, document


class _Several(NamedTuple):
    """How a payload names the devices of an array; the first of these, with the rest; paths by quantity."""

    node: str
    body: dict[str, Any]
    names: dict[str, str]


def _several(document: Any, wanted: Sequence[str]) -> _Several:
    """Return which devices a payload has, if they are several in an array; else without a node."""
    rest = document if isinstance(document, dict) else {}
    for name, array in rest.items() if rest else [("", document)]:
        if not _MARKS_OF_PATHS.isdisjoint(name) or not isinstance(array, list) or len(array) < 2:
            continue
        if not all(isinstance(each, dict) for each in array):
            continue
        before = f"{name}.*." if name else ""
        values = {path: value for each in array for path, value in _values_in(each).items()}
        named = {quantity: before + path for quantity in wanted if (path := _best(values, quantity))}
        identity = _told_apart_by(array, may_repeat=not name)
        if named and identity:
            body = {before + path: value for path, value in scalars(array[0])}
            return _Several(f"{{{before or '*.'}{identity}}}", rest | body, named)
    return _Several("", {}, {})


def _told_apart_by(devices: Sequence[dict[str, Any]], *, may_repeat: bool) -> str:
    """Return the path that names objects of an array, of which some may be of one device; empty if none does.

    Short numbers tell the sensors of one device apart.
    """
    for path in _identities(devices):
        names = _senders(f"{{{path}}}", devices)
        n_devices = len(set(names))
        is_told = n_devices > 1 if may_repeat else n_devices == len(names)
        if is_told and not _is_count(names) and not any(_is_generic(name) or not name for name in names):
            return path
    return ""


def _is_batch(document: Any) -> bool:
    """Return whether a document is an array of objects with times."""
    is_array = isinstance(document, list) and bool(document) and isinstance(document[0], dict)
    return is_array and not document[0].keys().isdisjoint(_TIMES)


def _values_in(document: dict[str, Any]) -> dict[str, Any]:
    """Return values that may be readings, by path: those of an array with a start and a step are one."""
    single = {name: inner for name, inner in document.items() if not _is_batch(inner)}
    found = {path: value for path, value in scalars(single) if _is_value(value)}
    is_series = {"t0", "dt"} <= document.keys()
    return {(path.removesuffix(".0") if is_series else path): value for path, value in found.items()}


def _named(levels: list[str], document: Any, wanted: Sequence[str]) -> tuple[int | None, dict[str, str]]:
    """Return the level that names a quantity, or None, and names there or in the payload by quantity."""
    if isinstance(document, dict) and not {"v", "value"} & document.keys():
        values = _values_in(document)
        return None, {quantity: path for quantity in wanted if (path := _best(values, quantity))}
    is_word = isinstance(document, str) and not (_is_value(document) or document.lower() in _MISSING)
    if isinstance(document, list) or is_word:
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
        return value.lower() in {*_STATES, *_STATES.values()} or bool(unit_of(value))
    return True


def _mixed(alike: _Alike) -> Iterator[tuple[str, str]]:
    """Yield topics that do not tell devices apart, and how payloads do: a node of a source."""
    if alike.form.node:
        yield from ((topic, alike.form.node) for topic in alike.topics)
        return
    for topic, messages in alike.topics.items():
        payloads = [_document(message.payload) for message in messages]
        documents = [payload for payload in payloads if isinstance(payload, dict)]
        is_named = _device([topic.split("/")], alike.form.place, alike.names)[0] is not None
        has_models = all("model" in document for document in documents)
        for path in _identities(documents):
            node = f"{{model}}-{{{path}}}" if path == "id" and has_models else f"{{{path}}}"
            names, ids = (_senders(text, documents) for text in (node, f"{{{path}}}"))
            is_shared = len(set(names)) > 1 or node.lower() in _OF_RADIO
            if "" not in names and not _is_count(ids) and (is_shared or not is_named) and not _has(topic, ids):
                yield topic, node
                break


def _senders(node: str, documents: Sequence[dict[str, Any]]) -> list[str]:
    sender = Sender(node)
    return [sender.of_one(document) for document in documents]


def _is_count(names: Sequence[str]) -> bool:
    """Return whether names are the numbers of messages."""
    numbers = [int(name) for name in names if name.isdecimal()]
    return len(numbers) == len(names) > 2 and numbers == [*range(numbers[0], numbers[0] + len(numbers))]


def _has(topic: str, names: Sequence[str]) -> bool:
    """Return whether a topic names the only device, with or without what stands between its letters."""
    plain, name = (re.sub("[^a-z0-9/]", "", text.lower()) for text in (topic, names[0]))
    return len(set(names)) == 1 and name in plain.split("/")


def _identities(documents: Sequence[dict[str, Any]]) -> list[str]:
    """Return paths that may name devices, the best first: not those within arrays, nor deep ones."""
    places = {}
    for path in dict.fromkeys(path for document in documents for path, _ in scalars(document)):
        *before, last = path.split(".")
        key = last.lower().replace("_", "").replace("-", "")
        if key in _IDENTITIES and len(before) < 2 and not any(part.isdecimal() for part in before):
            places[path] = len(before), _IDENTITIES.index(key)
    return sorted(places, key=lambda path: places[path])


def _shared(alike: _Alike, mixed: Mapping[str, str]) -> Iterator[InputSource]:
    """Yield sources of topics on which several devices send."""
    if alike.form.place is not None:
        return
    found = dict.fromkeys(mixed[topic] for topic in alike.topics if topic in mixed)
    nodes = [node for node in found if ("*" in node) == bool(alike.form.node)]
    for node in nodes:
        topics = [topic.split("/") for topic in alike.topics if mixed.get(topic) == node]
        levels = [names[0] if len(set(names)) == 1 else "+" for names in zip(*topics, strict=True)]
        yield InputSource("/".join(levels), node=node, fields=_fields(alike), **_common(alike))


def _remarks(alike: _Alike) -> Iterator[str]:
    """Yield what people should know of messages of one form: their unit, and that their time is not read."""
    for quantity, names in alike.names.items():
        for name in names:
            if quantity == "temperature" and _FAHRENHEIT.search(name):
                advice = f'units = {{ {quantity} = "F to C" }}'
                yield f"{name} may be in degrees Fahrenheit: if the model knows Celsius, add {advice}"
    objects = [each for each in alike.documents if isinstance(each, dict)]
    stamps = [(key, each[key]) for each in objects for key in _TIMES if key in each]
    if stamps and not _time(alike):
        key, stamp = stamps[0]
        yield f"{key} is {shown(stamp)}, which is not read as a time: readings have that of their arrival"


def _sources(alike: _Alike, mixed: Mapping[str, str]) -> Iterator[InputSource]:
    """Yield sources for messages of one form."""
    topics = [topic.split("/") for topic in alike.topics if topic not in mixed]
    if not topics:
        return
    common = _common(alike)
    place, levels = alike.form.place, list(topics[0])
    first, last = _device(topics, place, alike.names)
    if first is None:
        first, last = _first_device(levels, alike)
    if first is not None:
        levels[first : last + 1] = ["{node}" if first == last else "{node...}"]
        if place is not None:
            levels[place if place < first else place - (last - first)] = "{channel}"
        yield InputSource("/".join(levels), fields=_fields(alike), **common)
    elif place is not None:
        for quantity, names in alike.names.items():
            ends = (name.rpartition("_")[2] for name in names if "_" in name)
            for end in dict.fromkeys(end for end in ends if is_like(end, quantity)):
                levels[place] = "{node}_" + end
                yield InputSource("/".join(levels), channel=quantity, **common)


def _common(alike: _Alike) -> dict[str, Any]:
    """Return the options of sources of one form that do not depend on topics."""
    return {"values": _values(alike.documents), "records": alike.form.records or None, **_time(alike)}


def _fields(alike: _Alike) -> dict[str, str]:
    if alike.form.place is None:
        return {"|".join(names): quantity for quantity, names in alike.names.items()}
    return {name: quantity for quantity, names in alike.names.items() for name in names}


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


def _first_device(levels: Sequence[str], alike: _Alike) -> tuple[int | None, int]:
    """Return the first level, if it may name a device where no other does, as ``plug/tele/SENSOR``."""
    is_device = alike.form.place is None and not (levels[0].startswith("$") or _is_generic(levels[0]))
    return (0 if is_device else None), 0


def _is_generic(level: str) -> bool:
    return level.lower() in _GENERIC or level.startswith("endpoint") or (level.isdigit() and len(level) < 3)


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
        elif unit_of(text):
            found[unit_of(text)] = "unit"
    return found


def _time(alike: _Alike) -> dict[str, str]:
    """Return the options of the time in payloads, if there is one that can be read."""
    read = clock("any")
    before = alike.form.node.strip("{}").rpartition(".")[0] + "."
    for key in (*_TIMES, *(before + key for key in _TIMES)):
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
    offsets: dict[str, list[float]] = defaultdict(list)
    parts = (
        (message, *part)
        for message in messages
        if message.topic not in mixed or source.node is not None
        for part in addressed([route], message.topic, message.payload)
    )
    for message, topic, payload in parts:
        routed = route.find(topic)
        if routed is None:
            continue
        try:
            decoded = routed.codec.decode(payload, message.arrival, message.content_type)
        except PayloadError:
            continue
        nodes[routed.called], topics[message.topic] = None, None
        offsets[routed.called] += offsets_of(decoded, message)
    quantities = [source.channel] if source.channel else [*source.fields.values()]
    return GuessedSource(source, [*nodes], [*topics], quantities, offsets) if nodes else None


def offsets_of(decoded: Reported | Several, message: Message) -> list[float]:
    """Return the arrival of a message less the newest of its stamps, in seconds; nothing without stamps."""
    parts = [part for _, part in decoded.parts] if isinstance(decoded, Several) else [decoded]
    stamps = [part.time for part in parts if isinstance(part, Reading) and part.time is not None]
    return [] if message.retained or not stamps else [message.arrival - max(stamps)]
