"""A gateway's statistics as Prometheus metrics; needs the extra ``gateway``."""

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

from streamfs.errors import MissingExtraError, PayloadError
from streamfs.gateway.operations.health import Health, Statistics
from streamfs.gateway.operations.promise_warnings import STATUSES

try:
    from prometheus_client import CollectorRegistry, ProcessCollector
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        InfoMetricFamily,
        Metric,
        StateSetMetricFamily,
    )
    from prometheus_client.exposition import choose_encoder
    from prometheus_client.registry import Collector
except ModuleNotFoundError as error:
    raise MissingExtraError("prometheus-client", "gateway") from error

HELP: Mapping[str, str] = {
    "after_decision": "Samples of streams that were already decided",
    "alerts": "Drifts detected",
    "aligned": "Times that the clock of a pair's second node was shifted onto the first one's",
    "before_opening": "Incomplete samples of streams whose episode had not begun",
    "commands": "Commands received",
    "commit_failures": "Failed attempts to store",
    "commits": "Transactions stored",
    "committed_records": "Records of the log stored",
    "confirmed": "Publications confirmed by the broker",
    "connected": "Whether the gateway is connected to the broker",
    "connections": "Connections to the broker",
    "crowded": "Readings that shared a tick with another of their channel",
    "dead_letters": "Messages published as dead letters",
    "devices_acknowledged": "Times that a device said that it does what it was asked",
    "devices_asked": "Messages that ask a device for something for the first time",
    "devices_asked_again": "Messages that ask a device again",
    "devices_back": "Times that a device that was offline was heard again",
    "devices_born": "Times that a device started anew, and was asked again",
    "devices_deferred": "Times that a device was not asked since its messages of the day were used up",
    "devices_disobeyed": "Times that a device did not do what it was asked, however often",
    "devices_gone": "Times that a device went offline",
    "devices_obeyed": "Times that a device was seen to do what it was asked",
    "devices_offline": "Devices that are offline",
    "devices_refused": "Times that a device refused what it was asked",
    "devices_released": "Times that a device was asked for its safe interval as a run ended",
    "devices_strayed": "Times that a device ceased to do what it was asked, and was asked anew",
    "dropped": "Messages of QoS 0, or of a lost connection, dropped in favour of newer ones, oldest first",
    "duplicate": "Readings or samples received again",
    "evicted": "Streams evicted because there were too many",
    "expired": "Streams closed because they were silent",
    "failed_connections": "Failed attempts to connect",
    "foreign": "Messages of streams that another gateway serves, dropped before they were stored",
    "fsync_seconds": "Seconds spent waiting for the disk",
    "future": "Readings left out because their stamps were too far ahead of their node's others",
    "ignored": "Messages on topics that the settings leave out",
    "labels": "True labels received",
    "labels_learned": "True labels that a model was updated with",
    "labels_unreadable": "True labels that could not be read",
    "labels_unused": "True labels of streams without such a decision",
    "lag_seconds": "Age in seconds of the oldest message that is not stored",
    "late": "Readings or samples of a tick that had passed",
    "log_bytes": "Size of the log on disk",
    "log_position": "Records ever written to the log",
    "log_segments": "Segments of the log on disk",
    "loop_age_seconds": "Seconds since the loop's last iteration",
    "lost": "Readings missing by their sequence numbers",
    "lost_connections": "Lost connections to the broker",
    "lost_sessions": "Connections for which the broker had forgotten the session that it was to keep",
    "malformed": "Messages whose payload could not be read",
    "malformed_properties": "Messages whose MQTT properties could not be read",
    "malformed_topics": "Messages whose topic could not be read",
    "messages": "Messages processed",
    "model_refused": "Whether the model file was rejected, and the previous model stays in use",
    "models": "Models changed to",
    "not_finite": "Readings that are not finite, treated as missing",
    "outbox": "Publications not confirmed by the broker",
    "outbox_dropped": "Publications dropped because too many waited for the broker",
    "overflow": "Readings dropped because too many waited for their tick",
    "oversize": "Messages rejected because they were too long",
    "own": "Messages on topics that the gateway itself publishes to, never taken as readings",
    "passing_dropped": "Dead letters and announcements dropped because too many waited",
    "pending_readings": "Readings waiting for their tick",
    "queue": "Messages waiting to be stored",
    "received": "Messages received",
    "reconnects": "Connections to the broker after the first",
    "redelivered": "Messages that the broker sent again after a reconnect, recognised before they were logged",
    "refused": "Messages of streams beyond the limit",
    "refused_connections": "Connections refused by the broker",
    "refused_publications": "Publications refused by the broker",
    "refused_subscriptions": "Subscriptions refused by the broker",
    "release_failures": "Failed attempts to remove old segments of the log, or old models",
    "reload_failures": "Rejected model files",
    "reloads": "Model files loaded",
    "reopened": "Episodes reopened",
    "repeated": "Messages in which a device or bridge said again what it had said",
    "replayed": "Records of the log replayed at the start",
    "restarted": "Nodes whose sequence numbers restarted",
    "retained": "Messages ignored because they were retained",
    "shifted": "Times that a node's clock turned out to have been set back",
    "samples": "Samples processed by the engine",
    "skipped": "Ticks skipped because they had no readings",
    "storing": "Whether the last attempt to store succeeded",
    "streams_known": "Known streams, decided or not",
    "streams_undecided": "Known streams that are not decided",
    "subscribed": "Whether the broker has granted every subscription",
    "taken_over": "Connections taken over by another client with the same client id",
    "unbound": "Messages that feed no stream",
    "unbound_streams": "Streams dropped because they are bound to other nodes now",
    "unknown_commands": "Unknown commands",
}
"""Help texts of counters and gauges; those that are missing here are exported with a generic text."""

