"""A gateway's statistics in Prometheus' words; needs the extra ``gateway``."""

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version

from streamfs.errors import MissingExtraError
from streamfs.gateway.operations.health import Health, Statistics

try:
    from prometheus_client import CollectorRegistry, ProcessCollector
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
    from prometheus_client.exposition import choose_encoder
    from prometheus_client.registry import Collector
except ModuleNotFoundError as error:
    raise MissingExtraError("prometheus-client", "gateway") from error

HELP: Mapping[str, str] = {
    "after_decision": "Samples of streams that were decided already",
    "alerts": "Drifts noticed",
    "before_opening": "Incomplete samples of streams whose episode had not begun",
    "commands": "Commands heard",
    "commit_failures": "Attempts to store that failed",
    "commits": "Transactions stored",
    "committed_records": "Records of the log stored",
    "confirmed": "Publications that the broker has confirmed",
    "connected": "Whether there is a connection to the broker",
    "connections": "Connections to the broker",
    "crowded": "Readings that shared a tick with another of their channel",
    "dead_letters": "Messages that were published as dead letters",
    "dropped": "Messages of QoS 0 that gave way to newer ones, oldest first",
    "duplicate": "Readings or samples that came again",
    "evicted": "Streams that gave way because there were too many",
    "expired": "Streams that were closed because they had fallen silent",
    "failed_connections": "Attempts to connect that failed",
    "fsync_seconds": "Seconds spent waiting for the disk",
    "future": "Readings refused because their stamps ran too far ahead",
    "labels": "True labels heard",
    "labels_learnt": "True labels that a model has learnt from",
    "labels_unreadable": "True labels that could not be read",
    "labels_unused": "True labels of streams without such a decision",
    "lag_seconds": "Seconds since the oldest message arrived that is not stored yet",
    "late": "Readings or samples of a tick that had passed",
    "log_bytes": "Size of the log on disk",
    "log_position": "Records ever written to the log",
    "log_segments": "Segments of the log on disk",
    "loop_age_seconds": "Seconds since the loop last went round",
    "lost": "Readings missing by their sequence numbers",
    "lost_connections": "Connections to the broker that broke",
    "malformed": "Messages whose payload could not be read",
    "malformed_properties": "Messages whose MQTT properties could not be read",
    "malformed_topics": "Messages whose topic could not be read",
    "messages": "Messages taken",
    "model_refused": "Whether the model file is refused, and the model before followed on",
    "models": "Models taken over",
    "not_finite": "Readings that are no numbers to calculate with, taken as missing",
    "outbox": "Publications that the broker has not confirmed",
    "overflow": "Readings dropped because too many waited for their tick",
    "oversize": "Messages refused because they were too long",
    "passing_dropped": "Publications of the moment that gave way because too many waited",
    "pending_readings": "Readings that wait for their tick",
    "queue": "Messages that wait to be stored",
    "received": "Messages received",
    "reconnects": "Connections to the broker after the first",
    "refused": "Messages of streams beyond the most that may be known",
    "refused_connections": "Connections that the broker refused",
    "refused_publications": "Publications that the broker refused",
    "refused_subscriptions": "Subscriptions that the broker refused",
    "release_failures": "Attempts to remove old segments of the log, or old models, that failed",
    "reload_failures": "How often the model file was refused",
    "reloads": "Models loaded anew",
    "reopened": "Episodes opened again",
    "replayed": "Records of the log that were replayed at the start",
    "restarted": "Nodes that began to count anew",
    "retained": "Messages ignored because they were retained",
    "samples": "Samples taken by the engine",
    "skewed": "Readings whose stamps were replaced by their arrival",
    "skipped": "Ticks passed over because nothing was to be seen in them",
    "storing": "Whether the last attempt to store succeeded",
    "streams_known": "Streams that are known, decided ones among them",
    "streams_undecided": "Streams that are known and not decided",
    "subscribed": "Whether the broker has granted every subscription",
    "taken_over": "Connections that another client with this client id took over",
    "unbound": "Messages that feed no stream",
    "unbound_streams": "Streams let go because they are bound to other nodes now",
    "unknown_commands": "Commands that are not known",
}
"""What a counter or a gauge means; one that is not named here is exported all the same."""


class Metrics:
    """What Prometheus is told: read from the gateway at each scrape, so that nothing is counted twice.

    Each counter is a metric of its own, ``streamfs_{counter}_total``, and not one of many labels of a common
    metric: Prometheus' guide asks that the sum over a metric's labels mean something, and messages plus late
    samples plus commits do not. What does add up has labels: decisions by reason and label, open episodes by
    model, alerts by what drifted. Names carry the unit; what all nodes have spent is
    ``streamfs_energy_joules_total`` or ``streamfs_energy_transmissions_total``, as the radio profile measures.

    Parameters
    ----------
    statistics : callable
        Returns the `Statistics` of this moment; called by the thread that scrapes.
    health : callable
        Returns the `Health` of this moment.

    Raises
    ------
    MissingExtraError
        On import, if prometheus-client is not installed.
    """

    def __init__(self, statistics: Callable[[], Statistics], health: Callable[[], Health]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Gateway(statistics, health))
        ProcessCollector(registry=self._registry)

    def page(self, accepted: str = "") -> tuple[bytes, str]:
        """Return the page for a scrape and its content type.

        Parameters
        ----------
        accepted : str
            The scraper's Accept header: plain text unless it asks for OpenMetrics.
        """
        encode, content_type = choose_encoder(accepted)
        return encode(self._registry), content_type


class _Gateway(Collector):
    def __init__(self, statistics: Callable[[], Statistics], health: Callable[[], Health]) -> None:
        self._statistics = statistics
        self._health = health

    def describe(self) -> list[Metric]:
        """Nothing: which metrics there are is known when they are read."""
        return []

    def collect(self) -> Iterator[Metric]:
        statistics, health = self._statistics(), self._health()
        yield InfoMetricFamily("streamfs_build", "The program", {"version": version("streamfs")})
        for name, number in statistics.counters.items():
            yield CounterMetricFamily(f"streamfs_{name}", _meaning(name), number)
        for name, value in (_of_health(health) | dict(statistics.gauges)).items():
            yield GaugeMetricFamily(f"streamfs_{name}", _meaning(name), value)
        energy = f"streamfs_energy_{statistics.unit}"
        yield CounterMetricFamily(energy, f"What all nodes have spent, in {statistics.unit}", statistics.energy)
        yield _decisions(statistics)
        yield _models(statistics)
        yield _alerts(statistics)


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
    family = GaugeMetricFamily("streamfs_model_streams_open", "Streams that follow a model", labels=["model"])
    for digest, number in statistics.models.items():
        family.add_metric([digest], number)
    return family


def _alerts(statistics: Statistics) -> Metric:
    family = CounterMetricFamily("streamfs_drift_alerts", "Drifts noticed", labels=["what"])
    for what, number in statistics.alerts.items():
        family.add_metric([what], number)
    return family
