"""Promises on real motes, and how long it takes to train with one.

STREAMFS_DATA=... python benchmarks/promise_training.py [PART ...]
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
from figures import Figure, Parts, main, measure, processor, table

import feature_extractors as fx
from streamfs import Promise, PromiseError, StreamSet, train
from streamfs.channels import default_features
from streamfs.console import say
from streamfs.datasets import load, room_climate_fold
from streamfs.energy import profile
from streamfs.errors import TrainingError
from streamfs.figure2 import Motes
from streamfs.learners import LEARNERS
from streamfs.progress import quiet
from streamfs.promises.cheapest import Judged
from streamfs.promises.curve import Curve, Point
from streamfs.promises.keep import Frozen, Maker
from streamfs.promises.plan import Plan
from streamfs.promises.pricing import Pricing
from streamfs.selectors import SELECTORS

ROOM = Promise(accuracy=0.85, completeness=0.9)
N_DIVISIONS, N_HALVES = 5, 15
FLAT: Mapping[str, float] = {}
LIGHT_DEAR: Mapping[str, float] = {"light1": 10.0, "light2": 10.0, "rh": 0.2}
FIRST_HALVES = 3  # seed of the first halves; no choice in streamfs was made by a look at them or later ones
CHEAPER = 4.0
LONGEST = 60.0


class Outcome(NamedTuple):
    """What features come to on the test fold: as certified, None where refused; and uncertified."""

    certified: Point | None
    plain: Point | None


def plan_of(streams: StreamSet, features: list[fx.Feature], prices: Mapping[str, float], seed: int) -> Plan:
    """What `train` does with a promise."""
    return Plan(
        streams,
        ROOM,
        features,
        Pricing(profile("transmissions"), prices),
        SELECTORS["streamrelief"],
        learners=LEARNERS,
        min_leaf=2,
        time_limit=streams.n_ticks,
        groups=None,
        search="floating",
        vary=True,
        seconds=None,
        resume=None,
        seed=seed,
        n_jobs=-1,
        progress=quiet,
    )


def outcome(maker: Maker, subset: Judged, test: StreamSet) -> Outcome:
    """Freeze and certify a subset, and look at it on the test fold.

    Uncertified is the loosest threshold at which held-out streams have the promised shares, as a user would choose
    it by cross-validation.
    """
    frozen = maker.freeze(subset)
    unseen = maker.curve(frozen, test)
    try:
        certified = _on(unseen, maker.certify(frozen).point.threshold)
    except PromiseError:
        certified = None
    return Outcome(certified, _plain(frozen, unseen))


def _plain(frozen: Frozen, unseen: Curve) -> Point | None:
    curve = frozen.held_out
    kept = np.flatnonzero((curve.accuracy >= ROOM.accuracy) & (curve.completeness >= ROOM.completeness))
    return _on(unseen, float(curve.thresholds[kept[-1]])) if len(kept) else None


def _on(curve: Curve, threshold: float) -> Point | None:
    return curve.at_threshold(threshold) if threshold <= curve.thresholds[0] else None


def folds(_: int) -> tuple[StreamSet, StreamSet]:
    """The pairs that come with the data."""
    return room_climate_fold("train"), room_climate_fold("test")


def halves(seed: int) -> tuple[StreamSet, StreamSet]:
    """Pairs of a random half of the measurements, and of the other half; motes come in one order in both classes."""
    return load("room_climate").split(FIRST_HALVES + seed)


def halves_roles_drawn(seed: int) -> tuple[StreamSet, StreamSet]:
    """The same pairs, the one or the other mote coming first by chance."""
    rng = np.random.default_rng(seed)
    training, test = halves(seed)
    return roles_drawn(training, rng), roles_drawn(test, rng)


def roles_drawn(pairs: StreamSet, rng: np.random.Generator) -> StreamSet:
    """Exchange the two motes of each pair, or do not, by chance."""
    exchanged = np.roll(pairs.values, pairs.values.shape[2] // 2, axis=2)
    values = np.where(rng.random((len(pairs), 1, 1)) < 0.5, exchanged, pairs.values)
    return StreamSet(values, pairs.labels, pairs.columns, pairs.period, pairs.names)


class Case(NamedTuple):
    """Streams to learn from and to test on, by a seed; prices; and how many seeds."""

    split: Callable[[int], tuple[StreamSet, StreamSet]]
    prices: Mapping[str, float]
    n_seeds: int


CASES: Mapping[str, Case] = {
    "prices flat": Case(folds, FLAT, N_DIVISIONS),
    "light dear, humidity cheap": Case(folds, LIGHT_DEAR, N_DIVISIONS),
    "halves, prices flat": Case(halves, FLAT, N_HALVES),
    "halves, roles drawn, prices flat": Case(halves_roles_drawn, FLAT, N_HALVES),
}


def rooms() -> list[Figure]:
    """The cheapest features of the motes' room beside all of them, over divisions of the training streams."""
    figures = []
    for name, case in CASES.items():
        ours, everything = [], []
        for seed in range(case.n_seeds):
            say(f"room_climate, {name}, division {seed}")
            training, test = case.split(seed)
            plan = plan_of(training, default_features(training), case.prices, seed)
            ours.append(outcome(plan.maker, plan.maker.search().best, test))
            maker = replace(plan, make_selector=None, vary=False).maker
            everything.append(outcome(maker, maker.judge(maker.candidates.proposed), test))
        figures += _figures(name, ours, everything)
    return figures


