"""Feedback: labels that arrive later, and the drift that they and the decisions show."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import orjson

from feature_extractors.base import Array
from streamfs.errors import PayloadError, TrainingError
from streamfs.gateway.core.drift import Alert, DriftDetectors
from streamfs.gateway.core.labels import decode_label
from streamfs.gateway.core.model_streams import ModelStreams
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.records import Record
from streamfs.gateway.messages.publication import Publication
from streamfs.procedure.procedure import Decision, Procedure
from streamfs.procedure.stopping import Action, checked_actions


class Feedback:
    """Detect drift in the decisions of the newest model, and let models learn from labels.

    ``labels_unused`` counts labels whose stream has no decision of that episode by its current model.
    """

    def __init__(self, procedure: Procedure, options: Options) -> None:
        self.counters = Counter(labels=0, labels_learned=0, labels_unused=0, labels_unreadable=0, alerts=0)
        self.alerts: Counter[str] = Counter()
        self._topic = f"{options.prefix}/alert/{options.name}"
        self._name = options.name
        self._delta = None if options.drift is None else options.drift.delta
        self.begin(procedure)

    def begin(self, procedure: Procedure) -> None:
        """Start again with another model."""
        self._digest = procedure.digest
        names = [feature.name for feature in procedure.features]
        self._drift = None if self._delta is None else DriftDetectors(names, self._delta)

    def decided(self, procedure: Procedure, decision: Decision, values: Array) -> list[Publication]:
        """Take a decision and the feature values behind it; return alerts."""
        if self._drift is None or procedure.digest != self._digest:
            return []
        return self._published(self._drift.decided(decision, values))

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
            self.counters["labels_unused"] += 1
            return []
        procedure, values = engine.procedure, engine.values(stream)
        if np.isnan(values).all():  # decided by a previous model
            self.counters["labels_unused"] += 1
            return []
        if label not in procedure.classes:
            self.counters["labels_unreadable"] += 1
            raise PayloadError(f"label is {label!r}, expected one of {', '.join(procedure.classes)}")
        probabilities = procedure.classifier.probabilities(values[None, :])[0]
        best = int(probabilities.argmax())
        ticks = np.array([engine.tick(stream)])
        [action] = checked_actions(procedure.rule, ticks, probabilities[np.newaxis])
        predicted = procedure.classes[best] if action == Action.DECIDE else None
        if self._learn(procedure.classifier.learn_one, values, label):
            self.counters["labels_learned"] += 1
        if self._drift is None or procedure.digest != self._digest:
            return []
        return self._published(self._drift.labelled(predicted, label, record.arrival if time is None else time))

    def to_state(self) -> bytes:
        """Copy the drift detectors' state; empty without drift detection."""
        return b"" if self._drift is None else self._drift.snapshot()

    def restore(self, state: bytes) -> None:
        """Restore what `to_state` has copied."""
        if self._drift is not None and state:
            self._drift.restore(state)

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
