"""Kernels in C, by numba and in Python give the same, to the bit."""

import numpy as np
import pytest
from helpers.backends import BACKENDS, backend
from helpers.procedures import channels_procedure
from helpers.random_models import any_classifier, random_procedure
from helpers.records import Models, batch, message, new_core
from hypothesis import given, settings
from hypothesis import strategies as st

import feature_extractors as fx
from feature_extractors._compiled import in_c
from feature_extractors.catalogue import KINDS
from streamfs import Engine
from streamfs.classifiers import _calibration, _kernel_density, _lazy, _neighbours, _tied
from streamfs.classifiers._extra_trees import WeightedRows, grow, whole
from streamfs.classifiers.c45 import C45Classifier
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.records import clock_record
from streamfs.procedure._rank_bets import N_CELLS, N_WAYS, bet_on_ranks
from streamfs.relief.measure import measure
from streamfs.relief.neighbours import relieff_voting
from streamfs.relief.rows import make_rows
from streamfs.selection import _query_sensitive
from streamfs.selection.candidate import sample_by, sample_recorded
from streamfs.selection.regions import make_regions

pytestmark = [
    pytest.mark.skipif(in_c() is None, reason="there is no extension module of these kernels"),
    pytest.mark.numba,
]

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=5, deadline=None)


def bits(*arrays):
    """Return what arrays hold, to the bit; all NaN are one."""
    return [np.where(np.isnan(a), np.nan, a).tobytes() if a.dtype.kind == "f" else a.tobytes() for a in arrays]


def in_each(work, backends=BACKENDS):
    """Return what a function returns with the kernels of each backend."""
    found = []
    for name in backends:
        with backend(name):
            found.append(work())
    return found


def all_equal(found):
    return all(each == found[0] for each in found)


def random_values(rng, shape):
    """Noise with ties, gaps, and numbers near the limits."""
    values = np.round(rng.normal(0.0, 1.5, shape), rng.integers(0, 3))
    odd = rng.choice([np.nan, np.inf, -1e200, 1e100, 5e-324, -0.0], shape)
    return np.where(rng.random(shape) < 0.15, odd, values)


def feature_of(kind, rng):
    params = {p.name: float(rng.integers(max(1, p.low), 6)) for p in kind.parameters if p.default is None}
    return fx.Feature(kind, tuple("ab"[: kind.n_columns]), params)


@few
@given(seed=seeds)
def test_every_step_is_the_same(seed):
    rng = np.random.default_rng(seed)
    features = [feature_of(kind, rng) for kind in KINDS]
    n_streams = int(rng.choice([1, 17]))
    values = random_values(rng, (n_streams, 12, 2))
    found = in_each(lambda: bits(fx.scan(features, values, columns=("a", "b"))), ("c", "numba"))
    assert all_equal(found)


def test_every_step_is_that_in_python():
    rng = np.random.default_rng(5)
    features, values = [feature_of(kind, rng) for kind in KINDS], random_values(rng, (1, 9, 2))
    assert all_equal(in_each(lambda: bits(fx.scan(features, values, columns=("a", "b"))), ("c", "python")))


@pytest.mark.parametrize(("backends", "n_samples"), [(("c", "numba"), 240), (("c", "python"), 24)])
@few
@given(seed=seeds)
def test_an_engine_is_the_same(backends, n_samples, seed):
    def work():
        rng = np.random.default_rng(seed)
        engine = Engine(random_procedure(rng, any_classifier(rng, 5)))
        names = [f"s{i}" for i in range(7)]
        for name in names:
            engine.admit(name)
        rows = rng.integers(len(names), size=n_samples)
        times = np.sort(rng.integers(0, 30, n_samples)) * 0.5 - rng.choice([0.0, 0.2, 1.0], n_samples)
        samples = random_values(rng, (n_samples, 2))
        decisions = [engine.push_rows(rows[:-5], times[:-5], samples[:-5])]
        decisions += [engine.push(names[rows[i]], times[i], samples[i]) for i in range(n_samples - 5, n_samples)]
        decisions += [engine.expire(40.0)]
        table = engine._table
        return (
            repr(decisions),
            *bits(table.state),
            table.streams.tobytes(),
            table.status.tobytes(),
            engine.counters,
        )

    assert all_equal(in_each(work, backends))


