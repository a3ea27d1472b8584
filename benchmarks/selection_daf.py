"""Measure what dependency-aware ranking adds to its criterion, and print JSON lines and a table.

python benchmarks/selection_daf.py [PART ...]

Madelon (2000 rows of 500 features), probes of up to 200 features, each scored by the accuracy of three nearest
neighbours in five folds. The set is read from the folder that ``STREAMFS_DATA`` names.

- ``overhead``: the share of the time spent outside the criterion; one worker, CPU time
- ``nothing``: the time of a probe if the criterion does nothing
- ``workers``: the time of two workers compared with one, by the wall clock
"""

from collections.abc import Callable
from functools import partial
from time import perf_counter, process_time
from typing import Any

from figures import Figure, Parts, described, main, seconds

from feature_extractors.arrays import Array
from streamfs.classifiers.neighbours import NeighborsClassifier
from streamfs.data.datasets import folder
from streamfs.data.instances import Instances
from streamfs.selection.criteria import WrapperAccuracy
from streamfs.selection.dependency_aware import DependencyAwareRanking
from streamfs.selection.evaluators import Criterion, Evaluator

N_PROBES, N_FREE_PROBES, LARGEST = 100, 20_000, 200


class Timed:
    """A criterion, with the seconds of CPU that it has taken."""

    def __init__(self, criterion: Criterion) -> None:
        self._criterion = criterion
        self.taken = 0.0

    def _timed(self, work: Callable[[], Any]) -> Any:
        start = process_time()
        done = work()
        self.taken += process_time() - start
        return done

    def prepare(self, X: Array, y: Any, groups: Any = None) -> Evaluator:
        evaluate: Evaluator = self._timed(lambda: self._criterion.prepare(X, y, groups))
        return lambda subset: self._timed(lambda: evaluate(subset))


class Nothing:
    """A criterion that looks at nothing."""

    def prepare(self, _values: Array, _classes: Any, _groups: Any = None) -> Evaluator:
        return len


def three_nearest() -> WrapperAccuracy:
    return WrapperAccuracy(NeighborsClassifier(n_neighbors=3), cv=5)


def ranked(criterion: Criterion, n_probes: int, n_jobs: int = 1) -> Callable[[], object]:
    madelon = Instances.read(folder() / "madelon/madelon_train.csv.gz")
    ranking = DependencyAwareRanking(criterion, LARGEST, n_probes, n_jobs=n_jobs, random_state=0)
    return lambda: ranking.fit(madelon.values, madelon.labels)


def overhead() -> list[Figure]:
    criterion = Timed(three_nearest())
    work = ranked(criterion, N_PROBES)
    work()  # compiles
    criterion.taken = 0.0
    whole = seconds(work)
    return [
        Figure(
            "share of the time outside the criterion",
            1.0 - criterion.taken / whole,
            at_most=0.05,
            detail=f"{1e3 * criterion.taken / N_PROBES:.4g} of {1e3 * whole / N_PROBES:.4g} ms a probe",
        )
    ]


def nothing() -> list[Figure]:
    took = seconds(ranked(Nothing(), N_FREE_PROBES))
    return [Figure("µs a probe, criterion that does nothing", 1e6 * took / N_FREE_PROBES, detail="500 features")]


def workers() -> list[Figure]:
    one, two = (seconds(ranked(three_nearest(), N_PROBES, n_jobs), clock=perf_counter) for n_jobs in (1, 2))
    return [Figure("one worker : two, seconds on the wall", one / two, detail=f"{one:.3g} : {two:.3g} s")]


PARTS: Parts = {"overhead": overhead, "nothing": nothing, "workers": workers}


section = partial(described, "Dependency-aware ranking at the speed of its criterion", __file__, __doc__, PARTS)


if __name__ == "__main__":
    main(__doc__ or "", PARTS)
