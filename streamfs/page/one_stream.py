"""One stream: whether it is decided or what it waits for, how that came, and its decisions so far."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from streamfs.base.charts.chart import Chart
from streamfs.base.charts.lines import Line, Mark, line_chart
from streamfs.gateway.operations.courses import Course
from streamfs.page.tables import DECIDED, STATUSES
from streamfs.page.watched import Watched
from streamfs.page.why import threshold, why
from streamfs.page.words import visible

FORM = "form"
"""The name of what is no part of a page, but words for its form."""

MOST_CLASSES, MOST_DECISIONS, MOST_VALUES = 5, 20, 12
"""Classes that are drawn, decisions that are listed, and features whose values are."""


def parts(gateway: Watched, query: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return what the page of a stream shows, by template; raise a LookupError if there is no such stream."""
    table, name = gateway.rows().streams, query.get("name", "")
    row = table.row(name)
    stream = name if row is None else table.names[row]
    decisions = gateway.decisions([stream], MOST_DECISIONS).get(stream, [])
    form = {"stream": stream, "title": stream, "classes": []}
    history = {"stream": stream, "decisions": decisions}
    if row is not None:
        model = table.models[int(table.model[row])]
        form["classes"] = model["classes"]
        return {FORM: form, **_now(gateway, stream, row, model, decisions), "history": history}
    if not decisions:
        raise LookupError(f"there is no stream {visible(name)!r}")
    return {FORM: form, "verdict": {"status": "decided", "decision": decisions[0]}, "history": history}


def _now(
    gateway: Watched, stream: str, row: int, model: Mapping[str, Any], decisions: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return what is shown of a stream as it is now."""
    rows = gateway.rows()
    table, readings = rows.streams, rows.streams.readings(row)
    of = {word: column[row].item() for word, column in table.columns.items()}
    is_decided = of["status"] == DECIDED and decisions and decisions[0]["episode"] == of["episode"]
    last = decisions[0] if is_decided else None
    course = _newest(gateway.courses(stream), of["episode"])
    return {
        "verdict": {
            "of": of,
            "status": STATUSES[of["status"]],
            "decision": last,
            "reasons": why(model, of["status"], of["tick"], of["confidence"], readings),
        },
        "course": {
            "chart": None if course is None else course_chart(course, model, last),
            "said": [] if course is None else _said(gateway, model["digest"], course),
            "values": [] if course is None else _values(course),
        },
        "readings": {"readings": readings, "period": model["period"], "nodes": _nodes(rows.nodes, readings)},
    }


def _newest(courses: Sequence[Course], episode: int) -> Course | None:
    found = [course for course in courses if course.episode == episode and len(course.ticks)]
    return found[-1] if found else None


def course_chart(course: Course, model: Mapping[str, Any], decision: Mapping[str, Any] | None) -> Chart:
    """Draw the confidence in each class over the ticks, and the threshold that decides."""
    ticks = course.ticks.tolist()
    lines = [Line("confidence", ticks, course.confidences.tolist(), has_marks=True)]
    known = np.isfinite(course.probabilities).any(axis=0)
    if known.any():
        usual = np.argsort(-np.nanmax(course.probabilities[:, known], axis=0), kind="stable")[:MOST_CLASSES]
        lines = [
            Line(
                visible(course.classes[place], 24), ticks, course.probabilities[:, place].tolist(), has_marks=True
            )
            for place in sorted(np.flatnonzero(known)[usual].tolist())
        ]
    end = max(ticks[-1], 2)
    levels = [threshold(model, tick) for tick in range(1, end + 1)]
    if any(level is not None for level in levels):
        needed = [np.nan if level is None else level for level in levels]
        lines.append(Line("needed", range(1, end + 1), needed, is_stepped=True))
    marks = [] if decision is None else [Mark(decision["tick"], visible(decision["label"] or "no label", 24))]
    title = "How sure it is of each class, tick by tick"
    return line_chart(title, lines, ("tick", "confidence"), y_limits=(0.0, 1.0), x_limits=(0.0, end), marks=marks)


def _said(gateway: Watched, digest: str, course: Course) -> list[str]:
    """Return in words why the model says what it says at the newest tick that was looked at."""
    procedure = gateway.procedure(digest)
    if procedure is None or len(procedure.features) != len(course.features):
        return []
    values = np.asarray(course.values[-1], dtype=np.float64)
    return procedure.classifier.explain(values, course.features, course.classes)


def _values(course: Course) -> list[tuple[str, float]]:
    pairs = zip(course.features, course.values[-1].tolist(), strict=True)
    return list(pairs)[:MOST_VALUES]


def _nodes(nodes: Any, readings: Sequence[Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the nodes of a stream, and what they have spent."""
    found = []
    for name in dict.fromkeys(reading.node for reading in readings if reading.node):
        row = nodes.row(name)
        if row is not None:
            found.append((name, {word: column[row].item() for word, column in nodes.columns.items()}))
    return found
