"""How a shard is kept: as bytes in Spark's state, which count, and alive in the process that had it last."""

import os
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

State = TypeVar("State")

HEAD, BODY = "token binary, due double", "state binary"
"""Columns of the two values of a shard in Spark's state."""

_TOKEN_BYTES = 16

_alive: dict[tuple[str, int], tuple[bytes, Any]] = {}
"""The shards of this process by job and number, each with the token under which its bytes were written."""


class Value(Protocol):
    """A value in Spark's state, of the shard that is being processed."""

    def get(self) -> tuple[Any, ...] | None:
        """Return it; None before it was written."""

    def update(self, newValue: tuple[Any, ...]) -> None:
        """Write it."""


class Keeping(Generic[State]):
    """Read and write the shards of a job.

    A shard that is written gets a token, drawn at random by the attempt that writes it; Spark commits one attempt.
    A process whose shard has the token of Spark's state goes on with it; any other restores it from the bytes.

    Parameters
    ----------
    job : str
        What tells this run of a job from others in the same process.
    head, body : Value
        The token, with the time from which there is something to do without samples; and the bytes.
    begin : callable
        Makes a new shard, given its number.
    restore : callable
        Makes one from its number and bytes.
    pack : callable
        Makes bytes of one.
    """

    def __init__(
        self,
        job: str,
        head: Value,
        body: Value,
        begin: Callable[[int], State],
        restore: Callable[[int, bytes], State],
        pack: Callable[[State], bytes],
    ) -> None:
        self._job, self._head, self._body = job, head, body
        self._begin, self._restore, self._pack = begin, restore, pack

    def due(self) -> float:
        """Return the time from which there is something to do without samples; minus infinity for a new shard."""
        head = self._head.get()
        return float("-inf") if head is None else float(head[1])

    def take(self, shard: int) -> State:
        """Return a shard; unless it is put back, it is not alive any more."""
        head, alive = self._head.get(), _alive.pop((self._job, shard), None)
        if head is None:
            return self._begin(shard)
        if alive is not None and alive[0] == bytes(head[0]):
            state: State = alive[1]
            return state
        body = self._body.get()
        return self._restore(shard, bytes(body[0]) if body else b"")

    def put(self, shard: int, state: State, due: float) -> None:
        """Write a shard, and keep it alive."""
        token = os.urandom(_TOKEN_BYTES)
        self._body.update((self._pack(state),))
        self._head.update((token, due))
        _alive[self._job, shard] = token, state
