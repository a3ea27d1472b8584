"""Labelled series for early classification: official splits of the UCR and UEA archives, as recorded or disturbed."""

import gzip
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from figures import load_peer

from feature_extractors.base import Array
from streamfs import StreamSet
from streamfs.data.streams import Labels

LATEST_START, SCALE_SPREAD, NOISE = 0.3, 0.3, 0.03
"""A disturbed series starts late by up to this share, after noise; its scale is drawn from a log-normal."""

BUNDLED = ("UnitTest", "ItalyPowerDemand", "GunPoint", "ArrowHead", "BasicMotions")
"""Sets that come with aeon."""

IN_FOLDER = ("GunPoint", "ItalyPowerDemand", "CBF", "Coffee", "ECGFiveDays", "SonyAIBORobotSurface1")
"""Sets of the folder ``ucr`` of the data."""

TRAIN, TEST = "train", "test"


class Series(NamedTuple):
    """Values of shape (n_series, n_ticks, n_columns), and their classes."""

    values: Array
    labels: Labels

    def streams(self) -> StreamSet:
        return StreamSet(self.values, self.labels, [f"x{c}" for c in range(self.values.shape[2])])

    def disturbed(self, seed: int) -> "Series":
        """Start each series late, on noise, with a scale and an offset of its own for each column."""
        rng, found = np.random.default_rng(seed), np.empty_like(self.values)
        n_ticks = self.values.shape[1]
        for series, out in zip(self.values, found, strict=True):
            late = rng.integers(0, int(LATEST_START * n_ticks) + 1)
            scale, offset = np.exp(rng.normal(0, SCALE_SPREAD, series.shape[1])), rng.normal(size=series.shape[1])
            moved = series * scale + offset
            steps = NOISE * moved.std(axis=0) * rng.normal(size=(late, series.shape[1]))
            before = moved[0] + steps.cumsum(axis=0)[::-1]
            out[:] = np.concatenate([before, moved])[:n_ticks]
        return Series(found, self.labels)

    def sample(self, most: int, seed: int) -> "Series":
        """Draw some of the series, in their order."""
        if len(self.labels) <= most:
            return self
        drawn = np.sort(np.random.default_rng(seed).choice(len(self.labels), most, replace=False))
        return Series(self.values[drawn], self.labels[drawn])


class Split(NamedTuple):
    """Train and test series of a set."""

    train: Series
    test: Series

    def disturbed(self, seed: int) -> "Split":
        return Split(self.train.disturbed(2 * seed), self.test.disturbed(2 * seed + 1))


def path_of(name: str, part: str) -> Path:
    return Path(os.environ["STREAMFS_DATA"]) / "ucr" / f"{name}_{part}.tsv.gz"


def from_folder(name: str, part: str) -> Series:
    """Read a set from a file with a line of names, and of each series its class and its values."""
    with gzip.open(path_of(name, part), "rt") as lines:
        rows = np.loadtxt(lines, skiprows=1)
    return Series(rows[:, 1:, np.newaxis], rows[:, 0].astype(int).astype(np.str_))


def bundled(name: str, part: str) -> Series:
    """Load a set that comes with aeon."""
    values, labels = load_peer("aeon.datasets").load_classification(name, split=part)
    return Series(np.asarray(values, dtype=np.float64).transpose(0, 2, 1), labels.astype(np.str_))


def split(load: Callable[[str], Series]) -> Split:
    return Split(load(TRAIN), load(TEST))


def sets(has_aeon: bool) -> Mapping[str, Callable[[], Split]]:
    """How each available set is loaded, by its name."""
    names = {name: partial(bundled, name) for name in BUNDLED if has_aeon}
    if "STREAMFS_DATA" in os.environ:
        there = [name for name in IN_FOLDER if name not in names and path_of(name, TRAIN).exists()]
        names |= {name: partial(from_folder, name) for name in there}
    return {name: partial(split, load) for name, load in names.items()}
