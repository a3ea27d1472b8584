"""What a payload holds once it is read."""

from typing import NamedTuple, Protocol

import numpy as np

from feature_extractors.base import Array
from streamfs.gateway.codecs.samples import Even, Samples, flat

MAX_SAMPLES = 100_000
"""Samples that one payload may hold."""


class Reading(NamedTuple):
    """What a node reports in one message.

    Parameters
    ----------
    time : float or None
        Seconds; None if the node has no clock.
    value : float
        In the column's unit; 0 or 1 for a flag.
    sequence : int or None
        Number of the message on its channel; None if the node does not count.
    """

    time: float | None
    value: float
    sequence: int | None


class Batch(NamedTuple):
    """Samples of one channel that a node reports in one message.

    Parameters
    ----------
    times : Even, or array of shape (n_samples,)
        Seconds, finite, in the order of the message; those of an array need not rise.
    values : Samples
        In the column's unit; at least one.
    sequence : int or None
        Number of the message on its channel; None if the node does not count.
    """

    times: Even | Array
    values: Samples
    sequence: int | None

    def arrays(self) -> tuple[Array, Array]:
        """Times and values, both of shape (n_samples,); NaN where a sample is missing."""
        values = flat([self.values])
        values = np.where(np.isfinite(values), values, np.nan)
        return self.times.times(len(values)) if isinstance(self.times, Even) else self.times, values


class Several(NamedTuple):
    """What a message reports on channels that it names itself.

    Parameters
    ----------
    parts : tuple of (str, Reading or Batch)
        Channels and what they report; none if the message holds nothing that is wanted.
    spreading_factor : int or None
        Of the LoRa frame that brought the message, which is what its energy depends on; None if there was none.
    """

    parts: tuple[tuple[str, Reading | Batch], ...]
    spreading_factor: int | None = None


class Codec(Protocol):
    """What reads the payloads of one format."""

    def decode(self, payload: bytes, arrival: float, content_type: str = "") -> Reading | Batch | Several:
        """Read a payload.

        Parameters
        ----------
        payload : bytes
            As received.
        arrival : float
            Seconds since 1970 at which it arrived, for formats whose times are relative to it.
        content_type : str
            MQTT content type of the message, empty if it has none.

        Returns
        -------
        Reading or Batch or Several
            Times are finite, single values too.

        Raises
        ------
        PayloadError
            If it cannot be read, naming the part that offends.
        """
