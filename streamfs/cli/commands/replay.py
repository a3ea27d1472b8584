"""Run a procedure on recorded streams or on a gateway's log."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamfs.cli.parameters import JSON, MODEL, OLD_FILE, TRUST, example_text
from streamfs.cli.recordings import Recordings, recordings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamfs.procedure.procedure import Decision, Procedure


@click.command(
    epilog=example_text(
        "streamfs replay pairs.streamfs new.csv --json > decisions.jsonl",
        "streamfs replay better.streamfs spool --config gateway.toml",
    )
)
@MODEL
@recordings(period=False)
@click.option("--config", type=OLD_FILE, help="Settings of the gateway, if STREAMS is a folder with its log.")
@TRUST
@JSON
def replay(model: Path, streams: Recordings, config: Path | None, trust: bool, as_json: bool) -> None:
    """Run MODEL on recorded STREAMS and print each decision.

    The streams need no labels. Decisions are printed in the order in which they are made. With --config, STREAMS
    is a folder to which a gateway spooled its log, and MODEL decides on that log.
    """
    if config is not None and (streams.layout or len(streams.paths) > 1 or not streams.paths[0].is_dir()):
        raise click.UsageError(
            f"--config is for the folder of a gateway's log alone, and not for {streams.command}"
        )
    from streamfs.cli import console
    from streamfs.procedure.procedure import Procedure

    console.announce_compiling()
    procedure = Procedure.load(model, trust=trust)
    decisions = _recorded(procedure, streams) if config is None else _logged(procedure, streams.paths[0], config)
    for decision in decisions:
        console.print_decision(decision, as_json=as_json)


def _recorded(procedure: "Procedure", streams: Recordings) -> "Iterator[Decision]":
    from streamfs.evaluation import evaluation
    from streamfs.procedure.fits import require_columns

    recorded = streams.read(procedure.period, labelled=False)
    require_columns(procedure, recorded, streams)
    return evaluation.replay(procedure, recorded)


def _logged(procedure: "Procedure", folder: Path, config: Path) -> "Iterator[Decision]":
    from streamfs.gateway.recovery import replay_log
    from streamfs.gateway.settings.settings import read_settings

    settings = read_settings(config)
    return replay_log(folder, procedure, settings.bindings(procedure.channels), settings)
