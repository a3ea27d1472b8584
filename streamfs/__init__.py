"""Decide early and cheaply what a stream of sensor readings is."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamfs.classifiers.c45 import C45Classifier
    from streamfs.costs.costs import Costs
    from streamfs.data.feature_table import FeatureTable, tabulate
    from streamfs.data.streams import StreamSet
    from streamfs.engine.engine import Engine
    from streamfs.evaluation.evaluation import Evaluation, evaluate
    from streamfs.procedure.procedure import Decision, Procedure
    from streamfs.relief import Relief, ReliefF, StreamRelief
    from streamfs.training.promises import Promise, PromiseError
    from streamfs.training.training import train

_HOMES = {
    "C45Classifier": "streamfs.classifiers.c45",
    "Costs": "streamfs.costs.costs",
    "Decision": "streamfs.procedure.procedure",
    "Engine": "streamfs.engine.engine",
    "Evaluation": "streamfs.evaluation.evaluation",
    "FeatureTable": "streamfs.data.feature_table",
    "Procedure": "streamfs.procedure.procedure",
    "Promise": "streamfs.training.promises",
    "PromiseError": "streamfs.training.promises",
    "Relief": "streamfs.relief",
    "ReliefF": "streamfs.relief",
    "StreamRelief": "streamfs.relief",
    "StreamSet": "streamfs.data.streams",
    "evaluate": "streamfs.evaluation.evaluation",
    "tabulate": "streamfs.data.feature_table",
    "train": "streamfs.training.training",
}
"""Where each public name lives: imported on first use, so that what serves does not load what learns."""

__all__ = [
    "C45Classifier",
    "Costs",
    "Decision",
    "Engine",
    "Evaluation",
    "FeatureTable",
    "Procedure",
    "Promise",
    "PromiseError",
    "Relief",
    "ReliefF",
    "StreamRelief",
    "StreamSet",
    "evaluate",
    "tabulate",
    "train",
]


def __getattr__(name: str) -> object:
    """Import a public name on first use."""
    if name == "__version__":
        return import_module("importlib.metadata").version("streamfs")
    if name not in _HOMES:
        raise AttributeError(f"module 'streamfs' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
