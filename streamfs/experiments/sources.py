"""Where the train and test streams of Figure 2 come from: a simulator, a recording, or a file."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from feature_extractors.base import Feature
from sensors_sim.same_source import SameSource
from streamfs.data import datasets
from streamfs.data.default_features import default_features
from streamfs.data.streams import StreamSet


class SplitSource(ABC):
    """A source of train and test streams."""

    @abstractmethod
    def split(self, seed: int) -> tuple[StreamSet, StreamSet]:
        """Draw train streams, and test streams."""

    def features(self, training: StreamSet) -> Sequence[Feature]:
        """Return the features that the methods choose from, the default ones."""
        return default_features(training)


@dataclass(frozen=True)
class Motes(SplitSource):
    """Simulated pairs of motes in one building.

    Places and their climate are those of `SameSource`, but the motes are TelosB nodes that are not calibrated
    against each other: their sensors are accurate to 0.4 degrees, 3 % of humidity (the data sheet's tolerance,
    about two standard deviations) and some 15 % of light. Offsets, which also depend on the place in the room,
    therefore have a standard deviation of 0.3 degrees, 2 % and 30 lux. A level says too little for a high
    confidence at the first tick; that two motes rise and fall together shows only with time, the trade-off that
    the paper studies. All this was fixed with the other methods alone, before StreamRelief was run on it.
    `noise` is a factor on the noise of every sensor, and `period` the seconds of a tick.
    """

    noise: float = 1.0
    n_training: int = 240
    n_testing: int = 500
    n_ticks: int = 60
    period: float = 10.0

    def split(self, seed: int) -> tuple[StreamSet, StreamSet]:
        """Simulate train pairs, and test pairs."""
        law = SameSource().uncalibrated(self.noise)
        rng = np.random.default_rng(seed)
        training, testing = (
            StreamSet(*law.sample(n_pairs, self.n_ticks, self.period, rng))
            for n_pairs in (self.n_training, self.n_testing)
        )
        return training, testing


@dataclass(frozen=True)
class RecordedPairs(SplitSource):
    """Pairs made from a recording, one of `streamfs.data.datasets.NAMES`."""

    name: str

    def split(self, seed: int) -> tuple[StreamSet, StreamSet]:
        """Make train pairs of one half of the recorded time, and test pairs of the other."""
        return datasets.load(self.name).split(seed)

    def features(self, training: StreamSet) -> Sequence[Feature]:
        """Return the default features of two columns: one column alone might identify one of the few places."""
        return [feature for feature in default_features(training) if len(feature.columns) == 2]


@dataclass(frozen=True)
class LabelledFile(SplitSource):
    """Labelled streams of a CSV or Parquet file, as `StreamSet.read` reads them."""

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path).resolve())  # a worker may run in another folder

    def split(self, seed: int) -> tuple[StreamSet, StreamSet]:
        """Split the streams in two at random, half of each class in either part."""
        return StreamSet.read(self.path).split(0.5, seed)
