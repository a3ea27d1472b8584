"""Write a report on a model."""

from pathlib import Path

import click

from streamfs.base.progress import step
from streamfs.cli import parameters
from streamfs.cli.parameters import BATTERY, MODEL, NEW_FILE, REOPEN_AFTER, SEED, TRUST, example_text
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
@REOPEN_AFTER
@BATTERY
@SEED
@TRUST
def report(
    model: Path,
    streams: Recordings,
    out: Path,
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
    parameters.protect_inputs({"MODEL": model, **streams.inputs}, {"--out": out})
    from streamfs.cli import console
    from streamfs.costs.batteries import TWO_AA_CELLS, Duty
    from streamfs.evaluation.report import page
    from streamfs.evaluation.report.measure import measure
    from streamfs.procedure.fits import require_columns
    from streamfs.procedure.procedure import Procedure

    console.announce_compiling()
    duty = Duty(reopen_after, battery=TWO_AA_CELLS if battery is None else battery)
    procedure = Procedure.load(model, trust=trust)
    with console.progress() as shown:
        with step(shown, "reading the streams"):
            recorded = streams.read(procedure.period)
        require_columns(procedure, recorded, streams)
        group_of = streams.groups_of(recorded)
        found = measure(procedure, recorded, groups=group_of, duty=duty, seed=seed, progress=shown)
        with step(shown, "writing the report"):
            out.write_text(page.html(found, str(streams)), encoding="utf-8")
    console.say(f"wrote {out}; open it in a browser")
