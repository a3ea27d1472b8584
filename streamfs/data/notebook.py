"""What a notebook shows of recorded streams."""

from typing import TYPE_CHECKING

import numpy as np

from streamfs.base.charts.chart import table
from streamfs.base.charts.lines import Line, line_chart
from streamfs.base.charts.notebook import block, figures

if TYPE_CHECKING:
    from streamfs.data.streams import StreamSet

MOST_COLUMNS, MOST_CLASSES = 6, 6
"""What is drawn."""


def stream_set_html(streams: "StreamSet") -> str:
    """Return the classes of streams as a table, and their medians as charts."""
    lengths = {label: streams.lengths[streams.labels == label] for label in streams.classes}
    rows = [
        (label, float(len(each)), float(each.min()), float(np.median(each)), float(each.max()))
        for label, each in lengths.items()
    ]
    classes = table(("class", "streams", "shortest, ticks", "median", "longest"), rows)
    line = (
        f"StreamSet of {len(streams)} streams of up to {streams.n_ticks} ticks of {streams.period:g} s, with "
        f"{len(streams.columns)} columns"
    )
    line += f"; windows left out: {streams.n_left_out}" if streams.n_left_out else ""
    charts = [_medians(streams, column) for column in streams.columns[:MOST_COLUMNS]]
    left_out = len(streams.columns) - len(charts)
    name = "Medians by class" + (f", without {left_out} further columns" if left_out else "")
    return block(line, [("Classes", classes), (name, figures(charts))])


def _medians(streams: "StreamSet", column: str) -> str:
    """Draw the median of a column by class, at ticks that at least half of a class's streams have a reading of."""
    times = np.arange(streams.n_ticks) * streams.period
    lines = []
    for label in streams.classes[:MOST_CLASSES]:
        readings = streams.column(column)[streams.labels == label]
        usual = np.isfinite(readings).sum(axis=0) * 2 >= max(len(readings), 1)
        lines.append(Line(label, times[usual].tolist(), np.nanmedian(readings[:, usual], axis=0).tolist()))
    return line_chart(column, lines, ("seconds", "median")).html()
