"""What the nodes of a stream send until its decision, measured on recorded streams."""

from dataclasses import dataclass

import numpy as np

from feature_extractors.report import channel_name
from streamfs.errors import DataError
from streamfs.evaluation import require_columns, require_period
from streamfs.procedure import Procedure
from streamfs.promises.spending import messages_sent
from streamfs.streams import Integers, StreamSet
from streamfs.tables import tabulate
from streamfs.trajectories import Trajectories


@dataclass(frozen=True)
class Traffic:
    """Mean messages of an episode, from a stream's first tick to its decision.

    Parameters
    ----------
    channels : dict of str to float
        Messages of each channel that the procedure reads, for as long as it is asked for.
    columns : dict of str to float
        Messages of each recorded column as a channel, were it sent at every tick until the same decision.
    ticks : float
        Ticks from the stream's first one to its decision.
    """

    channels: dict[str, float]
    columns: dict[str, float]
    ticks: float


def measure_traffic(procedure: Procedure, streams: StreamSet) -> Traffic:
    """Run a procedure over recorded streams, and count the messages until each is decided or ends.

    Parameters
    ----------
    procedure : Procedure
        Which channels are read, and when a stream is decided.
    streams : StreamSet
        Recorded streams with the columns of the procedure's channels.

    Raises
    ------
    DataError
        If there is no stream with a tick, a column is missing, or the period is another.

    Notes
    -----
    Messages before the episode opens count too: a channel may have to wait for another's first value. A stream
    whose episode never opens sends to its end.
    """
    require_period(procedure, streams)
    require_columns(procedure, streams)
    if not streams.lengths.any():
        raise DataError(f"none of {len(streams)} streams has a tick, expected some whose messages can be counted")
    table = tabulate(streams, procedure.features, procedure.max_silence)
    trajectories = Trajectories.of(procedure.classifier, table, procedure.time_limit)
    _, ticks = trajectories.decide(procedure.confidence)
    opening = streams.lengths - table.lengths
    tested = [procedure.features[i] for i in procedure.classifier.features_tested()]
    channels = {
        channel: _messages(
            streams,
            channel,
            opening + trajectories.asked_ticks([channel in feature.columns for feature in tested], ticks),
            procedure.max_silence,
        )
        for channel in procedure.channels
    }
    every_tick = [channel_name(column) for column in streams.columns]
    columns = {channel: _messages(streams, channel, opening + ticks) for channel in every_tick}
    return Traffic(channels, columns, float(np.mean(opening + ticks)))


def _messages(streams: StreamSet, channel: str, n_ticks: Integers, max_silence: float | None = None) -> float:
    """Mean messages of a channel in the first ticks of each stream."""
    sent = messages_sent(streams, [channel], max_silence=max_silence)[channel]
    last = np.maximum(n_ticks, 1) - 1
    return float(np.where(n_ticks > 0, sent[np.arange(len(streams)), last], 0.0).mean())
