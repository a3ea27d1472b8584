"""Figures of evaluations, of the experiment and of promises; Figure 1 is in `streamfs.relief.figure_1`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.base.charts.paid_unit import PaidUnit
from streamfs.errors import MissingExtraError
from streamfs.evaluation.evaluation import Evaluation
from streamfs.experiments.point_labels import label_points
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

OTHER_COLORS, OTHER_MARKERS = ("#aa4499", "#b8860b", "#332288", "#000000", "#56b4e9", "#882255"), "PX*v<>"

MOST_CLASSES, MOST_ROWS, MOST_LINES = 12, 8, 12
"""Classes, columns, and streams of a class that are drawn."""

PANELS: Mapping[str, tuple[str, str]] = {
    "completeness": ("completeness", "share of streams with a label"),
    "accuracy": ("accuracy", "share of labels that are right"),
    "cost": ("cost by equation 1", "{unit} a stream"),
    "sent": ("what nodes really send", "messages a stream"),
}
"""What is drawn over confidence thresholds, with units: the three panels of the paper, and what batteries pay."""

TRADE_OFF = "what accuracy costs"

METHOD_STYLES: dict[str, dict[str, Any]] = {
    "naive": {"color": GREY, "marker": "s"},
    "cost-based": {"color": ORANGE, "marker": "^"},
    "Relief": {"color": GREEN, "marker": "D"},
    "literal": {"color": BLUE, "linestyle": ":", "marker": "."},
    "StreamRelief": {"color": BLUE, "linewidth": 2.2, "marker": "o"},
}


def sweep_figure(evaluations: Sequence[Evaluation], sent: Sequence[float], unit: str = "transmissions") -> Figure:
    """Draw completeness, accuracy and cost over confidence thresholds, and accuracy against the messages sent."""
    figure = Figure(figsize=(13, 3.8), layout="constrained")
    *panels, paid = figure.subplots(1, 4)
    thresholds = [evaluation.confidence for evaluation in evaluations]
    rows = [evaluation.summary() for evaluation in evaluations]
    paid_in = PaidUnit.of([row["cost"] for row in rows], unit)
    rows = [{**row, "cost": paid_in.of_paid(row["cost"])} for row in rows]
    for axes, measure in zip(panels, PANELS, strict=False):
        axes.plot(thresholds, [row[measure] for row in rows], "o-", color=BLUE, markersize=4)
        title, label = PANELS[measure]
        axes.set(title=title, xlabel="confidence threshold", ylabel=label.format(unit=paid_in.name))
        axes.set_ylim(_limits(rows, measure))
        finish(axes)
    paid.plot(sent, [row["accuracy"] for row in rows], "o-", color=BLUE, markersize=4)
    paid.set(title=TRADE_OFF, xlabel="messages a stream", ylabel=PANELS["accuracy"][1])
    paid.set(xlim=(0, None), ylim=_limits(rows, "accuracy"))
    label_points(paid, sent, [row["accuracy"] for row in rows], [f"{each:.2g}" for each in thresholds])
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
        style = METHOD_STYLES.get(method) or _other_style(others.index(method))
        curve = sorted((row for row in rows if row["method"] == method), key=lambda row: float(row["confidence"]))
        for axes, measure in zip(panels, PANELS, strict=True):
            _draw_curve(axes, curve, measure, style)
        sent, accuracy = (np.array([row[key] for row in curve]) for key in ("sent", "accuracy"))
        paid.plot(sent, accuracy, markersize=4, label=method, **style)
    for axes, letter, (measure, (title, label)) in zip(panels, "abcd", PANELS.items(), strict=True):
        axes.set(title=f"({letter}) {title}", xlabel="confidence threshold", ylim=_limits(rows, measure))
        axes.set_ylabel(label.format(unit="transmissions"))
        finish(axes)
    paid.set(title=f"(e) {TRADE_OFF}", xlabel="messages a stream", ylabel=PANELS["accuracy"][1])
    paid.set(ylim=_limits(rows, "accuracy"), xlim=(0, _limits(rows, "sent")[1]))
    finish(paid, legend=False)
    words.axis("off")
    size = "large" if len(methods) <= len(METHOD_STYLES) + 2 else "small"
    title = "means of the seeds, and 95 % intervals of them"
    words.legend(*paid.get_legend_handles_labels(), loc="center", frameon=False, fontsize=size, title=title)
    return figure


def _other_style(place: int) -> dict[str, Any]:
    n_rounds, place = divmod(place, len(OTHER_COLORS))
    dashes = ("-", "--", ":", "-.")[n_rounds % 4]
    return {"color": OTHER_COLORS[place], "marker": OTHER_MARKERS[place], "linestyle": dashes}


def _limits(rows: Sequence[Mapping[str, Any]], measure: str) -> tuple[float, float | None]:
    """Return the limits of a measure's axis: from 0, or of a share from a little below its least value."""
    known = [row[measure] for row in rows if not np.isnan(row[measure])]
    if measure in ("cost", "sent"):
        return 0.0, 1.08 * max(known, default=0.0) or None
    return max(0.0, min(known, default=0.05) - 0.05), 1.01


def _draw_curve(axes: Axes, curve: Sequence[Mapping[str, Any]], measure: str, style: Mapping[str, Any]) -> None:
    thresholds, means, halves = (
        np.array([row[key] for row in curve]) for key in ("confidence", measure, f"{measure}_ci")
    )
    axes.plot(thresholds, means, markersize=3, **style)
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
    left.step(ticks, wrong, "--", where="post", color=ORANGE, linewidth=2, label="wrongly")
    left.set(title="how soon streams are decided", xlabel="tick", ylabel="share of streams", ylim=(0, 1.02))
    right.plot(ticks, all_the_time, color=GREY, label="every column at every tick")
    right.plot(ticks, spent, color=BLUE, linewidth=2, label="spent")
    right.set(title="what the nodes' radios spend", xlabel="tick", ylabel=f"{unit} since the first tick")
    right.set_ylim(bottom=0)
    for axes in (left, right):
        finish(axes)
    return figure


