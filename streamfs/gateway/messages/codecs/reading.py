"""What a payload holds once it is read."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array


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


class Series(NamedTuple):
    """Samples of one channel, evenly apart, that a node reports in one message.

    Parameters
    ----------
    start : float
        Time of the first, in seconds.
    step : float
        Seconds from one to the next, more than 0.
    kind : dtype
        Of the samples.
    data : bytes
        The samples, end to end, in the column's unit; at least one. One that is not finite is missing.
    sequence : int or None
        Number of the message on its channel; None if the node does not count.
    """

    start: float
    step: float
    kind: np.dtype[Any]
    data: bytes
    sequence: int | None

    def arrays(self) -> tuple[Array, Array]:
        """Times and values, both of shape (n_samples,); NaN where a sample is missing."""
        values = known(unpacked(self.kind, [self.data]))
        return self.start + self.step * np.arange(len(values), dtype=np.float64), values


class TimedSeries(NamedTuple):
    """Samples of one channel, each with its time, that a node reports in one message.

    Parameters
    ----------
    times : array of shape (n_samples,)
        Seconds, finite, in the order of the message, which need not rise; at least one.
    values : array of shape (n_samples,)
        In the column's unit; one that is not finite is missing.
    sequence : int or None
        Number of the message on its channel; None if the node does not count.
    """

    times: Array
    values: Array
    sequence: int | None

    def arrays(self) -> tuple[Array, Array]:
        """Times and values, both of shape (n_samples,); NaN where a sample is missing."""
        return self.times, known(self.values)


Reported = Reading | Series | TimedSeries
"""What a message reports on one channel."""


class Several(NamedTuple):
    """What a message reports on channels that it names itself.

    Parameters
    ----------
    parts : tuple of (str, Reported)
        Channels and what they report; none if the message holds nothing that is wanted.
    spreading_factor : int or None
        Of the LoRa frame that brought the message, which is what its energy depends on; None if there was none.
    """

    parts: tuple[tuple[str, Reported], ...]
    spreading_factor: int | None = None


class Codec(Protocol):
    """What reads the payloads of one format."""

    def decode(self, payload: bytes, arrival: float, content_type: str = "") -> Reported | Several:
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
        Reported or Several
            Times are finite, single values too.

        Raises
        ------
        PayloadError
            If it cannot be read, naming the part that offends.
        """


def unpacked(kind: np.dtype[Any], pieces: Iterable[bytes]) -> Array:
    """Samples of a kind as an array, end to end."""
    packed: npt.NDArray[Any] = np.frombuffer(b"".join(pieces), kind)
    with np.errstate(invalid="ignore"):  # a NaN that signals is missing like any other
        return packed.astype(np.float64, copy=False)


def known(values: Array) -> Array:
    """Put NaN in the place of what is not finite."""
    return np.where(np.isfinite(values), values, np.nan)
