"""Figures of evaluations, of the experiment and of promises; Figure 1 is in `streamfs.relief.figure_1`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from feature_extractors.base import Array
from streamfs.errors import MissingExtraError
from streamfs.evaluation.evaluation import Evaluation
from streamfs.relief.figure_1 import BLUE, GREEN, GREY, ORANGE, finish

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ImportError as error:
    raise MissingExtraError("matplotlib", "plot") from error

if TYPE_CHECKING:
    from streamfs.data.streams import StreamSet
    from streamfs.evaluation.reliability import Bin, Reliability
    from streamfs.training.promises.front import FrontPoint

__all__ = [
    "Figure",
    "demo_figure",
    "figure_2",
    "front_figure",
    "reliability_figure",
    "save",
    "streams_figure",
    "sweep_figure",
]

OTHER_COLORS = ("#7b4ea3", "#b03a5b", "#2a9d9d", "#8a6d1f", "#c77fb0", "#4b5320")

MOST_CLASSES, MOST_ROWS, MOST_LINES = 12, 8, 12
"""Classes, columns, and streams of a class that are drawn."""

PAPER_MEASURES = ("completeness", "accuracy", "cost", "sent")
"""What is drawn over confidence thresholds: the three panels of the paper, and what nodes really send."""

METHOD_STYLES: dict[str, dict[str, Any]] = {
    "naive": {"color": GREY},
    "cost-based": {"color": ORANGE},
    "Relief": {"color": GREEN},
    "literal": {"color": BLUE, "linestyle": ":"},
    "StreamRelief": {"color": BLUE, "linewidth": 2.2},
}


def sweep_figure(evaluations: Sequence[Evaluation], sent: Sequence[float]) -> Figure:
    """Draw completeness, accuracy and cost over confidence thresholds, and accuracy against the messages sent."""
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    *panels, paid = figure.subplots(1, 4)
    thresholds = [evaluation.confidence for evaluation in evaluations]
    rows = [evaluation.summary() for evaluation in evaluations]
    for axes, measure in zip(panels, ("completeness", "accuracy", "cost"), strict=True):
        axes.plot(thresholds, [row[measure] for row in rows], "o-", color=BLUE, markersize=4)
        axes.set(title=measure, xlabel="confidence threshold", ylim=_limits(rows, measure))
        finish(axes)
    paid.plot(sent, [row["accuracy"] for row in rows], "o-", color=BLUE, markersize=4)
    paid.set(title="accuracy against sent", xlabel="sent, messages a stream", ylabel="accuracy")
    paid.set(xlim=(0, None), ylim=_limits(rows, "accuracy"))
    finish(paid)
    return figure


def figure_2(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw Figure 2 of the paper over confidence thresholds, and two panels of what nodes really send.

    The last panel shows accuracy against what is sent, from the lowest threshold to the highest. The rows are
    those of `summarise`; the bands are 95 % confidence intervals.
    """
    figure = Figure(figsize=(13, 7.6), layout="constrained")
    *panels, paid, words = figure.subplots(2, 3).ravel()
    methods = dict.fromkeys(row["method"] for row in rows)
    others = [method for method in methods if method not in METHOD_STYLES]
    for method in methods:
        style = METHOD_STYLES.get(method) or {"color": OTHER_COLORS[others.index(method) % len(OTHER_COLORS)]}
        curve = sorted((row for row in rows if row["method"] == method), key=lambda row: float(row["confidence"]))
        for axes, measure in zip(panels, PAPER_MEASURES, strict=True):
            _draw_curve(axes, curve, measure, style)
        sent, accuracy = (np.array([row[key] for row in curve]) for key in ("sent", "accuracy"))
        paid.plot(sent, accuracy, marker="o", markersize=3, label=method, **style)
    for axes, letter, measure in zip(panels, "abcd", PAPER_MEASURES, strict=True):
        axes.set(title=f"({letter}) {measure}", xlabel="confidence threshold", ylim=_limits(rows, measure))
        finish(axes)
    paid.set(title="(e) accuracy against sent", xlabel="sent, messages a stream", ylabel="accuracy")
    paid.set(ylim=_limits(rows, "accuracy"), xlim=_limits(rows, "sent"))
    finish(paid, legend=False)
    words.axis("off")
    words.legend(*paid.get_legend_handles_labels(), loc="center", frameon=False, fontsize="large")
    return figure


def _limits(rows: Sequence[Mapping[str, Any]], measure: str) -> tuple[float, float | None]:
    """Return the limits of a measure's axis: from 0, or of a share from a little below its least value."""
    if measure in ("cost", "sent"):
        return 0.0, None
    known = [row[measure] for row in rows if not np.isnan(row[measure])]
    return max(0.0, min(known, default=0.05) - 0.05), 1.01


def _draw_curve(axes: Axes, curve: Sequence[Mapping[str, Any]], measure: str, style: Mapping[str, Any]) -> None:
    thresholds, means, halves = (
        np.array([row[key] for row in curve]) for key in ("confidence", measure, f"{measure}_ci")
    )
    axes.plot(thresholds, means, marker="o", markersize=3, **style)
    axes.fill_between(thresholds, means - halves, means + halves, color=style["color"], alpha=0.12, linewidth=0)


