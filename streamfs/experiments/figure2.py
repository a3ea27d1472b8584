"""The paper's Figure 2: same-source detection by every method, simulated or recorded, over many seeds."""

from collections.abc import Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed

from feature_extractors.base import Feature
from sensors_sim.same_source import SameSource
from streamfs.base.progress import Progress
from streamfs.data import datasets
from streamfs.data.default_features import default_features
from streamfs.data.streams import StreamSet
from streamfs.errors import StreamfsError
from streamfs.experiments.experiment import (
    COST_BASED,
    METHODS,
    NAIVE,
    RELIEF,
    STREAM_RELIEF,
    Experiment,
    Outcome,
    check_method,
)

THRESHOLDS = tuple(round(0.80 + 0.01 * step, 2) for step in range(20))
N_SEEDS = 20


class Source(Protocol):
    """Where labelled streams come from."""

    def split(self, seed: int) -> tuple[StreamSet, StreamSet]:
        """Draw streams to learn from and others to test on."""

    def features(self, training: StreamSet) -> Sequence[Feature]:
        """What the methods choose from."""


@dataclass(frozen=True)
class Motes:
    """Simulated pairs of motes in one building.

    Places and their climate are those of `SameSource`. What differs is the motes, which are not calibrated against
    each other: TelosB nodes, whose sensors are good to 0.4 degrees, 3 % of humidity (the data sheet's tolerance,
    about two standard deviations) and some 15 % of light, each a little off also by where in the room it stands.
    So offsets have a standard deviation of 0.3 degrees, 2 % and 30 lux. A level still says something of the source
    at the first tick, but not enough for a high confidence; that two motes rise and fall together shows only as
    time passes, which is the trade-off that the paper is about. The tick is that of the example on `room_climate`,
    a reading every ten seconds, for ten minutes; there are as many training pairs as in the demo. All this was
    fixed with the other methods alone, before StreamRelief was run on it.

    Parameters
    ----------
    noise : float
        Factor on the noise of every sensor.
    n_training, n_testing : int
        Pairs to learn from, and to test on.
    n_ticks : int
        Ticks of each.
    period : float
        Seconds a tick.
    """

    noise: float = 1.0
    n_training: int = 240
    n_testing: int = 500
    n_ticks: int = 60
    period: float = 10.0

    OFFSETS = (0.3, 2.0, 30.0)

    def split(self, seed: int) -> tuple[StreamSet, StreamSet]:
        """Simulate pairs to learn from and others to test on."""
        default = SameSource()
        quantities = tuple(
            replace(
                quantity, node=replace(quantity.node, offset_spread=offset, noise=self.noise * quantity.node.noise)
            )
            for quantity, offset in zip(default.quantities, self.OFFSETS, strict=True)
        )
        law = replace(default, quantities=quantities)
        rng = np.random.default_rng(seed)
        training, testing = (
            StreamSet(*law.sample(n_pairs, self.n_ticks, self.period, rng))
            for n_pairs in (self.n_training, self.n_testing)
        )
        return training, testing

    def features(self, training: StreamSet) -> Sequence[Feature]:
        """What training offers by default."""
        return default_features(training)


@dataclass(frozen=True)
class Recorded:
    """Pairs made from one of the recordings of `streamfs.data.datasets`.

    Parameters
    ----------
    name : str
        One of `streamfs.data.datasets.NAMES`.
    """

    name: str

    def split(self, seed: int) -> tuple[StreamSet, StreamSet]:
        """Make pairs of one half of the recorded time to learn from, and of the other to test on."""
        return datasets.load(self.name).split(seed)

    def features(self, training: StreamSet) -> Sequence[Feature]:
        """What training offers by default of two columns: one alone might give a place away, as they are few."""
        return [feature for feature in default_features(training) if len(feature.columns) == 2]


@dataclass(frozen=True)
class File:
    """Labelled streams of a file, half of each class to learn from.

    Parameters
    ----------
    path : path
        CSV or Parquet, as `StreamSet.read` reads it.
    """

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path).resolve())  # a process may work in another folder

    def split(self, seed: int) -> tuple[StreamSet, StreamSet]:
        """Cut the streams in two at random."""
        return StreamSet.read(self.path).split(0.5, seed)

    def features(self, training: StreamSet) -> Sequence[Feature]:
        """What training offers by default."""
        return default_features(training)


