"""Recorded columns through report policies: what nodes send of them, and what a gateway sees."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from feature_extractors.arrays import Array, Integers
from feature_extractors.report import Policy, from_ticks, silent_ticks, split_channel, split_opening
from streamfs.data.ends import first_complete

if TYPE_CHECKING:
    from streamfs.data.viewed_streams import ViewedStreams

View = Callable[..., Array]
"""`Policy.sent` or `Policy.seen`."""

AS_SEEN = {Policy.seen: Policy(), Policy.sent: Policy("delta", 0.0)}
"""Policies by which a column that a gateway has seen is viewed: it is sent where it changes."""


def views(
    streams: "ViewedStreams", view: View, channels: Sequence[str], max_silence: float | None
) -> Iterator[Array]:
    """Yield what policies make of columns, shape (n_streams, n_ticks); NaN before their channels open."""
    silence, begins = silent_ticks(max_silence, streams.period), None
    for channel in channels:
        if channel in streams.columns and "@" in channel:  # as a gateway saw it
            yield view(AS_SEEN[view], streams.column(channel), max_silence=silence)
            continue
        (column, policy), (_, opening) = split_channel(channel), split_opening(channel)
        viewed = partial(view, policy, max_silence=silence)
        if opening == 1:
            yield viewed(streams.column(column))
            continue
        begins = _begins(streams, channels, max_silence) if begins is None else begins
        yield from_ticks(viewed, streams.column(column), begins + opening - 1)


def _begins(streams: "ViewedStreams", channels: Sequence[str], max_silence: float | None) -> Integers:
    """Return the tick, from 0, at which each stream's episode opens; its length if it never does."""
    needed = [channel for channel in channels if split_opening(channel)[1] == 1]
    return first_complete(streams.seen_through(needed, max_silence).values, streams.lengths)
