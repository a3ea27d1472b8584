"""Streams that leave an engine for another."""

import numpy as np
from engines import NAN
from helpers.procedures import mean_procedure
from numpy.testing import assert_array_equal

from streamfs import Engine
from streamfs.engine.engine import DECIDED


def test_a_stream_that_another_engine_adopts_goes_on_counting_there():
    old, new = Engine(mean_procedure()), Engine(mean_procedure(confidence=0.5))
    old.push_batch(["decided", "waiting"], [7.0, 7.0], [[1.0], [NAN]])
    old.push("decided", 8.0, [1.0])
    old.reopen("decided")
    old.push("decided", 9.0, [1.0])
    (row,) = old.rows(DECIDED)
    at = float(old.decided_at(np.array([row]))[0])
    new.adopt("decided", old.release("decided"), decided_at=at)
    new.adopt("waiting", old.release("waiting"))
    assert old.n_streams == 0
    assert_array_equal(new.decided_at(new.rows(DECIDED)), [9.0])
    assert new.push("decided", 10.0, [1.0]) is None
    new.reopen("decided")
    assert new.push("decided", 11.0, [1.0]).episode == 3
    assert new.push("waiting", 11.0, [1.0]).episode == 1


def test_an_engine_counts_on_from_the_streams_that_have_left_another(monkeypatch):
    monkeypatch.setattr("streamfs.engine.stream_registry.MAX_LEFT", 1)
    old, new = Engine(mean_procedure()), Engine(mean_procedure())
    old.remember("gone", 6)
    old.remember("left", 2)
    new.inherit(old)
    assert new.push("left", 0.0, [1.0]).episode == 3
    assert new.push("gone", 0.0, [1.0]).episode == 7
    assert new.push("new", 0.0, [1.0]).episode == 7


def test_of_streams_that_left_long_ago_only_the_highest_number_is_kept(monkeypatch):
    monkeypatch.setattr("streamfs.engine.stream_registry.MAX_LEFT", 3)
    engine = Engine(mean_procedure())
    engine.remember("eldest", 9)
    for i, name in enumerate("abcd"):
        engine.remember(name, i + 1)
    assert engine.push("new", 0.0, [1.0]).episode == 10
    assert engine.push("eldest", 0.0, [1.0]).episode == 10
    assert [engine.push(name, 0.0, [1.0]).episode for name in "abcd"] == [10, 3, 4, 5]
