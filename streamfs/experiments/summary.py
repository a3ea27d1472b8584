"""Summaries of outcomes over seeds: means, intervals, comparisons and what a person reads of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import t as student

from feature_extractors.arrays import Array
from streamfs.experiments.outcome import COST_BASED, MEASURES, NAIVE, RELIEF, STREAM_RELIEF, Outcome


def summarise(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Take means over seeds by method and threshold, with half 95 % confidence intervals (Student's t) as ``_ci``.

    The mean of the accuracy leaves out seeds in which no stream got a label; all means leave out those of the
    ``seeds`` in which the promise was ``refused``.
    """
    cells: dict[tuple[str, float], list[Outcome]] = {}
    for outcome in outcomes:
        cells.setdefault((outcome.method, outcome.confidence), []).append(outcome)
    rows = []
    for (method, confidence), cell in cells.items():
        row: dict[str, Any] = {"method": method, "confidence": confidence, "seeds": len(cell)}
        row["refused"] = sum(np.isnan(outcome.completeness) for outcome in cell)
        for measure in MEASURES:
            values = np.array([getattr(outcome, measure) for outcome in cell], dtype=np.float64)
            row[measure], row[f"{measure}_ci"] = mean_and_interval(values[~np.isnan(values)])
        rows.append(row)
    return rows


def mean_and_interval(values: Array) -> tuple[float, float]:
    """Return the mean, and half the width of its 95 % confidence interval (Student's t)."""
    n = len(values)
    if not n:
        return float("nan"), float("nan")
    half = float(student.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    return float(values.mean()), half


def compare_with_cheapest(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Compare StreamRelief at each threshold with the cheapest other method, except StreamRelief as printed.

    Cost and messages are shares of that method's; completeness and accuracy are differences.
    """
    found = []
    for own in (row for row in rows if row["method"] == STREAM_RELIEF):
        others = [
            row
            for row in rows
            if row["confidence"] == own["confidence"] and row["method"] in (NAIVE, COST_BASED, RELIEF)
        ]
        if others:
            cheapest = min(others, key=lambda row: float(row["cost"]))
            found.append(
                {
                    "confidence": own["confidence"],
                    "cheapest_other": cheapest["method"],
                    "cost_ratio": own["cost"] / cheapest["cost"] if cheapest["cost"] else float("nan"),
                    "sent_ratio": own["sent"] / cheapest["sent"] if cheapest["sent"] else float("nan"),
                    "completeness_gap": own["completeness"] - cheapest["completeness"],
                    "accuracy_gap": own["accuracy"] - cheapest["accuracy"],
                }
            )
    return found


def shorten(rows: Sequence[Mapping[str, Any]], most: int = 6) -> list[dict[str, str]]:
    """Shorten a summary to a readable table: means with intervals at `most` evenly spread thresholds."""
    thresholds = sorted({row["confidence"] for row in rows})
    spread = np.unique(np.linspace(0, len(thresholds) - 1, min(most, len(thresholds))).round().astype(int))
    kept = {thresholds[index] for index in spread}
    return [
        {
            "confidence": f"{row['confidence']:g}",
            "method": row["method"],
            **{name: with_interval(row, name) for name in ("completeness", "accuracy", "cost")},
            "sent": f"{row['sent']:.3g}",
            "tested": f"{row['n_tested']:.3g}",
        }
        for row in sorted(rows, key=lambda row: row["confidence"])
        if row["confidence"] in kept
    ]


def refusal_notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say how many promises were refused at which thresholds.

    Examples
    --------
    >>> refusal_notes([{"method": "promise", "confidence": 0.95, "refused": 1, "seeds": 2}])
    ['promise at 0.95: refused in 1 of 2 splits, which the means leave out']
    """
    return [
        f"{row['method']} at {row['confidence']:g}: refused in {row['refused']} of {row['seeds']} splits, which "
        "the means leave out"
        for row in rows
        if row["refused"]
    ]


def with_interval(row: Mapping[str, Any], name: str) -> str:
    """Write a mean of a summary with half the width of its interval, if it has one.

    Examples
    --------
    >>> with_interval({"cost": 12.345, "cost_ci": 1.66}, "cost")
    '12.3 ±1.7'
    """
    half = row[f"{name}_ci"]
    return f"{row[name]:.3g}" if np.isnan(half) else f"{row[name]:.3g} ±{half:.2g}"
