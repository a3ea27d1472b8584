"""Nodes that measure a physical process imperfectly, and send requested channels while the battery lasts."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from math import inf
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt
import orjson

from feature_extractors.arrays import Array
from feature_extractors.report import split_channel
from sensors_sim.links import Link
from streamfs.costs.energy_meter import EnergyMeter


class Readings(NamedTuple):
    """Measured values and true sampling times in seconds, both of shape (n_nodes, n_ticks)."""

    values: Array
    times: Array


@dataclass(frozen=True)
class NodeModel:
    """How nodes differ from each other and from the truth; each spread is a standard deviation over nodes.

    The gain is a factor around 1; offset, noise (a standard deviation) and quantum (the converter's resolution)
    are in the quantity's unit, the clock's offset is in seconds and its drift in parts per million.
    """

    gain_spread: float = 0.0
    offset_spread: float = 0.0
    noise: float = 0.0
    quantum: float = 0.0
    clock_offset_spread: float = 0.0
    clock_drift_spread: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value >= 0:
                raise ValueError(f"{field.name} is {value}, expected at least 0")

    def sampling_times(self, n_nodes: int, n_ticks: int, period: float, rng: np.random.Generator) -> Array:
        """Return the true sampling times of nodes with their own clocks, in seconds, shape (n_nodes, n_ticks)."""
        offset = self.clock_offset_spread * rng.standard_normal((n_nodes, 1))
        drift = 1e-6 * self.clock_drift_spread * rng.standard_normal((n_nodes, 1))
        return offset + (1 + drift) * period * np.arange(n_ticks)

    def sense(
        self, physical: Array, period: float, rng: np.random.Generator, times: Array | None = None
    ) -> Readings:
        """Measure processes of shape (n_nodes, n_ticks), given at multiples of the period, linear in between.

        `times` are true sampling times, if known from another quantity of the same nodes; else they are drawn.
        """
        n_nodes, n_ticks = physical.shape
        if times is None:
            times = self.sampling_times(n_nodes, n_ticks, period, rng)
        gain = 1 + self.gain_spread * rng.standard_normal((n_nodes, 1))
        offset = self.offset_spread * rng.standard_normal((n_nodes, 1))
        noise = self.noise * rng.standard_normal(times.shape)
        values = gain * _interpolate(physical, times / period) + offset + noise
        if self.quantum > 0:
            values = np.round(values / self.quantum) * self.quantum
        return Readings(values, times)


class Battery:
    """Energy left in a node's battery, in joules, or in transmissions if the profile counts those."""

    def __init__(self, capacity_joules: float) -> None:
        if not capacity_joules >= 0:
            raise ValueError(f"capacity_joules is {capacity_joules}, expected at least 0")
        self.remaining = capacity_joules

    def spend(self, joules: float) -> bool:
        """Take joules from the battery and return whether it had enough; if not, it is emptied."""
        if not joules >= 0:
            raise ValueError(f"joules is {joules}, expected at least 0")
        enough = joules <= self.remaining
        self.remaining = self.remaining - joules if enough else 0.0
        return enough


class Transmission(NamedTuple):
    """A message that a node has paid for: channel, payload, and whether the link delivers it."""

    channel: str
    payload: bytes
    delivered: bool


class Node:
    """A node that sends channels of its recorded columns, and pays for each message.

    Columns have shape (n_ticks,), with NaN for missing samples. The node dies of the first message that its
    battery cannot pay for, which is not sent. A channel that sends on change repeats its value after `max_silence`
    ticks. The link's losses depend on the seed and the names of node and channel.
    """

    def __init__(
        self,
        name: str,
        columns: Mapping[str, Array],
        meter: EnergyMeter,
        battery: Battery,
        link: Link | None = None,
        *,
        max_silence: int | None = None,
        seed: int = 0,
    ) -> None:
        self.name = name
        self.alive = True
        self._columns = {column: np.asarray(values, dtype=np.float64) for column, values in columns.items()}
        for column, values in self._columns.items():
            if values.ndim != 1:
                raise ValueError(f"column {column} of {name} has shape {values.shape}, expected (n_ticks,)")
        self._meter = meter
        self.battery = battery
        self._link = Link() if link is None else link
        self._max_silence = max_silence
        self._seed = seed
        self._channels: dict[str, _Schedule] = {}
        self._end = inf  # the tick from which it is silent
        self._sequence: Counter[str] = Counter()  # channel -> messages so far

    @property
    def n_ticks(self) -> int:
        """Number of ticks of the longest column."""
        return max((len(values) for values in self._columns.values()), default=0)

    @property
    def is_done(self) -> bool:
        """Whether the node is dead, or silent after having sent."""
        return not self.alive or (not self._channels and bool(self._sequence))

    def set_channels(self, channels: Iterable[str], tick: int, n_ticks: int | None = None) -> None:
        """Send only these channels from a tick on, for `n_ticks` ticks or without end.

        An invalid channel raises a ValueError and changes nothing.
        """
        self._channels = {
            channel: self._channels.get(channel) or self._schedule(channel, tick) for channel in channels
        }
        self._end = inf if n_ticks is None else tick + n_ticks

    def transmit(self, tick: int, time: float) -> list[Transmission]:
        """Return the messages of a tick, stamped with its time in seconds; each is paid and counted."""
        messages = []
        if tick >= self._end:
            self._channels = {}
        for channel, schedule in self._channels.items():
            index = tick - schedule.first_tick
            if not self.alive or index >= len(schedule.sent) or np.isnan(schedule.sent[index]):
                continue
            reading = {"t": time, "v": float(schedule.sent[index]), "seq": self._sequence[channel]}
            payload = orjson.dumps(reading)
            self.alive = self.battery.spend(self._meter.message_joules(len(payload)))
            if self.alive:
                self._sequence[channel] += 1
                self._meter.count(self.name, len(payload))
                messages.append(Transmission(channel, payload, bool(schedule.delivered[index])))
        return messages

    def _require(self, columns: Iterable[str]) -> None:
        """Raise a ValueError unless the node has the columns of its model."""
        for column in columns:
            if column not in self._columns:
                raise ValueError(f"node {self.name} has no column {column!r}, which its model reads")

    def _sent(self, channel: str, tick: int) -> Array:
        """Return what a channel sends at each tick, if it is asked for from this one on; NaN is nothing."""
        column, policy = split_channel(channel)
        if column not in self._columns:
            raise ValueError(f"node {self.name} has no column {column!r}, only {', '.join(self._columns)}")
        return policy.sent(self._columns[column][tick:], self._max_silence)

    def _schedule(self, channel: str, tick: int) -> "_Schedule":
        sent = self._sent(channel, tick)
        rng = np.random.default_rng([self._seed, crc32(self.name.encode()), crc32(channel.encode()), tick])
        return _Schedule(tick, sent, np.isfinite(self._link.deliver(sent, rng)))


class _Schedule(NamedTuple):
    """Values that a channel sends at each tick since its first, and whether they arrive."""

    first_tick: int
    sent: Array
    delivered: npt.NDArray[np.bool_]


def _interpolate(physical: Array, ticks: Array) -> Array:
    """Interpolate each row of `physical` at its own fractional ticks."""
    n_ticks = physical.shape[-1]
    within = np.clip(ticks, 0, n_ticks - 1)
    before = np.floor(within).astype(np.int64)
    after = np.minimum(before + 1, n_ticks - 1)
    earlier, later = (np.take_along_axis(physical, index, axis=-1) for index in (before, after))
    return earlier + (within - before) * (later - earlier)
