"""The figures of a report as axes of matplotlib, for papers, slides and notebooks."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from streamfs.base.charts.chart import Chart
from streamfs.base.charts.lines import LineContent, line_styles
from streamfs.evaluation.report import figures
from streamfs.experiments.point_labels import label_points
from streamfs.relief.figure_1 import BLUE, GREY, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from streamfs.evaluation.report.chosen_streams import ChosenStream
    from streamfs.evaluation.report.measure import MeasuredProcedure

_LETTERS_ACROSS = 50
"""Letters of names that stand side by side under a figure."""


def plot_confusion(measured: "MeasuredProcedure", axes: "Axes | None" = None) -> "Axes":
    """Draw how many streams of each class got each label.

    Parameters
    ----------
    measured : MeasuredProcedure
        What `streamfs.evaluation.report.measure.measure` returns.
    axes : Axes, optional
        Where to draw; by default a new figure's.

    Returns
    -------
    Axes
        The axes, whose figure is ``axes.figure``.
    """
    rows = figures.confusion(measured)
    names = [label or "no label" for label, _, _ in rows[0][1]]
    letters = max(map(len, names))
    is_long = letters * len(names) > _LETTERS_ACROSS
    if axes is None:
        axes = _new_axes(len(names) + letters // 4) if is_long else _new_axes()
    counts = np.array([[n for _, n, _ in cells] for _, cells in rows])
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    image = axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    for (row, column), count in np.ndenumerate(counts):
        color = "white" if shares[row, column] > 0.5 else "black" if count else GREY
        axes.text(column, row, str(count), ha="center", va="center", color=color)
    axes.set_xticks(range(len(names)), names, rotation=90 if is_long else 0)
    axes.set_yticks(range(len(rows)), [label for label, _ in rows])
    axes.set(title="Which class is taken for which: streams", xlabel="label", ylabel="class")
    axes.figure.colorbar(image, ax=axes, label="share of the class")
    return axes


def plot_trade_off(measured: "MeasuredProcedure", axes: "Axes | None" = None) -> "Axes":
    """Draw accuracy and completeness against what is paid, by confidence threshold, and where the model is.

    Parameters and returned axes are those of `plot_confusion`.
    """
    axes = draw(figures.trade_off_chart(measured), axes)
    (x, y) = axes.get_lines()[0].get_data()
    rows = [row for row in measured.trade_off if row["completeness"] > 0]
    label_points(axes, np.asarray(x), np.asarray(y), [f"{row['confidence']:g}" for row in rows])
    return axes


def plot_decided(measured: "MeasuredProcedure", axes: "Axes | None" = None) -> "Axes":
    """Draw the share of streams that are decided by each tick; parameters are those of `plot_confusion`."""
    return draw(figures.decided_chart(measured), axes)


def plot_reliability(measured: "MeasuredProcedure", axes: "Axes | None" = None) -> "Axes":
    """Draw how often a confidence is right; parameters are those of `plot_confusion`."""
    return draw(figures.reliability_chart(measured.reliability), axes)


def plot_importance(measured: "MeasuredProcedure", axes: "Axes | None" = None, *, paid: bool = False) -> "Axes":
    """Draw the accuracy that is lost without each column, or what is paid more without it.

    Other parameters are those of `plot_confusion`.
    """
    return draw(figures.importance_charts(measured)[int(paid)], axes)


def plot_channels(measured: "MeasuredProcedure", axes: "Axes | None" = None) -> "Axes":
    """Draw what each channel costs; parameters are those of `plot_confusion`."""
    return draw(figures.channel_chart(measured), axes)


def plot_stream(
    chosen: "ChosenStream", measured: "MeasuredProcedure", axes: "Axes | None" = None, *, confidence: bool = False
) -> "Axes":
    """Draw the readings of one of ``measured.chosen``, or the confidence in each class.

    Other parameters are those of `plot_confusion`.

    Raises
    ------
    ValueError
        If the classifier tells no confidence.
    """
    charts = figures.stream_charts(chosen, measured)
    if confidence and len(charts) == 1:
        raise ValueError(f"there is no confidence of stream {chosen.decision.stream!r}")
    return draw(charts[int(confidence)], axes)


def draw(chart: Chart, axes: "Axes | None" = None) -> "Axes":
    """Draw a chart of a report by matplotlib."""
    if axes is None:
        axes = _new_axes() if chart.lines is not None else _new_axes(len(chart.rows), least=1.6)
    has_marks = chart.lines is not None and chart.lines.marks
    axes.set_title(chart.title, fontsize="medium", pad=16.0 if has_marks else None)
    if chart.lines is None:
        _draw_bars(chart, axes)
    else:
        _draw_lines(chart.lines, axes)
    return axes


def _new_axes(n_rows: int = 0, least: float = 4.0) -> "Axes":
    """Return axes with room for some rows of text, and of a least height in inches."""
    height = max(least, 1.0 + 0.34 * n_rows)
    return Figure(figsize=(max(6.4, 0.9 * height), height), layout="constrained").subplots()


def _draw_bars(chart: Chart, axes: "Axes") -> None:
    names, numbers = [str(row[0]) for row in chart.rows], [float(row[1]) for row in chart.rows]
    shown = axes.barh(names, numbers, color=BLUE)
    axes.bar_label(shown, fmt="%.4g", padding=3, fontsize="small")
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_xlabel(chart.header[1])
    finish(axes)


def _draw_lines(content: LineContent, axes: "Axes") -> None:
    for line, (color, dashes) in zip(content.lines, line_styles(content.lines), strict=True):
        axes.plot(
            line.x,
            line.y,
            color=GREY if line.is_reference else color,
            linestyle=(0, tuple(float(each) / 2.0 for each in dashes.split())) if dashes else "-",
            marker="o" if line.has_marks else None,
            markersize=4,
            drawstyle="steps-post" if line.is_stepped else "default",
            label=line.name if len(content.lines) > 1 else None,
        )
    axes.set(xlabel=content.axes[0], ylabel=content.axes[1])
    if content.x_limits is not None:
        axes.set_xlim(*content.x_limits)
    if content.y_limits is not None:
        axes.set_ylim(content.y_limits[0], content.y_limits[1] + 0.02)
    for mark in content.marks:
        axes.axvline(mark.x, color=GREY, linestyle=":")
        above: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        is_right = 2.0 * mark.x > sum(axes.get_xlim())
        side = "right" if is_right else "left"
        axes.annotate(mark.text, (mark.x, 1.0), (0, 3), ha=side, fontsize="small", **above)
    finish(axes)
