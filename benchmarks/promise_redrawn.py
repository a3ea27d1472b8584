"""How often promises are certified, and at what cost, if the test is drawn again and again.

python benchmarks/promise_redrawn.py [PART ...]

A single test says little: procedures that cost the same are certified or refused by luck. So each procedure is frozen, with the thresholds to
test, and certified on 150 tests drawn from 3000 streams that had no part in its making, for accuracies of 0.8, 0.85 and 0.9 at a
completeness of 0.9.

A part has the settings of `promise_settings.py` of one kind of nodes with 400 streams, those of `promise_further.py`, or one recorded set.
One half of a set is trained on by accuracies of 0.7 and 0.8, and tests are drawn from the other, in three divisions where streams are few.
Walks of `indoor_movement` end before the time limit: they are followed as a gateway follows them, which waits in silence.

Beside: the same with one threshold at all ticks, the search without channels that open later, all columns as they were recorded, and the best
fixed prefix: scikit-learn's forest or boosting on summaries of all columns, its length chosen by what is expected to be the cheapest on
held-out streams, its threshold tested in the same way. Costs are messages times their prices.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import exp, inf, log, nan
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from default_sets import SETS, Division, recorded_pairs
from figures import Figure, Parts, each_described, main
from joblib import Parallel, delayed
from promise_further import FURTHER
from promise_settings import ALIKE, APART, CALIBRATED, NINE, NOISY, PLAIN, QUIET, SETTINGS, Nodes
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import cross_val_predict

from feature_extractors.arrays import Array, Integers
from streamfs.cli.console import say
from streamfs.costs.pricing import Pricing
from streamfs.costs.radio_profiles import profile
from streamfs.costs.spending import messages_sent
from streamfs.data.datasets import folder
from streamfs.data.default_features import default_features
from streamfs.data.streams import StreamSet
from streamfs.evaluation.trajectories import Trajectories
from streamfs.selection.by_name import SELECTORS
from streamfs.training.held_out import Followed
from streamfs.training.promises import Promise
from streamfs.training.promises.certificate import certify, walk
from streamfs.training.promises.curve import Curve
from streamfs.training.promises.full_reading import fitted_to_all
from streamfs.training.promises.giving_up import cheapest_patience
from streamfs.training.promises.held_out import Curves, curve_of
from streamfs.training.promises.openings import fitted_later
from streamfs.training.promises.problem import PromiseProblem
from streamfs.training.promises.search_and_certify import FittedModel, PromiseTrainer
from streamfs.training.promises.search_settings import SearchSettings
from streamfs.training.promises.subset_score import Subset, evaluate_subset

SEED = 1
N_UNSEEN, N_DRAWS, N_STREAMS = 3000, 150, 400
PROMISES = tuple(Promise(accuracy, completeness=0.9) for accuracy in (0.8, 0.85, 0.9))
OF_RECORDED = tuple(Promise(accuracy, completeness=0.9) for accuracy in (0.7, 0.8))
OURS, FLAT, AT_ONCE, COLUMNS, PREFIX = "ours", "one threshold", "open at once", "all columns", "best prefix"
WAYS = (OURS, FLAT, AT_ONCE, COLUMNS, PREFIX)
OFTEN = 0.5
"""Share of the tests that both must pass for their costs to be compared."""

DIVISIONS = {"indoor_movement": 3, "occupancy_detection": 3, "daphnet": 3}
"""How often a set of few streams is divided anew, since one division is luck."""

WORN_TICKS, WORN_COLUMNS = 32, ("horiz_fwd", "vert", "horiz_lateral")

N_JOBS = os.cpu_count() or 1

Row = dict[str, Any]


class Frozen(NamedTuple):
    """Other streams as a fitted procedure sees them, and the thresholds to test, falling."""

    followed: Followed
    thresholds: Array


def redrawn(tried: Frozen, promise: Promise, n_test: int) -> Row:
    """Return how often a procedure is certified on tests drawn anew, and its mean cost on all streams where it is."""
    random, whole, points = np.random.default_rng(SEED), curve_of(tried.followed), []
    for _ in range(N_DRAWS):
        drawn = random.choice(whole.n_streams, n_test, replace=False)
        found = certify(curve_of(tried.followed.take(drawn)), promise, tried.thresholds)
        if found is not None:
            points.append(whole.at_threshold(found.point.threshold))
    kept = [p.accuracy >= promise.accuracy and p.completeness >= (promise.completeness or 0.0) for p in points]
    cost = float(np.mean([point.cost for point in points])) if points else inf
    return {"certified": len(points) / N_DRAWS, "kept": float(np.mean(kept)) if kept else nan, "cost": cost}


def rows_of(problem: PromiseProblem, unseen: StreamSet, promises: Sequence[Promise]) -> Iterator[Row]:
    """Yield the results of each way to make a procedure, by promise; held-out streams are followed once for all."""
    trainer, curves, prefixes = problem.trainer(), dict[Subset, Curves](), prefixes_of(problem, unseen)
    n_test = len(problem.split.test)
    for promise in promises:
        scorer = trainer.scorer(promise, curves=curves)
        trainer.search(scorer)
        at_once = trainer.fit_best(scorer)
        opening, later = fitted_to_all(*fitted_later(trainer, scorer, at_once), promise)
        models = {
            OURS: tuned(opening, later, promise),
            FLAT: (opening, given_up(later, promise, n_test)),
            AT_ONCE: tuned(*fitted_to_all(trainer, at_once, promise), promise),
            COLUMNS: tuned(trainer, trainer.fit(problem.candidates.plain[-1], promise), promise),
        }
        for way, (maker, model) in models.items():
            chance = evaluate_subset(model.held_out, promise, n_test).chance
            yield {
                "promised": promise.accuracy,
                "way": way,
                "chance": chance,
                **redrawn(frozen(maker, model, unseen, promise), promise, n_test),
            }
        scores = [evaluate_subset(curve, promise, n_test) for curve, _ in prefixes]
        best = max(range(len(scores)), key=lambda place: scores[place].score)
        curve, followed = prefixes[best]
        prefix = Frozen(followed, walk(curve, promise, n_test).thresholds)
        told = {"promised": promise.accuracy, "way": PREFIX, "chance": scores[best].chance}
        yield {**told, **redrawn(prefix, promise, n_test)}


def tuned(trainer: PromiseTrainer, model: FittedModel, promise: Promise) -> tuple[PromiseTrainer, FittedModel]:
    """Return a trainer, and its model as it gives streams up."""
    return trainer, trainer.tuned(model, promise)


def frozen(trainer: PromiseTrainer, model: FittedModel, unseen: StreamSet, promise: Promise) -> Frozen:
    """Return a fitted model as other streams see it."""
    thresholds = walk(model.held_out, promise, len(trainer.split.test)).thresholds
    return Frozen(trainer.follow(model, unseen), thresholds)


def given_up(model: FittedModel, promise: Promise, n_test: int) -> FittedModel:
    """Give up streams, with one threshold at all ticks."""
    if model.falling is not None:
        risen = model.falling._replace(fall=-model.falling.fall)
        model = replace(model, falling=None, followed=model.followed.flattened(risen))
    return replace(model, patience=cheapest_patience(model.followed, promise, model.start, n_test, inf))


def prefixes_of(problem: PromiseProblem, unseen: StreamSet) -> list[tuple[Curve, Followed]]:
    """Return the curves of models of fixed prefixes on held-out streams, and what they say of other streams."""
    train, found = problem.split.train, []
    lengths = sorted({min(length, train.n_ticks) for length in (1, 2, 4, 8, 16, 32, train.n_ticks)})
    for length in lengths:
        rows, others = summaries(train, length), summaries(unseen, length)
        for model in (RandomForestClassifier(random_state=0), HistGradientBoostingClassifier(random_state=0)):
            said = cross_val_predict(model, rows, train.labels, method="predict_proba")
            elsewhere = model.fit(rows, train.labels).predict_proba(others)
            curve = curve_of(at_the_end(problem, train, said, length))
            found.append((curve, at_the_end(problem, unseen, elsewhere, length)))
    return found


def summaries(streams: StreamSet, length: int) -> Array:
    """Return mean, spread, extremes, last value and change of each column over a prefix; 0 if it has no reading."""
    prefix = streams.values[:, :length]
    known = np.isfinite(prefix)
    filled = np.where(known, prefix, 0.0)
    n = np.maximum(known.sum(axis=1), 1)
    mean = filled.sum(axis=1) / n
    spread = np.sqrt(np.where(known, (prefix - mean[:, np.newaxis]) ** 2, 0.0).sum(axis=1) / n)
    low, high = np.where(known, prefix, np.inf).min(axis=1), np.where(known, prefix, -np.inf).max(axis=1)
    parts = [
        mean,
        spread,
        low,
        high,
        filled[:, -1],
        filled[:, -1] - filled[:, 0],
        *pairwise(mean, streams.columns),
    ]
    return np.nan_to_num(np.concatenate(parts, axis=1), posinf=0.0, neginf=0.0)


def pairwise(mean: Array, columns: Sequence[str]) -> list[Array]:
    """Return the difference of the two roles' means of each quantity; nothing if columns have no roles."""
    pairs = [(i, columns.index(f"b.{c[2:]}")) for i, c in enumerate(columns) if c.startswith("a.")]
    return [mean[:, [i]] - mean[:, [j]] for i, j in pairs]


