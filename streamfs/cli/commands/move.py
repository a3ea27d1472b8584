"""Move a zone between gateways."""

from pathlib import Path

import click

from streamfs.cli.parameters import JSON, TRUST, example_text

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command(epilog=example_text("streamfs move room7 /var/lib/streamfs-1 /var/lib/streamfs-2"))
@click.argument("zone")
@click.argument("from_state", type=_FOLDER)
@click.argument("to_state", type=_FOLDER)
@TRUST
@JSON
def move(zone: str, from_state: Path, to_state: Path, trust: bool, as_json: bool) -> None:
    """Move ZONE, with its state, from one gateway to another that shares streams with it.

    ZONE is one of its streams or nodes. Both gateways must be stopped: first the one of TO_STATE, then, some
    seconds later, the one of FROM_STATE, so that the broker keeps for the first what the other has not had. No
    decision is lost or made twice. Call it again if it was interrupted; start both gateways afterwards.
    """
    from streamfs.cli import console
    from streamfs.gateway.move import move_zone

    done = move_zone(zone, from_state, to_state, trust=trust)
    streams, nodes = done.members
    if as_json:
        console.print_json({"zone": done.zone, "streams": streams, "nodes": nodes, "resumed": done.is_resumed})
    else:
        console.say(f"zone {done.zone}, {len(streams)} streams of {len(nodes)} nodes, has moved to {to_state}")
