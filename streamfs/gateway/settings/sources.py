"""Sections ``[[source]]`` of ``gateway.toml``: which topics carry what, in which format."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from feature_extractors.report import split_channel
from streamfs.errors import MissingExtraError
from streamfs.gateway.core.bindings import STANDARD, Route
from streamfs.gateway.messages.codecs import FORMATS, MAX_SAMPLES
from streamfs.gateway.messages.codecs.checks import TIME_UNITS
from streamfs.gateway.messages.topics import Template, check_name
from streamfs.gateway.settings.toml_section import Section

_NAMES_CHANNELS = ("senml+json", "senml+cbor", "chirpstack")  # formats whose payloads do


@dataclass(frozen=True)
class InputSource:
    """Which topics carry what, in which format.

    Parameters
    ----------
    topic : str
        Template of the topics; see `Template`.
    format : str
        Name of the format; see `codec_for`.
    channel : str, optional
        Channel that is reported on, where neither topic nor payload names it.
    fields : mapping of str to str
        Paths or names in the payload to channels; empty if there are none.
    value, time, sequence : str, optional
        Paths in plain JSON.
    time_unit : str
        Unit of times in plain JSON.
    """

    topic: str = STANDARD.template.text
    format: str = "auto"
    channel: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    value: str | None = None
    time: str | None = None
    time_unit: str = "s"
    sequence: str | None = None

    @classmethod
    def read(cls, section: Section) -> Self:
        """Read one table of ``[[source]]``."""
        section.needed("topic", "a topic such as zigbee2mqtt/{node}")
        source = cls(
            section.checked("topic", Template, cls.topic),
            section.text("format", cls.format, FORMATS),
            None if "channel" not in section else section.checked("channel", check_channel, ""),
            section.mapping("fields"),
            section.text("value", None),
            section.text("time", None),
            section.text("time_unit", cls.time_unit, TIME_UNITS),
            section.text("sequence", None),
        )
        for key, text in source.contradictions() if "topic" in section else ():
            section.note(key, text)
        section.finish()
        return source

    def contradictions(self) -> list[tuple[str, str]]:
        """Return what does not go together: keys, and what is wrong with them."""
        found = []
        by_topic = "{channel}" in self.topic
        by_payload = self.format in _NAMES_CHANNELS or bool(self.fields)
        if self.channel is not None and (by_topic or by_payload):
            found.append(("channel", f"is there, but the {'topic' if by_topic else 'payload'} names the channel"))
        elif by_topic and by_payload:
            found.append(("topic", f"is {self.topic!r}, but the payload names the channels; expected + there"))
        elif self.channel is None and not (by_topic or by_payload or self.format == "auto"):
            found.append(("channel", "is missing, for neither topic nor payload names it"))
        try:
            self.route()
        except (ValueError, MissingExtraError) as error:
            found.append(("", f"cannot be: {error}"))
        return found

    @property
    def channels(self) -> tuple[str, ...] | None:
        """Channels that the source can report on; None if topics or payloads name them."""
        if self.channel is not None:
            return (self.channel,)
        return tuple(self.fields.values()) or None

    def route(self, max_samples: int = MAX_SAMPLES) -> Route:
        """Return the source as bindings want it, whose messages may have so many samples."""
        return Route.of(
            self.topic,
            self.format,
            self.channel,
            fields=self.fields or None,
            value=self.value,
            time=self.time,
            time_unit=self.time_unit,
            sequence=self.sequence,
            max_samples=max_samples,
        )


def check_channel(channel: str) -> None:
    """See that a channel is one, as a node knows it.

    Raises
    ------
    ValueError
        If it cannot stand in a topic or be read, naming it.
    """
    check_name("channel", channel)
    split_channel(channel)