def at_the_end(problem: PromiseProblem, streams: StreamSet, said: Array, length: int) -> Followed:
    """Return streams that are classified once, at the end of a prefix, all of whose readings are sent."""
    sent = messages_sent(streams, streams.columns, problem.pricing.prices)
    spent = np.sum([messages[:, length - 1] for messages in sent.values()], axis=0)[:, np.newaxis]
    classes = np.unique(problem.split.train.labels)
    truth: Integers = np.searchsorted(classes, streams.labels)
    ones = np.ones(len(streams), dtype=np.int64)
    trajectories = Trajectories(said.argmax(axis=1)[:, np.newaxis], said.max(axis=1)[:, np.newaxis], ones)
    return Followed(trajectories, truth, spent, np.array([length]), len(classes))


class Posed(NamedTuple):
    """A problem, the streams from which tests are drawn, and the promises."""

    problem: PromiseProblem
    unseen: StreamSet
    promises: Sequence[Promise]


def posed(name: str, division: int = SEED) -> Posed:
    """Pose the problem of a setting, given its number or name, or of one half of a recorded set."""
    if name.isdigit():
        setting = SETTINGS[int(name)]
        problem = replace(setting.problem(PROMISES[0], SEED, NINE), search=SearchSettings())
        return Posed(problem, setting.unseen(SEED, N_UNSEEN), PROMISES)
    if name in FURTHER:
        number, other = [*FURTHER].index(name), FURTHER[name]
        streams, unseen = (other.streams(n, (number, SEED, i)) for i, n in enumerate((N_STREAMS, N_UNSEEN)))
        return Posed(by_default(streams, other.prices), unseen, PROMISES)
    streams, unseen = (half.lasting() for half in RECORDED[name](division))
    return Posed(by_default(streams), unseen, OF_RECORDED)


