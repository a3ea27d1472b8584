"""The demo's fleet of pairs, of which every tenth node speaks another protocol, and a gateway's core."""

from collections import Counter
from math import inf
from typing import NamedTuple

import orjson
from helpers.device_settings import device_lines
from helpers.records import Models, new_core, raw

import feature_extractors as fx
from sensors_sim.devices import KINDS, Manners
from sensors_sim.nodes import Battery, Node
from sensors_sim.same_source import SameSource
from streamfs.cli.device_channels import device_channels
from streamfs.costs.energy_meter import EnergyMeter
from streamfs.costs.radio_profiles import profile
from streamfs.data.streams import StreamSet
from streamfs.gateway.core.records import clock_record
from streamfs.gateway.settings.profiles import load_profile
from streamfs.gateway.settings.settings import read_settings
from streamfs.training.cost_aware import train

PERIOD = 60.0
RADIO = "nrf52840_802154"
N_TICKS = 240
EVERY = 10
BEGIN = 1.8e9
"""Seconds since 1970 of the first tick."""


class Outcome(NamedTuple):
    """Decisions by stream, the energy account of each node, and the protocols of those that are no own nodes."""

    decisions: dict
    spent: dict
    protocols: dict
    unit: str


def law():
    """The demo's law, in temperature alone: that is what simulated devices measure."""
    return SameSource(quantities=SameSource().quantities[:1])


def trained(n_pairs=60, seed=0):
    """A model of pairs at a tick a minute, of what a Shelly can send, which can least: changes alone."""
    recorded = StreamSet(*law().sample(n_pairs, 40, seed=seed)._replace(period=PERIOD))
    features = fx.catalogue(device_channels(load_profile("shelly"), recorded))
    return train(recorded, features=features, confidence=0.75, seed=seed)


def run(procedure, folder, n_pairs, every=EVERY, seed=1):
    """Follow a fleet in which each node of these, counted over all, speaks another protocol; none if it is 0."""
    live = law().sample(n_pairs, N_TICKS, seed=seed)
    names = [f"{pair}-{role}" for pair in live.names for role in "ab"]
    columns = {name: live.values[i // 2, :, i % 2] for i, name in enumerate(names)}
    others = names[every - 1 :: every] if every else []
    kinds = [*KINDS]
    protocols = {name: kinds[i % len(kinds)] for i, name in enumerate(others)}
    devices = {
        name: KINDS[protocols[name]](name, columns[name], PERIOD, Manners(interval=PERIOD), begin=BEGIN)
        for name in others
    }
    meter = EnergyMeter(profile(RADIO))
    nodes = {
        name: Node(name, {"temperature": columns[name]}, meter, Battery(inf), max_silence=_silence(procedure))
        for name in names
        if name not in devices
    }
    core, effects = _begun(procedure, folder, live.names, protocols)
    decisions, queue = {}, [effects]
    for tick in range(N_TICKS):
        now = BEGIN + tick * PERIOD
        while queue:
            queue += _obey(core, queue.pop(0), nodes, devices, tick, decisions)
        said = [
            raw(f"sensors/{name}/{sent.channel}", sent.payload, now)
            for name, node in nodes.items()
            for sent in node.transmit(tick, now)
        ]
        said += [raw(*message, now) for device in devices.values() for message in device.turn(now)]
        queue = [core.take(said), core.take([clock_record(now + 1.0)])]
    while queue:
        queue += _obey(core, queue.pop(0), nodes, devices, N_TICKS, decisions)
    return Outcome(decisions, dict(core.spent.nodes), protocols, core.unit)


def _begun(procedure, folder, pairs, protocols):
    lines = ['model = "m"', "[broker]", 'url = "mqtt://b"', "[streams.pairs]"]
    lines += [f'{pair} = {{ a = "{pair}-a", b = "{pair}-b" }}' for pair in pairs]
    lines += ['[[source]]\ndevice = "streamfs"', *device_lines((kind, name) for name, kind in protocols.items())]
    path = folder / "gateway.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    bindings = read_settings(path).bindings(procedure.channels)
    return new_core(Models(procedure), bindings, profile=RADIO, lateness=0.0, grace=2 * PERIOD)


def _obey(core, effects, nodes, devices, tick, decisions):
    """Let nodes and devices take what is published; return the effects of their answers."""
    now = BEGIN + tick * PERIOD
    for decision in effects.decisions:
        decisions.setdefault(decision.stream, decision)
    answers = []
    for topic, payload, *_ in effects.publications:
        name = topic.rpartition("/")[2]
        if topic.startswith("streamfs/control/") and name in nodes:
            nodes[name].set_channels(orjson.loads(payload)["channels"], tick)
        for device in devices.values():
            if topic in device.topics:
                answers += [raw(*answer, now) for answer in device.hear(topic, payload, now - PERIOD)]
    return [core.take(answers)] if answers else []


def _silence(procedure):
    return None if procedure.max_silence is None else round(procedure.max_silence / PERIOD)


def table(outcome):
    """Rows: own nodes and each protocol, with messages a node, and what the ledger says of their batteries."""
    n_nodes, messages, joules = Counter(), Counter(), Counter()
    for name, account in outcome.spent.items():
        kind = outcome.protocols.get(name, "streamfs")
        n_nodes[kind] += 1
        messages[kind] += account.messages
        joules[kind] += account.joules
    return [
        {
            "nodes": kind,
            "n": n_nodes[kind],
            "messages_a_node": messages[kind] / n_nodes[kind],
            "of_all_the_time": messages[kind] / n_nodes[kind] / N_TICKS,
            f"{outcome.unit}_a_node": joules[kind] / n_nodes[kind],
        }
        for kind in n_nodes
    ]


def everything(outcome, name):
    """What a node would have spent, had it sent all the time messages like those that it has sent."""
    account = outcome.spent[name]
    return account.joules / account.messages * N_TICKS


def report(folder):
    """Return the demo's words: how many decisions are the same, and the table."""
    procedure = trained()
    own, mixed = (run(procedure, folder, 80, every) for every in (0, EVERY))
    n_same = sum(mixed.decisions.get(stream) == decision for stream, decision in own.decisions.items())
    return f"{n_same} of {len(own.decisions)} pairs are decided as with our own nodes alone", table(mixed)
