"""Features that go in together: where channels are paid for, what else can be read of them costs nothing."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from feature_extractors.base import Feature
from feature_extractors.report import split_channel

FEW = 10
"""Features that may be searched one by one, from all of which a search may go back, and that may be exhausted."""

Bundle = tuple[int, ...]
"""Places of features, rising."""


class Bundles(NamedTuple):
    """What a search puts in, takes out and exchanges.

    Parameters
    ----------
    proposed : tuple of Bundle
        Those that are put in.
    variants : mapping of Bundle to tuple of Bundle
        For which of them others may stand: the same over other channels.
    """

    proposed: tuple[Bundle, ...]
    variants: Mapping[Bundle, tuple[Bundle, ...]]

    @classmethod
    def single(cls, proposed: Sequence[int], variants: Mapping[int, Sequence[int]]) -> "Bundles":
        """Each feature on its own."""
        others: dict[Bundle, tuple[Bundle, ...]] = {
            (place,): tuple((other,) for other in alike) for place, alike in variants.items()
        }
        return cls(tuple((place,) for place in proposed), others)

    @classmethod
    def by_channels(cls, features: Sequence[Feature], proposed: Sequence[int]) -> "Bundles":
        """All features together that the channels of one of them allow to read.

        Parameters
        ----------
        features : sequence of Feature
            All; those of no channel are in no bundle.
        proposed : sequence of int
            Places of features: the bundle of each is proposed, but none of the same columns twice.

        Examples
        --------
        >>> import feature_extractors as fx
        >>> names = ["count()", "mean(t)", "max(t)", "mean(t@delta:1)", "correlation(t, u)", "mean(u)"]
        >>> found = Bundles.by_channels([fx.get(name) for name in names], [1, 3, 4])
        >>> found.proposed
        ((1, 2), (1, 2, 4, 5))
        >>> found.variants[(1, 2)]
        ((3,),)
        """
        channels = [frozenset(feature.columns) for feature in features]
        readable = {
            paid: tuple(place for place, read in enumerate(channels) if read and read <= paid)
            for paid in dict.fromkeys(channels)
            if paid
        }
        families: dict[frozenset[str], list[Bundle]] = {}
        for paid, bundle in readable.items():
            families.setdefault(_columns(paid), []).append(bundle)
        first = {_columns(channels[place]): readable[channels[place]] for place in reversed(proposed)}
        kept = dict.fromkeys(first[_columns(channels[place])] for place in proposed)
        variants = {
            bundle: tuple(other for other in family if other != bundle)
            for family in families.values()
            for bundle in family
        }
        return cls(tuple(kept), variants)


def _columns(channels: frozenset[str]) -> frozenset[str]:
    return frozenset(split_channel(channel)[0] for channel in channels)
