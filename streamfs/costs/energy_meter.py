"""A meter of transmitted messages, by node."""

from collections import Counter
from math import fsum
from typing import NamedTuple

from streamfs.costs.energy import Profile, check_bytes


class Account(NamedTuple):
    """A node's transmissions: messages, bytes of payload, and joules (or the profile's unit)."""

    messages: int
    bytes: int
    joules: float

    def plus(self, messages: int, n_bytes: int, joules: float) -> "Account":
        """Return the account with more on it."""
        return Account(self.messages + messages, self.bytes + n_bytes, self.joules + joules)


NOTHING = Account(0, 0, 0.0)


class EnergyMeter:
    """Counter of transmitted messages by node and payload size, which computes their cost.

    Joules are computed from the counts on request, so that neither the order of the messages nor intermediate
    rounding matters. `distance` is that of the nodes to their receiver, in metres.
    """

    def __init__(self, profile: Profile, distance: float = 10.0) -> None:
        self.profile = profile
        self.distance = distance
        self._sizes: dict[str, Counter[int]] = {}

    def count(self, node: str, n_bytes: int, n_messages: int = 1) -> None:
        """Add `n_messages` messages of `n_bytes` bytes of payload each to a node's account."""
        check_bytes(n_bytes)
        if n_messages < 0:
            raise ValueError(f"n_messages is {n_messages}, expected at least 0")
        self._sizes.setdefault(node, Counter())[n_bytes] += n_messages

    @property
    def messages(self) -> int:
        """Number of messages of all nodes."""
        return sum(sizes.total() for sizes in self._sizes.values())

    @property
    def bytes(self) -> int:
        """Bytes of payload of all nodes."""
        return sum(n_bytes * n for sizes in self._sizes.values() for n_bytes, n in sizes.items())

    @property
    def joules(self) -> float:
        """Energy spent by all nodes, in the profile's unit."""
        total = Counter[int]()
        for sizes in self._sizes.values():
            total.update(sizes)
        return self._joules(total)

    @property
    def nodes(self) -> dict[str, Account]:
        """Each node's account."""
        return {node: self.account(node) for node in self._sizes}

    def account(self, node: str) -> Account:
        """Return a node's account, which is empty for a node that has not transmitted."""
        sizes = self._sizes.get(node, Counter[int]())
        return Account(sizes.total(), sum(n_bytes * n for n_bytes, n in sizes.items()), self._joules(sizes))

    def message_joules(self, n_bytes: int) -> float:
        """Return the cost of a message of `n_bytes` bytes of payload at the meter's distance."""
        return self.profile.message_joules(n_bytes, self.distance)

    def _joules(self, sizes: Counter[int]) -> float:
        return fsum(n * self.message_joules(n_bytes) for n_bytes, n in sizes.items())
