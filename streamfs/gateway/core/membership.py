"""Which nodes are known: new ones are admitted, silent ones forgotten, and full houses make room."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from streamfs.costs.energy_meter import NOTHING, Account
from streamfs.gateway.core._waiting import NONE
from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.energy_account import EnergyAccount, Spent
from streamfs.gateway.core.episodes import Episodes
from streamfs.gateway.core.intake import Intake
from streamfs.gateway.core.joiner import Joiner
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.roster import Roster
from streamfs.gateway.messages.publication import Publication

EVICTED_AT_ONCE = 100
"""When full, evict 1 in 100 streams."""

HOUR = 3600.0
"""Seconds within which evictions are counted."""

EXPIRY_CHECKS = 10
"""Checks for expired streams within ``expire_after``."""


@dataclass(eq=False)
class Membership:
    """Admit nodes, and forget those that expire, are evicted or feed no stream.

    `gone` is the account of forgotten nodes; `checked_at` is the time, in seconds since 1970, of the last expiry
    check; `evictions` are the time at which the hour of the last evictions began, and their number since.
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
    evictions: tuple[float, int] = (0.0, 0)

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

    def admit(self, name: str, now: float) -> int:
        """Admit a node as a new stream at a time in seconds since 1970, and return its number.

        NONE if the gateway is full and does not evict, or has evicted too many in this hour: made-up names must
        not drive out nodes that are there.
        """
        if self.roster.n_streams >= self.options.limits.streams:
            if self.options.limits.streams_when_full == "refuse":
                return NONE
            n_allowed = self._evictions_allowed(now)
            if not n_allowed:
                return NONE
            self._evict(n_allowed)
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

    def resume(self, now: float) -> None:
        """Begin another run at a time, in seconds since 1970: the pause before it is no silence."""
        self.checked_at = now - max(self.joiner.silence - self.checked_at, 0.0)
        self.episodes.advance(self.joiner.resume(now))

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

    def _evictions_allowed(self, now: float) -> int:
        """Return how many more streams may be evicted at a time, of the hour that it belongs to.

        0 if settings that were read again allow less than was evicted.
        """
        limits, (since, _) = self.options.limits, self.evictions
        if not since <= now < since + HOUR:
            self.evictions = now, 0
        most = max(1, int(limits.evicted_per_hour * limits.streams))
        return max(0, most - self.evictions[1])

    def _evict(self, most: int) -> None:
        """Forget the streams that were heard longest ago, `most` at most."""
        heard = self.joiner.nodes["heard"]
        eldest = sorted(self.roster.nodes, key=lambda name: _age(heard[self.roster.nodes[name]]))
        names = eldest[: min(most, max(1, len(eldest) // EVICTED_AT_ONCE))]
        self.evictions = self.evictions[0], self.evictions[1] + len(names)
        for name in names:
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
