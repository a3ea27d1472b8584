"""Nodes in zones, bound as streams of one or of two, and what they send: for tests of shards."""

import orjson
from helpers.procedures import channels_procedure
from helpers.records import Models, message

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.records import clock_record

ALONE = Models(channels_procedure("x", "door@flag:0.5", time_limit=9))
PAIRED = Models(channels_procedure("a.x", "b.x", "b.door@flag:0.5", time_limit=9))
NODES = [f"n{i}" for i in range(8)]


def bindings_of(models, random):
    """Bindings of single nodes, of all that send, or of pairs."""
    channels, kind = models.first.channels, random.choice(["named", "any"])
    if models is ALONE:
        return Bindings.single(channels, NODES if kind == "named" else ())
    couples = [random.sample(NODES, 2) for _ in range(random.randint(1, 8))]
    return Bindings.pairs(channels, {f"p{i}": {"a": a, "b": b} for i, (a, b) in enumerate(couples)})


def story(random, n_ticks=40):
    """Readings of all nodes, some late, some lost, and silence that is proved now and then."""
    for tick in range(n_ticks):
        for node in random.sample([*NODES, "stranger"], 7):
            value = random.choice([0.0, 0.25, 0.5, 1.0])
            stamp = tick + random.uniform(-0.4, 0.4) - random.choice([0.0, 0.0, 0.0, 1.0, 5.0])
            yield message(node, stamp, value, tick, random.choice(["x", "x", "door@flag:0.5"]), tick + 0.5)
        if random.random() < 0.2:
            yield clock_record(tick + 0.6)


def content_of(decisions):
    return sorted(orjson.dumps(decision.to_json()) for decision in decisions)
