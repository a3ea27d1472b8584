"""Run a procedure as a gateway."""

import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click
from click.core import ParameterSource

from streamfs.cli import parameters
from streamfs.cli.parameters import (
    JSON,
    NEW_FILE,
    OLD_FILE,
    POSITIVE,
    TRUST,
    Parsed,
    example_text,
    flag,
    gateway_option,
    profile_option,
)
from streamfs.gateway.core.options import Time
from streamfs.gateway.settings.sections import TopLevel

if TYPE_CHECKING:
    from streamfs.gateway.service import Gateway, Summary
    from streamfs.gateway.settings.settings import Settings

PATIENCE = 10.0  # seconds to reach the broker while a person waits

_LONGEST_LINE = 100_000  # bytes, of an energy log

ADHOC = ("broker", "pairs", "nodes", "lateness", "grace", "prefix", "profile", "trust", "state", "spool")
"""Options that are settings in gateway.toml."""


@click.command(
    epilog=example_text(
        "streamfs run rooms.streamfs --broker mqtt://localhost",
        "streamfs run pairs.streamfs --broker mqtt://localhost --state state",
        "streamfs run gateway.toml",
    )
)
@click.argument("model", metavar="[MODEL | SETTINGS]", type=OLD_FILE, required=False)
@click.option(
    "--config",
    type=OLD_FILE,
    help="TOML file with all settings, to be checked with streamfs check. It excludes MODEL and all options but "
    "--energy-log, --idle, --until-decided and --json.",
)
@click.option(
    "--broker",
    type=Parsed("url", parameters.broker),
    help="URL of the broker, such as mqtt://localhost or mqtt://user:password@gateway:1883.",
)
@click.option("--pairs", type=OLD_FILE, help="CSV file with streams and their nodes by role: stream,a,b.")
@click.option(
    "--node",
    "nodes",
    multiple=True,
    help="A node that is a stream; may be repeated; by default every node that sends.",
)
@gateway_option(Time, "lateness")
@gateway_option(Time, "grace")
@click.option("--energy-log", type=NEW_FILE, help="Append the energy log to this file.")
@gateway_option(TopLevel, "state")
@gateway_option(TopLevel, "spool")
@gateway_option(TopLevel, "prefix")
@click.option("--idle", type=POSITIVE, help="Stop after this many seconds without a message.")
@click.option("--until-decided", is_flag=True, help="Stop once every stream is decided.")
@profile_option(TopLevel.profile)
@TRUST
@JSON
@click.pass_context
def run(
    context: click.Context,
    /,
    config: Path | None,
    energy_log: Path | None,
    idle: float | None,
    until_decided: bool,
    as_json: bool,
    **adhoc: Any,
) -> None:
    """Follow the streams of an MQTT broker until stopped (Ctrl-C).

    Nodes publish a number, or JSON such as {"t": 12.0, "v": 20.5, "seq": 3}, to sensors/{node}/{channel}.
    Decisions are published to {prefix}/decision/{stream}, the channels that a node has to send to
    {prefix}/control/{node}. With SETTINGS, a file that ends in .toml (or --config), the model is reloaded on
    SIGHUP, and the gateway waits for a broker that is down.
    """
    is_reload_due = threading.Event()  # a supervisor may ask for it before there is a gateway
    signal.signal(signal.SIGHUP, lambda *_: is_reload_due.set())

    from streamfs.cli import console
    from streamfs.gateway.host import hosted, systemd_notifier
    from streamfs.gateway.settings.settings import read_settings
    from streamfs.procedure.procedure import Decision

    if adhoc["model"] is not None and adhoc["model"].suffix == ".toml" and config is None:
        config, adhoc["model"] = adhoc["model"], None
    _check_usage(context, config, adhoc)
    settings = _settings(adhoc) if config is None else read_settings(config)
    if energy_log is not None:
        _check_energy_log(energy_log)
    console.announce_compiling()
    stop = threading.Event()

    def announce(decision: Decision) -> None:
        try:
            console.print_decision(decision, as_json=as_json)
        except BrokenPipeError:  # nobody reads the output: close the streams nevertheless
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - open until exit
            stop.set()

    with hosted(settings, on_decision=announce, energy_log=energy_log) as gateway:
        _handle_signals(gateway, stop)
        if is_reload_due.is_set():
            gateway.request_reload()
        names = "--pairs or --node names" if config is None else f"[streams] of {config} names"
        every = f"; every node that sends is a stream, unless {names} them"
        console.say(f"listening to {', '.join(gateway.topics)}{every * gateway.discovers}; stop with Ctrl-C")
        summary = gateway.run(
            stop,
            idle,
            until_decided=until_decided,
            patience=None if config else PATIENCE,
            on_turn=systemd_notifier(gateway, stop),
        )
    console.say(_text(summary))


