"""How features are charged: for messages and waiting, by radio profile and prices, or by given costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

import numpy as np

from feature_extractors.base import Feature, channels_of
from streamfs.costs.costs import Costs, check_prices
from streamfs.costs.energy import Profile
from streamfs.costs.radio_profiles import profile
from streamfs.costs.rates import AWAKE, Rates
from streamfs.costs.spending import FeatureSpending, MessageSpending, Spending
from streamfs.data.streams import Integers, StreamSet


@dataclass(frozen=True)
class Pricing:
    """How to charge for features: messages and waiting by radio and quantity, or given costs.

    Parameters
    ----------
    profile : Profile or str
        The nodes' radio, or its name.
    prices : mapping of str to float, optional
        Price of a message by quantity, as a multiple of the radio's cost.
    max_silence : float, optional
        Seconds after which a channel that sends on change repeats its value, and after which a value expires; by
        default never.
    a, b : float
        Weights of each-time and one-time costs (equations 1 and 4).
    own : mapping of str to (each, once), optional
        Each-time and one-time costs by a feature's name, charged instead of messages. A feature that is not
        named is free.
    awake : float
        Seconds for which a radio is awake at each tick until a decision, besides its messages. Waiting costs
        nothing if the profile counts messages.

    Raises
    ------
    ValueError
        If there is no profile of that name, or `awake` is negative or not finite.

    Examples
    --------
    >>> Pricing("cc2420", prices={"light": 10.0}).radio.unit
    'joules'
    """

    profile: Profile | str = "transmissions"
    prices: Mapping[str, float] | None = None
    max_silence: float | None = None
    a: float = 1.0
    b: float = 1.0
    own: Mapping[str, tuple[float, float]] | None = None
    awake: float = field(default=AWAKE, repr=False)

    def __post_init__(self) -> None:
        if not (isfinite(self.awake) and self.awake >= 0):
            raise ValueError(f"awake is {self.awake}, expected seconds, at least 0")
        object.__setattr__(self, "profile", self.radio)

    @property
    def radio(self) -> Profile:
        """The profile."""
        return profile(self.profile) if isinstance(self.profile, str) else self.profile

    def rates(self, period: float) -> Rates:
        """Return what nodes pay, given the seconds of a tick."""
        return Rates.of(self.radio, period, self.awake).times(self.a)

    def costs(self, streams: StreamSet, features: Sequence[Feature], *, shared: bool = False) -> Costs:
        """Return the costs of features for equation 1; features that read a channel may share its cost."""
        if self.own is not None:
            pairs = np.array([self.own.get(feature.name, (0.0, 0.0)) for feature in features])
            return Costs(pairs[:, 0], pairs[:, 1], self.a, self.b)
        return Costs.estimate(
            streams,
            features,
            self.radio,
            max_silence=self.max_silence,
            prices=self.prices,
            shared=shared,
            a=self.a,
            b=self.b,
        )

    def spending(self, streams: StreamSet, features: Sequence[Feature], lengths: Integers) -> Spending:
        """Return what streams with episodes of these lengths have cost by each tick: what is paid."""
        if self.own is not None:
            return FeatureSpending(features, self.costs(streams, features), lengths, streams.n_ticks)
        check_prices(streams, self.prices)
        rates, channels = self.rates(streams.period), channels_of(features)
        return MessageSpending(streams, channels, lengths, rates, self.max_silence, self.prices)


def own_costs(features: Sequence[Feature], costs: Costs | None) -> dict[str, tuple[float, float]] | None:
    """Return each-time and one-time costs by feature name, as `Pricing` takes them."""
    if costs is None:
        return None
    pairs = zip(costs.each.tolist(), costs.once.tolist(), strict=True)
    return {feature.name: pair for feature, pair in zip(features, pairs, strict=True)}
