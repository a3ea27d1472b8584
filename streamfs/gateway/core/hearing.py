"""What devices pay for the messages that they hear, and how many they may hear in a day."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from streamfs.costs.energy_meter import NOTHING, Account
from streamfs.gateway.core.device_states import DAY, Device, Setting

KEPT = 1.0
"""Messages of a device's daily budget that are kept for waking it."""


def free(_n_bytes: int, _spreading_factor: int | None) -> float:
    """Return the price of a message that costs nothing to hear."""
    return 0.0


class Hearing:
    """The accounts of nodes that hear messages, at a price for some bytes at a spreading factor.

    `paid` has what each node has paid, and under "" what forgotten ones have.
    """

    def __init__(self, counters: Counter[str], price: Callable[[int, int | None], float] = free) -> None:
        self.paid: dict[str, Account] = {}
        self._counters = counters
        self._price = price

    def allows(self, device: Device, setting: Setting, per_day: float, now: float) -> bool:
        """Return whether a message is within the day's budget, of which it takes one; the last is for waking."""
        device.tokens = min(per_day, device.tokens + max(0.0, now - device.tokens_at) * per_day / DAY)
        device.tokens_at = max(now, device.tokens_at)
        if device.tokens < 1.0 + KEPT * setting.rests:
            self._counters["devices_deferred"] += not device.is_deferred
            device.is_deferred = True
            return False
        device.tokens -= 1.0
        device.is_deferred = False
        return True

    def pay(self, device: Device, n_bytes: int) -> None:
        """Charge a node for a message that it hears."""
        joules = self._price(n_bytes, device.spreading_factor)
        self.paid[device.node] = self.paid.get(device.node, NOTHING).plus(1, n_bytes, joules)

    def forget(self, node: str) -> None:
        """Put what a node has paid to that of forgotten ones."""
        self.paid[""] = self.paid.get("", NOTHING).plus(*self.paid.pop(node, NOTHING))

    def to_state(self) -> dict[str, Any]:
        """Copy the state."""
        return {node: [*account] for node, account in self.paid.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `to_state` has copied."""
        self.paid = {node: Account(*paid) for node, paid in state.items()}
