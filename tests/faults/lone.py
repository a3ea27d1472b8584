"""Streams of one node each, known once they send, for faults that may do harm."""

from contextlib import contextmanager
from dataclasses import replace

import orjson
from gateway_process import GatewayProcess
from helpers.procedures import mean_procedure
from traffic import Sent
from witness import Publisher, Witness

TIME_LIMIT = 8


def lone_gateway(folder, url, /, period=1.0, **sections):
    """Prepare a gateway that says "on" of a node as soon as its light is above one half on average."""
    model = replace(mean_procedure(column="light", time_limit=TIME_LIMIT), period=period)
    usual = {
        "streams": {"pairs_file": None, "reopen_after": None},
        "time": {"lateness": 2.0, "overtaking": 0.0},
        "limits": {"queue": 10_000},
        "broker": {"receive_maximum": 1000},
        "commit": {"messages": 500},
    }
    merged = {name: usual.get(name, {}) | sections.get(name, {}) for name in usual | sections}
    return GatewayProcess(folder, url, model=model, **merged)


@contextmanager
def lone(folder, broker, /, *sabotage, **sections):
    """Run this gateway with a publisher and a witness."""
    with (
        lone_gateway(folder, broker.url, **sections) as gateway,
        Publisher(broker) as publisher,
        Witness(broker) as witness,
    ):
        gateway.start(*sabotage)
        gateway.await_ready()
        yield gateway, publisher, witness


def readings(node, times, value=1.0, first=0):
    """Return a node's messages at some times in seconds, numbered from the first."""
    return [
        Sent(f"sensors/{node}/light", orjson.dumps({"t": time, "v": value, "seq": first + index}))
        for index, time in enumerate(times)
    ]


def see_that_it_works(gateway, publisher, witness, start=5000.0, node="later"):
    """Check that the gateway still decides on a new stream."""
    publisher.send(readings(node, [start + tick for tick in range(5)]))
    witness.await_decisions([f"{node}/1"])
    (decision,) = {orjson.loads(payload)["label"] for payload in witness.decisions[f"{node}/1"]}
    assert decision == "on"
    assert gateway.is_alive
