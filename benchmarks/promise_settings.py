"""Simulated settings for the benchmarks of promises: pairs of motes, of different noise and prices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

import feature_extractors as fx
from sensors_sim.same_source import SameSource
from streamfs.costs.pricing import Pricing
from streamfs.costs.radio_profiles import profile
from streamfs.data.default_features import default_features
from streamfs.data.streams import StreamSet
from streamfs.training.learners import LEARNERS
from streamfs.training.promises import Promise
from streamfs.training.promises.problem import PromiseProblem
from streamfs.training.promises.search_settings import SearchSettings

PERIOD = 10.0
N_UNSEEN = 20_000
QUANTITIES = ("temperature", "humidity", "light")
KINDS = ("correlation", "mean_absolute_difference", "flag_agreement")
NINE = tuple((kind, quantity) for quantity in QUANTITIES for kind in KINDS)
FIVE = (
    ("correlation", "temperature"),
    ("mean_absolute_difference", "temperature"),
    ("mean_absolute_difference", "humidity"),
    ("mean_absolute_difference", "light"),
    ("flag_agreement", "light"),
)

PRICES: Mapping[str, Mapping[str, float] | None] = {
    "flat": None,
    "light dear": {"light": 10.0},
    "humidity cheap": {"humidity": 0.2},
    "light dear, humidity cheap": {"light": 10.0, "humidity": 0.2},
    "temperature dear": {"temperature": 5.0},
}


class Nodes(NamedTuple):
    """How nodes and places are.

    Parameters
    ----------
    noise, offsets : float
        Factors on the noise and on the offsets of motes that are not calibrated (`SameSource.uncalibrated`).
    common : float
        Share of the variance that all places have in common.
    """

    noise: float
    offsets: float
    common: float

    @property
    def law(self) -> SameSource:
        return replace(SameSource().uncalibrated(self.noise, self.offsets), common=self.common)


CALIBRATED = Nodes(noise=1.0, offsets=0.3, common=0.3)
QUIET = Nodes(noise=0.7, offsets=1.0, common=0.3)
PLAIN = Nodes(noise=1.0, offsets=1.0, common=0.3)
ALIKE = Nodes(noise=1.0, offsets=0.7, common=0.6)
NOISY = Nodes(noise=1.6, offsets=0.7, common=0.3)
APART = Nodes(noise=1.3, offsets=1.4, common=0.0)


@dataclass(frozen=True)
class Setting:
    """Streams recorded in one world.

    Parameters
    ----------
    number : int
        Its place, which seeds its draws.
    nodes : Nodes
        How they are.
    prices : str
        One of `PRICES`.
    n_streams, n_ticks : int
        Pairs recorded, and ticks of each.
    """

    number: int
    nodes: Nodes
    prices: str
    n_streams: int
    n_ticks: int

    def recorded(self, seed: int) -> StreamSet:
        """Draw the streams to learn from and to test on."""
        return self._drawn(self.n_streams, (self.number, seed, 0))

    def unseen(self, seed: int, n_streams: int = N_UNSEEN) -> StreamSet:
        """Draw other streams, on which nothing is chosen."""
        return self._drawn(n_streams, (self.number, seed, 1))

    def _drawn(self, n_streams: int, seed: Sequence[int]) -> StreamSet:
        random = np.random.default_rng(seed)
        return StreamSet(*self.nodes.law.sample(n_streams, self.n_ticks, PERIOD, random))

    def problem(self, promise: Promise, seed: int, features: Sequence[tuple[str, str]]) -> PromiseProblem:
        """Plan as `train_promised` does, with features as they are offered, on one processor."""
        streams = self.recorded(seed)
        return PromiseProblem(
            streams,
            promise,
            offered(streams, features),
            pricing=Pricing(profile("transmissions"), PRICES[self.prices]),
            make_selector=None,
            learners=LEARNERS,
            min_leaf=2,
            time_limit=self.n_ticks,
            groups=None,
            search=SearchSettings(as_offered=True),
            seed=seed,
            n_jobs=1,
        )

    def row(self) -> dict[str, Any]:
        """What it is, for a table."""
        named = {"setting": self.number, **self.nodes._asdict(), "prices": self.prices}
        return {**named, "n_streams": self.n_streams, "n_ticks": self.n_ticks}


SETTINGS = tuple(
    Setting(number, *row)
    for number, row in enumerate(
        (
            (CALIBRATED, "flat", 400, 30),
            (CALIBRATED, "light dear", 400, 30),
            (QUIET, "light dear, humidity cheap", 400, 30),
            (QUIET, "humidity cheap", 400, 30),
            (PLAIN, "flat", 400, 60),
            (PLAIN, "light dear", 400, 30),
            (ALIKE, "temperature dear", 400, 30),
            (ALIKE, "light dear, humidity cheap", 400, 40),
            (NOISY, "flat", 400, 30),
            (NOISY, "humidity cheap", 400, 30),
            (APART, "light dear", 400, 40),
            (APART, "temperature dear", 400, 40),
            (CALIBRATED, "light dear, humidity cheap", 1000, 30),
            (QUIET, "flat", 1000, 30),
            (PLAIN, "humidity cheap", 1000, 30),
            (ALIKE, "light dear", 1000, 40),
            (NOISY, "light dear, humidity cheap", 1000, 30),
            (APART, "flat", 1000, 30),
            (QUIET, "light dear", 2000, 30),
            (PLAIN, "light dear, humidity cheap", 2000, 30),
            (ALIKE, "flat", 2000, 30),
            (NOISY, "temperature dear", 2000, 30),
        )
    )
)
"""All that was varied: noise and offsets of the nodes, what places have in common, prices, streams and ticks."""


def offered(streams: StreamSet, features: Sequence[tuple[str, str]]) -> tuple[fx.Feature, ...]:
    """Take some kinds of features of both nodes from those that training offers by default."""
    everything = default_features(streams)
    beginnings = [
        f"{kind}(a.{quantity}@flag:" if kind == "flag_agreement" else f"{kind}(a.{quantity}, b.{quantity})"
        for kind, quantity in features
    ]
    return tuple(
        next(feature for feature in everything if feature.name.startswith(beginning)) for beginning in beginnings
    )
