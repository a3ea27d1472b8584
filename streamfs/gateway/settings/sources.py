"""Sections ``[[source]]`` of ``gateway.toml``: topics, their formats and channels."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from feature_extractors.report import split_channel
from streamfs.errors import MissingExtraError
from streamfs.gateway.core.device_profile import DeviceProfile
from streamfs.gateway.core.option_declaration import Option, OptionSection
from streamfs.gateway.core.routes import REPEATS, STANDARD, Route
from streamfs.gateway.messages.codecs import FORMATS
from streamfs.gateway.messages.codecs.checks import TIME_UNITS, zone
from streamfs.gateway.messages.message import MAX_SAMPLES
from streamfs.gateway.messages.senders import Sender, names_sender
from streamfs.gateway.messages.topics import Template, check_name

_NAMES_CHANNELS = ("senml+json", "senml+cbor", "chirpstack", "thethings", "sparkplug")  # formats whose payloads do


def _check_node(node: str) -> None:
    """Raise a ValueError if a node cannot be in topics, or the braces of one in payloads have no paths."""
    if names_sender(node):
        Sender(node)
    else:
        check_name("node", node)


def check_channel(channel: str) -> None:
    """Raise a ValueError if a channel, as a node knows it, cannot be in a topic or cannot be parsed."""
    check_name("channel", channel)
    split_channel(channel)


@dataclass(frozen=True)
class InputSource(OptionSection):
    """A section ``[[source]]``: topics with their format and channels."""

    topic: Annotated[
        str,
        Option(
            "A topic such as zigbee2mqtt/{node}: `{node}` is the node's name, `{channel}` the channel's; each may "
            "be part of a level. `{node...}` is a name of one or more levels, `+` any level. If several sources "
            "match a topic, the first counts",
            check=Template,
        ),
    ]
    node: Annotated[
        str | None,
        Option(
            "The node, if the topic does not name it; in braces where a JSON payload does, such as `{id}` or "
            "`{model}-{id}`; with a `*` each of several, such as `{sensors.*.id}` or `{*}`",
            check=_check_node,
        ),
    ] = None
    ignore: Annotated[
        tuple[str, ...], Option("Topics among these that have no readings, written likewise", check=Template)
    ] = ()
    format: Annotated[str, Option("One of the formats below", choices=FORMATS, own="streamfs.codecs")] = "auto"
    channel: Annotated[
        str | None, Option("The channel, if neither topic nor payload names it", check=check_channel)
    ] = None
    fields: Annotated[
        Mapping[str, str],
        Option(
            "For payloads with several values: the path of each value, and its channel; of several paths with "
            "bars between, the first that leads to a value counts. If the topic has `{channel}`: the names there, "
            "and their channels"
        ),
    ] = field(default_factory=dict)
    values: Annotated[
        Mapping[str, Any],
        Option(
            'Words in place of numbers, such as `{ ON = 1, OFF = 0, unavailable = "missing" }`, or after them: '
            '`{ "°C" = "unit" }`; and `{ "," = "point" }` for `21,5`',
            values=(int, float, str),
        ),
    ] = field(default_factory=dict)
    units: Annotated[
        Mapping[str, str],
        Option(
            'Channels in another unit than the model\'s, such as `{ temperature = "F to C" }`, or '
            '`"{TempUnit} to C"` for the unit that a JSON payload states at a path'
        ),
    ] = field(default_factory=dict)
    repeats: Annotated[
        str,
        Option(
            'What it means if a device or bridge says the same again: `"new"` readings; `"held"`, none, if all in '
            'the message is the same; or `"ignored"`, none of each value that is the same',
            choices=REPEATS,
        ),
    ] = "new"
    value: Annotated[str | None, Option("For plain JSON: the value's path, with dots")] = None
    time: Annotated[
        str | None,
        Option("For plain JSON: the time's path, or several with bars between: the first that is there"),
    ] = None
    time_unit: Annotated[
        str,
        Option(
            'For plain JSON: `"s"`, `"ms"`, `"us"`, `"ns"`, `"iso"` for text such as `2025-01-31T12:00:00Z`, in '
            'UTC unless it has an offset, or `"any"` for such text, or a number of whichever unit its size tells',
            choices=TIME_UNITS,
        ),
    ] = "s"
    time_zone: Annotated[
        str | None,
        Option(
            'For `"iso"` and `"any"`: the zone of times without an offset, such as `"Europe/Berlin"`; UTC by '
            "default",
            check=zone,
        ),
    ] = None
    sequence: Annotated[str | None, Option("For plain JSON: the sequence number's path")] = None
    records: Annotated[
        str | None,
        Option(
            "For plain JSON with `fields`: the path of an array of objects, each with values and a time; `fields` "
            "and `time` lead on from there. A payload that is such an array needs none"
        ),
    ] = None
    device: Annotated[
        str | None,
        Option("A device profile, which has topics and formats; other keys here come before its own"),
    ] = None
    parameters: Annotated[Mapping[str, str], Option("Of the device profile")] = field(default_factory=dict)
    control: Annotated[
        bool, Option("With a device profile: whether devices are asked for what models want, or only listened to")
    ] = True
    number: int = 0  # of the section, among those of the file
    profile: DeviceProfile | None = None

    @property
    def key(self) -> str:
        """The key of the device profile among the bindings; empty if devices are not asked."""
        is_asked = self.control and self.profile is not None and self.profile.report is not None
        return f"{self.device}:{self.number}" if is_asked else ""

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Yield what does not go together: a key, and what is wrong with it."""
        by_topic = "{channel}" in self.topic
        by_payload = self.format in _NAMES_CHANNELS or (bool(self.fields) and not by_topic)
        if self.channel is not None and (by_topic or by_payload):
            yield "channel", f"is set, but the {'topic' if by_topic else 'payload'} names the channel"
        elif by_topic and by_payload:
            yield "topic", f"is {self.topic!r}, but the payload names the channels; expected + there"
        elif self.channel is None and not (by_topic or by_payload or self.format == "auto"):
            yield "channel", "is missing, and neither topic nor payload names it"
        unknown = [name for name in self.units if self.channels is not None and name not in self.channels]
        if unknown:
            yield "units", f"has {unknown[0]!r}, expected channels of the source: {', '.join(self.channels or ())}"
        try:
            self.route()
        except (ValueError, MissingExtraError) as error:
            yield "", f"cannot be: {error}"

    @property
    def channels(self) -> tuple[str, ...] | None:
        """Channels of the source; None if topics or payloads name them."""
        if self.channel is not None:
            return (self.channel,)
        return tuple(self.fields.values()) or None

    def route(self, max_samples: int = MAX_SAMPLES) -> Route:
        """Return the source as a route of bindings, for messages of at most ``max_samples`` samples."""
        rare: dict[str, Any] = {
            "node": self.node,
            "ignore": self.ignore,
            "values": self.values,
            "units": self.units,
            "records": self.records,
        }
        if self.key:
            rare["device"] = self.key
        if self.device is not None and self.device != "streamfs":
            rare["quantities"] = "{channel}" in self.topic and not self.fields
        return Route.of(
            self.topic,
            self.format,
            self.channel,
            repeats=self.repeats,
            fields=self.fields or None,
            value=self.value,
            time=self.time,
            time_unit=self.time_unit,
            sequence=self.sequence,
            time_zone=self.time_zone,
            max_samples=max_samples,
            **{key: value for key, value in rare.items() if value},
        )


STANDARD_SOURCE = InputSource(STANDARD.template.text)
"""The source of a file that has none."""
