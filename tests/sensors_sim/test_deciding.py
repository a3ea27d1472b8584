"""Nodes that decide by themselves: what they send is what a gateway would decide."""

from math import inf

import numpy as np
import orjson
import pytest
from helpers.broker import find_mosquitto
from helpers.compiled_c import exported_model, split_model
from helpers.demo_node import run as follow
from helpers.random_models import random_forest, random_procedure

from sensors_sim.deciding import ComputingNode, DecidingNode
from sensors_sim.nodes import Battery
from streamfs import StreamSet
from streamfs.costs.energy_meter import EnergyMeter
from streamfs.costs.radio_profiles import profile
from streamfs.evaluation.evaluation import replay
from streamfs.procedure import TickThresholds
from streamfs.procedure.split import split

N_TICKS = 14


@pytest.fixture
def procedure():
    return random_procedure(np.random.default_rng(3), stopping=TickThresholds((2, 6), (0.6, 0.4)))


def run(node):
    return [(tick, message) for tick in range(N_TICKS) for message in node.transmit(tick, 0.5 * tick)]


def node_of(name, values, model, meter, joules=inf):
    node = DecidingNode(name, dict(zip(("a", "b"), values.T, strict=True)), meter, Battery(joules))
    node.run_model(model)
    return node


def test_a_node_sends_its_decision_once_and_pays_for_nothing_else(tmp_path, procedure):
    values = np.random.default_rng(0).normal(1, 1, (40, N_TICKS, 2))
    streams = StreamSet(values, ["t"] * 40, ("a", "b"), 0.5)
    decided = {decision.stream: decision for decision in replay(procedure, streams)}
    model, meter = exported_model(tmp_path, procedure), EnergyMeter(profile("cc2420"))
    for name, rows in zip(streams.names, values, strict=True):
        node = node_of(name, rows, model, meter)
        node.set_channels(["a"], 0)
        [(tick, message)] = run(node)
        assert node.is_done
        assert (tick + 1, orjson.loads(message.payload)["label"]) == (decided[name].tick, decided[name].label)
    assert meter.messages == 40
    assert len({decision.label for decision in decided.values()}) > 1


@pytest.mark.mqtt
@pytest.mark.skipif(find_mosquitto() is None, reason="mosquitto not found: install it to run the MQTT tests")
def test_a_gateway_decides_by_the_crossings_that_nodes_send(tmp_path):
    rng = np.random.default_rng(3)
    forest = random_forest(1, 5, n_trees=8)
    procedure = random_procedure(rng, forest, "b@delta:0.5", stopping=TickThresholds((1, 3), (0.6, 0.45)))
    names = [f"n{k}" for k in range(12)]
    streams = StreamSet(rng.normal(1, 1, (12, N_TICKS, 2)), ["t"] * 12, ("a", "b"), 0.5, names)
    halves = split(procedure)
    model = split_model(tmp_path, procedure, halves)
    fleet, decided = follow(halves.gateway, streams, dict.fromkeys(names, model))
    offline = {each.stream: each.label for each in replay(procedure, streams)}
    assert decided == offline
    assert len(set(offline.values())) > 1
    everything = sum(each.tick for each in replay(procedure, streams)) * len(halves.channels)
    assert 0 < fleet.meter.messages < everything
    node = ComputingNode("n", {"a": np.ones(3)}, EnergyMeter(profile("cc2420")), Battery(inf))
    with pytest.raises(ValueError, match="node n has no column 'b', which its model reads"):
        node.run_model(model)
    node = ComputingNode("n", {"a": np.ones(3), "b": np.ones(2)}, EnergyMeter(profile("cc2420")), Battery(inf))
    node.run_model(model)
    with pytest.raises(ValueError, match="node n has no channel a, only "):
        node.set_channels(["a"], 0)


def test_an_empty_battery_sends_no_decision(tmp_path, procedure):
    values = np.random.default_rng(0).normal(1, 1, (N_TICKS, 2))
    node = node_of("n", values, exported_model(tmp_path, procedure), EnergyMeter(profile("cc2420")), 1e-12)
    assert run(node) == []
    assert not node.alive


def test_a_node_needs_the_columns_of_its_model(tmp_path, procedure):
    node = DecidingNode("n", {"a": np.ones(3)}, EnergyMeter(profile("cc2420")), Battery(inf))
    with pytest.raises(ValueError, match="node n has no column 'b', which its model reads"):
        node.run_model(exported_model(tmp_path, procedure))
