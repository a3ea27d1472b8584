"""What is decided within the compiled pass, and tables that do not fit it."""

import dataclasses
import runpy

import numpy as np
import pytest
from engines import NAN, content, random_samples
from helpers.own_classifier import Opaque
from helpers.procedures import mean_procedure, step_tree
from helpers.random_models import any_classifier, any_forest, random_forest, random_procedure, tick_thresholds
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from feature_extractors import _driver, _loop
from streamfs import Engine
from streamfs.base import growable_array as growth
from streamfs.classifiers import _calibration, _evaluate, _forest
from streamfs.classifiers.forest import Forest
from streamfs.engine import _arena
from streamfs.procedure import TickThresholds


@pytest.mark.parametrize("n_calls", [1, 2, 3])
def test_streams_that_memory_does_not_suffice_for_leave_the_others_as_they_are(n_calls, monkeypatch):
    engine, undisturbed = Engine(mean_procedure()), Engine(mean_procedure())
    for each in (engine, undisturbed):
        each.push_batch([f"s{i}" for i in range(16)], np.zeros(16), np.zeros((16, 1)))
    calls = []

    def failing(array, rows):
        calls.append(len(rows))
        if len(calls) == n_calls:
            raise MemoryError
        return growth.append_rows(array, rows)

    with monkeypatch.context() as patch:
        patch.setattr("streamfs.engine.stream_table.append_rows", failing)
        with pytest.raises(MemoryError):
            engine.push("new", 0.0, [0.0])
    assert engine.streams == undisturbed.streams
    for name in ("state", "streams", "status"):
        assert engine._arena.record[name][0] == engine._arena[name].ctypes.data
    names = [*(f"s{i}" for i in range(16)), *(f"new{i}" for i in range(50))]
    batch = names, np.ones(66), np.linspace(0.0, 2.0, 66)[:, np.newaxis]
    assert engine.push_batch(*batch) == undisturbed.push_batch(*batch)
    assert engine.snapshot() == undisturbed.snapshot()
    assert len(engine._table.state) == len(engine._table.streams) == len(engine._table.status)


@pytest.mark.parametrize("shape", [(1, 2), (2, 2), (3, 1), (3, 3), (3, 0), (6,)])
def test_an_answer_of_a_classifier_that_does_not_fit_is_refused_and_moves_no_stream(shape):
    tree, names = step_tree(), ["a", "b", "c"]
    engine = Engine(dataclasses.replace(mean_procedure(), classifier=Opaque(tree)))
    engine.push_batch(names, np.zeros(3), np.zeros((3, 1)))
    before = engine._table.state.tobytes(), engine._table.streams.tobytes(), engine._table.status.tobytes()
    engine.procedure.classifier.probabilities = lambda _values: np.full(shape, 0.5)
    with pytest.raises(ValueError, match=r"the classifier's answer has shape .*, expected \(3, 2\)"):
        engine.push_batch(names, np.ones(3), np.full((3, 1), 9.0))
    assert (
        engine._table.state.tobytes(),
        engine._table.streams.tobytes(),
        engine._table.status.tobytes(),
    ) == before
    engine.procedure.classifier.probabilities = tree.probabilities
    assert len(engine.push_batch(names, np.ones(3), np.full((3, 1), 9.0))) == 3


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((16, 5), np.float32),
        np.zeros((5, 16)).T,
        np.zeros((32, 5))[::2],
        np.broadcast_to(0.0, (16, 5)),
        np.zeros((15, 5)),
        np.zeros((16, 6)),
        np.zeros(80),
    ],
)
def test_an_arena_holds_only_what_its_kernels_can_use(array):
    engine = Engine(mean_procedure())
    for i in range(3):
        engine.row(f"s{i}")
    held = engine._arena["state"]
    assert held.shape == (16, 5)
    with pytest.raises(TypeError, match=r"state is of .*expected float64 and at least"):
        engine._arena.hold(state=array)
    assert engine._arena["state"] is held


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (_driver, "BLOCK", 8),
        (_driver, "ENTRY", np.dtype([("address", np.int64)])),
        (_loop, "TASK_SIZE", 20),
        (_evaluate, "NODE", np.dtype([("feature", np.int64)])),
        (_evaluate, "WAY", np.dtype([("feature", np.int64)])),
        (_forest, "GROUP", 8),
        (_forest, "BLOCK", 64),
        (_forest, "WAY", np.dtype([("feature", np.int64)])),
        (_calibration, "CALIBRATION", np.dtype([("slope", np.int64)])),
    ],
)
def test_kernels_that_were_compiled_for_another_layout_do_not_fit_the_arena(module, name, value, monkeypatch):
    """For a new type numba would compile again."""
    same = runpy.run_path(_arena.__file__)["ARENA"]
    monkeypatch.setattr(module, name, value)
    assert same == _arena.ARENA
    assert runpy.run_path(_arena.__file__)["ARENA"] != same


