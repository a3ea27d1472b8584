"""What is odd about recorded streams, though a procedure can be learnt from them."""

import numpy as np

from streamfs.data.streams import StreamSet

_FAR = 1.5  # ticks, from one sample to the next: beyond, the tick is not the step of the recording


def empty_columns(streams: StreamSet) -> list[str]:
    """Columns without any reading.

    Examples
    --------
    >>> empty_columns(StreamSet([[[1.0, float("nan")], [2.0, float("nan")]]], ["calm"], ["light", "noise"]))
    ['noise']
    """
    return [column for column in streams.columns if np.isnan(streams.column(column)).all()]


def usual_step(streams: StreamSet) -> float | None:
    """Seconds from one sample to the next, half of the time at least, where that is more than a tick.

    Examples
    --------
    >>> nan = float("nan")
    >>> usual_step(StreamSet([[[1.0], [2.0], [nan], [nan], [3.0], [nan], [nan], [4.0]]], ["calm"], ["light"]))
    3.0
    """
    stream_of, ticks = np.nonzero(~np.isnan(streams.values).all(axis=2))
    gaps = np.diff(ticks)[np.diff(stream_of) == 0]
    usual = float(np.median(gaps)) if len(gaps) else 1.0
    return usual * streams.period if usual > _FAR else None
