"""Progress callbacks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int], None]
"""Callback that receives the name of the work, how much is done, and the total; a total of 0 is unknown."""


@contextmanager
def step(progress: Progress, what: str) -> Iterator[None]:
    """Report work without parts: its total is not known before it is done, and then it is 1 of 1."""
    progress(what, 0, 0)
    yield
    progress(what, 1, 1)


def quiet(_what: str, _done: int, _total: int) -> None:
    """Report nothing."""
