"""Labels that are asked for: of the decisions whose label would tell the most of the accuracy.

Decisions are drawn with probabilities by which the test then weighs: the label of a decision that is likely wrong
is asked for more often. A decision whose label was not asked for counts with the probability of being wrong that
labels so far have shown at its confidence; another with what its label says beyond that, too, divided by the
probability with which it was asked for. So each counts on average what it would if all were labelled, whatever the
former probability is.

See Z. Xu, N. Karampatziakis and P. Mineiro: Active, anytime-valid risk controlling prediction sets. NeurIPS 2024;
and T. Zrnic and E. Candes: Active statistical inference. ICML 2024.
"""

from collections import deque
from collections.abc import Mapping
from math import sqrt
from typing import Any, NamedTuple

from streamfs.procedure.betting import Bets
from streamfs.procedure.recalibrated import Recalibrated

MOST_WAITING = 1000
"""Decisions that wait for a label that was asked for, and those after them; then it counts as right."""

STAKES = (0.2, 0.4, 0.8)
_FLOOR = 0.1  # of the rate, with which each is asked for at least

_RIGHT, _WRONG, _ASKED, _UNASKED = range(4)


class _Drawn(NamedTuple):
    """A decision: how likely it seemed wrong and its label was asked for, and whether it was, or is known."""

    stream: str
    confidence: float
    wrong: float
    probability: float
    state: int


class AskedLabels:
    """Test of the hypothesis that at least a share of decisions is right, by labels of some of them.

    Decisions count in their order; one whose label was asked for holds up the next until it comes. If it does not
    come, as more than `MOST_WAITING` wait or the stream is decided again, it counts as right, which is safe.

    Parameters
    ----------
    share : float
        Of right labels, between 0 and 1.
    rate : float
        Share of the decisions whose label is asked for, about; between 0 and 1.

    Examples
    --------
    >>> asked = AskedLabels(0.8, rate=0.5)
    >>> for number in range(60):
    ...     if asked.wants(f"s{number}", confidence=0.9, chance=number % 10 / 10):
    ...         _ = asked.answered(f"s{number}", is_right=False)
    >>> asked.bets.wealth > 1 / 0.05
    True
    """

    def __init__(self, share: float, rate: float) -> None:
        for name, value in (("share", share), ("rate", rate)):
            if not 0 < value < 1:
                raise ValueError(f"{name} is {value}, expected more than 0 and less than 1")
        self.bets = Bets(len(STAKES))
        self.n = self.n_right = 0
        self.news: list[tuple[str, bool]] = []
        """Streams whose label is wanted now, or no longer is."""
        self._wrong, self._rate = 1 - share, rate
        self._most_below = 1 / rate - 1  # how far below 0 a decision may count
        self._stakes = [stake / (self._wrong + self._most_below) for stake in STAKES]
        self._queue: deque[_Drawn] = deque()
        self._waiting: set[str] = set()
        self._shown = Recalibrated()  # by the labels
        self._spread = [0.3, 10.0]  # mean standard deviation of what is expected, and its weight
        self._sum, self._n_decisions = 0.0, 0

    @property
    def waiting(self) -> tuple[str, ...]:
        """Streams whose label is wanted, the one wanted for longest first."""
        return tuple(each.stream for each in self._queue if each.state == _ASKED)

    @property
    def accuracy(self) -> float | None:
        """Estimate of the share of right decisions; None before the first."""
        return 1 - self._sum / self._n_decisions if self._n_decisions else None

    def wants(self, stream: str, confidence: float, chance: float) -> bool:
        """Take a decision, and return whether its label is wanted; `chance` is drawn evenly from 0 to 1."""
        self.give_up(stream)
        wrong = self._shown.wrong(confidence)
        spread, (mean, weight) = sqrt(wrong * (1 - wrong)), self._spread
        least = max(_FLOOR * self._rate, wrong / (wrong + self._most_below))
        probability = min(max(least, self._rate * spread / mean), 1.0)
        self._spread = [mean + (spread - mean) / (weight + 1), weight + 1]
        is_wanted = bool(chance < probability)
        self._queue.append(_Drawn(stream, confidence, wrong, probability, _ASKED if is_wanted else _UNASKED))
        if is_wanted:
            self._waiting.add(stream)
            self.news.append((stream, True))
        if len(self._queue) > MOST_WAITING:
            self.give_up(self._queue[0].stream)
        self._take()
        return is_wanted

    def answered(self, stream: str, is_right: bool) -> bool:
        """Take the label of a stream's last decision; return whether it was wanted."""
        if stream not in self._waiting:
            return False
        self.n, self.n_right = self.n + 1, self.n_right + is_right
        self._settle(stream, _RIGHT if is_right else _WRONG)
        return True

    def give_up(self, stream: str) -> None:
        """Wait no longer for the label of a stream."""
        if stream in self._waiting:
            self._settle(stream, _RIGHT)

    def to_state(self) -> dict[str, Any]:
        """Copy what was seen as plain JSON."""
        return {
            "n": self.n,
            "right": self.n_right,
            "bets": self.bets.to_state(),
            "queue": [list(each) for each in self._queue],
            "shown": self._shown.to_state(),
            "spread": list(self._spread),
            "sum": self._sum,
            "decisions": self._n_decisions,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `to_state` has copied."""
        self.n, self.n_right = state["n"], state["right"]
        self.bets.restore(state["bets"])
        self._queue = deque(_Drawn(*each) for each in state["queue"])
        self._waiting = set(self.waiting)
        self._shown.restore(state["shown"])
        self._spread = list(state["spread"])
        self._sum, self._n_decisions = state["sum"], state["decisions"]

    def _settle(self, stream: str, state: int) -> None:
        self._waiting.discard(stream)
        self.news.append((stream, False))
        place = next(i for i, each in enumerate(self._queue) if each.stream == stream and each.state == _ASKED)
        self._queue[place] = self._queue[place]._replace(state=state)
        self._take()

    def _take(self) -> None:
        """Bet on the decisions that wait for none before them."""
        while self._queue and self._queue[0].state != _ASKED:
            each = self._queue.popleft()
            counted = each.wrong
            if each.state != _UNASKED:
                is_wrong = each.state == _WRONG
                counted += (is_wrong - each.wrong) / each.probability
                self._shown.add(each.confidence, not is_wrong)
            self.bets.add([1.0 + stake * (counted - self._wrong) for stake in self._stakes])
            self._sum += counted
            self._n_decisions += 1


def waiting_in(state: Mapping[str, Any]) -> list[str]:
    """Return the streams whose label is wanted in what `AskedLabels.to_state` has copied."""
    return [each.stream for each in (_Drawn(*fields) for fields in state["queue"]) if each.state == _ASKED]