def _figures(name: str, ours: list[Outcome], everything: list[Outcome]) -> list[Figure]:
    certified = [o.certified for o in ours if o.certified is not None]
    n_all = sum(o.certified is not None for o in everything)
    plain = [(o.plain, a.plain) for o, a in zip(ours, everything, strict=True) if o.plain and a.plain]
    both = [
        (o.certified, a.certified) for o, a in zip(ours, everything, strict=True) if o.certified and a.certified
    ]
    figures = [
        Figure(f"{name}: divisions certified", len(certified), detail=f"of {len(ours)}; all features {n_all}")
    ]
    figures += [
        Figure(
            f"{name}: median {share} on the test streams, as certified",
            float(np.median([getattr(point, share) for point in certified])),
            detail=f"least {min(getattr(p, share) for p in certified):.3g}, "
            f"most {max(getattr(p, share) for p in certified):.3g}",
        )
        for share in ("accuracy", "completeness", "cost", "ticks")
        if certified
    ]
    for what, pairs in (("certified", both), ("at the uncertified threshold", plain)):
        if pairs:
            figures.append(
                Figure(
                    f"{name}: all features : ours, median cost, {what}",
                    float(np.median([theirs.cost / own.cost for own, theirs in pairs])),
                    at_least=CHEAPER,
                    detail=f"{len(pairs)} divisions; ours {np.median([own.cost for own, _ in pairs]):.3g} at accuracy "
                    f"{np.median([own.accuracy for own, _ in pairs]):.3f}, all "
                    f"{np.median([theirs.cost for _, theirs in pairs]):.3g} at "
                    f"{np.median([theirs.accuracy for _, theirs in pairs]):.3f}",
                )
            )
    return figures


def speed() -> list[Figure]:
    """Training 2000 streams of 200 ticks with 40 features."""
    streams, _ = Motes(n_training=2000, n_testing=2, n_ticks=200).split(0)
    offered = default_features(streams)
    pairs = [feature for feature in offered if len(feature.columns) == 2]
    singles = [feature for feature in offered if len(feature.columns) == 1 and "window" not in feature.name]
    features = [*pairs, *singles][:40]
    small, _ = Motes(n_training=200, n_testing=2, n_ticks=20).split(0)
    try:
        train(small, features=features, promise=Promise(0.6))  # compiles
    except TrainingError:
        say("refused, but compiled")
    start = perf_counter()
    procedure = train(streams, features=features, promise=Promise(0.9, 0.9))
    detail = f"{procedure.about['promise']['subsets']} subsets judged; wall clock, all cores"
    return [
        Figure(
            "seconds to train 2000 streams x 200 ticks x 40 features",
            perf_counter() - start,
            LONGEST,
            None,
            detail,
        )
    ]


PARTS: Parts = {"rooms": rooms, "speed": speed}


def section() -> str:
    return f"""
## Promises on real motes, and the time to train

`benchmarks/promise_training.py`. room_climate: pairs of motes, 10 s ticks, 20 minutes, accuracy {ROOM.accuracy:g} and completeness
{ROOM.completeness:g} promised at risk {ROOM.risk:g}. Training and test streams share no measurement. Pairs share motes: an observation, no
guarantee. Cost is that of messages, each channel once. Where all channels are read for one tick it is 24, for one quantity of both
motes 6: a procedure that decides at the first tick can be about four times cheaper than another, and not much more.

The first two cases are the pairs that come with the data (432 to learn from, of which 174 certify, and 288 to test on), in
{N_DIVISIONS} divisions of the training fold. Two things flatter their figures: pairs of one place name the mote of the lower number first, others come in either
order, so that the sign of a difference tells more than it would elsewhere; and relative and signed differences, and the number of
trees that judge, were chosen after a look at these test streams. So *halves* are the pairs of `streamfs.datasets` from {N_HALVES}
random halvings of the measurements (180 of one place and 180 of two to learn from, as many to test on), on which nothing was chosen, and
where motes come in one order in both classes. With *roles drawn* the one or the other mote comes first by chance: then a sensor's
offset tells less. All features are all that `default_features` offers, in the forest or the tree, whichever held-out streams judge better,
with no search for fewer: a tree may test few of them, and then be cheap.

{table(measure(PARTS))}

{processor()}
"""


if __name__ == "__main__":
    main(__doc__ or "", PARTS)
