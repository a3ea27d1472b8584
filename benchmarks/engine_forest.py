"""Compare a forest in the engine's compiled pass with a tree in it, and with a forest beside it.

python benchmarks/engine_forest.py [PART ...]

A thousand streams of four columns, 24 features, and a calibrated forest of 60 balanced trees of depth 8 with random
tests that never reaches the confidence, so that every sample is a tick of an open stream. One thread; CPU time; the
compared alternate, and medians are quoted. A tree's own time is what remains after subtracting that of a tree without
a test.

- ``push``: samples one at a time
- ``batch``: samples by rows, in batches of a thousand and of eight
"""

from functools import partial
from statistics import median

import numpy as np
from figures import N_TURNS, Figure, Parts, described, main, repeats, seconds, versus

import feature_extractors as fx
from streamfs import Costs, Engine, Procedure
from streamfs.classifiers import Calibration, Forest
from streamfs.classifiers.classifier import Classifier
from streamfs.classifiers.tree import Tree

KINDS, COLUMNS = ("mean", "variance", "min", "max", "slope", "exponential_mean"), "abcd"
FEATURES = tuple(fx.get(f"{kind}({column})") for kind in KINDS for column in COLUMNS)
N_STREAMS, N_TREES, DEPTH = 1000, 60, 8
NAMES = [f"stream-{i:03d}" for i in range(N_STREAMS)]
FOR_EVER = 2**40
NEVER = Calibration(1.0, -0.5)


class Beside(Forest):
    """A forest that the compiled pass does not know to be one."""

    def flat_forest(self) -> None:
        """Return none."""


def balanced(depth: int, seed: int) -> dict[str, np.ndarray]:
    """Return the tables of a tree of random tests, level after level."""
    rng = np.random.default_rng(seed)
    n_tests, n_nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    is_test = np.arange(n_nodes) < n_tests
    return {
        "feature": np.where(is_test, rng.integers(0, len(FEATURES), n_nodes), -1),
        "threshold": np.where(is_test, rng.normal(0.0, 0.3, n_nodes), 0.0),
        "first_child": np.where(is_test, 2 * np.arange(n_nodes) + 1, 0),
        "shares": rng.dirichlet((4.0, 4.0), n_nodes),
    }


def tree(depth: int = DEPTH) -> Tree:
    """Return one tree."""
    tables = balanced(depth, seed=0)
    n_nodes, is_test = len(tables["feature"]), tables["feature"] >= 0
    return Tree(
        feature=tables["feature"],
        nominal=np.zeros(n_nodes, dtype=bool),
        threshold=tables["threshold"],
        first_child=tables["first_child"],
        n_children=np.where(is_test, 2, 0),
        code=np.zeros(n_nodes),
        share=np.array([1.0, *[0.5] * (n_nodes - 1)]),
        counts=50.0 * tables["shares"],
        laplace=True,
    )


def forest(kind: type[Forest] = Forest) -> Forest:
    """Return the trees of the forest, one behind the other."""
    trees = [balanced(DEPTH, seed) for seed in range(N_TREES)]
    n_nodes = len(trees[0]["feature"])
    roots = np.arange(N_TREES) * n_nodes
    feature, threshold, shares = (
        np.concatenate([each[name] for each in trees]) for name in ("feature", "threshold", "shares")
    )
    children = [
        np.where(each["feature"] >= 0, each["first_child"] + root, 0)
        for each, root in zip(trees, roots, strict=True)
    ]
    first = np.concatenate(children)
    return kind(feature, threshold, first, first, shares, roots, NEVER)


class Engines:
    """An engine with a classifier, and samples that repeat."""

    def __init__(self, classifier: Classifier, n_batch: int = N_STREAMS) -> None:
        costs = Costs(np.ones(len(FEATURES)))
        self.engine = Engine(Procedure(FEATURES, classifier, ("off", "on"), costs, 1.0, FOR_EVER))
        self.rows = np.array([self.engine.row(name) for name in NAMES])
        self.samples = np.random.default_rng(2).normal(size=(50, N_STREAMS, len(COLUMNS)))
        self.n_batch, self.time = n_batch, -1
        for _ in range(3):  # until every feature is defined
            self.push_rows()

    def next_samples(self) -> np.ndarray:
        self.time += 1
        return self.samples[self.time % len(self.samples)]

    def push_rows(self) -> None:
        samples = self.next_samples()
        for start in range(0, N_STREAMS, self.n_batch):
            part = slice(start, start + self.n_batch)
            self.engine.push_rows(self.rows[part], float(self.time), samples[part])

    def push(self) -> None:
        samples, push, time = self.next_samples().tolist(), self.engine.push, float(self.time)
        for name, sample in zip(NAMES, samples, strict=True):
            push(name, time, sample)


def push() -> list[Figure]:
    ours, one = Engines(forest()), Engines(tree())
    beside = Engines(forest(Beside))
    of_tree, of_beside = versus(ours.push, one.push), versus(ours.push, beside.push)
    ns = 1e9 / N_STREAMS
    detail = f"{of_tree.ours * ns:.0f} : {of_tree.peer * ns:.0f} ns"
    return [
        Figure("a push with a forest, µs", of_tree.ours * ns / 1e3, at_most=5),
        Figure(f"a push with a forest of {N_TREES} trees : with one tree", 1 / of_tree.ratio, detail=detail),
        Figure(
            "pushes a second, forest in the compiled pass : beside it",
            of_beside.ratio,
            at_least=1,
            detail=f"{1e9 / (of_beside.ours * ns):.3g} : {1e9 / (of_beside.peer * ns):.3g} samples/s",
        ),
    ]


def batch() -> list[Figure]:
    figures = [per_tree()]
    for n_batch in (N_STREAMS, 8):
        found = versus(Engines(forest(), n_batch).push_rows, Engines(forest(Beside), n_batch).push_rows)
        figures.append(
            Figure(
                f"samples a second in batches of {n_batch}, forest in the compiled pass : beside it",
                found.ratio,
                at_least=1,
                detail=f"{N_STREAMS / found.ours:.3g} : {N_STREAMS / found.peer:.3g} samples/s",
            )
        )
    return figures


def per_tree() -> Figure:
    """Compare what one of a forest's trees adds to a sample with what a tree adds."""
    works = [Engines(each).push_rows for each in (forest(), tree(), tree(depth=0))]
    times = [repeats(work) for work in works]
    turns = [
        tuple(seconds(work, n) / N_STREAMS * 1e9 for work, n in zip(works, times, strict=True))
        for _ in range(4 * N_TURNS)
    ]
    ours, one = (
        median((turn[0] - turn[2]) / N_TREES for turn in turns),
        median(turn[1] - turn[2] for turn in turns),
    )
    what = f"time of a tree of a forest of {N_TREES} : of the only tree, in batches of {N_STREAMS}"
    return Figure(what, ours / one, at_most=2, detail=f"{ours:.1f} : {one:.1f} ns a sample")


PARTS: Parts = {"push": push, "batch": batch}


section = partial(described, "A forest in the engine", __file__, __doc__, PARTS)


if __name__ == "__main__":
    main(__doc__ or "", PARTS)
