"""Certify a model anew by labelled streams of the place where it serves."""

from dataclasses import replace
from pathlib import Path

import click

from streamfs.base.progress import step
from streamfs.cli import parameters
from streamfs.cli.parameters import JSON, MODEL, NEW_FILE, SEED, SHARE, TRUST, example_text
from streamfs.cli.recordings import Recordings, recordings


@click.command(
    epilog=example_text(
        "streamfs recertify pairs.streamfs labelled.csv -o here.streamfs",
        "streamfs recertify pairs.streamfs labelled.csv -o b.streamfs --promise 0.8",
        "streamfs recertify pairs.streamfs new.csv -o b.streamfs --groups rooms.csv",
    )
)
@MODEL
@recordings(period=False)
@click.option("-o", "--out", required=True, type=NEW_FILE, help="The new model file.")
@click.option("--promise", type=SHARE, metavar="ACCURACY", help="By default what was promised so far.")
@click.option("--completeness", type=SHARE, help="With --promise: also promise this share of the streams a label.")
@click.option("--risk", type=SHARE, help="Probability that it fails; by default as so far; with --promise 0.05.")
@click.option("--no-retrain", is_flag=True, help="Never fit the classifier anew.")
@SEED
@TRUST
@JSON
def recertify(
    model: Path,
    streams: Recordings,
    out: Path,
    promise: float | None,
    completeness: float | None,
    risk: float | None,
    no_retrain: bool,
    seed: int,
    trust: bool,
    as_json: bool,
) -> None:
    """Certify MODEL anew by labelled STREAMS of the place where it serves.

    The streams must be drawn without regard to what MODEL says of them. Three fifths of them show which confidence
    threshold may keep the promise here; if none does, the classifier is fitted to them anew, with some or all of
    its features. The other two fifths test it. The model file keeps the previous promise apart.
    """
    parameters.protect_inputs({"MODEL": model, **streams.inputs}, {"--out": out})
    if promise is None and completeness is not None:
        raise click.UsageError("--completeness needs --promise")
    from streamfs.cli import console
    from streamfs.cli.commands import promise_text
    from streamfs.procedure.procedure import Procedure
    from streamfs.training.promises import Promise, PromiseError
    from streamfs.training.promises.recertified import promise_of, streams_needed
    from streamfs.training.promises.recertified import recertify as recertified

    console.announce_compiling()
    procedure = Procedure.load(model, trust=trust)
    asked = promise_of(procedure) if promise is None else Promise(promise, completeness)
    asked = asked if risk is None else replace(asked, risk=risk)
    better = min((1.0 + asked.accuracy) / 2, asked.accuracy + 0.1)
    console.say(
        f"an accuracy of {asked.accuracy:g} takes at least {streams_needed(asked)} labelled streams, and about "
        f"{streams_needed(asked, better)} if {better:g} of the labels are right"
    )
    with console.progress() as report:
        with step(report, "reading the streams"):
            recorded = streams.read(procedure.period)
        group_of = streams.groups_of(recorded)
        try:
            new = recertified(
                procedure, recorded, asked, retrain=not no_retrain, groups=group_of, seed=seed, progress=report
            )
        except PromiseError as error:
            promise_text.print_refusal(error, as_json=as_json)
            raise
    new.save(out)
    promise_text.show(new, out, as_json=as_json)
    how = new.about["recertified"][-1]["how"]
    console.say(f"wrote {out}, with another {how}; a gateway reloads its model file without a stop")
