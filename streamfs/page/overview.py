"""The overview: what a gateway does by now, and what it has done."""

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from streamfs.base.charts.bars import bar_chart
from streamfs.base.charts.chart import Chart
from streamfs.base.charts.lines import Line, line_chart
from streamfs.page.tables import OPEN, SeenStreams
from streamfs.page.watched import Now, PastPoint, Watched
from streamfs.page.words import visible

MOST_DECISIONS = 12
"""Newest decisions that are shown."""

_BINS = 10
_MINUTE = 60.0


def parts(gateway: Watched, query: Mapping[str, str]) -> dict[str, dict[str, Any]]:  # noqa: ARG001 - as all pages
    """Return what the overview shows, by template."""
    now, rows = gateway.now(), gateway.rows()
    facts = now.facts
    decided = facts.get("decided", [])
    return {
        "figures": {
            "decided": sum(n for _, _, n in decided),
            "labelled": sum(n for _, label, n in decided if label),
            "streams": rows.streams.counts(),
            "nodes": rows.nodes.counts(),
            "everything": everything(now, rows.streams.n_slots, rows.streams.models),
        },
        "charts": {
            "charts": [*_past_charts(gateway.past), *_label_charts(decided), *_confidence_charts(rows.streams)]
        },
        "decisions": {"decisions": facts.get("decisions", [])[: -MOST_DECISIONS - 1 : -1]},
    }


def everything(now: Now, n_slots: int, models: list[dict[str, Any]]) -> float | None:
    """Return the energy since the start, had each node sent each channel at each tick; None if it is not known.

    A message is taken to cost what messages have cost since the start, on average.
    """
    facts = now.facts
    messages = facts.get("counters", {}).get("messages", 0)
    if not messages or not n_slots or not models:
        return None
    ticks = (facts["written"] - facts["began"]) / min(model["period"] for model in models)
    return float((facts["energy"] - facts["energy_before"]) / messages * n_slots * ticks)


def _past_charts(past: list[PastPoint]) -> list[Chart]:
    """Draw what has changed while somebody looked; nothing before there is anything to draw."""
    if len(past) < 3:
        return []
    ends = [point.time for point in past]
    minutes = [(time - ends[-1]) / _MINUTE for time in ends]
    rates = [_MINUTE * (b.decided - a.decided) / (b.time - a.time) for a, b in pairwise(past)]
    undecided = [point.undecided for point in past]
    return [
        _over_time("How many decisions fall", Line("decisions", minutes[1:], rates), "a minute"),
        _over_time(
            "How many streams are undecided", Line("undecided", minutes, undecided, is_stepped=True), "streams"
        ),
    ]


def _over_time(title: str, line: Line, unit: str) -> Chart:
    """Draw one line over the last minutes, from 0 up."""
    limits = (0.0, max(1.0, *line.y))
    return line_chart(title, [line], ("minutes from now", unit), y_limits=limits)


def _label_charts(decided: list[tuple[str, str, int]]) -> list[Chart]:
    """Draw how often each label was given, and none for which reason; nothing before the first decision."""
    counts: Counter[str] = Counter()
    for reason, label, n in decided:
        counts[visible(label) if label else f"no label: {visible(reason)}"] += n
    return [bar_chart("What was decided since the start", counts, "decisions")] if counts else []


def _confidence_charts(streams: SeenStreams) -> list[Chart]:
    """Draw how many open streams have which confidence; nothing if none has any."""
    found = streams.columns["confidence"][streams.columns["status"] == OPEN]
    places = np.clip((found[np.isfinite(found)] * _BINS).astype(int), 0, _BINS - 1)
    if not places.size:
        return []
    numbers = np.bincount(places, minlength=_BINS).tolist()
    width = 100 // _BINS
    bars = {
        f"{width * place} to {width * (place + 1)} %": float(numbers[place])
        for place in range(int(places.min()), _BINS)
    }
    return [bar_chart("How sure open streams are by now", bars, "streams")]
