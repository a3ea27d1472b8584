"""Laws over pairs of worlds: what loses nothing, and a node that feeds other streams, changes no decision."""

from fault import HARMLESS
from scenario import COMMANDS, HOSTILE, honest_streams


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

    Silence is believed later after a stall, so that some may be missing at the end of either.
    """
    streams = honest_streams(scenario.kind)
    expected = {decision["id"]: decision for decision in calm_outcome.decisions}
    for decision in outcome.decisions:
        other = expected.get(decision["id"], decision)
        if decision["stream"] in streams and decision != other:
            yield f"changed: decision {decision}, but without faults {other}"
