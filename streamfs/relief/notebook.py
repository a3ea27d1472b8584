"""What a notebook shows of StreamRelief."""

from typing import TYPE_CHECKING

import numpy as np

from streamfs.base.charts.chart import table
from streamfs.base.charts.lines import Line, line_chart
from streamfs.base.charts.notebook import block, figures

if TYPE_CHECKING:
    from streamfs.relief.streamrelief import StreamRelief

MOST_LINES = 5
"""Features that are drawn."""


def stream_relief_html(selector: "StreamRelief") -> str:
    """Return the ranking of a fitted selector as a table, and the paper's Figure 1 for the best features."""
    names, last = selector.feature_names_, selector.lower_bound_[-1]
    rows = [
        (
            names[i],
            "yes" if selector.relevant_[i] else "no",
            float(last[i]),
            float(selector.probability_[-1, i]),
            float(selector.expected_cost_[i]),
            float(selector.score_[i]),
        )
        for i in selector.ranking_.tolist()
    ]
    line = (
        f"{type(selector).__name__}: {int(selector.relevant_.sum())} of {len(names)} features pass the floor of "
        f"{selector.floor_:.3g}; confidence {selector.confidence:g} within {selector.horizon_} ticks"
    )
    header = ("feature", "relevant", "lower bound", "probability", "expected cost", "score")
    return block(line, [("Ranking, best first", table(header, rows)), ("Figure 1", _figure_1(selector))])


def _figure_1(selector: "StreamRelief") -> str:
    best = selector.ranking_[:MOST_LINES].tolist()
    ticks, by_tick = np.arange(1, selector.horizon_ + 1).tolist(), selector.probability_by_tick()
    bounds = [
        Line(selector.feature_names_[i], selector.positions_.tolist(), selector.lower_bound_[:, i].tolist())
        for i in best
    ]
    chances = [Line(selector.feature_names_[i], ticks, by_tick[:, i].tolist()) for i in best]
    charts = [
        line_chart("How well a feature tells the classes apart", bounds, ("tick", "lower bound of the weight")),
        line_chart("When a feature is expected to decide", chances, ("tick", "probability")),
    ]
    return figures(chart.html() for chart in charts)
