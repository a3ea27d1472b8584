"""Official splits of the UCR and UEA archives: those in the folder ``ucr`` of the data, and those that come with aeon."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from figures import load_peer

from streamfs.experiments.early.series import LabelledSeries, Split
from streamfs.experiments.early.sets import sets_in

BUNDLED = ("UnitTest", "ItalyPowerDemand", "GunPoint", "ArrowHead", "BasicMotions")
"""Sets that come with aeon."""


def bundled(name: str) -> Split:
    """Load a set that comes with aeon."""
    load = partial(load_peer("aeon.datasets").load_classification, name)
    parts = (load(split=part) for part in ("train", "test"))
    return Split(
        *(
            LabelledSeries(np.asarray(values, dtype=np.float64).transpose(0, 2, 1), labels.astype(np.str_))
            for values, labels in parts
        )
    )


def sets(has_aeon: bool) -> Mapping[str, Callable[[int], Split]]:
    """How each available set is loaded, by its name."""
    found: dict[str, Callable[[int], Split]] = {}
    if has_aeon:
        found |= {name: lambda _, name=name: bundled(name) for name in BUNDLED}
    if "STREAMFS_DATA" in os.environ:
        there = sets_in(Path(os.environ["STREAMFS_DATA"]) / "ucr")
        found |= {name: files.split for name, files in there.items() if name not in found}
    return found
