"""Proposals: which sources would read what was heard on a broker."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from statistics import median

import orjson

from feature_extractors.report import quantity_of, split_channel
from streamfs.errors import PayloadError, SettingsError
from streamfs.gateway.core.device_profile import DeviceProfile
from streamfs.gateway.core.intake import BATTERY
from streamfs.gateway.core.routes import Route, Routed, addressed
from streamfs.gateway.messages.codecs import Several
from streamfs.gateway.messages.codecs.paths import load_json
from streamfs.gateway.messages.message import Message
from streamfs.gateway.messages.topics import Template
from streamfs.gateway.settings.already_read import AlreadyRead
from streamfs.gateway.settings.device_sources import sources_of
from streamfs.gateway.settings.guessed_sources import GuessedSource, guessed_sources, offsets_of
from streamfs.gateway.settings.profiles import load_profile, profile_files
from streamfs.gateway.settings.quantity_words import is_like
from streamfs.gateway.settings.unread import root_of, unread

NATIVE = "streamfs"
"""The profile of own nodes, whose topics name channels unless a source names quantities."""

_REPORTER = "homeassistant"
"""The first level of what Home Assistant says of others' devices: no device of its own."""

_OFF = 60.0  # seconds by which a clock is off, to be named
_QUARTER = 900.0  # seconds: time zones differ by multiples
_MOST_NAMED = 8


class HeardDevices:
    """What was heard of the devices of a profile: readings by node, and quantity by the name it has there."""

    def __init__(self) -> None:
        self.nodes: dict[str, int] = defaultdict(int)
        self.names: dict[str, set[str]] = defaultdict(set)  # of quantities, by node
        self.quantities: dict[str, str] = {}  # by path or name
        self.offsets: dict[str, list[float]] = defaultdict(list)  # arrival less stamp, seconds, by node
        self.unread: dict[str, dict[str, None]] = defaultdict(dict)  # paths alike to wanted quantities, by node
        self.paths: dict[str, str] | None = None  # of quantities, if fields are paths in payloads
        self.known: dict[str, str] = {}  # what a bridge says of how devices are powered, by their names


@cache
def _routes(folder: Path | None) -> tuple[tuple[DeviceProfile, tuple[Route, ...]], ...]:
    found = []
    for name in profile_files(folder):
        try:
            profile = load_profile(name, folder)
        except SettingsError:  # such as for a missing extra; whoever names it is told
            continue
        found.append((profile, tuple(source.route() for source in sources_of(profile))))
    return tuple(found)


def suggestion(topic: str, folder: Path | None = None) -> str:
    """Return the name of the device profile that has topics like one; empty if none has.

    What Home Assistant says of others' devices is of none.

    Examples
    --------
    >>> suggestion("zigbee2mqtt/kitchen/window"), suggestion("tele/plug/SENSOR"), suggestion("a/b")
    ('zigbee2mqtt', 'tasmota', '')
    """
    for profile, routes in _routes(folder):
        if any(_routed(route, topic) is not None for route in routes):
            return profile.name
    return ""


