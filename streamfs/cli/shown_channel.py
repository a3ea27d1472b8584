"""A channel of a recorded history: when a gateway has a value of it, by what its device reports."""

from math import inf

import numpy as np

from feature_extractors.report import Policy

_ON_CHANGE = ("flag", "delta", "quantised")


class ShownChannel:
    """When a gateway that thins a device's reports by a report policy shows a value of them.

    It is what the gateway does at every tick (`gateway/core/_thinned.py`), but from report to report: a report
    counts until the next, for as long as the model holds a value, and what the policy makes of it is held as long
    again. Policies begin with the first report, and anew with one after a gap.

    Parameters
    ----------
    policy : Policy
        The channel's.
    most : float
        Ticks for which the model holds a value.
    gap : int
        Ticks without a report after which the policy begins anew.
    """

    def __init__(self, policy: Policy, most: float, gap: int) -> None:
        self._policy = policy
        self._block = int(policy.value) if policy.kind in ("every", "mean") else 1
        self._most = most if policy.holds else 0.0
        self._hold = max(most, self._block) if policy.holds else 0.0
        self._gap = gap
        self._reported = -inf
        self._phase = 0
        self._value = np.nan
        self._shown, self._since = -inf, -inf

    def report(self, tick: int, value: float) -> None:
        """Take a report; they come in order."""
        self._advance(tick - 1)
        if self._begins(tick):
            self._phase, self._value = tick % self._block, np.nan
        self._reported = tick
        if self._policy.kind in _ON_CHANGE:
            said = float(self._policy.sent(np.array([value]))[0])
            step = self._policy.value if self._policy.kind == "delta" else 0.0
            if not abs(said - self._value) <= step:
                self._value = said
                self._show(tick)

    def known_since(self, tick: int) -> float | None:
        """Return since when there has been a value without a break at a tick, or will be by the newest report.

        It is None if there is none at the tick, and the newest report will make none.
        """
        self._advance(tick)
        if tick <= self._shown + self._hold:
            return self._since
        if self._policy.kind in _ON_CHANGE or self._reported == -inf:
            return None
        first = self.shown_from(int(self._reported))
        return first if tick < first <= self._last() else None

    def shown_from(self, tick: int) -> int:
        """Return the first tick at which a report at a tick is shown."""
        phase = tick if self._begins(tick) else self._phase
        return tick + (phase - tick - (self._policy.kind == "mean")) % self._block

    def _begins(self, tick: int) -> bool:
        """Return whether the policy begins with a report at a tick."""
        return tick - self._reported - 1 > self._gap

    def _advance(self, tick: int) -> None:
        """Show what the newest report makes known until a tick."""
        if self._reported == -inf:
            return
        last = min(tick, self._last())
        if self._policy.kind in _ON_CHANGE:
            while self._shown + self._most <= last:
                self._show(max(self._shown + self._most, self._reported))
            return
        first = self.shown_from(int(self._reported))
        if first <= last:
            self._show(first)
            self._show(last - (last - first) % self._block)

    def _last(self) -> float:
        """Return the last tick at which the newest report may be shown: a block with a value is at its end."""
        return self._reported + self._most + (self._block - 1) * (self._policy.kind == "mean")

    def _show(self, tick: float) -> None:
        if not tick <= self._shown + self._hold + 1:
            self._since = tick
        self._shown = max(self._shown, tick)
