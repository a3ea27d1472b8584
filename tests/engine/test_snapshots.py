"""Snapshots of an engine."""

import copy
import pickle

import numpy as np
import pytest
from engines import content
from helpers.procedures import mean_procedure
from numpy.testing import assert_array_equal

from streamfs import Engine
from streamfs.engine import _arena
from streamfs.errors import ModelError


def test_a_restored_engine_is_bit_identical(trained):
    procedure, streams = trained
    seen = streams.seen_through(procedure.channels)
    engine = Engine(procedure)
    for tick in range(3):
        engine.push_batch(seen.names, np.full(len(seen), float(tick)), seen.values[:, tick])
    engine.close(seen.names[0])
    other = Engine.restore(procedure, engine.snapshot())
    assert other.snapshot() == engine.snapshot()
    for tick in range(3, 10):
        batch = seen.names, np.full(len(seen), float(tick)), seen.values[:, tick]
        assert other.push_batch(*batch) == engine.push_batch(*batch)
        assert other.snapshot() == engine.snapshot()
    assert_array_equal(other.streams, engine.streams)


def test_a_snapshot_of_another_procedure_or_a_damaged_one_is_refused():
    engine = Engine(mean_procedure())
    engine.push("s", 0.0, [0.0])
    snapshot = engine.snapshot()
    with pytest.raises(ModelError, match="belongs to procedure"):
        Engine.restore(mean_procedure(confidence=0.8), snapshot)
    for at in range(0, len(snapshot), 97):
        damaged = bytearray(snapshot)
        damaged[at] ^= 0xFF
        with pytest.raises(ModelError):
            Engine.restore(mean_procedure(), bytes(damaged))


@pytest.mark.parametrize("name", ["state", "streams", "status"])
def test_a_snapshot_whose_tables_do_not_fit_is_refused(name):
    engine = Engine(mean_procedure())
    engine.push_batch(["s", "t"], np.zeros(2), np.zeros((2, 1)))
    header, arrays = engine.to_state()
    with pytest.raises(ModelError, match=rf"{name} of shape \(1.*, expected \(2"):
        Engine.from_state(engine.procedure, header, {**arrays, name: arrays[name][:1]})
    with pytest.raises(ModelError, match="state of shape"):
        Engine.from_state(engine.procedure, header, {**arrays, "state": arrays["state"][:, :4]})


def copied_state():
    """Two streams with a free row between them."""
    engine = Engine(mean_procedure())
    engine.push_batch(["s", "gone", "t"], np.zeros(3), np.zeros((3, 1)))
    engine.close("gone")
    return engine.to_state()


@pytest.mark.parametrize("writeable", [True, False])
def test_a_restored_engine_shares_no_memory(writeable):
    header, arrays = copied_state()
    for array in arrays.values():
        array.flags.writeable = writeable
    before = {name: array.tobytes() for name, array in arrays.items()}
    one, other = (Engine.from_state(mean_procedure(), header, arrays) for _ in range(2))
    untouched = content(other)
    for i in range(100):
        one.push(f"new{i}", 0.0, [0.0])
    one.push_batch(["s", "t"], [1.0, 1.0], [[9.0], [0.0]])
    assert content(other) == untouched
    assert {name: array.tobytes() for name, array in arrays.items()} == before
    assert other.push("s", 1.0, [9.0]).label == "on"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"status": np.array([4, 0, 2], np.int8)}, "status of row 0 is 4, expected 0 to 3"),
        ({"status": np.array([2, 0, -1], np.int8)}, "status of row 2 is -1"),
        ({"status": np.zeros((3, 0), np.int8)}, r"status of shape \(3, 0\), expected \(3,\)"),
        ({"status": np.array([2, 0, 2])}, "status is of int64, expected int8"),
        ({"status": [2, 0, 2]}, "status is of .*list"),
        ({"streams": np.zeros((3, 0), _arena.STREAM)}, r"streams of shape \(3, 0\)"),
        ({"streams": np.zeros(3)}, "streams is of float64"),
        ({"state": np.zeros((3, 5), ">f8")}, "state is of >f8, expected float64"),
        ({"streams tick": -1}, "tick of row 2 is -1"),
        ({"streams episode": 2**62}, "episode of row 2 is"),
        ({"free": []}, "free rows are not those that hold no stream"),
        ({"free": [1, 1]}, "free rows"),
        ({"free": [2]}, "free rows"),
        ({"free": [10**9]}, "free rows"),
        ({"free": [-1]}, "counts -1, expected a whole number from 0"),
        ({"free": [1.0]}, r"counts 1\.0, expected a whole number"),
        ({"free": [True]}, "counts True"),
        ({"free": 1}, "free are 1, expected a list"),
        ({"names": ["s", "", 7]}, "names a stream 7, expected text"),
        ({"names": ["s", "", "s"]}, "names two streams alike"),
        ({"names": "stu"}, "names are 'stu', expected a list"),
        ({"left": ["s"]}, "left are .* expected a dict"),
        ({"left": {"s": "1"}}, "counts '1'"),
        ({"floor": 2**70}, "counts 11805"),
        ({"counters": dict.fromkeys(_arena.COUNTERS, 2**70)}, "counts 11805"),
        ({"counters": {"samples": 1}}, "has no not_finite"),
    ],
)
def test_an_inconsistent_snapshot_is_refused(change, message):
    header, arrays = copied_state()
    for name, value in change.items():
        if name.startswith("streams "):
            arrays["streams"][name.removeprefix("streams ")][2] = value
        else:
            (arrays if name in arrays else header)[name] = value
    with pytest.raises(ModelError, match=f"the snapshot.*{message}"):
        Engine.from_state(mean_procedure(), header, arrays)


def test_a_snapshot_that_lacks_a_part_is_refused():
    header, arrays = copied_state()
    for name in (*header, *arrays):
        kept = [{key: part for key, part in parts.items() if key != name} for parts in (header, arrays)]
        with pytest.raises(ModelError, match=f"the snapshot has no {name}"):
            Engine.from_state(mean_procedure(), *kept)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_an_engine_is_not_copied_but_by_a_snapshot(copied):
    with pytest.raises(TypeError, match="take a snapshot"):
        copied(Engine(mean_procedure()))
