"""The contents of decoded payloads."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array


class Reading(NamedTuple):
    """One value that a node reports.

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
    """Evenly spaced samples of one channel that a node reports in one message.

    Parameters
    ----------
    start : float
        Time of the first, in seconds.
    step : float
        Seconds from one to the next, more than 0.
    kind : dtype
        Type of the samples.
    data : bytes
        At least one packed sample, in the column's unit. One that is not finite is missing.
    sequence : int or None
        As in `Reading`.
    """

    start: float
    step: float
    kind: np.dtype[Any]
    data: bytes
    sequence: int | None

    def arrays(self) -> tuple[Array, Array]:
        """Return times and values, both of shape (n_samples,), with NaN for missing samples."""
        values = known(unpacked(self.kind, [self.data]))
        return self.start + self.step * np.arange(len(values), dtype=np.float64), values


class TimedSeries(NamedTuple):
    """Samples of one channel, each with its time, that a node reports in one message.

    Parameters
    ----------
    times : array of shape (n_samples,)
        Seconds, finite, in the order of the message, not necessarily ascending; at least one.
    values : array of shape (n_samples,)
        In the column's unit; one that is not finite is missing.
    sequence : int or None
        As in `Reading`.
    """

    times: Array
    values: Array
    sequence: int | None

    def arrays(self) -> tuple[Array, Array]:
        """Return times and values, both of shape (n_samples,), with NaN for missing samples."""
        return self.times, known(self.values)


Reported = Reading | Series | TimedSeries
"""What a message reports on one channel."""


class Several(NamedTuple):
    """What a message reports on channels that it names itself.

    Parameters
    ----------
    parts : tuple of (str, Reported)
        Channels and what is reported on each; empty if the message has no wanted channel.
    spreading_factor : int or None
        Of the LoRa frame that brought the message, which determines its energy; None without one.
    """

    parts: tuple[tuple[str, Reported], ...]
    spreading_factor: int | None = None


class Codec(Protocol):
    """A decoder of one payload format."""

    def decode(self, payload: bytes, arrival: float, content_type: str = "") -> Reported | Several:
        """Decode a payload.

        Parameters
        ----------
        payload : bytes
            As received.
        arrival : float
            Time of arrival, seconds since 1970, for formats with relative times.
        content_type : str
            MQTT content type, empty if the message has none.

        Returns
        -------
        Reported or Several
            Times are finite, and so are single values.

        Raises
        ------
        PayloadError
            If the payload cannot be decoded, naming the offending part.
        """


def unpacked(kind: np.dtype[Any], pieces: Iterable[bytes]) -> Array:
    """Return packed samples of one type as an array."""
    packed: npt.NDArray[Any] = np.frombuffer(b"".join(pieces), kind)
    with np.errstate(invalid="ignore"):  # a NaN that signals is missing like any other
        return packed.astype(np.float64, copy=False)


def known(values: Array) -> Array:
    """Replace values that are not finite by NaN."""
    return np.where(np.isfinite(values), values, np.nan)
