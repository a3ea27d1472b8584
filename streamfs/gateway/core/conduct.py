"""Whether devices do what they are asked: wanted, sent, acknowledged, observed; or refused, or not done.

A device is never waited for: what it sends is thinned, and decisions are the same whether it obeys or not.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from math import inf
from typing import Any

import orjson

from feature_extractors.report import Policy, split_channel
from streamfs.gateway.core.device_answers import Ear, Said
from streamfs.gateway.core.device_profile import DeviceProfile
from streamfs.gateway.core.device_states import (
    Device,
    Setting,
    ask_anew,
    begin_observing,
    device_of_state,
    key_of,
)
from streamfs.gateway.core.guard_topics import GuardTopics
from streamfs.gateway.core.hearing import Hearing, free
from streamfs.gateway.core.obedience import Obedience
from streamfs.gateway.core.options import SAFE, DeviceReturn
from streamfs.gateway.core.routes import level_of
from streamfs.gateway.core.sparkplug_host import SparkplugHost
from streamfs.gateway.core.speech import Address, Asked, asked_for, message, safe_for, size_on_air, written_metrics
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.messages.topics import LONGEST_TOPIC

COUNTERS = (
    "devices_asked",
    "devices_asked_again",
    "devices_acknowledged",
    "devices_obeyed",
    "devices_refused",
    "devices_disobeyed",
    "devices_deferred",
    "devices_born",
    "devices_gone",
    "devices_back",
    "devices_strayed",
    "devices_released",
)

_FEW_ASKED = 1000  # messages to devices of which it is remembered what they were about, at least
_MOST_TOPICS = 16  # of a device, whose reports are observed


class Conduct:
    """Ask the devices of some profiles for what models want of them.

    Messages go out only when a device is heard, or when time passes, if it always hears: these are records, so a
    replay asks the same. With `topics`, what a device was asked for is published, retained, so that a guard can
    ask it for its safe interval once the gateway is gone; when one has, all devices are asked anew. `price` is
    what a device pays for hearing a message of some bytes, at its spreading factor.
    """

    def __init__(
        self,
        profiles: Mapping[str, DeviceProfile],
        period: float,
        max_silence: float | None,
        back: DeviceReturn | None = None,
        topics: GuardTopics | None = None,
        price: Callable[[int, int | None], float] = free,
    ) -> None:
        self.counters = Counter(dict.fromkeys(COUNTERS, 0))
        self.devices: dict[str, Device] = {}
        self.unnoted: dict[tuple[str, bool], None] = {}  # nodes of which models want something else, or no more
        self._of: dict[str, dict[str, Device]] = {}  # the same, by node
        self._profiles = {key: profile for key, profile in profiles.items() if profile.report is not None}
        self.asks = bool(self._profiles)  # whether any device can be asked
        self._ear = Ear(self._profiles)
        self._host = SparkplugHost(self._profiles)
        self._period, self._max_silence = period, max_silence
        self._back = DeviceReturn() if back is None else back
        self._shared = topics
        self._obedience = Obedience(self._profiles, self.counters)
        self.hearing = Hearing(self.counters, price)
        self.is_guarded = False
        self._acted: object = None  # when the guard last asked in the gateway's place
        self.is_wary = False  # whether devices that rest report at their safe interval
        self.newest_number = 0  # of a message
        self._newest_time = -inf
        self._asked: dict[int, tuple[str, str]] = {}  # device and quantity, by the message's number
        self._most_asked = _FEW_ASKED

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics of answers, births, who is online, and of the guard."""
        return (*self._ear.topics, *self._host.topics, *self._of_guard)

    @property
    def anew_topic(self) -> str:
        """Topic on which it is said that all devices are to be asked anew."""
        return "" if self._shared is None else self._shared.acted

    @property
    def _of_guard(self) -> tuple[str, ...]:
        return () if self._shared is None or not self.asks else (self._shared.presence, self._shared.acted)

    def follow(self, period: float, max_silence: float | None) -> None:
        """Follow another model."""
        self._period, self._max_silence = period, max_silence

    def listens(self, topic: str) -> bool:
        """Return whether a topic has answers or births."""
        if len(topic) > LONGEST_TOPIC:
            return False
        return self._ear.listens(topic) or self._host.listens(topic) or topic in self._of_guard

    def has_state(self, topic: str) -> bool:
        """Return whether messages of a topic say who is online: the retained one holds still."""
        return self._ear.has_state(topic) or topic in self._of_guard

    @property
    def nodes(self) -> tuple[str, ...]:
        """Nodes that are devices that were heard."""
        return tuple(self._of)

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

    def want_safe(self, name: str, profile: str, quantities: Iterable[str]) -> None:
        """Note that a device is to go back to its safe interval, in these quantities."""
        device = self.devices[key_of(profile, name)]
        safe = self._safe(self._profiles[profile])
        for quantity in quantities:
            self._set(device, quantity, safe, rests=False)

    def _want(self, device: Device, policies: Mapping[str, list[Policy]]) -> None:
        profile = self._profiles[device.profile]
        resting = self._safe(profile) if self.is_wary else None
        asked = asked_for(profile, policies, self._period, self._max_silence, resting)
        for quantity, wanted in asked.items():
            is_needed = policies[quantity] if quantity else any(policies.values())
            self._set(device, quantity, wanted, rests=not is_needed)
        device.settings = {quantity: device.settings[quantity] for quantity in asked}

    def _set(self, device: Device, quantity: str, wanted: Asked, *, rests: bool) -> None:
        before = device.settings.get(quantity)
        if before is None or before.asked != list(wanted):
            is_kept = self._profiles[device.profile].reach.queued
            device.settings[quantity] = (
                Setting(list(wanted), rests)
                if before is None
                else before.followed_by(wanted, rests=rests, is_kept=is_kept)
            )
            device.disobeys = False
            begin_observing(device)
        else:
            before.rests = rests

    def _safe(self, profile: DeviceProfile) -> Asked:
        return safe_for(profile, self._back.safe)

    def meet(self, node: str, name: str, profile: str, now: float, topic: str = "") -> bool:
        """Note a device that was heard, by its own name, and return whether it is new as this node."""
        device = self.devices.get(key_of(profile, name))
        if device is not None and device.node == node:
            return False
        per_day = self._profiles[profile].reach.per_day
        self._put(Device(node, name, profile, per_day, now, topic=topic))
        return True

    def hear(
        self, name: str, profile: str, now: float, topic: str = "", spreading_factor: int | None = None
    ) -> list[Publication]:
        """Return what a device is asked after a message of it at a time, in seconds since 1970."""
        device = self.devices[key_of(profile, name)]
        self._newest_time = max(self._newest_time, now)
        self._is_back(device)
        before = device.heard_on.get(topic)
        if topic in device.heard_on or len(device.heard_on) < _MOST_TOPICS:
            device.heard_on[topic] = now
        device.topic, device.spreading_factor = topic, spreading_factor
        for setting in device.settings.values():
            setting.n_heard += 1
        if before is None:
            device.burst_since = None
        else:
            self._obedience.observe(device, now - before, now)
        return [*self._due(device, now), *self._host.take_requests()]

    def knows(self, name: str, profile: str) -> bool:
        """Return whether a device was heard, by its own name."""
        return key_of(profile, name) in self.devices

    @property
    def unguarded(self) -> list[Device]:
        """Devices that would not go back to their safe interval if the gateway died."""
        if self.is_guarded:
            return []
        return [
            device
            for device in self.devices.values()
            if self._profiles[device.profile].reach.returns_after is None
            and any(setting.tries for setting in device.settings.values())
        ]

    @property
    def n_offline(self) -> int:
        """Number of devices that are offline."""
        return sum(device.offline_since is not None for device in self.devices.values())

    def let_time_pass(self, now: float, *, is_kept: bool = False) -> list[Publication]:
        """Return what those nodes are asked that always hear, at a time in seconds since 1970.

        With `is_kept` also those are asked for which networks keep messages.
        """
        self._newest_time = max(self._newest_time, now)
        return [
            publication
            for device in self.devices.values()
            if self._profiles[device.profile].reach.hears == "always"
            or (is_kept and self._profiles[device.profile].reach.queued)
            for publication in self._due(device, now)
        ]

    def release(self, now: float) -> list[Publication]:
        """Return what asks devices for their safe interval as a run ends, if they hear or it is kept for them."""
        if self._back.on_stop != SAFE:
            return []
        publications = []
        for device in self.devices.values():
            profile = self._profiles[device.profile]
            if profile.hears_at_once and (device.offline_since is None or profile.reach.queued):
                asked = [quantity for quantity, setting in device.settings.items() if setting.tries]
                self.want_safe(device.name, device.profile, asked)
                self.counters["devices_released"] += bool(asked)
                publications += self._due(device, now)
        return publications

    def receive(self, topic: str, payload: bytes, now: float) -> list[Publication]:
        """Take an answer, or that a device has started, or is online or not; return what it is then asked."""
        self._heed_guard(topic, payload)
        publications: list[Publication] = []
        for said in (*self._ear.read(topic, payload), *self._host.read(topic, payload, now)):
            if said.is_online is not None:
                self._note_availability(said.profile, said.device, now, is_online=said.is_online)
            key, quantity = key_of(said.profile, said.device), None
            if said.number is not None:
                key, quantity = self._asked.get(said.number, ("", ""))
            device = self.devices.get(key)
            if device is not None:
                self._take(said, device, quantity)
                if said.number is None and self._profiles[device.profile].reach.hears == "always":
                    publications += self._due(device, now)
        return [*publications, *self._host.take_requests()]

    def _heed_guard(self, topic: str, payload: bytes) -> None:
        """Note whether there is a guard, and ask all devices anew if it has asked them."""
        if topic not in self._of_guard or self._shared is None:
            return
        try:
            said = orjson.loads(payload)
        except orjson.JSONDecodeError:
            return
        if not isinstance(said, dict):
            return
        if topic == self._shared.presence:
            self.is_guarded = said.get("status") == "online"
        elif said.get("at") != self._acted:
            self._acted = said.get("at")
            for device in self.devices.values():
                ask_anew(device)
                device.heard_on.clear()

    def _take(self, said: Said, device: Device, quantity: str | None) -> None:
        """Take what a device has said: to a message about a quantity, if that is known."""
        if said.number is not None and quantity is not None:
            self._obedience.take_answer(device, quantity, said.number, said.refusal)
        elif said.is_birth:
            self.counters["devices_born"] += 1
            ask_anew(device)
        elif said.values is not None:
            self._take_values(device, said.values)
        elif said.seconds is not None:
            for name, setting in device.settings.items():
                if setting.tries and said.seconds == int(setting.asked[1]):
                    self._obedience.take_answer(device, name, setting.number, "")

    def _take_values(self, device: Device, values: Mapping[str, Any]) -> None:
        """Take the metrics of a device's data: one that was written comes back with its value."""
        profile = self._profiles[device.profile]
        for name, setting in device.settings.items():
            written = written_metrics(profile, name, Asked(*setting.asked), device.topic)
            if setting.tries and written and written.items() <= values.items():
                self._obedience.take_answer(device, name, setting.number, "")

    def receive_state(self, topic: str, payload: bytes, now: float) -> None:
        """Take what the broker has kept of who is online."""
        self._heed_guard(topic, payload)
        for said in self._ear.read_state(topic, payload):
            self._note_availability(said.profile, said.device, now, is_online=said.is_online is True)

    def forget(self, node: str) -> list[Publication]:
        """Forget the devices of a node; return what asks them for their safe interval, and clears what is kept."""
        publications = []
        for key, device in self._of.pop(node, {}).items():
            profile = self._profiles[device.profile]
            if profile.hears_at_once and self._back.on_stop == SAFE:
                self.want_safe(device.name, device.profile, [*device.settings])
                publications += self._due(device, self._newest_time)
            publications += self._noted(device, b"")
            del self.devices[key]
        self.hearing.forget(node)
        return publications

    def _noted(self, device: Device, note: bytes | None = None) -> list[Publication]:
        """Return the publication of what a device was asked for, if such are made."""
        if self._shared is None:
            return []
        said = {"device": device.name, "profile": device.profile, "quantities": [*device.settings]}
        said["topic"] = device.topic
        topic = f"{self._shared.asked}{level_of(device.name)}"
        return [Publication(topic, orjson.dumps(said) if note is None else note)]

    def _note_availability(self, profile: str, name: str, now: float, *, is_online: bool) -> None:
        """A device is online or not; without a name, all of a profile are."""
        named = self.devices.get(key_of(profile, name))
        devices = (
            [device for device in self.devices.values() if device.profile == profile] if not name else [named]
        )
        for device in devices:
            if device is not None and is_online:
                self._is_back(device)
            elif device is not None and device.offline_since is None:
                device.offline_since = now
                self.counters["devices_gone"] += 1

    def _is_back(self, device: Device) -> None:
        """A device is heard: what it was asked while it was away is open again."""
        if device.offline_since is None:
            return
        device.offline_since = None
        device.heard_on.clear()
        self.counters["devices_back"] += 1
        for setting in device.settings.values():
            if not (setting.is_acknowledged or setting.refusal):
                setting.tries = 0
        begin_observing(device)

    def to_state(self) -> dict[str, Any]:
        """Copy the state."""
        return {
            "devices": [asdict(device) for device in self.devices.values()],
            "counters": dict(self.counters),
            "newest": self.newest_number,
            "newest_time": self._newest_time,
            "is_guarded": self.is_guarded,
            "acted": self._acted,
            "is_wary": self.is_wary,
            "unnoted": [*self.unnoted],
            "asked": [[number, *of] for number, of in self._answerable().items()],
            "sparkplug": self._host.to_state(),
            "hearing": self.hearing.to_state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `to_state` has copied; devices whose profile is no longer bound are forgotten."""
        for values in state["devices"]:
            if values["profile"] in self._profiles:
                self._put(device_of_state(values))
        self.counters.update(state["counters"])
        self.newest_number = state["newest"]
        self._newest_time = -inf if state.get("newest_time") is None else state["newest_time"]
        self.is_wary = state.get("is_wary", False)
        self.is_guarded, self._acted = state.get("is_guarded", False), state.get("acted")
        self._asked = {number: (key, quantity) for number, key, quantity in state["asked"]}
        self.unnoted = dict.fromkeys((node, is_followed) for node, is_followed in state.get("unnoted", ()))
        self.hearing.restore(state.get("hearing", {}))
        if "sparkplug" in state:
            self._host.restore(state["sparkplug"])

    def _put(self, device: Device) -> None:
        """Know a device, in place of what was known of it as another node."""
        key = key_of(device.profile, device.name)
        if key in self.devices:
            before = self.devices[key].node
            del self._of[before][key]
            if not self._of[before]:
                del self._of[before]
        self.devices[key] = self._of.setdefault(device.node, {})[key] = device

    def _due(self, device: Device, now: float) -> list[Publication]:
        """Return the messages to a device that are due."""
        profile = self._profiles[device.profile]
        publications: list[Publication] = []
        if device.offline_since is not None and not profile.reach.queued:
            return publications
        for quantity, setting in device.settings.items():
            if not self._obedience.is_due(device, setting, now) or not self._can_write(device, quantity, now):
                continue
            if not self.hearing.allows(device, setting, profile.reach.per_day, now):
                continue
            if setting.number == 0:
                publications += self._noted(device)
            self.newest_number += 1
            self._asked[self.newest_number] = key_of(device.profile, device.name), quantity
            self.counters["devices_asked_again" if setting.tries else "devices_asked"] += 1
            setting.number, setting.sent_at, setting.tries = self.newest_number, now, setting.tries + 1
            setting.is_acknowledged, setting.n_heard = False, 0
            self._forget_settled()
            begin_observing(device)
            address = Address(device.topic, self._host.metrics(device.topic) or {}, now)
            asked = Asked(*setting.asked)
            publications.append(message(profile, device.name, quantity, asked, self.newest_number, address))
            self.hearing.pay(device, size_on_air(profile, asked, publications[-1]))
        return publications

    def _forget_settled(self) -> None:
        """Forget the numbers that no answer can have any more, once they are as many as the others."""
        if len(self._asked) > self._most_asked:
            self._asked = self._answerable()
            self._most_asked = 2 * len(self._asked) + _FEW_ASKED

    def _answerable(self) -> dict[int, tuple[str, str]]:
        """Return device and quantity of each message whose answer would be heeded, by the message's number."""
        return {
            each.number: (key, quantity)
            for key, device in self.devices.items()
            for quantity, setting in device.settings.items()
            for each in (setting.told, setting)
            if each is not None and each.number
        }

    def _can_write(self, device: Device, quantity: str, now: float) -> bool:
        """Return whether a device has said that it lets the metrics be written, if it is asked by metrics."""
        setting = device.settings[quantity]
        written = written_metrics(self._profiles[device.profile], quantity, Asked(*setting.asked), device.topic)
        if not written:
            return True
        known = self._host.metrics(device.topic)
        if known is None:
            self._host.want_births(device.topic, now)
            return False
        missing = [name for name in written if name not in known]
        if missing:
            setting.refusal = f"its birth has no metric {missing[0]!r}"
            self.counters["devices_refused"] += 1
        return not missing
