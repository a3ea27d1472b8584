"""Features whose values are multiples of a step, where the resolutions of sensors are declared."""

from collections.abc import Mapping, Sequence

import numpy as np

from feature_extractors.arrays import Array
from feature_extractors.base import Feature
from feature_extractors.report import split_channel
from streamfs.errors import TranslationError
from streamfs.translation.tables import PackedForest, whole_thresholds

COUNTS = ("count", "mean_crossings", "sign_runs", "longest_rise", "longest_fall", "peaks")
READINGS = ("last", "min", "max")
"""Kinds of features that are whole numbers, and those that are one of the readings."""


def step_of_values(feature: Feature, resolutions: Mapping[str, float]) -> float:
    """Return the step of which a feature's values are multiples; 0 if there is none."""
    if feature.kind.name in COUNTS:
        return 1.0
    if feature.kind.name not in READINGS:
        return 0.0
    column, policy = split_channel(feature.columns[0])
    if policy.kind == "flag":
        return 1.0
    if policy.kind == "quantised":
        return policy.value
    return 0.0 if policy.kind == "mean" else float(resolutions.get(column, 0.0))


def whole_forest(
    forest: PackedForest, features: Sequence[Feature], resolutions: Mapping[str, float]
) -> tuple[PackedForest, Array]:
    """Return a forest with whole thresholds, and the step of each feature that it tests, 0 of the others.

    Raises
    ------
    TranslationError
        If a tested feature's values are not multiples of a step, or a threshold is out of range.
    """
    steps = np.zeros(len(features))
    tested = forest.tables["features"] // 2
    for place in np.unique(tested).tolist():
        steps[place] = step_of_values(features[place], resolutions)
        if not steps[place]:
            name = features[place].name
            raise TranslationError(
                f"with resolutions all tested features are counts or readings, but {name} is not"
            )
    thresholds = whole_thresholds(forest.thresholds, steps[tested])
    if thresholds is None:
        raise TranslationError("a threshold is beyond 16 bits of the resolution, or at one of its multiples")
    return forest._replace(thresholds=thresholds), steps
