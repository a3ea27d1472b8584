"""A classifier's answers for streams at every tick, and the decisions that follow."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from feature_extractors.arrays import Array, Flags, Integers
from streamfs.classifiers.classifier import Classifier
from streamfs.costs.costs import Costs
from streamfs.data.feature_table import FeatureTable, parts_of, tabulate
from streamfs.data.streams import StreamSet
from streamfs.procedure.procedure import Procedure
from streamfs.procedure.requested_channels import RequestedChannels
from streamfs.procedure.stopping import Action, StoppingRule, checked_actions


@dataclass(frozen=True, eq=False)
class Trajectories:
    """The likeliest class of streams at every tick, and its probability."""

    best: Integers  # (n_streams, n_ticks)
    confidence: Array  # (n_streams, n_ticks); 0 beyond a stream's length
    ticks: Integers  # (n_streams,); within the time limit
    asked: Flags | None = None  # (n_streams, n_ticks, n_tested); whether a feature is requested, by default always
    probabilities: Array | None = None  # (n_streams, n_ticks, n_classes); what rules other than thresholds need

    @classmethod
    def of(cls, classifier: Classifier, table: FeatureTable, time_limit: int) -> Self:
        """Classify every tick of a table up to the time limit."""
        n_streams, n_ticks, n_features = table.values.shape
        n_ticks = min(n_ticks, time_limit)
        values, asked = table.values[:, :n_ticks], None
        requested = RequestedChannels.of(classifier, table.features)
        if requested is not None:
            values, asked = requested.replay(values)
            asked = asked[:, :, classifier.features_tested()]
        rows = np.ascontiguousarray(values).reshape(n_streams * n_ticks, n_features)
        probabilities = classifier.probabilities(rows).reshape(n_streams, n_ticks, -1)
        inside = np.arange(n_ticks) < table.lengths[:, np.newaxis]
        confidence = np.where(inside, probabilities.max(axis=2), 0.0)
        ticks = np.minimum(table.lengths, n_ticks)
        return cls(probabilities.argmax(axis=2), confidence, ticks, asked, probabilities)

    @classmethod
    def joined(cls, parts: Sequence[tuple[Integers, Self]], n_streams: int) -> Self:
        """Return the trajectories of streams of which each part has some, at the places that go with it."""
        names = [each.name for each in fields(cls)]
        return cls(*(_joined([(rows, getattr(part, name)) for rows, part in parts], n_streams) for name in names))

    def deciding(self, may_decide: Flags) -> Self:
        """Return the same streams, of which nothing is known at ticks that may not decide, shape (n_ticks,)."""
        return replace(self, confidence=np.where(may_decide, self.confidence, 0.0))

    def giving_up(self, floors: Array) -> Self:
        """Return the same streams, each ending at the first tick that is less sure than its floor, (n_ticks,)."""
        n_ticks = self.confidence.shape[1]
        low = (self.confidence < floors) & (np.arange(n_ticks) < self.ticks[:, np.newaxis])
        ends = np.where(low.any(axis=1), low.argmax(axis=1) + 1, self.ticks) if n_ticks else self.ticks
        confidence = np.where(np.arange(n_ticks) < ends[:, np.newaxis], self.confidence, 0.0)
        return replace(self, confidence=confidence, ticks=ends)

    def decide(self, rule: float | StoppingRule) -> tuple[Integers, Integers]:
        """Return each stream's class, -1 if it gets none, and the ticks spent, by a threshold or stopping rule."""
        actions = np.where(np.arange(self.confidence.shape[1]) < self.ticks[:, np.newaxis], self._actions(rule), 0)
        ended = actions != Action.WAIT
        first, rows = ended.argmax(axis=1), np.arange(len(actions))
        labels = np.where(actions[rows, first] == Action.DECIDE, self.best[rows, first], -1)
        return labels, np.where(ended.any(axis=1), first + 1, self.ticks)

    def _actions(self, rule: float | StoppingRule) -> Integers:
        """Return a rule's actions for each stream and tick."""
        n_streams, n_ticks = self.confidence.shape
        if not isinstance(rule, StoppingRule):
            return np.where(self.confidence >= rule, Action.DECIDE, Action.WAIT)
        thresholds = rule.thresholds()
        if thresholds is not None:
            return thresholds.actions_of(np.arange(1, n_ticks + 1), self.confidence)
        if self.probabilities is None:
            raise ValueError(f"rule is {rule!r}, expected thresholds: only the likeliest class is known")
        ticks = np.tile(np.arange(1, n_ticks + 1), n_streams)
        rows = self.probabilities.reshape(n_streams * n_ticks, -1)
        return checked_actions(rule, ticks, rows).reshape(n_streams, n_ticks)

    def asked_ticks(self, reads: Sequence[bool], ticks: Integers) -> Integers:
        """Return at how many of the first `ticks` ticks each stream requests any of the features in `reads`."""
        if self.asked is None:
            return ticks
        is_asked = self.asked[:, :, np.asarray(reads, dtype=bool)].any(axis=2)
        asked: Integers = np.minimum(ticks, is_asked.sum(axis=1))
        return asked

    def spent(self, costs: Costs, ticks: Integers) -> list[float]:
        """Return each stream's cost for `ticks` ticks by equation 1, of the requested features alone."""
        if self.asked is None:
            return [costs.classification(t) for t in ticks]
        each = np.where(self.asked, costs.each, 0.0).sum(axis=2).cumsum(axis=1)
        last = np.maximum(ticks, 1) - 1
        summed = np.where(ticks > 0, each[np.arange(len(ticks)), last], 0.0)
        return [costs.a * spent + costs.classification(0) for spent in summed.tolist()]


def is_record(confidence: Array) -> Flags:
    """Return whether a stream's confidence exceeds all earlier ones, for each tick; NaN never does."""
    before = np.concatenate([np.zeros((len(confidence), 1)), confidence[:, :-1]], axis=1)
    return np.asarray(confidence > np.fmax.accumulate(before, axis=1))


def follow(
    procedure: Procedure, streams: StreamSet, classifiers: Sequence[Classifier]
) -> tuple[list[Trajectories], Integers]:
    """Classify recorded streams at every tick by each of some classifiers on a procedure's features.

    Returns
    -------
    trajectories : list of Trajectories
        Those of each classifier.
    lengths : ndarray of shape (n_streams,)
        The number of ticks of each stream's episode.
    """
    parts, lengths = [], np.zeros(len(streams), np.int64)
    for rows, part in parts_of(streams, len(procedure.features)):
        table = tabulate(part, procedure.features, procedure.max_silence)
        parts.append((rows, [Trajectories.of(each, table, procedure.time_limit) for each in classifiers]))
        lengths[rows] = table.lengths
    return [
        Trajectories.joined([(rows, found[i]) for rows, found in parts], len(streams))
        for i in range(len(classifiers))
    ], lengths


def _joined(parts: Sequence[tuple[Integers, Any]], n_streams: int) -> Any:
    """Return an array of all streams, 0 beyond those of the parts; None if the parts have none."""
    _, first = parts[0]
    if first is None:
        return None
    n_ticks = max(array.shape[1:2] for _, array in parts)
    whole = np.zeros((n_streams, *n_ticks, *first.shape[2:]), first.dtype)
    for rows, array in parts:
        place: tuple[Any, ...] = (rows, *map(slice, array.shape[1:2]))
        whole[place] = array
    return whole
