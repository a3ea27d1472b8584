"""Work in parts that do not concern each other, which others than this process may do, such as a cluster."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


class Workers(Protocol):
    """What does parts of a work; functions, parts and results travel there and back, by cloudpickle."""

    n: int
    """Parts that are done at once."""

    def map(self, function: Callable[[Part], Result], parts: Iterable[Part]) -> Iterable[Result]:
        """Return what a function makes of parts, in order."""


_workers: ContextVar[Workers | None] = ContextVar("workers", default=None)


def workers() -> Workers | None:
    """Return what does parts of the work here; None if this process does all of it."""
    return _workers.get()


@contextmanager
def working_with(others: Workers) -> Iterator[None]:
    """Let others do parts of the work of a block: feature tables, Relief's weights, the scores of subsets."""
    before = _workers.set(others)
    try:
        yield
    finally:
        _workers.reset(before)


def map_parts(function: Callable[[Part], Result], parts: Iterable[Part]) -> Iterable[Result]:
    """Return what a function makes of parts, in order, whoever does it."""
    others = workers()
    return map(function, parts) if others is None else others.map(function, parts)
