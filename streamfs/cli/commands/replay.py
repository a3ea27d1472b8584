"""Run a procedure over what was recorded."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamfs.cli.parameters import JSON, MODEL, OLD_FILE, TRUST, examples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamfs.procedure.procedure import Decision, Procedure


@click.command(
    epilog=examples(
        "streamfs replay pairs.streamfs new.csv --json > decisions.jsonl",
        "streamfs replay better.streamfs spool --config gateway.toml",
    )
)
@MODEL
@click.argument("streams", type=click.Path(path_type=Path))
@click.option(
    "--config", type=OLD_FILE, help="The gateway's settings, where STREAMS is a folder of segments of its log."
)
@TRUST
@JSON
def replay(model: Path, streams: Path, config: Path | None, trust: bool, as_json: bool) -> None:
    """Run MODEL over recorded STREAMS and print each decision.

    The streams need no labels. Decisions come in the order in which they are made. STREAMS is a CSV or Parquet
    file, or a folder where a gateway has spooled its log: then this is what MODEL would have decided there.
    """
    if streams.is_dir() != (config is not None):
        raise click.UsageError(
            f"{streams} is a folder: --config with the gateway's settings tells what is in it"
            if config is None
            else f"{streams} is no folder, and --config is for the folders of a gateway's log"
        )
    from streamfs.cli import console
    from streamfs.procedure.procedure import Procedure

    console.tell_of_compiling()
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
    from streamfs.gateway.host import options_of
    from streamfs.gateway.recovery import replay_log
    from streamfs.gateway.settings.settings import read_settings

    settings = read_settings(config)
    return replay_log(folder, procedure, settings.bindings(procedure.channels), options_of(settings))
