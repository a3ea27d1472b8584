"""Evaluate a procedure on labelled streams."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamfs.base.progress import step
from streamfs.cli import parameters
from streamfs.cli.parameters import JSON, MODEL, PICTURE, TABLE, TRUST, Parsed, example_text
from streamfs.cli.recordings import Recordings, recordings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamfs.data.streams import StreamSet
    from streamfs.procedure.procedure import Procedure
    from streamfs.procedure.promise_monitor import PromiseMonitor
    from streamfs.procedure.stopping import StoppingRule


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

    Completeness is the share of streams that MODEL labels in time, accuracy the share of labels that are correct,
    and cost the mean cost of a stream by the mean rates of its channels (equation 1); offered cost is that of all
    features that MODEL could choose from. Sent are the messages of a stream's nodes until its decision.
    A confidence that is not known is a threshold that depends on the tick, or another rule; --sweep tries others.
    Of a promise it says whether it is kept here, and in what decisions differ from where it was certified.
    """
    parameters.protect_inputs({"MODEL": model, **streams.inputs}, {"--csv": csv_path, "--png": png_path})
    from streamfs.cli import console
    from streamfs.evaluation import evaluation
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
        evaluations = evaluation.sweep(procedure, recorded, sweep or [procedure.rule], report)
        with step(report, "counting the messages"):
            sent = _messages(procedure, recorded, [each.rule for each in evaluations])
        rows = [{**each.summary(), "sent": n_sent} for each, n_sent in zip(evaluations, sent, strict=True)]
        monitor = evaluation.monitored(procedure, recorded)
        if csv_path:
            evaluation.write_csv(rows, csv_path)
        if png_path:
            with step(report, "drawing"):
                plots.save(plots.sweep_figure(evaluations, sent), png_path)
    if as_json:
        promise = {} if monitor is None or sweep else {"promise": monitor.to_json()}
        console.print_json(rows if sweep else rows[0] | promise)
    else:
        console.print_table(rows)
        if monitor is not None:
            console.say(_kept(monitor))


def _kept(monitor: "PromiseMonitor") -> str:
    """Return in a sentence whether a promise is kept on these streams."""
    said = monitor.to_json()
    right = f"{said['right']} of {said['labels']} labels are right"
    differing = ", ".join(each["what"] for each in said["findings"] if each["what"] not in said["promised"])
    differs = (
        f"differ from where it was certified in {differing}" if differing else "look as where it was certified"
    )
    return (
        f"The promise of {said['promised']['accuracy']:g} is {said['status']}: {right}, which shows an accuracy "
        f"of {said['accuracy_at_least']:.3f} at least. Decisions {differs}."
    )


def _messages(procedure: "Procedure", recorded: "StreamSet", rules: "Sequence[StoppingRule]") -> list[float]:
    """Return the mean messages of a stream until its decision, by stopping rule; NaN if no stream has a tick."""
    from streamfs.evaluation.traffic import measure_traffics

    if not recorded.lengths.any():
        return [float("nan")] * len(rules)
    traffics = measure_traffics(procedure, recorded, rules)
    return [sum(traffic.channels.values()) for traffic in traffics]
