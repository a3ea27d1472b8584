"""Labels that arrive later, and what they and the decisions say about drift."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import orjson

from feature_extractors.base import Array
from streamfs.engine.engine import DECIDED, Engine
from streamfs.errors import PayloadError, TrainingError
from streamfs.gateway.core.drift import Alert, DriftDetectors
from streamfs.gateway.core.labels import decode_label
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.records import Record
from streamfs.gateway.messages.publication import Publication
from streamfs.procedure.procedure import Decision, Procedure


class Feedback:
    """Watches the decisions of the newest model for drift, and lets it learn from labels.

    Parameters
    ----------
    procedure : Procedure
        The model.
    options : Options
        The gateway's name, and whether drift is watched for.

    Attributes
    ----------
    counters : Counter of str
        ``labels`` that came; those of them that the model has ``learnt`` from, that were ``unused`` because their
        stream has no decision of that episode by the newest model, and that were ``unreadable``, or could not be
        learnt; ``alerts`` raised.
    alerts : Counter of str
        The alerts by what has drifted.
    """

    def __init__(self, procedure: Procedure, options: Options) -> None:
        self.counters = Counter(labels=0, labels_learnt=0, labels_unused=0, labels_unreadable=0, alerts=0)
        self.alerts: Counter[str] = Counter()
        self._topic = f"{options.prefix}/alert/{options.name}"
        self._name = options.name
        self._delta = options.drift
        self.begin(procedure)

    def begin(self, procedure: Procedure) -> None:
        """Feedback another model."""
        self._digest = procedure.digest
        names = [feature.name for feature in procedure.features]
        self._drift = None if self._delta is None else DriftDetectors(names, self._delta)

    def decided(self, procedure: Procedure, decision: Decision, values: Array) -> list[Publication]:
        """Take a decision and the features it was made on; return the alerts that it raises."""
        if self._drift is None or procedure.digest != self._digest:
            return []
        return self._tell(self._drift.decided(decision, values))

    def labelled(self, engine: Engine | None, stream: str, record: Record) -> list[Publication]:
        """Take a label: the model learns it if it can, on the features that its stream was decided on.

        Raises
        ------
        PayloadError
            If it cannot be read.
        """
        self.counters["labels"] += 1
        try:
            label, episode, time = decode_label(record.payload)
        except PayloadError:
            self.counters["labels_unreadable"] += 1
            raise
        if engine is None or engine.status(stream) != DECIDED or episode not in (None, engine.episode(stream)):
            self.counters["labels_unused"] += 1
            return []
        procedure, values = engine.procedure, engine.values(stream)
        if np.isnan(values).all():  # decided by a model before
            self.counters["labels_unused"] += 1
            return []
        if label not in procedure.classes:
            self.counters["labels_unreadable"] += 1
            raise PayloadError(f"label is {label!r}, expected one of {', '.join(procedure.classes)}")
        probabilities = procedure.classifier.probabilities(values[None, :])[0]
        best = int(probabilities.argmax())
        predicted = procedure.classes[best] if probabilities[best] >= procedure.confidence else None
        learn_one = getattr(procedure.classifier, "learn_one", None)
        if learn_one is not None:
            self.counters["labels_learnt"] += self._learn(learn_one, values, label)
        if self._drift is None or procedure.digest != self._digest:
            return []
        return self._tell(self._drift.labelled(predicted, label, record.arrival if time is None else time))

    def _learn(self, learn_one: Callable[[Array, str], bool], values: Array, label: str) -> bool:
        """Let the model learn, and say whether it has."""
        try:
            return learn_one(values, label)
        except TrainingError as error:
            self.counters["labels_unreadable"] += 1
            raise PayloadError(f"label is {label!r}, and the model cannot learn it: {error}") from error

    def to_state(self) -> bytes:
        """What drift was seen so far; empty if none is watched for."""
        return b"" if self._drift is None else self._drift.snapshot()

    def restore(self, frozen: bytes) -> None:
        """Go on from what `to_state` has given."""
        if self._drift is not None and frozen:
            self._drift.restore(frozen)

    def _tell(self, alerts: list[Alert]) -> list[Publication]:
        self.counters["alerts"] += len(alerts)
        self.alerts.update(alert.what for alert in alerts)
        return [
            Publication(self._topic, orjson.dumps({"gateway": self._name, **alert.to_json()}), retain=False)
            for alert in alerts
        ]
