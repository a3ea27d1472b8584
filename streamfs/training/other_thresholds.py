"""What held-out streams show: what other thresholds would do, and how often a confidence is right."""

from typing import Any

import numpy as np

from streamfs.classifiers.crossings import levels_of
from streamfs.costs.pricing import Pricing
from streamfs.data.feature_table import tabulate
from streamfs.data.streams import StreamSet
from streamfs.evaluation.reliability import binned
from streamfs.evaluation.trajectories import Trajectories
from streamfs.procedure.procedure import Procedure
from streamfs.training.cross_validation import class_indices
from streamfs.training.held_out import Followed

N_LEVELS = 16
"""Most thresholds that are compared."""


def other_thresholds(followed: Followed) -> dict[str, Any]:
    """Return completeness, accuracy and costs by threshold, and the share of right labels by confidence."""
    records = followed.records()
    bins = binned(records.confidence, records.is_right, records.weights)
    levels = np.unique(np.quantile(records.confidence, np.linspace(0.0, 1.0, N_LEVELS), method="higher"))
    return {
        "streams": len(followed.truth),
        "thresholds": [_point(followed, level) for level in levels.tolist()],
        "confidence": [each._asdict() for each in bins],
    }


def _point(followed: Followed, level: float) -> dict[str, float]:
    labels, n_columns = followed.trajectories.decide(level)
    is_labelled = labels >= 0
    paid = followed.spent[np.arange(len(labels)), np.maximum(n_columns, 1) - 1]
    return {
        "threshold": level,
        "completeness": float(is_labelled.mean()),
        "accuracy": float((labels == followed.truth)[is_labelled].mean()),
        "paid": float(paid.mean()),
    }


def follow_priced(procedure: Procedure, streams: StreamSet, pricing: Pricing) -> Followed:
    """Follow streams that a procedure was not trained on up to its time limit, with what they would have sent."""
    table = tabulate(streams, procedure.features, procedure.max_silence)
    trajectories = Trajectories.of(procedure.classifier, table, procedure.time_limit)
    n_ticks = trajectories.confidence.shape[1]
    spending, features = pricing.spending_of(streams, table), procedure.features
    levels = levels_of(procedure.classifier, dict(enumerate(features))) if spending.counts_levels else None
    spent = spending.until(features, levels)[:, :n_ticks]
    truth = class_indices(table, np.asarray(procedure.classes))
    return Followed(trajectories, truth, spent, np.arange(1, n_ticks + 1), len(procedure.classes))