def by_default(streams: StreamSet, prices: Mapping[str, float] | None = None) -> PromiseProblem:
    """Plan as `train_promised` does by default, on one processor."""
    return replace(
        SETTINGS[0].problem(PROMISES[0], SEED, NINE),
        streams=streams,
        features=default_features(streams),
        pricing=Pricing(profile("transmissions"), prices),
        make_selector=SELECTORS["streamrelief"],
        time_limit=streams.n_ticks,
        search=SearchSettings(),
        rich=True,
    )


def of_case(name: str, division: int = SEED) -> list[Row]:
    """Return the rows of a setting, or of a division of a recorded set."""
    return [{"case": name, **row} for row in rows_of(*posed(name, division))]


def worn(seed: int) -> Division:
    """Half seconds of a walker's ankle, leg and trunk: which of the three it is, by deviations from the first reading."""
    rows = pl.read_csv(folder() / "sensors" / "daphnet" / "daphnet_S06R02E0.csv.gz")
    values, labels = [], []
    for start in range(0, len(rows) - WORN_TICKS + 1, WORN_TICKS):
        for site in ("ankle", "leg", "trunk"):
            columns = [f"{site}_{axis}" for axis in WORN_COLUMNS]
            readings = rows[start : start + WORN_TICKS].select(columns).to_numpy().astype(float)
            values.append(readings - readings[0])
            labels.append(site)
    return StreamSet(values, labels, WORN_COLUMNS, 1.0 / 64).split(0.5, seed)


def run(work: Callable[..., list[Row]], cases: Iterable[Sequence[Any]]) -> list[Row]:
    """Run all cases, given what the work takes."""
    rows: list[Row] = []
    for found in Parallel(N_JOBS, return_as="generator")(delayed(work)(*case) for case in cases):
        rows += found
        say(f"promises, redrawn: {rows[-1]['case']}")
    return rows


