"""Run a procedure over recorded streams."""

from pathlib import Path

import click

from streamfs.arguments import JSON, MODEL, STREAMS, TRUST, examples


@click.command(epilog=examples("streamfs replay pairs.streamfs new.csv --json > decisions.jsonl"))
@MODEL
@STREAMS
@TRUST
@JSON
def replay(model: Path, streams: Path, trust: bool, as_json: bool) -> None:
    """Run MODEL over recorded STREAMS and print each decision.

    The streams need no labels. Decisions come in the order in which they are made.
    """
    from streamfs import console, evaluation
    from streamfs.procedure import Procedure
    from streamfs.streams import StreamSet

    procedure = Procedure.load(model, trust=trust)
    recorded = StreamSet.read(streams, procedure.period, labelled=False)
    for decision in evaluation.replay(procedure, recorded):
        console.print_decision(decision, as_json=as_json)
