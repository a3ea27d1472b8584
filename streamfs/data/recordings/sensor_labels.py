"""Labels that are the values of a sensor, such as a contact: each holds until the sensor's next one."""

from collections import defaultdict
from collections.abc import Iterator
from math import inf

import numpy as np
import polars as pl

from feature_extractors.spelling import nearest
from streamfs.data.recordings.layout_words import RUNS
from streamfs.data.recordings.rows import Rows
from streamfs.data.recordings.tables import texts_of
from streamfs.errors import DataError, LayoutError

Intervals = dict[int, list[tuple[float, float, str]]]
"""Beginning, end and label of intervals, by the number of the stream."""


def intervals_of_sensor(rows: Rows, sensor: str) -> Intervals:
    """Return the intervals in which a sensor of a long table has one value, and leave its readings out."""
    source, said = rows.tables[0].source, sorted(_said(rows, sensor))
    if not said:
        others = [name for name in rows.columns if name != sensor]
        known = f"only the sensors {', '.join(others)}{nearest(sensor, others)}"
        raise DataError(f"{source} has no column and no sensor {sensor!r}, {known}")
    if not rows.layout.labels_change:
        raise LayoutError(f"{sensor!r} is a sensor of {source}, whose value changes", {"labels": RUNS})
    _leave_out(rows, sensor)
    intervals: Intervals = defaultdict(list)
    for (stream, start, text), (other, end, _) in zip(said, [*said[1:], (-1, inf, "")], strict=True):
        until, before = end if other == stream else inf, intervals[stream]
        if before and before[-1][1:] == (start, text):
            before[-1] = before[-1][0], until, text
        elif text and start < until:
            before.append((start, until, text))
    return intervals


def _said(rows: Rows, sensor: str) -> Iterator[tuple[int, float, str]]:
    """Yield stream, time and value, "" if it is missing, of each reading of a sensor."""
    number = rows.columns.get(sensor)
    for table, blocks in zip(rows.tables, rows.blocks, strict=True):
        for (_, batch), block in zip(table.batches(), blocks, strict=True):
            mine = np.flatnonzero(block.timed & (block.columns == number))
            texts = _texts(batch[str(rows.layout.value)].gather(mine), table.source)
            yield from zip(block.streams[mine].tolist(), block.times[mine].tolist(), texts, strict=True)


def _texts(cells: pl.Series, source: object) -> list[str]:
    """Return values as text, whole numbers without decimals."""
    if not cells.dtype.is_float():
        return texts_of(cells, source).to_list()
    return ["" if value is None else f"{value:.15g}" for value in cells.fill_nan(None).to_list()]


def _leave_out(rows: Rows, sensor: str) -> None:
    """Let the readings of a sensor be none of any stream."""
    number = rows.columns.pop(sensor)
    for name, index in rows.columns.items():
        rows.columns[name] = index - (index > number)
    for block in rows.all_blocks():
        columns = np.asarray(block.columns)
        block.streams = np.where(columns == number, block.streams.dtype.type(-1), block.streams)
        block.columns = (columns - (columns > number)).astype(np.int16)
