"""Write what a gateway has received to a file that can be trained on."""

from collections import Counter
from pathlib import Path

import click

from streamfs.base.progress import step
from streamfs.cli.parameters import OLD_FILE, NewFile, example_text
from streamfs.errors import DataError


@click.command(
    epilog=example_text(
        "streamfs collect state --config gateway.toml -o readings.parquet",
        "streamfs collect spool -o readings.csv",
        "streamfs collect home-assistant_v2.db -o history.parquet",
    )
)
@click.argument("source", type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=NewFile(".csv", ".parquet"), help="The file.")
@click.option(
    "--config",
    type=OLD_FILE,
    help="Settings of the gateway; by default, nodes publish to sensors/{node}/{channel}.",
)
@click.option("--time-zone", default="UTC", help="Zone of the times of a log, such as Europe/Berlin.")
@click.option(
    "--statistics", is_flag=True, help="Read the means that Home Assistant keeps for ever, in place of the states."
)
def collect(source: Path, out: Path, config: Path | None, time_zone: str, *, statistics: bool) -> None:
    """Write the readings in SOURCE, which a gateway or another system has kept, to a file.

    SOURCE is the state or the spool of a gateway, which may be running; the database of Home Assistant's recorder,
    or a file of its history page; line protocol or annotated CSV of InfluxDB; or a log of Zigbee2MQTT.

    The file has a row for each reading: stream (the node), time (in seconds), sensor (the quantity) and value. A
    reading that was delivered twice is written once. All nodes are collected, also those that a gateway does not
    follow, and no model is needed.
    """
    from streamfs.cli import console
    from streamfs.cli.histories import gateway_readings
    from streamfs.data.stream_files import write_readings
    from streamfs.gateway.settings.settings import read_settings
    from streamfs.histories.find import history

    if not source.exists():
        raise DataError(f"{source} cannot be read: No such file or directory")
    settings = None if config is None else read_settings(config)
    left_out: Counter[str] = Counter()
    readings = gateway_readings(source, settings, left_out) or history(source, time_zone, statistics=statistics)
    if readings is None:
        raise DataError(f"{source} is no history: neither of a gateway, nor of a system that is known")
    with console.progress() as report, step(report, f"reading {source.name}"):
        n_readings = write_readings(readings, out)
    for cause, number in sorted(left_out.items()):
        console.say(f"note: {number} messages are {cause}")
    console.say(
        f"wrote {out}: {n_readings} readings; next: streamfs inspect {out} --long stream,time,sensor,value "
        "--labels FILE"
    )
