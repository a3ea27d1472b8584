"""Compare Relief and ReliefF with skrebate and fast-select, and print JSON lines and a table.

python benchmarks/relief.py [PART ...]

CPU time of one thread, of whole calls to `fit`, on normal values of two classes that half of the features separate. The
implementations alternate, five times unless stated otherwise (skrebate fewer times where it is slow), and medians are
quoted. fast-select uses float32; we and skrebate use float64. Before anything is timed, our weights are compared with the
peers' where these are right, and with the definition (`tests/oracles/relieff.py`) where they are not: skrebate
has rules of its own for missing values and for mixed features, and fast-select takes no missing values.

- ``relieff``: ten neighbours
- ``relief``: one neighbour
- ``missing``: 5 % of the cells are missing
- ``mixed``: every other feature is nominal, of four values
- ``positions``: `StreamRelief.fit` compared with a peer that is rerun on all rows up to each position
- ``distances``: absolute differences a second in the distances of a search, compared with the most the core can do
- ``threads``: the wall clock with a second thread, which needs an idle core

What limits the weights at many positions: a third of a call goes to the distances, a third to finding in them what is near
enough to change a row's nearest, and the rest to those changes, to adding up at every position, and to half a millisecond of
layout and checks around the search. A peer processes all rows again at each position, so it falls further behind with each
position. The two threads share the memory with everything else on the machine: their ratio varies from 1.4 to 2.1 between runs.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from os import cpu_count, getloadavg, sched_getaffinity, sched_setaffinity
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter
from typing import NamedTuple

import numpy as np
from figures import N_TURNS, Figure, Parts, described, load_peer, main, processor, repeats, seconds, versus
from numba import get_num_threads, njit, set_num_threads
from numpy.testing import assert_allclose

from streamfs import Costs, Relief, ReliefF, StreamRelief
from streamfs.cli.console import say
from streamfs.relief._field import Field, sift_tile
from streamfs.relief._search import TILE
from streamfs.relief._sieve import Singles
from streamfs.relief.measure import measure as measure_features
from streamfs.relief.neighbours import lay_out

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from oracles.papers import stream_relief
from oracles.relieff import relieff_weights

from feature_extractors.arrays import Array, Integers

N_FEATURES = 10
N_CODES = 4  # values of a nominal feature
N_NAIVE = 150  # rows that are few enough for the definition
N_ROWS_BY_POSITIONS = 2000
SKREBATE, FAST_SELECT = "skrebate", "fast-select"


class Table(NamedTuple):
    """Rows to weigh features by."""

    X: Array
    y: Integers
    nominal: Sequence[int] = ()

    def rows(self, end: int) -> "Table":
        return Table(self.X[:end], self.y[:end], self.nominal)


def normal(n_rows: int, n_features: int = N_FEATURES) -> Table:
    random = np.random.default_rng(0)
    y = np.arange(n_rows) % 2
    X = random.normal(size=(n_rows, n_features))
    X[:, ::2] += y[:, np.newaxis]
    return Table(X, y)


def with_missing(n_rows: int) -> Table:
    X, y, _ = normal(n_rows)
    X[np.random.default_rng(1).random(X.shape) < 0.05] = np.nan
    return Table(X, y)


def with_nominal(n_rows: int) -> Table:
    X, y, _ = normal(n_rows)
    nominal = range(1, N_FEATURES, 2)
    X[:, nominal] = np.random.default_rng(1).integers(0, N_CODES, (n_rows, len(nominal)))
    return Table(X, y, nominal)


def relieff(n_neighbours: int, of: Table) -> Array:
    weights: Array = ReliefF(n_neighbours, nominal=of.nominal).fit(of.X, of.y).feature_importances_
    return weights


def relief(of: Table) -> Array:
    weights: Array = Relief(nominal=of.nominal).fit(of.X, of.y).feature_importances_
    return weights


def skrebate(n_neighbours: int, of: Table) -> Array:
    estimator = load_peer(SKREBATE).ReliefF(
        n_features_to_select=1, n_neighbors=n_neighbours, categorical_features=list(of.nominal), n_jobs=1
    )
    weights: Array = estimator.fit(of.X, of.y).feature_importances_
    return weights


def fast_select(n_neighbours: int, of: Table) -> Array:
    estimator = load_peer(FAST_SELECT).ReliefF(
        n_features_to_select=1, n_neighbors=n_neighbours, discrete_limit=N_CODES, backend="cpu", n_jobs=1
    )
    weights: Array = estimator.fit(of.X, of.y).feature_importances_
    return weights


@contextmanager
def threads(n: int) -> Iterator[None]:
    before, processors = get_num_threads(), sched_getaffinity(0)
    set_num_threads(n)  # of numba's, which are fast-select's
    sched_setaffinity(0, sorted(processors)[:n])
    try:
        yield
    finally:
        set_num_threads(before)
        sched_setaffinity(0, processors)


class Race(NamedTuple):
    """Seconds of CPU of each turn, ours and those of peers."""

    ours: list[float]
    peers: Mapping[str, list[float]]

    def ratio(self, peer: str) -> float:
        """How many times ours a peer takes, a median."""
        return median(theirs / ours for ours, theirs in zip(self.ours, self.peers[peer], strict=False))

    def figure(self, what: str, peer: str, at_least: float | None = None) -> Figure:
        theirs = self.peers[peer]
        times = f"{1e3 * median(theirs):.4g} : {1e3 * median(self.ours):.4g} ms"
        turns = "" if len(theirs) == N_TURNS else f", {peer}'s of {len(theirs)} turn{'s' * (len(theirs) > 1)}"
        return Figure(f"{peer} : ours, {what}", self.ratio(peer), at_least=at_least, detail=times + turns)


def race(ours: Callable[[], object], peers: Mapping[str, Callable[[], object]], skrebate_turns: int) -> Race:
    """Let all take turns, on one thread; skrebate has no code to be compiled first."""
    with threads(1):
        times = {peer: 1 if peer == SKREBATE else repeats(work) for peer, work in peers.items()}
        n_ours = repeats(ours)
        taken = Race([], {peer: [] for peer in peers})
        for turn in range(N_TURNS):
            taken.ours.append(seconds(ours, n_ours))
            for peer, work in peers.items():
                if turn < skrebate_turns or peer != SKREBATE:
                    taken.peers[peer].append(seconds(work, times[peer]))
    return taken


def summary(what: str, peer: str, races: Sequence[Race], mean: float, least: float | None = None) -> list[Figure]:
    """Return the geometric mean of races, and the smallest ratio, with their targets."""
    ratios = [one.ratio(peer) for one in races]
    return [
        Figure(f"{peer} : ours, {what}, geometric mean", geometric_mean(ratios), at_least=mean),
        Figure(f"{peer} : ours, {what}, least", min(ratios), at_least=least),
    ]


def against_relieff() -> list[Figure]:
    smallest = normal(1000)
    assert_allclose(relieff(10, smallest), skrebate(10, smallest), atol=1e-12)
    assert_allclose(relieff(10, smallest), fast_select(10, smallest), atol=1e-5)
    races = {}
    for n_features in (10, 30):
        for n_rows, turns in ((1000, N_TURNS), (2000, N_TURNS), (4000, 3), (8000, 1)):
            what = f"ReliefF, {n_rows} x {n_features}"
            say(what)
            of = normal(n_rows, n_features)
            peers = {SKREBATE: partial(skrebate, 10, of), FAST_SELECT: partial(fast_select, 10, of)}
            races[what] = race(partial(relieff, 10, of), peers, turns)
    return [
        *(one.figure(what, peer) for peer in (SKREBATE, FAST_SELECT) for what, one in races.items()),
        *summary("ReliefF", SKREBATE, list(races.values()), 120, 90),
        *summary("ReliefF", FAST_SELECT, list(races.values()), 2.5, 2),
    ]


def against_relief() -> list[Figure]:
    smallest = normal(2000)
    assert_allclose(relief(smallest), skrebate(1, smallest), atol=1e-12)
    races = {}
    for n_rows, turns in ((2000, N_TURNS), (4000, 3)):
        what = f"Relief, {n_rows} x {N_FEATURES}"
        say(what)
        of = normal(n_rows)
        peers = {SKREBATE: partial(skrebate, 1, of), FAST_SELECT: partial(fast_select, 1, of)}
        races[what] = race(partial(relief, of), peers, turns)
    return [
        *(one.figure(what, peer) for peer in (SKREBATE, FAST_SELECT) for what, one in races.items()),
        *summary("Relief", SKREBATE, list(races.values()), 200),
    ]


def compare_with_definition(of: Table) -> None:
    few = of.rows(N_NAIVE)
    assert_allclose(relieff(10, few), relieff_weights(few.X, few.y, 10, nominal=few.nominal), atol=1e-12)


def missing() -> list[Figure]:
    of = with_missing(1000)
    compare_with_definition(of)
    say("missing")
    one = race(partial(relieff, 10, of), {SKREBATE: partial(skrebate, 10, of)}, 1)
    return [one.figure(f"ReliefF, {of.X.shape[0]} x {N_FEATURES}, 5 % of the cells missing", SKREBATE, 500)]


def mixed() -> list[Figure]:
    of = with_nominal(2000)
    compare_with_definition(of)
    say("mixed")
    peers = {SKREBATE: partial(skrebate, 10, of), FAST_SELECT: partial(fast_select, 10, of)}
    one = race(partial(relieff, 10, of), peers, N_TURNS)
    what = f"ReliefF, {of.X.shape[0]} x {N_FEATURES}, every other feature nominal"
    return [one.figure(what, SKREBATE, 50), one.figure(what, FAST_SELECT, 1.5)]


def by_positions(n_positions: int) -> tuple[Array, Integers]:
    """Return the same number of rows as streams of shape (n_streams, n_positions, n_features)."""
    X, y, _ = normal(N_ROWS_BY_POSITIONS)
    n_streams = len(X) // n_positions
    return X.reshape(n_positions, n_streams, N_FEATURES).swapaxes(0, 1), y[:n_streams]


def stream_weights(values: Array, y: Integers) -> Array:
    costs = Costs(np.ones(N_FEATURES))
    selector = StreamRelief(costs, neighbours="any", floor=None, extrapolation="none")
    weights: Array = selector.fit(values, y).weights_
    return weights


def at_each_position(weigh: Callable[[int, Table], Array], values: Array, y: Integers) -> Array:
    """Weights of all rows up to each position."""
    n_streams, n_positions, _ = values.shape
    of = Table(values.swapaxes(0, 1).reshape(-1, N_FEATURES), np.tile(y, n_positions))
    return np.array([weigh(1, of.rows(n_streams * i)) for i in range(1, n_positions + 1)])


def positions() -> list[Figure]:
    figures = []
    for n_positions, turns in ((20, 1), (40, 1)):
        values, y = by_positions(n_positions)
        few = values[:10, :8]
        naive = stream_relief(few, y[:10], np.full(10, 8), "any")
        assert_allclose(stream_weights(few, y[:10]), naive, atol=1e-12)
        what = f"weights at all of {n_positions} positions, {N_ROWS_BY_POSITIONS} x {N_FEATURES}"
        say(what)
        peers = {
            SKREBATE: partial(at_each_position, skrebate),
            FAST_SELECT: partial(at_each_position, fast_select),
        }
        works = {peer: partial(work, values, y) for peer, work in peers.items()}
        one = race(partial(stream_weights, values, y), works, turns)
        figures += [one.figure(what, SKREBATE, 2000), one.figure(what, FAST_SELECT, 25)]
    X, y, _ = normal(N_ROWS_BY_POSITIONS)
    bare = sifting(X, y)
    taken = seconds(bare, repeats(bare))
    what = f"the distances of {N_ROWS_BY_POSITIONS} x {N_FEATURES} alone, ms"
    return [
        *figures,
        Figure(what, 1e3 * taken, detail="the rest is limits, lists and what they say at each position"),
    ]


@njit(nogil=True)
def differ(x: Array, a: tuple[float, ...], sums: Array, times: int) -> None:
    """As many differences as the core can do: eight in double precision to each value that is read."""
    b, c, d, e, f, g, h, i = a
    for _ in range(times):
        for q in range(len(x)):
            v = x[q]
            first = abs(v - b) + abs(v - c) + abs(v - d) + abs(v - e)
            sums[q] = first + abs(v - f) + abs(v - g) + abs(v - h) + abs(v - i)


@njit(nogil=True)
def sift_all(field: Field, rows: Integers, near: Singles) -> None:
    """The distances of each row from each, and nothing done with them."""
    for start in range(0, len(rows), len(near)):
        sift_tile(field, rows[start : start + len(near)], near)


def sifting(X: Array, y: Integers) -> Callable[[], None]:
    """What computes the distances of all rows from all."""
    measured = measure_features(X, np.zeros(X.shape[1], dtype=bool))
    field = lay_out(measured, y, np.arange(len(X)), 1, np.array([len(X)]))
    return partial(sift_all, field, np.arange(len(X)), np.empty((TILE, len(X)), np.float32))


def distances() -> list[Figure]:
    x, constants, sums, times = np.random.default_rng(0).random(512), np.arange(8.0), np.empty(512), 10_000
    figures = []
    for n_features in (10, 30):
        X, y, _ = normal(4000, n_features)
        n_rows = len(X)
        taken = versus(sifting(X, y), partial(differ, x, tuple(constants), sums, times))
        rate, most = n_rows * X.size / taken.ours / 1e9, times * len(x) * len(constants) / taken.peer / 1e9
        what = f"differences a second, in the distances of {n_rows} x {n_features} : of float64 in cache"
        detail = f"{rate:.3g} : {most:.3g} G/s; those of the search are float32"
        figures.append(Figure(what, rate / most, at_least=0.5, detail=detail))
    return figures


def two_threads() -> list[Figure]:
    figures = []
    for n_features in (10, 30):
        of = normal(8000, n_features)
        say(f"threads, {n_features} features")

        walls: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(N_TURNS):
            for n, taken in walls.items():
                with threads(n):
                    taken.append(seconds(partial(relieff, 10, of), clock=perf_counter))
        one, two = min(walls[1]), min(walls[2])
        what = f"one thread : two, least wall clock, ReliefF, 8000 x {n_features}"
        detail = f"{1e3 * one:.4g} : {1e3 * two:.4g} ms; load average {getloadavg()[0]:.1f} on {cpu_count()} cores"
        figures.append(Figure(what, one / two, at_least=1.8, detail=detail))
    return figures


PARTS: Parts = {
    "relieff": against_relieff,
    "relief": against_relief,
    "missing": missing,
    "mixed": mixed,
    "positions": positions,
    "distances": distances,
    "threads": two_threads,
}


def about() -> str:
    """What it was measured on."""
    packages = ", ".join(f"{name} {version(name)}" for name in (SKREBATE, FAST_SELECT, "numpy", "numba"))
    return f"{processor()}; {packages}"


section = partial(
    described, "Relief compared with skrebate and fast-select", __file__, __doc__, PARTS, about=about
)


if __name__ == "__main__":
    main(__doc__ or "", PARTS, about)
