"""How long training takes with nothing set, in CPU seconds of all threads and processes.

STREAMFS_DATA=... python benchmarks/training.py [PART ...]
"""

import os

import numpy as np
from early_sets import sets
from figures import Figure, Parts, main, measure, processor, seconds, table

import feature_extractors as fx
from streamfs import StreamSet, train
from streamfs.cli.console import say
from streamfs.data.datasets import load
from streamfs.experiments.early.methods import is_installed

LONGEST, LONGEST_PUBLIC = 60.0, 1.0
N_GIVEN = 40


def cpu() -> float:
    """Return the CPU seconds of this process and its children."""
    return sum(os.times()[:4])


def made(n_streams: int, n_ticks: int) -> StreamSet:
    """Make streams of four noisy columns: a level and a trend differ by class, two columns are uninformative."""
    labels = np.arange(n_streams) % 2
    values = np.random.default_rng(0).normal(size=(n_streams, n_ticks, 4))
    values[:, :, 0] += 0.3 * labels[:, np.newaxis]
    values[:, :, 1] += 0.02 * labels[:, np.newaxis] * np.arange(n_ticks)
    return StreamSet(values, labels.astype(str), list("abcd"))


def figure(
    what: str, streams: StreamSet, at_most: float | None, features: list[fx.Feature] | None = None
) -> Figure:
    """Train once, and measure it."""
    say(what)
    train(made(60, 20), features=features, seed=0)  # compiles
    shape = " x ".join(map(str, streams.values.shape))
    taken = seconds(lambda: train(streams, features=features, seed=0), clock=cpu)
    return Figure(f"s, {what}", taken, at_most=at_most, detail=f"{shape} (streams, ticks, columns)")


def large() -> list[Figure]:
    """Train on many streams, with the default features and with given ones."""
    streams = made(2000, 200)
    given = fx.catalogue(streams.columns, fx.ESSENTIAL)[:N_GIVEN]
    return [
        figure("made-up streams, default features", streams, LONGEST),
        figure(f"made-up streams, {N_GIVEN} features", streams, LONGEST, given),
    ]


def public() -> list[Figure]:
    """Train on the official train series of public sets."""
    splits = {name: read(0) for name, read in sets(is_installed("aeon PT")).items()}
    return [figure(name, split.train.streams(), LONGEST_PUBLIC) for name, split in splits.items()]


def motes() -> list[Figure]:
    """Train on pairs of real motes."""
    return [figure("room_climate", load("room_climate").split(3)[0], None)]


PARTS: Parts = {"large": large, "public": public, "motes": motes}


def section() -> str:
    return f"""
## The time to train

`STREAMFS_DATA=... python benchmarks/training.py`: `train(streams)`, compiled, once, in CPU seconds of all threads on a machine that others
use as well, where the same work takes more CPU time than on an idle one. Public sets are the train series of the part on early
classification; room_climate are pairs of real motes.

{table(measure(PARTS))}

{processor()}
"""


if __name__ == "__main__":
    main(__doc__ or "", PARTS)
