"""Which nodes are known: new ones are admitted, silent ones forgotten, and full houses make room."""

from collections import Counter
from math import inf

from streamfs.costs.energy_meter import Account
from streamfs.gateway.core._grid import NONE
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
"""Checks for expired streams within ``expire_after``, by the clock of arrivals."""


class Membership:
    """Admit nodes, and forget those that expire, are evicted or feed no stream.

    `gone` is the account of forgotten nodes; `checked_at` is the arrival of the record before the last expiry
    check.
    """

    def __init__(
        self,
        roster: Roster,
        joiner: Joiner,
        energy: EnergyAccount,
        episodes: Episodes,
        intake: Intake,
        options: Options,
        effects: Effects,
        counters: Counter[str],
    ) -> None:
        self.gone = NOTHING
        self.checked_at = 0.0
        expires = options.streams.expire_after is not None and roster.bindings.discovers
        self.check_interval = (options.streams.expire_after or 0.0) / EXPIRY_CHECKS if expires else inf
        self._roster = roster
        self._joiner = joiner
        self._energy = energy
        self._episodes = episodes
        self._intake = intake
        self._options = options
        self._effects = effects
        self._counters = counters

    @property
    def spent(self) -> Spent:
        """What all nodes have spent."""
        return self._energy.spent(self._roster.nodes, self._joiner.nodes, self.gone)

    @property
    def joules(self) -> float:
        """The sum of it, in the profile's unit."""
        return float(self._joiner.nodes["joules"].sum()) + self.gone.joules

    def admit(self, name: str) -> int:
        """Admit a node as a new stream, and return its number; NONE if the gateway is full and does not evict."""
        if self._roster.n_streams >= self._options.limits.streams:
            if self._options.limits.streams_when_full == "refuse":
                return NONE
            self._evict()
        self._roster.admit(name)
        node = self._roster.nodes[name]
        self._effects.publications += self._roster.update([node])
        return node

    def expire(self, arrival: float) -> None:
        """Forget the streams that have been silent for ``expire_after``."""
        self.checked_at = arrival
        now, heard = self._joiner.now, self._joiner.nodes["heard"]
        if now is None:
            return
        before = now - (self._options.streams.expire_after or 0.0)
        for name in [name for name, node in self._roster.nodes.items() if not heard[node] >= before]:
            self._forget(name)
            topic = f"{self._options.prefix}/control/{name}"
            self._effects.publications.append(Publication(topic, b""))  # else it would stay silent permanently
            self._counters["expired"] += 1

    def forget_unused(self) -> None:
        """Forget the nodes that no longer feed a stream."""
        for name in self._roster.unused():
            self._settle_account(name)
            self._roster.forget_node(name)

    def _evict(self) -> None:
        """Forget the streams that were heard longest ago."""
        heard = self._joiner.nodes["heard"]
        eldest = sorted(self._roster.nodes, key=lambda name: _age(heard[self._roster.nodes[name]]))
        for name in eldest[: max(1, len(eldest) // EVICTED_AT_ONCE)]:
            self._forget(name)
            self._counters["evicted"] += 1

    def _forget(self, stream: str) -> None:
        """Close the stream of a discovered node, and forget both."""
        model = self._roster.model_of(stream)
        if model is not None:
            self._episodes.close(model, stream)
            self._roster.drop_empty()
        self._settle_account(stream)
        self._roster.forget_node(stream)
        self._intake.forget_targets()

    def _settle_account(self, node: str) -> None:
        """Add what a node has spent to that of the forgotten nodes."""
        spent = self._energy.spent({node: self._roster.nodes[node]}, self._joiner.nodes)
        for account in spent.nodes.values():
            messages, n_bytes, joules = self.gone
            self.gone = Account(messages + account.messages, n_bytes + account.bytes, joules + account.joules)
            self._effects.energy.append(self._energy.node(node, account))


def _age(heard: float) -> float:
    """Sort key for eviction: nodes that were never heard come first."""
    return heard if heard == heard else float("-inf")  # noqa: PLR0124 - only NaN differs from itself
