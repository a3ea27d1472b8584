"""Certify a procedure anew by labelled streams of the place where it serves."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, cast

import numpy.typing as npt

from streamfs.base.progress import Progress, quiet, step
from streamfs.costs.pricing import Pricing
from streamfs.data.streams import StreamSet, require_streams
from streamfs.errors import DataError
from streamfs.procedure.card_schema import (
    falling_of,
    is_certified,
    read_card,
    read_earlier,
    read_promise,
    read_sends,
)
from streamfs.procedure.fits import require_classes, require_columns, require_period
from streamfs.procedure.procedure import Procedure
from streamfs.training.description import made_with, reference_on, with_card
from streamfs.training.learners import LEARNERS
from streamfs.training.other_thresholds import follow_priced, other_thresholds
from streamfs.training.promises.certificate import Certificate
from streamfs.training.promises.giving_up import Patience
from streamfs.training.promises.problem import PromiseProblem
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.search_and_certify import FittedModel, PromiseTrainer
from streamfs.training.promises.search_settings import SearchSettings
from streamfs.training.promises.split import N_PARTS, N_TEST_PARTS
from streamfs.training.promises.subset_score import EVEN, evaluate_subset

MOST = 100_000
"""Most streams that are counted as needed."""

PROBABLE = 0.8
"""Probability with which the test passes with the number of streams that are said to be needed."""


def streams_needed(promise: Promise, accuracy: float = 1.0) -> int | None:
    """Return how many labelled streams a certificate needs if labels are right with a probability of `accuracy`.

    Parameters
    ----------
    promise : Promise
        To be certified.
    accuracy : float
        Of labels; 1 by default, with which fewest streams are needed.

    Returns
    -------
    int or None
        With which the test of one threshold, which labels every stream, passes with a probability of 0.8; None if
        more than 100000 are needed.

    Examples
    --------
    >>> streams_needed(Promise(0.8)), streams_needed(Promise(0.8), 0.9), streams_needed(Promise(0.8), 0.8)
    (35, 205, None)
    """
    n = promise.fewest_streams
    while n <= MOST:
        if promise.chances(1.0, accuracy, n) >= PROBABLE:
            return ceil(n * N_PARTS / N_TEST_PARTS)
        n += 1 + n // 100
    return None


def promise_of(procedure: Procedure) -> Promise:
    """Return what was promised of a procedure; raise a ValueError if nothing was."""
    old = read_promise(procedure.about.get("promise"))
    if old is None:
        raise ValueError("promise is None, expected one: nothing was promised of the model so far")
    return Promise(old["accuracy"], old["completeness"], old["risk"], old.get("per_class"))


def recertify(
    procedure: Procedure,
    streams: StreamSet,
    promise: Promise | None = None,
    *,
    retrain: bool = True,
    groups: npt.ArrayLike | None = None,
    seed: int = 0,
    n_jobs: int = -1,
    progress: Progress | None = None,
) -> Procedure:
    """Certify a procedure anew by labelled streams of another place, with another threshold or classifier.

    Parameters
    ----------
    procedure : Procedure
        What serves there.
    streams : StreamSet
        Labelled streams from there, drawn without regard to what the procedure says of them.
    promise : Promise, optional
        To be kept there; by default what was promised so far.
    retrain : bool
        Whether the classifier may be fitted anew, to the same features or some of them, if no threshold will do.
    groups : array_like of shape (n_streams,), optional
        What streams have in common; see `train_promised`.
    seed, n_jobs : int
        As in `train_promised`.
    progress : callable, optional
        Called with the progress of each step.

    Returns
    -------
    Procedure
        The evidence is its ``about["promise"]``; the previous promise, and the digest of the procedure that it was
        made of, is in ``about["recertified"]``, a list with the newest last.

    Raises
    ------
    DataError
        If the streams are too few, do not fit the procedure, or lack one of its classes.
    PromiseError
        If no threshold keeps the promise.
    TrainingError
        If the features tell nothing here.
    ValueError
        If there is no promise to be kept.

    Notes
    -----
    Three fifths of the streams show at which thresholds the procedure may keep the promise here. If the test will
    rather fail for all, a classifier is fitted to them. Which of the two is tested, and at which thresholds, is
    then settled; the test on the other two fifths is that of `train_promised`, once.

    Examples
    --------
    >>> import numpy as np
    >>> from streamfs.training.promises.promised import train_promised
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["calm", "busy"], 60)
    >>> def recorded(level):
    ...     levels = np.where(labels == "calm", level, level + 2)[:, None, None]
    ...     return StreamSet(rng.normal(levels, 1, (120, 12, 1)), labels, ["noise"])
    >>> procedure = train_promised(recorded(0.0), Promise(0.8), features=["mean(noise)"], n_jobs=1)
    >>> louder = recertify(procedure, recorded(3.0), n_jobs=1)
    >>> louder.about["recertified"][-1]["how"], louder.about["promise"]["accuracy"]
    ('classifier', 0.8)
    """
    _require(procedure, streams)
    if promise is None:
        promise = promise_of(procedure)
    place = _Place(procedure, _problem(procedure, streams, promise, groups, seed, n_jobs), promise)
    place.problem.split.require_enough(promise)
    return place.certified(progress or quiet, retrain=retrain, seed=seed)


@dataclass(frozen=True, eq=False)
class _Place:
    """A procedure at another place, and the problem of keeping its promise there."""

    procedure: Procedure
    problem: PromiseProblem
    promise: Promise

    def certified(self, progress: Progress, *, retrain: bool, seed: int) -> Procedure:
        trainer = self.problem.trainer(progress)
        kept = self._kept(trainer)
        model = kept
        if retrain and self._chance(kept) < EVEN:
            with step(progress, "fitting the classifier"):
                scorer = trainer.scorer(self.promise)
                trainer.search(scorer)
                fitted = trainer.tuned(trainer.fit_best(scorer), self.promise)
            model = max(kept, fitted, key=self._chance)
        certificate = trainer.certify(model, self.promise)
        about = self._about(certificate, model, "threshold" if model is kept else "classifier")
        if model is not kept:
            made = made_with(seed, self.problem.streams, [feature.name for feature in self.procedure.features])
            refitted = self.problem.assembled(model, certificate.point.threshold, made | about)
            split = self.problem.split
            return with_card(refitted, self.problem.streams, self.problem.pricing, split.test, split.test_groups)
        return self._at_threshold(certificate.point.threshold, model, self.procedure.about | about)

    def _kept(self, trainer: PromiseTrainer) -> FittedModel:
        """Return the model as it is, and what it does on the first part of the streams."""
        own, learner = self.procedure.rule.thresholds(), str(self.procedure.about.get("classifier", "c45"))
        start, patience, falling = 1, None, None
        certified = read_promise(self.procedure.about.get("promise"))
        if own is not None and len(set(own.levels)) == 1:
            start, patience = own.ticks[0], Patience(own.ticks[-1], own.floors[-1]) if own.gives_up else None
        elif own is not None and certified is not None and is_certified(own, certified):
            start, falling = own.ticks[0], falling_of(certified)
            tick, floor = certified.get("patience"), certified.get("floor")
            patience = None if tick is None or floor is None else Patience(tick, floor)
        classifier = cast("Any", self.procedure.classifier.frozen())
        unknown = cast("Any", None)
        model = FittedModel(self.procedure.features, classifier, learner, unknown, start, patience, falling)
        return replace(model, followed=trainer.follow(model, self.problem.split.train))

    def _chance(self, model: FittedModel) -> float:
        return evaluate_subset(model.held_out, self.promise, len(self.problem.split.test)).chance

    def _about(self, certificate: Certificate, model: FittedModel, how: str) -> dict[str, Any]:
        """Return the new evidence, and apart from it the old."""
        split, old = self.problem.split, self.procedure.about
        evidence = certificate.to_json(self.procedure.classes) | {
            **model.evidence(certificate.point.threshold),
            "searched_on": len(split.train),
            **split.ties._asdict(),
        }
        earlier = {"model": self.procedure.digest, "how": how, "promise": old.get("promise")}
        before = read_earlier(old.get("recertified"))
        return {"classifier": model.learner, "promise": evidence, "recertified": [*before, earlier]}

    def _at_threshold(self, threshold: float, model: FittedModel, about: Mapping[str, Any]) -> Procedure:
        stopping = model.stopping(threshold)
        moved = replace(
            self.procedure, classifier=model.classifier, confidence=threshold, stopping=stopping, about=dict(about)
        )
        test = self.problem.split.test
        reference = reference_on(moved, test, self.problem.split.test_groups, len(self.problem.streams))
        others = other_thresholds(follow_priced(moved, test, self.problem.pricing))
        return replace(moved, about={**about, "reference": reference, "other_thresholds": others})


def _require(procedure: Procedure, streams: StreamSet) -> None:
    require_streams(streams)
    require_classes(procedure, streams)
    require_period(procedure, streams)
    require_columns(procedure, streams)
    missing = set(procedure.classes) - set(streams.classes)
    if missing:
        raise DataError(f"no stream has the label {min(missing)!r}, expected all of the model's classes")


def _problem(
    procedure: Procedure,
    streams: StreamSet,
    promise: Promise,
    groups: npt.ArrayLike | None,
    seed: int,
    n_jobs: int,
) -> PromiseProblem:
    """Return the problem of keeping a promise with some of a procedure's features."""
    card = read_card(procedure.about.get("card"))
    radio, prices = ("transmissions", {}) if card is None else (card["radio"]["name"], card["prices"])
    return PromiseProblem(
        streams,
        promise,
        procedure.features,
        Pricing(radio, prices, procedure.max_silence, sends=read_sends(procedure.about)),
        make_selector=None,
        learners=LEARNERS,
        min_leaf=2,
        time_limit=procedure.time_limit,
        groups=groups,
        search=SearchSettings(as_offered=True),
        seed=seed,
        n_jobs=n_jobs,
    )
