"""Devices of other makers, simulated after their documentation: what they send, and whether they obey."""

from abc import ABC, abstractmethod
from base64 import b64decode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import orjson

from feature_extractors.arrays import Array
from sensors_sim.sparkplug_wire import BOOLEAN, DOUBLE, WHOLE, WireMetric, understood, written

Messages = list[tuple[str, bytes]]

_WAKES = 120.0  # intervals after which a Shelly reports whatever its value is


@dataclass(frozen=True)
class Manners:
    """How a device behaves.

    `misses` is the share of messages to it that it does not get; one that lies answers and does nothing; one
    that is deaf does neither. It reports every `interval` seconds until it is asked otherwise, and again after
    a restart if it `forgets`, and once it has not been asked for `returns_after` seconds.
    """

    interval: float = 60.0
    misses: float = 0.0
    lies: bool = False
    is_deaf: bool = False
    forgets: bool = True
    returns_after: float = np.inf


class SimulatedDevice(ABC):
    """A device that reports one quantity: values a period apart from `begin` on, of which it sends the newest.

    It sends when its interval has passed, or when the value has changed by its threshold, if it has one and its
    least interval has passed. What it is asked it takes when it hears: always, or until `open` seconds after a
    report.
    """

    open = np.inf
    """Seconds after a report for which it hears."""

    address = "{name}"
    """What a gateway calls it without an alias."""

    def __init__(
        self,
        name: str,
        values: Array,
        period: float,
        manners: Manners | None = None,
        seed: int = 0,
        begin: float = 0.0,
    ) -> None:
        self.name = name
        self.manners = Manners() if manners is None else manners
        self.n_sent = 0
        self.n_heard = 0
        self.is_away = False
        self._begin = begin
        self._asked_at = begin
        self._values = values
        self._period = period
        self._rng = np.random.default_rng(seed)
        self._waiting: Messages = []  # what came while it slept, and the broker kept
        self._reported_at = -np.inf
        self._reported = np.nan
        self._set(self.manners.interval, self.manners.interval, np.inf)

    def _set(self, least: float, most: float, delta: float) -> None:
        self.least, self.most, self.delta = least, most, delta

    @property
    @abstractmethod
    def topics(self) -> tuple[str, ...]:
        """Topics on which it is asked."""

    def turn(self, now: float) -> Messages:
        """Return what the device sends at a time, in seconds."""
        if self.is_away:
            return []
        if now >= self._asked_at + self.manners.returns_after:
            self._set(self.manners.interval, self.manners.interval, np.inf)
        value = float(self._values[min(int((now - self._begin) / self._period + 1e-9), len(self._values) - 1)])
        passed = now - self._reported_at + 1e-6
        changed = abs(value - self._reported) >= self.delta and passed >= self.least
        if passed < self.most and not changed:
            return []
        self._reported_at, self._reported = now, value
        self.n_sent += 1
        waiting, self._waiting = self._waiting, []
        return [*self._report(value, now), *(said for each in waiting for said in self._take(*each, now))]

    def hear(self, topic: str, payload: bytes, now: float) -> Messages:
        """Take a message to it at a time, and return its answers."""
        if self.is_away or self.manners.is_deaf or self._rng.random() < self.manners.misses:
            return []
        if now > self._reported_at + self.open:
            return self._sleeps(topic, payload)
        return self._take(topic, payload, now)

    def restart(self) -> Messages:
        """Start anew, and return what it says of that."""
        self.is_away = False
        if self.manners.forgets:
            self._set(self.manners.interval, self.manners.interval, np.inf)
        return self._born()

    def reconnect(self) -> Messages:
        """Connect to the broker again, and return what it says of that: by default nothing."""
        return []

    def leave(self) -> Messages:
        """Go away, without a word of its own, and return what is said of that."""
        self.is_away = True
        return self._gone()

    def _take(self, topic: str, payload: bytes, now: float) -> Messages:
        asked = self._understood(topic, payload)
        if asked is None:
            return []
        self.n_heard += 1
        if not self.manners.lies:
            self._set(*asked)
            self._asked_at = now
        return self._answer(payload)

    def _sleeps(self, _topic: str, _payload: bytes) -> Messages:
        """A message comes while it sleeps; by default it is lost."""
        return []

    @abstractmethod
    def _report(self, value: float, now: float) -> Messages:
        """Return the messages that report a value at a time, in seconds."""

    @abstractmethod
    def _understood(self, topic: str, payload: bytes) -> tuple[float, float, float] | None:
        """Return least and most seconds and the change that a message asks for; None for any other message."""

    def _answer(self, _payload: bytes) -> Messages:
        return []

    def _born(self) -> Messages:
        return []

    def _gone(self) -> Messages:
        return []


