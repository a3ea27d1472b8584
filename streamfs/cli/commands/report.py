"""Write a report on a model."""

from pathlib import Path

import click

from streamfs.base.progress import step
from streamfs.cli import parameters
from streamfs.cli.parameters import BATTERY, MODEL, NEW_FILE, OLD_FILE, REOPEN_AFTER, SEED, TRUST, example_text
from streamfs.cli.recordings import Recordings, recordings


@click.command(
    epilog=example_text(
        "streamfs report pairs.streamfs new.csv -o report.html",
        "streamfs report pairs.streamfs new.csv --groups groups.csv -o report.html",
    )
)
@MODEL
@recordings(period=False)
@click.option("-o", "--out", type=NEW_FILE, required=True, help="Write the report to this HTML file.")
@click.option("--groups", type=OLD_FILE, metavar="CSV", help="Rows of stream,group, such as sessions or rooms.")
@REOPEN_AFTER
@BATTERY
@SEED
@TRUST
def report(
    model: Path,
    streams: Recordings,
    out: Path,
    groups: Path | None,
    reopen_after: float,
    battery: float | None,
    seed: int,
    trust: bool,
) -> None:
    """Write a report on MODEL to pass on, as measured on labelled STREAMS.

    STREAMS should be ones that MODEL was not trained on. The report is one file of HTML that needs nothing else:
    what was promised and is kept here, which classes are taken for which, what accuracy costs, how true confidence
    is, what each column tells and saves, how long batteries last, and a dozen streams with the moment of their
    decision.
    """
    parameters.protect_inputs({"MODEL": model, **streams.inputs, "--groups": groups}, {"--out": out})
    from streamfs.cli import console
    from streamfs.costs.batteries import TWO_AA_CELLS, Duty
    from streamfs.evaluation.report import page
    from streamfs.evaluation.report.measure import measure
    from streamfs.procedure.fits import require_columns
    from streamfs.procedure.procedure import Procedure
    from streamfs.training.promises.groups import read_groups

    console.announce_compiling()
    duty = Duty(reopen_after, battery=TWO_AA_CELLS if battery is None else battery)
    procedure = Procedure.load(model, trust=trust)
    with console.progress() as shown:
        with step(shown, "reading the streams"):
            recorded = streams.read(procedure.period)
        require_columns(procedure, recorded, streams)
        group_of = None if groups is None else read_groups(groups, recorded)
        found = measure(procedure, recorded, groups=group_of, duty=duty, seed=seed, progress=shown)
        with step(shown, "writing the report"):
            out.write_text(page.html(found, str(streams)), encoding="utf-8")
    console.say(f"wrote {out}; open it in a browser")
