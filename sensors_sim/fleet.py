"""Many nodes that publish to a real MQTT broker and follow its control messages."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import ceil, inf, isfinite
from queue import Empty, SimpleQueue
from threading import Event

from feature_extractors.arrays import Array
from feature_extractors.report import silent_ticks
from sensors_sim._connection import Connection
from sensors_sim._control import read_control
from sensors_sim.deciding import DecidingNode, ExportedModel, SplitModel, node_of
from sensors_sim.links import Link
from sensors_sim.nodes import Battery, Node
from streamfs.costs.energy import Profile
from streamfs.costs.energy_meter import EnergyMeter
from streamfs.costs.radio_profiles import profile as profile_named

_NOT_IN_TOPICS = "/+#\0"


class Fleet:
    """Recorded nodes that replay their readings over MQTT, tick by tick.

    At each tick every node publishes those of its channels that transmit then to ``sensors/{node}/{channel}``:
    ``{"t": seconds, "v": value, "seq": number}``, where ``seq`` counts the messages of that channel of that node
    from 0. A control message on ``{prefix}/control/{node}`` sets a node's channels: ``{"channels":
    ["light@flag:300"]}``, with an empty list for silence; an empty message sets those that it began with. With
    ``"stop_after": seconds``, the node stops after this event time unless it receives another message. With
    ``"number": number``, it ignores messages with a lower number from then on, until an empty message. A lost
    message uses energy and a sequence number, but is not published. `counters` counts ``published`` and ``lost``
    messages, ``controls`` followed, and those ignored as ``malformed_controls``, ``outdated_controls`` or
    ``foreign_controls`` (for other nodes).

    Nodes with one of the `models` decide by themselves, and publish nothing but their decision,
    ``{"label": label, "time": seconds}``, to ``{prefix}/decision/{node}``; those with a split one compute its
    channels.

    `readings` are arrays of shape (n_ticks,) by node and column, `period` and `max_silence` are in seconds of
    event time, and `battery_joules` is in the profile's unit. Names must be valid levels of a topic.
    """

    def __init__(
        self,
        readings: Mapping[str, Mapping[str, Array]],
        period: float,
        profile: str | Profile = "transmissions",
        battery_joules: float | None = None,
        link: Link | None = None,
        *,
        seed: int = 0,
        prefix: str = "streamfs",
        channels: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        max_silence: float | None = None,
        models: Mapping[str, ExportedModel | SplitModel] | None = None,
    ) -> None:
        if not (isfinite(period) and period > 0):
            raise ValueError(f"period is {period}, expected seconds, more than 0")
        self.counters: Counter[str] = Counter()
        self.meter = EnergyMeter(profile_named(profile) if isinstance(profile, str) else profile)
        self._period = period
        self._prefix = prefix
        self._controls: SimpleQueue[tuple[str, bytes]] = SimpleQueue()
        capacity = inf if battery_joules is None else battery_joules
        silence = silent_ticks(max_silence, period)
        self._nodes: dict[str, Node] = {}
        for name, columns in readings.items():
            for word in (name, *columns):
                _check_topic_level(word)
            model, given = (models or {}).get(name), (name, columns, self.meter, Battery(capacity), link)
            self._nodes[name] = node_of(model, *given, max_silence=silence, seed=seed)
        self._initial: dict[str, Sequence[str]] = {}
        self._numbers: dict[str, int] = {}  # of the last control message that a node has followed
        self._set_initial_channels(channels)

    @property
    def batteries(self) -> dict[str, float]:
        """Energy left in each node's battery, in the profile's unit; infinite if it is unlimited."""
        return {name: node.battery.remaining for name, node in self._nodes.items()}

    @property
    def decided(self) -> dict[str, str | None]:
        """Labels of the nodes that have decided by themselves; None of one that ended without."""
        found = (node for node in self._nodes.values() if isinstance(node, DecidingNode))
        return {node.name: node.label for node in found if node.is_done}

    @property
    def n_ticks(self) -> int:
        """Number of ticks of the longest recording."""
        return max((node.n_ticks for node in self._nodes.values()), default=0)

    def run(
        self,
        host: str,
        port: int,
        tick_seconds: float = 0.05,
        start_time: float = 0.0,
        qos: int = 1,
        *,
        on_tick: Callable[[int], None] | None = None,
        stop: Event | None = None,
        max_ticks: int | None = None,
    ) -> None:
        """Replay the readings to a broker, until they end or every node is dead, or silent after having sent.

        Control messages take effect at the next tick, retained ones at the first. All messages are acknowledged
        before this returns. A tick takes `tick_seconds` of real time, the first one is at the event time
        `start_time`, `on_tick` is called with the number of each tick, and setting `stop` ends the run. A
        TransportError is raised if the broker cannot be reached, refuses, or stops acknowledging.
        """
        if not tick_seconds >= 0:
            raise ValueError(f"tick_seconds is {tick_seconds}, expected at least 0")
        stop = Event() if stop is None else stop
        n_ticks = self.n_ticks if max_ticks is None else min(max_ticks, self.n_ticks)
        topic = f"{self._prefix}/control/+"
        with Connection(host, port, topic, self._controls.put, qos) as connection:
            due = time.monotonic()
            for tick in range(n_ticks):
                due = max(due + tick_seconds, time.monotonic())
                if stop.wait(due - time.monotonic()):
                    break
                self._apply_controls(tick)
                self._publish(connection, tick, start_time + tick * self._period)
                if on_tick is not None:
                    on_tick(tick)
                if all(node.is_done for node in self._nodes.values()):
                    break

    def _set_initial_channels(self, channels: Sequence[str] | Mapping[str, Sequence[str]] | None) -> None:
        if channels is None:
            return
        if isinstance(channels, str):
            raise TypeError(f"channels is {channels!r}, expected a sequence of channels")
        by_node = channels if isinstance(channels, Mapping) else dict.fromkeys(self._nodes, channels)
        for name, wanted in by_node.items():
            if name not in self._nodes:
                raise ValueError(f"channels names node {name!r}, which has no readings")
            self._initial[name] = wanted
            self._set_channels(name, wanted, tick=0)

    def _set_channels(
        self, name: str, channels: Sequence[str], tick: int, stop_after: float | None = None
    ) -> None:
        for channel in channels:
            _check_topic_level(channel)
        n_ticks = None if stop_after is None else ceil(stop_after / self._period)
        self._nodes[name].set_channels(channels, tick, n_ticks)

    def _apply_controls(self, tick: int) -> None:
        while True:
            try:
                topic, payload = self._controls.get_nowait()
            except Empty:
                return
            name = topic.rpartition("/")[2]
            if name not in self._nodes:
                self.counters["foreign_controls"] += 1
                continue
            try:
                is_followed = self._follow(name, payload, tick)
            except (ValueError, OverflowError):
                self.counters["malformed_controls"] += 1
            else:
                self.counters["controls" if is_followed else "outdated_controls"] += 1

    def _follow(self, name: str, payload: bytes, tick: int) -> bool:
        """Follow a control message; return False, and do nothing, if a later one was followed before."""
        if not payload:
            self._set_channels(name, self._initial.get(name, ()), tick)
            self._numbers.pop(name, None)
            return True
        control = read_control(payload)
        if control.number is not None and control.number < self._numbers.get(name, control.number):
            return False
        self._set_channels(name, control.channels, tick, control.stop_after)
        if control.number is not None:
            self._numbers[name] = control.number
        return True

    def _publish(self, connection: Connection, tick: int, seconds: float) -> None:
        for node in self._nodes.values():
            for message in node.transmit(tick, seconds):
                if message.delivered:
                    connection.publish(self._topic(node, message.channel), message.payload)
                self.counters["published" if message.delivered else "lost"] += 1

    def _topic(self, node: Node, channel: str) -> str:
        if isinstance(node, DecidingNode):
            return f"{self._prefix}/decision/{node.name}"
        return f"sensors/{node.name}/{channel}"


def _check_topic_level(word: str) -> None:
    if not word or any(character in word for character in _NOT_IN_TOPICS):
        raise ValueError(f"name is {word!r}, expected a level of a topic: not empty, without / + #")
