"""Figures of the experiments with other feature selectors."""

from collections.abc import Mapping, Sequence
from itertools import cycle, product
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.experiments.plots import Figure
from streamfs.relief.figure_1 import BLUE, GREEN, GREY, ORANGE, finish

SELECTION_STYLES: dict[str, dict[str, Any]] = {
    "SFS": {"color": BLUE, "marker": "o"},
    "SFFS": {"color": BLUE, "marker": "s"},
    "SBS": {"color": BLUE, "marker": "^"},
    "Relief": {"color": GREEN, "marker": "D", "markerfacecolor": "none"},
    "LVF": {"color": ORANGE, "marker": "o", "markerfacecolor": "none"},
    "FINCO": {"color": ORANGE, "marker": "s", "markerfacecolor": "none"},
}


def selection_figure(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw how many features wrappers and filters select, and how the error changes, on each data set.

    A row for each ``set``, ``method`` and ``kernel`` says how many of the ``features`` are ``selected``, and the
    error ``before`` and ``after``. No ratio is drawn if the error was 0 before.
    """
    kernels, sets = (list(dict.fromkeys(row[key] for row in rows)) for key in ("kernel", "set"))
    figure = Figure(figsize=(12, 3.8 * len(kernels)), layout="constrained")
    for (left, right), kernel in zip(figure.subplots(len(kernels), 2, squeeze=False), kernels, strict=True):
        for shift, (method, style) in enumerate(SELECTION_STYLES.items()):
            found = [row for row in rows if (row["method"], row["kernel"]) == (method, kernel)]
            places = np.array([sets.index(row["set"]) for row in found]) + 0.12 * (shift - 2.5)
            shares = [100.0 * row["selected"] / row["features"] for row in found]
            ratios = [row["after"] / row["before"] if row["before"] else np.nan for row in found]
            left.plot(places, shares, linestyle="none", label=method, **style)
            right.plot(places, ratios, linestyle="none", label=method, **style)
        right.axhline(1.0, color=GREY, linewidth=1)
        left.set(title=f"{kernel} kernel: how many features are selected", ylabel="per cent", ylim=(0, 105))
        right.set(title=f"{kernel} kernel: what selection changes", ylabel="error after / error before")
        for axes in (left, right):
            finish(axes, legend=False)
            axes.set_xticks(range(len(sets)), sets, rotation=45, ha="right")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    return figure


def probes_figure(
    checked_at: npt.ArrayLike, panels: Mapping[str, npt.ArrayLike], stops: Mapping[str, int | None]
) -> Figure:
    """Draw curves over the number of probes in dependency-aware ranking, and where stopping rules stop.

    Each panel has a curve over the numbers of probes in `checked_at`; `stops` has the number at which each rule
    stops, None if it does not, with two thresholds for each condition.
    """
    figure = Figure(figsize=(4.4 * len(panels), 4.2), layout="constrained")
    all_axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (what, values) in zip(all_axes, panels.items(), strict=True):
        axes.plot(checked_at, values, "o-", color=BLUE, markersize=4)
        styles = cycle(product((ORANGE, GREEN, GREY), (":", "--")))
        for (color, line), (rule, n_probes) in zip(styles, stops.items(), strict=False):
            if n_probes is not None:
                axes.axvline(n_probes, color=color, linestyle=line, label=rule)
        axes.set(title=what, xlabel="probes")
        handles, labels = axes.get_legend_handles_labels()
        finish(axes, legend=False)
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


POLICY_STYLES: dict[str, dict[str, Any]] = {"active": {"color": BLUE, "linewidth": 2}, "random": {"color": GREY}}


def policies_figure(panels: Mapping[str, Mapping[str, Array]], measure: str) -> Figure:
    """Draw a measure over the number of sampled values, from 0 on, by panel title and by policy."""
    n_columns = min(4, len(panels))
    n_rows = -(-len(panels) // n_columns)
    figure = Figure(figsize=(3.4 * n_columns, 2.8 * n_rows), layout="constrained")
    grid = figure.subplots(n_rows, n_columns, squeeze=False)
    for axes, (title, curves) in zip(grid.flat, panels.items(), strict=False):
        for policy, curve in curves.items():
            axes.plot(curve, label=policy, **POLICY_STYLES.get(policy, {}))
        axes.set(title=title, xlabel="values extracted")
        finish(axes)
    for axes in grid[:, 0]:
        axes.set_ylabel(measure)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    return figure


def query_sensitive_figure(
    ours: Mapping[str, Mapping[str, float]], printed: Mapping[str, Mapping[str, float]]
) -> Figure:
    """Draw the accuracy that query-sensitive selection adds on each data set, measured and as printed.

    Accuracies are in per cent, by data set and by method: ``FSS``, ``FSS+QSFS1``, ``FSS+QSFS2``, and with Relief.
    """
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    places = np.arange(len(ours))
    for axes, base in zip(figure.subplots(1, 2, sharex=True), ("FSS", "Relief"), strict=True):
        for shift, (variant, color) in enumerate((("+QSFS1", ORANGE), ("+QSFS2", BLUE))):
            for source, figures, style in (("ours", ours, color), ("print", printed, "none")):
                gains = [row[f"{base}{variant}"] - row[base] for row in figures.values()]
                label = f"{variant}, {source}"
                axes.plot(places + 0.2 * shift - 0.1, gains, "o", color=color, markerfacecolor=style, label=label)
        axes.axhline(0.0, color=GREY, linewidth=1)
        axes.set(title=f"what a query's own features add to {base}", ylabel="points of accuracy, per cent")
        finish(axes, legend=False)
        axes.set_xticks(places, list(ours), rotation=45, ha="right")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure
