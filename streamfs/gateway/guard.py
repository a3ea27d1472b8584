"""A guard: asks devices for their safe interval while their gateway is offline."""

from collections.abc import Mapping
from itertools import product
from threading import Event
from typing import Any

import orjson

from streamfs.gateway.core.conduct import Conduct
from streamfs.gateway.core.guard_topics import GuardTopics
from streamfs.gateway.core.routes import addressed
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.settings.settings import Settings
from streamfs.gateway.transport.transport import Message, Transport

_POLL = 0.25  # seconds that the loop waits for a message at most
_STATUS, _ONLINE, _OFFLINE = "status", "online", "offline"
_GOODBYE = 1.0  # seconds for disconnecting


class Guard:
    """Decide what devices are asked in a gateway's place; messages and time in, publications out.

    It acts once the gateway has been offline for `guard_after` seconds, and until that is online again. It knows
    from the gateway's retained messages which devices were asked for what, and asks each of them when it hears.

    Parameters
    ----------
    settings : Settings
        Those of the gateway.
    """

    def __init__(self, settings: Settings) -> None:
        profiles = {source.key: source.profile for source in settings.sources if source.key and source.profile}
        self.topics_of_both = GuardTopics.of(settings.prefix, settings.name)
        self.acts = False
        self.n_known = 0
        self._after = settings.devices.guard_after
        self._routes = [source.route() for source in settings.sources if source.key]
        self._back = settings.devices
        self._max_payload = settings.limits.payload_bytes
        self._profiles = profiles
        self._known: dict[str, dict[str, Any]] = {}  # what was asked of each device, by its topic
        self._offline_since: float | None = None
        self.conduct = self._new_conduct()

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics to subscribe to: the gateway's, and all on which devices are heard."""
        both = self.topics_of_both
        readings = [topic for route in self._routes for topic in route.template.filters(("+",))]
        return tuple(dict.fromkeys((both.status, f"{both.asked}+", *readings, *self.conduct.topics)))

    def hear(self, message: Message, now: float) -> list[Publication]:
        """Return what is published after a message, at a time in seconds since 1970."""
        topic = message.topic
        if topic == self.topics_of_both.status:
            return self._heed_status(message.payload, now)
        if topic.startswith(self.topics_of_both.asked):
            self._note(topic, message.payload, now)
            return []
        if message.retained:
            if self.conduct.has_state(topic):
                self.conduct.receive_state(topic, message.payload, now)
            return []
        return self._hear_device(topic, message.payload, now)

    def let_time_pass(self, now: float) -> list[Publication]:
        """Return what is published at a time, in seconds since 1970."""
        if self.acts:
            return self.conduct.let_time_pass(now)
        if self._offline_since is None or now < self._offline_since + self._after:
            return []
        self.acts = True
        self.conduct.newest_number = int(now)
        for said in self._known.values():
            self.conduct.want_safe(said["device"], said["profile"], said["quantities"])
        acted = Publication(self.topics_of_both.acted, orjson.dumps({"at": now}))
        return [acted, *self._said_at_once(now)]

    def _said_at_once(self, now: float) -> list[Publication]:
        """Return what devices are asked that hear, or for which it is kept."""
        return self.conduct.let_time_pass(now, is_kept=True)

    def _heed_status(self, payload: bytes, now: float) -> list[Publication]:
        word = _object(payload).get(_STATUS)
        if word == _OFFLINE and self._offline_since is None:
            self._offline_since = now
        elif word == _ONLINE:
            self._offline_since = None
            if self.acts:
                self.acts = False
                self.conduct = self._new_conduct()
                for said in self._known.values():
                    self._meet(said, now)
        return []

    def _meet(self, said: Mapping[str, Any], now: float) -> None:
        """Know a device, and where it was heard."""
        name = said["device"]
        self.conduct.meet(name, name, said["profile"], now, str(said.get("topic", "")))

    def _note(self, topic: str, payload: bytes, now: float) -> None:
        """Note what the gateway has asked of a device."""
        said = _object(payload)
        is_known = isinstance(said.get("device"), str) and said.get("profile") in self._profiles
        if not (is_known and isinstance(said.get("quantities"), list)):
            self._known.pop(topic, None)
        else:
            self._known[topic] = said
            self._meet(said, now)
            if self.acts:
                self.conduct.want_safe(said["device"], said["profile"], said["quantities"])
        self.n_known = len(self._known)

    def _hear_device(self, topic: str, payload: bytes, now: float) -> list[Publication]:
        publications = self.conduct.receive(topic, payload, now) if self.conduct.listens(topic) else []
        parts = [] if len(payload) > self._max_payload else addressed(self._routes, topic, payload)
        for part, route in product(parts, self._routes):
            routed = None if route.ignores(part.topic) else route.find(part.topic)
            if routed is not None and self.conduct.knows(routed.called, routed.device):
                publications += self.conduct.hear(routed.called, routed.device, now, part.topic)
        return publications if self.acts else []

    def _new_conduct(self) -> Conduct:
        return Conduct(self._profiles, 1.0, None, self._back)


def keep_guard(guard: Guard, transport: Transport, stop: Event) -> None:
    """Let a guard hear and speak until stopped; `presence` is its birth, will and goodbye."""
    transport.subscribe(guard.topics)
    waiting: list[Publication] = []
    while not stop.is_set():
        for message in transport.poll(_POLL):
            waiting += guard.hear(message, transport.clock.now())
            transport.acknowledge(1)
        waiting += guard.let_time_pass(transport.clock.now())
        while waiting and transport.publish(waiting[0]):
            waiting.pop(0)
    transport.close(_GOODBYE, presence(guard, _OFFLINE))


def presence(guard: Guard, word: str) -> Publication:
    """Return the publication that a guard is online or offline."""
    return Publication(guard.topics_of_both.presence, orjson.dumps({_STATUS: word}))


def guard_transport(settings: Settings, guard: Guard) -> Transport:
    """Return the connection of a guard, with its will."""
    broker = settings.broker
    return Transport(
        broker.address(),
        f"{broker.client_id}-guard",
        qos=broker.qos,
        keepalive=broker.keepalive,
        max_packet_bytes=settings.limits.packet_bytes,
        will=presence(guard, _OFFLINE),
        birth=presence(guard, _ONLINE),
    )


def _object(payload: bytes) -> dict[str, Any]:
    try:
        said = orjson.loads(payload)
    except orjson.JSONDecodeError:
        return {}
    return said if isinstance(said, dict) else {}
