"""Channels that open at a tick of the episode, with nodes that do as they are told."""

from random import Random

import numpy as np
import orjson
import pytest
from helpers.procedures import labelled_streams
from helpers.records import make_options, message, requested_channels

import feature_extractors as fx
from sensors_sim.nodes import Battery, Node
from streamfs import Costs, Procedure, evaluate
from streamfs.costs.energy_meter import EnergyMeter
from streamfs.costs.radio_profiles import PROFILES
from streamfs.data.feature_table import tabulate
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.later_slots import LaterSlots
from streamfs.gateway.core.records import start_record
from streamfs.training.learners import forest_learner

FEATURES = ("last(a.level)", "last(b.level)", "mean(a.noise@delta:0@from:5)", "mean(b.noise@from:5)")
N_TICKS, OPENING = 20, 5
AHEAD = 2
"""Ticks before an opening at which nodes are asked, so that they have obeyed in time."""


@pytest.fixture(scope="module")
def streams():
    return labelled_streams(24, N_TICKS)


@pytest.fixture(scope="module")
def procedure(streams):
    features = tuple(map(fx.get, FEATURES))
    forest = forest_learner(2, N_TICKS, seed=0)(tabulate(streams, features))
    return Procedure(features, forest, streams.classes, Costs(np.ones(4)), 0.8, N_TICKS - 2)


def nodes_of(streams):
    meter, nodes = EnergyMeter(PROFILES["transmissions"]), {}
    for name, values in zip(streams.names, streams.values, strict=True):
        for role in ("a", "b"):
            columns = {
                column.removeprefix(f"{role}."): values[:, place]
                for place, column in enumerate(streams.columns)
                if column.startswith(role)
            }
            nodes[f"{role}-{name}"] = Node(f"{role}-{name}", columns, meter, Battery(1e9))
    return nodes


def served(procedure, streams, lateness):
    """Return the decisions of a gateway, and when each node first sent each channel."""
    nodes, first = nodes_of(streams), {}
    pairs = {name: {role: f"{role}-{name}" for role in ("a", "b")} for name in streams.names}
    core = Core(procedure, Bindings.pairs(procedure.channels, pairs), make_options(lateness=lateness))
    effects, decisions = core.take([start_record(procedure.digest, 0.0)]), []
    for tick in range(N_TICKS):
        for node, channels in requested_channels(effects.publications).items():
            nodes[node].set_channels(channels, tick)
        records = []
        for name, node in nodes.items():
            for sent in node.transmit(tick, float(tick)):
                first.setdefault((name, sent.channel), tick + 1)
                reading = orjson.loads(sent.payload)
                records.append(message(name, reading["t"], reading["v"], reading["seq"], sent.channel))
        effects = core.take(records)
        decisions += effects.decisions
    return decisions + core.finish().decisions, first


@pytest.mark.parametrize("lateness", [0.0, 0.5, 2.0])
def test_decisions_are_those_of_recorded_streams(procedure, streams, lateness):
    decisions, _ = served(procedure, streams, lateness)
    assert sorted(map(repr, decisions)) == sorted(map(repr, evaluate(procedure, streams).decisions))
    assert len({decision.tick for decision in decisions}) > 5


def test_only_streams_that_are_undecided_there_send_what_opens_later(procedure, streams):
    decisions, first = served(procedure, streams, 0.0)
    ticks = {decision.stream: decision.tick for decision in decisions}
    assert any(tick < OPENING - AHEAD for tick in ticks.values())
    for stream, tick in ticks.items():
        for channel in ("a", "noise@delta:0"), ("b", "noise"):
            begun = first.get((f"{channel[0]}-{stream}", channel[1]))
            assert begun == (OPENING if tick > OPENING - AHEAD else None)


def test_the_first_order_announces_what_opens_later(procedure, streams):
    pairs = {
        name: {"a": f"a-{name}", "b": "shared" if name == streams.names[0] else f"b-{name}"}
        for name in streams.names
    }
    core = Core(procedure, Bindings.pairs(procedure.channels, pairs), make_options())
    publications = core.take([start_record(procedure.digest, 0.0)]).publications
    orders = {
        each.topic.rpartition("/")[2]: orjson.loads(each.payload)
        for each in publications
        if "/control/" in each.topic
    }
    at, name = (OPENING - 1) * procedure.period, streams.names[0]
    assert (orders[f"a-{name}"]["channels"], orders[f"a-{name}"]["later"]) == (["level"], {"noise@delta:0": at})
    assert (orders["shared"]["channels"], orders["shared"]["later"]) == (["level"], {"noise": at})
    assert orders.keys() == core.roster.nodes.keys()
    assert core.roster.control_states() == [each for each in publications if "/control/" in each.topic]
    restored = Core.from_state(core.to_state()(), {procedure.digest: procedure}.__getitem__)
    assert restored.roster.control_states() == core.roster.control_states()
    core.roster.control.use([core.joiner.slot(core.roster.nodes["shared"], "noise")])
    (order,) = core.roster.update_all()
    assert orjson.loads(order.payload).keys() == {"channels", "number"} | {"stop_after"}


def test_slots_that_open_later_are_those_of_the_streams_that_are_there():
    random, later, streams, n_channels = Random(3), LaterSlots([1, 4, 2]), [], 5  # noqa: S311 - no secret
    for _ in range(300):
        if streams and random.random() < 0.5:
            later.remove(streams.pop(random.randrange(len(streams))), n_channels)
        else:
            streams.append([random.randrange(6 * n_channels) for _ in range(3)])
            later.add(streams[-1], n_channels)
        for node in range(6):
            at = {(column, tick, slots[column]) for slots in streams for column, tick in ((1, 4), (2, 2))}
            mine = sorted(each for each in at if each[2] // n_channels == node)
            assert later.of(node) == [(tick, slot) for _, tick, slot in mine]
