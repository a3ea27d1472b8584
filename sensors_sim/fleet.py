"""Many nodes that speak MQTT to a real broker, and obey its control messages."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import ceil, inf, isfinite
from queue import Empty, SimpleQueue
from threading import Event

import numpy as np
import numpy.typing as npt
import orjson

from feature_extractors.report import silent_ticks
from sensors_sim._connection import Connection
from sensors_sim.links import Link
from sensors_sim.nodes import Battery, Node
from streamfs.costs.energy import Profile
from streamfs.costs.energy_meter import EnergyMeter
from streamfs.costs.radio_profiles import profile as profile_named

Array = npt.NDArray[np.float64]

_NOT_IN_TOPICS = "/+#\0"


class Fleet:
    """Recorded nodes that replay their readings over MQTT, tick by tick.

    At each tick every node publishes, to ``sensors/{node}/{channel}``, those of its channels that transmit then:
    ``{"t": seconds, "v": value, "seq": number}``, where ``seq`` counts the messages of that channel of that node
    from 0. What a node sends is told on ``{prefix}/control/{node}``: ``{"channels": ["light@flag:300"]}``, with an
    empty list for silence, and with ``"stop_after": seconds`` of event time after which the node stops by itself
    unless it is told again. A lost message costs its energy and its sequence number, but is not published.

    Parameters
    ----------
    readings : mapping of str to mapping of str to array of shape (n_ticks,)
        For each node and column what is measured at each tick; NaN where there is no sample.
    period : float
        Seconds of event time between ticks.
    profile : str or Profile
        The nodes' radio.
    battery_joules : float, optional
        Capacity of each node's battery in the profile's unit; a node ends when it is empty. None never ends.
    link : Link, optional
        Loses messages. None loses none.
    seed : int
        Decides which messages are lost.
    prefix : str
        First level of the control topics.
    channels : sequence of str, or mapping of str to sequence of str, optional
        What all nodes, or each, send until told otherwise. None is silence.
    max_silence : float, optional
        Seconds after which a channel that sends on change repeats its value.

    Attributes
    ----------
    meter : EnergyMeter
        What each node has transmitted.
    counters : Counter
        ``published`` and ``lost`` messages; ``controls`` obeyed, ``malformed_controls`` and ``foreign_controls``
        (for nodes of others) ignored.

    Raises
    ------
    ValueError
        If a node, column or channel cannot stand in a topic, a channel is not one of its node's, or a number is
        out of range.

    Examples
    --------
    >>> fleet = Fleet({"n1": {"light": np.array([280.0, 310.0])}}, period=1.0, channels=["light@flag:300"])
    >>> fleet.n_ticks
    2
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
        self._nodes = {}
        for name, columns in readings.items():
            for word in (name, *columns):
                _check_topic_level(word)
            self._nodes[name] = Node(
                name, columns, self.meter, Battery(capacity), link, max_silence=silence, seed=seed
            )
        self._tell_first(channels)

    @property
    def batteries(self) -> dict[str, float]:
        """What is left in each node's battery, in the profile's unit; infinite where it never ends."""
        return {name: node.battery.remaining for name, node in self._nodes.items()}

    @property
    def n_ticks(self) -> int:
        """Ticks of the longest recorded node."""
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

        Control messages take effect at the next tick; those that the broker has retained, at the first. All
        messages are acknowledged before this returns.

        Parameters
        ----------
        host : str
            Where the broker is.
        port : int
            Where the broker listens.
        tick_seconds : float
            Seconds of real time a tick; 0 goes as fast as can be.
        start_time : float
            Event time of the first tick, in seconds.
        qos : int
            Quality of service of the readings: 0, 1 or 2.
        on_tick : callable, optional
            Called with the tick's number after each tick.
        stop : threading.Event, optional
            Ends the run when set.
        max_ticks : int, optional
            Ends the run after so many ticks.

        Raises
        ------
        ValueError
            If tick_seconds or qos is out of range.
        TransportError
            If the broker cannot be reached, refuses, or stops acknowledging.
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
                self._obey(tick)
                self._publish(connection, tick, start_time + tick * self._period)
                if on_tick is not None:
                    on_tick(tick)
                if all(node.is_done for node in self._nodes.values()):
                    break

    def _tell_first(self, channels: Sequence[str] | Mapping[str, Sequence[str]] | None) -> None:
        if channels is None:
            return
        if isinstance(channels, str):
            raise TypeError(f"channels is {channels!r}, expected a sequence of channels")
        told = channels if isinstance(channels, Mapping) else dict.fromkeys(self._nodes, channels)
        for name, wanted in told.items():
            if name not in self._nodes:
                raise ValueError(f"channels names node {name!r}, which has no readings")
            self._tell(name, wanted, tick=0)

    def _tell(self, name: str, channels: Sequence[str], tick: int, stop_after: float | None = None) -> None:
        for channel in channels:
            _check_topic_level(channel)
        n_ticks = None if stop_after is None else ceil(stop_after / self._period)
        self._nodes[name].obey(channels, tick, n_ticks)

    def _obey(self, tick: int) -> None:
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
                channels, stop_after = _told(payload)
                self._tell(name, channels, tick, stop_after)
            except (ValueError, OverflowError):
                self.counters["malformed_controls"] += 1
            else:
                self.counters["controls"] += 1

    def _publish(self, connection: Connection, tick: int, seconds: float) -> None:
        for node in self._nodes.values():
            for message in node.transmit(tick, seconds):
                if message.delivered:
                    connection.publish(f"sensors/{node.name}/{message.channel}", message.payload)
                self.counters["published" if message.delivered else "lost"] += 1


def _told(payload: bytes) -> tuple[list[str], float | None]:
    """Read a control message: channels, and seconds after which to stop; ValueError if it is none."""
    message = orjson.loads(payload)
    channels = message.get("channels") if isinstance(message, dict) else None
    if not isinstance(channels, list) or not all(isinstance(channel, str) for channel in channels):
        raise ValueError(f'control is {payload[:40]!r}, expected {{"channels": [...]}}')
    stop_after = message.get("stop_after")
    if not (stop_after is None or (type(stop_after) in (int, float) and stop_after > 0)):
        raise ValueError(f"control has stop_after {stop_after!r}, expected seconds, more than 0")
    return channels, stop_after


def _check_topic_level(word: str) -> None:
    if not word or any(character in word for character in _NOT_IN_TOPICS):
        raise ValueError(f"name is {word!r}, expected one that can be a topic level: not empty, without / + #")
