"""The problem of keeping a promise: everything on which its solution depends."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.metadata import version
from math import inf
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Feature, channels_of
from feature_extractors.report import READINGS
from streamfs.base.container import digest
from streamfs.base.progress import Progress, quiet, step
from streamfs.costs.pricing import Pricing
from streamfs.data.feature_table import FeatureTable, require_episodes, tabulate
from streamfs.data.rich_features import FEW_KERNELS, rich_features
from streamfs.data.streams import StreamSet
from streamfs.errors import TranslationError
from streamfs.procedure.procedure import Procedure
from streamfs.procedure.split import require_one_node
from streamfs.relief import position_grid
from streamfs.selection.by_name import SELECTORS, MakeSelector
from streamfs.training.arguments import require_seed
from streamfs.training.cross_validation import Learn
from streamfs.training.learners import (
    BOOSTING,
    FOREST,
    LEARNERS,
    N_TREES,
    boosting_learner,
    forest_learner,
    forest_rows,
    tree_learner,
)
from streamfs.training.models import TREE, own_learner
from streamfs.training.promises.candidates import Candidates, Propose
from streamfs.training.promises.certificate import Certificate
from streamfs.training.promises.channel_groups import FEW
from streamfs.training.promises.curve import Curve
from streamfs.training.promises.full_reading import fitted_to_all
from streamfs.training.promises.groups import worst_group
from streamfs.training.promises.held_out import HeldOut
from streamfs.training.promises.openings import fitted_later
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.proposals import propose
from streamfs.training.promises.search_and_certify import FittedModel, PromiseTrainer
from streamfs.training.promises.search_log import SearchLog
from streamfs.training.promises.search_settings import SearchSettings
from streamfs.training.promises.split import TrainTestSplit
from streamfs.training.promises.subset_score import SubsetScore, evaluate_subset
from streamfs.training.promises.subset_scorer import SubsetScorer

SCORES_VERSION = 10
"""Raised with every change of the scores, so that those of a previous version are not taken for new ones."""

N_SCOUTS = 20
"""Trees of the forests by which subsets are scored."""

SCOUTED_ROWS = 8000
"""Rows on which each of these forests is grown, or some more."""

TREE_ROWS = 50_000
"""Rows on which a single tree is grown, or some more."""

LEAF_SHARE = 0.25
"""Least number of streams in a leaf of a forest, over that of a single tree: its trees are averaged."""

SCOUTED_TICKS = 64
"""Most ticks at which a search classifies a stream, denser at the beginning."""

N_STARTS = 8
"""Most ticks from which decisions may begin that are tried, denser at the beginning."""


@dataclass(frozen=True, eq=False)
class PromiseProblem:
    """Streams, features, and all else on which a promised procedure depends, as `train_promised` describes it.

    `own` is the classifier that `learners` names, unless it is one of ours. If features are `rich`, those of all
    kinds are offered beside, which are read of the channels found.
    """

    streams: StreamSet
    promise: Promise
    features: Sequence[Feature]
    pricing: Pricing
    make_selector: MakeSelector | None
    learners: Sequence[str]
    min_leaf: float
    time_limit: int
    groups: npt.ArrayLike | None
    search: SearchSettings
    seed: int
    n_jobs: int
    own: object = None
    rich: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.promise, Promise):
            raise TypeError(f"promise is {self.promise!r}, expected a Promise, such as Promise(accuracy=0.9)")
        require_seed(self.seed)
        if not isinstance(self.n_jobs, Integral) or self.n_jobs == 0:
            raise ValueError(f"n_jobs is {self.n_jobs!r}, expected a whole number of threads, or -1 for all")
        if self.streams.weights is not None:
            raise ValueError("streams have weights, expected none: a promise counts each stream once")
        if self.pricing.sends is not None:
            require_one_node(channels_of(self.features))
        for name in self.learners:
            self._learner(name, N_TREES)  # what cannot be fitted is refused before the search

    @cached_property
    def split(self) -> TrainTestSplit:
        """The streams to train on, and those to test on."""
        return TrainTestSplit.of(self.streams, self.groups, self.seed)

    @cached_property
    def candidates(self) -> Candidates:
        """The features to search."""
        train, pricing = self.split.train, self.pricing
        vary = pricing.sends is None and not self.search.as_offered
        beside = rich_features(train, self.seed, FEW_KERNELS) if self.rich and self._reads_all else ()
        return Candidates.among(
            train, self.features, self._propose(train), vary=vary, shared=pricing.shares_channels, beside=beside
        )

    @property
    def _reads_all(self) -> bool:
        """Whether all features of the channels found are tried, as they cost no message more."""
        return self.pricing.shares_channels and not self.search.as_offered and FOREST in self.learners

    def trainer(self, progress: Progress = quiet) -> PromiseTrainer:
        """Compute the candidates on the training streams."""
        split, candidates = self.split, self.candidates
        with step(progress, "computing the features"):
            table = tabulate(split.train, candidates.features, self.pricing.max_silence)
            spending = self.pricing.spending_of(split.train, table)
        require_episodes(split.train, table.features, table.lengths)
        scout = self.learners[0] if self.learners[0] in (FOREST, TREE) else FOREST  # others may be slow to fit
        limit = self.time_limit
        scouted = HeldOut(
            table,
            spending,
            self._learner(scout, N_SCOUTS, SCOUTED_ROWS),
            limit,
            split.groups,
            self.seed,
            self.n_jobs,
            SCOUTED_TICKS,
            leaves_groups_out=self.groups is not None,
        )
        learners = {name: self._learner(name, N_TREES) for name in self.learners}
        max_cost = inf if self.search.max_cost is None else self.search.max_cost
        starts = starts_of(table, limit, self.promise.completeness or 0.5)
        return PromiseTrainer(split, candidates, self.pricing, scouted, learners, limit, starts, max_cost)

    def procedure(self, about: dict[str, Any], progress: Progress = quiet) -> Procedure:
        """Search, fit and test; `about` is what every procedure records.

        Raises
        ------
        DataError
            If there are too few streams for the test.
        PromiseError
            If no threshold keeps the promise.
        """
        self.split.require_enough(self.promise)
        found = self.found(progress)
        if self.pricing.sends is not None:
            whole = replace(self, pricing=replace(self.pricing, sends=None)).found(progress).split_if_cheaper(self)
            found = max(whole, found, key=Found.score)  # of equals readings
            about = {**about, "sends": found.problem.pricing.sends or READINGS}
        return found.problem.certified(found, about)

    def found(self, progress: Progress) -> "Found":
        """Search and fit the best model, which is not tested yet."""
        trainer, settings = self.trainer(progress), self.search
        log = None if settings.resume is None else SearchLog(settings.resume, self._digest())
        scorer = trainer.scorer(self.promise, settings.seconds, log, progress=progress)
        trainer.search(scorer, settings.strategy)
        with step(progress, "building the classifier"):
            best = trainer.fit_best(scorer)
        if self.pricing.sends is None and not settings.as_offered and settings.strategy == "floating":
            with step(progress, "searching when channels open"):
                trainer, best = fitted_later(trainer, scorer, best)
        if self._reads_all:
            with step(progress, "trying all features of the channels"):
                trainer, best = fitted_to_all(trainer, best, self.promise)
        return Found(self, trainer, scorer, trainer.tuned(best, self.promise))

    def certified(self, found: "Found", about: dict[str, Any]) -> Procedure:
        """Test what was found, and return it as a procedure with its evidence."""
        _, trainer, scorer, model = found
        certificate = trainer.certify(model, self.promise)
        later = trainer.later(model, certificate.point.threshold)
        everything = scorer.scores.get(tuple(sorted(self.candidates.proposed)))
        evidence = {
            **certificate.to_json(self.streams.classes),
            **model.evidence(certificate.point.threshold),
            **self._worst_group(trainer, model, certificate),
            **({} if later is None else {"later": later._asdict()}),
            "searched_on": len(self.split.train),
            **self.split.ties._asdict(),
            "subsets": len(scorer.scores),
            "all_features_cost": everything.cost if everything is not None and everything.is_likely else None,
        }
        about = {**about, "classifier": model.learner, "promise": evidence}
        return self.assembled(model, certificate.point.threshold, about)

    def _worst_group(
        self, trainer: PromiseTrainer, model: FittedModel, certificate: Certificate
    ) -> dict[str, dict[str, Any]]:
        """Return the group of test streams whose labels are right least often; nothing without groups."""
        if self.split.test_groups is None:
            return {}
        followed = trainer.follow(model, self.split.test)
        labels, _ = followed.trajectories.decide(certificate.point.threshold)
        return {"worst_group": worst_group(labels, followed.truth, self.split.test_groups)}

    def assembled(self, model: FittedModel, threshold: float, about: dict[str, Any]) -> Procedure:
        """Put a model and a threshold together."""
        train, levels = self.split.train, model.levels if self.pricing.sends == "crossings" else None
        return Procedure(
            model.features,
            model.classifier,
            self.streams.classes,
            self.pricing.costs(train, model.features, shared=True, levels=levels),
            threshold,
            self.time_limit,
            self.streams.period,
            self.pricing.max_silence,
            self.pricing.costs(train, self.features, shared=True),
            about,
            model.stopping(threshold),
        )

    def _digest(self) -> str:
        """Return a short name for all on which scores depend."""
        train, groups = self.split.train, self.split.groups
        words = (
            self.streams.names,
            self.streams.columns,
            self.streams.period,
            self.promise,
            [feature.name for feature in self.candidates.features],
            self.pricing,
            self.pricing.awake,
            self.pricing.sends,
            self.learners,
            self.min_leaf,
            self.time_limit,
            self.search.max_cost,
            self.seed,
            version("streamfs"),
            SCORES_VERSION,
        )
        parts = (
            train.values,
            train.lengths,
            np.char.encode(train.labels, "utf-8"),
            np.asarray("" if groups is None else groups),
        )
        return digest(repr(words).encode() + b"".join(part.tobytes() for part in parts))

    def _propose(self, streams: StreamSet) -> Propose | None:
        """Return what ranks the candidates; None if all are searched, as they are few, or are to be exhausted."""
        are_many = sum(bool(feature.columns) for feature in self.features) > FEW
        if self.make_selector is None or self.search.strategy == "exhaustive" or not are_many:
            return None
        accuracy = self.promise.accuracy
        return partial(propose, streams, self.pricing, self.make_selector, accuracy, self.time_limit, self.seed)

    def _learner(self, name: str, n_trees: int, most_rows: int | None = None) -> Learn:
        if name == FOREST:
            return forest_learner(LEAF_SHARE * self.min_leaf, self.time_limit, self.seed, n_trees, most_rows)
        if name == BOOSTING:
            return boosting_learner(self.time_limit, self.seed)
        if name == TREE:
            return tree_learner(self.min_leaf, self.time_limit, TREE_ROWS)
        return own_learner(self.own, LEARNERS, partial(forest_rows, time_limit=self.time_limit))


def starts_of(table: FeatureTable, time_limit: int, share: float) -> tuple[int, ...]:
    """Return ticks from which decisions may begin: from 1 to one that a share of each class's streams reach."""
    of_classes = (table.lengths[table.labels == label] for label in np.unique(table.labels))
    last = max(1, min(time_limit, *(int(np.quantile(lengths, 1.0 - share)) for lengths in of_classes)))
    return tuple(position_grid(last, N_STARTS, "geometric").tolist())


