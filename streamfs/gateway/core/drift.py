"""Drift: decisions that no longer look like earlier ones."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from math import isfinite
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from feature_extractors.arrays import Array
from streamfs.base import container
from streamfs.errors import ModelError
from streamfs.procedure.procedure import Decision

KIND, VERSION = "drift", 1

_KEPT = 2000  # inputs of a detector at which the older half is dropped
_HUGE = 1e300  # from which on a value is ignored: the sum of all that are kept must be finite
_REFERENCE = 100  # values among which a feature's later ones are ranked


class Alert(NamedTuple):
    """A drift of ``confidence``, ``completeness``, ``accuracy``, or ``feature`` and the feature's name.

    `number` counts those of its kind from 1. `before` and `now` are means, `time` the event time of the decision
    or label that showed it; NaN if unknown.
    """

    what: str
    before: float
    now: float
    number: int
    time: float

    def to_json(self) -> dict[str, Any]:
        """Return the alert as a JSON object; an unknown time is null."""
        return self._asdict() | {"time": self.time if isfinite(self.time) else None}


class DriftDetectors:
    """Detect drift in the decisions of one procedure, with one ADWIN detector for each thing that could drift.

    These are the confidence of the decisions, the share of them that have a label (completeness), each feature's
    value at the decision, and the share of true labels that were predicted (accuracy). A detector starts again
    after a drift. `delta` bounds the probability of a false alarm in each test.

    ADWIN's bound is for numbers in [0, 1]; so a detector of a feature receives the rank of its value among the
    first 100 since the last drift, from 0 below all of them to 1 above, and can drift only afterwards.

    A detector is rebuilt from its last 1000 inputs once it has 2000. A snapshot has just these inputs, and
    `restore` feeds them to new detectors, which then equal the previous ones. A change that is too slow to show
    within 2000 decisions is not noticed.

    See A. Bifet, R. Gavalda: Learning from time-changing data with adaptive windowing. SIAM International
    Conference on Data Mining, 2007. The implementation is River's.
    """

    def __init__(self, features: Sequence[str], delta: float = 0.002) -> None:
        if not 0 < delta < 1:
            raise ValueError(f"delta is {delta}, expected more than 0 and less than 1")
        self._features = tuple(f"feature {name}" for name in features)
        detectors = {name: _Detector(delta, 0) for name in ("confidence", "completeness", "accuracy")}
        self._detectors = detectors | {name: _Detector(delta, _REFERENCE) for name in self._features}

    def decided(self, decision: Decision, values: Array) -> list[Alert]:
        """Take a decision and its feature values, shape (n_features,), ignoring huge ones; return alerts."""
        watched = {"confidence": decision.confidence, "completeness": float(decision.label is not None)}
        watched |= dict(zip(self._features, values.tolist(), strict=True))
        return [alert for what, value in watched.items() for alert in self._add(what, value, decision.time)]

    def labelled(self, predicted: str | None, label: str, time: float) -> list[Alert]:
        """Take the true label of a decision at a time in seconds, unless that predicted none; return alerts."""
        return [] if predicted is None else self._add("accuracy", float(predicted == label), time)

    def snapshot(self) -> bytes:
        """Pack the inputs that the detectors remember."""
        names = list(self._detectors)
        header = {"watched": names, "numbers": [self._detectors[name].number for name in names]}
        arrays: dict[str, Array] = {}
        for i, detector in enumerate(self._detectors.values()):
            arrays |= {f"{i}.reference": np.array(detector.reference), f"{i}.inputs": np.array(detector.inputs)}
        return container.pack(KIND, VERSION, header, arrays)

    def restore(self, snapshot: bytes) -> None:
        """Restore a snapshot; raise a ModelError if it is damaged, or of other features."""
        header, arrays, _ = container.unpack(snapshot, KIND, VERSION, "the snapshot of the drift detectors")
        if header["watched"] != list(self._detectors):
            raise ModelError(f"the snapshot is of {header['watched']}, expected {list(self._detectors)}")
        for i, (detector, number) in enumerate(zip(self._detectors.values(), header["numbers"], strict=True)):
            detector.number = number
            detector.begin(arrays[f"{i}.reference"].tolist(), arrays[f"{i}.inputs"].tolist())

    def _add(self, what: str, value: float, time: float) -> list[Alert]:
        detector = self._detectors[what]
        change = detector.add(value) if abs(value) < _HUGE else None
        return [] if change is None else [Alert(what, *change, detector.number, time)]


class _Detector:
    """An ADWIN, with the inputs from which it can be rebuilt."""

    def __init__(self, delta: float, n_reference: int) -> None:
        self.number = 0
        self._delta = delta
        self._n_reference = n_reference
        self.begin([], [])

    def begin(self, reference: list[float], inputs: list[float]) -> None:
        """Start again, as a detector that has received these inputs only."""
        from river.drift import ADWIN  # noqa: PLC0415 - River is loaded only where it serves

        self.reference, self.inputs = reference, inputs
        self._adwin = ADWIN(self._delta)
        for value in inputs:
            self._adwin.update(self._rank(value))

    def add(self, value: float) -> tuple[float, float] | None:
        """Take a value; if it shows a change, return the means before and after."""
        if len(self.reference) < self._n_reference:
            self.reference = sorted([*self.reference, value])
            return None
        self.inputs.append(value)
        self._adwin.update(self._rank(value))
        if self._adwin.drift_detected:
            n_newer = int(self._adwin.width)
            change = fmean(self.inputs[:-n_newer]), fmean(self.inputs[-n_newer:])
            self.number += 1
            self.begin([], [])
            return change
        if len(self.inputs) == _KEPT:
            self.begin(self.reference, self.inputs[_KEPT // 2 :])
        return None

    def _rank(self, value: float) -> float:
        if not self._n_reference:
            return value
        return (bisect_left(self.reference, value) + bisect_right(self.reference, value)) / (2 * self._n_reference)
