"""What `streamfs train` says of a model, of promises, and of the points of a trade-off."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from string import ascii_uppercase
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from streamfs.data.streams import StreamSet
    from streamfs.procedure.procedure import Procedure
    from streamfs.training.promises import PromiseError
    from streamfs.training.promises.front import FrontPoint

MEANING = (
    "This holds for streams that are drawn as these were, each on its own. It is no guarantee elsewhere, such as "
    "in other rooms or seasons, nor for pairs that share nodes."
)
MEASURED = (
    "Each bound holds for streams that are drawn as these were, each on its own. It is none elsewhere, nor for "
    "pairs that share nodes, nor for the best of many points that were measured."
)

MOST_NAMED = 4
"""Features of a point that are named; of more, the channels are."""

FLATTERED = (
    "These are the best of many, as streams came to that were held out: new ones come to a little less. A point "
    "that is made a model is measured on streams that were set apart."
)


def show(procedure: "Procedure", out: Path, *, as_json: bool) -> None:
    """Print what a model is, and what was promised of it or measured, with what that means and does not."""
    from streamfs.cli import console

    promise, point, card = (procedure.about.get(name) for name in ("promise", "point", "card"))
    unit = card["radio"]["unit"] if card else ""
    evidence, meaning = "", ""
    if promise is not None:
        evidence, meaning = promised(promise, unit), MEANING
    elif point is not None:
        evidence, meaning = measured(point, unit), MEASURED
    if as_json:
        console.print_json(_model(procedure, out))
        if meaning:
            console.say(meaning)
        return
    click.echo(procedure.text())
    if evidence:
        click.echo(f"\n{evidence}\n{fill(meaning, 100)}")


def _model(procedure: "Procedure", out: Path) -> dict[str, Any]:
    return {
        "model": str(out),
        "classes": procedure.classes,
        "features": [feature.name for feature in procedure.features],
        "each_costs": procedure.costs.each,
        "confidence": procedure.confidence,
        "time_limit": procedure.time_limit,
        "period": procedure.period,
        "max_silence": procedure.max_silence,
        **procedure.about,
    }


def promised(evidence: Mapping[str, Any], unit: str) -> str:
    """Say what was promised, and what it rests upon."""
    asked = f"accuracy {evidence['accuracy']:g}"
    if evidence["completeness"] is not None:
        asked += f", completeness {evidence['completeness']:g}"
    found = _shares(evidence)
    return f"promised    {asked}, at a risk of {evidence['risk']:g}\nevidence    {found}\n{_spent(evidence, unit)}"


def measured(evidence: Mapping[str, Any], unit: str) -> str:
    """Say what a point came to on the streams that were set apart."""
    bounds = (
        f"accuracy at least {evidence['accuracy_at_least']:.3f}, completeness at least "
        f"{evidence['completeness_at_least']:.3f}, each at a risk of {evidence['risk']:g}"
    )
    return f"measured    {_shares(evidence)}\nbounds      {bounds}\n{_spent(evidence, unit)}"


def tell_refusal(error: "PromiseError", *, as_json: bool) -> None:
    """Show what thresholds came to where no promise can be made."""
    from streamfs.cli import console

    if as_json:
        best = None if error.best is None else error.best._asdict()
        console.print_json(
            {"error": str(error), "best": best, "curve": error.curve, "streams_needed": error.streams_needed}
        )
    elif error.curve:
        console.print_table(error.curve, "what thresholds come to on the streams of the test")


def print_front(points: Iterable["FrontPoint"], unit: str, *, as_json: bool) -> None:
    """Show the points of a front: as JSON a line each, else as a table, and what the features are."""
    import feature_extractors as fx
    from feature_extractors.base import channels_of
    from streamfs.cli import console

    if as_json:
        for number, point in enumerate(points, start=1):
            console.print_json({"point": number, **point._asdict()})
        return
    letters: dict[tuple[str, ...], str] = {}
    rows = [
        {
            "point": number,
            "accuracy": point.accuracy,
            "completeness": point.completeness,
            "cost": point.cost,
            "ticks": point.ticks,
            "features": letters.setdefault(point.features, ascii_uppercase[len(letters)]),
        }
        for number, point in enumerate(points, start=1)
    ]
    console.print_table(rows, f"what held-out streams came to; the cost in {unit}")
    for names, letter in letters.items():
        paid = [feature for feature in map(fx.get, names) if feature.columns]
        lines = [feature.name for feature in paid]
        if len(paid) > MOST_NAMED:
            lines = wrap(f"{len(paid)} features of {', '.join(channels_of(paid))}", 75, break_long_words=False)
        click.echo("\n".join(f" {' ' if number else letter}  {line}" for number, line in enumerate(lines)))


def draw_reliability(procedure: "Procedure", streams: "StreamSet", path: Path) -> None:
    """Plot how often a model is right by how sure it is, on streams that it was not learnt from."""
    from streamfs.evaluation.reliability import reliability
    from streamfs.experiments import plots

    plots.save(plots.reliability_figure(reliability(procedure, streams)), path)


def _shares(evidence: Mapping[str, Any]) -> str:
    right, labelled, streams = (evidence[name] for name in ("right", "labelled", "streams"))
    return (
        f"of {streams} streams set apart {labelled} got a label ({labelled / streams:.3f}), and {right} of these "
        f"the right one ({right / labelled:.3f})"
    )


def _spent(evidence: Mapping[str, Any], unit: str) -> str:
    return f"spent       {evidence['cost']:.4g} {unit} a stream, in {evidence['ticks']:.3g} ticks"
