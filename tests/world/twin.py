"""Laws over pairs of worlds: what loses nothing, and a node that feeds other streams, changes no decision."""

import orjson
from fault import HARMLESS
from scenario import COMMANDS, HOSTILE, NODES, WALL, bindings, honest_streams

ALIKE = 60.0
"""Seconds by which clocks that are right differ at most, delays included."""


def is_comparable(scenario):
    """Whether a calm world has the same decisions: none depends on when something arrives, as on devices."""
    is_harmless = {fault.kind for fault in scenario.faults} <= set(HARMLESS)
    return (
        is_harmless
        and scenario.kind != "devices"
        and scenario.options["grace"] is None
        and all(sent.topic != COMMANDS for sent in scenario.messages)
    )


def calm(scenario):
    """Return the same world without faults, and without the node that has no sense."""
    messages = tuple(sent for sent in scenario.messages if HOSTILE not in sent.topic)
    return scenario._replace(faults=(), messages=messages)


def differences(scenario, outcome, calm_outcome):
    """Return in words which decisions on streams of honest nodes are not those of the calm world.

    Silence is believed later after a stall, so that some may be missing at the end of either. How far the clocks
    of a pair are apart is estimated by delays, which a stall changes: pairs whose clocks differ are not compared.
    """
    streams = alike(scenario)
    expected = {decision["id"]: decision for decision in calm_outcome.decisions}
    for decision in outcome.decisions:
        other = expected.get(decision["id"], decision)
        if decision["stream"] in streams and decision != other:
            yield f"changed: decision {decision}, but without faults {other}"


def alike(scenario):
    """Return the streams of honest nodes whose clocks do not differ."""
    offsets = {node: [] for node in NODES}
    for sent in scenario.messages:
        node = sent.topic.split("/")[1]
        if sent.topic.startswith("sensors/") and node in offsets:
            offsets[node].append(orjson.loads(sent.payload)["t"] - WALL - sent.time)
    bound = bindings(scenario.kind)
    apart = {
        stream: {abs(offset) > ALIKE for node, _ in bound.sources(stream) for offset in offsets[node]}
        for stream in honest_streams(scenario.kind)
    }
    return [stream for stream, are_apart in apart.items() if len(are_apart) < 2]