def demo_figure(evaluation: Evaluation, spent: Array, all_the_time: Array, unit: str) -> Figure:
    """Draw when streams were decided, and the energy spent by tick against that of sending everything."""
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    ticks = np.arange(1, len(spent) + 1)
    decided = [
        (decision.tick, decision.label == truth)
        for decision, truth in zip(evaluation.decisions, evaluation.labels, strict=True)
        if decision.label is not None
    ]
    correct, wrong = (
        np.searchsorted(np.sort([tick for tick, is_correct in decided if is_correct == kind]), ticks, side="right")
        / len(evaluation.decisions)
        for kind in (True, False)
    )
    left.step(ticks, correct + wrong, where="post", color=GREY, label="decided")
    left.step(ticks, correct, where="post", color=BLUE, linewidth=2, label="correctly")
    left.step(ticks, wrong, where="post", color=ORANGE, linewidth=2, label="wrongly")
    left.set(title="streams decided", xlabel="tick", ylabel="share of streams", ylim=(0, 1.02))
    right.plot(ticks, all_the_time, color=GREY, label="every column at every tick")
    right.plot(ticks, spent, color=BLUE, linewidth=2, label="spent")
    right.set(title="energy of the nodes' radios", xlabel="tick", ylabel=unit)
    right.set_ylim(bottom=0)
    for axes in (left, right):
        finish(axes)
    return figure


def front_figure(points: "Sequence[FrontPoint]", unit: str) -> Figure:
    """Draw cost and ticks of a front's points over accuracy, with completeness as colour and numbers from 1."""
    figure = Figure(figsize=(12, 4.8), layout="constrained")
    panels = figure.subplots(1, 2)
    accuracy, completeness, cost, ticks = (np.array([point[i] for point in points]) for i in range(4))
    for axes, spent, label in zip(panels, (cost, ticks), (f"cost ({unit})", "ticks"), strict=True):
        shown = axes.scatter(
            accuracy, spent, 110, completeness, cmap="viridis", vmin=min(completeness), vmax=1.0, zorder=3
        )
        shown.set(edgecolor="white", linewidth=0.7)
        for number, at in enumerate(zip(accuracy, spent, strict=True), start=1):
            is_dark = completeness[number - 1] < (min(completeness) + 1.0) / 2.0 or min(completeness) == 1.0
            color = "white" if is_dark else "black"
            axes.annotate(str(number), at, ha="center", va="center", fontsize=6.5, color=color, zorder=4)
        axes.set(
            title=f"{label.partition(' ')[0]} of a stream", xlabel="accuracy among the labelled", ylabel=label
        )
        axes.set_ylim(bottom=0)
        finish(axes)
    figure.colorbar(shown, ax=panels, label="completeness", pad=0.01)
    return figure


def reliability_figure(found: "Sequence[Reliability]") -> Figure:
    """Draw the share of correct labels over confidence, with bars of two standard errors."""
    figure = Figure(figsize=(10, 4.8), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    titles = ("all ticks", "ticks at which a stream's confidence is its highest so far")
    least = min((min(each[:2]) for one in found for each in one.bins), default=0.0)
    for axes, title, is_record in zip(panels, titles, (False, True), strict=True):
        axes.plot([0, 1], [0, 1], color=GREY, linestyle=":", label="perfectly calibrated")
        for one in found:
            if one.is_record == is_record:
                word, color = ("calibrated", BLUE) if one.is_calibrated else ("uncalibrated", ORANGE)
                _draw_bins(axes, one.bins, f"{word} (off by {one.error:.3f})", color)
        low = max(0.0, least - 0.05)
        axes.set(title=title, xlabel="confidence", xlim=(low, 1.01), ylim=(low, 1.01))
        finish(axes)
        axes.legend(frameon=False, fontsize="small", loc="lower right")
    panels[0].set_ylabel("share correct")
    return figure


def _draw_bins(axes: Axes, bins: "Sequence[Bin]", label: str, color: str) -> None:
    confidence, correct, weight = (np.array([each[i] for each in bins]) for i in range(3))
    errors = 2.0 * np.sqrt(correct * (1.0 - correct) / np.maximum(weight, 1.0))
    axes.errorbar(
        confidence,
        correct,
        errors,
        fmt="o-",
        color=color,
        markersize=4,
        linewidth=1.2,
        elinewidth=0.8,
        label=label,
    )


def streams_figure(streams: "StreamSet") -> Figure:
    """Draw some streams of each class, and the middle half of all, a row a column of the streams."""
    classes, columns = streams.classes[:MOST_CLASSES], streams.columns[:MOST_ROWS]
    figure = Figure(figsize=(2.6 * len(classes) + 0.8, 1.8 * len(columns) + 0.8), layout="constrained")
    panels = figure.subplots(len(columns), len(classes), sharex=True, sharey="row", squeeze=False)
    times = np.arange(streams.n_ticks) * streams.period
    for row, column in zip(panels, columns, strict=True):
        readings = streams.column(column)
        for axes, label in zip(row, classes, strict=True):
            _draw_class(axes, times, readings[streams.labels == label])
        row[0].set_ylabel(column)
    for axes, label in zip(panels[0], classes, strict=True):
        axes.set_title(f"{label} ({(streams.labels == label).sum()})")
    figure.supxlabel("seconds", fontsize="medium")
    return figure


def _draw_class(axes: Axes, times: Any, readings: Array) -> None:
    """Draw some streams in grey, the median, and between the quartiles, where at least half of them go on."""
    for stream in readings[:: max(1, len(readings) // MOST_LINES)][:MOST_LINES]:
        axes.plot(times, stream, color=GREY, linewidth=0.6, alpha=0.6)
    usual = np.isfinite(readings).sum(axis=0) * 2 >= len(readings)
    if usual.any():
        low, middle, high = np.nanquantile(readings[:, usual], [0.25, 0.5, 0.75], axis=0)
        axes.fill_between(times[usual], low, high, color=BLUE, alpha=0.3, linewidth=0, zorder=3)
        axes.plot(times[usual], middle, color=BLUE, linewidth=1.6, zorder=4)
    finish(axes)


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as an image, in the format of the file name's suffix."""
    figure.savefig(path, dpi=120)