class ZigbeeDevice(SimulatedDevice):
    """An end device behind Zigbee2MQTT, which hears for three seconds after a report; the bridge answers."""

    open = 3.0
    _base = "zigbee2mqtt"

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics on which it is asked."""
        return (f"{self._base}/bridge/request/device/reporting/configure",)

    def _report(self, value: float, now: float) -> Messages:
        said = {"temperature": value, "linkquality": int(self._rng.integers(50, 200)), "last_seen": _iso(now)}
        return [(f"{self._base}/{self.name}", orjson.dumps(said))]

    def _understood(self, _topic: str, payload: bytes) -> tuple[float, float, float] | None:
        said = _json(payload)
        if said.get("id") != self.name:
            return None
        least, most = (float(said[f"{which}_report_interval"]) for which in ("minimum", "maximum"))
        return least, most, said["reportable_change"] / 100

    def _answer(self, payload: bytes) -> Messages:
        said = {"status": "ok", "data": {}, "transaction": _json(payload)["transaction"]}
        return [(f"{self._base}/bridge/response/device/reporting/configure", orjson.dumps(said))]

    def _sleeps(self, _topic: str, payload: bytes) -> Messages:
        if _json(payload).get("id") != self.name:
            return []
        said = {"status": "error", "error": "timed out", "data": {}, "transaction": 0}
        return [(f"{self._base}/bridge/response/device/reporting/configure", orjson.dumps(said))]

    def _born(self) -> Messages:
        said = {"type": "device_announce", "data": {"friendly_name": self.name, "ieee_address": "0x01"}}
        return [(f"{self._base}/bridge/event", orjson.dumps(said))]

    def reconnect(self) -> Messages:
        """Connect to the broker again, as the bridge does."""
        return [(f"{self._base}/bridge/state", b'{"state":"online"}')]

    def _gone(self) -> Messages:
        return [(f"{self._base}/{self.name}/availability", b'{"state":"offline"}')]


class TasmotaDevice(SimulatedDevice):
    """A device with Tasmota that is always awake, and has one interval."""

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics on which it is asked."""
        return (f"cmnd/{self.name}/TelePeriod",)

    def _report(self, value: float, now: float) -> Messages:
        said = {"Time": _iso(now)[:19], "SHT3X": {"Temperature": value}, "TempUnit": "C"}
        return [(f"tele/{self.name}/SENSOR", orjson.dumps(said))]

    def _understood(self, topic: str, payload: bytes) -> tuple[float, float, float] | None:
        if topic not in self.topics or not payload:
            return None
        seconds = float(payload)
        return seconds, seconds, np.inf

    def _answer(self, payload: bytes) -> Messages:
        return [(f"stat/{self.name}/RESULT", orjson.dumps({"TelePeriod": int(payload)}))]

    def _born(self) -> Messages:
        return [(f"tele/{self.name}/LWT", b"Online")]

    def reconnect(self) -> Messages:
        """Connect to the broker again, which looks like a start."""
        return self._born()

    def _gone(self) -> Messages:
        return [(f"tele/{self.name}/LWT", b"Offline")]


