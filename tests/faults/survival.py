"""Gateways that receive messages while they are killed repeatedly, or watched on the wire."""

import signal
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
from accounts import await_readings, n_logged, read_readings
from gateway_process import GatewayProcess
from sabotage import POINTS
from wire import Wiretap
from witness import Publisher, Witness

from streamfs.gateway.settings.settings import read_settings
from streamfs.gateway.settings_file import load_model
from streamfs.gateway.transport.transport import Transport

SLOW = ("sync", 0.03)
"""A disk that is slow enough to kill the gateway from outside while it works."""

COMMAND = ("command",)
"""The command without faults, ..."""

FEW = {"limits": {"queue": 2}, "broker": {"receive_maximum": 2}, "commit": {"messages": 2}}
"""... which takes long enough with these settings: two messages a commit."""

Kill = tuple[str | int | float, ...]
"""What a process does to itself: `SLOW`, `COMMAND`, or ``kill``, a point and how often it comes there."""


def survive(folder, broker, /, messages, kills, seed, **sections):
    """Run a gateway that is killed several times while messages arrive.

    Parameters
    ----------
    folder : pathlib.Path
        Of the gateway.
    broker : Broker
        Which keeps what comes while there is no gateway.
    messages : list of Sent
        What is published: half of it at first, then a share for each process.
    kills : sequence of tuple
        What each process does to itself; `SLOW` and `COMMAND` are killed from outside.
    seed : int
        Decides when.
    **sections : dict
        Settings beside the usual.

    Returns
    -------
    tuple of GatewayProcess and Witness
        After a last process that was left in peace.
    """
    rng = np.random.default_rng(seed)
    half = len(messages) // 2  # so much waits from the beginning, so that no process ever has too little to do
    shares = split(messages[half:], len(kills) + 1)
    with (
        GatewayProcess(folder, broker.url, **sections) as gateway,
        Publisher(broker) as publisher,
        Witness(broker) as witness,
    ):
        begin_session(gateway)
        publisher.send(messages[:half])
        for share, kill in zip(shares, kills, strict=False):
            publisher.send(share)
            if kill == COMMAND:
                gateway.start_command()
            else:
                gateway.start(*kill)
            if kill in (SLOW, COMMAND):
                kill_midway(gateway, publisher, int(rng.integers(20, 60)))
            else:
                gateway.await_end()
            assert gateway.returncode == -signal.SIGKILL, gateway.errors
        publisher.send(shares[-1])
        publisher.await_taken()
        gateway.start()
        await_readings(gateway, messages)
        gateway.stop()
        witness.await_end()
    return gateway, witness


@contextmanager
def watched(folder, broker, /, *sabotage, **sections):
    """Run a gateway behind a network that can fail, and stop both at the end."""
    with (
        Wiretap(broker.port) as network,
        GatewayProcess(folder, network.url, **sections) as gateway,
        Publisher(broker) as publisher,
        Witness(broker) as witness,
    ):
        gateway.start(*sabotage)
        gateway.await_ready()
        yield network, gateway, publisher, witness


def split(messages, n_shares):
    """Split messages into consecutive shares."""
    bounds = [len(messages) * i // n_shares for i in range(n_shares + 1)]
    return [messages[first:last] for first, last in pairwise(bounds)]


def begin_session(gateway):
    """Open the gateway's session, so that the broker keeps what is published from now on."""
    settings = read_settings(gateway.config)
    transport = Transport(
        settings.broker.address(), settings.broker.client_id, session_expiry=settings.broker.session_expiry
    )
    transport.subscribe(settings.bindings(load_model(settings).channels).topics)
    transport.connect()
    transport.check_subscribed()
    transport.close()


def kill_midway(gateway, publisher, n_records):
    """Kill a gateway from outside once it has logged a number of further records, but not all messages."""
    publisher.await_taken()
    least = n_logged(gateway) + n_records
    gateway.await_that(lambda: n_logged(gateway) >= least, "the gateway logs nothing")
    gateway.kill()
    assert len(set(read_readings(gateway))) < publisher.n_sent, "the gateway was done already"


SPOOLED = {"top": {"spool": "spool"}, "commit": {"segment_bytes": 4096, "snapshot_seconds": 0.01}}
"""Settings with which the log releases segments at nearly every commit."""


def random_kills(n_kills, seed):
    """Kills from outside and at all points, in random order, for gateways that release segments."""
    rng = np.random.default_rng(seed)
    kills = []
    while len(kills) < n_kills:
        turn = [SLOW, *(("kill", point, int(rng.integers(1, 3))) for point in POINTS)]
        kills += [turn[index] for index in rng.permutation(len(turn))]
    return kills[:n_kills]
