"""Run a procedure as a gateway."""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import click

from streamfs import arguments
from streamfs.arguments import (
    JSON,
    MODEL,
    NEW_FILE,
    NOT_NEGATIVE,
    OLD_FILE,
    POSITIVE,
    TRUST,
    Parsed,
    examples,
    profile_option,
)
from streamfs.errors import DataError


@click.command(
    epilog=examples(
        "streamfs run rooms.streamfs --broker mqtt://localhost",
        "streamfs run pairs.streamfs --broker mqtt://localhost --pairs nodes.csv",
    )
)
@MODEL
@click.option(
    "--broker",
    required=True,
    type=Parsed("url", arguments.broker),
    help="Such as mqtt://localhost or mqtt://user:password@gateway:1883.",
)
@click.option("--pairs", type=OLD_FILE, help="CSV of streams and their nodes by role: stream,a,b.")
@click.option(
    "--node",
    "nodes",
    multiple=True,
    help="A node that is a stream; may be repeated; by default every node that is heard.",
)
@click.option(
    "--lateness", type=NOT_NEGATIVE, help="Seconds a reading may lag behind the newest; by default two ticks."
)
@click.option(
    "--grace",
    default=10.0,
    show_default=True,
    type=NOT_NEGATIVE,
    help="Seconds that all may be silent before event time runs on with the clock.",
)
@click.option("--energy-log", type=NEW_FILE, help="Append the energy log there.")
@click.option(
    "--prefix",
    default="streamfs",
    show_default=True,
    type=Parsed("topic", arguments.topic),
    help="First part of the topics that are published to.",
)
@click.option("--idle", type=POSITIVE, help="End after so many seconds without a message.")
@click.option("--until-decided", is_flag=True, help="End once every stream is decided.")
@profile_option("transmissions")
@TRUST
@JSON
def run(
    model: Path,
    broker: str,
    pairs: Path | None,
    nodes: Sequence[str],
    lateness: float | None,
    grace: float,
    energy_log: Path | None,
    prefix: str,
    idle: float | None,
    until_decided: bool,
    profile: str,
    trust: bool,
    as_json: bool,
) -> None:
    """Follow the streams of an MQTT broker until stopped (Ctrl-C).

    Nodes publish to sensors/{node}/{channel}, a number or JSON such as {"t": 12.0, "v": 20.5, "seq": 3}.
    Decisions go to {prefix}/decision/{stream}; {prefix}/control/{node} tells a node which channels to send.
    """
    if pairs and nodes:
        raise click.UsageError("--pairs and --node exclude each other: the file names the nodes")
    from streamfs import console
    from streamfs.gateway.bindings import Bindings, read_pairs
    from streamfs.gateway.service import Gateway
    from streamfs.gateway.transport import Transport
    from streamfs.procedure import Decision, Procedure

    procedure = Procedure.load(model, trust=trust)
    if pairs:
        bindings = Bindings.pairs(procedure.channels, read_pairs(pairs))
        if not bindings.streams:
            raise DataError(f"{pairs} names no stream")
    else:
        bindings = Bindings.single(procedure.channels, nodes)
    stop = threading.Event()

    def announce(decision: Decision) -> None:
        try:
            console.print_decision(decision, as_json=as_json)
        except BrokenPipeError:  # nobody reads on: the streams are closed all the same
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - to the process's end
            stop.set()

    gateway = Gateway(
        procedure,
        bindings,
        Transport(broker),
        lateness=lateness,
        grace=grace,
        profile=profile,
        energy_log=energy_log,
        prefix=prefix,
        on_decision=announce,
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    who = "; every node that is heard is a stream, unless --pairs or --node names them" * bindings.discovers
    console.say(f"listening to {', '.join(bindings.topics)}{who}; stop with Ctrl-C")
    summary = gateway.run(stop, idle, until_decided=until_decided)
    meter = summary.meter
    noted = [f"{name} {number}" for name, number in summary.counters.items() if number]
    console.say(
        f"{len(summary.decisions)} decisions, {meter.messages} messages of {len(meter.nodes)} nodes, "
        f"{meter.joules:.4g} {meter.profile.unit}; {', '.join(noted) or 'nothing was heard'}"
    )
