"""Drift: decisions that no longer look like earlier ones."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from math import isfinite
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from feature_extractors.base import Array
from streamfs.base import container
from streamfs.errors import ModelError
from streamfs.procedure.procedure import Decision

KIND, VERSION = "drift", 1

_KEPT = 2000  # inputs of a detector at which the older half is dropped
_REFERENCE = 100  # values among which a feature's later ones are ranked


class Alert(NamedTuple):
    """A change of something that was steady for a while.

    Parameters
    ----------
    what : str
        ``confidence``, ``completeness``, ``accuracy``, or ``feature`` and the feature's name.
    before, now : float
        Means before and after the change, in the unit of what drifted.
    number : int
        Number of the drift of this kind, from 1.
    time : float
        Event time of the decision, or time of the label, that showed it, seconds; NaN if unknown.

    Examples
    --------
    >>> Alert("completeness", 0.95, 0.6, 1, 3600.0).to_json()["now"]
    0.6
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
    """Detect drift in the decisions of one procedure with ADWIN, one detector for each thing that could drift.

    These are the confidence of the decisions, the share of them that have a label (completeness), each feature's
    value at the decision, and, if true labels arrive, the share of labels that are right (accuracy). After a drift
    its detector starts again.

    Parameters
    ----------
    features : sequence of str
        Names of the procedure's features.
    delta : float
        Bound on the probability of a false alarm, for each test of a detector.

    Raises
    ------
    ValueError
        If `delta` is not between 0 and 1.

    Notes
    -----
    ADWIN's bound is for numbers in [0, 1]: with raw values, features with a small range would never drift, and
    heavy-tailed ones all the time. So a detector receives the rank of a feature's value among the first 100 values
    since its last drift, from 0 below all of them to 1 above; only afterwards can it drift.

    A detector remembers its last 1000 to 2000 inputs: at 2000, the older half is dropped and the detector is
    rebuilt from the rest. A snapshot has just these inputs, and `restore` feeds them to new detectors, which then
    equal the previous ones: restored detectors raise the same alerts. The price is that a change too slow to show
    within 2000 decisions is not noticed.

    References
    ----------
    A. Bifet, R. Gavalda: Learning from time-changing data with adaptive windowing. SIAM International Conference
    on Data Mining, 2007. The implementation is River's.

    Examples
    --------
    >>> detectors = DriftDetectors(["mean(light)"])
    >>> for hour in range(400):
    ...     label = "on" if hour < 200 else None
    ...     decision = Decision("desk", hour, label, 0.9, 12, 12.0, "confident", 3600.0 * hour)
    ...     for alert in detectors.decided(decision, np.array([np.nan])):
    ...         print(alert.what, alert.before, round(alert.now, 1), alert.number)
    completeness 1.0 0.6 1
    """

    def __init__(self, features: Sequence[str], delta: float = 0.002) -> None:
        if not 0 < delta < 1:
            raise ValueError(f"delta is {delta}, expected more than 0 and less than 1")
        self._features = tuple(f"feature {name}" for name in features)
        detectors = {name: _Detector(delta, 0) for name in ("confidence", "completeness", "accuracy")}
        self._detectors = detectors | {name: _Detector(delta, _REFERENCE) for name in self._features}

    def decided(self, decision: Decision, values: Array) -> list[Alert]:
        """Take a decision and its feature values, shape (n_features,), ignoring infinite ones; return alerts."""
        watched = {"confidence": decision.confidence, "completeness": float(decision.label is not None)}
        watched |= dict(zip(self._features, values.tolist(), strict=True))
        return [alert for what, value in watched.items() for alert in self._add(what, value, decision.time)]

    def labelled(self, predicted: str | None, label: str, time: float) -> list[Alert]:
        """Take the true label of a decision at a time in seconds; return alerts.

        Without a predicted label the decision was neither right nor wrong, and is ignored.
        """
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
        change = detector.add(value) if isfinite(value) else None
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
