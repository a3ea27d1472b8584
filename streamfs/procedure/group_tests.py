"""Tests of the accuracy in each group of streams, in a few bytes a group."""

from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Any

from streamfs.procedure.betting import STAKES, ShareTest

MOST_GROUPS = 10_000
"""Groups whose labels are tested apart; those of further groups count for all alone."""

_PACKED = Struct(f"<3i{len(STAKES)}d")


class GroupTests:
    """Tests of the hypothesis that at least a share of the labels in each group is right.

    Of the risk for all groups that will ever come, the k-th that is met has 1 / (k (k + 1)).

    Parameters
    ----------
    share, risk : float
        Between 0 and 1.

    Examples
    --------
    >>> tests = GroupTests(0.8, 0.05)
    >>> [tests.add(f"room{number % 2}", is_right=number % 2 == 0) for number in range(16)][-3:]
    [7, 0, 8]
    """

    def __init__(self, share: float, risk: float) -> None:
        self._risk = risk
        self._test = ShareTest(share)  # is any group's while a label of it is taken
        self._groups: dict[str, bytes] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, group: str, is_right: bool) -> int:
        """Take a label; return the number of the group's if they reject the hypothesis, or else 0."""
        if group not in self._groups:
            if len(self._groups) == MOST_GROUPS:
                return 0
            self._groups[group] = _PACKED.pack(len(self._groups) + 1, 0, 0, *[0.0] * len(STAKES))
        place, *state = _PACKED.unpack(self._groups[group])
        self._test.restore(state)
        self._test.add(is_right)
        self._groups[group] = _PACKED.pack(place, *self._test.to_state())
        return self._test.n if self._test.bets.wealth >= place * (place + 1) / self._risk else 0

    def to_state(self) -> dict[str, list[Any]]:
        """Copy what was seen as plain JSON."""
        return {group: list(_PACKED.unpack(packed)) for group, packed in self._groups.items()}

    def restore(self, state: Mapping[str, Sequence[Any]]) -> None:
        """Restore what `to_state` has copied."""
        self._groups = {group: _PACKED.pack(*kept) for group, kept in state.items()}