def figures(name: str, rows: Sequence[Row]) -> list[Figure]:
    """Return how often each way is certified, and the cost of ours by the others'."""
    of = {way: [row for row in rows if row["way"] == way] for way in WAYS}
    found = []
    for way in WAYS:
        shares = [row["certified"] for row in of[way]]
        found.append(
            Figure(
                f"{name}: certified, {way}",
                float(np.mean(shares)),
                detail=f"of {N_DRAWS} tests of {len(shares)} promises",
            )
        )
    broken = [1.0 - row["kept"] for row in of[OURS] if row["certified"]]
    found.append(Figure(f"{name}: certified and not kept, ours", float(np.mean(broken or [0.0])), 0.05))
    for way in WAYS[1:]:
        both = [
            (ours["cost"], other["cost"])
            for ours, other in zip(of[OURS], of[way], strict=True)
            if min(ours["certified"], other["certified"]) >= OFTEN
        ]
        ratios = [ours / other for ours, other in both if ours and other]
        if ratios:
            mean = exp(float(np.mean([log(ratio) for ratio in ratios])))
            where = f"{len(ratios)} promises, {min(ratios):.2f} to {max(ratios):.2f}"
            free = f"; in {len(both) - len(ratios)} one costs nothing" if len(ratios) < len(both) else ""
            found.append(Figure(f"{name}: cost, ours : {way}", mean, detail=where + free))
    told = [row["chance"] - row["certified"] for row in of[OURS]]
    found.append(
        Figure(
            f"{name}: chance stated - certified",
            float(np.mean(told)),
            0.05,
            detail=f"{min(told):+.2f} to {max(told):+.2f}",
        )
    )
    return found


def recorded(name: str) -> list[Figure]:
    """Return the figures of a recorded set, and whether the promise is given as often as with the best fixed prefix."""
    rows = run(of_case, [(name, seed) for seed in range(SEED, SEED + DIVISIONS.get(name, 1))])
    ours, theirs = (np.mean([row["certified"] for row in rows if row["way"] == way]) for way in (OURS, PREFIX))
    return [
        *figures(name, rows),
        Figure(f"{name}: certified, ours - best prefix", float(ours - theirs), at_least=0.0),
    ]


def simulated(name: str, nodes: Nodes) -> list[Figure]:
    """Return the figures of the settings of one kind of nodes."""
    chosen = [setting for setting in SETTINGS if setting.nodes == nodes and setting.n_streams == N_STREAMS]
    return figures(name, run(of_case, [(f"{setting.number}",) for setting in chosen]))


def further() -> list[Figure]:
    """Return the figures of further settings together, and how often ours is certified in each, beside the others."""
    rows = run(of_case, [(name,) for name in FURTHER])
    return figures("further", rows) + [beside([row for row in rows if row["case"] == name]) for name in FURTHER]


def beside(rows: Sequence[Row]) -> Figure:
    """Return how often ours is certified in one of many settings, and the costs of ours, all columns and best prefix."""
    of = {way: [row for row in rows if row["way"] == way] for way in (OURS, COLUMNS, PREFIX)}
    shares = {way: float(np.mean([row["certified"] for row in found])) for way, found in of.items()}
    costs = {way: " ".join(f"{row['cost']:.3g}" for row in found) for way, found in of.items()}
    told = (f"{way} {shares[way]:.3f}, cost {costs[way]}" for way in of)
    return Figure(f"{rows[0]['case']}: certified, ours", shares[OURS], detail="; ".join(told))


KINDS = {"calibrated": CALIBRATED, "quiet": QUIET, "plain": PLAIN, "alike": ALIKE, "noisy": NOISY, "apart": APART}
RECORDED = SETS | {"appliances": partial(recorded_pairs, "appliances"), "daphnet": worn}
PARTS: Parts = {
    **{name: partial(simulated, name, nodes) for name, nodes in KINDS.items()},
    "further": further,
    **{name.lower().replace(" ", "_"): partial(recorded, name) for name in RECORDED},
}


SECTIONS = each_described("Promises, with the test drawn anew", __file__, __doc__, PARTS)


if __name__ == "__main__":
    main(__doc__, PARTS)