def messages_of(rng):
    """Readings of two channels with gaps, repetitions, late and batched ones, and odd clocks."""
    for tick in range(12):
        for node in ("n1", "n2"):
            time = float(tick + rng.choice([0, 0, 0, -3, 40])) if rng.random() < 0.8 else None
            value = float(np.round(rng.normal(), 1)) if rng.random() < 0.9 else None
            sequence = tick if rng.random() < 0.7 else None
            arrival = tick + float(rng.random())
            yield message(node, time, value, sequence, rng.choice(["x", "door@flag:0.5"]), arrival)
            if rng.random() < 0.2:
                yield batch(node, float(tick), [0.5, None, 1.5], channel="x", arrival=arrival)
        if rng.random() < 0.3:
            yield clock_record(float(tick + 5))
    yield clock_record(60.0)


@few
@given(seed=seeds)
def test_a_joiner_is_the_same(seed):
    def work():
        models = Models(channels_procedure("a.x", "b.x", "a.door@flag:0.5"))
        bindings = Bindings(models.first.channels, {"s": {"a": "n1", "b": "n2"}, "t": {"a": "n2", "b": "n1"}})
        core, first = new_core(models, bindings)
        effects = [repr(core.take([record])) for record in messages_of(np.random.default_rng(seed))]
        joiner = core.joiner
        arrays = [joiner.grid, joiner.counts, joiner.nodes, joiner.slots, joiner.streams, joiner.cells]
        return repr(first), effects, [array.tolist().__repr__() for array in arrays]

    assert all_equal(in_each(work))


def table_of(rng, n_rows, n_features):
    values = np.round(rng.normal(size=(n_rows, n_features)), 1)
    return np.where(rng.random(values.shape) < 0.2, np.nan, values)


@few
@given(seed=seeds)
def test_neighbours_are_the_same(seed):
    rng = np.random.default_rng(seed)
    table, queries = table_of(rng, 30, 3), table_of(rng, 4, 3)
    nominal = rng.random(3) < 0.4
    scales = np.zeros(3), rng.uniform(0.5, 2.0, 3), np.ones(3), nominal

    def nearest():
        room, distances, rows = np.zeros(30), np.zeros((4, 5)), np.zeros((4, 5), np.int64)
        columns = np.ascontiguousarray(table.T)
        _neighbours.find_nearest(columns, _neighbours.Scales(*scales), queries, 2, room, distances, rows)
        return bits(distances, rows)

    def votes():
        stored = _lazy.Stored(table, *scales)
        asked, result, tied = np.random.default_rng(seed).random((4, 3)) < 0.7, np.zeros((4, 2)), np.zeros((4, 2))
        classes, nearest, thresholds = np.arange(30) % 2, np.zeros(30, np.int64), np.ones(3)
        room = np.zeros(3, np.int64), np.zeros(5), np.zeros(5, np.int64)
        _lazy.vote(stored, classes, queries, asked, *room, result)
        _tied.vote_with_ties(stored, classes, queries, asked, *room, tied)
        _query_sensitive.nearest_others(stored, classes, np.arange(3), nearest)
        _query_sensitive.update_thresholds(stored, classes, nearest, np.full(3, 0.3), 0.1, thresholds)
        return bits(result, tied, nearest, thresholds)

    def weights():
        draw = np.random.default_rng(seed)
        classes, groups, power = draw.permutation(np.arange(60) % 3), np.arange(60) // 2, 1 + seed % 2
        rows = make_rows(table_of(draw, 60, 5), classes, groups, power, [0])
        most = relieff_voting(np.bincount(classes), 1 + seed % 4)
        probes = measure(table_of(draw, 60, 7), np.zeros(7, bool), None)
        return bits(rows.weights([20, 60]), rows.mean_gains(most, [60]), rows.probe_weights(probes))

    def samples():
        draw = np.random.default_rng(seed)
        labels, joint, values = (draw.integers(0, 3, 40) for _ in range(3))
        regions = make_regions(labels, joint[:, np.newaxis])
        truth, order = draw.dirichlet(np.ones(3), (3, 3)), draw.permutation(40)
        found, errors = sample_recorded(regions, values, truth, order, 30, is_active=seed % 2 == 0)
        again = sample_by(regions, 3, values.tolist().__getitem__, order, 30, is_active=seed % 2 == 0)
        return bits(found.drawn, errors, found.known.counts, again.drawn)

    for work in (nearest, votes, weights, samples):
        assert all_equal(in_each(work))


