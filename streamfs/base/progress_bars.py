"""Progress as people see it: bars in a terminal, with the time left, or in a notebook."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from html import escape
from time import monotonic
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from streamfs.base.progress import Progress as Report

_SHOWN_EVERY = 0.2  # seconds, in a notebook


@contextmanager
def show_progress() -> Iterator[Report]:
    """Show what is done of long work, and how long the rest will take.

    Yields
    ------
    callable
        What functions take as ``progress``: it is called with the name of the work, how much is done and the
        total; a total of 0 is unknown. In a notebook it writes into the cell's output, else to standard error.

    Examples
    --------
    >>> with show_progress() as progress:
    ...     for done in range(3):
    ...         progress("reading", done + 1, 3)
    """
    with _in_notebook() if _is_notebook() else _in_terminal() as report:
        yield report


@contextmanager
def _in_terminal() -> Iterator[Report]:
    """Yield a callback that shows bars on standard error, from the first report on."""
    columns = (TextColumn("{task.description}"), BarColumn(), _Done(), TimeElapsedColumn(), _Left())
    bars = Progress(*columns, console=Console(stderr=True))
    tasks: dict[str, TaskID] = {}

    def report(what: str, done: int, total: int) -> None:
        if not tasks:
            bars.start()
        if what not in tasks:
            tasks[what] = bars.add_task(what, total=total or None)
        bars.update(tasks[what], completed=done, total=total or None)

    try:
        yield report
    finally:
        if tasks:
            bars.stop()


class _Done(ProgressColumn):
    """What is done of how much; of work without parts, of which nothing is known before its end, nothing."""

    def render(self, task: Task) -> Text:
        """Return the numbers as text."""
        done = f"{task.completed:.0f}"
        said = (done if task.completed else "") if task.total is None else f"{done}/{task.total:.0f}"
        return Text(said, style="progress.download")


class _Left(ProgressColumn):
    """The time left, as far as what was done so far tells; rich's own column forgets all but the last seconds."""

    def render(self, task: Task) -> Text:
        """Return the time left as text, nothing before it can be told and when all is done."""
        if task.finished or not task.completed or task.remaining is None or task.elapsed is None:
            return Text("")
        seconds = task.elapsed * task.remaining / task.completed
        return Text(f"{timedelta(seconds=round(seconds))} left", style="progress.remaining")


def _is_notebook() -> bool:
    """Say whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def _in_notebook() -> Iterator[Report]:
    """Yield a callback that writes bars into the output of the cell."""
    from IPython.display import display  # noqa: PLC0415 - it is there in a notebook alone

    rows: dict[str, tuple[str, str]] = {}
    shown: Any = None
    begun, last = dict[str, float](), 0.0

    def report(what: str, done: int, total: int) -> None:
        nonlocal shown, last
        now, is_new = monotonic(), what not in rows
        seconds = now - begun.setdefault(what, now)
        rows[what] = bar_text(what, done, total, seconds), bar_html(what, done, total, seconds)
        if is_new or now - last > _SHOWN_EVERY or done == total:
            texts, bars = zip(*rows.values(), strict=True)
            output = {"text/plain": "\n".join(texts), "text/html": "".join(bars)}
            if shown is None:
                shown = display(output, raw=True, display_id=True)
            else:
                shown.update(output, raw=True)
            last = now

    yield report


def bar_html(what: str, done: int, total: int, seconds: float) -> str:
    """Return a bar of progress as HTML.

    Examples
    --------
    >>> bar_html("fitting", 3, 4, 30.0)
    '<div><progress value="3" max="4"></progress> fitting: 3 of 4, about 10 s left</div>'
    """
    bar = f'<progress value="{done}" max="{total}"></progress>' if total else "<progress></progress>"
    return f"<div>{bar} {escape(bar_text(what, done, total, seconds))}</div>"


def bar_text(what: str, done: int, total: int, seconds: float) -> str:
    """Return what is said beside a bar.

    Examples
    --------
    >>> bar_text("fitting", 3, 4, 30.0), bar_text("building", 0, 0, 3.0), bar_text("building", 1, 1, 9.0)
    ('fitting: 3 of 4, about 10 s left', 'building', 'building: done')
    """
    if total and done >= total:
        return f"{what}: {f'{done} of {total}' if total > 1 else 'done'}"
    if not total:
        return f"{what}: {done}" if done else what
    left = f", about {seconds / done * (total - done):.0f} s left" if done else ""
    return f"{what}: {done} of {total}{left}"
