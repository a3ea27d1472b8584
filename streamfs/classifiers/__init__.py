"""Classifiers; those that serve are imported without those that learn."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamfs.classifiers.c45 import C45Classifier
    from streamfs.classifiers.calibration import Calibration
    from streamfs.classifiers.extra_trees import ExtraTreesClassifier
    from streamfs.classifiers.forest import Forest
    from streamfs.classifiers.kernel_density import KernelDensityClassifier
    from streamfs.classifiers.neighbours import NeighborsClassifier
    from streamfs.classifiers.online import OnlineClassifier

_HOMES = {
    "C45Classifier": "streamfs.classifiers.c45",
    "Calibration": "streamfs.classifiers.calibration",
    "ExtraTreesClassifier": "streamfs.classifiers.extra_trees",
    "Forest": "streamfs.classifiers.forest",
    "KernelDensityClassifier": "streamfs.classifiers.kernel_density",
    "NeighborsClassifier": "streamfs.classifiers.neighbours",
    "OnlineClassifier": "streamfs.classifiers.online",
}
"""Where each public name lives: imported on first use."""

__all__ = [
    "C45Classifier",
    "Calibration",
    "ExtraTreesClassifier",
    "Forest",
    "KernelDensityClassifier",
    "NeighborsClassifier",
    "OnlineClassifier",
]


def __getattr__(name: str) -> object:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'streamfs.classifiers' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
