"""Compare the engine with River and with the speed of memory, and print JSON lines and a table.

python benchmarks/engine.py [PART ...]

A thousand streams of two columns, ten features (ticks, mean, variance, minimum, maximum, slope, exponentially weighted
mean, correlation, mean absolute difference, flag agreement) and a tree of 31 leaves that never reaches the confidence, so
that every sample is a tick of an open stream. The peer is River with its ten nearest statistics, `StandardScaler`,
`HoeffdingTreeClassifier` of 31 leaves and a threshold, in a dict by the stream's name (`engine_river.py`). One thread; CPU
time; ours and the peer alternate, five times, and medians are quoted.

- ``river``: samples a second in batches of a thousand, by rows and by names, and one at a time
- ``length``: a tick of streams with ten thousand ticks, compared with one of streams with ten
- ``memory``: a sample at a million streams, compared with only reading and writing its stream's bytes
- ``pauses``: the time that a new stream and an expiry take at a million streams

What limits a sample at a million streams: in the order of rows memory is prefetched, and the work alone, all in the cache,
takes about four times as long as reading and writing the bytes; in random order it is the latency of the stream's cache
lines, of which the benchmark's lower bound waits for as many at once as the core can.
"""

from functools import partial
from statistics import median
from time import process_time

import numpy as np
import numpy.typing as npt
from figures import N_TURNS, Figure, Parts, described, main, repeats, seconds, versus
from numba import njit

import feature_extractors as fx
from feature_extractors import Program
from feature_extractors.arrays import Array
from streamfs import Costs, Engine, Procedure
from streamfs.classifiers.tree import Tree

FEATURES = (
    *("count()", "mean(a)", "variance(a)", "min(a)", "max(a)", "slope(a)", "exponential_mean(a)"),
    *("correlation(a,b)", "mean_absolute_difference(a,b)", "flag_agreement(a,b)"),
)
N_STREAMS, N_LEAVES, N_MANY = 1000, 31, 1_000_000
NAMES = [f"stream-{i:07d}" for i in range(N_STREAMS)]
FOR_EVER = 2**40


def procedure(time_limit: int = FOR_EVER) -> Procedure:
    """Ten features and a balanced tree."""
    rng = np.random.default_rng(1)
    n_nodes, tests = 2 * N_LEAVES - 1, range(N_LEAVES - 1)
    n_leaves = n_nodes - len(tests)
    tree = Tree.from_json(
        {
            "feature": [*rng.integers(1, len(FEATURES), len(tests)).tolist(), *[-1] * n_leaves],
            "nominal": [False] * n_nodes,
            "threshold": [*rng.normal(0.0, 0.3, len(tests)).tolist(), *[0.0] * n_leaves],
            "first_child": [*(2 * node + 1 for node in tests), *[0] * n_leaves],
            "n_children": [*[2] * len(tests), *[0] * n_leaves],
            "code": [0.0] * n_nodes,
            "share": [1.0, *[0.5] * (n_nodes - 1)],
            "counts": rng.integers(1, 50, (n_nodes, 2)).astype(float).tolist(),
            "laplace": True,
        }
    )
    features = tuple(fx.get(name) for name in FEATURES)
    return Procedure(features, tree, ("off", "on"), Costs(np.ones(len(features))), 1.0, time_limit)


class Ours:
    """An engine, its streams' rows, and samples that repeat."""

    def __init__(self, n_streams: int = N_STREAMS, n_batch: int = N_STREAMS) -> None:
        self.engine = Engine(procedure())
        names = NAMES if n_streams == N_STREAMS else (f"stream-{i:07d}" for i in range(n_streams))
        self.rows = np.array([self.engine.row(name) for name in names])
        self.samples = np.random.default_rng(2).normal(size=(50, n_batch, 2))
        self.time = -1
        self.push_rows()

    def next_samples(self) -> Array:
        self.time += 1
        return self.samples[self.time % len(self.samples)]

    def push_rows(self) -> None:
        samples, n = self.next_samples(), self.samples.shape[1]
        for start in range(0, len(self.rows), n):
            self.engine.push_rows(self.rows[start : start + n], float(self.time), samples)

    def push_batch(self) -> None:
        samples = self.next_samples()
        self.engine.push_batch(NAMES, np.full(len(NAMES), float(self.time)), samples)

    def push(self) -> None:
        samples, push, time = self.next_samples().tolist(), self.engine.push, float(self.time)
        for name, sample in zip(NAMES, samples, strict=True):
            push(name, time, sample)


def river() -> list[Figure]:
    from engine_river import Peer  # noqa: PLC0415 - River is loaded only where it is measured

    peer, samples = Peer(), np.random.default_rng(2).normal(size=(N_STREAMS, 2)).tolist()
    time = 0.0

    def theirs() -> None:
        nonlocal time
        time += 1.0
        for name, (a, b) in zip(NAMES, samples, strict=True):
            peer.take(name, time, a, b)

    ours = Ours()
    ways = [
        ("by rows, in batches of 1000", ours.push_rows, 250),
        ("by names, in batches of 1000", ours.push_batch, 60),
        ("by name, one at a time", ours.push, 15),
    ]
    figures = []
    for what, way, target in ways:
        found = versus(way, theirs)
        detail = f"{N_STREAMS / found.ours:.3g} : {N_STREAMS / found.peer:.3g} samples/s"
        figures.append(
            Figure(f"samples a second {what}, engine : River", found.ratio, at_least=target, detail=detail)
        )
    return [*figures, *alone(ours)]