@pytest.mark.parametrize("name", ["TASK_SIZE", "ROOM"])
def test_a_driver_that_was_compiled_for_another_task_does_not_fit_the_table(name, monkeypatch):
    monkeypatch.setattr(_loop, name, 20)
    assert runpy.run_path(_driver.__file__)["ENTRY"] != _driver.ENTRY


@given(seed=st.integers(0, 2**32 - 1), stopping=st.none() | tick_thresholds())
def test_a_tree_or_forest_decides_within_the_compiled_pass_as_it_does_outside(seed, stopping):
    """Numeric and nominal tests, missing values, unseen codes, late samples and time-outs."""
    rng = np.random.default_rng(seed)
    inside = random_procedure(rng, any_classifier(rng, 5), stopping=stopping)
    engines = [Engine(inside), Engine(dataclasses.replace(inside, classifier=Opaque(inside.classifier)))]
    n_streams = int(rng.choice([60, 90]))
    rows, times, samples = random_samples(rng, n_streams, 240)
    for engine in engines:
        for i in range(n_streams):
            engine.admit(f"s{i}")
    for part in np.array_split(np.arange(240), 5):
        decisions = [repr(engine.push_rows(rows[part], times[part], samples[part])) for engine in engines]
        assert decisions[0] == decisions[1]
        assert content(engines[0]) == content(engines[1])


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_a_forest_says_in_every_path_what_its_probabilities_are(seed):
    """To the last bit: one at a time, in batches of any length, by name and row, and through a snapshot."""
    rng = np.random.default_rng(seed)
    forest, n_streams = any_forest(rng, 5), int(rng.choice([1, 14, 16, 17, 33, 600]))
    engine = Engine(dataclasses.replace(random_procedure(rng, forest), confidence=1.0))
    names = [f"s{i}" for i in range(n_streams)]
    rows = np.array([engine.row(name) for name in names])
    for tick in range(4):
        samples = np.round(rng.normal(1, 1.5, (n_streams, 2)), 1)
        samples[rng.random(samples.shape) < 0.2 * (tick > 0)] = NAN
        times = np.full(n_streams, 0.5 * tick)
        for part in np.array_split(rng.permutation(n_streams), rng.integers(1, 4)):
            if len(part) < 20:
                for i in part:
                    engine.push(names[i], times[i], samples[i])
            elif rng.random() < 0.5:
                engine.push_rows(rows[part], times[part], samples[part])
            else:
                engine.push_batch([names[i] for i in part], times[part], samples[part])
        expected = forest.probabilities(np.stack([engine.values(name) for name in names]))
        assert_array_equal(engine._table.streams["confidence"][rows], expected.max(axis=1))
        if rng.random() < 0.3:
            engine = Engine.restore(engine.procedure, engine.snapshot())


def test_a_forest_is_evaluated_within_the_compiled_pass(monkeypatch):
    forest = random_forest(1, n_features=5, n_classes=2, n_trees=20)
    engine = Engine(
        random_procedure(np.random.default_rng(1), forest, stopping=TickThresholds((1, 2), (1.0, 0.0)))
    )
    twin, answers = Engine(dataclasses.replace(engine.procedure, classifier=Opaque(forest))), []
    expected = [twin.push("s", time, [0.5, 1.5]) for time in (0.0, 0.5)]
    monkeypatch.setattr(Forest, "probabilities", lambda *_: answers.append("outside"))
    assert [engine.push("s", time, [0.5, 1.5]) for time in (0.0, 0.5)] == expected
    assert (expected[1].label, answers) != (None, ["outside"])
