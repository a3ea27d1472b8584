"""Evaluate a procedure on labelled streams."""

from pathlib import Path

import click

from streamfs.base.progress import step
from streamfs.cli import parameters
from streamfs.cli.parameters import JSON, MODEL, PICTURE, TABLE, TRUST, Parsed, example_text
from streamfs.cli.recordings import Recordings, recordings


@click.command(
    epilog=example_text(
        "streamfs evaluate pairs.streamfs new.csv",
        "streamfs evaluate pairs.streamfs new.csv --sweep 0.80:0.98:0.02 --png s.png",
    )
)
@MODEL
@recordings(period=False)
@click.option(
    "--sweep",
    type=Parsed("thresholds", parameters.thresholds),
    help="Confidence thresholds to try, such as 0.8,0.9,0.95 or 0.80:0.99:0.01.",
)
@click.option("--csv", "csv_path", type=TABLE, help="Write the results to this file.")
@click.option("--png", "png_path", type=PICTURE, help="Plot the results to this file.")
@TRUST
@JSON
def evaluate(
    model: Path,
    streams: Recordings,
    sweep: list[float] | None,
    csv_path: Path | None,
    png_path: Path | None,
    trust: bool,
    as_json: bool,
) -> None:
    """Evaluate completeness, accuracy and cost on labelled STREAMS.

    Completeness is the share of streams that MODEL labels in time, accuracy the share of labels that are correct.
    Paid is what a stream costs its nodes on average, in joules or transmissions as MODEL was trained: messages,
    waiting awake, and control messages heard, from the stream's first tick to its decision; sent are the messages.
    Cost is the paper's (equation 1), by the mean rates of the channels; --json and --csv also have the offered
    cost, that of all features that MODEL could choose from.
    A confidence that is not known is a threshold that depends on the tick, or another rule; --sweep tries others.
    A table by class has the streams labelled so and the share of them that is right, and the share of the streams
    that are so that was found; with --groups there is one by group, too, also for --sweep and in --csv. Of a
    promise it says whether it is kept here, and in what decisions differ from where it was certified. It also says
    if MODEL was trained on some of the streams.
    """
    parameters.protect_inputs({"MODEL": model, **streams.inputs}, {"--csv": csv_path, "--png": png_path})
    from streamfs.cli import console
    from streamfs.cli.evaluated import Evaluated
    from streamfs.evaluation.evaluation import write_csv
    from streamfs.procedure.fits import require_columns
    from streamfs.procedure.procedure import Procedure

    if png_path:
        from streamfs.experiments import plots  # matplotlib is an extra
    console.announce_compiling()
    procedure = Procedure.load(model, trust=trust)
    if png_path and procedure.stopping is not None and not sweep:
        raise click.UsageError(f"--png needs --sweep, since {model} has no single threshold")
    with console.progress() as report:
        with step(report, "reading the streams"):
            recorded = streams.read(procedure.period)
        require_columns(procedure, recorded, streams)
        found = Evaluated.on(recorded, procedure, sweep, streams.groups_of(recorded), report)
        if csv_path:
            write_csv(found.table(), csv_path)
        if png_path:
            with step(report, "drawing"):
                sent, unit = [row["sent"] for row in found.rows], found.rows[0]["unit"]
                plots.save(plots.sweep_figure(found.evaluations, sent, unit), png_path)
    if as_json:
        console.print_json(found.to_json())
    else:
        found.show(model)
