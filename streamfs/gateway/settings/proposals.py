"""Proposals: which sources would read what was heard on a broker."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from statistics import median

import orjson

from feature_extractors.report import quantity_of, split_channel
from streamfs.errors import PayloadError, SettingsError
from streamfs.gateway.core.device_profile import DeviceProfile
from streamfs.gateway.core.intake import BATTERY
from streamfs.gateway.core.routes import Route
from streamfs.gateway.messages.codecs import Reading, Several
from streamfs.gateway.messages.codecs.paths import load_json
from streamfs.gateway.messages.message import Message
from streamfs.gateway.messages.topics import Template
from streamfs.gateway.settings.device_sources import sources_of
from streamfs.gateway.settings.profiles import load_profile, profile_files

NATIVE = "streamfs"
"""The profile of own nodes, whose topics name channels unless a source names quantities."""

_WORDS = {
    "temperature": ("temp", "tc", "t"),
    "humidity": ("hum", "rh"),
    "light": ("illuminance", "lux", "illum", "als"),
    "pressure": ("press", "barometer"),
    "co2": ("carbondioxide",),
    "occupancy": ("motion", "presence", "pir"),
    "contact": ("door", "window", "reed"),
}  # other words for a quantity

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

    Examples
    --------
    >>> suggestion("zigbee2mqtt/kitchen/window"), suggestion("tele/plug/SENSOR"), suggestion("a/b")
    ('zigbee2mqtt', 'tasmota', '')
    """
    for profile, routes in _routes(folder):
        if any(not route.ignores(topic) and route.find(topic) is not None for route in routes):
            return profile.name
    return ""


def proposal(messages: Iterable[Message], channels: Sequence[str], folder: Path | None = None) -> str:
    """Return sections of a ``gateway.toml`` that would read messages, as far as profiles know them, with remarks.

    Parameters
    ----------
    messages : iterable of Message
        What was heard.
    channels : sequence of str
        Channels of the model.
    folder : path, optional
        Device profiles of one's own.
    """
    wanted = list(dict.fromkeys(quantity_of(split_channel(channel)[0]) for channel in channels))
    heard, others = _heard(messages, folder)
    found = {quantity for name, devices in heard.items() for quantity in _read(name, devices, wanted)}
    parts = [_section(name, devices, wanted) for name, devices in heard.items()]
    parts += _aliases(dict.fromkeys(node for each in heard.values() for node in (*each.nodes, *each.known)))
    missing = [quantity for quantity in wanted if quantity not in found]
    if missing:
        parts.append(f"# nobody was heard to send {', '.join(missing)}, which the model reads\n")
    if others:
        named = ", ".join(others[:_MOST_NAMED]) + (", ..." if len(others) > _MOST_NAMED else "")
        parts.append(f"# no profile reads {_counted(len(others), 'further topic')}: {named}\n")
    return "\n".join(parts) or "# nothing was heard\n"


def _heard(messages: Iterable[Message], folder: Path | None) -> tuple[dict[str, HeardDevices], list[str]]:
    """Return what was heard by profile, and the topics that none reads."""
    heard: dict[str, HeardDevices] = defaultdict(HeardDevices)
    others: dict[str, None] = {}
    for message in messages:
        is_known = False
        for profile, routes in _routes(folder):
            inventory = profile.inventory and Template(profile.inventory).match(message.topic)
            if inventory:
                heard[profile.name].known |= _inventory(message.payload)
            is_known = is_known or _is_no_reading(message.topic, profile, routes)
            if any(_take(route, message, profile, heard) for route in routes):
                is_known = True
                break
        if not is_known:
            others[message.topic] = None
    return dict(heard), list(others)


def _is_no_reading(topic: str, profile: DeviceProfile, routes: Iterable[Route]) -> bool:
    """Return whether a topic is known to a profile, and has no readings: births, answers, availability."""
    known = [each.topic for each in (profile.birth, profile.answer, *profile.availability) if each is not None]
    return any(route.ignores(topic) for route in routes) or any(
        Template(each).match(topic) is not None for each in known
    )


def _take(route: Route, message: Message, profile: DeviceProfile, heard: dict[str, HeardDevices]) -> bool:
    """Note what a route reads in a message, and return whether it reads any."""
    routed = None if route.ignores(message.topic) else route.find(message.topic)
    if routed is None:
        return False
    try:
        decoded = routed.codec.decode(message.payload, message.arrival, message.content_type)
    except PayloadError:
        return False
    parts = decoded.parts if isinstance(decoded, Several) else ((routed.channel or "", decoded),)
    if not parts:
        return False
    devices = heard[profile.name]
    devices.nodes[routed.called] += 1
    for quantity, part in parts:
        devices.quantities.setdefault(quantity, split_channel(quantity)[0])
        devices.names[routed.called].add(quantity)
        if isinstance(part, Reading) and part.time is not None and not message.retained:
            devices.offsets[routed.called].append(message.arrival - part.time)
    return True


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
    named = ", ".join(nodes[:_MOST_NAMED]) + (", ..." if len(nodes) > _MOST_NAMED else "")
    lines = ["[[source]]", f'device = "{name}"', f"# {_counted(len(nodes), 'device')}: {named}"]
    fields = _fields(name, devices, wanted)
    if fields:
        lines.append(f"fields = {{ {', '.join(f'{_key(each)} = {_key(fields[each])}' for each in fields)} }}")
    if silent:
        shown = ", ".join(silent[:_MOST_NAMED]) + (", ..." if len(silent) > _MOST_NAMED else "")
        lines.append(f"# its bridge knows {_counted(len(silent), 'other')}, not heard: {shown}")
    unread = sorted(set(devices.quantities.values()) - set(wanted) - set(fields) - {BATTERY})
    if unread:
        lines.append(f"# which also send {', '.join(unread)}, which the model does not read")
    lines += [
        f"# {node}: stamps are {abs(offset):.0f} s {'behind' if offset > 0 else 'ahead'}{_zone(offset)}"
        for node, offset in ((node, median(found)) for node, found in sorted(devices.offsets.items()))
        if abs(offset) > _OFF
    ]
    return "\n".join(lines) + "\n"


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


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
    """Return names that stand for quantities of the model, by what they look like, if some devices need them."""
    found: dict[str, str] = {}
    is_needed = False
    for names in devices.names.values():
        for quantity in wanted:
            alike = sorted(
                (name for name in names if _is_like(name, quantity)), key=lambda each: (len(each), each)
            )
            if alike:
                exact = quantity if quantity in names else alike[0]
                found[exact] = quantity
                is_needed |= exact != quantity or profile == NATIVE
    if is_needed and any(BATTERY in names for names in devices.names.values()):
        found[BATTERY] = BATTERY
    return found if is_needed else {}


def _is_like(name: str, quantity: str) -> bool:
    """Return whether a name has a word for a quantity.

    Examples
    --------
    >>> _is_like("TempC_SHT", "temperature"), _is_like("template", "temperature")
    (True, False)
    """
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name).lower())
    known = {quantity.lower(), *_WORDS.get(quantity.lower(), ())}
    return any(word in known for word in words)


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