GAUGES = frozenset(
    (
        "connected",
        "devices_offline",
        "lag_seconds",
        "log_bytes",
        "log_position",
        "log_segments",
        "loop_age_seconds",
        "model_refused",
        "outbox",
        "pending_readings",
        "queue",
        "storing",
        "streams_known",
        "streams_undecided",
        "subscribed",
    )
)
"""What of these is not a counter."""


class Metrics:
    """The metrics, read from the gateway at each scrape, by the thread that scrapes.

    Each counter is a metric of its own, since a sum over the labels of a metric should be meaningful, and messages
    plus late samples plus commits are not. What adds up has labels. The name of the energy's metric has its unit.
    """

    def __init__(self, statistics: Callable[[], Statistics], health: Callable[[], Health]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Gateway(statistics, health))
        ProcessCollector(registry=self._registry)

    def families(self) -> Iterator[Metric]:
        """Yield the metrics as they are now, with the process's own."""
        yield from self._registry.collect()

    def page(self, accepted: str = "") -> tuple[bytes, str]:
        """Return the page and its content type: plain text unless the Accept header asks for OpenMetrics."""
        encode, content_type = choose_encoder(accepted)
        return encode(self._registry), content_type


class _Gateway(Collector):
    def __init__(self, statistics: Callable[[], Statistics], health: Callable[[], Health]) -> None:
        self._statistics = statistics
        self._health = health

    def describe(self) -> list[Metric]:
        """Return nothing: the metrics are known when they are collected."""
        return []

    def collect(self) -> Iterator[Metric]:
        statistics, health = self._statistics(), self._health()
        yield InfoMetricFamily("streamfs_build", "The program", {"version": version("streamfs")})
        for name, number in statistics.counters.items():
            yield CounterMetricFamily(f"streamfs_{name}", _meaning(name), number)
        for name, value in (_of_health(health) | dict(statistics.gauges)).items():
            yield GaugeMetricFamily(f"streamfs_{name}", _meaning(name), value)
        energy = f"streamfs_energy_{statistics.unit}"
        yield CounterMetricFamily(energy, f"Energy of all nodes, in {statistics.unit}", statistics.energy)
        yield _decisions(statistics)
        yield _models(statistics)
        yield _alerts(statistics)
        yield _rejected(statistics)
        yield _left_out(statistics)
        if statistics.promise is not None:
            yield from _promise(statistics.promise)


def _meaning(name: str) -> str:
    return HELP.get(name, f"{name.replace('_', ' ').capitalize()}, as the gateway counts them")


def _of_health(health: Health) -> dict[str, float]:
    return {
        "connected": health.connected,
        "subscribed": health.subscribed,
        "storing": health.storing,
        "loop_age_seconds": health.loop_age,
        "model_refused": bool(health.refused_model),
    }


def _decisions(statistics: Statistics) -> Metric:
    family = CounterMetricFamily("streamfs_decisions", "Decisions made", labels=["reason", "label"])
    for (reason, label), number in statistics.decisions.items():
        family.add_metric([reason, label], number)
    return family


def _models(statistics: Statistics) -> Metric:
    family = GaugeMetricFamily("streamfs_model_streams_open", "Open streams by their model", labels=["model"])
    for digest, number in statistics.models.items():
        family.add_metric([digest], number)
    return family


def _alerts(statistics: Statistics) -> Metric:
    family = CounterMetricFamily("streamfs_drift_alerts", "Drifts detected", labels=["what"])
    for what, number in statistics.alerts.items():
        family.add_metric([what], number)
    return family


def _rejected(statistics: Statistics) -> Metric:
    family = CounterMetricFamily("streamfs_rejected", "Messages rejected, by cause", labels=["cause"])
    for cause in PayloadError.CAUSES:
        family.add_metric([cause], statistics.rejected.get(cause, 0))
    return family


def _left_out(statistics: Statistics) -> Metric:
    family = CounterMetricFamily(
        "streamfs_node_left_out",
        "Readings left out, by node and cause; those of nodes beyond the first hundred have no node",
        labels=["node", "cause"],
    )
    for (node, cause), number in statistics.left_out.items():
        family.add_metric([node, cause], number)
    return family


def _promise(promise: Mapping[str, Any]) -> Iterator[Metric]:
    states = {each: promise["status"] == each for each in STATUSES}
    yield StateSetMetricFamily("streamfs_promise_status", "Whether the model's promise is kept here", states)
    bound = "Lower bound of the accuracy here, by the labels so far"
    yield GaugeMetricFamily("streamfs_promise_accuracy_at_least", bound, promise["accuracy_at_least"])
