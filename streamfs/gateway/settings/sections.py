"""The plain sections of ``gateway.toml``: numbers and choices with their defaults."""

from dataclasses import dataclass
from functools import partial
from typing import Self

from streamfs.gateway.messages.codecs import MAX_SAMPLES
from streamfs.gateway.messages.topics import check_topic
from streamfs.gateway.settings.toml_section import Section

_LAST_PORT = 65_535


@dataclass(frozen=True)
class Time:
    """Section ``[time]``: what time it is for the streams.

    Parameters
    ----------
    lateness : float, optional
        Seconds that a reading may lag behind the newest; None takes two periods of the model.
    grace : float
        Seconds without news after which event time runs on with the wall clock.
    overtaking : float
        Seconds by which a reading may overtake an earlier one of its own channel.
    clock : str
        ``stamps`` if event time is that of the newest stamp, ``wall`` if it is the wall clock's.
    max_delay : float
        Seconds that a stamp may lie before its arrival and still be believed, on the wall clock.
    """

    lateness: float | None = None
    grace: float = 10.0
    overtaking: float = 0.0
    clock: str = "stamps"
    max_delay: float = 86_400.0

    @classmethod
    def read(cls, section: Section) -> Self:
        """Read the section."""
        return cls(
            section.number("lateness", cls.lateness, least=0),
            section.number("grace", cls.grace, least=0),
            section.number("overtaking", cls.overtaking, least=0),
            section.text("clock", cls.clock, ("stamps", "wall")),
            section.number("max_delay", cls.max_delay, above=0),
        )


@dataclass(frozen=True)
class Limits:
    """Section ``[limits]``: what a gateway bears.

    Parameters
    ----------
    streams : int
        Streams that may be known at once.
    streams_when_full : str
        What becomes of a stream beyond that: ``refuse`` it, or ``evict`` the one that was heard longest ago.
    queue : int
        Messages that may wait to be taken; of those of QoS 0 the oldest give way.
    payload_bytes : int
        Bytes of a message.
    batch_samples : int
        Samples of a message.
    pending : int
        Readings that may wait for their tick.
    decisions_kept : int
        Decisions that are kept on disk.
    ahead : int
        Ticks by which a stamp may run ahead.
    """

    streams: int = 100_000
    streams_when_full: str = "refuse"
    queue: int = 10_000
    payload_bytes: int = 262_144
    batch_samples: int = MAX_SAMPLES
    pending: int = 1_000_000
    decisions_kept: int = 100_000
    ahead: int = 10_000

    @classmethod
    def read(cls, section: Section) -> Self:
        """Read the section."""
        return cls(
            section.whole("streams", cls.streams, 1),
            section.text("streams_when_full", cls.streams_when_full, ("refuse", "evict")),
            section.whole("queue", cls.queue, 1),
            section.whole("payload_bytes", cls.payload_bytes, 1),
            section.whole("batch_samples", cls.batch_samples, 1),
            section.whole("pending", cls.pending, 1),
            section.whole("decisions_kept", cls.decisions_kept, 1),
            section.whole("ahead", cls.ahead, 1),
        )


@dataclass(frozen=True)
class Commit:
    """Section ``[commit]``: when what was received is made durable.

    Parameters
    ----------
    messages : int
        Messages after which it is.
    seconds : float
        Seconds after which it is, however few there are.
    snapshot_seconds : float
        Seconds from one snapshot of the state to the next.
    segment_bytes : int
        Bytes after which a new segment of the log is begun.
    """

    messages: int = 500
    seconds: float = 0.02
    snapshot_seconds: float = 60.0
    segment_bytes: int = 67_108_864

    @classmethod
    def read(cls, section: Section) -> Self:
        """Read the section."""
        return cls(
            section.whole("messages", cls.messages, 1),
            section.number("seconds", cls.seconds, least=0),
            section.number("snapshot_seconds", cls.snapshot_seconds, above=0),
            section.whole("segment_bytes", cls.segment_bytes, 4096),
        )


@dataclass(frozen=True)
class Http:
    """Section ``[http]``: where metrics and health are served.

    Parameters
    ----------
    host : str
        Address to listen on.
    port : int
        Port to listen on; 0 takes any that is free.
    """

    host: str = "127.0.0.1"
    port: int = 9464

    @classmethod
    def read(cls, section: Section) -> Self:
        """Read the section."""
        return cls(section.text("host", cls.host), section.whole("port", cls.port, 0, _LAST_PORT))


@dataclass(frozen=True)
class Logging:
    """Section ``[log]``: what is told on standard error.

    Parameters
    ----------
    format : str
        ``text`` or ``json``.
    level : str
        The least that is told: ``debug``, ``info``, ``warning`` or ``error``.
    """

    format: str = "text"
    level: str = "info"

    @classmethod
    def read(cls, section: Section) -> Self:
        """Read the section."""
        levels = ("debug", "info", "warning", "error")
        return cls(section.text("format", cls.format, ("text", "json")), section.text("level", cls.level, levels))


@dataclass(frozen=True)
class HomeAssistant:
    """Section ``[homeassistant]``: whether streams introduce themselves to Home Assistant.

    Parameters
    ----------
    prefix : str
        First part of the topics on which it listens.
    """

    prefix: str = "homeassistant"

    @classmethod
    def read(cls, section: Section) -> Self:
        """Read the section."""
        return cls(section.checked("prefix", partial(check_topic, "prefix"), cls.prefix))


@dataclass(frozen=True)
class Drift:
    """Section ``[drift]``: whether decisions are watched for drift.

    Parameters
    ----------
    delta : float
        Probability of a false alarm that the detectors are set to.
    """

    delta: float = 0.002

    @classmethod
    def read(cls, section: Section) -> Self | None:
        """Read the section; None if it says that nothing is watched."""
        is_enabled = section.flag("enabled", default=True)
        drift = cls(section.number("delta", cls.delta, above=0, most=0.5))
        return drift if is_enabled else None
