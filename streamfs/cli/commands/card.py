"""Show the card of a model."""

from pathlib import Path

import click

from streamfs.cli import parameters
from streamfs.cli.parameters import (
    BATTERY,
    JSON,
    MODEL,
    NEW_FILE,
    NOT_NEGATIVE,
    REOPEN_AFTER,
    TRUST,
    Named,
    example_text,
)
from streamfs.costs.radio_profiles import PROFILES
from streamfs.costs.radio_profiles import profile as radio


@click.command(
    epilog=example_text(
        "streamfs card pairs.streamfs",
        "streamfs card pairs.streamfs --profile cc2420 --reopen-after 600 -o card.md",
    )
)
@MODEL
@click.option("-o", "--out", type=NEW_FILE, help="Write the Markdown to this file instead of printing it.")
@click.option(
    "--profile",
    metavar="RADIO",
    type=Named(PROFILES, "streamfs.radios"),
    help=f"Radio of the nodes; by default that of training: {', '.join(PROFILES)}.",
)
@REOPEN_AFTER
@click.option(
    "--awake",
    default=0.1,
    show_default=True,
    type=NOT_NEGATIVE,
    help="Seconds of each tick of an episode for which a radio is awake, besides its messages.",
)
@BATTERY
@TRUST
@JSON
def card(
    model: Path,
    out: Path | None,
    profile: str | None,
    reopen_after: float,
    awake: float,
    battery: float | None,
    trust: bool,
    as_json: bool,
) -> None:
    """Show what to know about MODEL before deploying it.

    The card says what MODEL decides, what was promised and on what evidence, how long the nodes' batteries are
    expected to last, which channels MODEL reads at what cost, and what data it was trained on.
    """
    parameters.protect_inputs({"MODEL": model}, {"--out": out})
    from streamfs.cli import console
    from streamfs.costs.batteries import TWO_AA_CELLS, Duty
    from streamfs.evaluation.model_card import facts
    from streamfs.procedure import card_text
    from streamfs.procedure.procedure import Procedure

    duty = Duty(reopen_after, awake, TWO_AA_CELLS if battery is None else battery)
    procedure = Procedure.load(model, trust=trust)
    known = facts(procedure, None if profile is None else radio(profile), duty)
    text = card_text.markdown(known)
    if out is not None:
        out.write_text(text, encoding="utf-8")
        console.say(f"wrote {out}")
    if as_json:
        console.print_json(known)
    elif out is None:
        click.echo(text, nl=False)
