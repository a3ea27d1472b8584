"""Channels that open later."""

import numpy as np
import pytest
from engines import NAN
from helpers.own_classifier import Opaque
from helpers.procedures import mean_procedure
from helpers.random_models import any_classifier, random_procedure
from hypothesis import given
from hypothesis import strategies as st

from streamfs import Engine, StreamSet
from streamfs.data.feature_table import tabulate
from streamfs.evaluation.trajectories import Trajectories


@pytest.mark.parametrize("wrap", [lambda classifier: classifier, Opaque], ids=["compiled", "plain"])
@given(st.integers(0, 2**32), st.integers(2, 9))
def test_what_arrives_before_a_channel_opens_is_not_seen(wrap, seed, opening):
    rng = np.random.default_rng(seed)
    procedure = random_procedure(rng, wrap(any_classifier(rng, 5)), b=f"b@from:{opening}")
    values = np.round(rng.normal(1, 1.5, (6, 12, 2)))
    values[rng.random(values.shape) < 0.2] = NAN
    streams = StreamSet(values, ["t"] * 6, ["a", "b"], procedure.period)
    engine, decisions = Engine(procedure), []
    for tick in range(12):
        decisions += engine.push_batch(streams.names, np.full(6, 0.5 * tick), values[:, tick])
    table = tabulate(streams, procedure.features)
    labels, ticks = Trajectories.of(procedure.classifier, table, procedure.time_limit).decide(procedure.confidence)
    ended = {decision.stream: decision for decision in decisions}
    for name, label, tick in zip(streams.names, labels, ticks, strict=True):
        expected = None if label < 0 else procedure.classes[label]
        assert expected is None or (ended[name].label, ended[name].tick) == (expected, tick)
        assert expected is not None or name not in ended or ended[name].reason == "timeout"


def test_streams_ask_for_a_channel_from_its_opening_tick_on():
    engine = Engine(random_procedure(np.random.default_rng(0), b="b@from:4"))
    engine.admit("s")
    row, asked = np.array([engine.row("s")]), []
    for tick in range(4):
        asked.append(engine.asked(row)[0].tolist())
        engine.push("s", 0.5 * tick, [1.0, NAN])
    assert asked == [[True, False]] * 3 + [[True, True]]
    assert engine.counters["before_opening"] == 0
    assert engine.asked(row, ahead=-1)[0].tolist() == [True, False]


def test_a_channel_must_be_open_at_the_first_tick_and_none_opens_after_the_last():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="b@from:10 opens beyond the time limit of 9 ticks"):
        random_procedure(rng, b="b@from:10")
    with pytest.raises(ValueError, match="channels are x@from:2, expected one that is open from tick 1 on"):
        mean_procedure(column="x@from:2")
