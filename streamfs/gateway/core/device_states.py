"""What is known of devices: what they were asked, and whether they do it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

DAY = 86_400.0
"""Seconds of a device's budget, and after which one that does not obey is asked again."""


@dataclass
class Setting:
    """A thing that a device is asked: `asked` as (least, most, delta), and `told`, what it was until then."""

    asked: list[float]
    rests: bool
    number: int = 0  # of the message
    sent_at: float = -inf
    tries: int = 0
    n_heard: int = 0  # messages of the device since
    is_acknowledged: bool = False
    refusal: str = ""
    told: "Setting | None" = None

    def followed_by(self, asked: Sequence[float], *, rests: bool, is_kept: bool) -> "Setting":
        """Return the setting that takes its place: the one that the device was told last, if it is that again.

        Unless networks keep messages for it, it is only taken as told once it has said so.
        """
        told = replace(self, told=None) if self.tries else self.told
        if told is not None and told.asked == list(asked) and (is_kept or told.is_acknowledged):
            return replace(told, rests=rests)
        return Setting(list(asked), rests, told=told)


@dataclass
class Device:
    """A device that is known: the node that it is, its own name, its profile, and what it was asked."""

    node: str
    name: str
    profile: str
    tokens: float
    tokens_at: float
    settings: dict[str, Setting] = field(default_factory=dict)
    n_skipped: int = 0
    n_fit: int = 0
    n_unfit: int = 0
    is_observed: bool = False
    disobeys: bool = False
    is_deferred: bool = False
    heard_on: dict[str, float] = field(default_factory=dict)  # when, by topic
    burst_since: float | None = None  # when its last messages that are one began
    offline_since: float | None = None
    topic: str = ""  # on which it reported last
    spreading_factor: int | None = None  # of its last LoRa frame
    strayed_at: list[float] = field(default_factory=list)  # when it ceased to do what it did, within a day

    @property
    def state(self) -> str:
        """What is known of its obedience, in a word."""
        settings = self.settings.values()
        if self.offline_since is not None:
            return "offline"
        if any(setting.refusal for setting in settings):
            return "refused"
        if self.disobeys:
            return "disobeys"
        if any(not setting.tries for setting in settings):
            return "wanted"
        if self.is_observed:
            return "observed"
        return "acknowledged" if all(setting.is_acknowledged for setting in settings) else "sent"


def key_of(profile: str, name: str) -> str:
    """Return the key of a device, given that of its profile and its own name."""
    return f"{profile}|{name}"


def begin_observing(device: Device) -> None:
    """Forget what a device's reports have shown."""
    device.n_skipped = device.n_fit = device.n_unfit = 0
    device.is_observed = False


def ask_anew(device: Device) -> None:
    """Take all that a device was asked as unknown to it."""
    for setting in device.settings.values():
        setting.tries, setting.is_acknowledged, setting.refusal, setting.told = 0, False, "", None
    device.disobeys = False
    begin_observing(device)


def device_of_state(values: Mapping[str, Any]) -> Device:
    """Return a device of a snapshot, where JSON has null for a time before all."""
    settings = {name: _setting_of_state(setting) for name, setting in values["settings"].items()}
    known = {name: value for name, value in values.items() if name != "heard_at"}  # which earlier versions wrote
    return Device(**{**known, "settings": settings})


def _setting_of_state(values: Mapping[str, Any]) -> Setting:
    sent_at, told = values["sent_at"], values.get("told")
    known = {"sent_at": -inf if sent_at is None else sent_at, "told": told and _setting_of_state(told)}
    return Setting(**{**values, **known})
