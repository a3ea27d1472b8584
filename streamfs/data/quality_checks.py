"""Checks of recorded streams for oddities that do not prevent training."""

import numpy as np

from streamfs.data.streams import StreamSet

_FAR = 1.5  # ticks; a median gap above it means that the tick is not the step of the recording


def empty_columns(streams: StreamSet) -> list[str]:
    """Return the columns without any reading."""
    return [column for column in streams.columns if np.isnan(streams.column(column)).all()]


def median_gap(streams: StreamSet) -> float | None:
    """Return the median time between samples, in seconds, if it is more than one tick, else None."""
    stream_of, ticks = np.nonzero(~np.isnan(streams.values).all(axis=2))
    gaps = np.diff(ticks)[np.diff(stream_of) == 0]
    median = float(np.median(gaps)) if len(gaps) else 1.0
    return median * streams.period if median > _FAR else None
