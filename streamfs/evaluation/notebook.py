"""What a notebook shows of an evaluation."""

from math import isnan
from typing import TYPE_CHECKING

from streamfs.base.charts.chart import table
from streamfs.base.charts.notebook import block

if TYPE_CHECKING:
    from streamfs.evaluation.evaluation import Evaluation


def evaluation_html(evaluation: "Evaluation") -> str:
    """Return the figures of an evaluation as tables: of all streams, and by class."""
    found, classes = evaluation.summary(), evaluation.by_class()
    rule = evaluation.rule.word if isnan(evaluation.confidence) else f"confidence {evaluation.confidence:g}"
    line = f"Evaluation on {len(evaluation.decisions)} streams, decided by {rule}"
    parts = [("Figures", table(("figure", "value"), [(name, float(value)) for name, value in found.items()]))]
    if classes:
        header = tuple(classes[0])
        rows = [tuple(row[name] if name == "class" else float(row[name]) for name in header) for row in classes]
        parts.append(("By class", table(header, rows)))
    return block(line, parts)
