"""Early classification beside other packages and other rules for when to decide, as JSON lines and a table.

STREAMFS_DATA=... python benchmarks/early.py [--quick] [--seeds N ...] [--sets SET ...] [--methods METHOD ...] [--out FILE]

Official splits of the UCR and UEA archives: those in the folder ``ucr`` of the data, and those that come with aeon. Each
also *disturbed*: every series starts late by up to 30 %, on noise, with a scale and an offset of its own, train and test.

- ``streamfs``: ``train(streams, seed=seed)``, nothing else set; for another price of errors, ``error_cost`` and ``delay_cost``
- ``aeon PT``: ProbabilityThresholdEarlyClassifier with time series forests of 50, on 150 test series; ``aeon TEASER``, with the same, if named
- ``tslearn NonMyopic``: NonMyopicEarlyClassifier, on 100 test series
- ``RF fixed``, ``RF tuned``: a random forest of 50 for each of 20 prefixes, decided at 0.9, or at the threshold of the least
  cost out of bag
- ``threshold``, ``SR``, ``ECONOMY-gamma``, ``CALIMERA``: triggers (`early_triggers.py`) on the probabilities of streamfs'
  own forest, fitted to its out-of-fold trajectories; at each alpha on the features that streamfs chose there

A method must name a class by the end of a series; one that does not makes an error at the last tick. Earliness is the
mean tick of decisions as a share of the series, HM the harmonic mean of accuracy and 1 - earliness, AvgCost is alpha x error
+ (1 - alpha) x delay.
Methods that can are given alpha; aeon, tslearn and RF fixed decide alike at each. All other figures are those at alpha = 0.5.
Each seed and method is a line of JSON; ``--from FILE`` makes the table from such lines.
"""

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from early_peers import Decided, NonMyopic, PrefixForests, ProbabilityThreshold, Teaser
from early_sets import BUNDLED, Series, Split, sets
from early_table import OURS, Row, report
from early_triggers import TRIGGERS, Array, ConstantThreshold, DecisionCost, Integers, Trigger
from figures import load_peer, processor

from streamfs import evaluate, tabulate, train
from streamfs.cli.console import say
from streamfs.errors import MissingExtraError, TrainingError
from streamfs.selection.folds import make_folds
from streamfs.training.cross_validation import N_FOLDS
from streamfs.training.decision_costs import decision_points
from streamfs.training.learners import small_leaf_learner

ALPHAS = (0.1, 0.3, 0.5, 0.7, 0.9)
MIDDLE = 0.5
SEEDS = (0, 1, 2, 3, 4)
QUICK_SETS = ("UnitTest", "ItalyPowerDemand", "GunPoint")
QUICK_METHODS = (OURS, "threshold", "ECONOMY-gamma", "CALIMERA")


class Trial(NamedTuple):
    """What a method decides at each alpha, and how many CPU seconds fitting and deciding took, once."""

    decided: Mapping[float, Decided]
    fit: float
    deciding: float
    n_cases: int


@dataclass(frozen=True)
class Task:
    """A set, as recorded or disturbed, and a seed."""

    split: Split
    seed: int
    procedures: dict[float, tuple[Any, float]] = field(default_factory=dict)
    bases: dict[float, "Base"] = field(default_factory=dict)

    @cached_property
    def classes(self) -> np.ndarray:
        return np.unique(self.split.train.labels)

    def truth(self, series: Series) -> Integers:
        """Return the class of each series as a whole number; -1 if no train series has it."""
        return np.asarray(
            np.where(self.classes == series.labels[:, np.newaxis], np.arange(len(self.classes)), -1).max(axis=1)
        )

    @cached_property
    def training(self) -> tuple[Array, Integers]:
        return self.split.train.values, self.truth(self.split.train)

    def trained(self, alpha: float) -> tuple[Any, float]:
        """Our procedure, with nothing set if errors and delays cost alike, and CPU seconds."""
        if alpha not in self.procedures:
            costs = {} if alpha == MIDDLE else {"error_cost": alpha, "delay_cost": 1.0 - alpha}
            start = process_time()
            procedure = train(self.split.train.streams(), seed=self.seed, **costs)
            self.procedures[alpha] = procedure, process_time() - start
        return self.procedures[alpha]

    def base(self, alpha: float) -> "Base":
        """What our forest says of the streams, with the channels that are chosen at these costs."""
        if alpha not in self.bases:
            self.bases[alpha] = Base.of(self, alpha)
        return self.bases[alpha]

    @cached_property
    def forests(self) -> tuple[PrefixForests, float]:
        """Random forests of prefixes, and CPU seconds."""
        start = process_time()
        return PrefixForests().fit(*self.training, self.seed), process_time() - start


