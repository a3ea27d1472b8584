"""Streams as a gateway sees them: through report policies, from their first complete tick on, for some ticks."""

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np

from feature_extractors.arrays import Array
from feature_extractors.report import Policy, split_opening
from streamfs.data.ends import first_complete
from streamfs.data.labelled_streams import LabelledStreams
from streamfs.data.views import views


class ViewedStreams(LabelledStreams):
    """How a `StreamSet` looks to a gateway."""

    def seen_through(self, channels: Sequence[str], max_silence: float | None = None) -> Self:
        """Return the streams as a gateway sees them: each channel is a column under its report policy.

        Parameters
        ----------
        channels : sequence of str
            Columns, each optionally with a report policy after ``@``, and, after ``@from:``, with the tick of the
            episode from which it is asked for.
        max_silence : float, optional
            Seconds after which a channel that sends on change repeats its value, and after which a value is no
            longer held; by default, values are held indefinitely.

        Returns
        -------
        StreamSet
            With the channels as columns, on the same ticks. A column that is named as a channel, with its policy,
            is taken as it is: it is what a gateway has seen.

        Raises
        ------
        DataError
            If the streams have no column of a channel.
        ValueError
            If `max_silence` is shorter than a tick.

        Examples
        --------
        >>> from streamfs import StreamSet
        >>> streams = StreamSet([[[20.0], [20.1], [20.9]]], ["a"], ["t"])
        >>> streams.seen_through(["t@delta:0.5"]).values.ravel().tolist()
        [20.0, 20.0, 20.9]
        """
        seen = np.empty((len(self), self.n_ticks, len(channels)))
        for index, view in enumerate(views(self, Policy.seen, channels, max_silence)):
            seen[:, :, index] = view
        return self._with(seen, self.lengths, channels)

    def sent_through(self, channels: Sequence[str], max_silence: float | None = None) -> Iterator[Array]:
        """Yield what nodes send of each channel at each tick, shape (n_streams, n_ticks); NaN if nothing.

        Parameters and errors are those of `seen_through`.

        Examples
        --------
        >>> from streamfs import StreamSet
        >>> streams = StreamSet([[[20.0, 1.0], [20.1, 2.0], [20.9, 3.0]]], ["a"], ["t", "u"])
        >>> [sent.ravel().tolist() for sent in streams.sent_through(["t@delta:0.5", "u@from:3"])]
        [[20.0, nan, 20.9], [nan, nan, 3.0]]
        """
        return views(self, Policy.sent, channels, max_silence)

    def episodes(self) -> Self:
        """Return each stream from its first complete tick on, at which its episode opens.

        A stream without a complete tick has no ticks. Channels that open later may lack in a complete one.

        Examples
        --------
        >>> from streamfs import StreamSet
        >>> streams = StreamSet([[[float("nan")], [3.0], [4.0]]], ["a"], ["t"]).episodes()
        >>> streams.values.ravel().tolist(), streams.lengths.tolist()
        ([3.0, 4.0, nan], [2])
        """
        needed = [split_opening(channel)[1] == 1 for channel in self.columns]
        if not np.isnan(self.values[:, :1, needed]).any():
            return self  # all open at their first tick
        ticks, first = np.arange(self.n_ticks), first_complete(self.values[:, :, needed], self.lengths)
        shifted = np.minimum(ticks + first[:, np.newaxis], max(self.n_ticks - 1, 0))
        moved = np.take_along_axis(self.values, shifted[:, :, np.newaxis], axis=1)
        return self._with(moved, self.lengths - first)

    def until(self, n_ticks: int) -> Self:
        """Return the first ticks of each stream, at most `n_ticks` of them."""
        if n_ticks >= self.n_ticks:
            return self
        return self._with(self.values[:, :n_ticks].copy(), np.minimum(self.lengths, n_ticks))

    def lasting(self) -> Self:
        """Return the same streams, each of which lasts as long as the longest; what has ended is silent.

        A gateway does not know that a stream has ended: it waits for its nodes until the time limit, and labels
        what it has received, with features that keep their last values. Otherwise a stream that ends before it is
        decided is taken to be closed there, without a label.

        Examples
        --------
        >>> from streamfs import StreamSet
        >>> streams = StreamSet([[[3.0], [4.0]], [[5.0], [6.0]]], ["a", "b"], ["t"], lengths=[1, 2]).lasting()
        >>> streams.lengths.tolist(), streams.values.ravel().tolist()
        ([2, 2], [3.0, nan, 5.0, 6.0])
        """
        return self._with(self.values.copy(), np.full(len(self), self.n_ticks))
