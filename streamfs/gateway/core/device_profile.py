"""Device profiles: what devices of a kind can be asked, in which messages, and how they answer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from streamfs.gateway.core.option_declaration import Option, OptionSection

ANY = (str, int, float, bool, dict, list)
HEARS = ("always", "after_report")
CAN = ("every", "delta")


def _check_kind(kind: str) -> None:
    if kind not in CAN:
        raise ValueError(f"can has {kind!r}, expected some of {', '.join(CAN)}")


@dataclass(frozen=True)
class Report(OptionSection):
    """Section ``[report]``: the message that asks a device for an interval, or for changes of a size."""

    topic: Annotated[str, Option("Where it goes")]
    payload: Annotated[Mapping[str, Any], Option("JSON, with {}s to fill in", values=ANY)] = field(
        default_factory=dict
    )
    text: Annotated[str | None, Option("Or plain text, with placeholders")] = None
    bytes: Annotated[Mapping[str, Any], Option("What {bytes} is: hexadecimal, with {seconds:3}", values=ANY)] = (
        field(default_factory=dict)
    )
    format: Annotated[
        str, Option("json, or sparkplug: the names in payload are those of metrics", choices=("json", "sparkplug"))
    ] = "json"
    array: Annotated[bool, Option("Whether the JSON is the only element of an array")] = False
    qos: Annotated[int, Option("0 or 1", least=0, most=1)] = 0
    retain: Annotated[bool, Option("Whether the broker keeps it for a device that sleeps")] = False

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Yield what does not go together: a key, and what is wrong with it."""
        if bool(self.payload) == (self.text is not None):
            yield "payload", "and text are alternatives, expected one of them"


@dataclass(frozen=True)
class Answer(OptionSection):
    """Section ``[ack]``: how a device says that it has taken a message."""

    topic: Annotated[str, Option("Where it comes; {node} is the device unless the payload names it")]
    path: Annotated[str | None, Option("The path of the interval that it has taken; by default the payload")] = (
        None
    )
    id: Annotated[str | None, Option("Or the path of the message's {id}")] = None
    device: Annotated[str | None, Option("With id: the path of the device's name, if it is there")] = None
    ok_path: Annotated[str | None, Option("With id: the path that says that it was taken")] = None
    ok: Annotated[str | None, Option("and the word there; by default any")] = None
    reason: Annotated[str | None, Option("With id: the path of the reason for a refusal")] = None


@dataclass(frozen=True)
class Birth(OptionSection):
    """Section ``[birth]``: how it is known that a device has started, and may have forgotten what it was asked."""

    topic: Annotated[str, Option("Where it comes")]
    text: Annotated[str | None, Option("The whole payload")] = None
    path: Annotated[str | None, Option("Or a path in it,")] = None
    word: Annotated[str | None, Option("and the word there")] = None
    device: Annotated[str | None, Option("and the path of the device's name, if the topic does not have it")] = (
        None
    )


WORDS = ("online", "offline")


@dataclass(frozen=True)
class Availability(OptionSection):
    """A section ``[[availability]]``: where it is said that a device is online or not; without {node}, all are."""

    topic: Annotated[str, Option("Where it comes")]
    path: Annotated[str | None, Option("The path of the word, if the payload is an object")] = None
    online: Annotated[str, Option("The word that says that it is online,")] = "online"
    offline: Annotated[str, Option("and the one that says that it is not")] = "offline"
    always: Annotated[str | None, Option("Or what every message there means", choices=WORDS)] = None


@dataclass(frozen=True)
class Reach(OptionSection):
    """Section ``[limits]``: when a device hears, what it can do, and how often it may be asked."""

    hears: Annotated[str, Option("Always, or only for some seconds after it has reported", choices=HEARS)] = (
        "always"
    )
    per: Annotated[
        str, Option("Whether each quantity has its interval, or the device", choices=("quantity", "device"))
    ] = "quantity"
    can: Annotated[tuple[str, ...], Option("Report policies", check=_check_kind)] = ("every",)
    min: Annotated[float, Option("Least interval, in seconds", above=0)] = 1.0
    max: Annotated[float, Option("Greatest interval, in seconds", above=0)] = 86_400.0
    rest: Annotated[float, Option("Interval while no stream needs it, in seconds: a heartbeat", above=0)] = 3600.0
    safe: Annotated[
        float | None, Option("Interval without a gateway, in seconds; that of rest by default", above=0)
    ] = None
    returns_after: Annotated[
        float | None,
        Option(
            "Seconds after which it goes back to that by itself, unless it is asked again; never by default",
            above=0,
        ),
    ] = None
    corrections: Annotated[
        int, Option("Times in a day that it is asked anew once it has ceased to do what it did", least=0)
    ] = 2
    wakes: Annotated[
        float | None,
        Option(
            "Seconds after which it reports whatever it was asked, if it cannot be asked for an interval", above=0
        ),
    ] = None
    queued: Annotated[bool, Option("Whether its network keeps messages until it hears")] = False
    least_delta: Annotated[float, Option("Least change that it can be asked for", least=0)] = 0.0
    most_delta: Annotated[float, Option("Greatest change", above=0)] = 1e6
    tries: Annotated[int, Option("Times that it is asked for the same", least=1)] = 3
    patience: Annotated[float, Option("Seconds from one time to the next, if it always hears", above=0)] = 60.0
    per_day: Annotated[float, Option("Messages to it in a day, at most", above=0)] = 200.0

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Yield what does not go together: a key, and what is wrong with it."""
        if self.safe is not None and not self.min <= self.safe <= self.max:
            yield "safe", f"is {self.safe:g}, expected at least min, {self.min:g}, and at most max, {self.max:g}"
        if not self.min <= self.rest <= self.max:
            yield "rest", f"is {self.rest:g}, expected at least min, {self.min:g}, and at most max, {self.max:g}"


@dataclass(frozen=True)
class DeviceProfile:
    """What devices of a kind send, and what they can be asked: nothing without `report`.

    `readings` are keys of sources. `quantities` have placeholders by quantity; without it all can be asked for.
    """

    name: str
    about: str
    parameters: Mapping[str, str]
    readings: tuple[Mapping[str, Any], ...]
    report: Report | None = None
    answer: Answer | None = None
    birth: Birth | None = None
    reach: Reach = field(default_factory=Reach)
    quantities: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    availability: tuple[Availability, ...] = ()
    inventory: str = ""  # topic on which a bridge lists its devices

    @property
    def hears_at_once(self) -> bool:
        """Whether a message reaches the device, or is kept for it, whenever it is published."""
        return self.reach.hears == "always" or self.reach.queued

    def can_be_asked(self, quantity: str) -> bool:
        """Return whether a device can be asked for a quantity."""
        return self.report is not None and (not self.quantities or quantity in self.quantities)


def profile_to_json(profile: DeviceProfile) -> dict[str, Any]:
    """Return a profile for JSON by orjson, without what it reads: that is in routes."""
    return {**vars(profile), "readings": ()}


def profile_from_json(content: Mapping[str, Any]) -> DeviceProfile:
    """Return the profile that `profile_to_json` has written."""
    kinds: dict[str, type[OptionSection]] = {"report": Report, "answer": Answer, "birth": Birth, "reach": Reach}
    parts: dict[str, Any] = {}
    for key, kind in kinds.items():
        parts[key] = None if content[key] is None else kind(**content[key])
    parts["availability"] = tuple(Availability(**each) for each in content.get("availability", ()))
    return DeviceProfile(**{**content, **parts, "readings": ()})
