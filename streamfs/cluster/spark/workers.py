"""Spark's tasks as workers: what training does in parts is done in them."""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

from pyspark import Broadcast, cloudpickle
from pyspark.sql import SparkSession

Part = TypeVar("Part")
Result = TypeVar("Result")

AT_ONCE = 2
"""Parts for each task at once that a job has, so that neither they nor their results fill the driver's memory."""


class SparkWorkers:
    """Do parts of a work in tasks; a function, with the tables that it holds, is sent once for all its parts.

    Parameters
    ----------
    spark : SparkSession
        The session.

    Attributes
    ----------
    n : int
        Parts that are done at once: the cores of the cluster.

    Examples
    --------
    >>> from streamfs.base.workers import map_parts, working_with
    >>> from streamfs.cluster.spark.session import session
    >>> with working_with(SparkWorkers(session())):
    ...     list(map_parts(abs, [-1, 2]))
    [1, 2]
    """

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext
        self.n = int(self._context.defaultParallelism)
        self._sent: tuple[Any, Broadcast[bytes]] | None = None

    def map(self, function: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
        """Yield what a function makes of parts, in order; the parts are taken as they are sent."""
        waiting = iter(parts)
        while some := [*islice(waiting, AT_ONCE * self.n)]:
            shared = self._shared(function)
            tasks = self._context.parallelize(some, min(len(some), self.n))
            yield from tasks.map(lambda part, shared=shared: _restored(shared)(part)).collect()

    def _shared(self, function: Callable[..., Any]) -> "Broadcast[bytes]":
        """Send a function, unless it was the last one."""
        if self._sent is None or self._sent[0] is not function:
            if self._sent is not None:
                self._sent[1].unpersist()
            self._sent = function, self._context.broadcast(cloudpickle.dumps(function))
        return self._sent[1]


@lru_cache(1)
def _restored(shared: "Broadcast[bytes]") -> Callable[..., Any]:
    """Return a function in the process of a task, which keeps it for other tasks."""
    found: Callable[..., Any] = cloudpickle.loads(shared.value)
    return found
