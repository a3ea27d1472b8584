"""Write what a gateway has received to a file that can be trained on."""

import csv
from collections import Counter
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamfs.base.progress import step
from streamfs.cli.parameters import OLD_FILE, POSITIVE, NewFile, example_text, typed
from streamfs.errors import DataError

if TYPE_CHECKING:
    from streamfs.gateway.settings.settings import Settings


@click.command(
    epilog=example_text(
        "streamfs collect state -o readings.parquet",
        "streamfs collect spool -o readings.csv --labels labels.csv",
        "streamfs collect state -o streams.parquet --pairs nodes.csv",
        "streamfs collect home-assistant_v2.db -o history.parquet",
    )
)
@click.argument("source", type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=NewFile(".csv", ".parquet"), help="The file.")
@click.option(
    "--config",
    type=OLD_FILE,
    help="Settings of the gateway; by default as its state says, else sensors/{node}/{channel}.",
)
@click.option(
    "--pairs",
    type=OLD_FILE,
    help="CSV file with streams and their nodes by role, stream,a,b: write streams of these, in place of nodes.",
)
@click.option(
    "--labels",
    type=NewFile(".csv"),
    help="Write the labels published to a gateway: what each stream was, from the label before until this one.",
)
@click.option("--label-span", type=POSITIVE, metavar="SECONDS", help="For at most so long before each label.")
@click.option("--time-zone", default="UTC", help="Zone of the times of a log, such as Europe/Berlin.")
@click.option(
    "--statistics", is_flag=True, help="Read the means that Home Assistant keeps for ever, in place of the states."
)
def collect(
    source: Path,
    out: Path,
    config: Path | None,
    pairs: Path | None,
    labels: Path | None,
    label_span: float | None,
    time_zone: str,
    *,
    statistics: bool,
) -> None:
    """Write the readings in SOURCE, which a gateway or another system has kept, to a file.

    SOURCE is the state or the spool of a gateway, which may be running; the database of Home Assistant's recorder,
    or a file of its history page; line protocol or annotated CSV of InfluxDB; a log of Zigbee2MQTT;
    or what mosquitto_sub -F '%j' has printed.

    The file has a row for each reading: stream (the node), time (in seconds), sensor (the quantity) and value. A
    reading that was delivered twice is written once. All nodes are collected, also those that a gateway does not
    follow, and no model is needed. With --pairs streams have the sensors of several nodes, such as a.light.
    """
    from streamfs.cli import console
    from streamfs.cli.histories.find import history
    from streamfs.cli.histories.gateway import gateway_readings
    from streamfs.cli.histories.of_pairs import of_pairs
    from streamfs.data.stream_files import write_readings
    from streamfs.gateway.settings.pairs_file import read_pairs
    from streamfs.gateway.settings.settings import read_settings

    if not source.exists():
        raise DataError(f"{source} cannot be read: No such file or directory")
    settings = None if config is None else read_settings(config)
    left_out: Counter[str] = Counter()
    readings = gateway_readings(source, settings, left_out) or history(source, time_zone, statistics=statistics)
    if readings is None:
        raise DataError(f"{source} is no history: neither of a gateway, nor of a system that is known")
    paired = readings if pairs is None else of_pairs(readings, read_pairs(pairs))
    with console.progress() as report, step(report, f"reading {source.name}"):
        n_readings = write_readings(paired, out)
    if labels is not None:
        _write_labels(source, settings, label_span, left_out, labels)
    for cause, number in sorted(left_out.items()):
        console.say(f"note: {number} messages are {cause}")
    console.say(
        f"wrote {out}: {n_readings} readings; next: streamfs inspect {typed(out)} --long stream,time,sensor,value "
        f"--labels {'FILE' if labels is None else typed(labels)}"
    )


def _write_labels(
    source: Path, settings: "Settings | None", span: float | None, left_out: Counter[str], path: Path
) -> None:
    """Write what streams were by the labels in a gateway's log."""
    from streamfs.cli import console
    from streamfs.gateway.collected import LabelledSpan, collect_labels

    prefix = None if settings is None else settings.prefix
    found = collect_labels(source, prefix, left_out, inf if span is None else span)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([LabelledSpan._fields, *found])
    console.say(f"wrote {path}: {len(found)} labels")
