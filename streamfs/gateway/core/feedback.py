"""Feedback: labels that arrive later, and what they and the decisions show of drift and of the promise."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import orjson

from feature_extractors.arrays import Array
from streamfs.base.newest import keep_newest
from streamfs.errors import PayloadError, TrainingError
from streamfs.gateway.core.drift import Alert, DriftDetectors
from streamfs.gateway.core.episode_recorder import EpisodeRecorder
from streamfs.gateway.core.labels import decode_label
from streamfs.gateway.core.model_streams import ModelStreams
from streamfs.gateway.core.options import NO_LABEL, RECERTIFY, Options
from streamfs.gateway.core.records import Record
from streamfs.gateway.messages.publication import Publication
from streamfs.procedure.procedure import Decision, Procedure
from streamfs.procedure.promise_monitor import WITHDRAWN, PromiseMonitor, monitor_of
from streamfs.procedure.stopping import Action, checked_actions

MOST_LABELLED = 131_072
"""Streams of which it is remembered that a label has come, so that it counts once."""

MOST_WITHDRAWN = 4
"""Models of which it is remembered that their promise is withdrawn."""


class Feedback:
    """Detect drift in the decisions of the newest model, monitor its promise, and let models learn from labels.

    ``labels_unused`` counts labels whose stream has no decision of that episode by its current model.
    """

    def __init__(self, procedure: Procedure, options: Options) -> None:
        self.counters = Counter(labels=0, labels_learned=0, labels_unused=0, labels_unreadable=0, alerts=0)
        self.alerts: Counter[str] = Counter()
        self._topic = f"{options.prefix}/alert/{options.name}"
        self._promise_topic = f"{options.prefix}/promise/{options.name}"
        self._name = options.name
        self._gives_no_label = options.promise.on_withdrawal == NO_LABEL
        self._wanted_topic = f"{options.prefix}/label-wanted/"
        self._share_wanted = options.promise.labels_wanted
        self._group_of = None if options.promise.groups is None else options.promise.group_of
        self._delta = None if options.drift is None else options.drift.delta
        self._n_recorded = options.promise.recertify_after if options.promise.on_withdrawal == RECERTIFY else 0
        self.monitor: PromiseMonitor | None = None
        self.recorder: EpisodeRecorder | None = None
        self._recorded: dict[str, Any] = {}  # state of the last recorder that was left, by its model
        self.previous: str | None = None  # the last model, of another digest, whose promise was not withdrawn
        self._withdrawn: dict[str, Any] = {}  # states of monitors, by model
        self._digest = procedure.digest
        self.begin(procedure)

    def begin(self, procedure: Procedure) -> list[Publication]:
        """Start again with another model; return what changes about the promise.

        A model whose promise was withdrawn does not get it back.
        """
        self._leave(procedure.digest)
        self._leave_recorder()
        self._digest = procedure.digest
        self._drift: DriftDetectors | None = None
        if self._delta is not None:
            self._drift = DriftDetectors([feature.name for feature in procedure.features], self._delta)
        before = self._promise()
        cleared = [] if self.monitor is None else [self._wanted(stream, None) for stream in self.monitor.wanted]
        self.monitor = monitor_of(procedure, self._share_wanted, self._group_of)
        self._labelled: dict[str, int] = {}  # the last labelled episode of each stream
        self._asked: dict[str, list[Any]] = {}  # episode and label of each decision whose true label is wanted
        self._classes = procedure.classes
        if self.monitor is not None and self._digest in self._withdrawn:
            self.monitor.restore(self._withdrawn[self._digest])
        self._begin_recorder(procedure)
        return cleared if before == self._promise() else [*cleared, self._promise()]

    def _leave_recorder(self) -> None:
        if self.recorder is not None:
            self._recorded = {self._digest: self.recorder.to_state()}

    def _begin_recorder(self, procedure: Procedure) -> None:
        """Record the episodes of a model whose threshold was raised, unless they are given up; go on as before."""
        is_whole = self.monitor is not None and self.monitor.is_raised and not _gives_up(procedure)
        is_recorded = bool(self._n_recorded) and is_whole
        self.recorder = EpisodeRecorder(procedure, self._n_recorded) if is_recorded else None
        if self.recorder is not None and self._digest in self._recorded:
            self.recorder.restore(self._recorded[self._digest])

    @property
    def is_withdrawn(self) -> bool:
        """Whether the promise of the newest model is withdrawn."""
        return self.monitor is not None and self.monitor.is_withdrawn

    def shown(self, procedure: Procedure, decision: Decision) -> tuple[Decision, str]:
        """Return a decision as it is to be published, and its mark, if its promise is withdrawn."""
        if self.monitor is None or procedure.digest != self._digest or decision.label is None:
            return decision, ""
        if not self.monitor.is_withdrawn_for(decision.stream):
            return decision, ""
        return replace(decision, label=None, reason=WITHDRAWN) if self._gives_no_label else decision, WITHDRAWN

    def decided(self, procedure: Procedure, decision: Decision, values: Array) -> list[Publication]:
        """Take a decision and the feature values behind it; return alerts, and the promise if that has changed."""
        if procedure.digest != self._digest:
            return []
        alerts = [] if self._drift is None else self._published(self._drift.decided(decision, values))
        if self.monitor is not None:
            alerts += self._monitored(partial(self.monitor.decided, decision, values), decision)
        return alerts

    def labelled(self, model: ModelStreams | None, stream: str, record: Record) -> list[Publication]:
        """Learn a label, if the model can, with the feature values that its stream was decided on."""
        self.counters["labels"] += 1
        try:
            label, episode, time = decode_label(record.payload)
        except PayloadError:
            self.counters["labels_unreadable"] += 1
            raise
        engine = None if model is None or not model.engine.is_decided(stream) else model.engine
        if engine is None or episode not in (None, engine.episode(stream)):
            return self._answered(stream, label, episode, record.arrival if time is None else time)
        procedure, values = engine.procedure, engine.values(stream)
        if np.isnan(values).all():  # decided by a previous model
            self.counters["labels_unused"] += 1
            return []
        if label not in procedure.classes:
            self.counters["labels_unreadable"] += 1
            raise _unknown(label, procedure.classes)
        probabilities = procedure.classifier.probabilities(values[None, :])[0]
        best = int(probabilities.argmax())
        ticks = np.array([engine.tick(stream)])
        [action] = checked_actions(procedure.rule, ticks, probabilities[np.newaxis])
        predicted = procedure.classes[best] if action == Action.DECIDE else None
        if self._learn(procedure.classifier.learn_one, values, label):
            self.counters["labels_learned"] += 1
        if procedure.digest != self._digest:
            return []
        time = record.arrival if time is None else time
        alerts = [] if self._drift is None else self._published(self._drift.labelled(predicted, label, time))
        is_new = self._labelled.get(stream, 0) < engine.episode(stream)  # a label that comes twice counts once
        if self.recorder is not None:
            self.recorder.labelled(stream, engine.episode(stream), label)
        if self.monitor is not None and is_new:
            keep_newest(self._labelled, stream, engine.episode(stream), MOST_LABELLED)
            alerts += self._monitored(partial(self.monitor.found, predicted, label, time))
            if predicted is not None:
                found = predicted == label, time, stream, float(probabilities[best])
                alerts += self._monitored(partial(self.monitor.labelled, *found))
        return alerts

    def _answered(self, stream: str, label: str, episode: int | None, time: float) -> list[Publication]:
        """Take a label that was asked for, though the next episode of its stream has begun; others are unused."""
        asked = self._asked.get(stream)
        if self.monitor is None or asked is None or episode not in (None, asked[0]):
            self.counters["labels_unused"] += 1
            return []
        if label not in self._classes:
            self.counters["labels_unreadable"] += 1
            raise _unknown(label, self._classes)
        keep_newest(self._labelled, stream, asked[0], MOST_LABELLED)
        return self._monitored(partial(self.monitor.labelled, label == asked[1], time, stream))

    def to_state(self) -> dict[str, bytes]:
        """Copy the state of drift detectors and monitor, each as opaque bytes; empty without drift detection."""
        state = {"drift": b"" if self._drift is None else self._drift.snapshot()}
        monitored = None if self.monitor is None else [self.monitor.to_state(), self._labelled, self._asked]
        self._leave_recorder()
        state["promise"] = orjson.dumps([monitored, self.previous, self._withdrawn, self._recorded])
        return state

    def restore(self, state: Mapping[str, bytes]) -> None:
        """Restore what `to_state` has copied."""
        if self._drift is not None and state["drift"]:
            self._drift.restore(state["drift"])
        if "promise" in state:
            monitored, self.previous, self._withdrawn, self._recorded = orjson.loads(state["promise"])
            if self.recorder is not None and self._digest in self._recorded:
                self.recorder.restore(self._recorded[self._digest])
            if self.monitor is not None and monitored is not None:
                self.monitor.restore(monitored[0])
                self._labelled, self._asked = monitored[1], dict(*monitored[2:])

    def _leave(self, digest: str) -> None:
        """Remember the model that another one follows."""
        if self.monitor is not None and self.is_withdrawn:
            self._withdrawn[self._digest] = self.monitor.to_state()
            if len(self._withdrawn) > MOST_WITHDRAWN:
                del self._withdrawn[next(iter(self._withdrawn))]
        elif digest != self._digest:
            self.previous = self._digest

    def _promise(self) -> Publication:
        """Return what is published of the promise, which is retained; empty if nothing is promised."""
        known = b"" if self.monitor is None else orjson.dumps({"gateway": self._name, **self.monitor.to_json()})
        return Publication(self._promise_topic, known)

    def _wanted(self, stream: str, decision: Decision | None) -> Publication:
        """Return the retained publication that asks for a decision's label; without a decision, an empty one."""
        content = b"" if decision is None else orjson.dumps({"gateway": self._name, **decision.to_json()})
        return Publication(f"{self._wanted_topic}{stream}", content)

    def _monitored(self, take: Callable[[], None], decision: Decision | None = None) -> list[Publication]:
        """Have the monitor take something, such as a decision; return what labels are wanted, and the promise.

        The latter if there is a new finding, or nothing was known.
        """
        monitor = self.monitor
        if monitor is None:
            return []
        before = monitor.status, len(monitor.findings), monitor.is_new
        take()
        wanted = dict(monitor.take_news())
        for stream, is_wanted in wanted.items():
            self._asked.pop(stream, None)
            if is_wanted and decision is not None:
                self._asked[stream] = [decision.episode, decision.label]
        asked = [self._wanted(stream, decision if is_wanted else None) for stream, is_wanted in wanted.items()]
        is_same = before == (monitor.status, len(monitor.findings), monitor.is_new)
        return asked if is_same else [*asked, self._promise()]

    def _learn(self, learn_one: Callable[[Array, str], bool], values: Array, label: str) -> bool:
        try:
            return learn_one(values, label)
        except TrainingError as error:
            self.counters["labels_unreadable"] += 1
            raise PayloadError(f"label is {label!r}, and the model cannot learn it: {error}") from error

    def _published(self, alerts: list[Alert]) -> list[Publication]:
        self.counters["alerts"] += len(alerts)
        self.alerts.update(alert.what for alert in alerts)
        return [
            Publication(self._topic, orjson.dumps({"gateway": self._name, **alert.to_json()}), retain=False)
            for alert in alerts
        ]


def _gives_up(procedure: Procedure) -> bool:
    """Return whether a procedure gives streams up, so that their episodes are not seen whole."""
    thresholds = procedure.rule.thresholds()
    return thresholds is not None and thresholds.gives_up


def _unknown(label: str, classes: Sequence[str]) -> PayloadError:
    return PayloadError(f"label is {label!r}, expected one of {', '.join(classes)}")
