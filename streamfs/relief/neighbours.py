"""Layout of rows for the neighbour search, and the search in threads, or by workers."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from feature_extractors.arrays import Array, Integers
from streamfs.base.processors import n_processors
from streamfs.base.workers import workers
from streamfs.relief._field import Field, Members
from streamfs.relief._kernels import Measured
from streamfs.relief._probe_search import make_probe_scratch, search_probes
from streamfs.relief._search import CHUNK, Voting, make_lists, search
from streamfs.relief._sieve import Sieve

FEW_PAIRS = 2000**2
"""Pairs of rows up to which a single thread is fastest."""


def lay_out(measured: Measured, classes: Integers, groups: Integers, power: int, ends: Integers) -> Field:
    """Lay out rows by class, then by batch; `ends` is the row before which each batch ends."""
    n_rows = len(measured.values)
    if not len(ends) or ends[-1] != n_rows:
        raise ValueError(f"ends are {ends}, expected the last to be {n_rows}, the number of rows")
    batches = np.searchsorted(ends, np.arange(n_rows), side="right")
    order = np.lexsort((batches, classes))
    places = np.empty(n_rows, np.int64)
    places[order] = np.arange(n_rows)
    counts = np.zeros((int(classes.max()) + 1, len(ends)), np.int64)
    np.add.at(counts, (classes, batches), 1)
    stops = np.cumsum(counts).reshape(counts.shape)
    starts = np.column_stack([stops[:, 0] - counts[:, 0], stops])
    by_group = places[np.lexsort((places, groups))]
    group_starts = np.concatenate([[0], np.cumsum(np.bincount(groups))])
    members = Members(classes, batches, groups, by_group, group_starts)
    return Field(measured, _sieve(measured, order, places, power), starts, members)


def _sieve(measured: Measured, order: Integers, places: Integers, power: int) -> Sieve:
    """Build the sieve, with the features without missing values and categories apart."""
    shares, far = measured.shares[order], measured.far[order]
    is_plain = (shares <= 1.0).all(axis=0)
    tables = (shares[:, is_plain], shares[:, ~is_plain], far[:, ~is_plain])
    plain, patchy, far_apart = (np.ascontiguousarray(table.T, dtype=np.float32) for table in tables)
    doubt = np.float32(shares.shape[1] * 2.0**-22 * (4.0 + shares.shape[1]))
    return Sieve(plain, patchy, far_apart, order, places, power, doubt)


def mean_gains(field: Field, voting: Voting, chosen: Integers, n_ends: int) -> Array:
    """Return mean gains of the chosen rows that arrived by each end, (n_ends, n_features); 0 if none counts."""
    shape = -(-len(chosen) // CHUNK), n_ends, len(field.measured.spans)
    n_pairs = len(chosen) * len(field.measured.values)
    gains, n_used = _of_chunks(partial(_search_rows, field, voting, chosen), shape, n_pairs)
    return np.asarray(gains.sum(axis=0) / np.maximum(1, n_used.sum(axis=0))[:, np.newaxis])


def mean_probe_gains(field: Field, voting: Voting, probes: Measured) -> Array:
    """Return the mean gain of each extra feature over all rows, shape (n_probes,); 0 if no row counts."""
    n_rows, n_probes = probes.values.shape
    shape = -(-n_rows // CHUNK), n_probes
    gains, n_used = _of_chunks(partial(_search_probes, field, voting, probes), shape, n_rows**2)
    return np.asarray(gains.sum(axis=0) / max(1, n_used.sum()))


Search = Callable[[int, int, Array, Integers], None]
"""Does every step-th chunk from a first one on, of arrays with a row for each chunk."""


def _search_rows(
    field: Field, voting: Voting, chosen: Integers, first: int, step: int, gains: Array, n_used: Integers
) -> None:
    search(field, voting, make_lists(field, voting), chosen, first, step, gains, n_used)


def _search_probes(
    field: Field, voting: Voting, probes: Measured, first: int, step: int, gains: Array, n_used: Integers
) -> None:
    n_rows, n_probes = probes.values.shape
    scratch = make_probe_scratch(n_rows, n_probes)
    search_probes(field, voting, probes, scratch, np.arange(n_rows), first, step, gains, n_used)


def _of_chunks(run: Search, shape: tuple[int, ...], n_pairs: int) -> tuple[Array, Integers]:
    """Return the gains of all chunks, and the numbers of rows that count, searched in threads or by workers."""
    gains, n_used = np.zeros(shape), np.zeros(shape[:-1], np.int64)
    others = workers()
    if others is None or n_pairs <= FEW_PAIRS:
        in_threads(lambda first, step: run(first, step, gains, n_used), n_pairs)
        return gains, n_used
    n_parts = min(others.n, len(gains))
    found = others.map(partial(_every, run, shape, n_parts), range(n_parts))
    for first, part in enumerate(found):
        gains[first::n_parts], n_used[first::n_parts] = part
    return gains, n_used


def _every(run: Search, shape: tuple[int, ...], step: int, first: int) -> tuple[Array, Integers]:
    """Return the gains of every step-th chunk from a first one on, and the numbers of rows that count."""
    gains, n_used = np.zeros(shape), np.zeros(shape[:-1], np.int64)
    run(first, step, gains, n_used)
    return gains[first::step], n_used[first::step]


def in_threads(run: Callable[[int, int], None], n_pairs: int) -> None:
    """Run work cut into chunks: thread t of n calls `run(t, n)` and does every n-th chunk from t on."""
    n_threads = 1 if n_pairs <= FEW_PAIRS else n_processors()
    if n_threads == 1:
        run(0, 1)
        return
    with ThreadPoolExecutor(n_threads) as threads:
        for done in [threads.submit(run, first, n_threads) for first in range(n_threads)]:
            done.result()


def relief_voting(n_classes: int) -> Voting:
    """Relief: the nearest hit counts against a feature, the nearest miss of any other class for it."""
    lists = 1 - np.eye(n_classes, dtype=np.int64)
    return Voting(lists, np.tile([-1.0, 1.0], (n_classes, 1)), 1, True)


def relieff_voting(counts: Integers, n_neighbors: int) -> Voting:
    """ReliefF: the nearest misses of each class count by its prior among the other classes."""
    n_classes = len(counts)
    factors = counts / (counts.sum() - counts)[:, np.newaxis]
    np.fill_diagonal(factors, -1.0)
    return Voting(np.tile(np.arange(n_classes), (n_classes, 1)), factors, n_neighbors, False)
