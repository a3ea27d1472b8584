"""Compare the training time of our C4.5 with c50py and Weka's J48, and print JSON lines and a table.

python benchmarks/c45.py [PART ...]

CPU time of one thread, from rows in memory to a pruned tree; ours and the peer alternate, five times, and medians are
quoted. c50py has the options that bring it closest to C4.5: neither global pruning nor subtree raising. J48 runs with
``-S`` (no subtree raising) in this process, through python-weka-wrapper3, and is timed by the clock of its thread, after
it has run until Java has compiled it; what Java's other threads do for it (compiling, collecting garbage) is not
counted. If Weka is not installed, a line says so.

The tables are numeric: two of normal values in three classes, which half of the features partly separate; and the
prefixes of simulated pairs, pooled, with all features that ``streamfs train`` tries: ties, and missing values where a
feature is undefined. Values are multiplied by 2**20, as J48 treats values less than 1e-5 apart as equal.

- ``c50py``: c50py 0.5.2
- ``j48``: J48 of Weka 3.9
- ``c50py_pooled``, ``j48_pooled``: the same on the prefixes of simulated pairs
"""

import logging
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from math import nan
from time import thread_time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from figures import Figure, Parts, described, load_peer, main, versus

from sensors_sim.same_source import SameSource
from streamfs import C45Classifier, StreamSet, tabulate
from streamfs.cli.console import say
from streamfs.data.default_features import default_features

SIZES = ((2000, 10), (20_000, 20))
N_CLASSES = 3
N_PAIRS, N_TICKS = 200, 60
N_WARM = 20  # times that J48 is run before it is timed, fewer where it is slow
WARM = 10.0  # seconds of that at most
SCALE = 2.0**20
C50PY_AT_LEAST, J48_AT_LEAST = 3.0, 1.0  # times our time


class Rows(NamedTuple):
    """A table to learn from."""

    what: str
    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.int64]


def normal() -> Iterator[Rows]:
    for n, n_features in SIZES:
        random = np.random.default_rng(0)
        y = random.integers(N_CLASSES, size=n)
        X = random.normal(size=(n, n_features))
        X[:, ::2] += 0.6 * y[:, np.newaxis] * random.random((1, n_features // 2))
        yield Rows(f"{n} x {n_features}", SCALE * X, y)


@cache
def pooled() -> Rows:
    streams = StreamSet(*SameSource().sample(N_PAIRS, N_TICKS, 1.0, seed=0))
    X, labels, _ = tabulate(streams, default_features(streams)).instances(N_TICKS)
    return Rows(f"prefixes, {len(X)} x {X.shape[1]}", SCALE * X, np.unique(labels, return_inverse=True)[1])


def ours(rows: Rows) -> C45Classifier:
    return C45Classifier().fit(rows.X, rows.y)


def against_c50py(rows: Rows) -> Figure:
    learner = load_peer("c50py").C5Classifier

    def theirs() -> object:
        return learner(global_pruning=False, subtree_raising=False).fit(rows.X, rows.y)

    found = versus(lambda: ours(rows), theirs, clock=thread_time)
    what = f"seconds to learn from {rows.what}, c50py : ours"
    return Figure(what, found.ratio, at_least=C50PY_AT_LEAST, detail=found.detail)


@cache
def weka() -> Any:
    """Weka's classes, with Java started."""
    import_module("weka.core.jvm").start(packages=False, logging_level=logging.ERROR)
    return import_module("weka.core.dataset"), import_module("weka.classifiers").Classifier


def j48(rows: Rows) -> Callable[[], Any]:
    """What builds a J48."""
    dataset, classifier = weka()
    attributes = [dataset.Attribute.create_numeric(f"x{f}") for f in range(rows.X.shape[1])]
    attributes.append(dataset.Attribute.create_nominal("class", [str(label) for label in range(rows.y.max() + 1)]))
    instances = dataset.Instances.create_instances("rows", attributes, len(rows.X))
    instances.class_is_last()
    for values, label in zip(rows.X.tolist(), rows.y.tolist(), strict=True):
        instances.add_instance(dataset.Instance.create_instance([*values, label]))

    def build() -> Any:
        tree = classifier("weka.classifiers.trees.J48", options=["-S", "-A"])
        tree.build_classifier(instances)
        return tree

    return build


def against_j48(rows: Rows) -> Figure:
    what = f"seconds to learn from {rows.what}, J48 : ours"
    if find_spec("weka") is None:
        return Figure(what, nan, detail="not measured: python-weka-wrapper3 is not installed")
    say(f"J48 on {rows.what}")
    build, start = j48(rows), thread_time()
    for _ in range(N_WARM):
        if thread_time() - start < WARM:
            build()
    found = versus(lambda: ours(rows), build, clock=thread_time)
    n_leaves = ours(rows).n_leaves_, int(build().jobject.measureNumLeaves())
    detail = f"{found.detail}; {n_leaves[0]} : {n_leaves[1]} leaves"
    return Figure(what, found.ratio, at_least=J48_AT_LEAST, detail=detail)


PARTS: Parts = {
    "c50py": lambda: [against_c50py(rows) for rows in normal()],
    "j48": lambda: [against_j48(rows) for rows in normal()],
    "c50py_pooled": lambda: [against_c50py(pooled())],
    "j48_pooled": lambda: [against_j48(pooled())],
}


section = partial(described, "Training a C4.5 tree, compared with c50py and J48", __file__, __doc__, PARTS)


if __name__ == "__main__":
    main(__doc__ or "", PARTS)
