"""What devices would have saved."""

import csv
from dataclasses import replace
from pathlib import Path

import click

from streamfs.base.progress import step
from streamfs.cli.parameters import JSON, MODEL, POSITIVE, TRUST, NewFile, example_text
from streamfs.cli.recordings import Recordings, recordings


@click.command(
    epilog=example_text(
        "streamfs savings rooms.streamfs history.csv --devices zigbee2mqtt",
        "streamfs savings rooms.streamfs history.db --devices tasmota",
        "streamfs savings rooms.streamfs log.csv --devices tasmota --decisions d.csv",
    )
)
@MODEL
@recordings(period=False)
@click.option("--devices", required=True, help="A device profile: a name, or a TOML file; see streamfs devices.")
@click.option("--battery-months", type=POSITIVE, help="Months that a battery of these devices lasts now.")
@click.option(
    "--reopen-after", type=POSITIVE, metavar="SECONDS", help="Decide again, as a gateway does; by default once."
)
@click.option(
    "--decisions", "decisions_path", type=NewFile(".csv"), help="Write what would have been decided, and when."
)
@TRUST
@JSON
def savings(
    model: Path,
    streams: Recordings,
    devices: str,
    battery_months: float | None,
    reopen_after: float | None,
    decisions_path: Path | None,
    *,
    trust: bool,
    as_json: bool,
) -> None:
    """Say what devices would have saved on recorded STREAMS.

    STREAMS are the readings of devices so far, without labels: tables, or what a gateway, Home Assistant, InfluxDB
    or Zigbee2MQTT has kept (see streamfs collect). By default, a tick holds the last reading, for as long as MODEL
    holds it. A device is asked for what MODEL wants until its stream is decided, and rests afterwards; readings
    that were not recorded count as not sent. Battery months take it that all energy is spent on messages.
    """
    from feature_extractors.report import split_channel
    from streamfs.cli import console, device_savings
    from streamfs.data.streams import StreamSet
    from streamfs.gateway.settings.profiles import load_profile, read_profile
    from streamfs.procedure.fits import require_columns
    from streamfs.procedure.procedure import Procedure

    console.announce_compiling()
    procedure = Procedure.load(model, trust=trust)
    profile = read_profile(Path(devices)) if devices.endswith(".toml") else load_profile(devices)
    held = {
        "resample": "last",
        "max_age": device_savings.YEAR if procedure.max_silence is None else procedure.max_silence,
    }
    columns = {"columns": tuple(dict.fromkeys(split_channel(channel)[0] for channel in procedure.channels))}
    streams = replace(streams, layout={**held, **columns, **streams.layout})
    with console.progress() as report:
        with step(report, "reading the streams"):
            recording = streams.recording(procedure.period, labelled=False, count=True)
            recorded = StreamSet.of_arrays(recording.arrays)
        require_columns(procedure, recorded, streams)
        with step(report, "deciding the streams"):
            found, episodes = device_savings.savings(
                procedure, recorded, profile, reopen_after, recording.messages, recording.starts
            )
    rows = [row.to_json(battery_months) for row in found]
    most = max((row.decided / row.days for row in found[:-1] if row.days), default=0.0)
    if reopen_after is not None and device_savings.MESSAGES * most > profile.reach.per_day:
        console.say(
            f"note: {most:.3g} decisions a day may need {device_savings.MESSAGES * most:.3g} messages to a "
            f"device, and {profile.name} allows {profile.reach.per_day:g}: it then goes on reporting for longer"
        )
    if decisions_path is not None:
        with decisions_path.open("w", encoding="utf-8", newline="") as file:
            table = device_savings.decision_rows(episodes, recorded, recording.starts)
            csv.writer(file, lineterminator="\n").writerows(table)
    console.print_json(rows) if as_json else console.print_table(rows)
