"""Figure 1 of the paper, and the style shared by all figures."""

from typing import TYPE_CHECKING

import numpy as np

from streamfs.errors import MissingExtraError

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator
except ImportError as error:
    raise MissingExtraError("matplotlib", "plot") from error

if TYPE_CHECKING:
    from streamfs.relief.streamrelief import StreamRelief

BLUE, ORANGE, GREY, GREEN = "#0072b2", "#d55e00", "#7f7f7f", "#009e73"
"""Of Okabe and Ito's palette, and a grey: told apart by the colour-blind."""

_LETTER, _SWATCH = 6.5, 45.0  # pixels of a legend


def figure_1(selector: "StreamRelief", feature: int, name: str) -> Figure:
    """Draw Figure 1 of the paper: (a) weight and its lower bound, (b) probability and its extrapolation."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    positions = selector.positions_
    left.plot(positions, selector.weights_[:, feature], "o-", color=GREY, markersize=3, label="Relief weight")
    left.plot(positions, selector.lower_bound_[:, feature], "-", color=BLUE, linewidth=2, label="lower bound")
    if np.isfinite(selector.floor_):
        left.axhline(selector.floor_, color=ORANGE, linestyle=":", label="relevance floor")
    left.set(title="(a) how well it tells the classes apart", xlabel="tick", ylabel="weight")
    by_tick = selector.probability_by_tick()[:, feature]
    ticks = np.arange(1, len(by_tick) + 1)
    seen = ticks <= positions[-1]
    right.step(ticks[seen], by_tick[seen], where="post", color=BLUE, linewidth=2, label="from weights")
    right.plot(ticks[~seen], by_tick[~seen], "--", color=BLUE, label="extrapolated")
    right.axhline(selector.confidence, color=ORANGE, linestyle=":", label="confidence threshold")
    least = min(by_tick.min(), selector.confidence)
    right.set(title="(b) when it is expected to decide", xlabel="tick", ylabel="probability of having decided")
    right.set_ylim(least - 0.05, 1.02)
    for axes in (left, right):
        finish(axes)
    figure.suptitle(name)
    return figure


def finish(axes: Axes, *, legend: bool = True) -> None:
    """Add a grid below the data, few ticks and, if there are labels, a legend below a panel, clear of its data."""
    axes.grid(visible=True, alpha=0.25)
    axes.set_axisbelow(True)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=axes.get_xlabel().startswith("tick")))
    axes.spines[["top", "right"]].set_visible(False)
    labels = axes.get_legend_handles_labels()[1]
    if legend and labels:
        below, columns = (
            -50.0 / axes.bbox.height,
            int(axes.bbox.width / (_LETTER * max(map(len, labels)) + _SWATCH)),
        )
        axes.legend(
            frameon=False,
            fontsize="small",
            loc="upper center",
            bbox_to_anchor=(0.5, below),
            ncols=max(1, min(columns, len(labels))),
        )
