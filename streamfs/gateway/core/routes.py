"""Routes: topics, the format of their messages, and what these carry."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import orjson

from feature_extractors.report import split_channel
from streamfs.gateway.messages.codecs import FORMATS, Codec, codec_for, own_codec
from streamfs.gateway.messages.codecs.units import Conversion, ConvertedCodec, StatedUnit, conversion_of
from streamfs.gateway.messages.senders import MARK, Sender, names_sender
from streamfs.gateway.messages.topics import Template

__all__ = ["STANDARD", "Route", "Routed"]

_JSON = ("auto", "json", "chirpstack", "thethings")  # formats

REPEATS = ("new", "held", "ignored")
"""What it means if a device says the same again: readings; none, if all is the same; none of each such value."""


class Routed(NamedTuple):
    """Where messages of a topic belong: a node as it is called there, a channel unless the payload names it."""

    node: str
    channel: str | None
    codec: Codec
    repeats: str = "new"
    device: str = ""  # the key of its device's profile, if the device can be asked
    called: str = ""  # the node, as the device is called there
    thins: bool = True  # whether what comes is a quantity that models may want under other report policies


class Route(NamedTuple):
    """Topics, and the format of their messages; `channel` is None if the topic or the payload names it.

    `device` is the key of a profile; `node` is that of topics that do not name one, unless payloads name the
    `sender`; `names` has the channels by their names in topics; topics that match `ignored` are no readings;
    `conversions` are by channel.
    """

    template: Template
    codec: Codec
    channel: str | None = None
    described: str = ""  # the arguments of `of`, as JSON; empty if made otherwise
    node: str = ""
    names: Mapping[str, str] | None = None
    ignored: tuple[Template, ...] = ()
    repeats: str = "new"
    conversions: Mapping[str, Conversion | StatedUnit] = {}
    device: str = ""
    quantities: bool = False  # whether the names of channels in topics are those of quantities
    sender: Sender | None = None

    @classmethod
    def of(
        cls,
        topic: str,
        name: str = "auto",
        channel: str | None = None,
        *,
        node: str = "",
        ignore: Sequence[str] = (),
        repeats: str = "new",
        units: Mapping[str, str] | None = None,
        quantities: bool = False,
        device: str = "",
        **options: Any,
    ) -> Self:
        """Make a route from a topic template, a format name, and options of its codec.

        `fields` are names in the topic if that names the channel. `units` are conversions by channel.
        """
        rare: dict[str, Any] = {"node": node, "ignore": list(ignore), "repeats": repeats, "units": units}
        rare |= {"quantities": quantities, "device": device}
        defaults: dict[str, Any] = {"node": "", "ignore": [], "repeats": "new", "units": None, "quantities": False}
        defaults["device"] = ""
        rare = {key: value for key, value in rare.items() if value != defaults[key]}
        made_of = {"topic": topic, "name": name, "channel": channel, **rare, **options}
        template = Template(topic)
        if template.has_node == bool(node):
            expected = "one {node}, or node beside it" if not node else "none with {node}: node is set"
            raise ValueError(f"topic is {topic!r}, expected {expected}")
        names = options.pop("fields", None) if template.has_channel else None
        conversions = {name: conversion_of(text) for name, text in (units or {}).items()}
        if name not in _JSON and any(isinstance(each, StatedUnit) for each in conversions.values()):
            raise ValueError(f"units are stated by JSON payloads, and format is {name!r}")
        is_batch = options.get("records") is not None
        sender = Sender(node, read_together=is_batch) if names_sender(node) else None
        if sender is not None and name not in _JSON:
            raise ValueError(f"node is {node!r}, but only JSON payloads name nodes, and format is {name!r}")
        codec = codec_for(name, **options) if name in FORMATS else own_codec(name, options)
        if conversions and not (channel or template.has_channel):
            codec = ConvertedCodec(codec, conversions)
        ignored = tuple(Template(text) for text in ignore)
        described = orjson.dumps(made_of).decode()
        return cls(
            template,
            codec,
            channel,
            described,
            "" if sender else node,
            names,
            ignored,
            repeats,
            conversions,
            device,
            quantities,
            sender,
        )

    @property
    def takes_zone(self) -> bool:
        """Whether times of these messages may be text without an offset."""
        return bool(self.described) and orjson.loads(self.described).get("time_unit") in ("iso", "any")

    def in_zone(self, zone: str) -> Self:
        """Return the same, for a device whose times without an offset are in a zone."""
        return self.of(**{**orjson.loads(self.described), "time_zone": zone}) if self.takes_zone else self

    def find(self, topic: str) -> Routed | None:
        """Return where the messages of a topic belong; None for others, and for channels without a name here.

        If payloads name the sender, the topic is that of `addressed`.
        """
        topic, mark, sender = topic.partition(MARK)
        found = self.template.match(topic) if bool(mark) == (self.sender is not None) else None
        if found is None:
            return None
        node, named = found
        if self.names is not None and named is not None:
            named = self.names.get(named)
            if named is None:
                return None
        channel = self.channel or named
        codec = self.codec
        if channel is not None and channel in self.conversions:
            codec = ConvertedCodec(codec, {"": self.conversions[channel]})
        thins = self.quantities or self.names is not None or named is None
        called = sender or self.node or node
        return Routed(called, channel, codec, self.repeats, self.device, called, thins)

    def ignores(self, topic: str) -> bool:
        """Return whether a topic is known to have no readings."""
        return any(template.match(topic) is not None for template in self.ignored)

    def filters(self, channels: Sequence[str]) -> tuple[str, ...]:
        """Return the topic filters for these channels, as nodes know them."""
        if self.names is not None:
            return self.template.filters(tuple(self.names))
        columns = dict.fromkeys(split_channel(channel)[0] for channel in channels)
        return self.template.filters(tuple(columns) if self.quantities else channels)


class Addressed(NamedTuple):
    """A message, or one device's part of it; the node is in the topic if the payload names it."""

    topic: str
    payload: bytes


def addressed(routes: Iterable[Route], topic: str, payload: bytes) -> list[Addressed]:
    """Return the parts of a message, with nodes behind a `MARK` if the first route that fits has these from it.

    Mostly it is one part, the message itself; a source whose node has a ``*`` reads messages of several devices.

    Examples
    --------
    >>> routes = [Route.of("rtl_433/+/events", "json", node="{id}", fields={"temperature_C": "temperature"})]
    >>> addressed(routes, "rtl_433/attic/events", b'{"id": 11, "temperature_C": 4.5}')
    [Addressed(topic='rtl_433/attic/events#11', payload=b'{"id": 11, "temperature_C": 4.5}')]
    """
    return by_sender(senders_of(routes, topic), topic, payload)


def senders_of(routes: Iterable[Route], topic: str) -> tuple[Sender, ...]:
    """Return who may say which node a message on a topic is from, in order; empty if the topic does."""
    if MARK in topic:
        return ()
    found: list[Sender] = []
    for route in routes:
        if route.ignores(topic):
            continue
        if route.sender is not None and route.template.match(topic) is not None:
            found.append(route.sender)
        elif route.find(topic) is not None:
            break
    return tuple(found)


def by_sender(senders: Iterable[Sender], topic: str, payload: bytes) -> list[Addressed]:
    """Return the parts of a message, each with the node behind a `MARK` in its topic, that a payload names."""
    for sender in senders:
        sent = sender.sent(payload)
        if sent:
            return [Addressed(f"{topic}{MARK}{node}" if node else topic, part) for node, part in sent]
    return [Addressed(topic, payload)]


def unnamed(routes: Iterable[Route], topic: str) -> str:
    """Return why a message on a topic has no node, where payloads are to name it; empty if topics do.

    Examples
    --------
    >>> unnamed([Route.of("rtl_433/+/events", "json", node="{id}", fields={"t": "x"})], "rtl_433/attic/events")
    'its payload has nothing at {id} that can name a node'
    """
    places = [route.sender.text for route in routes if route.sender and route.template.match(topic)]
    return f"its payload has nothing at {' or '.join(places)} that can name a node" if places else ""


STANDARD = Route.of("sensors/{node}/{channel}")
"""Where nodes publish by default; the content type determines the format."""


def level_of(name: str) -> str:
    """Return a name, which may have several levels, as one level of a topic.

    Examples
    --------
    >>> level_of("kitchen/window")
    'kitchen%2Fwindow'
    """
    return name.replace("/", "%2F")
