"""Compare kernels in C with the same kernels compiled by numba, and print JSON lines and a table.

python benchmarks/kernels.py [PART ...]

CPU time of one process, in which both take turns; medians of fifteen turns. The results are equal to the bit, which
tests check.

- ``engine``: a sample, of ten features and a tree of 31 leaves (`benchmarks/engine.py`), in batches of a thousand by
  rows, by names, and one at a time
- ``joiner``: a reading of ten thousand nodes with two channels, one of which sends on change, with the ticks that
  fall due
- ``trees``: a random tree of 16 000 rows and a hundred features, and a tree of twenty features, a fiftieth missing
- ``relief``: the weights of forty features, of which a quarter has missing values; of eight, of few rows; and of probes
"""

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from engine import Ours
from figures import Figure, Parts, described, main

from feature_extractors._compiled import in_c
from streamfs.classifiers._extra_trees import WeightedRows, grow, whole
from streamfs.classifiers.c45 import C45Classifier
from streamfs.gateway.core.joiner import Joiner
from streamfs.gateway.core.reading_buffer import ReadingBuffer
from streamfs.gateway.core.timing import Timing
from streamfs.gateway.messages.codecs.reading import Reading
from streamfs.relief.measure import measure as measured
from streamfs.relief.neighbours import relieff_voting
from streamfs.relief.rows import ReliefRows, make_rows

ROOT = Path(__file__).parents[1]
sys.path[1:1] = [str(ROOT / "tests")]
backend: Any = import_module("helpers.backends").backend

COMPILERS = ("c", "numba")
N_TURNS = 15
SLOWEST = 1 / 0.97
"""How much longer kernels in C may take."""

Work = Callable[[], Any]


def compared(what: str, make: Callable[[], Work]) -> Figure:
    """Return the ratio of the times that a function takes, which is made once for each compiler."""
    if in_c() is None:
        raise RuntimeError("there are no kernels in C of these sources: make kernels")
    works: dict[str, Work] = {}
    for name in COMPILERS:
        with backend(name):
            works[name] = make()
            works[name]()
    took: dict[str, list[float]] = {name: [] for name in COMPILERS}
    for turn in range(N_TURNS):
        for name in COMPILERS[:: (-1) ** turn]:
            with backend(name):
                begin = process_time()
                works[name]()
                took[name].append(process_time() - begin)
    ours, peer = (median(took[name]) for name in COMPILERS)
    return Figure(
        f"{what}, C : numba", ours / peer, at_most=SLOWEST, detail=f"{ours * 1e3:.3g} : {peer * 1e3:.3g} ms"
    )


def repeated(work: Work, n: int) -> Work:
    """Return a function that does some work several times."""

    def all_of_it() -> None:
        for _ in range(n):
            work()

    return all_of_it


def engine() -> list[Figure]:
    return [
        compared("500 batches of 1000 samples, by rows", lambda: repeated(Ours().push_rows, 500)),
        compared("150 batches of 1000 samples, by names", lambda: repeated(Ours().push_batch, 150)),
        compared("10 000 samples, one at a time", lambda: repeated(Ours().push, 10)),
    ]


def joining() -> Work:
    """Return what takes the next readings of all nodes, which are made beforehand."""
    channels = "x", "y@delta:0.5"
    joiner = Joiner(channels, channels, Timing(1.0))
    nodes = [joiner.add_node() for _ in range(10_000)]
    slots = [(node, joiner.slot(node, channel)) for node in nodes for channel in channels]
    for node in nodes:
        joiner.add_stream({channel: joiner.slot(node, channel) for channel in channels})

    def readings(tick: int) -> ReadingBuffer:
        buffer = ReadingBuffer()
        for message, (node, slot) in enumerate(slots):
            buffer.add(Reading(float(tick), float(message), tick), node, slot, message, float(tick))
        return buffer

    ticks = iter([readings(tick) for tick in range(N_TURNS + 1)])

    def take() -> None:
        for _ in joiner.take(next(ticks)):
            pass

    return take


def joiner() -> list[Figure]:
    return [compared("20 000 readings, joined", joining)]


def trees() -> list[Figure]:
    rng, n = np.random.default_rng(0), 16_000
    labels = np.sort(rng.integers(0, 3, n))
    columns = np.where(rng.random((100, n)) < 0.02, np.nan, rng.normal(size=(100, n)) + 0.3 * labels)
    rows = WeightedRows(columns, whole(columns), labels, np.full(n, 1 / 16), 3, 10, 2.0, -1)
    table, few = columns[:20, ::4].T, columns[:8, ::64].T
    fits = {"4000 rows": (table, labels[::4], 1), "250 rows": (few, labels[::64], 20)}
    return [
        compared("10 random trees", lambda: repeated(lambda: grow(rows, 1), 10)),
        *(
            compared(f"C4.5 of {what}", lambda X=X, y=y, n=n: repeated(lambda: C45Classifier().fit(X, y), n))
            for what, (X, y, n) in fits.items()
        ),
    ]


def relief_rows(n_rows: int, n_features: int) -> ReliefRows:
    """Return rows of two classes, twelve of each stream, of which a tenth of some features is missing."""
    rng = np.random.default_rng(1)
    classes = np.arange(n_rows) % 2
    values = rng.normal(0.3 * classes[:, np.newaxis], 1.0, (n_rows, n_features))
    patchy = values[:, : n_features // 4]
    patchy[rng.random(patchy.shape) < 0.1] = np.nan
    return make_rows(values, classes, np.arange(n_rows) // 12, 1, None)


def relief() -> list[Figure]:
    rows, few = relief_rows(1900, 40), relief_rows(200, 8)
    probes = measured(np.random.default_rng(2).normal(size=(1900, 100)), np.zeros(100, bool), None)
    ends = np.linspace(1900 / 12, 1900, 12).astype(int)
    nearest = relieff_voting(np.bincount(rows.classes), 10)
    return [
        compared("Relief of 1900 rows, 12 positions", lambda: repeated(lambda: rows.weights(ends), 5)),
        compared("Relief of 200 rows", lambda: repeated(lambda: few.weights([200]), 50)),
        compared("ReliefF of 1900 rows", lambda: repeated(lambda: rows.mean_gains(nearest, [1900]), 5)),
        compared("100 probes of 1900 rows", lambda: repeated(lambda: rows.probe_weights(probes), 5)),
    ]


PARTS: Parts = {"engine": engine, "joiner": joiner, "trees": trees, "relief": relief}


section = partial(described, "Kernels in C compared with numba's", __file__, __doc__, PARTS)


if __name__ == "__main__":
    main(__doc__ or "", PARTS)
