"""Sparkplug B as a host application hears it: births, deaths, data, gaps; and requests for births."""

from collections.abc import Iterable, Mapping
from math import inf
from typing import Any

from streamfs.base.newest import MOST_NAMES, keep_newest
from streamfs.errors import PayloadError
from streamfs.gateway.core.device_answers import Said
from streamfs.gateway.core.device_profile import DeviceProfile
from streamfs.gateway.core.speech import Asked, written_metrics
from streamfs.gateway.messages.codecs.sparkplug import BOOLEAN, Metric, encode_metrics, read_metrics
from streamfs.gateway.messages.publication import Publication

NAMESPACE = "spBv1.0"
REBIRTH = "Node Control/Rebirth"

_OF_EDGES, _OF_DEVICES = ("NBIRTH", "NDATA", "NDEATH"), ("DBIRTH", "DDATA", "DDEATH")
_EDGE_LEVELS, _DEVICE_LEVELS = 4, 5
_SEQUENCES = 256


class SparkplugHost:
    """Understand edge nodes and devices of some profiles.

    The messages of an edge node and its devices are numbered together. After a gap, or data that only have aliases
    of a birth that was not heard, the edge node is asked for its births: again after the least patience of the
    profiles, since request and births can be lost. Of more than `MOST_NAMES` the eldest are forgotten.
    """

    def __init__(self, profiles: Mapping[str, DeviceProfile]) -> None:
        self._keys = [
            key
            for key, profile in profiles.items()
            if profile.report is not None and profile.report.format == "sparkplug"
        ]
        self._patience = min((profiles[key].reach.patience for key in self._keys), default=inf)
        self._written = {
            name
            for key in self._keys
            for topic in ("g/NDATA/e", "g/DDATA/e/d")
            for name in written_metrics(profiles[key], "", Asked(1.0, 1.0, 0.0), f"{NAMESPACE}/{topic}")
        }
        self._sequences: dict[str, int] = {}  # the last of each edge node
        self._metrics: dict[str, dict[str, list[int | None]]] = {}  # see `metrics`, of all that were born
        self._asked_at: dict[str, float] = {}  # when each edge node was asked for its births
        self._requests: list[Publication] = []

    @property
    def topics(self) -> tuple[str, ...]:
        """Topic filters."""
        if not self._keys:
            return ()
        edges = (f"{NAMESPACE}/+/{kind}/+" for kind in _OF_EDGES)
        return (*edges, *(f"{NAMESPACE}/+/{kind}/+/+" for kind in _OF_DEVICES))

    def listens(self, topic: str) -> bool:
        """Return whether a topic is one of these."""
        return bool(self._keys) and topic.startswith(f"{NAMESPACE}/") and _parted(topic) is not None

    def read(self, topic: str, payload: bytes, now: float) -> list[Said]:
        """Return what a message says of devices, for each profile; nothing if it is of another kind."""
        parted = _parted(topic)
        if parted is None or not self._keys:
            return []
        edge, kind, name = parted
        address = topic.replace(f"/{kind}/", "/", 1)
        if kind in ("NDEATH", "DDEATH"):
            gone = dict.fromkeys((name, *self._forget(address)))
            return [Said(key, each, is_online=False) for key in self._keys for each in gone]
        try:
            sequence, metrics = read_metrics(payload)
        except PayloadError:
            return []
        is_birth = kind in ("NBIRTH", "DBIRTH")
        if is_birth:
            written = {
                metric.name.casefold(): [metric.alias, metric.datatype]
                for metric in metrics
                if metric.name.casefold() in self._written
            }
            keep_newest(self._metrics, address, written, MOST_NAMES)
        self._follow(edge, sequence, now, begins=kind == "NBIRTH")
        if address not in self._metrics and any(not metric.name for metric in metrics):
            self.want_births(topic, now)
        values = self._values(address, metrics)
        return [
            Said(key, name, is_birth=is_birth, is_online=True if is_birth else None, values=values)
            for key in self._keys
        ]

    def metrics(self, topic: str) -> dict[str, list[int | None]] | None:
        """Return alias and type of what the device of a topic lets write, by name; None before its birth."""
        parted = _parted(topic)
        return {} if parted is None else self._metrics.get(topic.replace(f"/{parted[1]}/", "/", 1))

    def want_births(self, topic: str, now: float) -> None:
        """Ask the edge node of a topic for its births, unless it was asked lately."""
        parted = _parted(topic)
        if parted is None or now < self._asked_at.get(parted[0], -inf) + self._patience:
            return
        keep_newest(self._asked_at, parted[0], now, MOST_NAMES)
        group, _, name = parted[0].partition("/")
        content = encode_metrics([Metric(REBIRTH, None, BOOLEAN, value=True)], now)
        self._requests.append(Publication(f"{NAMESPACE}/{group}/NCMD/{name}", content, retain=False))

    def take_requests(self) -> list[Publication]:
        """Return the requests for births since the last call."""
        requests, self._requests = self._requests, []
        return requests

    def to_state(self) -> dict[str, Any]:
        """Copy the state."""
        return {
            "sequences": dict(self._sequences),
            "metrics": dict(self._metrics),
            "asked_at": dict(self._asked_at),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `to_state` has copied."""
        self._sequences, self._asked_at = dict(state["sequences"]), dict(state["asked_at"])
        self._metrics = dict(state["metrics"])

    def _values(self, address: str, metrics: Iterable[Metric]) -> dict[str, Any]:
        """Return the values of what can be written, by name."""
        known = self._metrics.get(address, {})
        names = {alias: name for name, (alias, _) in known.items() if alias is not None}
        found = {
            metric.name.casefold() or names.get(-1 if metric.alias is None else metric.alias, ""): metric.value
            for metric in metrics
        }
        return {name: value for name, value in found.items() if name in self._written}

    def _follow(self, edge: str, sequence: int | None, now: float, *, begins: bool) -> None:
        """Note the number of an edge node's message, and ask for its births after a gap."""
        if sequence is None:
            return
        before = self._sequences.get(edge)
        keep_newest(self._sequences, edge, sequence, MOST_NAMES)
        if not begins and before is not None and sequence != (before + 1) % _SEQUENCES:
            self.want_births(f"{NAMESPACE}/{edge.replace('/', '/NDATA/', 1)}", now)

    def _forget(self, address: str) -> list[str]:
        """An edge node or device has died: its aliases hold no more; return the names of all that have died."""
        names = []
        for each in [each for each in self._metrics if f"{each}/".startswith(f"{address}/")]:
            del self._metrics[each]
            names.append(each.split("/", 2)[2])
        self._sequences.pop(address.removeprefix(f"{NAMESPACE}/"), None)
        return names


def _parted(topic: str) -> tuple[str, str, str] | None:
    """Return edge node with its group, kind of message, and ``edge`` or ``edge/device``; None for other topics."""
    levels = topic.split("/")
    if len(levels) < _EDGE_LEVELS or levels[0] != NAMESPACE:
        return None
    kinds = {_EDGE_LEVELS: _OF_EDGES, _DEVICE_LEVELS: _OF_DEVICES}.get(len(levels), ())
    return (f"{levels[1]}/{levels[3]}", levels[2], "/".join(levels[3:])) if levels[2] in kinds else None
