"""Run a procedure on recorded streams or on a gateway's log."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamfs.cli.parameters import JSON, MODEL, OLD_FILE, TRUST, example_text

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
@click.argument("streams", type=click.Path(path_type=Path))
@click.option("--config", type=OLD_FILE, help="Settings of the gateway, if STREAMS is a folder with its log.")
@TRUST
@JSON
def replay(model: Path, streams: Path, config: Path | None, trust: bool, as_json: bool) -> None:
    """Run MODEL on recorded STREAMS and print each decision.

    The streams need no labels. Decisions are printed in the order in which they are made. STREAMS is a CSV or
    Parquet file, or a folder to which a gateway spooled its log; MODEL then decides on that log.
    """
    if streams.is_dir() != (config is not None):
        raise click.UsageError(
            f"{streams} is a folder: give the settings of the gateway that wrote it with --config"
            if config is None
            else f"{streams} is not a folder, and --config is for the folder of a gateway's log"
        )
    from streamfs.cli import console
    from streamfs.procedure.procedure import Procedure

    console.announce_compiling()
    procedure = Procedure.load(model, trust=trust)
    decisions = _recorded(procedure, streams) if config is None else _logged(procedure, streams, config)
    for decision in decisions:
        console.print_decision(decision, as_json=as_json)


def _recorded(procedure: "Procedure", streams: Path) -> "Iterator[Decision]":
    from streamfs.data.streams import StreamSet
    from streamfs.evaluation import evaluation
    from streamfs.procedure.fits import require_columns

    recorded = StreamSet.read(streams, procedure.period, labelled=False)
    require_columns(procedure, recorded, streams)
    return evaluation.replay(procedure, recorded)


def _logged(procedure: "Procedure", folder: Path, config: Path) -> "Iterator[Decision]":
    from streamfs.gateway.recovery import replay_log
    from streamfs.gateway.settings.settings import read_settings

    settings = read_settings(config)
    return replay_log(folder, procedure, settings.bindings(procedure.channels), settings)
