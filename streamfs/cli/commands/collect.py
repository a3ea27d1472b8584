"""Write what a gateway has received to a file that can be trained on."""

from collections import Counter
from pathlib import Path

import click

from streamfs.base.progress import step
from streamfs.cli.parameters import FOLDER, OLD_FILE, NewFile, example_text


@click.command(
    epilog=example_text(
        "streamfs collect state --config gateway.toml -o readings.parquet",
        "streamfs collect spool -o readings.csv",
    )
)
@click.argument("state", type=FOLDER)
@click.option("-o", "--out", required=True, type=NewFile(".csv", ".parquet"), help="The file.")
@click.option(
    "--config",
    type=OLD_FILE,
    help="Settings of the gateway; by default, nodes publish to sensors/{node}/{channel}.",
)
def collect(state: Path, out: Path, config: Path | None) -> None:
    """Write the readings in a gateway's STATE or spool to a file.

    The file has a row for each reading: stream (the node), time (in seconds), sensor (the quantity) and value. A
    reading that was delivered twice is written once. All nodes are collected, also those that the gateway does not
    follow, and no model is needed. The gateway may be running.
    """
    from streamfs.cli import console
    from streamfs.data.stream_files import write_readings
    from streamfs.gateway.collected import collect as readings_in
    from streamfs.gateway.core.bindings import STANDARD
    from streamfs.gateway.core.options import Options
    from streamfs.gateway.settings.settings import read_settings

    settings = None if config is None else read_settings(config)
    routes = (STANDARD,) if settings is None else tuple(source.route() for source in settings.sources)
    prefix = Options.prefix if settings is None else settings.prefix
    left_out: Counter[str] = Counter()
    with console.progress() as report, step(report, "reading the log"):
        n_readings = write_readings(readings_in(state, routes, prefix, left_out), out)
    for cause, number in sorted(left_out.items()):
        console.say(f"note: {number} messages are {cause}")
    console.say(
        f"wrote {out}: {n_readings} readings; next: streamfs inspect {out} --long stream,time,sensor,value "
        "--labels FILE"
    )
