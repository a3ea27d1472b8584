"""Who is told of what goes on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int], None]
"""Told what is going on, how much of it is done, and how much there is; a total of 0 is not known."""


@contextmanager
def step(progress: Progress, what: str) -> Iterator[None]:
    """Tell of work that has no parts: one of one, when it is done."""
    progress(what, 0, 1)
    yield
    progress(what, 1, 1)


def quiet(_what: str, _done: int, _total: int) -> None:
    """Tell nobody."""
