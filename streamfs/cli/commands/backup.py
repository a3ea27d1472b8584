"""Copy the state of a gateway."""

from pathlib import Path

import click

from streamfs.cli.parameters import example_text


@click.command(epilog=example_text("streamfs backup /var/lib/streamfs /mnt/backup/monday"))
@click.argument("state", type=click.Path(file_okay=False, path_type=Path))
@click.argument("copy", type=click.Path(path_type=Path))
def backup(state: Path, copy: Path) -> None:
    """Copy the folder STATE of a running gateway to a new folder COPY.

    The copy is verified, and is itself a state: to go back to it, stop the gateway, move STATE away, and put COPY
    in its place. What was received after the copy was made is then missing.
    """
    from streamfs.cli import console
    from streamfs.gateway.storage.backup import back_up

    with console.progress() as report:
        position = back_up(state, copy, report)
    console.say(f"wrote {copy}, up to record {position}; look at it: streamfs journal {copy}")
