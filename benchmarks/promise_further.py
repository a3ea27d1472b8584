"""Further simulated settings for the benchmarks of promises: one node, whose columns tell in different ways."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from feature_extractors.arrays import Array, Integers
from streamfs.data.streams import StreamSet

N_STREAMS, N_TICKS, PERIOD = 400, 40, 10.0
DEAR = 10.0

Draw = Callable[[np.random.Generator, Integers], Array]
"""From random numbers and the class of each stream to what is measured without noise, (n_streams, n_ticks, n_columns)."""


class Further(NamedTuple):
    """A setting.

    Parameters
    ----------
    draw : callable
        What columns measure of streams of each class, to which independent noise is added.
    columns : tuple of str
        Their names.
    noise : float
        Standard deviation of the noise.
    prices : mapping of str to float, optional
        Of messages.
    shares : tuple of float
        Shares of the classes.
    """

    draw: Draw
    columns: tuple[str, ...] = ("x",)
    noise: float = 1.0
    prices: Mapping[str, float] | None = None
    shares: tuple[float, ...] = (0.5, 0.5)

    def streams(self, n_streams: int, seed: tuple[int, ...]) -> StreamSet:
        """Draw streams."""
        random = np.random.default_rng(seed)
        classes = random.choice(len(self.shares), n_streams, p=self.shares)
        values = self.draw(random, classes)
        values = values + self.noise * random.standard_normal(values.shape)
        return StreamSet(values, classes.astype(np.str_), self.columns, PERIOD)


TICKS = np.arange(1, N_TICKS + 1)
LATE, BEGINNING, HALF, WIDTH = 20, 5, 30, 4


def shifts(classes: Integers, *levels: float) -> Array:
    """Return columns that are constant over all ticks, shifted in the last class by levels."""
    return np.tile((classes[:, np.newaxis, np.newaxis] * np.array(levels)), (1, N_TICKS, 1))


def steady(of_each: Array) -> Array:
    """Return columns that are constant over all ticks, given a level of each stream and column."""
    return np.repeat(of_each[:, np.newaxis], N_TICKS, axis=1)


def by_tick(classes: Integers, shape: Array) -> Array:
    """Return a column that follows a shape in the last class, and is 0 in the first."""
    return np.asarray((classes[:, np.newaxis] * shape)[:, :, np.newaxis])


def late(_: np.random.Generator, classes: Integers) -> Array:
    """Nothing tells before a tick."""
    return by_tick(classes, 2.0 * (TICKS >= LATE))


def growing(_: np.random.Generator, classes: Integers) -> Array:
    """What tells grows with the tick."""
    return by_tick(classes, 0.1 * TICKS)


def variance(random: np.random.Generator, classes: Integers) -> Array:
    """One class varies more."""
    return np.asarray(
        (1.2 * classes[:, np.newaxis] * random.standard_normal((len(classes), N_TICKS)))[:, :, np.newaxis]
    )


def burst(random: np.random.Generator, classes: Integers) -> Array:
    """One class has a burst at some tick."""
    begin = random.integers(1, N_TICKS - WIDTH, len(classes))[:, np.newaxis]
    return np.asarray(
        (4.0 * classes[:, np.newaxis] * ((begin <= TICKS) & (begin + WIDTH > TICKS)))[:, :, np.newaxis]
    )


def copy(random: np.random.Generator, classes: Integers) -> Array:
    """A dear column tells, and a cheap one is a copy of it with an error of its own in each stream."""
    level = 2.5 * classes + 0.5 * random.standard_normal(len(classes))
    return steady(np.stack([level, level + 1.2 * random.standard_normal(len(classes))], axis=1))


def misleading(random: np.random.Generator, classes: Integers) -> Array:
    """A third of the streams looks like the other class at first."""
    misled = (random.random(len(classes)) < 1.0 / 3.0)[:, np.newaxis] & (TICKS <= BEGINNING)
    return np.asarray(2.0 * np.where(misled, 1 - classes[:, np.newaxis], classes[:, np.newaxis])[:, :, np.newaxis])


def exclusive(random: np.random.Generator, classes: Integers) -> Array:
    """Two columns tell by whether they agree, and neither tells alone."""
    first = random.integers(0, 2, len(classes))
    return steady(1.5 * np.stack([2.0 * first - 1.0, 2.0 * (first ^ classes) - 1.0], axis=1))


def easy_and_hard(random: np.random.Generator, classes: Integers) -> Array:
    """A half is told at once, the other half late."""
    easy = random.random(len(classes)) < 0.5
    shape = np.where(easy[:, np.newaxis], 3.0, 3.0 * (TICKS >= HALF))
    return np.asarray((classes[:, np.newaxis] * shape)[:, :, np.newaxis])


def weak(_: np.random.Generator, classes: Integers) -> Array:
    """Six columns tell a little each."""
    return shifts(classes, *([0.3] * 6))


def noisy_columns(_: np.random.Generator, classes: Integers) -> Array:
    """One column tells, and five are noise."""
    return shifts(classes, 0.8, 0.0, 0.0, 0.0, 0.0, 0.0)


def rare(_: np.random.Generator, classes: Integers) -> Array:
    """A class of few streams."""
    return shifts(classes, 1.5, 0.5)


def three(_: np.random.Generator, classes: Integers) -> Array:
    """A cheap column tells one of three classes, and a dear one the two others apart."""
    return steady(np.stack([3.0 * (classes == 0), 3.0 * (classes == 1)], axis=1).astype(float))


FURTHER: Mapping[str, Further] = {
    "late": Further(late),
    "growing": Further(growing),
    "variance": Further(variance),
    "burst": Further(burst),
    "copy of a dear column": Further(copy, ("dear", "cheap"), 0.5, {"dear": DEAR}),
    "misleading beginning": Further(misleading),
    "exclusive or": Further(exclusive, ("x", "y")),
    "easy and hard": Further(easy_and_hard),
    "six weak": Further(weak, tuple("uvwxyz")),
    "one among noise": Further(noisy_columns, tuple("uvwxyz")),
    "rare": Further(rare, ("dear", "cheap"), 1.0, {"dear": DEAR}, (0.9, 0.1)),
    "three classes": Further(three, ("cheap", "dear"), 1.0, {"dear": DEAR}, (0.7, 0.15, 0.15)),
}
"""Settings by name; none was looked at before the search of promises was settled."""