class EsphomeDevice(TasmotaDevice):
    """A device with ESPHome that has the number ``report_interval``; its readings have no times."""

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics on which it is asked."""
        return (f"{self.name}/number/report_interval/command",)

    def _report(self, value: float, _now: float) -> Messages:
        return [(f"{self.name}/sensor/temperature/state", str(value).encode())]

    def _answer(self, payload: bytes) -> Messages:
        return [(f"{self.name}/number/report_interval/state", payload)]

    def _born(self) -> Messages:
        return [(f"{self.name}/status", b"online")]

    def _gone(self) -> Messages:
        return [(f"{self.name}/status", b"offline")]


class ShellyDevice(SimulatedDevice):
    """A Shelly of the second generation: reports changes by a threshold, and hears for five seconds after.

    Once it has a threshold it reports without a change only as it wakes, after 120 intervals.
    """

    open = 5.0

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics on which it is asked."""
        return (f"{self.name}/rpc",)

    def _report(self, value: float, now: float) -> Messages:
        part = {"id": 0, "tC": value, "tF": round(value * 1.8 + 32, 1)}
        said = {
            "src": self.name,
            "dst": "x",
            "method": "NotifyStatus",
            "params": {"ts": now, "temperature:0": part},
        }
        return [(f"{self.name}/events/rpc", orjson.dumps(said))]

    def _understood(self, topic: str, payload: bytes) -> tuple[float, float, float] | None:
        if topic not in self.topics:
            return None
        config = _json(payload)["params"]["config"]
        return self.least, _WAKES * self.manners.interval, float(np.clip(config["report_thr_C"], 0.5, 5.0))

    def _answer(self, payload: bytes) -> Messages:
        said = _json(payload)
        answer = {"id": said["id"], "src": self.name, "dst": said["src"], "result": {"restart_required": False}}
        return [(f"{said['src']}/rpc", orjson.dumps(answer))]

    def _gone(self) -> Messages:
        return [(f"{self.name}/online", b"false")]


class LorawanDevice(SimulatedDevice):
    """A class A device behind ChirpStack: a downlink waits in the queue for the next uplink; joining clears it.

    The network says of each downlink that it was sent, whether the device hears it or not.
    """

    _n_uplinks = 0

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics on which it is asked."""
        return (f"application/1/device/{self.name}/command/down",)

    def _report(self, value: float, now: float) -> Messages:
        self._n_uplinks += 1
        radio = {"modulation": {"lora": {"spreadingFactor": 7}}}
        said = {"time": _iso(now), "fCnt": self._n_uplinks, "object": {"temperature": value}, "txInfo": radio}
        return [(f"application/1/device/{self.name}/event/up", orjson.dumps(said))]

    def hear(self, topic: str, payload: bytes, _now: float) -> Messages:
        """Let the network keep a message until the next report."""
        self._waiting = [*self._kept(), (topic, payload)]
        return []

    def _kept(self) -> Messages:
        """Return what the network keeps beside a new message."""
        return self._waiting

    def _take(self, topic: str, payload: bytes, now: float) -> Messages:
        if not (self.manners.is_deaf or self._rng.random() < self.manners.misses):
            super()._take(topic, payload, now)
        return self._sent(_json(payload))

    def _sent(self, said: dict[str, Any]) -> Messages:
        """Return what the network says of a downlink that it has sent."""
        topic = f"application/1/device/{self.name}/event/txack"
        return [
            (topic, orjson.dumps({"queueItemId": said["id"], "fCntDown": self._n_uplinks, "gatewayId": "0a1b"}))
        ]

    def _understood(self, topic: str, payload: bytes) -> tuple[float, float, float] | None:
        if topic not in self.topics:
            return None
        said = b64decode(self._data(_json(payload)))
        seconds = float(int.from_bytes(said[1:4], "big"))
        return seconds, seconds, np.inf

    def _data(self, said: dict[str, Any]) -> str:
        return str(said["data"])

    def _born(self) -> Messages:
        self._waiting = []
        self._n_uplinks = 0
        return [(self._join_topic, b"{}")]

    @property
    def _join_topic(self) -> str:
        return f"application/1/device/{self.name}/event/join"


class TheThingsDevice(LorawanDevice):
    """The same behind The Things Stack, where the newest downlink replaces those that wait."""

    @property
    def _join_topic(self) -> str:
        return f"v3/app@ttn/devices/{self.name}/join"

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics on which it is asked."""
        return (f"v3/app@ttn/devices/{self.name}/down/replace",)

    def _report(self, value: float, now: float) -> Messages:
        self._n_uplinks += 1
        uplink: dict[str, Any] = {"f_port": 2, "f_cnt": self._n_uplinks, "decoded_payload": {"temperature": value}}
        said = {"received_at": _iso(now), "uplink_message": uplink}
        return [(f"v3/app@ttn/devices/{self.name}/up", orjson.dumps(said))]

    def _kept(self) -> Messages:
        return []

    def _sent(self, said: dict[str, Any]) -> Messages:
        downlink = said["downlinks"][0]
        ids = ["as:downlink:01HF3Z6", *downlink["correlation_ids"]]
        sent = {"f_port": downlink["f_port"], "frm_payload": downlink["frm_payload"], "correlation_ids": ids}
        return [(f"v3/app@ttn/devices/{self.name}/down/sent", orjson.dumps({"downlink_sent": sent}))]

    def _data(self, said: dict[str, Any]) -> str:
        return str(said["downlinks"][0]["frm_payload"])


