"""What the nodes have spent: each received message once, however many streams it feeds."""

from collections.abc import Iterable
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import orjson

from streamfs.energy import EnergyMeter, profile
from streamfs.errors import StreamfsError
from streamfs.procedure import Decision


class Ledger:
    """Counts messages and writes the energy log: a line a decision, and in the end a line a node and the total.

    The log is JSON lines, appended to. ``energy`` is in ``unit``, which is that of the profile.

    Parameters
    ----------
    profile_name : str
        The nodes' radio, a key of `streamfs.energy.PROFILES`.
    path : path, optional
        The energy log; None writes none.

    Raises
    ------
    ValueError
        If there is no such profile.

    Examples
    --------
    >>> with Ledger("transmissions") as ledger:
    ...     ledger.count("n1", b"21.5")
    >>> ledger.meter.account("n1")
    Account(messages=1, bytes=4, joules=1.0)
    """

    def __init__(self, profile_name: str = "transmissions", path: str | PathLike[str] | None = None) -> None:
        self.meter = EnergyMeter(profile(profile_name))
        self._path = None if path is None else Path(path)
        self._file: IO[bytes] | None = None
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        if self._path is not None:
            self._file = self._exits.enter_context(self._path.open("ab", buffering=0))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._exits:
            self._write_totals()
            self._file = None

    def count(self, node: str, payload: bytes) -> None:
        """Count a message that a node has sent."""
        self.meter.count(node, len(payload))

    def record(self, decision: Decision, nodes: Iterable[str]) -> None:
        """Write a decision, with what its stream's nodes have spent so far.

        Parameters
        ----------
        decision : Decision
            Of one stream.
        nodes : iterable of str
            The nodes that feed the stream, each once.
        """
        accounts = [self.meter.account(node) for node in nodes]
        self._write(
            "decision",
            **decision.to_json(),
            messages=sum(account.messages for account in accounts),
            energy=sum(account.joules for account in accounts),
        )

    def _write_totals(self) -> None:
        for node, (messages, n_bytes, joules) in sorted(self.meter.nodes.items()):
            self._write("node", node=node, messages=messages, bytes=n_bytes, energy=joules)
        self._write("total", messages=self.meter.messages, bytes=self.meter.bytes, energy=self.meter.joules)

    def _write(self, kind: str, **fields: Any) -> None:
        if self._file is None:
            return
        radio = {"unit": self.meter.profile.unit, "profile": self.meter.profile.name}
        line = {"kind": kind, **fields, **radio}
        try:
            self._file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        except OSError as error:
            raise StreamfsError(f"energy log {self._path} cannot be written: {error.strerror}") from error
