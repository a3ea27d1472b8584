"""Methods of early classification: streamfs, triggers on its probabilities, prefix forests, other packages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from time import process_time
from typing import Any, NamedTuple, Protocol

import numpy as np

from feature_extractors.arrays import Array, Integers
from streamfs.classifiers.classifier import Classifier
from streamfs.data.clock import clock_of
from streamfs.data.feature_table import tabulate
from streamfs.data.stream_arrays import Labels
from streamfs.errors import MissingExtraError, TrainingError
from streamfs.evaluation.evaluation import evaluate
from streamfs.experiments.early.peers import (
    Decided,
    NonMyopic,
    PrefixForests,
    ProbabilityThreshold,
    Teaser,
    even_points,
    load_peer,
)
from streamfs.experiments.early.series import LabelledSeries, Split
from streamfs.experiments.early.triggers import TRIGGERS, ConstantThreshold, DecisionCost, Trigger
from streamfs.selection.folds import make_folds
from streamfs.training.cost_aware import train
from streamfs.training.cross_validation import N_FOLDS
from streamfs.training.decision_points import decision_points
from streamfs.training.learners import small_leaf_learner
from streamfs.training.least_cost import repetitions

OURS = "streamfs"
ALPHAS = (0.1, 0.3, 0.5, 0.7, 0.9)
MIDDLE = 0.5
AT_OURS = ", our ticks"


class Trial(NamedTuple):
    """What a method decides with nothing set, and at each alpha; CPU seconds of fitting and deciding, once."""

    decided: Decided
    at: Mapping[float, Decided]
    fit: float
    deciding: float
    n_cases: int


@dataclass(frozen=True)
class Task:
    """A set, as recorded or disturbed, and a seed."""

    split: Split
    seed: int
    procedures: dict[float | None, tuple[Any, float]] = field(default_factory=dict)
    bases: dict[tuple[float, bool], "Base"] = field(default_factory=dict)

    @cached_property
    def classes(self) -> Labels:
        """The classes of the train series."""
        return np.unique(self.split.train.labels)

    def truth(self, series: LabelledSeries) -> Integers:
        """Return the class of each series as a whole number; -1 if no train series has it."""
        return np.asarray(
            np.where(self.classes == series.labels[:, np.newaxis], np.arange(len(self.classes)), -1).max(axis=1)
        )

    @cached_property
    def training(self) -> tuple[Array, Integers]:
        """Values and classes of the train series."""
        return self.split.train.values, self.truth(self.split.train)

    def trained(self, alpha: float | None) -> tuple[Any, float]:
        """Our procedure at an alpha, or with nothing set, and CPU seconds."""
        if alpha not in self.procedures:
            error, delay = (None, None) if alpha is None else (alpha, 1.0 - alpha)
            streams, start = self.split.train.streams(), process_time()
            procedure = train(streams, seed=self.seed, error_cost=error, delay_cost=delay)
            self.procedures[alpha] = procedure, process_time() - start
        return self.procedures[alpha]

    def base(self, alpha: float, is_even: bool = True) -> "Base":
        """What our forest says of the streams, with the channels that are chosen at an alpha.

        It is said at evenly spread prefixes, as peers have them, or at the ticks at which ours may decide.
        """
        if (alpha, is_even) not in self.bases:
            self.bases[alpha, is_even] = Base.of(self, alpha, is_even)
        return self.bases[alpha, is_even]

    @cached_property
    def forests(self) -> tuple[PrefixForests, float]:
        """Random forests of prefixes, and CPU seconds."""
        start = process_time()
        return PrefixForests().fit(*self.training, self.seed), process_time() - start


class Base(NamedTuple):
    """Probabilities of our forest for held-out train series and for test series, and CPU seconds for both.

    Train series may be held out several times, one repetition after the other.
    """

    held_out: Array
    test: Array
    points: Integers
    fit: float
    deciding: float

    @classmethod
    def of(cls, task: Task, alpha: float, is_even: bool) -> "Base":
        """Follow the train series out of fold with the features of our procedure, as it was calibrated itself."""
        procedure, fit = task.trained(alpha)
        start = process_time()
        seen = tabulate(task.split.train.streams(), procedure.features, procedure.max_silence)
        ours = decision_points(seen.n_ticks, len(seen.labels))
        points = even_points(seen.n_ticks) if is_even else ours
        served: Any = procedure.classifier  # a forest, whose roots all cut the count of samples, or hardly any
        by_clock = bool((served.feature[served.roots] == clock_of(procedure.features)).all())
        learn = small_leaf_learner(ours, task.seed, by_clock=by_clock)
        n_repetitions = 1 if is_even else repetitions(len(seen.labels))
        held_out = np.zeros((n_repetitions, len(seen.labels), len(points), len(task.classes)))
        for n, each in enumerate(held_out):
            for fold in make_folds(np.zeros((len(each), 1)), seen.labels, None, N_FOLDS, task.seed + n):
                forest = learn(seen.take(fold.training))
                each[fold.test] = _followed(forest, seen.values[fold.test][:, points - 1])
        middle = process_time()
        unseen = tabulate(task.split.test.streams(), procedure.features, procedure.max_silence)
        test = _followed(procedure.classifier.uncalibrated(), unseen.values[:, points - 1])
        all_held_out = held_out.reshape(-1, *held_out.shape[2:])
        return cls(all_held_out, test, points, fit + middle - start, process_time() - middle)


def _followed(forest: Classifier, values: Array) -> Array:
    n, n_points, n_features = values.shape
    rows = np.ascontiguousarray(values).reshape(n * n_points, n_features)
    return np.asarray(forest.probabilities(rows)).reshape(n, n_points, -1)


class Peer(Protocol):
    """A method with one operating point, that decides at most some test series."""

    most_cases: int

    def fit(self, values: Array, classes: Integers, seed: int) -> object:
        """Fit to series of shape (n_series, n_ticks, n_columns) and classes as whole numbers."""

    def decide(self, values: Array) -> Decided:
        """Decide series."""


def ours(task: Task) -> Trial:
    """Train with nothing set, and at each alpha with its costs. A refusal labels nothing."""
    test = task.split.test
    streams, n = test.streams(), len(test.labels)
    place = {str(label): c for c, label in enumerate(task.classes)}

    def decided(alpha: float | None) -> tuple[Decided, float, float]:
        try:
            procedure, fit = task.trained(alpha)
        except TrainingError:
            return Decided(np.full(n, -1), np.full(n, test.values.shape[1]), np.zeros(n)), 0.0, 0.0
        start = process_time()
        decisions = evaluate(procedure, streams).decisions
        made = Decided(
            np.array([place.get(str(d.label), -1) for d in decisions]),
            np.array([d.tick if d.label is not None else test.values.shape[1] for d in decisions]),
            np.array([d.confidence for d in decisions]),
        )
        return made, fit, process_time() - start

    usual, fit, deciding = decided(None)
    return Trial(usual, {alpha: decided(alpha)[0] for alpha in ALPHAS}, fit, deciding, n)


def trigger(make: Callable[[], Trigger], is_even: bool = True) -> Callable[[Task], Trial]:
    """Let a trigger decide on our forest's probabilities, at evenly spread prefixes or at our ticks."""
    return lambda task: _triggered(make, task, lambda alpha: task.base(alpha, is_even))


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
    """Fit a trigger at each alpha, and let it decide the test series; with nothing set, at the middle one."""
    decided, fit, deciding = {}, 0.0, 0.0
    for alpha in ALPHAS:
        base = base_at(alpha)
        when = base.points / task.split.test.values.shape[1]
        start = process_time()
        truth = np.tile(task.training[1], len(base.held_out) // len(task.training[1]))
        rule = make().fit(base.held_out, truth, when, DecisionCost(alpha, 1.0 - alpha))
        middle = process_time()
        stops = rule.stops(base.test)
        if alpha == MIDDLE:
            fit, deciding = base.fit + middle - start, base.deciding + process_time() - middle
        at = base.test[np.arange(len(stops)), stops]
        decided[alpha] = Decided(at.argmax(axis=1), base.points[stops], at.max(axis=1))
    return Trial(decided[MIDDLE], decided, fit, deciding, len(task.split.test.labels))


def peer(make: Callable[[], Peer]) -> Callable[[Task], Trial]:
    """Let a peer with one operating point decide."""

    def measured(task: Task) -> Trial:
        method = make()
        test = task.split.test.sample(method.most_cases, seed=0)
        start = process_time()
        method.fit(*task.training, task.seed)
        middle = process_time()
        decided = method.decide(test.values)
        end = process_time()
        return Trial(decided, dict.fromkeys(ALPHAS, decided), middle - start, end - middle, len(test.labels))

    return measured


METHODS: Mapping[str, Callable[[Task], Trial]] = {
    OURS: ours,
    **{name: trigger(make) for name, make in TRIGGERS.items()},
    **{f"{name}{AT_OURS}": trigger(make, is_even=False) for name, make in TRIGGERS.items()},
    "RF fixed": prefix_forests(lambda: ConstantThreshold(0.9)),
    "RF tuned": prefix_forests(ConstantThreshold),
    "aeon PT": peer(ProbabilityThreshold),
    "tslearn NonMyopic": peer(NonMyopic),
    "aeon TEASER": peer(Teaser),
}
NEEDED = {"aeon PT": "aeon", "aeon TEASER": "aeon", "tslearn NonMyopic": "tslearn"}
USUAL = tuple(name for name in METHODS if name != "aeon TEASER" and not name.endswith(AT_OURS))
"""TEASER takes up to a minute to fit, and is measured when it is named; so are triggers at our ticks."""


def is_installed(method: str) -> bool:
    """Return whether the package that a method needs is installed."""
    try:
        return method not in NEEDED or load_peer(NEEDED[method]) is not None
    except MissingExtraError:
        return False
