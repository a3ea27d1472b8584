"""The features that are searched."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

from feature_extractors.base import Feature
from streamfs.data.clock import CLOCK
from streamfs.data.streams import StreamSet
from streamfs.errors import TrainingError
from streamfs.training.promises.channel_groups import FEW, ChannelGroups
from streamfs.training.promises.policies import bare_name, with_policies

Propose = Callable[[Sequence[Feature]], list[int]]
"""From features to the indices of those to search."""


class Candidates(NamedTuple):
    """Features to search, as indices of `features`.

    `free` features read no column and are in every subset; `proposed` ones are searched, and the others are their
    variants over other channels. The search runs over each of the `groupings` in turn. `offers` are sets of
    features that read a column, with their variants, also of such as are not searched.
    """

    features: tuple[Feature, ...]
    free: tuple[int, ...]
    proposed: tuple[int, ...]
    groupings: tuple[ChannelGroups, ...]
    offers: tuple[tuple[Feature, ...], ...]

    @property
    def plain(self) -> tuple[tuple[int, ...], ...]:
        """All proposed features, and the same over the columns as they were recorded; each set that there is."""
        bare = {bare_name(self.features[place]) for place in self.proposed}
        recorded = tuple(place for place, feature in enumerate(self.features) if feature.name in bare)
        return tuple(dict.fromkeys(filter(None, (tuple(sorted(self.proposed)), recorded))))

    @classmethod
    def among(
        cls,
        streams: StreamSet,
        offered: Sequence[Feature],
        propose: Propose | None,
        *,
        vary: bool,
        shared: bool = False,
        beside: Sequence[Feature] = (),
    ) -> Self:
        """Take the clock, the proposed ones of the features offered, and their variants.

        With `vary` the same features over other channels are candidates. If features share the cost of their
        channels, those of the same channels are added together, and if they are few, also one by one; otherwise
        only one by one.
        """
        everything = list(dict.fromkeys([CLOCK, *offered]))
        free = [feature for feature in everything if not feature.columns]
        paid = tuple(feature for feature in everything if feature.columns)
        n_offered = len(paid)
        paid, variants = with_policies(streams, paid, widen=vary)
        proposed = range(n_offered) if propose is None else propose(paid)
        if not len(proposed):
            names = ", ".join(feature.name for feature in offered)
            raise TrainingError(f"none of {names} is left to search, expected a feature that reads a column")
        kept = list(dict.fromkeys([*proposed, *(v for place in proposed for v in variants.get(place, ()))]))
        place = {old: len(free) + new for new, old in enumerate(kept)}
        features, searched = (*free, *(paid[old] for old in kept)), tuple(place[old] for old in proposed)
        alike = {place[old]: [place[v] for v in variants.get(old, ()) if v in place] for old in kept}
        groupings = [ChannelGroups.by_channels(features, searched)] if shared else []
        if not shared or len(searched) <= FEW:
            groupings.append(ChannelGroups.single(searched, alike))
        further = (with_policies(streams, beside, widen=vary)[0],) if beside else ()
        return cls(features, tuple(range(len(free))), searched, tuple(groupings), (paid, *further))
