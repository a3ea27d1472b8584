"""How features are charged: for messages and waiting, by radio profile and prices, or by given costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from numbers import Real

import numpy as np

from feature_extractors.arrays import Integers
from feature_extractors.base import Feature, channels_of
from feature_extractors.report import SENDS
from streamfs.costs.costs import Costs, check_prices
from streamfs.costs.energy import Profile
from streamfs.costs.radio_profiles import profile
from streamfs.costs.rates import AWAKE, Rates
from streamfs.costs.spending import FeatureSpending, Levels, MessageSpending, Spending
from streamfs.costs.split_spending import SplitSpending
from streamfs.data.feature_table import FeatureTable, tabulate
from streamfs.data.streams import StreamSet


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
    sends : {"crossings", "values"}, optional
        What nodes send that compute the features, as of `streamfs.procedure.split.split`: each new value of a
        feature, or that it has crossed a threshold of the classifier. By default they send readings.

    Raises
    ------
    ValueError
        If there is no profile of that name, `awake` is negative or not finite, or `sends` is another word or
        stands beside costs of your own.
    TypeError
        If the profile is neither a `Profile` nor a name, or a weight or `max_silence` is not a number.

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
    sends: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not (isfinite(self.awake) and self.awake >= 0):
            raise ValueError(f"awake is {self.awake}, expected seconds, at least 0")
        if self.sends is not None and (self.sends not in SENDS or self.own is not None):
            beside = " besides costs of your own" if self.own is not None else f", expected {' or '.join(SENDS)}"
            raise ValueError(f"sends is {self.sends!r}{beside}")
        if not isinstance(self.profile, str | Profile):
            raise TypeError(f"profile is {self.profile!r}, expected a radio's name or a Profile")
        for name, number in (("a", self.a), ("b", self.b), ("max_silence", self.max_silence)):
            if not isinstance(number, Real) and not (number is None and name == "max_silence"):
                raise TypeError(f"{name} is {number!r}, expected a number")
        object.__setattr__(self, "profile", self.radio)

    @property
    def shares_channels(self) -> bool:
        """Whether features that read a channel share its cost."""
        return self.own is None and self.sends is None

    @property
    def radio(self) -> Profile:
        """The profile."""
        return profile(self.profile) if isinstance(self.profile, str) else self.profile

    def rates(self, period: float) -> Rates:
        """Return what nodes pay, given the seconds of a tick."""
        return Rates.of(self.radio, period, self.awake).times(self.a)

    def costs(
        self,
        streams: StreamSet,
        features: Sequence[Feature],
        *,
        shared: bool = False,
        levels: Levels | None = None,
    ) -> Costs:
        """Return the costs of features for equation 1; features that read a channel may share its cost.

        `levels` are the thresholds that features may cross, where nodes send that.
        """
        if self.sends is not None:
            rates, table = Rates.of(self.radio, streams.period), tabulate(streams, features, self.max_silence)
            return Costs(self._split(streams, table, self.sends, rates).each(features, levels), a=self.a, b=self.b)
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
        """Return what streams with episodes of these lengths have cost by each tick: what is paid for readings."""
        if self.sends is not None:
            raise ValueError(
                f"sends is {self.sends!r}, expected None: only promises are searched by what is split"
            )
        if self.own is not None:
            return FeatureSpending(features, self.costs(streams, features), lengths, streams.n_ticks)
        check_prices(streams, self.prices)
        rates, channels = self.rates(streams.period), channels_of(features)
        return MessageSpending(streams, channels, lengths, rates, self.max_silence, self.prices)

    def spending_of(self, streams: StreamSet, table: FeatureTable) -> Spending:
        """Return what streams have cost by each tick, given the table of features at all of their ticks."""
        if self.sends is None:
            return self.spending(streams, table.features, table.lengths)
        return self._split(streams, table, self.sends, self.rates(streams.period))

    def _split(self, streams: StreamSet, table: FeatureTable, sends: str, rates: Rates) -> SplitSpending:
        check_prices(streams, self.prices)
        return SplitSpending(streams, table, sends, rates, self.max_silence, self.prices)


def own_costs(features: Sequence[Feature], costs: Costs | None) -> dict[str, tuple[float, float]] | None:
    """Return each-time and one-time costs by feature name, as `Pricing` takes them."""
    if costs is None:
        return None
    pairs = zip(costs.each.tolist(), costs.once.tolist(), strict=True)
    return {feature.name: pair for feature, pair in zip(features, pairs, strict=True)}
