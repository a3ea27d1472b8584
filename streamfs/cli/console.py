"""Terminal output: progress and messages on standard error, results on standard output.

Tables and bars import rich when they are first shown: a gateway needs neither to be ready.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from feature_extractors._compiled import when_numba_is_used
from streamfs.procedure.procedure import Decision

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from streamfs.base.progress import Progress

__all__ = [
    "COMPILING",
    "announce_compiling",
    "announce_empty_cache",
    "print_decision",
    "print_json",
    "print_table",
    "progress",
    "say",
]

COMPILING = "compiling for this machine, which takes some seconds; later starts are quick"

_TIMES = ("time", "arrival")  # columns of tables
_USUAL_WIDTH = 80  # columns of a terminal
_EARLIEST, _LATEST = 1e8, 1e11  # seconds since 1970 that are shown as dates, in the local zone


def say(text: str) -> None:
    """Print a message that is not a result, without wrapping its lines; a full disk costs only the message."""
    with suppress(OSError):
        click.echo(text, err=True)


def progress() -> "AbstractContextManager[Progress]":
    """Show what is done of long work, as `streamfs.base.progress_bars.show_progress` does."""
    from streamfs.base.progress_bars import show_progress  # noqa: PLC0415 - not to wait for it

    return show_progress()


def _listen() -> None:
    """Print a message when numba first compiles something; loading code from its cache is not an event."""
    from numba.core import event  # noqa: PLC0415 - only those wait for numba who use it

    class Compiling(event.Listener):
        """A listener that prints the message at the first event."""

        has_said = False

        def on_start(self, event: object) -> None:  # noqa: ARG002 - numba's signature
            if not self.has_said:
                self.has_said = True
                say(COMPILING)

        def on_end(self, event: object) -> None:
            pass

    event.register("numba:compile", Compiling())


@cache
def announce_compiling() -> None:
    """Print a message, once in this process, as soon as code has to be compiled."""
    when_numba_is_used(_listen)


def announce_empty_cache(kernel: Any) -> None:
    """Print a message if a kernel's cache folder is empty, so that worker processes will compile."""
    if not any(Path(kernel.dispatcher.stats.cache_path).glob("*.nbi")):
        say(COMPILING)


def print_json(result: object) -> None:
    """Print a result as one line of JSON; NaN becomes null."""
    click.echo(orjson.dumps(result, option=orjson.OPT_SERIALIZE_NUMPY))


def print_decision(decision: Decision, *, as_json: bool) -> None:
    """Print a decision on one line."""
    if as_json:
        print_json(decision.to_json())
        return
    label = "-" if decision.label is None else decision.label
    confidence = "-" if isnan(decision.confidence) else f"{decision.confidence:.3f}"
    click.echo(
        f"{decision.stream:<16} {label:<10} {decision.reason:<9} tick {decision.tick:<4d} "
        f"confidence {confidence:<5} cost {decision.cost:.4g}"
    )


def print_table(rows: Sequence[Mapping[str, Any]], title: str = "") -> None:
    """Print a table with a row for each mapping; some ten figures fit into 80 columns.

    In a narrower terminal no word is cut: the table is as wide as it needs, up to 80 columns.
    """
    from rich import box  # noqa: PLC0415 - not to wait for it
    from rich.console import Console, JustifyMethod  # noqa: PLC0415 - the same
    from rich.measure import Measurement  # noqa: PLC0415 - the same
    from rich.table import Table  # noqa: PLC0415 - the same
    from rich.text import Text  # noqa: PLC0415 - the same

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for name in rows[0]:
        justify: JustifyMethod = "left" if isinstance(rows[0][name], str) else "right"
        table.add_column(name.replace("_", " " if justify == "left" else "\n"), justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(name, value)) for name, value in row.items()))
    console = Console()
    needed = Measurement.get(console, console.options.update(width=_USUAL_WIDTH), table).minimum
    if needed > console.width:
        console = Console(width=min(needed, _USUAL_WIDTH))
    console.print(Text(title), table)


def _cell(name: str, value: object) -> str:
    if isinstance(value, float):
        if name in _TIMES and _EARLIEST < value < _LATEST:
            return f"{datetime.fromtimestamp(value).astimezone():%m-%d %H:%M:%S%z}"
        return "-" if value != value else f"{value:.4g}"  # noqa: PLR0124 - only NaN differs from itself
    return "-" if value is None else str(value)