def front_figure(points: "Sequence[FrontPoint]", unit: str) -> Figure:
    """Draw cost and ticks of a front's points over accuracy, with completeness as colour and numbers from 1.

    The line joins the points that are the most accurate of those that cost, or wait, no more.
    """
    figure = Figure(figsize=(12, 5.2), layout="constrained")
    panels = figure.subplots(1, 2)
    accuracy, completeness, cost, ticks = (np.array([point[i] for point in points]) for i in range(4))
    paid_in = PaidUnit.of(cost.tolist(), unit)
    names = [str(number) for number in range(1, len(points) + 1)]
    for axes, spent, title, label in zip(
        panels,
        (paid_in.of_paid(cost), ticks),
        ("what accuracy costs", "how long accuracy takes"),
        (f"{paid_in.name} a stream", "ticks until a decision"),
        strict=True,
    ):
        best = frontier(spent, accuracy)
        stairs = np.repeat(spent[best], 2)[1:], np.repeat(accuracy[best], 2)[:-1]
        axes.plot(*stairs, color=GREY, linewidth=1.2, zorder=2)
        shown = axes.scatter(
            spent, accuracy, 40, completeness, cmap="cividis", vmin=min(completeness) - 1e-9, vmax=1.0, zorder=3
        )
        shown.set(edgecolor="black", linewidth=0.5)
        axes.set(title=title, xlabel=label, ylabel="share of labels that are right")
        axes.margins(x=0.1, y=0.1)
        axes.set_xlim(left=0)
        finish(axes)
        label_points(axes, spent, accuracy, names)
    figure.colorbar(shown, ax=panels, label="share of streams with a label", pad=0.01)
    return figure


def frontier(spent: npt.ArrayLike, good: npt.ArrayLike) -> list[int]:
    """Return the places of the points that are better than all that cost no more, the cheapest first.

    Examples
    --------
    >>> frontier([3.0, 1.0, 2.0, 1.0], [0.9, 0.7, 0.6, 0.8])
    [3, 0]
    """
    costs, gains = np.asarray(spent, dtype=float), np.asarray(good, dtype=float)
    best, kept = -np.inf, []
    for place in np.lexsort((-gains, costs)).tolist():
        if gains[place] > best:
            best = gains[place]
            kept.append(place)
    return kept


def reliability_figure(found: "Sequence[Reliability]") -> Figure:
    """Draw the share of correct labels over confidence, with bars of two standard errors."""
    figure = Figure(figsize=(10, 4.8), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    titles = (
        "how often a confidence is right",
        "the same, at a stream's surest ticks so far",
    )
    least = min((min(each[:2]) for one in found for each in one.bins), default=0.0)
    for axes, title, is_record in zip(panels, titles, (False, True), strict=True):
        axes.plot([0, 1], [0, 1], color=GREY, linestyle=":", label="perfectly calibrated")
        for one in found:
            if one.is_record == is_record:
                word, line, color = (
                    ("calibrated", "o-", BLUE) if one.is_calibrated else ("uncalibrated", "s--", ORANGE)
                )
                _draw_bins(axes, one.bins, f"{word} (off by {one.error:.3f})", line, color)
        low = max(0.0, least - 0.05)
        axes.set(title=title, xlabel="confidence", xlim=(low, 1.01), ylim=(low, 1.01))
        finish(axes)
    panels[0].set_ylabel("share that is right")
    return figure


def _draw_bins(axes: Axes, bins: "Sequence[Bin]", label: str, line: str, color: str) -> None:
    confidence, correct, weight = (np.array([each[i] for each in bins]) for i in range(3))
    errors = 2.0 * np.sqrt(correct * (1.0 - correct) / np.maximum(weight, 1.0))
    axes.errorbar(
        confidence,
        correct,
        errors,
        fmt=line,
        color=color,
        markersize=4,
        linewidth=1.2,
        elinewidth=0.8,
        label=label,
    )


def streams_figure(streams: "StreamSet") -> Figure:
    """Draw some streams of each class, and the middle half of all, a row a column of the streams."""
    classes, columns = streams.classes[:MOST_CLASSES], streams.columns[:MOST_ROWS]
    width = 2.6 * len(classes) + 0.8
    figure = Figure(figsize=(width, 1.8 * len(columns) + 0.8), layout="constrained")
    panels = figure.subplots(len(columns), len(classes), sharex=True, sharey="row", squeeze=False)
    times = np.arange(streams.n_ticks) * streams.period
    for row, column in zip(panels, columns, strict=True):
        readings = streams.column(column)
        for axes, label in zip(row, classes, strict=True):
            _draw_class(axes, times, readings[streams.labels == label])
        row[0].set_ylabel(column)
    for axes, label in zip(panels[0], classes, strict=True):
        axes.set_title(fill(f"{label or 'without label'} ({(streams.labels == label).sum()})", 24))
    figure.supxlabel("seconds", fontsize="medium")
    words = "some streams (grey), their median and middle half (blue)"
    for what, shown, known in ("classes", classes, streams.classes), ("columns", columns, streams.columns):
        words += f"; {len(shown)} of {len(known)} {what}" if len(shown) < len(known) else ""
    figure.suptitle(fill(words, int(11 * width)), fontsize="medium")
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
    axes.locator_params("x", nbins=3)


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as an image, in the format of the file name's suffix."""
    figure.savefig(path, dpi=120)
