"""Work that threads do ahead of whoever takes its results."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

from streamfs.base.processors import n_processors

Part = TypeVar("Part")
Result = TypeVar("Result")


def map_ahead(function: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
    """Yield what a function makes of parts, in order; threads begin with the next ones before they are asked for.

    It is for functions that let other threads run, as those of polars do. Parts are taken in the caller's thread,
    some ahead; what fails is raised in its place. A part that is the only one needs no thread.

    Examples
    --------
    >>> list(map_ahead(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    rest = iter(parts)
    first = [*islice(rest, 1)]
    try:
        first += islice(rest, 1)
    except Exception:
        yield from map(function, first)
        raise
    yield from (map if len(first) < 2 else _by_threads)(function, chain(first, rest))


def _by_threads(function: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
    n_ahead, rest = n_processors(), iter(parts)
    begun: deque[Future[Result]] = deque()

    def begin(n_parts: int) -> None:
        try:
            begun.extend(threads.submit(function, part) for part in islice(rest, n_parts))
        except Exception as error:  # noqa: BLE001 - raised below, after the results before it
            begun.append(Future())
            begun[-1].set_exception(error)

    with ThreadPoolExecutor(n_ahead) as threads:
        try:
            begin(n_ahead)
            while begun:
                result = begun.popleft().result()
                begin(1)
                yield result
        finally:
            threads.shutdown(cancel_futures=True)
