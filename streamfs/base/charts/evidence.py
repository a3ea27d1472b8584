"""What streams that were held out show of a model: what accuracy costs, and how often a confidence is right."""

from collections.abc import Mapping, Sequence
from typing import Any

from streamfs.base.charts.chart import Chart
from streamfs.base.charts.lines import Line, Mark, line_chart
from streamfs.base.charts.paid_unit import PaidUnit


def trade_off_chart(points: Sequence[Mapping[str, Any]], unit: str, paid: float | None) -> Chart:
    """Draw accuracy and completeness against what is paid, by confidence threshold.

    Parameters
    ----------
    points : sequence of mapping
        The ``accuracy``, ``completeness`` and cost, ``paid``, of each threshold; without labels it is left out.
    unit : str
        Of the costs.
    paid : float, optional
        What is paid by the threshold of the model, which is marked.
    """
    shown = [point for point in points if point["completeness"] > 0]
    scale = PaidUnit.of([point["paid"] for point in shown], unit)
    costs = [scale.of_paid(point["paid"]) for point in shown]
    lines = [
        Line(name, costs, [point[name] for point in shown], has_marks=True)
        for name in ("accuracy", "completeness")
    ]
    return line_chart(
        "What accuracy costs: other confidence thresholds",
        lines,
        (f"paid a stream, {scale.name}", "share"),
        y_limits=_shares(lines),
        marks=[] if paid is None else [Mark(scale.of_paid(paid), "this model")],
    )


def reliability_chart(found: Mapping[str, Sequence[tuple[float, float]]]) -> Chart:
    """Draw the share of right labels over confidence, of each name a line of pairs of the two."""
    lines = [
        Line(name, [stated for stated, _ in pairs], [right for _, right in pairs], has_marks=True)
        for name, pairs in found.items()
    ]
    limits = _shares([*lines, *(Line(line.name, line.y, line.x) for line in lines)])
    perfect = Line("perfectly calibrated", limits, limits, is_reference=True)
    axes = ("confidence", "share that is right")
    title = "How often a confidence is right"
    return line_chart(title, [perfect, *lines], axes, x_limits=limits, y_limits=limits)


def _shares(lines: Sequence[Line]) -> tuple[float, float]:
    """Return the limits of an axis of shares: up to 1, from a round number below the least."""
    least = min((y for line in lines for y in line.y if y == y), default=0.0)  # noqa: PLR0124 - NaN
    return max(0.0, (10.0 * least - 0.5) // 1 / 10.0), 1.0
