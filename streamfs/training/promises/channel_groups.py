"""Groups of features that a search adds together: once channels are paid for, all else that reads them is free."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from feature_extractors.base import Feature
from feature_extractors.report import split_channel

FEW = 10
"""Most features that are searched one by one, or backward from all of them, or exhaustively."""

ChannelGroup = tuple[int, ...]
"""Indices of features, rising."""


class ChannelGroups(NamedTuple):
    """Groups that a search adds, drops and exchanges for variants: the same features over other channels."""

    proposed: tuple[ChannelGroup, ...]
    variants: Mapping[ChannelGroup, tuple[ChannelGroup, ...]]

    @classmethod
    def single(cls, proposed: Sequence[int], variants: Mapping[int, Sequence[int]]) -> "ChannelGroups":
        """Put each feature in its own group."""
        others: dict[ChannelGroup, tuple[ChannelGroup, ...]] = {
            (place,): tuple((other,) for other in alike) for place, alike in variants.items()
        }
        return cls(tuple((place,) for place in proposed), others)

    @classmethod
    def by_channels(cls, features: Sequence[Feature], proposed: Sequence[int]) -> "ChannelGroups":
        """Group all features that can be read once the channels of one of them are paid for.

        The group of each proposed feature is proposed, but only one per set of columns; features without a
        channel are not in any group.
        """
        channels = [frozenset(feature.columns) for feature in features]
        readable = {
            paid: tuple(place for place, read in enumerate(channels) if read and read <= paid)
            for paid in dict.fromkeys(channels)
            if paid
        }
        families: dict[frozenset[str], list[ChannelGroup]] = {}
        for paid, group in readable.items():
            families.setdefault(_columns(paid), []).append(group)
        first = {_columns(channels[place]): readable[channels[place]] for place in reversed(proposed)}
        kept = dict.fromkeys(first[_columns(channels[place])] for place in proposed)
        variants = {
            group: tuple(other for other in family if other != group)
            for family in families.values()
            for group in family
        }
        return cls(tuple(kept), variants)


def _columns(channels: frozenset[str]) -> frozenset[str]:
    return frozenset(split_channel(channel)[0] for channel in channels)
