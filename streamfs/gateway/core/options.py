"""Options that more than the settings need: event time, bounds, episodes, commits and drift."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

from streamfs.costs.radio_profiles import PROFILES
from streamfs.gateway.core.option_declaration import Option, OptionSection, require_valid
from streamfs.gateway.messages.message import MAX_SAMPLES
from streamfs.gateway.messages.topics import check_name, check_topic

_STAMPS = "is gone: every stream has the time of its own stamps, and those of other nodes do not matter; remove it"
GONE = {"clock": _STAMPS, "max_delay": _STAMPS}
"""Keys that earlier versions had, and what to do about them."""

_LARGEST_PAYLOAD = 64_000_000  # bytes; four times as many must arrive, and no packet of MQTT has 256 MiB
_SPARE_BYTES = 4096  # of a packet besides its payload


@dataclass(frozen=True)
class Time(OptionSection):
    """Section ``[time]``: event time."""

    lateness: Annotated[
        float | None,
        Option("Seconds a reading may lag behind its stream; two ticks by default", least=0, example=20.0),
    ] = None
    grace: Annotated[
        float | None,
        Option(
            "Seconds of silence that do not count; by default as each node's delays suggest",
            least=0,
            example=10.0,
        ),
    ] = None
    overtaking: Annotated[
        float, Option("Seconds by which a reading may overtake an earlier one of its channel", least=0)
    ] = 0.0


@dataclass(frozen=True)
class StreamTimes(OptionSection):
    """When streams are forgotten and reopened."""

    expire_after: Annotated[
        float | None,
        Option(
            "Seconds of silence after which a stream is forgotten; never by default", above=0, example=604_800.0
        ),
    ] = None
    reopen_after: Annotated[
        float | None,
        Option("Seconds from a decision to the next episode; by default only on command", least=0, example=3600.0),
    ] = None

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Yield what does not go together: a key, and what is wrong with it."""
        if self.expire_after is not None and self.expire_after <= (self.reopen_after or 0.0):
            yield "expire_after", f"is {self.expire_after}, expected more than reopen_after, {self.reopen_after}"


@dataclass(frozen=True)
class Limits(OptionSection):
    """Section ``[limits]``: bounds."""

    streams: Annotated[int, Option("Known streams", least=1)] = 100_000
    streams_when_full: Annotated[
        str,
        Option('"refuse" a new stream; or "evict" the 1 % silent for longest', choices=("refuse", "evict")),
    ] = "refuse"
    evicted_per_hour: Annotated[
        float,
        Option("Share of `streams` that is evicted within an hour at most; then new ones are refused", above=0),
    ] = 0.1
    queue: Annotated[int, Option("Waiting messages; when full, the oldest of QoS 0 are dropped", least=1)] = 10_000
    payload_bytes: Annotated[int, Option("Bytes of a message", least=1, most=_LARGEST_PAYLOAD)] = 262_144
    batch_samples: Annotated[int, Option("Samples of a message", least=1)] = MAX_SAMPLES
    pending: Annotated[int, Option("Readings of a stream waiting for their tick", least=1)] = 100_000
    decisions_kept: Annotated[int, Option("Decisions on disk", least=1)] = 100_000
    outbox: Annotated[
        int,
        Option("Publications waiting for the broker; replaced ones are dropped first, decisions last", least=1),
    ] = 100_000
    ahead: Annotated[int, Option("Ticks by which a stamp may be ahead of its node's others", least=1)] = 10_000

    @property
    def packet_bytes(self) -> int:
        """Bytes that the broker may send at once: what is to be rejected as too large must arrive."""
        return 4 * self.payload_bytes + _SPARE_BYTES


@dataclass(frozen=True)
class Commits(OptionSection):
    """Section ``[commit]``: when received messages are made durable."""

    messages: Annotated[int, Option("Messages after which they are committed,", least=1)] = 500
    seconds: Annotated[float, Option("and seconds, however few messages there are", least=0)] = 0.02
    snapshot_seconds: Annotated[float, Option("Seconds from one snapshot of the state to the next", above=0)] = (
        60.0
    )
    segment_bytes: Annotated[int, Option("Bytes of a segment of the log", least=4096)] = 67_108_864
    segment_seconds: Annotated[
        float | None,
        Option("Seconds that a segment spans at most; by default as many as it holds", above=0, example=10.0),
    ] = None


@dataclass(frozen=True)
class Drift(OptionSection):
    """Section ``[drift]``: detection of drift; without this section nothing is detected."""

    enabled: Annotated[bool, Option("Whether to look for drift")] = True
    delta: Annotated[float, Option("Probability of a false alarm", above=0, most=0.5)] = 0.002