class Base(NamedTuple):
    """Probabilities of our forest for held-out train series and for test series, and CPU seconds for both."""

    held_out: Array
    test: Array
    points: Integers
    fit: float
    deciding: float

    @classmethod
    def of(cls, task: Task, alpha: float) -> "Base":
        """Follow the train series out of fold with the features of our procedure, as it was calibrated itself."""
        procedure, fit = task.trained(alpha)
        start = process_time()
        seen = tabulate(task.split.train.streams(), procedure.features, procedure.max_silence)
        points = decision_points(seen.n_ticks, len(seen.labels))
        learn = small_leaf_learner(points, task.seed)
        held_out = np.zeros((len(seen.labels), len(points), len(task.classes)))
        folds = make_folds(np.zeros((len(seen.labels), 1)), seen.labels, None, N_FOLDS, task.seed)
        for fold in folds:
            forest = learn(seen.take(fold.training))
            held_out[fold.test] = _followed(forest, seen.values[fold.test][:, points - 1])
        middle = process_time()
        unseen = tabulate(task.split.test.streams(), procedure.features, procedure.max_silence)
        test = _followed(procedure.classifier.uncalibrated(), unseen.values[:, points - 1])
        return cls(held_out, test, points, fit + middle - start, process_time() - middle)


def _followed(forest: Any, values: Array) -> Array:
    n, n_points, n_features = values.shape
    rows = np.ascontiguousarray(values).reshape(n * n_points, n_features)
    return np.asarray(forest.probabilities(rows)).reshape(n, n_points, -1)


def ours(task: Task) -> Trial:
    """Train with nothing set; at another alpha, with its costs. A refusal labels nothing."""
    test, decided = task.split.test, {}
    streams = test.streams()
    fit = deciding = 0.0
    for alpha in ALPHAS:
        try:
            procedure, seconds = task.trained(alpha)
        except TrainingError as error:
            say(f"refused: {error}")
            n = len(test.labels)
            decided[alpha] = Decided(np.full(n, -1), np.full(n, test.values.shape[1]), np.zeros(n))
            continue
        start = process_time()
        decisions = evaluate(procedure, streams).decisions
        if alpha == MIDDLE:
            fit, deciding = seconds, process_time() - start
        place = {str(label): c for c, label in enumerate(task.classes)}
        decided[alpha] = Decided(
            np.array([place.get(str(d.label), -1) for d in decisions]),
            np.array([d.tick if d.label is not None else test.values.shape[1] for d in decisions]),
            np.array([d.confidence for d in decisions]),
        )
    return Trial(decided, fit, deciding, len(test.labels))


def trigger(make: Callable[[], Trigger]) -> Callable[[Task], Trial]:
    """Let a trigger decide on our forest's probabilities."""
    return lambda task: _triggered(make, task, task.base)


def prefix_forests(make: Callable[[], Trigger]) -> Callable[[Task], Trial]:
    """Let a trigger decide on the probabilities of a random forest for each prefix."""

    def measured(task: Task) -> Trial:
        forests, fit = task.forests
        start = process_time()
        test = forests.probabilities(task.split.test.values)
        base = Base(forests.held_out(), test, forests.points, fit, process_time() - start)
        return _triggered(make, task, lambda _: base)

    return measured


def _triggered(make: Callable[[], Trigger], task: Task, base_at: Callable[[float], Base]) -> Trial:
    """Fit a trigger at each alpha, and let it decide the test series."""
    decided, fit, deciding = {}, 0.0, 0.0
    for alpha in ALPHAS:
        base = base_at(alpha)
        when = base.points / task.split.test.values.shape[1]
        start = process_time()
        rule = make().fit(base.held_out, task.training[1], when, DecisionCost(alpha, 1.0 - alpha))
        middle = process_time()
        stops = rule.stops(base.test)
        if alpha == MIDDLE:
            fit, deciding = base.fit + middle - start, base.deciding + process_time() - middle
        at = base.test[np.arange(len(stops)), stops]
        decided[alpha] = Decided(at.argmax(axis=1), base.points[stops], at.max(axis=1))
    return Trial(decided, fit, deciding, len(task.split.test.labels))