@few
@given(seed=seeds)
def test_random_trees_are_the_same(seed):
    rng = np.random.default_rng(seed)
    columns, labels = np.ascontiguousarray(table_of(rng, 40, 5).T), np.sort(rng.integers(0, 3, 40))
    n_candidates, clock, min_leaf = (
        int(rng.integers(1, 6)),
        int(rng.integers(-1, 1)),
        float(rng.choice([0.1, 2.0])),
    )
    columns[0] = np.abs(columns[0])
    columns[1:3] = np.round(rng.normal(size=(2, 40)), 1)  # nothing of these is missing
    rows = WeightedRows(
        columns, whole(columns), labels, rng.uniform(0.1, 1.0, 40), 3, n_candidates, min_leaf, clock
    )
    assert all_equal(in_each(lambda: bits(*grow(rows, seed))))


@few
@given(seed=seeds)
def test_trees_are_the_same(seed):
    rng = np.random.default_rng(seed)
    table, labels = table_of(rng, 150, 4), rng.integers(0, 3, 150)  # more nodes, and rows, than there is room for
    table[:, 0], weights = rng.integers(0, 4, 150), rng.uniform(0.1, 1.0, 150)

    def work():
        fitted = C45Classifier(min_leaf=0.5, confidence_factor=0.5, nominal=[0]).fit(table, labels, weights)
        return bits(fitted.predict_proba(table)), fitted.n_leaves_

    assert all_equal(in_each(work))


@few
@given(seed=seeds)
def test_probabilities_are_the_same(seed):
    rng = np.random.default_rng(seed)
    numbers = rng.dirichlet(np.ones(3), 6)
    slope, intercept, growth = rng.normal(1.0, 0.5, 3).tolist()

    def calibrated():
        result = np.zeros((6, 3))
        _calibration.apply(slope, intercept, growth, np.arange(6.0), numbers, result)
        one, logits = np.zeros(6), np.zeros(6)
        _calibration.calibrate(slope, np.arange(6.0), 0.3, numbers[:, 0].copy(), one)
        _calibration.write_logits(numbers[:, 1].copy(), logits)
        return bits(result, one, logits)

    def densities():
        columns, queries = np.ascontiguousarray(table_of(np.random.default_rng(seed), 40, 3).T), numbers
        kinds = np.array([True, False, False]), *np.log(numbers[0]), numbers[1]
        rows = _kernel_density.ClassKernels(columns, kinds[0], numbers[0], numbers[1], np.ones(40), -np.ones(40))
        return bits(_kernel_density.log_densities(rows, queries))

    def bets():
        draw = np.random.default_rng(seed)
        reference, seen, n = draw.integers(0, 9, (3, 4)), np.zeros((3, 4), np.int64), np.zeros(3, np.int64)
        cells, wealths = np.zeros((3, N_CELLS)), np.zeros((3, N_WAYS))
        held = reference, reference.sum(axis=1), draw.integers(1, 9, 3), seen, n, cells, wealths
        highest = [bet_on_ranks(*held, draw.integers(-1, 4, 3)) for _ in range(9)]
        return bits(np.array(highest), cells, wealths)

    for work in (calibrated, densities, bets):
        assert all_equal(in_each(work))
