"""Evaluate a procedure on labelled streams."""

from math import nan
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamfs.base.progress import step
from streamfs.cli import parameters
from streamfs.cli.parameters import JSON, MODEL, PICTURE, TABLE, TRUST, Parsed, example_text
from streamfs.cli.recordings import Recordings, recordings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from streamfs.data.streams import StreamSet
    from streamfs.procedure.procedure import Procedure
    from streamfs.procedure.promise_monitor import PromiseMonitor
    from streamfs.procedure.stopping import StoppingRule

NOT_IN_TABLE = ("offered_cost", "unit")
"""Figures for which a table of 80 columns has no room."""

_MOST_NAMED = 3  # quantities in which decisions differ


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
    from streamfs.data.fingerprints import n_known
    from streamfs.evaluation import evaluation
    from streamfs.procedure.card_schema import read_fingerprints
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
            measured = _measured(procedure, recorded, [each.rule for each in evaluations])
        rows = [{**each.summary(), **found} for each, found in zip(evaluations, measured, strict=True)]
        monitor = evaluation.monitored(procedure, recorded)
        kept = read_fingerprints(procedure.about)
        n_known_again = n_known(kept, recorded)
        group_of = streams.groups_of(recorded)
        groups = [{} if group_of is None else {"groups": each.by_group(group_of)} for each in evaluations]
        if csv_path:
            evaluation.write_csv(_with_groups(rows, groups), csv_path)
        if png_path:
            with step(report, "drawing"):
                sent = [row["sent"] for row in measured]
                plots.save(plots.sweep_figure(evaluations, sent, measured[0]["unit"]), png_path)
    if as_json:
        promise = {} if monitor is None or sweep else {"promise": monitor.to_json()}
        classes = {} if sweep else {"classes": evaluations[0].by_class()}
        known = {} if sweep else {"trained_on": n_known_again / max(len(kept), 1)}
        tables = [row | classes | found for row, found in zip(rows, groups, strict=True)]
        console.print_json(tables if sweep else tables[0] | promise | known)
    else:
        console.print_table([{name: row[name] for name in row if name not in NOT_IN_TABLE} for row in rows])
        if not sweep:
            console.print_table(evaluations[0].by_class())
        if group_of is not None:
            console.print_table(
                [
                    ({"confidence": row["confidence"]} if sweep else {}) | group
                    for row, found in zip(rows, groups, strict=True)
                    for group in found["groups"]
                ]
            )
        console.say(f"Paid is in {rows[0]['unit']}.")
        if monitor is not None:
            console.say(_kept(monitor))
        if n_known_again:
            console.say(
                f"{n_known_again} of {len(kept)} streams of its training that {model} remembers are among these, "
                "on which it looks better than on new ones: evaluate it on others."
            )


def _with_groups(
    rows: "Sequence[dict[str, Any]]", groups: "Sequence[dict[str, list[dict[str, Any]]]]"
) -> "list[dict[str, Any]]":
    """Return each row and below it those of its groups, if there are some."""
    found = []
    for row, parts in zip(rows, (each.get("groups", []) for each in groups), strict=True):
        counts = {name: sum(part[name] for part in parts) for name in ("labelled", "right")}
        found.append({**row, "group": "", **counts} if parts else row)
        found += [{"confidence": row["confidence"], **part} for part in parts]
    return found


def _kept(monitor: "PromiseMonitor") -> str:
    """Return in two sentences whether a promise, or what training showed, holds on these streams."""
    said = monitor.to_json()
    is_promised = bool(said["promised"])
    where = "where it was certified" if is_promised else "on held-out streams in training"
    right = f"{said['right']} of {said['labels']} labels are right"
    shares = said["promised"] if is_promised else said["expected"]
    differing = [each for each in said["findings"] if each["what"] not in shares]
    named = ", ".join(f"{each['what']} (after {each['number']})" for each in differing[:_MOST_NAMED])
    named += f" and {len(differing) - _MOST_NAMED} more" if len(differing) > _MOST_NAMED else ""
    differs = f"differ from those {where} in {named}" if differing else f"look as those {where}"
    least = f"{shares['accuracy']:.3g}"
    held = f"promise of {least} is" if is_promised else f"accuracy of {least}, which held-out streams support, is"
    return (
        f"The {held} {said['status']}: {right}, which shows an accuracy of {said['accuracy_at_least']:.3f} at "
        f"least. Decisions {differs}."
    )


def _measured(
    procedure: "Procedure", recorded: "StreamSet", rules: "Sequence[StoppingRule]"
) -> "list[dict[str, Any]]":
    """Return what a stream sends and pays until its decision, by stopping rule; NaN if no stream has a tick."""
    from streamfs.evaluation.model_card import paid
    from streamfs.evaluation.split_traffic import traffics_sent
    from streamfs.evaluation.traffic import Traffic

    if recorded.lengths.any():
        traffics = traffics_sent(procedure, recorded, rules)
    else:
        traffics = [Traffic({"": nan}, {}, nan, {})] * len(rules)
    found = []
    for traffic in traffics:
        cost, unit = paid(procedure, traffic)
        found.append({"sent": sum(traffic.channels.values()), "paid": cost, "unit": unit})
    return found
