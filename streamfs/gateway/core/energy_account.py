"""What nodes have spent: each received message once, however many streams it feeds."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import fsum
from typing import Any, NamedTuple

import numpy.typing as npt

from streamfs.costs.energy import LoRaProfile, Profile
from streamfs.costs.energy_meter import NOTHING, Account
from streamfs.costs.radio_profiles import profile
from streamfs.costs.rates import Rates
from streamfs.procedure.procedure import Decision

_MAX_SIZES = 10_000

Accounts = npt.NDArray[Any]
"""Records with ``messages``, ``bytes`` and ``joules``."""


class Spent(NamedTuple):
    """What nodes have spent: those that have sent a message by name, and the sum of all forgotten ones."""

    profile: Profile
    nodes: dict[str, Account]
    gone: Account = NOTHING

    @property
    def messages(self) -> int:
        """Messages of all nodes."""
        return sum(account.messages for account in self._accounts)

    @property
    def bytes(self) -> int:
        """Bytes of payload of all nodes."""
        return sum(account.bytes for account in self._accounts)

    @property
    def joules(self) -> float:
        """Energy of all nodes, in the profile's unit."""
        return fsum(account.joules for account in self._accounts)

    @property
    def _accounts(self) -> tuple[Account, ...]:
        return (self.gone, *self.nodes.values())


class EnergyAccount:
    """Price messages, and make the lines of the energy log, in the unit of the radio profile.

    `period` are the seconds of a tick.
    """

    def __init__(self, profile_name: str = "transmissions", period: float = 1.0) -> None:
        self.profile = profile(profile_name)
        self._rates = Rates.of(self.profile, period)
        self._prices: dict[tuple[int, int | None], float] = {}

    def joules(self, n_bytes: int, spreading_factor: int | None = None) -> float:
        """Return the cost of a message of `n_bytes`, sent at a spreading factor if the radio is LoRa."""
        price = self._prices.get((n_bytes, spreading_factor))
        if price is None:
            if len(self._prices) >= _MAX_SIZES:
                self._prices.clear()
            price = self._profile_at(spreading_factor).message_joules(n_bytes)
            self._prices[n_bytes, spreading_factor] = price
        return price

    def hearing(self, n_bytes: int, spreading_factor: int | None = None) -> float:
        """Return what a device pays for hearing a message of `n_bytes`, as `joules`."""
        return self._profile_at(spreading_factor).receive_joules(n_bytes)

    def decision(self, decision: Decision, messages: int, joules: float, n_nodes: int) -> dict[str, Any]:
        """Return the line of a decision, given what its stream's nodes have sent and spent on messages.

        Waiting is what they pay in the episode besides, were the stream alone: awake at each tick, and control.
        """
        waiting = n_nodes * (self._rates.control + self._rates.tick * decision.tick)
        return self._line("decision", **decision.to_json(), messages=messages, energy=joules, waiting=waiting)

    def node(self, name: str, account: Account, hearing: Account = NOTHING) -> dict[str, Any]:
        """Return the line of a node; with what it was asked, if it is a device, and what hearing that has cost."""
        messages, n_bytes, joules = account
        return self._line("node", node=name, messages=messages, bytes=n_bytes, energy=joules, **_heard(hearing))

    def spent(self, nodes: Mapping[str, int], accounts: Accounts, gone: Account = NOTHING) -> Spent:
        """Return what nodes have spent that have sent a message, given all accounts by their numbers."""
        fields = ("messages", "bytes", "joules")
        heard = {name: node for name, node in nodes.items() if accounts["messages"][node]}
        by_name = {name: Account(*(accounts[f][node].item() for f in fields)) for name, node in heard.items()}
        return Spent(self.profile, by_name, gone)

    def totals(self, spent: Spent, hearing: Mapping[str, Account]) -> Iterator[dict[str, Any]]:
        """Yield the lines of all nodes, by name, and of the total, given what devices have paid for hearing."""
        for name, account in sorted(spent.nodes.items()):
            yield self.node(name, account, hearing.get(name, NOTHING))
        heard = Account(
            sum(each.messages for each in hearing.values()), 0, fsum(each.joules for each in hearing.values())
        )
        yield self._line("total", messages=spent.messages, bytes=spent.bytes, energy=spent.joules, **_heard(heard))

    def _profile_at(self, spreading_factor: int | None) -> Profile:
        if spreading_factor is None or not isinstance(self.profile, LoRaProfile):
            return self.profile
        return replace(self.profile, spreading_factor=spreading_factor)

    def _line(self, kind: str, **fields: Any) -> dict[str, Any]:
        return {"kind": kind, **fields, "unit": self.profile.unit, "profile": self.profile.name}


def _heard(account: Account) -> dict[str, Any]:
    return {"asked": account.messages, "hearing": account.joules} if account.messages else {}
