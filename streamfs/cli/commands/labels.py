"""List the labels that a gateway asks for."""

from pathlib import Path

import click

from streamfs.cli.parameters import JSON, example_text


@click.command(epilog=example_text("streamfs labels state", "streamfs labels state --json"))
@click.argument("state", type=click.Path(file_okay=False, path_type=Path))
@JSON
def labels(state: Path, as_json: bool) -> None:
    """List the decisions of a gateway whose true label is wanted.

    They are those of its newest snapshot, the one that is wanted for longest first; the gateway may be running.
    Publish a true label to the topic, as text. The gateway asks if labels_wanted is set in section [promise]; then
    only these labels say whether its promise is kept.
    """
    from streamfs.cli import console
    from streamfs.gateway.storage.journal_reader import JournalReader
    from streamfs.gateway.storage.state import journal_path
    from streamfs.gateway.wanted_labels import wanted_labels

    with JournalReader(journal_path(state)) as reader:
        rows = wanted_labels(reader)
    if as_json:
        for row in rows:
            console.print_json(row)
    elif rows:
        console.print_table(rows)
    else:
        console.say("no label is wanted")
