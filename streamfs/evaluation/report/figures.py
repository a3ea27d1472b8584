"""The charts of a report, and its table of classes and labels."""

from collections.abc import Sequence

import numpy as np

from streamfs.base.charts import evidence
from streamfs.base.charts.bars import bar_chart
from streamfs.base.charts.chart import Chart
from streamfs.base.charts.lines import Line, Mark, line_chart
from streamfs.base.charts.paid_unit import PaidUnit
from streamfs.evaluation.reliability import Reliability
from streamfs.evaluation.report.chosen_streams import ChosenStream
from streamfs.evaluation.report.measure import MeasuredProcedure

MOST_LINES = 6
"""Columns or classes that are drawn in one chart."""


def confusion(measured: MeasuredProcedure) -> list[tuple[str, list[tuple[str, int, float]]]]:
    """Return for each true class how many streams got each label, and the share of the class that they are."""
    labels = np.array([decision.label or "" for decision in measured.evaluation.decisions])
    truth, said = measured.evaluation.labels, [*measured.procedure.classes, ""]
    rows = []
    for label in np.unique(truth):
        counts = [int(np.sum((truth == label) & (labels == each))) for each in said]
        rows.append((str(label), [(each, n, n / sum(counts)) for each, n in zip(said, counts, strict=True)]))
    return rows


def trade_off_chart(measured: MeasuredProcedure) -> Chart:
    """Draw accuracy and completeness against what is paid, by confidence threshold, and where the model is."""
    return evidence.trade_off_chart(measured.trade_off, measured.unit, measured.paid)


def decided_chart(measured: MeasuredProcedure) -> Chart:
    """Draw the share of streams that are decided by each tick, rightly and wrongly."""
    pairs = zip(measured.evaluation.decisions, measured.evaluation.labels, strict=True)
    labelled = [
        (decision.tick, decision.label == label) for decision, label in pairs if decision.label is not None
    ]
    n_streams, last = len(measured.streams), max((tick for tick, _ in labelled), default=1)
    ticks = np.arange(last + 1)
    lines = []
    for name, kind in (("rightly", True), ("wrongly", False)):
        found = np.sort([tick for tick, is_right in labelled if is_right == kind])
        shares = np.searchsorted(found, ticks, "right") / n_streams
        lines.append(Line(name, ticks.tolist(), shares.tolist(), is_stepped=True))
    return line_chart("How soon streams are decided", lines, ("tick", "share of all streams"), y_limits=(0.0, 1.0))


def reliability_chart(found: Sequence[Reliability]) -> Chart:
    """Draw the share of right labels over confidence, where streams may be decided."""
    lines = {}
    for each in found:
        if each.is_record:
            word = "calibrated" if each.is_calibrated else "uncalibrated"
            lines[f"{word} (off by {each.error:.3f})"] = [(one.confidence, one.right) for one in each.bins]
    return evidence.reliability_chart(lines)


def importance_charts(measured: MeasuredProcedure) -> list[Chart]:
    """Draw what is lost, and what more is paid, if a column's readings are those of other streams."""
    lost = {each.column: each.accuracy for each in measured.importances}
    unit = PaidUnit.of([each.paid for each in measured.importances], measured.unit)
    more = {each.column: unit.of_paid(each.paid) for each in measured.importances}
    return [
        bar_chart("What each column tells: accuracy lost without it", lost, "share of all streams"),
        bar_chart("What each column saves: paid more without it", more, f"{unit.name} a stream"),
    ]


def channel_chart(measured: MeasuredProcedure) -> Chart:
    """Draw what each channel costs, or how many messages it takes where the cost is not known."""
    costs = {each["channel"]: each["cost"] for each in measured.facts["channels"]}
    if any(cost is None for cost in costs.values()):
        return bar_chart("What each channel sends", measured.traffic.channels, "messages a stream")
    unit = PaidUnit.of([cost or 0.0 for cost in costs.values()], measured.unit)
    known = {channel: unit.of_paid(cost or 0.0) for channel, cost in costs.items()}
    return bar_chart("What each channel costs to send", known, f"{unit.name} a stream")


def stream_charts(chosen: ChosenStream, measured: MeasuredProcedure) -> list[Chart]:
    """Draw a stream's readings, and the confidence in each class until it was decided."""
    decision, period = chosen.decision, measured.streams.period
    said = decision.label or "no label"
    at = (chosen.opening + decision.tick - 1) * period
    columns = list(chosen.readings)[:MOST_LINES]
    lines = [
        Line(column, (np.arange(len(values)) * period).tolist(), _standard(column, values, measured).tolist())
        for column in columns
        for values in [chosen.readings[column]]
    ]
    readings = line_chart(
        f"{decision.stream}: readings",
        lines,
        ("seconds", "standard deviations from the mean"),
        marks=[Mark(at, said)] if decision.tick else [],
    )
    if not chosen.confidence.size:
        return [readings]
    ticks = np.arange(1, len(chosen.confidence) + 1)
    usual = np.argsort(-chosen.confidence.max(axis=0), kind="stable")[:MOST_LINES]
    classes = [
        Line(measured.procedure.classes[i], ticks.tolist(), chosen.confidence[:, i].tolist())
        for i in sorted(usual)
    ]
    confidence = line_chart(
        f"{decision.stream}: confidence",
        classes,
        ("tick", "confidence"),
        y_limits=(0.0, 1.0),
        marks=[Mark(decision.tick, said)] if decision.tick else [],
    )
    return [readings, confidence]


def _standard(
    column: str, values: np.typing.NDArray[np.float64], measured: MeasuredProcedure
) -> np.typing.NDArray[np.float64]:
    """Return readings as distances from the mean of all streams, in standard deviations of these."""
    everything = measured.streams.column(column)
    spread = float(np.nanstd(everything)) or 1.0
    standard: np.typing.NDArray[np.float64] = (values - float(np.nanmean(everything))) / spread
    return standard