def trainer_of(
    streams: StreamSet, features: Sequence[Feature], pricing: Pricing, time_limit: int, seed: int
) -> PromiseTrainer:
    """Return a trainer of forests on the features as they are offered, for any promise."""
    return PromiseProblem(
        streams,
        Promise(),
        features,
        pricing,
        SELECTORS["streamrelief"],
        learners=(FOREST,),
        min_leaf=2,
        time_limit=time_limit,
        groups=None,
        search=SearchSettings(as_offered=True),
        seed=seed,
        n_jobs=1,
    ).trainer()


class Found(NamedTuple):
    """The best model of a problem, and what it was found with."""

    problem: PromiseProblem
    trainer: PromiseTrainer
    scorer: SubsetScorer
    model: FittedModel

    def score(self) -> float:
        """Return how good the model is on held-out streams, as subsets are scored."""
        return self.scored(self.model.held_out).score

    def split_if_cheaper(self, problem: PromiseProblem) -> Self:
        """Return the same model for another problem, where nodes send features, if that costs less where it is.

        Its decisions are the same, but for training streams, by which this is settled, they come early.
        """
        split = self._replace(problem=problem, trainer=replace(self.trainer, pricing=problem.pricing))
        try:
            require_one_node(channels_of(self.model.features))
            paid = [
                each.scored(each.trainer.curve(self.model, problem.split.train)).cost for each in (self, split)
            ]
        except TranslationError:
            return self
        return split if paid[1] < paid[0] else self

    def scored(self, curve: Curve) -> SubsetScore:
        """Score the model by a curve."""
        n_test = len(self.problem.split.test)
        return evaluate_subset(curve, self.problem.promise, n_test, max_cost=self.trainer.max_cost)
