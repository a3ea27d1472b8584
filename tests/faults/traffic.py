"""Messages of the nodes in these tests, and the procedures that decide on them."""

from typing import NamedTuple

import numpy as np
import orjson

import feature_extractors as fx
from sensors_sim.nodes import Battery, Node
from streamfs import Costs, Procedure, StreamSet
from streamfs.classifiers.tree import Tree
from streamfs.costs.energy_meter import EnergyMeter
from streamfs.costs.radio_profiles import profile

N_PAIRS = 8
N_TICKS = 40  # that a node sends for
STAGGER = 2  # ticks from the first of one pair to that of the next
TIME_LIMIT = 25
START = 1000.0  # event time of the first tick, seconds
LATENESS = 8.0  # seconds: more than any of the faults mixes up
SILENT_AT = 10  # tick at which one of the nodes falls silent
WAITING = ("own3", "across2")  # its streams, which wait for it until its silence is proved

CHANNELS = ("light", "temperature@delta:0.5", "humidity@delta:0.5")


class Sent(NamedTuple):
    topic: str
    payload: bytes


def tree():
    """Sure of "apart" above either of two thresholds, of "restless" above a third, and else of nothing."""
    return Tree.from_json(
        {
            "feature": [0, 1, -1, 2, -1, -1, -1],
            "nominal": [False] * 7,
            "threshold": [60.0, 1.0, 0.0, 70.0, 0.0, 0.0, 0.0],
            "first_child": [1, 3, 0, 5, 0, 0, 0],
            "n_children": [2, 2, 0, 2, 0, 0, 0],
            "code": [0.0] * 7,
            "share": [1.0, 0.7, 0.3, 0.7, 0.3, 0.5, 0.5],
            "counts": [
                [70.0, 50.0],
                [70.0, 20.0],
                [0.0, 30.0],
                [70.0, 2.0],
                [1.0, 40.0],
                [8.0, 6.0],
                [50.0, 1.0],
            ],
            "laplace": True,
        }
    )


def procedure(column="temperature@delta:0.5", price=1.0):
    """Decides on pairs by light and another column, whose channel is given; its features cost so much the tick."""
    features = (
        fx.get("mean_absolute_difference(a.light, b.light)"),
        fx.get(f"mean_absolute_difference(a.{column}, b.{column})"),
        fx.get("range(a.light)"),
    )
    costs = Costs([price] * 3, [1.0] * 3, a=1.0, b=0.5)
    return Procedure(features, tree(), ("restless", "apart"), costs, 0.9, TIME_LIMIT)


def nodes(seed=7):
    """Return each node's values, from the first tick to the last; NaN where it has none.

    The light of a pair parts at one tick, its temperature and humidity at others, or never.
    """
    rng = np.random.default_rng(seed)
    n_ticks = N_TICKS + STAGGER * (N_PAIRS - 1)
    measured = {}
    for pair in range(N_PAIRS):
        light = 200 + np.cumsum(rng.normal(0, 4, n_ticks))
        parting = dict(zip(("light", "temperature", "humidity"), rng.integers(2, 40, 3), strict=True))
        there = np.zeros(n_ticks, dtype=bool)
        there[STAGGER * pair : STAGGER * pair + N_TICKS] = True
        for role, side in (("a", 0.0), ("b", 1.0)):
            is_apart = {name: np.arange(n_ticks) > STAGGER * pair + tick for name, tick in parting.items()}
            columns = {
                "light": light + rng.normal(0, 12, n_ticks) + 250 * side * is_apart["light"],
                "temperature": 21 + rng.normal(0, 0.3, n_ticks) + 4 * side * is_apart["temperature"],
                "humidity": 45 + rng.normal(0, 0.3, n_ticks) + 4 * side * is_apart["humidity"],
            }
            measured[f"n{pair}{role}"] = {
                name: np.where(there, np.round(column, 2), np.nan) for name, column in columns.items()
            }
    for column in measured["n3b"].values():
        column[3 * STAGGER + SILENT_AT :] = np.nan
    return measured


def pairs():
    """Return streams and nodes: pairs, and across pairs, so that nodes feed two streams."""
    own = {f"own{pair}": {"a": f"n{pair}a", "b": f"n{pair}b"} for pair in range(N_PAIRS)}
    across = {f"across{pair}": {"a": f"n{pair}a", "b": f"n{pair + 1}b"} for pair in range(0, N_PAIRS - 1, 2)}
    return own | across


def traffic(seed=7, *, numbered=True, columns=("light", "temperature")):
    """Return all messages in the order of sending, tick by tick, ignoring control messages."""
    senders = []
    for name, measured in nodes(seed).items():
        node = Node(name, measured, EnergyMeter(profile("transmissions")), Battery(1e9))
        node.set_channels([channel for channel in CHANNELS if channel.partition("@")[0] in columns], tick=0)
        senders.append(node)
    messages = []
    for tick in range(N_TICKS + STAGGER * (N_PAIRS - 1)):
        for node in senders:
            for transmission in node.transmit(tick, START + tick):
                payload = transmission.payload if numbered else without_number(transmission.payload)
                messages.append(Sent(f"sensors/{node.name}/{transmission.channel}", payload))
    return messages


def stamp(sent):
    """Return the event time of a message, in seconds."""
    return orjson.loads(sent.payload)["t"]


def without_number(payload):
    reading = orjson.loads(payload)
    del reading["seq"]
    return orjson.dumps(reading)


def recorded(seed=7):
    """Return the recorded streams, for `evaluate`; a stream begins at the first tick at which both nodes send."""
    measured = nodes(seed)
    columns = [f"{role}.{column}" for column in ("light", "temperature", "humidity") for role in ("a", "b")]
    values = []
    for sources in pairs().values():
        sides = [measured[sources[role]] for role in ("a", "b")]
        first = max(int(np.flatnonzero(np.isfinite(side["light"]))[0]) for side in sides)
        stack = [side[column] for column in ("light", "temperature", "humidity") for side in sides]
        values.append(np.stack(stack, axis=-1)[first : first + TIME_LIMIT])
    labels = ["apart"] * len(values)
    return StreamSet(np.array(values), labels, columns, 1.0, list(pairs()))
