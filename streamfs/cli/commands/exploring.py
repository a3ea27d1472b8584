"""`streamfs train --explore`: write the trade-off, or train the model of one of its points."""

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click

from streamfs.base.progress import step
from streamfs.cli.commands import promise_text
from streamfs.cli.commands.promise_options import PromiseOptions
from streamfs.cli.parameters import typed

if TYPE_CHECKING:
    from streamfs.data.streams import StreamSet


def explore(
    recorded: "StreamSet",
    offered: list[Any] | None,
    promised: PromiseOptions,
    options: dict[str, Any],
    path: Path,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Write, show and plot a front; or train the model of a point, if one is named."""
    if promised.point is None or out is None:
        _write_front(recorded, offered, promised, options, path, as_json=as_json)
    else:
        options |= {"risk": promised.failure_probability}
        _make_model(recorded, promised.point, options, path, out, as_json=as_json)


def _write_front(
    recorded: "StreamSet",
    offered: list[Any] | None,
    promised: PromiseOptions,
    options: dict[str, Any],
    path: Path,
    *,
    as_json: bool,
) -> None:
    from streamfs.cli import console
    from streamfs.training.promises.explore import explore as find_front
    from streamfs.training.promises.search_settings import SearchSettings

    unit = options["pricing"].radio.unit
    options |= {
        "search": SearchSettings(as_offered=promised.as_offered, seconds=promised.seconds),
        "risk": promised.failure_probability,
    }
    with console.progress() as report:
        front = find_front(recorded, offered, progress=report, **options)
    front.write(path)
    promise_text.print_front(front.points, unit, as_json=as_json)
    if promised.png is not None:
        from streamfs.experiments import plots

        plots.save(plots.front_figure(front.points, unit), promised.png)
        console.say(f"wrote {promised.png}")
    console.say(f"{fill(promise_text.OPTIMISTIC, 100)}\nwrote {path}; next: the same with --point NUMBER -o MODEL")


def _make_model(
    recorded: "StreamSet", point: int, options: dict[str, Any], path: Path, out: Path, *, as_json: bool
) -> None:
    from streamfs.cli import console
    from streamfs.training.promises.explore import exploration
    from streamfs.training.promises.explored import Front

    with console.progress() as report:
        front = Front.read(path, exploration(recorded, **options))
        if point > len(front.points):
            raise click.UsageError(f"--point is {point}, and {path} has {len(front.points)} points")
        with step(report, "building the classifier"):
            procedure = front.procedure(point - 1)
    procedure.save(out)
    promise_text.show(procedure, out, as_json=as_json)
    console.say(f"wrote {out}; next: streamfs evaluate {typed(out)} STREAMS")
