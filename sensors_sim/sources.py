"""Physical processes that sensors measure, with many independent realisations at once."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from feature_extractors.arrays import Array


class Source(Protocol):
    """A distribution of physical processes."""

    def sample(self, n_sources: int, n_ticks: int, period: float, rng: np.random.Generator) -> Array:
        """Return independent sources, shape (n_sources, n_ticks), one tick every `period` seconds."""


@dataclass(frozen=True)
class Autoregressive:
    """A stationary Gaussian process of first order, whose autocorrelation falls to 1/e in `memory` seconds."""

    deviation: float
    memory: float

    def __post_init__(self) -> None:
        if self.deviation < 0:
            raise ValueError(f"deviation is {self.deviation}, expected at least 0")
        if self.memory <= 0:
            raise ValueError(f"memory is {self.memory}, expected seconds, more than 0")

    def sample(self, n_sources: int, n_ticks: int, period: float, rng: np.random.Generator) -> Array:
        """Return independent sources, shape (n_sources, n_ticks), one tick every `period` seconds."""
        kept = np.exp(-period / self.memory)
        shocks = self.deviation * rng.standard_normal((n_sources, n_ticks))
        shocks[:, 1:] *= np.sqrt(1 - kept**2)
        return _filter(shocks, kept)


@dataclass(frozen=True)
class DailyCycle:
    """A sine with the period of a day; each source has a random phase and its own amplitude.

    `amplitude_spread` is the amplitude's standard deviation as a share of its mean, and `day` is in seconds.
    """

    amplitude: float
    amplitude_spread: float = 0.1
    day: float = 86400.0

    def __post_init__(self) -> None:
        if self.amplitude < 0 or self.amplitude_spread < 0:
            raise ValueError(
                f"amplitude and its spread are {self.amplitude} and {self.amplitude_spread}, expected at least 0"
            )
        if self.day <= 0:
            raise ValueError(f"day is {self.day}, expected seconds, more than 0")

    def sample(self, n_sources: int, n_ticks: int, period: float, rng: np.random.Generator) -> Array:
        """Return independent sources, shape (n_sources, n_ticks), one tick every `period` seconds."""
        phase = rng.uniform(size=(n_sources, 1))
        amplitude = self.amplitude * (1 + self.amplitude_spread * rng.standard_normal((n_sources, 1)))
        found: Array = amplitude * np.sin(2 * np.pi * (period / self.day * np.arange(n_ticks) + phase))
        return found


@dataclass(frozen=True)
class EventBursts:
    """Events at random times, each a jump of random height that decays; stationary from its first tick.

    Onsets are a Poisson process, of `rate` per second, and heights are exponential; a jump falls to 1/e in `decay`
    seconds. So the level at any tick has a gamma distribution with shape ``rate * decay`` and scale ``height``.
    """

    rate: float
    height: float
    decay: float

    def __post_init__(self) -> None:
        if self.rate < 0 or self.height < 0:
            raise ValueError(f"rate and height are {self.rate} and {self.height}, expected at least 0")
        if self.decay <= 0:
            raise ValueError(f"decay is {self.decay}, expected seconds, more than 0")

    def sample(self, n_sources: int, n_ticks: int, period: float, rng: np.random.Generator) -> Array:
        """Return independent sources, shape (n_sources, n_ticks), one tick every `period` seconds."""
        shape = rng.poisson(self.rate * period, (n_sources, n_ticks)).astype(np.float64)
        shape[:, :1] = self.rate * self.decay
        return _filter(rng.gamma(shape, self.height), np.exp(-period / self.decay))


@dataclass(frozen=True)
class Sum:
    """The sum of independent processes."""

    parts: tuple[Source, ...]

    def sample(self, n_sources: int, n_ticks: int, period: float, rng: np.random.Generator) -> Array:
        """Return independent sources, shape (n_sources, n_ticks), one tick every `period` seconds."""
        total = np.zeros((n_sources, n_ticks))
        for part in self.parts:
            total += part.sample(n_sources, n_ticks, period, rng)
        return total


def _filter(shocks: Array, kept: float) -> Array:
    """Add to each tick's shock the kept share of the previous tick."""
    levels = np.array(shocks.T, order="C")  # scipy.signal.lfilter does the same, but takes long to import
    for tick in range(1, len(levels)):
        levels[tick] += kept * levels[tick - 1]
    return np.ascontiguousarray(levels.T)
