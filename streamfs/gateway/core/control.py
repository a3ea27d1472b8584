"""Control messages: which channels each node is to send, and when it is to stop on its own."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, inf

import numpy as np
import numpy.typing as npt
import orjson

from streamfs.base.growable_array import append_rows, rows_to_reserve
from streamfs.gateway.messages.publication import Publication

Slots = npt.NDArray[np.int32]
Times = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

_LONGEST_EXPIRY = 2**32 - 1  # seconds (MQTT 5, 3.3.2.3.3)


class Control:
    """Track which channels each node is to send: those that an undecided stream requests.

    A slot is the node's number times the number of channels, plus the channel's number. A node that receives no
    control message for ``stop_after`` seconds stops on its own, so that its battery outlives a dead gateway.

    Messages are numbered, so that nodes can ignore those that come late or out of order: each has a higher number
    than those before, also than those of earlier runs that are forgotten, since numbers are at least the
    milliseconds since 1970 at the begin of a run. The broker forgets requests after ``stop_after`` seconds, and
    messages that say to be silent after ``silent_for`` seconds. Requests announce what is requested of a node
    ``later``, with the seconds until then.
    """

    def __init__(
        self,
        channels: Sequence[str],
        prefix: str = "streamfs",
        stop_after: float | None = None,
        silent_for: float | None = None,
        later: Callable[[int], Mapping[str, float]] = lambda _: {},
    ) -> None:
        self._channels = tuple(channels)
        self._prefix = prefix
        self._stop_after = stop_after
        self._expiry = _expiry(silent_for), _expiry(stop_after)  # of messages without channels, and with some
        self._later = later
        self.newest_number = 0
        self.numbers: Numbers = np.zeros(0, dtype=np.int64)  # of the nodes' last messages; 0 before the first
        self._uses = np.zeros((0, len(self._channels)), dtype=np.int32)
        self._requested = np.zeros((0, len(self._channels)), dtype=np.bool_)  # by the last control messages
        self.requested_at = np.zeros(0)  # seconds since 1970; NaN until the next `renewals`
        self._renew_at = -inf  # seconds since 1970, before which no node is due

    @property
    def is_used(self) -> npt.NDArray[np.bool_]:
        """Whether an undecided stream requests each slot, shape (n_nodes, n_channels)."""
        return self._uses > 0

    def told(self, n_nodes: int) -> tuple[npt.NDArray[np.bool_], Times]:
        """Return which channels each of the first nodes was told to send, and when; NaN if that is not known."""
        known = min(n_nodes, len(self._requested))
        told = np.zeros((n_nodes, len(self._channels)), dtype=np.bool_)
        told_at = np.full(n_nodes, np.nan)
        told[:known], told_at[:known] = self._requested[:known], self.requested_at[:known]
        return told, told_at

    def begin(self, now: float) -> None:
        """Number the messages of a run that begins at a time in seconds since 1970."""
        self.newest_number = max(self.newest_number, int(1000 * now))
        self._renew_at = -inf

    def use(self, slots: Iterable[int]) -> None:
        """Note that one more undecided stream requests these slots."""
        for slot in set(slots):
            node, channel = divmod(int(slot), len(self._channels))
            self._make_room(node)
            self._uses[node, channel] += 1

    def use_all(self, slots: Slots) -> None:
        """Note which slots many undecided streams request, a row each; those below 0 are left out."""
        if not slots.size:
            return
        ordered = np.sort(slots, axis=1)
        is_first = ordered >= 0
        is_first[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
        self._make_room(int(ordered.max()) // len(self._channels))
        np.add.at(self._uses.reshape(-1), ordered[is_first], 1)

    def release(self, slots: Iterable[int]) -> None:
        """Note that one undecided stream fewer requests these slots."""
        for slot in set(slots):
            node, channel = divmod(int(slot), len(self._channels))
            self._uses[node, channel] -= 1

    def silent(self, slots: Iterable[int]) -> list[int]:
        """Return those of the slots, each once, that no undecided stream requests."""
        return [
            slot
            for slot in dict.fromkeys(slots)
            if slot >= self._uses.size or not self._uses[divmod(slot, len(self._channels))]
        ]

    def update(self, node: int, name: str) -> list[Publication]:
        """Return a control message if a node is to send other channels than before."""
        self._make_room(node)
        wanted = self._uses[node] > 0
        if wanted.tobytes() == self._requested[node].tobytes():
            return []
        self._requested[node] = wanted
        self.requested_at[node] = np.nan
        self._renew_at = -inf
        self._number(node)
        return [self.state(node, name)]

    def outdated(self) -> list[int]:
        """Return the nodes that are to send other channels than before."""
        differs = (self._uses > 0) != self._requested
        return np.flatnonzero(differs.any(axis=1)).tolist() if differs.any() else []

    def state(self, node: int, name: str) -> Publication:
        """Return a node's current control message, with the number under which it was first sent."""
        requested = zip(self._channels, self._requested[node].tolist(), strict=True)
        channels = [channel for channel, is_requested in requested if is_requested]
        message: dict[str, object] = {"channels": channels}
        if channels:
            later = {channel: at for channel, at in self._later(node).items() if channel not in channels}
            if later:
                message["later"] = later
            if self._stop_after is not None:
                message["stop_after"] = self._stop_after
        message["number"] = self.numbers[node].item()
        expiry = self._expiry[bool(channels)]
        return Publication(f"{self._prefix}/control/{name}", orjson.dumps(message), expiry=expiry)

    def renewals(self, now: float) -> list[int]:
        """Return the nodes that would soon stop on their own, at a time in seconds; they count as told."""
        if self._stop_after is None or now < self._renew_at:
            return []
        self.requested_at[np.isnan(self.requested_at)] = now
        sends = self._requested.any(axis=1)
        due = sends & (self.requested_at + self._stop_after / 2 <= now)
        self.requested_at[due] = now
        self._renew_at = float(self.requested_at[sends].min(initial=inf)) + self._stop_after / 2
        nodes: list[int] = due.nonzero()[0].tolist()
        for node in nodes:
            self._number(node)
        return nodes

    def forget(self, node: int) -> None:
        """Forget a node whose number will be used again."""
        self._requested[node] = False

    def take_over(self, other: "Control") -> None:
        """Copy what nodes were asked to send from an instance with the same channels, or the first of them."""
        n_nodes, n_channels = other._requested.shape  # noqa: SLF001 - another of this class
        self._make_room(n_nodes - 1)
        self._requested[:n_nodes, :n_channels] = other._requested  # noqa: SLF001
        is_same = self._stop_after == other._stop_after  # noqa: SLF001
        self.requested_at[:n_nodes] = other.requested_at if is_same else -inf
        self.numbers[:n_nodes] = other.numbers
        self.newest_number = other.newest_number
        self._renew_at = -inf

    def place(self, node: int, number: int, requested_at: float) -> None:
        """Assume that a node was asked for its current channels at a time, under a number, by another gateway."""
        self._make_room(node)
        self._requested[node] = self._uses[node] > 0
        self.numbers[node], self.requested_at[node] = number, requested_at
        self.newest_number = max(self.newest_number, number)
        self._renew_at = -inf

    def restore(self, requested_at: Times, numbers: Numbers, newest_number: int) -> None:
        """Assume that every node was asked for its current channels, at these times and under these numbers."""
        self._make_room(len(requested_at) - 1)
        self.requested_at[: len(requested_at)] = requested_at
        self.numbers[: len(numbers)] = numbers
        self.newest_number = newest_number
        self._requested[:] = self._uses > 0
        self._renew_at = -inf

    def _number(self, node: int) -> None:
        """Give a node's message a number of its own."""
        self.newest_number += 1
        self.numbers[node] = self.newest_number

    def _make_room(self, node: int) -> None:
        if node >= len(self._uses):
            more = max(rows_to_reserve(len(self._uses)), node + 1 - len(self._uses))
            shape = (more, len(self._channels))
            self._uses = append_rows(self._uses, np.zeros(shape, dtype=np.int32))
            self._requested = append_rows(self._requested, np.zeros(shape, dtype=np.bool_))
            self.requested_at = append_rows(self.requested_at, np.full(more, np.nan))
            self.numbers = append_rows(self.numbers, np.zeros(more, dtype=np.int64))


def _expiry(seconds: float | None) -> int:
    """Return after how many whole seconds the broker forgets a message; 0 for never."""
    return 0 if seconds is None else min(ceil(seconds), _LONGEST_EXPIRY)
