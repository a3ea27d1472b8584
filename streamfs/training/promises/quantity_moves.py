"""Moves of a search by quantity: all its channels change their report policy together, or are not read at all."""

from collections.abc import Iterator, Sequence

from feature_extractors.base import Feature
from feature_extractors.report import quantity_of, split_channel
from streamfs.training.promises.policies import quantities_of
from streamfs.training.promises.subset_score import Subset

Channels = frozenset[str]


class QuantityMoves:
    """Moves between subsets of features, of which those that read no column are never in one.

    A subset that has moved reads all that can be read of the quantity over its new channels, and over the channels
    of the others.
    """

    def __init__(self, features: Sequence[Feature]) -> None:
        self._quantities = [quantities_of(feature) for feature in features]
        self._channels = [frozenset(feature.columns) for feature in features]
        self._policies: dict[str, dict[str, Channels]] = {}
        for channel in dict.fromkeys(channel for feature in features for channel in feature.columns):
            column, policy = split_channel(channel)
            alike = self._policies.setdefault(quantity_of(column), {})
            alike[policy.name] = alike.get(policy.name, frozenset()) | {channel}

    @property
    def quantities(self) -> tuple[str, ...]:
        """The quantities that some feature reads."""
        return tuple(self._policies)

    def of(self, subset: Subset, quantity: str) -> Iterator[Subset]:
        """Yield the subset without a quantity, and with it over the channels of each policy."""
        others = tuple(place for place in subset if quantity not in self._quantities[place])
        if others:
            yield others
        known = frozenset().union(*(self._channels[place] for place in others))
        for channels in self._policies[quantity].values():
            readable = known | channels
            yield tuple(sorted((*others, *self._reading(quantity, readable))))

    def _reading(self, quantity: str, channels: Channels) -> Iterator[int]:
        """Yield the places of the features that read a quantity, and some of the channels alone."""
        for place, read in enumerate(self._channels):
            if quantity in self._quantities[place] and read <= channels:
                yield place
