"""Compare the inconsistency rate, the Las Vegas filter and FINCO with numpy, and print JSON lines and a table.

python benchmarks/selection_filters.py [PART ...]

Codes of 4 values, of which 3 features determine the class except for 1 row in 20; CPU time of one thread. The rate is that
of the function, its checks included. The filters are given the codes directly. The peers select the same; numpy finds
the groups of equal rows in one of two ways, and alternates with ours:

- ``rows``: `np.unique` of the rows, as one would write it
- ``keys``: `np.unique` of one number a row, into which the features are combined one by one
"""

from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from figures import Figure, Parts, described, main, processor, repeats, seconds, versus

from feature_extractors.arrays import Integers
from streamfs.selection import Finco, LasVegasFilter, inconsistency

N_VALUES, N_CLASSES = 4, 3
THRESHOLD = 0.06
N_TRIES = 200

Groups = Callable[[Integers], Integers]
"""The number of each row's group."""


def coded(n_rows: int, n_features: int) -> tuple[Integers, Integers]:
    """Codes, and classes that features 2, 5 and 7 make but for 1 row in 20."""
    random = np.random.default_rng(0)
    codes = random.integers(0, N_VALUES, (n_rows, n_features))
    classes = codes[:, [2, 5, 7]].sum(axis=1) // N_VALUES
    classes[::20] = random.integers(0, N_CLASSES, len(classes[::20]))
    return codes, classes


def by_rows(codes: Integers) -> Integers:
    return np.unique(codes, axis=0, return_inverse=True)[1].ravel()


def by_keys(codes: Integers) -> Integers:
    keys = np.zeros(len(codes), np.int64)
    for column in codes.T:
        keys = np.unique(keys * N_VALUES + column, return_inverse=True)[1]
    return keys


GROUPS: dict[str, Groups] = {"rows": by_rows, "keys": by_keys}


def rate(codes: Integers, classes: Integers, groups_of: Groups) -> float:
    groups = groups_of(codes)
    counts = np.bincount(groups * N_CLASSES + classes, minlength=(groups.max() + 1) * N_CLASSES)
    return float(len(codes) - counts.reshape(-1, N_CLASSES).max(axis=1).sum()) / len(codes)


def las_vegas(codes: Integers, classes: Integers, groups_of: Groups) -> Integers:
    random, best = np.random.RandomState(0), np.arange(codes.shape[1])
    for _ in range(N_TRIES):
        drawn = np.flatnonzero(random.randint(2, size=codes.shape[1]))
        if 0 < len(drawn) <= len(best) and rate(codes[:, drawn], classes, groups_of) <= THRESHOLD:
            best = drawn
    return best


def finco(codes: Integers, classes: Integers, groups_of: Groups) -> list[int]:
    chosen: list[int] = []
    reached = np.inf
    while reached > THRESHOLD:
        outside = [feature for feature in range(codes.shape[1]) if feature not in chosen]
        rates = [rate(codes[:, [*chosen, feature]], classes, groups_of) for feature in outside]
        if min(rates) >= reached:
            break
        reached = min(rates)
        chosen.append(outside[rates.index(reached)])
    return chosen


def against_numpy(what: str, ours: Callable[[], Any], peer: Callable[[Groups], Any], detail: str) -> list[Figure]:
    """How much less than numpy, in either way, ours takes for the same result."""
    figures = []
    for name, groups_of in GROUPS.items():
        np.testing.assert_array_equal(ours(), peer(groups_of))
        took = versus(ours, partial(peer, groups_of), n_turns=3)
        figures.append(Figure(f"numpy's {name} : streamfs, {what}", took.ratio, detail=f"{took.detail}; {detail}"))
    return figures


def of_the_rate() -> list[Figure]:
    codes, classes = coded(100_000, 20)
    ours = partial(inconsistency, codes.astype(np.float64), classes)
    detail = "100,000 rows, 20 features"
    taken = seconds(ours, repeats(ours))
    return [
        Figure("inconsistency rate, warm, CPU seconds", taken, at_most=0.2, detail=detail),
        *against_numpy("inconsistency rate", ours, lambda groups_of: rate(codes, classes, groups_of), detail),
    ]


def of_las_vegas() -> list[Figure]:
    codes, classes = coded(8000, 22)
    values = codes.astype(np.float64)
    selector = LasVegasFilter(THRESHOLD, N_TRIES, "passthrough", random_state=0)

    def ours() -> Integers:
        return selector.fit(values, classes).ranking_

    detail = f"{N_TRIES} tries, 8,000 rows, 22 features"
    n_a_second = N_TRIES / seconds(ours, repeats(ours))
    return [
        Figure("tries of the Las Vegas filter a second", n_a_second, detail=detail),
        *against_numpy("Las Vegas filter", ours, lambda groups_of: las_vegas(codes, classes, groups_of), detail),
    ]


def of_finco() -> list[Figure]:
    codes, classes = coded(20_000, 30)
    values = codes.astype(np.float64)
    selector = Finco(THRESHOLD, "passthrough")

    def ours() -> Integers:
        return selector.fit(values, classes).ranking_

    detail = "20,000 rows, 30 features"
    return against_numpy("FINCO", ours, lambda groups_of: finco(codes, classes, groups_of), detail)


PARTS: Parts = {"inconsistency": of_the_rate, "las-vegas": of_las_vegas, "finco": of_finco}


def about() -> str:
    """What it was measured on."""
    return f"{processor()}; {', '.join(f'{name} {version(name)}' for name in ('numpy', 'numba'))}"


section = partial(
    described, "The filters by inconsistency compared with numpy", __file__, __doc__, PARTS, about=about
)


if __name__ == "__main__":
    main(__doc__ or "", PARTS, about)
