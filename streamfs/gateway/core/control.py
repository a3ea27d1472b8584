"""What the gateway tells the nodes: which channels to send, and when to fall silent."""

from collections.abc import Iterable, Sequence
from math import inf

import numpy as np
import numpy.typing as npt
import orjson

from streamfs.base.growable_array import grown, spare
from streamfs.gateway.messages.publication import Publication

Slots = npt.NDArray[np.int32]
Times = npt.NDArray[np.float64]


class Control:
    """Keeps account of what each node shall send; it publishes nothing itself.

    A node shall send a channel as long as an undecided stream asks for it.

    Parameters
    ----------
    channels : sequence of str
        Channels, as the nodes know them; a slot is a node's number times their number, plus the channel's.
    prefix : str
        First part of the topics.
    stop_after : float, optional
        Seconds after which a node that hears nothing stops by itself, so that its battery outlives a gateway that
        has died; None lets it go on for ever.

    Examples
    --------
    >>> control = Control(["light", "door@flag:0.5"])
    >>> control.use([0, 1])
    >>> control.update(0, "n1")
    [Publication(topic='streamfs/control/n1', payload=b'{"channels":["light","door@flag:0.5"]}', retain=True)]
    >>> control.release([0, 1])
    >>> control.update(0, "n1")
    [Publication(topic='streamfs/control/n1', payload=b'{"channels":[]}', retain=True)]
    >>> control.update(0, "n1")
    []
    """

    def __init__(self, channels: Sequence[str], prefix: str = "streamfs", stop_after: float | None = None) -> None:
        self._channels = tuple(channels)
        self._prefix = prefix
        self._stop_after = stop_after
        self._uses = np.zeros((0, len(self._channels)), dtype=np.int32)
        self._requested = np.zeros((0, len(self._channels)), dtype=np.bool_)
        self.requested_at = np.zeros(0)  # event time, seconds; NaN until the next `renewals`
        self._renew_at = -inf  # event time, seconds, before which no node is to be told again

    def use(self, slots: Iterable[int]) -> None:
        """Note that one more undecided stream asks for these slots."""
        for slot in set(slots):
            node, channel = divmod(int(slot), len(self._channels))
            self._make_room(node)
            self._uses[node, channel] += 1

    def use_all(self, slots: Slots) -> None:
        """Note of many undecided streams, a row each, that they ask for these slots; those below 0 are none."""
        if not slots.size:
            return
        ordered = np.sort(slots, axis=1)
        is_first = ordered >= 0
        is_first[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
        self._make_room(int(ordered.max()) // len(self._channels))
        np.add.at(self._uses.reshape(-1), ordered[is_first], 1)

    def release(self, slots: Iterable[int]) -> None:
        """Note that one undecided stream less asks for these slots."""
        for slot in set(slots):
            node, channel = divmod(int(slot), len(self._channels))
            self._uses[node, channel] -= 1

    def silent(self, slots: Iterable[int]) -> list[int]:
        """Those slots, each once, that no undecided stream reads."""
        return [
            slot
            for slot in dict.fromkeys(slots)
            if slot >= self._uses.size or not self._uses[divmod(slot, len(self._channels))]
        ]

    def update(self, node: int, name: str) -> list[Publication]:
        """Tell a node what to send, if that has changed."""
        self._make_room(node)
        wanted = self._uses[node] > 0
        if (wanted == self._requested[node]).all():
            return []
        self._requested[node] = wanted
        self.requested_at[node] = np.nan
        self._renew_at = -inf
        return [self.state(node, name)]

    def outdated(self) -> list[int]:
        """Nodes that do not know what to send."""
        nodes: list[int] = ((self._uses > 0) != self._requested).any(axis=1).nonzero()[0].tolist()
        return nodes

    def state(self, node: int, name: str) -> Publication:
        """Tell a node where it stands, for a broker that has forgotten."""
        channels = [
            channel for channel, wanted in zip(self._channels, self._requested[node], strict=True) if wanted
        ]
        message: dict[str, object] = {"channels": channels}
        if channels and self._stop_after is not None:
            message["stop_after"] = self._stop_after
        return Publication(f"{self._prefix}/control/{name}", orjson.dumps(message))

    def renewals(self, now: float) -> list[int]:
        """Nodes that are to be told again at an event time, in seconds, lest they stop by themselves."""
        if self._stop_after is None or now < self._renew_at:
            return []
        self.requested_at[np.isnan(self.requested_at)] = now
        sends = self._requested.any(axis=1)
        due = sends & (self.requested_at + self._stop_after / 2 <= now)
        self.requested_at[due] = now
        self._renew_at = float(self.requested_at[sends].min(initial=inf)) + self._stop_after / 2
        nodes: list[int] = due.nonzero()[0].tolist()
        return nodes

    def forget(self, node: int) -> None:
        """Forget a node whose number will be another's."""
        self._requested[node] = False

    def take_over(self, other: "Control") -> None:
        """Take over what the nodes were told by an account of as many channels, or fewer."""
        n_nodes, n_channels = other._requested.shape  # noqa: SLF001 - another of this class
        self._make_room(n_nodes - 1)
        self._requested[:n_nodes, :n_channels] = other._requested  # noqa: SLF001
        is_same = self._stop_after == other._stop_after  # noqa: SLF001
        self.requested_at[:n_nodes] = other.requested_at if is_same else -inf
        self._renew_at = -inf

    def restore(self, requested_at: Times) -> None:
        """Take every node to have been told what it shall send now, at these event times, in seconds."""
        self._make_room(len(requested_at) - 1)
        self.requested_at[: len(requested_at)] = requested_at
        self._requested[:] = self._uses > 0
        self._renew_at = -inf

    def _make_room(self, node: int) -> None:
        if node >= len(self._uses):
            more = max(spare(len(self._uses)), node + 1 - len(self._uses))
            shape = (more, len(self._channels))
            self._uses = grown(self._uses, np.zeros(shape, dtype=np.int32))
            self._requested = grown(self._requested, np.zeros(shape, dtype=np.bool_))
            self.requested_at = grown(self.requested_at, np.full(more, np.nan))