def peer(make: Callable[[], Any]) -> Callable[[Task], Trial]:
    """Let a peer with one operating point decide."""

    def measured(task: Task) -> Trial:
        method = make()
        test = task.split.test.sample(method.most_cases, seed=0)
        start = process_time()
        method.fit(*task.training, task.seed)
        middle = process_time()
        decided = method.decide(test.values)
        end = process_time()
        return Trial(dict.fromkeys(ALPHAS, decided), middle - start, end - middle, len(test.labels))

    return measured


METHODS: Mapping[str, Callable[[Task], Trial]] = {
    OURS: ours,
    **{name: trigger(make) for name, make in TRIGGERS.items()},
    "RF fixed": prefix_forests(lambda: ConstantThreshold(0.9)),
    "RF tuned": prefix_forests(ConstantThreshold),
    "aeon PT": peer(ProbabilityThreshold),
    "tslearn NonMyopic": peer(NonMyopic),
    "aeon TEASER": peer(Teaser),
}
NEEDED = {"aeon PT": "aeon", "aeon TEASER": "aeon", "tslearn NonMyopic": "tslearn"}
USUAL = tuple(name for name in METHODS if name != "aeon TEASER")
"""TEASER takes up to a minute to fit, and is measured when it is named."""


def harmonic(accuracy: float, earliness: float) -> float:
    """Return the harmonic mean of accuracy and 1 - earliness."""
    return 2.0 * accuracy * (1.0 - earliness) / max(accuracy + 1.0 - earliness, 1e-12)


def row_of(task: Task, method: str) -> Row:
    """Measure a method on a set with a seed."""
    trial = METHODS[method](task)
    n_ticks = task.split.test.values.shape[1]
    test = task.split.test.sample(trial.n_cases, seed=0)
    truth, costs = task.truth(test), {}
    for alpha, decided in trial.decided.items():
        error, delay = float(np.mean(decided.classes != truth)), float(decided.ticks.mean() / n_ticks)
        costs[str(alpha)] = alpha * error + (1.0 - alpha) * delay
    middle = trial.decided[MIDDLE]
    accuracy, earliness = float(np.mean(middle.classes == truth)), float(middle.ticks.mean() / n_ticks)
    stated = float(middle.stated.mean())
    return {
        "accuracy": accuracy,
        "earliness": earliness,
        "hm": harmonic(accuracy, earliness),
        "costs": costs,
        "stated": None if np.isnan(stated) else stated - accuracy,
        "fit_seconds": trial.fit,
        "us_a_tick": 1e6 * trial.deciding / (trial.n_cases * n_ticks),
        "cases": trial.n_cases,
    }


def rows(seeds: Sequence[int], names: Sequence[str], methods: Sequence[str]) -> Iterator[Row]:
    """Measure methods on sets, as recorded and disturbed, seed by seed; a failure is a row, too."""
    known = available()
    loaded = {name: known[name]() for name in names}
    methods = [name for name in methods if _is_there(NEEDED.get(name))]
    _warm_up(methods)
    for seed in seeds:
        for name, split in loaded.items():
            for is_disturbed in (False, True):
                task = Task(split.disturbed(seed) if is_disturbed else split, seed)
                for method in methods:
                    say(f"seed {seed}, {name}{', disturbed' * is_disturbed}: {method}")
                    known = {"seed": seed, "set": name, "disturbed": is_disturbed, "method": method}
                    try:
                        yield known | row_of(task, method)
                    except (ValueError, IndexError, TrainingError) as error:
                        if method == OURS:
                            raise
                        yield known | {"failed": " ".join(str(error).split())[:120]}