def proposal(
    messages: Iterable[Message],
    channels: Sequence[str],
    folder: Path | None = None,
    routes: Sequence[Route] = (),
) -> str:
    """Return sections of a ``gateway.toml`` that would read messages, as far as profiles know them, with remarks.

    Parameters
    ----------
    messages : iterable of Message
        What was heard.
    channels : sequence of str
        Channels of the model.
    folder : path, optional
        Device profiles of one's own.
    routes : sequence of Route
        Those of the sources that there are: nothing is proposed for topics that they match.
    """
    wanted = list(dict.fromkeys(quantity_of(split_channel(channel)[0]) for channel in channels))
    already = AlreadyRead(routes, wanted)
    heard, unknown = _heard(already.rest(messages), wanted, folder)
    guessed, remarks = guessed_sources(unknown, wanted)
    others = [
        topic for topic in dict.fromkeys(message.topic for message in unknown) if not _is_read(topic, guessed)
    ]
    found = {quantity for name, devices in heard.items() for quantity in _read(name, devices, wanted)}
    found |= {quantity for each in guessed for quantity in each.quantities}
    found |= already.quantities | {*already.left_out.values()}
    parts = [*_remarks_on(already), *(_section(name, devices, wanted) for name, devices in heard.items())]
    parts += [_guessed(each) for each in guessed] + [f"# {remark}\n" for remark in remarks]
    parts += _doubled(
        [
            (already.nodes, already.quantities),
            *((devices.nodes, _read(name, devices, wanted)) for name, devices in heard.items()),
            *((each.nodes, each.quantities) for each in guessed),
        ]
    )
    nodes = [node for each in heard.values() for node in (*each.nodes, *each.known)]
    parts += _aliases(dict.fromkeys([*nodes, *(node for each in guessed for node in each.nodes)]))
    missing = [quantity for quantity in wanted if quantity not in found]
    if missing:
        parts.append(f"# nobody was heard to send {', '.join(missing)}, which the model reads\n")
    if others:
        parts.append(f"# no profile reads {_counted(len(others), 'further topic')}: {_listed(others)}\n")
    return "\n".join(parts) or "# nothing was heard\n"


def _remarks_on(already: AlreadyRead) -> Iterator[str]:
    """Yield what the sources that there are read, and what they do not."""
    if already.nodes:
        nodes = sorted(already.nodes)
        yield f"# your sources read {_counted(len(nodes), 'device')}: {_listed(nodes)}\n"
    if already.left_out:
        names = [f"{name} of {node}" for name, node in already.left_out]
        yield f"# your sources match, but do not read: {_listed(names)}\n"
    if already.refused:
        errors = [f"{topic} ({error})" for topic, error in already.refused.items()]
        yield f"# your sources match, but cannot read: {_listed(errors)}\n"


def _is_read(topic: str, guessed: Iterable[GuessedSource]) -> bool:
    return any(topic in each.topics for each in guessed)


def _heard(
    messages: Iterable[Message], wanted: Sequence[str], folder: Path | None
) -> tuple[dict[str, HeardDevices], list[Message]]:
    """Return what was heard by profile, and the messages that none knows."""
    heard: dict[str, HeardDevices] = defaultdict(HeardDevices)
    unknown: list[Message] = []
    for message in messages:
        is_known = False
        for profile, routes in _routes(folder):
            inventory = profile.inventory and Template(profile.inventory).match(message.topic)
            if inventory:
                heard[profile.name].known |= _inventory(message.payload)
            is_known = is_known or _is_no_reading(message.topic, profile, routes)
            if any(_take(route, message, profile, wanted, heard) for route in routes):
                is_known = True
                break
        if not is_known:
            unknown.append(message)
    return dict(heard), unknown


def _is_no_reading(topic: str, profile: DeviceProfile, routes: Iterable[Route]) -> bool:
    """Return whether a topic is known to a profile, and has no readings: births, answers, availability."""
    known = [each.topic for each in (profile.birth, profile.answer, *profile.availability) if each is not None]
    return any(route.ignores(topic) for route in routes) or any(
        Template(each).match(topic) is not None for each in known
    )


def _take(
    route: Route,
    message: Message,
    profile: DeviceProfile,
    wanted: Sequence[str],
    heard: dict[str, HeardDevices],
) -> bool:
    """Note what a route reads in a message, and return whether it reads any."""
    parts = addressed([route], message.topic, message.payload)
    taken = [_take_part(route, message._replace(**part._asdict()), profile, wanted, heard) for part in parts]
    return any(taken)