SAFE, KEEP = "safe", "keep"
"""What devices do without a gateway: report at a stated interval, or what they were asked last."""


@dataclass(frozen=True)
class DeviceReturn(OptionSection):
    """Section ``[devices]``: what devices of other makers go back to, and when."""

    on_stop: Annotated[
        str,
        Option(
            'As the gateway stops in order: "safe" asks devices for their safe interval; or "keep"',
            choices=(SAFE, KEEP),
        ),
    ] = SAFE
    on_withdrawal: Annotated[
        str,
        Option('While a promise is withdrawn, devices that rest: "safe", or "keep"', choices=(SAFE, KEEP)),
    ] = SAFE
    safe: Annotated[
        float | None,
        Option("The safe interval in seconds; by default that of each profile", above=0, example=300.0),
    ] = None
    guard_after: Annotated[
        float, Option("Seconds offline after which `streamfs guard` asks in the gateway's place", above=0)
    ] = 60.0


def _check_groups(text: str) -> None:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from error


ON_WITHDRAWAL = MARK, NO_LABEL, RAISE, PREVIOUS, RECERTIFY = "mark", "no_label", "raise", "previous", "recertify"
"""What happens once a promise is withdrawn, besides that decisions are marked."""


@dataclass(frozen=True)
class AfterWithdrawal(OptionSection):
    """Section ``[promise]``: what happens once a model's promise is withdrawn."""

    on_withdrawal: Annotated[
        str,
        Option(
            '"mark" decisions only; "no_label"; "raise" the threshold; "previous" model; or "recertify" it here',
            choices=ON_WITHDRAWAL,
        ),
    ] = MARK
    recertify_after: Annotated[
        int, Option('Labelled episodes of this place by which "recertify" certifies the model anew', least=35)
    ] = 100
    raised_to: Annotated[float, Option('Confidence threshold that "raise" sets', above=0, most=1.0)] = 0.99
    labels_wanted: Annotated[
        float,
        Option("Share of the decisions whose label is asked for; others then do not count", least=0, most=0.9),
    ] = 0.0
    groups: Annotated[
        str | None,
        Option(
            "Regular expression that finds a stream's room, or other group, in its name; none by default",
            check=_check_groups,
            example="^room[0-9]+",
        ),
    ] = None

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Yield what does not go together: a key, and what is wrong with it."""
        if self.groups is not None and self.labels_wanted:
            yield "groups", f"is set with labels_wanted, {self.labels_wanted}, which are not drawn alike in each"

    def group_of(self, stream: str) -> str | None:
        """Return the group of a stream; None for none."""
        found = None if self.groups is None else re.search(self.groups, stream)
        return None if found is None else found[0]


@dataclass(frozen=True, kw_only=True)
class Options(OptionSection):
    """How a gateway follows its streams.

    Parameters
    ----------
    name, prefix, profile : str
        The gateway's name, the first part of its topics, and the nodes' radio.
    time, limits : Time, Limits
        Event time, and bounds.
    streams : StreamTimes
        When streams are forgotten and reopened.
    promise : AfterWithdrawal
        What happens once a promise is withdrawn.
    drift : Drift, optional
        Detection of drift; None detects none.
    devices : DeviceReturn
        What devices of other makers do without the gateway.

    Raises
    ------
    ValueError
        If an option is out of its range.
    """

    name: Annotated[
        str,
        Option("Part of the client id and of topics", check=partial(check_name, "name"), example="attic"),
    ] = "gateway"
    prefix: Annotated[
        str, Option("First part of the topics published to", check=partial(check_topic, "prefix"))
    ] = "streamfs"
    profile: Annotated[
        str,
        Option("Radio of the nodes, for the energy account", choices=tuple(PROFILES), own="streamfs.radios"),
    ] = "transmissions"
    time: Time = field(default_factory=Time)
    streams: StreamTimes = field(default_factory=StreamTimes)
    limits: Limits = field(default_factory=Limits)
    promise: AfterWithdrawal = field(default_factory=AfterWithdrawal)
    drift: Drift | None = None
    devices: DeviceReturn = field(default_factory=DeviceReturn)

    def __post_init__(self) -> None:
        require_valid(self, Options)
        require_valid(self.time, Time)
        require_valid(self.streams, StreamTimes)
        require_valid(self.limits, Limits)
        require_valid(self.promise, AfterWithdrawal)
        require_valid(self.devices, DeviceReturn)
        if self.drift is not None:
            require_valid(self.drift, Drift)
        for key, text in (*StreamTimes.contradictions(self.streams), *self.promise.contradictions()):
            raise ValueError(f"{key} {text}")
