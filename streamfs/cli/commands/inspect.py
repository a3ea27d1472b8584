"""Look at recorded streams before training."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamfs.base.progress import step
from streamfs.cli import parameters
from streamfs.cli.parameters import JSON, PICTURE, example_text
from streamfs.cli.recordings import Recordings, recordings
from streamfs.errors import LayoutError

if TYPE_CHECKING:
    from streamfs.data.inspection import Inspection


@click.command(
    epilog=example_text(
        "streamfs inspect walks/",
        "streamfs inspect log.csv --long device,time,sensor,value --png log.png",
    )
)
@recordings()
@click.option("--png", "png_path", type=PICTURE, help="Plot each class to this file.")
@JSON
def inspect(streams: Recordings, png_path: Path | None, as_json: bool) -> None:
    """Look at recorded STREAMS, and say how to train on them.

    Options that STREAMS need to be read are found by themselves, where that is possible. A column tells the label,
    or the group, from chance (0) to always (1) by its mean over a stream alone. One that does so without measuring
    anything, such as the charge of a battery, an identifier or an absolute time, leaks: leave it out.
    The last line is the command to type next.
    """
    parameters.protect_inputs(streams.inputs, {"--png": png_path})
    from streamfs.cli import console

    if png_path:
        from streamfs.experiments import plots  # matplotlib is an extra
    with console.progress() as report:
        with step(report, "reading the streams"):
            streams, found = _inspected(streams)
        if png_path:
            with step(report, "drawing"):
                plots.save(plots.streams_figure(found.streams), png_path)
    command = _next(streams, found)
    if as_json:
        layout = {name: str(value) if isinstance(value, Path) else value for name, value in streams.layout.items()}
        console.print_json({**found.to_json(), "layout": layout, "next": command})
        return
    _print(found)
    for note in found.notes():
        console.say(f"note: {note}")
    if png_path:
        console.say(f"wrote {png_path}")
    console.say(f"next: {command}")


def _inspected(streams: Recordings) -> "tuple[Recordings, Inspection]":
    """Read and inspect streams, with what the reader proposes where they are laid out otherwise."""
    from streamfs.data.inspection import inspect as look_at
    from streamfs.data.streams import StreamSet

    try:
        recording = streams.recording()
    except LayoutError as error:
        streams = replace(streams, layout={**streams.layout, **error.proposal})
        try:
            recording = streams.recording()
        except LayoutError:
            recording = streams.recording(labelled=False)
    recorded = StreamSet.of_read(recording)
    return streams, look_at(recorded, streams.groups_of(recorded), recording.steps, recording.starts)


def _next(streams: Recordings, found: "Inspection") -> str:
    """Return the command to type next: train, without the columns that have a fault, and with labels."""
    layout = dict(streams.layout)
    if not any(found.classes):
        layout.setdefault("labels", "LABELS")
    sound = found.sound_columns
    if sound and len(sound) < len(found.columns):
        layout["columns"] = tuple(sound)
    words = ["streamfs", "train", *shlex.split(replace(streams, layout=layout).command), "-o", "MODEL"]
    return shlex.join([*words, *(["--promise", "0.9"] if "groups" in layout else [])])


def _print(found: "Inspection") -> None:
    """Print the streams, their classes and columns."""
    from streamfs.cli import console

    console.print_table([{"label": label, "streams": count} for label, count in found.classes.items()])
    told = found.to_json()
    ticks, steps = told["ticks"], found.steps
    spans = f"{ticks['least']} to {ticks['most']}, median {ticks['median']:g}"
    click.echo(f"ticks    {spans} a stream, of {found.streams.period:g} s")
    if steps is not None:
        click.echo(f"steps    {steps.usual:g} s, nine of ten {steps.low:.4g} to {steps.high:.4g} s")
    click.echo(f"empty    {found.empty:.1%} of the ticks have no reading\n")
    console.print_table(
        [
            {
                "column": report.column,
                "low": report.low,
                "mean": report.mean,
                "high": report.high,
                "unit": report.unit,
                "missing": f"{report.missing:.1%}",
                "tells_label": report.tells_label,
                "tells_group": report.tells_group,
            }
            for report in found.columns
        ]
    )
