"""A feature, a radio, a selector, a classifier, a stopping rule, a device, a codec and a history of one's own.

pip install ./examples/own_parts
streamfs train pairs.csv -o own.streamfs --feature 'middle(a.light)' --classifier nearest-mean
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import feature_extractors as fx
from streamfs.classifiers import Classifier, FileParts
from streamfs.costs import Profile
from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs.reading import Reading
from streamfs.procedure import Action, StoppingRule


def middle_of(values: np.ndarray, _times: np.ndarray) -> float:
    """Return the median of a column's newest samples; `values` has shape (n_samples, 1)."""
    return float(np.median(values))


middle = fx.python_feature(middle_of, ["any"], "middle", window=30)
RADIO = Profile("own_radio", wake=1e-3, transmit=2e-6)
DEVICE = Path(__file__).with_name("own_device.toml")


class Variance:
    """Rank features by how much they vary; made as any selector is, of which it needs nothing."""

    def __init__(self, _costs: object, **_options: object) -> None: ...

    def fit(self, table: object) -> "Variance":
        """Rank the features of a `FeatureTable`."""
        self.ranking_ = np.argsort(-np.nanvar(table.values, axis=(0, 1)))
        return self


@dataclass(frozen=True)
class NearestMean(Classifier):
    """The class whose mean is nearest; nearer means have more of the probability."""

    word = "nearest-mean"
    means: np.ndarray

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.means)

    def probabilities(self, values: np.ndarray) -> np.ndarray:
        """Return shares that fall with the distance, shape (n_rows, n_classes)."""
        gaps = np.nan_to_num(values[:, np.newaxis] - self.means)
        near = np.exp(-np.linalg.norm(gaps, axis=2))
        return near / near.sum(axis=1, keepdims=True)

    def features_tested(self) -> tuple[int, ...]:
        """Return all features."""
        return tuple(range(self.means.shape[1]))

    def to_file(self) -> FileParts:
        """Return the means for a model file."""
        return FileParts({}, {"means": self.means}, {})

    @classmethod
    def from_file(cls, parts: FileParts, _features: object, _classes: object) -> "NearestMean":
        """Read what `to_file` returned."""
        return cls(parts.arrays["means"])

    def describe(self) -> str:
        """Return a noun phrase for the model card."""
        return f"the nearest of {self.n_classes} means"


def learn(table: object) -> NearestMean:
    """Fit it to the last tick of each stream of a `FeatureTable`."""
    last = table.values[np.arange(len(table.lengths)), table.lengths - 1]
    return NearestMean(np.array([last[table.labels == label].mean(axis=0) for label in np.unique(table.labels)]))


@dataclass(frozen=True)
class Patient(StoppingRule):
    """Wait for some ticks, and decide then."""

    word = "patient"
    patience: int

    def actions(self, ticks: np.ndarray, probabilities: np.ndarray) -> np.ndarray:  # noqa: ARG002 - how sure it is
        """Return what to do with each stream."""
        return np.where(ticks >= self.patience, Action.DECIDE, Action.WAIT)


class Percent:
    """Payloads such as ``37 %``."""

    def __init__(self, fields: object) -> None: ...

    def decode(self, payload: bytes, arrival: float, content_type: str = "") -> Reading:  # noqa: ARG002 - as codecs
        """Return the share that a payload states."""
        try:
            return Reading(arrival, float(payload.decode().removesuffix("%")) / 100.0, None)
        except ValueError:
            raise PayloadError(f"payload is {payload[:20]!r}, expected a number and %", "number") from None


def notes(path: Path, _time_zone: str) -> Iterator[tuple[str, float, str, float]] | None:
    """Yield stream, seconds, sensor and value of the lines of a file ``*.notes``; None for another file."""
    return map(noted, path.read_text(encoding="utf-8").splitlines()) if path.suffix == ".notes" else None


def noted(line: str) -> tuple[str, float, str, float]:
    """Read a line such as ``kitchen 10.5 warmth 21``."""
    stream, time, sensor, value = line.split()
    return stream, float(time), sensor, float(value)