def _handle_signals(gateway: "Gateway", stop: threading.Event) -> None:
    def end(*_: object) -> None:
        stop.set()
        gateway.wake()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    signal.signal(signal.SIGHUP, lambda *_: gateway.request_reload())


def _text(summary: "Summary") -> str:
    spent = summary.spent
    counts = [f"{name} {number}" for name, number in summary.counters.items() if number]
    return (
        f"{summary.decided.total()} decisions, {spent.messages} messages of {len(spent.nodes)} nodes, "
        f"{spent.joules:.4g} {spent.profile.unit}; {', '.join(counts) or 'no messages'}"
    )


def _check_energy_log(path: Path) -> None:
    """Refuse to append to a file that is not an energy log, such as a model, settings or streams."""
    import orjson

    from streamfs.errors import StreamfsError

    if not path.is_file():
        return
    with path.open("rb") as file:
        first = file.readline(_LONGEST_LINE)
    try:
        is_log = not first or orjson.loads(first)["kind"] in ("decision", "node", "total")
    except (ValueError, TypeError, KeyError):
        is_log = False
    if not is_log:
        raise StreamfsError(f"--energy-log {path} is not an energy log, expected a new file or one to append to")


def _check_usage(context: click.Context, config: Path | None, adhoc: dict[str, Any]) -> None:
    given = [
        name
        for name in ("model", *ADHOC)
        if adhoc[name] is not None and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if config is not None and given:
        excluded = given[0].upper() if given[0] == "model" else _flag(given[0])
        raise click.UsageError(f"{config} has all settings, and excludes {excluded}")
    if config is None:
        if adhoc["model"] is None:
            raise click.UsageError("Missing argument 'MODEL', or a gateway.toml.")
        if adhoc["broker"] is None:
            raise click.UsageError("Missing option '--broker', or a gateway.toml in place of the model.")
        if adhoc["pairs"] and adhoc["nodes"]:
            raise click.UsageError("--pairs and --node exclude each other: the file names the nodes")
        if adhoc["spool"] and not adhoc["state"]:
            raise click.UsageError("--spool needs --state: there is no log without it")


def _flag(name: str) -> str:
    return "--node" if name == "nodes" else flag(name)


def _settings(adhoc: dict[str, Any]) -> "Settings":
    """Return the settings of the options; each run is a new client, unless it has a state to resume from."""
    from streamfs.gateway.settings.broker import Broker
    from streamfs.gateway.settings.sections import Logging
    from streamfs.gateway.settings.settings import Settings
    from streamfs.gateway.settings.streams import Streams

    keeps = adhoc["state"] is not None
    client = "streamfs-gateway" if keeps else f"streamfs-{uuid4().hex}"
    broker = Broker(adhoc["broker"], client, session_expiry=Broker.session_expiry if keeps else 0)
    any_node = not (adhoc["pairs"] or adhoc["nodes"])
    return Settings(
        file=Path("the command line"),
        model=adhoc["model"],
        broker=broker,
        prefix=adhoc["prefix"],
        state=adhoc["state"],
        spool=adhoc["spool"],
        trust=adhoc["trust"],
        profile=adhoc["profile"],
        time=Time(adhoc["lateness"], adhoc["grace"]),
        streams=Streams(nodes=tuple(adhoc["nodes"]), any_node=any_node, pairs_file=adhoc["pairs"]),
        log=Logging(level="warning"),
    )
