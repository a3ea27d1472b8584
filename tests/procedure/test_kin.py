"""Streams that share the readings of nodes tell less than streams of their own."""

import numpy as np
from helpers.procedures import channels_procedure

from streamfs import StreamSet
from streamfs.procedure import kin as module
from streamfs.procedure.kin import Kin
from streamfs.training.description import reference_on

N_TIMES, N_NODES, N_TICKS = 30, 4, 12


def pairs_of_nodes(rng, n_common=0):
    """All pairs of four nodes at thirty times, with columns that all have, and the level of the first."""
    levels = rng.normal(size=(N_TIMES, 1)) + 0.1 * rng.normal(size=(N_TIMES, N_NODES))
    readings = levels[:, :, np.newaxis] + 0.01 * rng.normal(size=(N_TIMES, N_NODES, N_TICKS))
    common = [np.arange(N_TICKS) + 0.5] * n_common
    of = [(time, a, b) for time in range(N_TIMES) for a in range(N_NODES) for b in range(a)]
    streams = StreamSet(
        [np.stack([readings[time, a], readings[time, b], *common], axis=1) for time, a, b in of],
        ["on", "off"] * (len(of) // 2),
        ["a.level", "b.level", *(f"clock{i}" for i in range(n_common))],
    )
    return streams, np.array([levels[time, a] for time, a, _ in of])


def test_levels_of_pairs_that_share_nodes_count_less_than_what_each_pair_has_of_its_own():
    rng = np.random.default_rng(1)
    streams, levels = pairs_of_nodes(rng)
    kin = Kin.of(streams)
    assert 1 / 8 <= kin.weight(streams.names, levels) <= 1 / 5  # six pairs at a time
    assert kin.weight(streams.names, rng.normal(size=len(streams))) >= 5 / 8
    assert kin.weight(streams.names, np.ones(len(streams))) == 1.0
    of_few = np.where(rng.random(len(streams)) < 0.6, np.nan, levels)
    assert kin.weight(streams.names, of_few) <= 1 / 2  # what is missing has no level
    assert kin.weight(streams.names, np.where(levels < 0, np.nan, 1.0)) <= 1 / 4  # what is missing tells the level
    assert kin.weight(streams.names, np.where(abs(levels) < 0.7, levels, -levels)) <= 1 / 4
    half = streams.take(range(0, len(streams), 2))
    few, of_all = Kin.of(half), Kin.of(half, None, len(streams))  # three of six pairs at a time are seen
    assert (
        of_all.weight(half.names, levels[::2])
        == kin.weight(streams.names, levels)
        < few.weight(half.names, levels[::2])
    )
    other, of_times = streams.names[::-1], levels[::-1]
    assert kin.weight(other, of_times) == kin.weight(streams.names, levels)
    assert kin.weight([], []) == kin.weight(["another"], [1.0]) == 1.0


def test_a_clock_that_all_have_relates_none():
    rng = np.random.default_rng(2)
    values = np.stack([rng.normal(size=(60, N_TICKS)), np.tile(np.arange(N_TICKS), (60, 1))], axis=2)
    streams = StreamSet(values, ["on", "off"] * 30, ["level", "clock"])
    assert Kin.of(streams).weight(streams.names, np.arange(60)) == 1.0
    shared, levels = pairs_of_nodes(rng, n_common=1)
    assert Kin.of(shared).weight(shared.names, levels) <= 1 / 5


def test_streams_of_a_group_go_together():
    rng = np.random.default_rng(5)
    rooms = np.repeat(["r0", "r1", "r2", "r3", "r4"], 12)
    streams = StreamSet(rng.normal(size=(60, N_TICKS, 1)), ["on", "off"] * 30, ["level"])
    levels = np.repeat(rng.normal(size=5), 12) + 0.1 * rng.normal(size=60)
    weights = [Kin.of(streams, groups).weight(streams.names, levels) for groups in (rooms, None)]
    assert weights == [1 / 8, 1.0]


def test_of_very_many_streams_some_are_drawn(monkeypatch):
    streams, levels = pairs_of_nodes(np.random.default_rng(3))
    monkeypatch.setattr(module, "MOST_STREAMS", 90)  # of 180
    assert 1 / 8 <= Kin.of(streams).weight(streams.names, levels) <= 2 / 8


def test_a_reference_has_the_weights_of_what_a_procedure_shows():
    streams, _ = pairs_of_nodes(np.random.default_rng(4))
    reference = reference_on(channels_procedure("a.level", "b.level"), streams)
    assert reference["feature mean(a.level)"]["weight"] <= 1 / 4
