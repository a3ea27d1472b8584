"""Texts of `streamfs train` about a model, a promise, and the points of a trade-off."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from string import ascii_uppercase
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any

import click

from streamfs.cli.commands.held_out_text import held_out_text, held_out_warnings

if TYPE_CHECKING:
    from streamfs.data.streams import StreamSet
    from streamfs.procedure.procedure import Procedure
    from streamfs.training.promises import PromiseError
    from streamfs.training.promises.front import FrontPoint

MEANING = (
    "This holds for streams drawn independently, as these were. It is not a guarantee elsewhere, such as in other "
    "rooms or seasons, nor for pairs that share nodes."
)
MEASURED = (
    "Each bound holds for streams drawn independently, as these were. It is not a bound elsewhere, nor for pairs "
    "that share nodes, nor for the best of many points that were measured."
)

_OF_WHICH = {"labelled": "labelled so", "found": "that are so"}

MOST_NAMED = 4  # features of a point to name; if there are more, their channels are named

OPTIMISTIC = (
    "These are the best of many on held-out streams, so new streams are a little worse. The model of a point is "
    "measured on test streams."
)


def show(procedure: "Procedure", out: Path, *, as_json: bool) -> None:
    """Print a model, and what was promised or measured, with its meaning and limits."""
    from streamfs.cli import console
    from streamfs.procedure.card_schema import read_held_out
    from streamfs.procedure.caveats import caveats

    promise, point, card = (procedure.about.get(name) for name in ("promise", "point", "card"))
    unit = card["radio"]["unit"] if card else ""
    evidence, meaning = "", ""
    if promise is not None:
        evidence, meaning = promised(promise, unit) + _sent(procedure.about.get("sends")), MEANING
        for sentence in caveats(promise):
            console.say(f"warning: {sentence}")
    elif point is not None:
        evidence, meaning = measured(point, unit), MEASURED
    held_out = read_held_out(procedure.about.get("held_out"))
    if held_out is not None:
        for warning in held_out_warnings(held_out, None if procedure.stopping else procedure.confidence):
            console.say(f"warning: {warning}")
    if as_json:
        console.print_json(_model(procedure, out))
        if meaning:
            console.say(meaning)
        return
    click.echo(procedure.text())
    if evidence:
        click.echo(f"\n{evidence}\n{fill(meaning, 100)}")
    if held_out is not None:
        click.echo(f"\n{held_out_text(held_out, unit)}")


def _model(procedure: "Procedure", out: Path) -> dict[str, Any]:
    return {
        "model": str(out),
        "classes": procedure.classes,
        "features": [feature.name for feature in procedure.features],
        "each_costs": procedure.costs.each,
        "confidence": procedure.confidence,
        "stopping": None if procedure.stopping is None else procedure.stopping.to_json(),
        "time_limit": procedure.time_limit,
        "period": procedure.period,
        "max_silence": procedure.max_silence,
        **procedure.about,
    }


def promised(evidence: Mapping[str, Any], unit: str) -> str:
    """Return a promise and its evidence."""
    asked = f"accuracy {evidence['accuracy']:g}"
    if evidence["completeness"] is not None:
        asked += f", completeness {evidence['completeness']:g}"
    if evidence.get("per_class"):
        asked += f", accuracy of each class of the streams {_OF_WHICH[evidence['per_class']]}"
    found = _shares(evidence)
    return (
        f"promised    {asked}, at a risk of {evidence['risk']:g}\nevidence    {found}\n"
        f"{_by_class(evidence)}{_worst(evidence)}{_spent(evidence, unit)}"
    )


def measured(evidence: Mapping[str, Any], unit: str) -> str:
    """Return the figures of a point on the test streams."""
    bounds = (
        f"accuracy at least {evidence['accuracy_at_least']:.3f}, completeness at least "
        f"{evidence['completeness_at_least']:.3f}, each at a risk of {evidence['risk']:g}"
    )
    return f"measured    {_shares(evidence)}\nbounds      {bounds}\n{_spent(evidence, unit)}"


def print_refusal(error: "PromiseError", *, as_json: bool) -> None:
    """Print the figures by threshold if no promise can be made."""
    from streamfs.cli import console

    if as_json:
        best = None if error.best is None else error.best._asdict()
        facts = ("curve", "streams_needed", "streams_between", "failed", "supported")
        console.print_json({"error": str(error), "best": best} | {name: getattr(error, name) for name in facts})
    elif error.curve:
        console.print_table(error.curve, "thresholds on the test streams")


def print_front(points: Iterable["FrontPoint"], unit: str, *, as_json: bool) -> None:
    """Print the points of a front: a JSON line each, or a table followed by the features."""
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
    console.print_table(rows, f"points on held-out streams; cost in {unit}")
    for names, letter in letters.items():
        paid = [feature for feature in map(fx.get, names) if feature.columns]
        lines = [feature.name for feature in paid]
        if len(paid) > MOST_NAMED:
            lines = wrap(f"{len(paid)} features of {', '.join(channels_of(paid))}", 75, break_long_words=False)
        click.echo("\n".join(f" {' ' if number else letter}  {line}" for number, line in enumerate(lines)))


def draw_reliability(procedure: "Procedure", streams: "StreamSet", path: Path) -> None:
    """Plot a model's share of correct labels over confidence, on streams that it was not trained on."""
    from streamfs.evaluation.reliability import reliability
    from streamfs.experiments import plots

    plots.save(plots.reliability_figure(reliability(procedure, streams)), path)


def _shares(evidence: Mapping[str, Any]) -> str:
    right, labelled, streams = (evidence[name] for name in ("right", "labelled", "streams"))
    return (
        f"{labelled} of {streams} test streams got a label ({labelled / streams:.3f}), and {right} of these are "
        f"correct ({right / labelled:.3f})"
    )


def _worst(evidence: Mapping[str, Any]) -> str:
    """Return a line about the group that fared worst, if there are groups."""
    worst = evidence.get("worst_group")
    if worst is None:
        return ""
    return f"worst group {worst['group']}: {worst['right']} of {worst['labelled']} labels right\n"


def _by_class(evidence: Mapping[str, Any]) -> str:
    """Return a line for each class: how many of its labels are right, and its streams."""
    lines: list[str] = []
    for label, right in evidence.get("right_of", {}).items():
        streams, labelled = evidence["streams_of"][label], evidence["labelled_as"][label]
        beginning = " " * 8 if lines else "by class"
        lines.append(f"{beginning}    {label}: {right} of {labelled} labels right, of {streams} streams\n")
    return "".join(lines)


def _spent(evidence: Mapping[str, Any], unit: str) -> str:
    return f"spent       {evidence['cost']:.4g} {unit} a stream, in {evidence['ticks']:.3g} ticks"


def _sent(sends: str | None) -> str:
    """Return what nodes are to send, if it was chosen."""
    if sends is None:
        return ""
    more = "" if sends == "readings" else f" of features, which nodes compute: streamfs export --split {sends}"
    return f"\nsent        {sends}{more}"