def available() -> Mapping[str, Callable[[], Split]]:
    """How each available set is loaded, by its name; say which are not."""
    if not _is_installed("aeon"):
        say(f"aeon is not installed, its sets are left out: {', '.join(BUNDLED)}")
    if "STREAMFS_DATA" not in os.environ:
        say("STREAMFS_DATA is not set, the sets of its folder ucr are left out")
    return sets(_is_installed("aeon"))


def _is_installed(package: str) -> bool:
    try:
        load_peer(package)
    except MissingExtraError:
        return False
    return True


def _is_there(package: str | None) -> bool:
    if package is None or _is_installed(package):
        return True
    say(f"{package} is not installed, its methods are left out: pip install 'streamfs[bench]'")
    return False


def _warm_up(methods: Iterable[str]) -> None:
    """Compile what the methods use, on made-up series, before anything is timed."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b"], 12)
    values = rng.normal(size=(24, 16, 1)).cumsum(axis=1) + 3.0 * (labels == "b")[:, np.newaxis, np.newaxis]
    task = Task(Split(Series(values, labels), Series(values, labels)), 0)
    for method in methods:
        row_of(task, method)


def section(found: Sequence[Row] | None = None) -> str:
    """Measure all, or take rows that were measured before."""
    load_peer("aeon")
    found = list(rows(SEEDS, tuple(available()), USUAL)) if found is None else found
    seeds = len({row["seed"] for row in found})
    return f"""
## Early classification beside aeon, tslearn and other rules for when to decide

`STREAMFS_DATA=... python benchmarks/early.py --out FILE`, whose help describes the methods: ours is `train` with nothing set. aeon's and
tslearn's were measured in a run of their own, by `--methods`; `--from FILE` makes the tables. Official splits, {seeds} seeds, where *seeds* has no other number. ± is half the
95 % interval of Student's t over the seeds: they vary what is random in the methods, and the disturbance, not the test series of a set,
which may be as few as 22. The harmonic mean (HM) of accuracy and 1 - earliness, and what
is not said to be over alpha, are those at alpha = 0.5; *over alpha* is the mean over {", ".join(f"{alpha:g}" for alpha in ALPHAS)}. The mean rank is that
of HM over the sets; a method that fails on a set is last there, and has no mean over sets. *fit s* and *us a tick* are CPU time on a
shared machine, the latter for all ticks of all test series at once, whenever they are decided; for triggers, fitting includes our
training and a forest for each fold.

UCR series were normalised over their whole length and start aligned, so that a prefix knows of its future: the disturbed series are
nearer to what a sensor sends. *threshold*, *SR*, *ECONOMY-gamma* and *CALIMERA* are written from their papers, on our own forest's
probabilities, with the features that `train` chose at the same alpha. aeon's and tslearn's classifiers are slow, and decide 150 and 100
test series, the same ones with each seed. `train` also chooses what is sent: on sets of one column a report on change may be chosen, which
sends less and says less; peers with classifiers of their own read every tick. TEASER, aeon's default forests
(DrCIF) and ml_edm were not run. aeon 1.6.0 asks for numba below 0.64, and was run with the version below.
{report(found)}
aeon {version("aeon")}, tslearn {version("tslearn")}; {processor()}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed, two sets, no slow peer")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--sets", nargs="+", help="by default all that are there")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=USUAL)
    parser.add_argument("--out", type=Path, help="file for the lines of JSON, by default the screen")
    parser.add_argument("--from", type=Path, dest="lines", help="make the table from such lines, measure nothing")
    options = parser.parse_args()
    if options.lines:
        print(report([json.loads(line) for line in options.lines.read_text(encoding="utf-8").splitlines()]))
        return
    known = tuple(available())
    names = options.sets or known
    if options.quick:
        options.seeds, options.methods = (0,), QUICK_METHODS
        names = [name for name in QUICK_SETS if name in known][:2]
    if not names or set(names) - set(known):
        parser.error(
            f"sets are {', '.join(names) or 'none'}, expected some of {', '.join(known)}: set STREAMFS_DATA, install aeon"
        )
    found = []
    with options.out.open("a", encoding="utf-8") if options.out else nullcontext(sys.stdout) as out:
        for row in rows(options.seeds, names, options.methods):
            print(json.dumps(row), file=out, flush=True)
            found.append(row)
    print(f"{report(found)}\n{processor()}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of peers
    main()
