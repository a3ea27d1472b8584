"""Reliability: the share of right answers by confidence."""

from typing import NamedTuple

import numpy as np

from feature_extractors.arrays import Array, Flags
from streamfs.classifiers.classifier import Classifier
from streamfs.data.streams import StreamSet, require_streams
from streamfs.evaluation.trajectories import Trajectories, follow, is_record
from streamfs.procedure.fits import require_period
from streamfs.procedure.procedure import Procedure

N_BINS = 10


class Bin(NamedTuple):
    """Ticks of about equal confidence: their mean confidence, share of right answers, and weight in streams."""

    confidence: float
    right: float
    weight: float


class Reliability(NamedTuple):
    """The share of right answers in bins of ascending confidence; every stream has weight 1.

    If `is_record`, only ticks count whose confidence exceeds all earlier ones of the stream at which it might have
    been decided, so that it may be decided.
    """

    is_calibrated: bool  # whether the confidence is the calibrated one
    is_record: bool
    bins: tuple[Bin, ...]

    @property
    def error(self) -> float:
        """Mean distance of confidence from the share of right answers (expected calibration error)."""
        weights = [each.weight for each in self.bins]
        gaps = [abs(each.confidence - each.right) for each in self.bins]
        return float(np.average(gaps, weights=weights)) if self.bins else 0.0


def reliability(procedure: Procedure, streams: StreamSet, n_bins: int = N_BINS) -> tuple[Reliability, ...]:
    """Measure how often a procedure is right by confidence, on streams that it was not trained on.

    Parameters
    ----------
    procedure : Procedure
        What to measure.
    streams : StreamSet
        Labelled streams with the procedure's period.
    n_bins : int
        Most bins, of about equal weight.

    Returns
    -------
    tuple of Reliability
        Of all ticks, and of the ticks at which a stream's confidence exceeded all earlier ones; for a calibrated
        classifier, preceded by the same without its calibration.

    Raises
    ------
    DataError
        If the period differs, or a column is missing.
    ValueError
        If `n_bins` is below 1.

    Notes
    -----
    Ticks at which confidence exceeds all earlier ones are the lucky ones, and decisions are made at these alone: a
    confidence that is reliable over all ticks is too high at these.

    References
    ----------
    A. Niculescu-Mizil and R. Caruana, Predicting good probabilities with supervised learning, ICML 2005.

    Examples
    --------
    >>> from streamfs import train
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["calm", "busy"], 150)
    >>> values = rng.normal(np.where(labels == "calm", 0, 2)[:, None, None], 1, (300, 6, 1))
    >>> training, others = StreamSet(values, labels, ["noise"]).split(0.7, seed=0)
    >>> procedure = train(training, features=["mean(noise)"], confidence=0.8, select=None)
    >>> [(found.is_calibrated, found.is_record) for found in reliability(procedure, others)]
    [(False, False), (False, True), (True, False), (True, True)]
    """
    require_streams(streams)
    require_period(procedure, streams)
    if n_bins < 1:
        raise ValueError(f"n_bins is {n_bins}, expected at least 1")
    are_calibrated, classifiers = zip(*_scales(procedure.classifier), strict=True)
    found, (followed, _) = [], follow(procedure, streams, classifiers)
    for is_calibrated, trajectories in zip(are_calibrated, followed, strict=True):
        is_right = np.asarray(procedure.classes)[trajectories.best] == streams.labels[:, np.newaxis]
        records = is_record(
            trajectories.deciding(_may_decide(procedure, trajectories.confidence.shape[1])).confidence
        )
        for only_records, counted in ((False, _ticks(trajectories)), (True, records)):
            bins = _bins(trajectories.confidence, is_right, counted, n_bins)
            found.append(Reliability(is_calibrated, only_records, bins))
    return tuple(found)


def binned(confidence: Array, is_right: Flags, weights: Array, n_bins: int = N_BINS) -> tuple[Bin, ...]:
    """Group ticks by confidence in at most `n_bins` bins of about equal weight; equal confidences share a bin."""
    levels, place = np.unique(confidence, return_inverse=True)
    weight = np.bincount(place, weights, len(levels))
    right = np.bincount(place, weights * is_right, len(levels))
    middle = np.cumsum(weight) - weight / 2.0
    bins = np.floor(n_bins * middle / weight.sum()).astype(int) if len(levels) else np.zeros(0, dtype=int)
    return tuple(
        Bin(
            float(np.average(levels[bins == b], weights=weight[bins == b])),
            float(right[bins == b].sum() / weight[bins == b].sum()),
            float(weight[bins == b].sum()),
        )
        for b in np.unique(bins)
    )


def _scales(classifier: Classifier) -> list[tuple[bool, Classifier]]:
    """Return a calibrated classifier without its calibration and with it; another as it is."""
    plain = classifier.uncalibrated()
    return [(False, plain)] if plain is classifier else [(False, plain), (True, classifier)]


def _bins(confidence: Array, is_right: Flags, counted: Flags, n_bins: int) -> tuple[Bin, ...]:
    """Return the bins of the counted ticks; those of a stream have a total weight of 1."""
    stream, tick = np.nonzero(counted)
    weights = 1.0 / np.bincount(stream, minlength=len(counted))[stream]
    return binned(confidence[stream, tick], is_right[stream, tick], weights, n_bins)


def _may_decide(procedure: Procedure, n_ticks: int) -> Flags:
    """Return at which ticks a threshold may be crossed, shape (n_ticks,); at all, by another stopping rule."""
    thresholds = procedure.rule.thresholds()
    if thresholds is None:
        return np.ones(n_ticks, dtype=bool)
    return np.asarray(thresholds.by_tick(n_ticks) < np.inf)


def _ticks(trajectories: Trajectories) -> Flags:
    """Return whether each stream has each tick."""
    return np.asarray(np.arange(trajectories.confidence.shape[1]) < trajectories.ticks[:, np.newaxis])
