"""The ways to put features in order, by name; each is made of what training knows."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy.typing as npt

from streamfs.costs import Costs
from streamfs.relief import PrefixRelief, StreamRelief
from streamfs.streams import Integers
from streamfs.tables import FeatureTable


class Selector(Protocol):
    """What training asks of a selector."""

    ranking_: Integers
    """Indices of the features, best first."""

    def fit(self, table: FeatureTable) -> Any:
        """Learn the order."""


MakeSelector = Callable[..., Selector]
"""Called with the costs and the keywords `confidence`, `horizon`, `positions` and `random_state`."""


def prefix_relief(
    _costs: Costs, *, horizon: int, positions: npt.ArrayLike, random_state: int, **_unused: object
) -> PrefixRelief:
    """Make Relief for data streams, which knows neither costs nor confidence."""
    return PrefixRelief(longest=horizon, positions=positions, random_state=random_state)


SELECTORS: dict[str, MakeSelector] = {
    "streamrelief": StreamRelief,
    "literal": StreamRelief.literal,
    "relief": prefix_relief,
}
"""StreamRelief, the same to the letter of the paper, and Relief for data streams."""
