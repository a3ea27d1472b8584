"""Trees and forests that read how many of their thresholds a feature is above, in place of its value."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from feature_extractors.arrays import Array

if TYPE_CHECKING:
    from feature_extractors.base import Feature
    from streamfs.classifiers.classifier import Classifier
    from streamfs.classifiers.forest import Forest
    from streamfs.classifiers.tree import Tree

Tests = TypeVar("Tests", "Forest", "Tree")


class CountedThresholds(NamedTuple):
    """The thresholds with which features are compared, and the classifier that counts them.

    Parameters
    ----------
    levels : dict of int to ndarray
        Thresholds of each feature that is counted, ascending.
    classifier : Classifier
        Takes, of these features, how many thresholds are below a value, or NaN, and answers as to the value.
    """

    levels: dict[int, Array]
    classifier: "Classifier"


def counted(classifier: Tests, features: Collection[int]) -> CountedThresholds:
    """Count the thresholds of some features of a classifier whose tables have a test a row."""
    levels, thresholds = dict[int, Array](), classifier.threshold.copy()
    for feature in features:
        tests = classifier.feature == feature
        levels[feature] = np.unique(classifier.threshold[tests])
        thresholds[tests] = np.searchsorted(levels[feature], classifier.threshold[tests])
    return CountedThresholds(levels, replace(classifier, threshold=thresholds))


def levels_of(classifier: "Classifier", features: "Mapping[int, Feature]") -> list[Array]:
    """Return the thresholds of features by their places, none of those that read no column.

    Raise a TranslationError if the classifier reads one of them otherwise than by thresholds.
    """
    read = {place: feature.name for place, feature in features.items() if feature.columns}
    levels = classifier.counting(read).levels
    return [levels.get(place, np.zeros(0)) for place in features]
