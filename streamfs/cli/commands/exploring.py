"""What `streamfs train --explore` does: it writes the trade-off, or makes a model of one of its points."""

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click

from streamfs.base.progress import step
from streamfs.cli.commands import promise_words
from streamfs.cli.commands.promise_options import Asked

if TYPE_CHECKING:
    from streamfs.data.streams import StreamSet


def explore(
    recorded: "StreamSet",
    offered: list[Any] | None,
    asked: Asked,
    options: dict[str, Any],
    path: Path,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Write, show and plot a front; or, where a point is named, make it a model.

    Parameters
    ----------
    recorded : StreamSet
        To learn from.
    offered : list of Feature, optional
        What to choose from.
    asked : Asked
        The options of promises.
    options : dict
        Other keywords of `streamfs.training.promises.explore.plan_of`.
    path : path
        The file of the front.
    out : path, optional
        The model file of a point.
    as_json : bool
        Whether results are for machines.
    """
    options |= {"groups": asked.group_of(recorded)}
    if asked.point is None or out is None:
        _write_front(recorded, offered, asked, options, path, as_json=as_json)
    else:
        options |= {"risk": asked.failing}
        _make_model(recorded, asked.point, options, path, out, as_json=as_json)


def _write_front(
    recorded: "StreamSet",
    offered: list[Any] | None,
    asked: Asked,
    options: dict[str, Any],
    path: Path,
    *,
    as_json: bool,
) -> None:
    from streamfs.cli import console
    from streamfs.training.promises.explore import explore as find_front
    from streamfs.training.promises.problem import SearchSettings

    unit = options["pricing"].radio.unit
    options |= {"search": SearchSettings(vary=not asked.as_offered, seconds=asked.seconds), "risk": asked.failing}
    with console.progress() as report:
        front = find_front(recorded, offered, progress=report, **options)
    front.write(path)
    promise_words.print_front(front.points, unit, as_json=as_json)
    if asked.png is not None:
        from streamfs.experiments import plots

        plots.save(plots.front_figure(front.points, unit), asked.png)
        console.say(f"wrote {asked.png}")
    console.say(f"{fill(promise_words.FLATTERED, 100)}\nwrote {path}; next: the same with --point NUMBER -o MODEL")


def _make_model(
    recorded: "StreamSet", point: int, options: dict[str, Any], path: Path, out: Path, *, as_json: bool
) -> None:
    from streamfs.cli import console
    from streamfs.training.promises.exploration import plan_of
    from streamfs.training.promises.explore import Front

    with console.progress() as report:
        front = Front.read(path, plan_of(recorded, progress=report, **options))
        if point > len(front.points):
            raise click.UsageError(f"--point is {point}, and {path} has {len(front.points)} points")
        with step(report, "building the classifier"):
            procedure = front.procedure(point - 1)
    procedure.save(out)
    promise_words.show(procedure, out, as_json=as_json)
    console.say(f"wrote {out}; next: streamfs evaluate {out} STREAMS")