def compare(
    source: Source,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    n_seeds: int = N_SEEDS,
    prices: Mapping[str, float] | None = None,
    methods: Sequence[str] = METHODS,
    n_features: int | None = None,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Run the methods on several splits.

    Parameters
    ----------
    source : Source
        Simulated motes, or recorded streams.
    thresholds : sequence of float
        Of confidence.
    n_seeds : int
        How many splits; their seeds are 0, 1, and so on.
    prices : mapping of str to float, optional
        What a message of a quantity costs; 1 where none is named.
    methods : sequence of str
        Some of `METHODS`, `NO_FLOOR`, `PROMISE`, and some of `streamfs.experiments.experiment.OTHERS`.
    n_features : int, optional
        How many of the ranked features to offer; by default chosen by cross-validation.
    n_jobs : int
        Processes that work at once; the outcomes are the same for any number.
    progress : callable, optional
        Told of the splits.

    Returns
    -------
    list of Outcome
        By seed, then by method, then by threshold.

    Raises
    ------
    ValueError
        If there is no such method, or there are not so many features.
    DataError
        If the streams do not teach anything, or a price is of a quantity that they do not have.
    StreamfsError
        If a process died.
    """
    for method in methods:
        check_method(method)
    work = (delayed(run_split)(source, seed, thresholds, prices, methods, n_features) for seed in range(n_seeds))
    outcomes: list[Outcome] = []
    try:
        for done, found in enumerate(Parallel(n_jobs, return_as="generator_unordered")(work)):
            outcomes += found
            if progress is not None:
                progress("splits", done + 1, n_seeds)
    except BrokenProcessPool as error:
        raise StreamfsError(
            "a process of the experiment died: is there memory for fewer only? Give --jobs"
        ) from error
    return sorted(outcomes, key=lambda outcome: outcome.seed)


def run_split(
    source: Source,
    seed: int,
    thresholds: Sequence[float],
    prices: Mapping[str, float] | None,
    methods: Sequence[str],
    n_features: int | None,
) -> list[Outcome]:
    """Run the methods on one split."""
    training, testing = source.split(seed)
    experiment = Experiment(training, testing, source.features(training), prices, seed)
    return [outcome for method in methods for outcome in experiment.run(method, thresholds, n_features)]


def against_the_cheapest(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Compare StreamRelief with the other methods: the paper's claim is the same quality at much smaller cost.

    Parameters
    ----------
    rows : sequence of mapping
        Of `streamfs.experiments.experiment.summarise`.

    Returns
    -------
    list of dict
        One a threshold: the cheapest other method (to the letter is no other), StreamRelief's cost, and what its
        nodes really send, as shares of the other's, and how far its completeness and accuracy lie above or below.
    """
    found = []
    for own in (row for row in rows if row["method"] == STREAM_RELIEF):
        others = [
            row
            for row in rows
            if row["confidence"] == own["confidence"] and row["method"] in (NAIVE, COST_BASED, RELIEF)
        ]
        if others:
            cheapest = min(others, key=lambda row: float(row["cost"]))
            found.append(
                {
                    "confidence": own["confidence"],
                    "cheapest_other": cheapest["method"],
                    "cost_ratio": own["cost"] / cheapest["cost"] if cheapest["cost"] else float("nan"),
                    "sent_ratio": own["sent"] / cheapest["sent"] if cheapest["sent"] else float("nan"),
                    "completeness_gap": own["completeness"] - cheapest["completeness"],
                    "accuracy_gap": own["accuracy"] - cheapest["accuracy"],
                }
            )
    return found


def shown(rows: Sequence[Mapping[str, Any]], most: int = 6) -> list[dict[str, str]]:
    """Shorten a summary to what a person reads: means with intervals, at so many thresholds spread evenly."""
    thresholds = sorted({row["confidence"] for row in rows})
    spread = np.unique(np.linspace(0, len(thresholds) - 1, min(most, len(thresholds))).round().astype(int))
    kept = {thresholds[index] for index in spread}
    return [
        {
            "confidence": f"{row['confidence']:g}",
            "method": row["method"],
            **{name: with_interval(row, name) for name in ("completeness", "accuracy", "cost")},
            "sent": f"{row['sent']:.3g}",
            "tested": f"{row['n_tested']:.3g}",
        }
        for row in sorted(rows, key=lambda row: row["confidence"])
        if row["confidence"] in kept
    ]


def refusals(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say at which thresholds how many promises were refused.

    Examples
    --------
    >>> refusals([{"method": "promise", "confidence": 0.95, "refused": 1, "seeds": 2}])
    ['promise at 0.95: refused in 1 of 2 splits, which the means leave out']
    """
    return [
        f"{row['method']} at {row['confidence']:g}: refused in {row['refused']} of {row['seeds']} splits, which "
        "the means leave out"
        for row in rows
        if row["refused"]
    ]


def with_interval(row: Mapping[str, Any], name: str) -> str:
    """Write a mean of a summary with half the width of its interval, where it has one.

    Examples
    --------
    >>> with_interval({"cost": 12.345, "cost_ci": 1.66}, "cost")
    '12.3 ±1.7'
    """
    half = row[f"{name}_ci"]
    return f"{row[name]:.3g}" if np.isnan(half) else f"{row[name]:.3g} ±{half:.2g}"