def alone(ours: Ours) -> list[Figure]:
    """Measure the limit of the engine: its steps alone."""
    procedure, rows = ours.engine.procedure, np.arange(N_STREAMS)
    program = Program(procedure.features, procedure.channels)
    state, times = program.new_state(N_STREAMS), np.full(N_STREAMS, 1.0)
    for samples in ours.samples:  # until every feature is defined
        program.advance(state, rows, samples, times)
    works = {
        "its ten steps": lambda: program.advance(state, rows, samples, times),
        "all of it, by rows,": ours.push_rows,
    }
    taken = {what: seconds(work, repeats(work)) / N_STREAMS * 1e9 for what, work in works.items()}
    return [Figure(f"a sample in {what} alone, ns", each) for what, each in taken.items()]


def length() -> list[Figure]:
    old, turns = Ours(), []
    while old.time < 10_000:
        old.push_rows()
    for _ in range(20 * N_TURNS):
        young = Ours()
        while young.time < 9:
            young.push_rows()
        old.push_rows()
        turns.append((seconds(young.push_rows, 10), seconds(old.push_rows, 10)))
    early, late = (median(turn[i] for turn in turns) / N_STREAMS * 1e9 for i in (0, 1))
    what = "a tick of streams that have had 10 000 : of streams that have had 10"
    return [Figure(what, late / early, at_most=1.1, detail=f"{late:.1f} : {early:.1f} ns")]


@njit(nogil=True)
def touch(state: Array, rows: npt.NDArray[np.int64]) -> None:
    """Read and write all that is kept of some streams."""
    for row in rows:
        for k in range(state.shape[1]):
            state[row, k] += 1.0


def memory() -> list[Figure]:
    ours = Ours(N_MANY)
    n_bytes = 8 * ours.engine._table.state.shape[1] + ours.engine._table.streams.itemsize + 1  # noqa: SLF001
    state = np.zeros((N_MANY, -(-n_bytes // 8)))
    figures = []
    for order in ("in the order of their rows", "in any order"):
        found = versus(ours.push_rows, lambda: touch(state, ours.rows), n_turns=3)
        each = (found.ours / N_MANY * 1e9, found.peer / N_MANY * 1e9)
        what = f"a sample at {N_MANY} streams, {order} : reading and writing its stream's {n_bytes} bytes"
        figures.append(Figure(what, 1 / found.ratio, at_most=3, detail=f"{each[0]:.0f} : {each[1]:.0f} ns"))
        ours.rows = np.random.default_rng(3).permutation(ours.rows)
    few, rows = Ours(), np.arange(N_MANY)
    found = versus(few.push_rows, lambda: touch(state, rows), n_turns=3)
    each = (found.ours / N_STREAMS * 1e9, found.peer / N_MANY * 1e9)
    what = f"the work alone, at {N_STREAMS} streams, which are all in the cache : the same in order, at {N_MANY}"
    return [*figures, Figure(what, each[0] / each[1], detail=f"{each[0]:.0f} : {each[1]:.0f} ns")]


def pauses() -> list[Figure]:
    engine, bare = Engine(procedure(time_limit=100)), dict[str, int]()
    names = [f"stream-{i:07d}" for i in range(N_MANY)]
    longest = max(seconds(lambda name=name: engine.row(name)) for name in names) * 1e3
    of_dict = max(seconds(lambda name=name: bare.setdefault(name, 0)) for name in names) * 1e3
    what = f"longest time of a new stream, up to {N_MANY} streams, ms"
    figures = [Figure(what, longest, detail=f"{of_dict:.3g} ms in a dict of names alone")]
    rows, rng = np.arange(N_MANY), np.random.default_rng(4)
    engine.push_rows(rows, rng.uniform(0.0, 50.0, N_MANY), rng.normal(size=(N_MANY, 2)))
    idle = median(seconds(lambda: engine.expire(99.0)) for _ in range(N_TURNS))
    figures.append(Figure(f"expiry at {N_MANY} open streams, none of them due, ms", idle * 1e3))
    found, due = [], 0
    for now in np.linspace(100.01, 100.05, N_TURNS).tolist():
        start = process_time()
        due += len(engine.expire(now))
        found.append(process_time() - start)
    what = f"expiry at {N_MANY} open streams, some {due // N_TURNS} of them due, ms"
    return [*figures, Figure(what, median(found) * 1e3)]


PARTS: Parts = {"river": river, "length": length, "memory": memory, "pauses": pauses}


section = partial(described, "The engine compared with River", __file__, __doc__, PARTS)


if __name__ == "__main__":
    main(__doc__ or "", PARTS)