class SenmlDevice(TasmotaDevice):
    """A node that speaks SenML, in both directions."""

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics on which it is asked."""
        return (f"senml/{self.name}/actuate",)

    def _report(self, value: float, now: float) -> Messages:
        return [(f"senml/{self.name}", orjson.dumps([{"n": "temperature", "u": "Cel", "v": value, "t": now}]))]

    def _understood(self, topic: str, payload: bytes) -> tuple[float, float, float] | None:
        if topic not in self.topics:
            return None
        seconds = float(orjson.loads(payload)[0]["v"])
        return seconds, seconds, np.inf

    def _answer(self, _payload: bytes) -> Messages:
        return []

    def _born(self) -> Messages:
        return []

    def _gone(self) -> Messages:
        return []


class SparkplugDevice(SimulatedDevice):
    """A device of an edge node that speaks Sparkplug B: births with names and aliases, data with aliases alone.

    It has the metric `Device Control/Scan Rate`, in milliseconds, and says so when it was written.
    """

    _n_sent = 0
    _is_born = False
    _now = 0.0

    address = "edge-{name}/{name}"

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics on which it is asked."""
        return (self._topic("DCMD"), f"spBv1.0/plant/NCMD/edge-{self.name}")

    def _topic(self, kind: str) -> str:
        return f"spBv1.0/plant/{kind}/{self.address.format(name=self.name)}"

    def _payload(self, now: float, metrics: list[WireMetric]) -> bytes:
        self._n_sent += 1
        return written(now, metrics, self._n_sent % 256)

    def _report(self, value: float, now: float) -> Messages:
        self._now = now
        if not self._is_born:
            return self._birth(value)
        return [(self._topic("DDATA"), self._payload(now, [WireMetric("", 1, DOUBLE, value)]))]

    def _birth(self, value: float) -> Messages:
        self._is_born = True
        self._n_sent = -1
        rebirth = WireMetric("Node Control/Rebirth", 9, BOOLEAN, 0.0)
        edge = (f"spBv1.0/plant/NBIRTH/edge-{self.name}", self._payload(self._now, [rebirth]))
        rate = WireMetric("Device Control/Scan Rate", 2, WHOLE, 1000 * self.most)
        metrics = [WireMetric("temperature", 1, DOUBLE, value), rate]
        return [edge, (self._topic("DBIRTH"), self._payload(self._now, metrics))]

    def _understood(self, topic: str, payload: bytes) -> tuple[float, float, float] | None:
        found = dict(understood(payload))
        if topic.startswith("spBv1.0/plant/NCMD/"):
            self._is_born = not found.get("Node Control/Rebirth")
            return None
        rate = found.get(2, found.get("Device Control/Scan Rate"))
        return None if rate is None else (rate / 1000, rate / 1000, np.inf)

    def _take(self, topic: str, payload: bytes, now: float) -> Messages:
        if topic in self.topics[1:]:
            self._understood(topic, payload)
            return [] if self._is_born else self._birth(self._reported)
        return super()._take(topic, payload, now)

    def _answer(self, payload: bytes) -> Messages:
        said = self._understood(self.topics[0], payload)
        rates = [] if said is None else [WireMetric("", 2, WHOLE, 1000 * said[1])]
        return [(self._topic("DDATA"), self._payload(self._now, rates))]

    def _born(self) -> Messages:
        self._is_born = False
        return []

    def reconnect(self) -> Messages:
        """Connect to the broker again; births come with the next report."""
        return self._born()

    def _gone(self) -> Messages:
        return [(f"spBv1.0/plant/NDEATH/edge-{self.name}", self._payload(0.0, []))]


KINDS: dict[str, type[SimulatedDevice]] = {
    "zigbee2mqtt": ZigbeeDevice,
    "tasmota": TasmotaDevice,
    "esphome": EsphomeDevice,
    "shelly": ShellyDevice,
    "chirpstack": LorawanDevice,
    "thethings": TheThingsDevice,
    "senml": SenmlDevice,
    "sparkplug": SparkplugDevice,
}
"""Simulated devices by the names of their profiles."""


def _iso(seconds: float) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).isoformat()


def _json(payload: bytes) -> dict[str, Any]:
    said = orjson.loads(payload)
    return said if isinstance(said, dict) else {}
