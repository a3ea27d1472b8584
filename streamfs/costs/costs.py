"""Costs of features: equations 1 and 4 of StreamRelief, and costs estimated from recorded streams."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from feature_extractors.base import Feature, channels_of
from feature_extractors.catalogue import get
from feature_extractors.report import CROSSINGS, quantity_of, split_channel
from feature_extractors.spelling import nearest
from streamfs.costs.energy import Profile
from streamfs.errors import DataError

if TYPE_CHECKING:
    from streamfs.data.streams import StreamSet

MESSAGE_BYTES = 40
"""Default payload of a message."""


@dataclass(frozen=True, eq=False)
class Costs:
    """Each-time and one-time costs of features, with the user's weights of the two.

    Parameters
    ----------
    each : array_like of shape (n_features,)
        C_each: cost per tick, in joules or in transmissions.
    once : array_like of shape (n_features,), optional
        C_int: cost of setting up the feature, in the same unit; by default 0.
    a, b : float
        Weights of the each-time and the one-time costs in equations 1 and 4.

    Raises
    ------
    ValueError
        If a cost or a weight is negative or not finite, or the shapes differ.

    References
    ----------
    Gao and Wang, Feature Selection for Building Cost-Effective Data Stream Classifiers, ICDM 2005.

    Examples
    --------
    >>> costs = Costs([1.0, 0.2], [0.0, 3.0], a=1.0, b=0.5)
    >>> costs.classification(10)
    13.5
    """

    each: Array
    once: Array = field(default_factory=lambda: np.zeros(0))
    a: float = 1.0
    b: float = 1.0

    def __init__(
        self, each: npt.ArrayLike, once: npt.ArrayLike | None = None, a: float = 1.0, b: float = 1.0
    ) -> None:
        each = np.array(each, dtype=np.float64)
        once = np.zeros(each.shape) if once is None else np.array(once, dtype=np.float64)
        if each.ndim != 1 or once.shape != each.shape:
            raise ValueError(f"costs have shapes {each.shape} and {once.shape}, expected (n_features,) twice")
        for name, value in (("each", each), ("once", once), ("a", np.array(a)), ("b", np.array(b))):
            wrong = value[~((value >= 0) & np.isfinite(value))]
            if wrong.size:
                raise ValueError(f"{name} has the value {wrong.flat[0]:g}, expected a finite number not below 0")
        for name, number in (("each", each), ("once", once), ("a", float(a)), ("b", float(b))):
            object.__setattr__(self, name, number)

    def __len__(self) -> int:
        return len(self.each)

    def take(self, indices: npt.ArrayLike) -> "Costs":
        """Return the costs of some of the features."""
        index = np.asarray(indices, dtype=np.intp)
        return Costs(self.each[index], self.once[index], self.a, self.b)

    def classification(self, ticks: float) -> float:
        """Return the cost of a classification after t ticks: ``a t sum C_each + b sum C_int`` (equation 1)."""
        return float(self.a * ticks * self.each.sum() + self.b * self.once.sum())

    def score(self, expected_each: Array) -> Array:
        """Return each feature's expected cost: ``a C_F + b C_int`` (equation 4), shape (n_features,)."""
        return self.a * np.asarray(expected_each) + self.b * self.once

    @classmethod
    def estimate(
        cls,
        streams: "StreamSet",
        features: Sequence[Feature],
        profile: Profile,
        *,
        message_bytes: int = MESSAGE_BYTES,
        max_silence: float | None = None,
        prices: Mapping[str, float] | None = None,
        shared: bool = False,
        a: float = 1.0,
        b: float = 1.0,
    ) -> "Costs":
        """Estimate each feature's cost per tick as the mean cost of its channels' messages on recorded streams.

        Parameters
        ----------
        streams : StreamSet
            The recorded streams.
        features : sequence of Feature
            The features; one that reads no column is free, and one that reads a channel twice pays for it once.
        profile : Profile
            The nodes' radio.
        message_bytes : int
            Payload of a message, in bytes.
        max_silence : float, optional
            Seconds after which a channel that sends on change repeats its value; by default never.
        prices : mapping of str to float, optional
            Price of a message by quantity (``light`` of ``a.light``), as a multiple of the radio's cost, to
            account for the sensor's energy; 1 if a quantity is not named.
        shared : bool
            Whether the features that read a channel share its cost equally; if not, each pays all of it, as if it
            were the only one.
        a, b : float
            Weights of equations 1 and 4.

        Returns
        -------
        Costs
            One-time costs are zero.

        Raises
        ------
        DataError
            If the streams have no column of a channel, or no column of a quantity that has a price.
        ValueError
            If a price is negative or not finite.
        """
        check_prices(streams, prices)
        joules = profile.message_joules(message_bytes)
        sent = streams.sent_through(channels_of(features), max_silence)
        rate = {
            channel: joules * _messages_a_tick(streams, channel, messages, prices)
            for channel, messages in zip(channels_of(features), sent, strict=True)
        }
        n_readers = Counter(c for f in features for c in dict.fromkeys(f.columns)) if shared else Counter()
        each = [sum(rate[c] / max(n_readers[c], 1) for c in dict.fromkeys(f.columns)) for f in features]
        return cls(each, a=a, b=b)


def price_of(column: str, prices: Mapping[str, float] | None) -> float:
    """Return the price of a message of a column, as a multiple of its energy: that of its quantity, or 1.

    Of a column that a node computes it is that of the dearest quantity which it reads.
    """
    if not prices:
        return 1.0
    return max(prices.get(quantity_of(read), 1.0) for read in _read_by(column))


def _read_by(column: str) -> list[str]:
    """Return the columns of which a node computes a column; itself if it is a reading."""
    counted, mark, computed = column.partition(f"{CROSSINGS}(")
    try:
        read = get(computed.removesuffix(")") if mark and not counted else column).columns
    except ValueError:
        return [column]
    return [split_channel(channel)[0] for channel in read] or [column]


def _messages_a_tick(streams: "StreamSet", channel: str, sent: Array, prices: Mapping[str, float] | None) -> float:
    """Return the mean price per tick of the streams of what is sent of a channel."""
    column, _ = split_channel(channel)
    n_sent = np.count_nonzero(~np.isnan(sent))
    return price_of(column, prices) * n_sent / max(1, int(streams.lengths.sum()))


def check_prices(streams: "StreamSet", prices: Mapping[str, float] | None) -> None:
    """Refuse what is no mapping (TypeError) or no price (ValueError), and an unknown quantity (DataError)."""
    known = {quantity_of(column) for column in streams.columns}
    if prices is not None and not isinstance(prices, Mapping):
        raise TypeError(f"prices is {prices!r}, expected prices of quantities: {{'light': 10}}")
    for quantity, price in ({} if prices is None else prices).items():
        if quantity not in known:
            expected = f"expected one of {', '.join(sorted(known))}{nearest(str(quantity), known)}"
            raise DataError(f"there is a price of {quantity!r}, {expected}")
        if not isinstance(price, Real) or not 0 <= float(price) < float("inf"):
            raise ValueError(f"price of {quantity} is {price!r}, expected a finite number not below 0")