def _take_part(
    route: Route,
    message: Message,
    profile: DeviceProfile,
    wanted: Sequence[str],
    heard: dict[str, HeardDevices],
) -> bool:
    """Note what a route reads of one device, whose name is in the topic if the payload has it."""
    routed = _routed(route, message.topic)
    if routed is None:
        return False
    try:
        decoded = routed.codec.decode(message.payload, message.arrival, message.content_type)
    except PayloadError:
        return False
    parts = decoded.parts if isinstance(decoded, Several) else ((routed.channel or "", decoded),)
    rest = [path for path in unread(route, message.payload) if any(is_like(path, each) for each in wanted)]
    if not (parts or rest):
        return False
    devices = heard[profile.name]
    devices.nodes[routed.called] += 1
    devices.unread[routed.called] |= dict.fromkeys(rest)
    if root_of(route) is not None:
        devices.paths = devices.paths or _paths(profile)
    for quantity, _ in parts:
        devices.quantities.setdefault(quantity, split_channel(quantity)[0])
        devices.names[routed.called].add(quantity)
    devices.offsets[routed.called] += offsets_of(decoded, message)
    return True


def _routed(route: Route, topic: str) -> Routed | None:
    """Return where a topic's messages belong; None if they are no readings of a device of the route's kind."""
    routed = None if route.ignores(topic) else route.find(topic)
    return None if routed is not None and routed.called == _REPORTER else routed


def _inventory(payload: bytes) -> dict[str, str]:
    """Return how the devices that a bridge lists are powered, by name; nothing of what is no list."""
    try:
        listed = load_json(payload)
    except PayloadError:
        return {}
    devices = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return {
        str(each["friendly_name"]): "battery" if each.get("power_source") == "Battery" else "mains"
        for each in devices
        if "friendly_name" in each and each.get("type") != "Coordinator" and not each.get("disabled")
    }


def _section(name: str, devices: HeardDevices, wanted: Sequence[str]) -> str:
    nodes = sorted(devices.nodes)
    silent = [f"{node} ({power})" for node, power in devices.known.items() if node not in devices.nodes]
    lines = ["[[source]]", f'device = "{name}"', f"# {_counted(len(nodes), 'device')}: {_listed(nodes)}"]
    fields = _fields(name, devices, wanted)
    if fields:
        lines.append(f"fields = {{ {', '.join(f'{_key(each)} = {_key(fields[each])}' for each in fields)} }}")
    if silent:
        lines.append(f"# its bridge knows {_counted(len(silent), 'other')}, not heard: {_listed(silent)}")
    used = {path for text in fields for path in text.split("|")}
    further = [f"{path} of {node}" for node, paths in devices.unread.items() for path in paths if path not in used]
    if further:
        lines.append(f"# not read, since a device has one value of a quantity: {_listed(further)}")
    others = sorted(set(devices.quantities.values()) - set(wanted) - used - {BATTERY})
    if others:
        lines.append(f"# which also send {', '.join(others)}, which the model does not read")
    return "\n".join([*lines, *_clocks(devices.offsets)]) + "\n"


def _clocks(offsets: Mapping[str, Sequence[float]]) -> list[str]:
    """Return remarks on clocks that are off, given arrivals less stamps by device."""
    return [
        f"# {node}: stamps are {abs(offset):.0f} s {'behind' if offset > 0 else 'ahead'}{_zone(offset)}"
        for node, offset in ((node, median(found)) for node, found in sorted(offsets.items()) if found)
        if abs(offset) > _OFF
    ]


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


def _doubled(sources: Iterable[tuple[Iterable[str], Iterable[str]]]) -> list[str]:
    """Return a remark on nodes of which several sources, given their nodes and quantities, read the same."""
    numbers = Counter(pair for nodes, quantities in sources for pair in product(nodes, {*quantities}))
    names = [*dict.fromkeys(node for (node, _), number in numbers.items() if number > 1)]
    remark = (
        f"# several of these sources read {_listed(names)}: leave out all but one that read the same device,\n"
        '# and tell devices apart that differ, by topic = "{node...}/..", which takes in the levels before\n'
    )
    return [remark] if names else []


