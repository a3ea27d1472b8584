"""Which nodes are known: new ones are admitted, silent ones forgotten, and full houses make room."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from streamfs.costs.energy_meter import Account
from streamfs.gateway.core._waiting import NONE
from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.energy_account import NOTHING, EnergyAccount, Spent
from streamfs.gateway.core.episodes import Episodes
from streamfs.gateway.core.intake import Intake
from streamfs.gateway.core.joiner import Joiner
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.roster import Roster
from streamfs.gateway.messages.publication import Publication

EVICTED_AT_ONCE = 100
"""When full, evict 1 in 100 streams."""

EXPIRY_CHECKS = 10
"""Checks for expired streams within ``expire_after``."""


@dataclass(eq=False)
class Membership:
    """Admit nodes, and forget those that expire, are evicted or feed no stream.

    `gone` is the account of forgotten nodes; `checked_at` is the time, in seconds since 1970, of the last expiry
    check.
    """

    roster: Roster
    joiner: Joiner
    energy: EnergyAccount
    episodes: Episodes
    intake: Intake
    options: Options
    effects: Effects
    counters: Counter[str]
    gone: Account = NOTHING
    checked_at: float = 0.0

    def __post_init__(self) -> None:
        expire_after = self.options.streams.expire_after
        expires = expire_after is not None and self.roster.bindings.discovers
        self._check_interval = (expire_after or 0.0) / EXPIRY_CHECKS if expires else inf

    @property
    def spent(self) -> Spent:
        """What all nodes have spent."""
        return self.energy.spent(self.roster.nodes, self.joiner.nodes, self.gone)

    @property
    def joules(self) -> float:
        """The sum of it, in the profile's unit."""
        return float(self.joiner.nodes["joules"].sum()) + self.gone.joules

    def admit(self, name: str) -> int:
        """Admit a node as a new stream, and return its number; NONE if the gateway is full and does not evict."""
        if self.roster.n_streams >= self.options.limits.streams:
            if self.options.limits.streams_when_full == "refuse":
                return NONE
            self._evict()
        self.roster.admit(name)
        node = self.roster.nodes[name]
        self.effects.publications += self.roster.update([node])
        return node

    def expire(self, silence: float) -> None:
        """Forget, if it is time to check, the streams whose silence of ``expire_after`` is proved."""
        if silence < self.checked_at + self._check_interval:
            return
        self.checked_at, heard = silence, self.joiner.nodes["heard"]
        before = silence - (self.options.streams.expire_after or 0.0)
        for name in [name for name, node in self.roster.nodes.items() if not heard[node] >= before]:
            self._forget(name)
            self.counters["expired"] += 1

    def forget_unused(self) -> None:
        """Forget the nodes that no longer feed a stream."""
        for name in self.roster.unused():
            self._settle_account(name)
            self.roster.forget_node(name)
            self._clear("control", name)

    def forget_streams(self, names: Iterable[str]) -> None:
        """Clear what is retained of streams that are bound no longer."""
        for name in names:
            self._clear("decision", name)

    def _evict(self) -> None:
        """Forget the streams that were heard longest ago."""
        heard = self.joiner.nodes["heard"]
        eldest = sorted(self.roster.nodes, key=lambda name: _age(heard[self.roster.nodes[name]]))
        for name in eldest[: max(1, len(eldest) // EVICTED_AT_ONCE)]:
            self._forget(name)
            self.counters["evicted"] += 1

    def _forget(self, stream: str) -> None:
        """Close the stream of a discovered node, and forget both."""
        model = self.roster.model_of(stream)
        if model is not None:
            self.episodes.close(model, stream)
            self.roster.drop_empty()
        self._settle_account(stream)
        self.roster.forget_node(stream)
        self.intake.forget_targets()
        self._clear("control", stream)
        self._clear("decision", stream)

    def _clear(self, kind: str, name: str) -> None:
        """Clear a retained message: nobody would ever tell a forgotten node to send again."""
        self.effects.publications.append(Publication(f"{self.options.prefix}/{kind}/{name}", b""))

    def _settle_account(self, node: str) -> None:
        """Add what a node has spent to that of the forgotten nodes."""
        spent = self.energy.spent({node: self.roster.nodes[node]}, self.joiner.nodes)
        for account in spent.nodes.values():
            messages, n_bytes, joules = self.gone
            self.gone = Account(messages + account.messages, n_bytes + account.bytes, joules + account.joules)
            self.effects.energy.append(self.energy.node(node, account))


def _age(heard: float) -> float:
    """Sort key for eviction: nodes that were never heard come first."""
    return heard if heard == heard else float("-inf")  # noqa: PLR0124 - only NaN differs from itself
