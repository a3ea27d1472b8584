"""Progress callbacks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int], None]
"""Callback that receives the name of the work, how much is done, and the total; a total of 0 is unknown."""


@contextmanager
def step(progress: Progress, what: str) -> Iterator[None]:
    """Report work without parts as 0 of 1, then as 1 of 1 when it is done."""
    progress(what, 0, 1)
    yield
    progress(what, 1, 1)


def quiet(_what: str, _done: int, _total: int) -> None:
    """Report nothing."""
