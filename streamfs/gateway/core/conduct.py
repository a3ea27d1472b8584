"""Whether devices do what they are asked: wanted, sent, acknowledged, observed; or refused, or not done.

A device is never waited for: what it sends is thinned, and decisions are the same whether it obeys or not.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from math import inf
from typing import Any

from feature_extractors.report import Policy, split_channel
from streamfs.gateway.core.device_answers import Ear
from streamfs.gateway.core.device_profile import DeviceProfile
from streamfs.gateway.core.speech import Asked, asked_for, message
from streamfs.gateway.messages.publication import Publication

COUNTERS = (
    "devices_asked",
    "devices_asked_again",
    "devices_acknowledged",
    "devices_obeyed",
    "devices_refused",
    "devices_disobeyed",
    "devices_deferred",
    "devices_born",
)

DAY = 86_400.0
"""Seconds after which a device that does not obey is asked again."""

_SKIPPED, _ENOUGH, _TOO_MANY = (
    2,
    2,
    5,
)  # gaps after a message: not counted, that show obedience, that show the contrary
_BURST = 1.0  # seconds within which messages of a device are one
_LEAST, _MOST = 0.6, 1.5  # of the interval that it was asked for
_KEPT = 1.0  # messages of a day's budget that are kept for waking


@dataclass
class Setting:
    """One thing that a device is asked: `asked` as (least, most, delta)."""

    asked: list[float]
    rests: bool
    number: int = 0  # of the message
    sent_at: float = -inf
    tries: int = 0
    is_acknowledged: bool = False
    refusal: str = ""


@dataclass
class Device:
    """A device that is known: the node that it is, its own name, its profile, and what it was asked."""

    node: str
    name: str
    profile: str
    heard_at: float
    tokens: float
    tokens_at: float
    settings: dict[str, Setting] = field(default_factory=dict)
    n_skipped: int = 0
    n_fit: int = 0
    n_unfit: int = 0
    is_observed: bool = False
    disobeys: bool = False
    is_deferred: bool = False

    @property
    def state(self) -> str:
        """What is known of its obedience, in a word."""
        settings = self.settings.values()
        if any(setting.refusal for setting in settings):
            return "refused"
        if self.disobeys:
            return "disobeys"
        if any(not setting.tries for setting in settings):
            return "wanted"
        if self.is_observed:
            return "observed"
        return "acknowledged" if all(setting.is_acknowledged for setting in settings) else "sent"


class Conduct:
    """Ask the devices of some profiles for what models want of them.

    Messages go out only when a device is heard, or when time passes, if it always hears: these are records, so a
    replay asks the same.
    """

    def __init__(self, profiles: Mapping[str, DeviceProfile], period: float, max_silence: float | None) -> None:
        self.counters = Counter(dict.fromkeys(COUNTERS, 0))
        self.devices: dict[str, Device] = {}
        self._of: dict[str, dict[str, Device]] = {}  # the same, by node
        self._profiles = {key: profile for key, profile in profiles.items() if profile.report is not None}
        self.asks = bool(self._profiles)  # whether any device can be asked
        self._ear = Ear(self._profiles)
        self._period, self._max_silence = period, max_silence
        self._newest = 0  # number of a message
        self._asked: dict[int, tuple[str, str]] = {}  # device and quantity, by the message's number

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics of answers and births."""
        return self._ear.topics

    def follow(self, period: float, max_silence: float | None) -> None:
        """Follow another model."""
        self._period, self._max_silence = period, max_silence

    def listens(self, topic: str) -> bool:
        """Return whether a topic has answers or births."""
        return self._ear.listens(topic)

    def has(self, node: str) -> bool:
        """Return whether a node is a device that was heard."""
        return node in self._of

    def is_asked(self, profile: str) -> bool:
        """Return whether devices of a profile can be asked."""
        return profile in self._profiles

    def want(self, node: str, channels: Iterable[str], possible: Iterable[str]) -> None:
        """Note which channels, of those possible, a node is to send."""
        policies: dict[str, list[Policy]] = {split_channel(channel)[0]: [] for channel in possible}
        for channel in channels:
            column, policy = split_channel(channel)
            policies.setdefault(column, []).append(policy)
        for device in self._of.get(node, {}).values():
            self._want(device, policies)

    def _want(self, device: Device, policies: Mapping[str, list[Policy]]) -> None:
        asked = asked_for(self._profiles[device.profile], policies, self._period, self._max_silence)
        for quantity, wanted in asked.items():
            before = device.settings.get(quantity)
            if before is None or before.asked != list(wanted):
                rests = not (policies[quantity] if quantity else any(policies.values()))
                device.settings[quantity] = Setting(list(wanted), rests)
                device.disobeys = False
                _begin_observing(device)
        device.settings = {quantity: device.settings[quantity] for quantity in asked}

    def meet(self, node: str, name: str, profile: str, now: float) -> bool:
        """Note a device that was heard, by its own name, and return whether it is new as this node."""
        device = self.devices.get(_key(profile, name))
        if device is not None and device.node == node:
            return False
        per_day = self._profiles[profile].reach.per_day
        self._put(Device(node, name, profile, now, per_day, now))
        return True

    def hear(self, name: str, profile: str, now: float) -> list[Publication]:
        """Return what a device is asked after a message of it at a time, in seconds since 1970."""
        device = self.devices[_key(profile, name)]
        gap, device.heard_at = now - device.heard_at, now
        if gap > _BURST:
            self._observe(device, gap)
        return self._due(device, now)

    def let_time_pass(self, now: float) -> list[Publication]:
        """Return what those nodes are asked that always hear, at a time in seconds since 1970."""
        return [
            publication
            for device in self.devices.values()
            if self._profiles[device.profile].reach.hears == "always"
            for publication in self._due(device, now)
        ]

    def receive(self, topic: str, payload: bytes) -> None:
        """Take an answer, or the news that a device has started."""
        for said in self._ear.read(topic, payload):
            if said.number is not None:
                key, quantity = self._asked.get(said.number, ("", ""))
                if key in self.devices:
                    self._answered(self.devices[key], quantity, said.number, said.refusal)
                continue
            device = self.devices.get(_key(said.profile, said.device))
            if device is not None and said.is_birth:
                self._begin_again(device)
            elif device is not None:
                for quantity, setting in device.settings.items():
                    if setting.tries and said.seconds == int(setting.asked[1]):
                        self._answered(device, quantity, setting.number, "")

    def forget(self, node: str) -> None:
        """Forget the devices of a node."""
        for key in self._of.pop(node, {}):
            del self.devices[key]

    def to_state(self) -> dict[str, Any]:
        """Copy the state."""
        return {
            "devices": [asdict(device) for device in self.devices.values()],
            "counters": dict(self.counters),
            "newest": self._newest,
            "asked": [[number, *of] for number, of in self._asked.items()],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `to_state` has copied; devices whose profile is no longer bound are forgotten."""
        for values in state["devices"]:
            if values["profile"] in self._profiles:
                settings = {name: Setting(**_numbers(setting)) for name, setting in values["settings"].items()}
                self._put(Device(**{**values, "settings": settings}))
        self.counters.update(state["counters"])
        self._newest = state["newest"]
        self._asked = {number: (key, quantity) for number, key, quantity in state["asked"]}

    def _put(self, device: Device) -> None:
        """Know a device, in place of what was known of it as another node."""
        key = _key(device.profile, device.name)
        if key in self.devices:
            before = self.devices[key].node
            del self._of[before][key]
            if not self._of[before]:
                del self._of[before]
        self.devices[key] = self._of.setdefault(device.node, {})[key] = device

    def _due(self, device: Device, now: float) -> list[Publication]:
        """Return the messages to a device that are due."""
        profile = self._profiles[device.profile]
        publications = []
        for quantity, setting in device.settings.items():
            if not self._is_due(profile, device, setting, now):
                continue
            if not self._can_pay(profile, device, setting, now):
                continue
            self._newest += 1
            self._asked.pop(setting.number, None)
            self._asked[self._newest] = _key(device.profile, device.name), quantity
            self.counters["devices_asked_again" if setting.tries else "devices_asked"] += 1
            setting.number, setting.sent_at, setting.tries = self._newest, now, setting.tries + 1
            setting.is_acknowledged = False
            _begin_observing(device)
            publications.append(message(profile, device.name, quantity, Asked(*setting.asked), self._newest))
        return publications

    def _is_due(self, profile: DeviceProfile, device: Device, setting: Setting, now: float) -> bool:
        if setting.refusal:
            return False
        if not setting.tries:
            return True
        if device.disobeys:
            return now >= setting.sent_at + DAY
        if setting.tries >= profile.reach.tries:
            return False
        is_unanswered = profile.answer is not None and not (setting.is_acknowledged or device.is_observed)
        waits = profile.reach.patience if profile.reach.hears == "always" else _BURST
        return (is_unanswered and now >= setting.sent_at + waits) or device.n_unfit >= _TOO_MANY

    def _can_pay(self, profile: DeviceProfile, device: Device, setting: Setting, now: float) -> bool:
        """Return whether a message is within the day's budget, of which it takes one; the last is for waking."""
        per_day = profile.reach.per_day
        device.tokens = min(per_day, device.tokens + max(0.0, now - device.tokens_at) * per_day / DAY)
        device.tokens_at = max(now, device.tokens_at)
        if device.tokens < 1.0 + _KEPT * setting.rests:
            self.counters["devices_deferred"] += not device.is_deferred
            device.is_deferred = True
            return False
        device.tokens -= 1.0
        device.is_deferred = False
        return True

    def _observe(self, device: Device, gap: float) -> None:
        """Compare the time since a device's last message with what it was asked."""
        settings = [setting for setting in device.settings.values() if setting.tries]
        profile = self._profiles[device.profile]
        if not settings or device.is_observed or "every" not in profile.reach.can:
            return
        if device.n_skipped < _SKIPPED:
            device.n_skipped += 1
            return
        most = min(setting.asked[1] for setting in settings)
        rests = all(setting.rests for setting in settings)
        fits = gap >= _LEAST * most if rests else gap <= _MOST * most
        device.n_fit += fits
        device.n_unfit += not fits
        if device.n_fit >= _ENOUGH:
            device.is_observed = True
            device.disobeys = False
            self.counters["devices_obeyed"] += 1
            return
        is_asked_out = all(setting.tries >= profile.reach.tries for setting in settings)
        if device.n_unfit >= _TOO_MANY and is_asked_out and not device.disobeys:
            device.disobeys = True
            self.counters["devices_disobeyed"] += 1

    def _answered(self, device: Device, quantity: str, number: int, refusal: str) -> None:
        setting = device.settings.get(quantity)
        if setting is None or setting.number != number or setting.is_acknowledged or setting.refusal:
            return
        if refusal:
            setting.refusal = refusal
            self.counters["devices_refused"] += 1
        else:
            setting.is_acknowledged = True
            self.counters["devices_acknowledged"] += 1

    def _begin_again(self, device: Device) -> None:
        """A device has started, and may have forgotten what it was asked."""
        self.counters["devices_born"] += 1
        for setting in device.settings.values():
            setting.tries, setting.is_acknowledged, setting.refusal = 0, False, ""
        device.disobeys = False
        _begin_observing(device)


def _key(profile: str, name: str) -> str:
    return f"{profile}|{name}"


def _begin_observing(device: Device) -> None:
    device.n_skipped = device.n_fit = device.n_unfit = 0
    device.is_observed = False


def _numbers(setting: Mapping[str, Any]) -> dict[str, Any]:
    """Return a setting of a snapshot, where JSON has null for a time before all."""
    return {**setting, "sent_at": -inf if setting["sent_at"] is None else setting["sent_at"]}
