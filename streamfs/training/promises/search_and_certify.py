"""From recorded streams and a promise to the cheapest procedure that keeps it, or to why there is none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import cycle
from typing import TYPE_CHECKING, cast

import numpy as np

from feature_extractors.base import Feature
from streamfs.base.progress import Progress, step
from streamfs.classifiers.calibration import Calibration
from streamfs.costs.pricing import Pricing
from streamfs.data.feature_table import require_episodes, tabulate
from streamfs.data.streams import StreamSet
from streamfs.evaluation.trajectories import Trajectories
from streamfs.training.learners import fit_until_all_tested
from streamfs.training.promises.candidates import Candidates
from streamfs.training.promises.certificate import Certificate, certify, walk
from streamfs.training.promises.channel_groups import Bundles
from streamfs.training.promises.cheapest import SEARCHING, Cheapest, Judged, judge
from streamfs.training.promises.curve import Curve
from streamfs.training.promises.held_out import HeldOut, class_indices
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.refusal import refusal
from streamfs.training.promises.search_log import Judgements
from streamfs.training.promises.split import Division
from streamfs.training.subset_size import Learn

if TYPE_CHECKING:
    from streamfs.classifiers.forest import Forest
    from streamfs.classifiers.tree import Tree


SCOUTED_TICKS = 64
"""Ticks at which a search classifies a stream at most, denser at the beginning."""


@dataclass(frozen=True, eq=False)
class Frozen:
    """A classifier on some features, learnt, calibrated, and changed no more.

    Parameters
    ----------
    features : tuple of Feature
        What it reads.
    classifier : Tree or Forest
        Calibrated.
    learner : str
        Which of the learners made it.
    held_out : Curve
        What its like came to on the streams that it was learnt from, held out, over calibrated thresholds.
    """

    features: tuple[Feature, ...]
    classifier: "Tree | Forest"
    learner: str
    held_out: Curve


@dataclass(eq=False)
class Maker:
    """What it takes to make a procedure that keeps a promise.

    Parameters
    ----------
    division : Division
        The streams.
    promise : Promise
        To be kept.
    candidates : Candidates
        Features to search.
    pricing : Pricing
        What features cost.
    scout : callable
        What learns quickly, to judge subsets by.
    learners : mapping of str to callable
        What may learn the classifier: the one with which the features found are the cheapest does.
    time_limit : int
        Ticks.
    seed : int
        Seeds the folds.
    n_jobs : int
        Folds that are learnt at once; the result is the same for any number.
    progress : callable
        Told of the steps.
    """

    division: Division
    promise: Promise
    candidates: Candidates
    pricing: Pricing
    scout: Learn
    learners: Mapping[str, Learn]
    time_limit: int
    seed: int
    n_jobs: int
    progress: Progress

    def search(
        self,
        way: str = "floating",
        seconds: float | None = None,
        known: Judgements | None = None,
        curves: dict[tuple[int, ...], Curve] | None = None,
    ) -> Cheapest:
        """Search the cheapest features with which the promise can be kept.

        Parameters
        ----------
        way : {"floating", "exhaustive"}
            Floating selection, then exchanges, of what goes in together, then of single features if they are few;
            or all subsets.
        seconds : float, optional
            Time after which the best so far is taken.
        known : Judgements, optional
            What an earlier search has judged.
        curves : dict from tuple of int to Curve, optional
            Curves that searches for other promises have computed, added to.
        """
        free, n_test = self.candidates.free, len(self.division.testing)
        shared = {} if curves is None else curves
        search = Cheapest(self.scouted, self.promise, n_test, free, seconds, self.progress, known, shared)
        if way == "exhaustive":
            search.exhaust([(place,) for place in self.candidates.proposed])
        else:
            search_by_turns(search, self.candidates.bundles)
        self.progress(SEARCHING, len(search.judged), len(search.judged))
        return search

    def freeze(self, found: Judged) -> Frozen:
        """Learn the classifier on all streams that it may learn from, and calibrate it.

        Raises
        ------
        TrainingError
            If the features do not tell the classes apart.
        """
        chosen = [*self.candidates.free, *found.subset]
        followed = {name: self.held_out(name).curve_and_records(chosen) for name in self.learners}
        name = max(self.learners, key=lambda name: self._judged(followed[name][0], found.subset).score)
        curve, records = followed[name]
        calibration = Calibration.fit(*records)
        features = [self.candidates.features[i] for i in chosen]
        tested, fitted = fit_until_all_tested(
            self.learners[name], self.division.learning, features, self.pricing.max_silence
        )
        classifier = cast("Tree | Forest", fitted).calibrated(calibration)
        calibrated = replace(curve, thresholds=calibration.of(curve.thresholds, n_classes=classifier.n_classes))
        return Frozen(tuple(features[i] for i in tested), classifier, name, calibrated)

    def certify(self, frozen: Frozen) -> Certificate:
        """Test the thresholds of a frozen classifier on the streams that have taken no part so far.

        Raises
        ------
        PromiseError
            If none passes.
        """
        curve = self.curve(frozen, self.division.testing)
        order = walk(frozen.held_out, self.promise, curve.n_streams)
        certificate = certify(curve, self.promise, order)
        if certificate is None:
            raise refusal(curve, self.promise, len(self.division.learning) + curve.n_streams)
        return certificate

    def curve(self, frozen: Frozen, streams: StreamSet) -> Curve:
        """What thresholds come to on streams that took no part in the learning."""
        table = tabulate(streams, frozen.features, self.pricing.max_silence)
        trajectories = Trajectories.of(frozen.classifier, table, self.time_limit)
        truth = class_indices(table, np.unique(self.division.learning.labels))
        spent = self.pricing.spending(streams, frozen.features, table.lengths).until(frozen.features)
        return Curve.of(trajectories, truth, spent)

    @cached_property
    def scouted(self) -> HeldOut:
        """What judges subsets quickly.

        Raises
        ------
        DataError
            If streams of a class never have all their readings at once, or are too few to hold some out.
        """
        streams, features = self.division.learning, self.candidates.features
        with step(self.progress, "computing the features"):
            table = tabulate(streams, features, self.pricing.max_silence)
            spending = self.pricing.spending(streams, features, table.lengths)
        require_episodes(table, streams)
        groups, limit = self.division.groups, self.time_limit
        return HeldOut(table, spending, self.scout, limit, groups, self.seed, self.n_jobs, SCOUTED_TICKS)

    def held_out(self, learner: str) -> HeldOut:
        """What judges subsets at every tick, with one of the learners."""
        return replace(self.scouted, learn=self.learners[learner], most_ticks=None)

    def judge(self, subset: Sequence[int], learner: str | None = None) -> Judged:
        """What a subset comes to on held-out streams, by default with the scout."""
        held_out = self.scouted if learner is None else self.held_out(learner)
        return self._judged(held_out.curve([*self.candidates.free, *subset]), subset)

    def _judged(self, curve: Curve, subset: Sequence[int]) -> Judged:
        return judge(curve, self.promise, len(self.division.testing), tuple(subset))


def search_by_turns(search: Cheapest, ways: Sequence[Bundles]) -> None:
    """Search what goes in together in one way after the other, until none finds anything cheaper any more."""
    found, n_settled = None, 0
    for way in cycle(ways):
        before, found = found, search.search(way.proposed, way.variants)
        n_settled = n_settled + 1 if found is before else 1
        if n_settled == len(ways):
            return
