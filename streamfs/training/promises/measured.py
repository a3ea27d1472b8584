"""What one threshold, settled beforehand, comes to on streams that took no part in its making."""

from typing import Any

import numpy as np
from scipy.special import betaincinv

from streamfs.errors import TrainingError
from streamfs.training.promises.search_and_certify import Frozen, Maker


def measured(maker: Maker, frozen: Frozen, threshold: float, risk: float) -> dict[str, Any]:
    """What a threshold comes to on the streams that were set apart, with lower bounds; plain JSON.

    Raises
    ------
    TrainingError
        If none of them gets a label.
    """
    curve = maker.curve(frozen, maker.division.testing)
    labelled, right = (int(counts[0]) for counts in curve.at(np.array([threshold])))
    if not labelled:
        raise TrainingError(f"none of the {curve.n_streams} streams that were set apart gets a label")
    point = curve.at_threshold(threshold)
    return {
        "threshold": threshold,
        "risk": risk,
        "streams": curve.n_streams,
        "labelled": labelled,
        "right": right,
        "accuracy": point.accuracy,
        "accuracy_at_least": lower_bound(right, labelled, risk),
        "completeness": point.completeness,
        "completeness_at_least": lower_bound(labelled, curve.n_streams, risk),
        "cost": point.cost,
        "ticks": point.ticks,
        "searched_on": len(maker.division.learning),
    }


def lower_bound(n_good: int, n: int, risk: float) -> float:
    """Least share of which so many good ones of n are not improbable (Clopper and Pearson).

    Examples
    --------
    >>> round(lower_bound(29, 29, 0.05), 3), lower_bound(0, 10, 0.05)
    (0.902, 0.0)
    """
    return float(betaincinv(n_good, n - n_good + 1, risk)) if n_good else 0.0