def _aliases(nodes: Collection[str]) -> list[str]:
    """Return sections that name nodes of several levels by their last one, left to the reader where several do."""
    names = Counter(node.rpartition("/")[2] for node in nodes)
    return [
        f'[node.{_key(name)}]\nalias = ["{node}"]\n'
        if names[name] == 1
        else f'# [node.NAME]\n# alias = ["{node}"]  # choose a name: several end in {name}\n'
        for node, name in ((node, node.rpartition("/")[2]) for node in nodes if "/" in node)
    ]


def _read(profile: str, devices: HeardDevices, wanted: Sequence[str]) -> set[str]:
    """Return quantities that are read, by their own names or those proposed."""
    return {*devices.quantities.values(), *_fields(profile, devices, wanted).values()}


def _fields(profile: str, devices: HeardDevices, wanted: Sequence[str]) -> dict[str, str]:
    """Return names that stand for quantities of the model, by what they look like, if some devices need them.

    Paths in payloads stand with bars between, if devices have a quantity at several.
    """
    found: dict[str, dict[str, None]] = defaultdict(dict)
    is_needed, paths = False, devices.paths or {}
    for node in devices.nodes:
        names = devices.names[node]
        for quantity in wanted:
            alike = sorted(
                (name for name in (*names, *devices.unread[node]) if is_like(name, quantity)),
                key=lambda each: (each not in names, len(each), each),
            )
            if alike:
                exact = quantity if quantity in names else alike[0]
                found[quantity][paths.get(exact, exact)] = None
                is_needed |= exact != quantity or profile == NATIVE
    if not is_needed:
        return {}
    if any(BATTERY in names for names in devices.names.values()):
        found[BATTERY][paths.get(BATTERY, BATTERY)] = None
    if devices.paths is not None:
        return {"|".join(names): quantity for quantity, names in found.items()}
    return {name: quantity for quantity, names in found.items() for name in names}


def _paths(profile: DeviceProfile) -> dict[str, str]:
    """Return the paths of the quantities that a profile reads, in any of its readings."""
    found: dict[str, list[str]] = defaultdict(list)
    for reading in profile.readings:
        for path, quantity in reading.get("fields", {}).items():
            found[quantity].append(path)
    return {quantity: "|".join(dict.fromkeys(paths)) for quantity, paths in found.items()}


def _guessed(found: GuessedSource) -> str:
    """Return the section of a source that was guessed, with its devices."""
    source = found.source
    fields = ", ".join(f"{_key(name)} = {_key(quantity)}" for name, quantity in source.fields.items())
    values = ", ".join(f"{_key(word)} = {orjson.dumps(value).decode()}" for word, value in source.values.items())
    lines = [
        "[[source]]  # guessed",
        f"topic = {_key(source.topic)}",
        *([f"node = {_key(source.node)}"] if source.node else []),
        *([f"channel = {_key(source.channel)}"] if source.channel else []),
        *([f"records = {_key(source.records)}"] if source.records else []),
        *([f"fields = {{ {fields} }}"] if fields else []),
        *([f"values = {{ {values} }}"] if values else []),
        *([f"time = {_key(source.time)}", f"time_unit = {_key(source.time_unit)}"] if source.time else []),
        f"# {_counted(len(found.nodes), 'device')}: {_listed(found.nodes)}",
        *_clocks(found.offsets),
    ]
    return "\n".join(lines) + "\n"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")


def _key(text: str) -> str:
    """Return a text in TOML."""
    return orjson.dumps(text).decode()


def _zone(offset: float) -> str:
    is_near = abs(offset - _QUARTER * round(offset / _QUARTER)) < _OFF
    return (
        ": set time_zone, of the source or of [node.NAME]"
        if is_near and round(offset / _QUARTER)
        else ": its clock is wrong"
    )
