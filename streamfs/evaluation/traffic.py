"""Messages that a stream's nodes send until its decision, and their waiting, measured on recorded streams."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from feature_extractors.arrays import Array, Integers
from feature_extractors.report import channel_name
from streamfs.costs.rates import Rates, by_role, orders_by
from streamfs.costs.spending import messages_sent
from streamfs.data.streams import StreamSet
from streamfs.errors import DataError
from streamfs.evaluation.trajectories import follow
from streamfs.procedure.fits import require_columns, require_period
from streamfs.procedure.procedure import Procedure
from streamfs.procedure.stopping import StoppingRule


@dataclass(frozen=True)
class Traffic:
    """Mean messages per episode, from a stream's first tick to its decision."""

    channels: dict[str, float]  # of each channel that the procedure reads, while it is requested
    columns: dict[str, float]  # of each recorded column, if sent at every tick
    ticks: float  # from the stream's first one to its decision
    nodes: dict[str, float]  # ticks for which each node is asked for any channel, by its role
    orders: float = 0.0  # heard by nodes, which open channels later

    def paid(self, rates: Rates, prices: Mapping[str, float] | None = None) -> float:
        """Return what a stream costs its nodes on average, in the unit of the rates."""
        return rates.episode(self.channels, self.nodes, prices, self.orders)


def measure_traffic(procedure: Procedure, streams: StreamSet) -> Traffic:
    """Count the messages of recorded streams until a procedure decides them or they end.

    Parameters
    ----------
    procedure : Procedure
        The procedure.
    streams : StreamSet
        Recorded streams with the columns of the procedure's channels.

    Raises
    ------
    DataError
        If no stream has a tick, a column is missing, or the period differs.

    Notes
    -----
    Messages before the episode opens are counted: a channel may have to wait for another's first value. A stream
    whose episode never opens sends until it ends.
    """
    return measure_traffics(procedure, streams, [procedure.rule])[0]


def measure_traffics(
    procedure: Procedure, streams: StreamSet, rules: Sequence[float | StoppingRule]
) -> list[Traffic]:
    """Count messages as `measure_traffic` does, with each threshold or rule; streams are classified once."""
    require_period(procedure, streams)
    require_columns(procedure, streams)
    if not streams.lengths.any():
        raise DataError(f"none of {len(streams)} streams has a tick, expected at least one with messages to count")
    (trajectories,), lengths = follow(procedure, streams, [procedure.classifier])
    opening = streams.lengths - lengths
    tested = [procedure.features[i] for i in procedure.classifier.features_tested()]
    reads = {c: [c in feature.columns for feature in tested] for c in procedure.channels}
    sent = messages_sent(streams, procedure.channels, max_silence=procedure.max_silence)
    orders = np.append(0, orders_by(procedure.channels, trajectories.confidence.shape[1]))
    sent_always = messages_sent(streams, [channel_name(column) for column in streams.columns])
    traffics = []
    for rule in rules:
        _, ticks = trajectories.decide(rule)
        channels = {
            channel: _mean_until(sent[channel], opening + trajectories.asked_ticks(reads[channel], ticks))
            for channel in procedure.channels
        }
        columns = {channel: _mean_until(messages, opening + ticks) for channel, messages in sent_always.items()}
        asked = {
            role: opening + trajectories.asked_ticks(np.any([reads[c] for c in of_node], axis=0).tolist(), ticks)
            for role, of_node in by_role(channels).items()
        }
        nodes = {role: float(np.mean(n_ticks)) for role, n_ticks in asked.items()}
        traffics.append(
            Traffic(channels, columns, float(np.mean(opening + ticks)), nodes, float(orders[ticks].mean()))
        )
    return traffics


def _mean_until(messages: Array, n_ticks: Integers) -> float:
    """Return the mean messages of a channel in the first ticks of each stream."""
    last = np.maximum(n_ticks, 1) - 1
    return float(np.where(n_ticks > 0, messages[np.arange(len(n_ticks)), last], 0.0).mean())
