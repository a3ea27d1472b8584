"""Whether decisions still look like those of before."""

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

_KEPT = 2000  # inputs of a detector; when there are so many, the older half is forgotten
_REFERENCE = 100  # values by which a feature's later ones are placed


class Alert(NamedTuple):
    """Something that was steady for a while and has changed.

    Parameters
    ----------
    what : str
        ``confidence``, ``completeness``, ``accuracy``, or ``feature`` and the feature's name.
    before, now : float
        Means before and after the change, in the unit of what drifted.
    number : int
        Which drift of this kind it is, from 1.
    time : float
        Event time of the decision, or time of the label, at which it was noticed, seconds; NaN if not known.

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
        """The alert as JSON can hold it; a time that is not known is null."""
        return self._asdict() | {"time": self.time if isfinite(self.time) else None}


class DriftDetectors:
    """Watches the decisions of one procedure with ADWIN, a detector for each thing that could drift.

    Watched are the confidence of the decisions, the share of them that have a label (completeness), each
    feature's value at the decision, and, as far as true labels come, the share of labels that are right
    (accuracy). After a drift its detector begins anew.

    Parameters
    ----------
    features : sequence of str
        Names of the procedure's features.
    delta : float
        How probable a false alarm may be: a detector's bound for each of its tests.

    Raises
    ------
    ValueError
        If `delta` is not between 0 and 1.

    Notes
    -----
    ADWIN's bound is one for numbers in [0, 1]: fed as they are, features of a small range would never drift and
    heavy-tailed ones would do so all the time. So a feature is watched by the place of its value among the first
    100 values since it last drifted, 0 below them all and 1 above; only afterwards can it drift.

    A detector remembers its last 1000 to 2000 inputs: when there are 2000, the older half is forgotten and the
    detector is built anew from the rest. A snapshot holds just these inputs, and `restore` feeds them to new
    detectors, which are then exactly those that were left: whoever goes on from a snapshot sees the same alerts.
    The price is that a change so slow that 2000 decisions do not show it goes unnoticed.

    References
    ----------
    A. Bifet, R. Gavalda: Learning from time-changing data with adaptive windowing. SIAM International Conference
    on Data Mining, 2007. The implementation is River's.

    Examples
    --------
    >>> watch = DriftDetectors(["mean(light)"])
    >>> for hour in range(400):
    ...     label = "on" if hour < 200 else None
    ...     decision = Decision("desk", hour, label, 0.9, 12, 12.0, "confident", 3600.0 * hour)
    ...     for alert in watch.decided(decision, np.array([np.nan])):
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
        """Take a decision.

        Parameters
        ----------
        decision : Decision
            As it was made.
        values : ndarray of shape (n_features,)
            The features at the decision; those that are not finite are left out.

        Returns
        -------
        list of Alert
            Of what this decision shows to have drifted; mostly nothing.
        """
        watched = {"confidence": decision.confidence, "completeness": float(decision.label is not None)}
        watched |= dict(zip(self._features, values.tolist(), strict=True))
        return [alert for what, value in watched.items() for alert in self._add(what, value, decision.time)]

    def labelled(self, predicted: str | None, label: str, time: float) -> list[Alert]:
        """Take the true label of a decision.

        Parameters
        ----------
        predicted : str or None
            The decision's label; without one it was neither right nor wrong, and nothing is taken.
        label : str
            The true one.
        time : float
            When it came, seconds.
        """
        return [] if predicted is None else self._add("accuracy", float(predicted == label), time)

    def snapshot(self) -> bytes:
        """The inputs that the detectors remember; `restore` goes on from them."""
        names = list(self._detectors)
        header = {"watched": names, "numbers": [self._detectors[name].number for name in names]}
        arrays: dict[str, Array] = {}
        for i, detector in enumerate(self._detectors.values()):
            arrays |= {f"{i}.reference": np.array(detector.reference), f"{i}.inputs": np.array(detector.inputs)}
        return container.pack(KIND, VERSION, header, arrays)

    def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot.

        Raises
        ------
        ModelError
            If it is damaged, or was taken of other features.
        """
        header, arrays, _ = container.unpack(snapshot, KIND, VERSION, "the snapshot of the drift watch")
        if header["watched"] != list(self._detectors):
            raise ModelError(f"the snapshot watches {header['watched']}, expected {list(self._detectors)}")
        for i, (detector, number) in enumerate(zip(self._detectors.values(), header["numbers"], strict=True)):
            detector.number = number
            detector.begin(arrays[f"{i}.reference"].tolist(), arrays[f"{i}.inputs"].tolist())

    def _add(self, what: str, value: float, time: float) -> list[Alert]:
        detector = self._detectors[what]
        change = detector.add(value) if isfinite(value) else None
        return [] if change is None else [Alert(what, *change, detector.number, time)]


class _Detector:
    """One ADWIN, with the inputs from which it can be built again."""

    def __init__(self, delta: float, n_reference: int) -> None:
        self.number = 0
        self._delta = delta
        self._n_reference = n_reference
        self.begin([], [])

    def begin(self, reference: list[float], inputs: list[float]) -> None:
        """Begin anew: as a detector that has been fed these inputs and no others."""
        from river.drift import ADWIN  # noqa: PLC0415 - River is loaded only where it serves

        self.reference, self.inputs = reference, inputs
        self._adwin = ADWIN(self._delta)
        for value in inputs:
            self._adwin.update(self._place(value))

    def add(self, value: float) -> tuple[float, float] | None:
        """Take a value; if it shows a change, return the means before and after."""
        if len(self.reference) < self._n_reference:
            self.reference = sorted([*self.reference, value])
            return None
        self.inputs.append(value)
        self._adwin.update(self._place(value))
        if self._adwin.drift_detected:
            n_newer = int(self._adwin.width)
            change = fmean(self.inputs[:-n_newer]), fmean(self.inputs[-n_newer:])
            self.number += 1
            self.begin([], [])
            return change
        if len(self.inputs) == _KEPT:
            self.begin(self.reference, self.inputs[_KEPT // 2 :])
        return None

    def _place(self, value: float) -> float:
        if not self._n_reference:
            return value
        return (bisect_left(self.reference, value) + bisect_right(self.reference, value)) / (2 * self._n_reference)
