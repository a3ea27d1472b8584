"""From recorded streams and a promise to a procedure that keeps it, in one go."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import version
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Feature
from streamfs.base.container import digest
from streamfs.base.progress import Progress, quiet, step
from streamfs.costs.pricing import Pricing
from streamfs.data.streams import StreamSet
from streamfs.procedure.procedure import Procedure
from streamfs.selection.by_name import SELECTORS, MakeSelector
from streamfs.training.learners import FOREST, N_TREES, forest_learner, tree_learner
from streamfs.training.promises.candidates import Candidates, Propose
from streamfs.training.promises.certificate import Certificate
from streamfs.training.promises.channel_groups import FEW
from streamfs.training.promises.cheapest import Cheapest
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.proposals import propose
from streamfs.training.promises.search_and_certify import Frozen, Maker
from streamfs.training.promises.search_log import Judgements
from streamfs.training.promises.split import Division
from streamfs.training.subset_size import Learn

STRATEGIES = ("floating", "exhaustive")

JUDGED_AS = 3
"""Raised with every change of what judgements come to, so that those of before are not taken for new ones."""

N_SCOUTS = 30
"""Trees of the forests that subsets are judged by."""


@dataclass(frozen=True)
class SearchSettings:
    """How subsets of features are searched.

    Parameters
    ----------
    strategy : {"floating", "exhaustive"}
        Exhaustively of at most ten features, as they are offered.
    vary : bool
        Whether the same features over cheaper channels are searched, too. Costs of your own say nothing of these,
        which then are not.
    seconds : float, optional
        Time for the search, after which the best subset so far is taken.
    resume : path, optional
        A file in which the search logs the subsets that it scores, and from which the next search reads them.

    Raises
    ------
    ValueError
        If the strategy is not one of these, or the time is not more than 0.
    """

    strategy: str = "floating"
    vary: bool = True
    seconds: float | None = None
    resume: str | Path | None = None

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ValueError(f"strategy is {self.strategy!r}, expected one of {', '.join(STRATEGIES)}")
        if self.seconds is not None and not (isinstance(self.seconds, Real) and self.seconds > 0):
            raise ValueError(f"seconds is {self.seconds!r}, expected a number of more than 0")


@dataclass(eq=False)
class PromiseProblem:
    """Everything on which a promised procedure depends; `train_promised` describes the parameters."""

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
    progress: Progress

    def __post_init__(self) -> None:
        if not isinstance(self.promise, Promise):
            raise TypeError(f"promise is {self.promise!r}, expected a Promise, such as Promise(accuracy=0.9)")
        if not isinstance(self.seed, Integral) or self.seed < 0:
            raise ValueError(f"seed is {self.seed!r}, expected a whole number, at least 0")
        if not isinstance(self.n_jobs, Integral) or self.n_jobs == 0:
            raise ValueError(f"n_jobs is {self.n_jobs!r}, expected a whole number of threads, or -1 for all")

    @cached_property
    def maker(self) -> Maker:
        """What makes the procedure: the streams divided, and the candidates gathered."""
        division = Division.of(self.streams, self.groups, self.seed)
        candidates = Candidates.among(
            division.learning,
            self.features,
            self._propose(division.learning),
            vary=self.search.vary,
            shared=self.pricing.own is None,
        )
        return Maker(
            division,
            self.promise,
            candidates,
            self.pricing,
            self._learner(self.learners[0], N_SCOUTS),
            {name: self._learner(name, N_TREES) for name in self.learners},
            self.time_limit,
            self.seed,
            self.n_jobs,
            self.progress,
        )

    def procedure(self, about: dict[str, Any]) -> Procedure:
        """Search, learn and test.

        Parameters
        ----------
        about : dict
            What is said of any procedure: versions, seed.

        Raises
        ------
        DataError
            If there are too few streams for the test.
        PromiseError
            If no threshold keeps the promise.
        """
        self.maker.division.require_enough(self.promise)
        settings = self.search
        known = None if settings.resume is None else Judgements(settings.resume, self._problem())
        search = self.maker.search(settings.strategy, settings.seconds, known)
        with step(self.progress, "building the classifier"):
            frozen = self.maker.freeze(search.best)
        certificate = self.maker.certify(frozen)
        return self.assembled(
            frozen, certificate.point.threshold, about | self._evidence(search, frozen, certificate)
        )

    def assembled(self, frozen: Frozen, threshold: float, about: dict[str, Any]) -> Procedure:
        """Put a frozen classifier and a threshold together."""
        learning = self.maker.division.learning
        return Procedure(
            frozen.features,
            frozen.classifier,
            self.streams.classes,
            self.pricing.costs(learning, frozen.features, shared=True),
            threshold,
            self.time_limit,
            self.streams.period,
            self.pricing.max_silence,
            self.pricing.costs(learning, self.features, shared=True),
            about,
        )

    def _evidence(self, search: Cheapest, frozen: Frozen, certificate: Certificate) -> dict[str, Any]:
        everything = self.maker.judge(self.maker.candidates.proposed)
        return {
            "classifier": frozen.learner,
            "promise": {
                **certificate.to_json(),
                "searched_on": len(self.maker.division.learning),
                "subsets": len(search.judged),
                "all_features_cost": everything.cost if everything.is_likely else None,
            },
        }

    def _problem(self) -> str:
        """A short name for all on which what is judged depends."""
        learning = self.maker.division.learning
        words = (
            self.streams.names,
            self.streams.columns,
            self.streams.period,
            self.promise,
            [feature.name for feature in self.maker.candidates.features],
            self.pricing,
            self.learners,
            self.min_leaf,
            self.time_limit,
            self.seed,
            version("streamfs"),
            JUDGED_AS,
        )
        groups = self.maker.division.groups
        parts = (
            learning.values,
            learning.lengths,
            np.char.encode(learning.labels, "utf-8"),
            np.asarray("" if groups is None else groups),
        )
        return digest(repr(words).encode() + b"".join(part.tobytes() for part in parts))

    @property
    def _are_many(self) -> bool:
        """Whether there are more features than can be searched one by one."""
        return sum(bool(feature.columns) for feature in self.features) > FEW

    def _propose(self, learning: StreamSet) -> Propose | None:
        """What ranks the candidates; None where all are searched, as they are few, or are to be exhausted."""
        if self.make_selector is None or self.search.strategy == "exhaustive" or not self._are_many:
            return None
        return partial(
            propose,
            learning,
            self.pricing,
            self.make_selector,
            self.promise.accuracy,
            self.time_limit,
            self.seed,
        )

    def _learner(self, name: str, n_trees: int) -> Learn:
        if name == FOREST:
            return forest_learner(self.min_leaf, self.time_limit, self.seed, n_trees)
        return tree_learner(self.min_leaf, self.time_limit)


def maker_of(
    streams: StreamSet, features: Sequence[Feature], pricing: Pricing, time_limit: int, seed: int
) -> Maker:
    """What makes procedures of forests on features as they are offered, for any promise.

    Raises
    ------
    DataError
        If there are too few streams to set some apart.
    """
    problem = PromiseProblem(
        streams,
        Promise(),
        features,
        pricing,
        SELECTORS["streamrelief"],
        learners=(FOREST,),
        min_leaf=2,
        time_limit=time_limit,
        groups=None,
        search=SearchSettings(vary=False),
        seed=seed,
        n_jobs=1,
        progress=quiet,
    )
    return problem.maker
