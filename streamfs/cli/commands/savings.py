"""What devices would have saved."""

from pathlib import Path

import click

from streamfs.cli.parameters import JSON, MODEL, POSITIVE, TRUST, example_text
from streamfs.cli.recordings import Recordings, recordings


@click.command(
    epilog=example_text(
        "streamfs savings rooms.streamfs history.csv --devices zigbee2mqtt",
        "streamfs savings rooms.streamfs log.csv --devices tasmota --battery-months 8",
    )
)
@MODEL
@recordings(period=False)
@click.option("--devices", required=True, help="A device profile: a name, or a TOML file; see streamfs devices.")
@click.option("--battery-months", type=POSITIVE, help="Months that a battery of these devices lasts now.")
@TRUST
@JSON
def savings(
    model: Path,
    streams: Recordings,
    devices: str,
    battery_months: float | None,
    trust: bool,
    as_json: bool,
) -> None:
    """Say what devices would have saved on recorded STREAMS.

    STREAMS are the readings of devices so far, without labels; streamfs collect writes those of a gateway. A
    device is asked for what MODEL wants until its stream is decided, and rests afterwards; readings that were not
    recorded count as not sent. Battery months take it that all energy is spent on messages.
    """
    from streamfs.cli import console, device_savings
    from streamfs.evaluation import evaluation
    from streamfs.gateway.settings.profiles import load_profile, read_profile
    from streamfs.procedure.fits import require_columns
    from streamfs.procedure.procedure import Procedure

    console.announce_compiling()
    procedure = Procedure.load(model, trust=trust)
    profile = read_profile(Path(devices)) if devices.endswith(".toml") else load_profile(devices)
    recorded = streams.read(procedure.period, labelled=False)
    require_columns(procedure, recorded, streams)
    decisions = evaluation.replay(procedure, recorded)
    found = device_savings.savings(procedure, recorded, decisions, profile)
    rows = [row.to_json(battery_months) for row in found]
    console.print_json(rows) if as_json else console.print_table(rows)
