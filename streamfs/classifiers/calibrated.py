"""Any classifier with calibrated confidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from feature_extractors.arrays import Array, Flags
from streamfs.classifiers import kinds
from streamfs.classifiers.calibration import Calibration
from streamfs.classifiers.classifier import Classifier, FileParts
from streamfs.errors import ModelError


@dataclass(frozen=True, eq=False)
class CalibratedClassifier(Classifier):
    """A classifier, and a calibration of its likeliest class's probability.

    Training while serving changes the classifier alone.

    Parameters
    ----------
    base : Classifier
        Reads the same rows; not a `CalibratedClassifier` itself.
    calibration : Calibration
        Its clock, if it has one, is a feature of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from river.naive_bayes import GaussianNB
    >>> from streamfs.classifiers import OnlineClassifier
    >>> base = OnlineClassifier(GaussianNB(), ["x"], ["low", "high"])
    >>> _ = base.learn([[0.0], [0.1], [0.9], [1.0]], ["low", "low", "high", "high"])
    >>> base.calibrated(Calibration(slope=0.1, intercept=0.0)).probabilities(np.array([[0.8]])).round(1)
    array([[0.1, 0.9]])
    """

    word: ClassVar = "calibrated"
    header_fields: ClassVar = {
        "base": ((dict,), "an object with the fields of a classifier"),
        "calibration": ((list,), "a list of numbers"),
    }

    base: Classifier
    calibration: Calibration

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.base.n_classes

    @property
    def n_failures(self) -> int:
        """Rows for which the base failed to answer."""
        return self.base.n_failures

    @property
    def releases_features(self) -> bool:
        """Whether the base may cease to request a feature."""
        return self.base.releases_features

    def probabilities(self, values: Array) -> Array:
        """Return the base's probabilities, calibrated."""
        return self.calibration.apply(self.base.probabilities(values), values)

    def features_tested(self) -> tuple[int, ...]:
        """Return the features that the base tests and the calibration reads, ascending."""
        return tuple(sorted({*self.base.features_tested(), *self._clock}))

    def require_features(self, n_features: int) -> None:
        """Raise ValueError unless the base and the calibration can read rows of `n_features` features."""
        super().require_features(n_features)
        self.base.require_features(n_features)

    def requests(self, values: Array) -> Flags:
        """Return what the base requests, and the clock."""
        requested = self.base.requests(values).copy()
        requested[:, self._clock] = True
        return requested

    def calibrated(self, calibration: Calibration | None) -> Classifier:
        """Return the base with this calibration, or none, in place of its own."""
        return self.base if calibration is None else replace(self, calibration=calibration)

    def uncalibrated(self) -> Classifier:
        """Return the base."""
        return self.base

    def frozen(self) -> Classifier:
        """Return it with a base that nothing trains any more."""
        base = self.base.frozen()
        return self if base is self.base else replace(self, base=base)

    def learn_one(self, values: Array, label: str) -> bool:
        """Train the base; return whether it was trained."""
        return self.base.learn_one(values, label)

    def dump(self) -> bytes | None:
        """Return the base's state."""
        return self.base.dump()

    def restore(self, data: bytes) -> None:
        """Continue from the base's state."""
        self.base.restore(data)

    def text(self, feature_names: Sequence[str], class_names: Sequence[str]) -> str:
        """Return the base's text, and the calibration."""
        text = self.base.text(feature_names, class_names)
        return "\n\n".join([*([text] if text else []), f"calibrated  {self.calibration.text()}"])

    def explain(self, values: Array, feature_names: Sequence[str], class_names: Sequence[str]) -> list[str]:
        """Return what the base says of itself."""
        return self.base.explain(values, feature_names, class_names)

    def describe(self) -> str:
        """Return a noun phrase for the model card."""
        return f"{self.base.describe()}, with calibrated confidence"

    def to_file(self) -> FileParts:
        """Return its parts of a model file: those of the base, and the calibration in the header."""
        header, arrays, sealed = self.base.to_file()
        base = {"classifier": self.base.word, **header}
        return FileParts({"base": base, "calibration": self.calibration.numbers()}, arrays, sealed)

    @classmethod
    def from_file(cls, parts: FileParts, feature_names: Sequence[str], classes: Sequence[str]) -> Self:
        """Read what `to_file` returned."""
        calibration = Calibration.read(parts.header["calibration"], cls.word)
        if calibration is None:
            raise ModelError("calibration is empty, expected its numbers")
        header = parts.header["base"]
        kind = _kind_of_base(header)
        own = parts._replace(header={name: header[name] for name in kind.header_fields})
        return cls(kind.from_file(own, feature_names, classes), calibration)

    @classmethod
    def pickled_part(cls, header: Mapping[str, Any]) -> str:
        """Return the name of the base's pickled part."""
        return _kind_of_base(header["base"]).pickled_part(header["base"])

    @property
    def _clock(self) -> list[int]:
        return [self.calibration.clock] if self.calibration.clock >= 0 else []


def _kind_of_base(header: Mapping[str, Any]) -> type[Classifier]:
    kind = kinds.kind_in(header)
    if kind is CalibratedClassifier:
        raise ModelError("base is a calibrated classifier, expected another kind")
    return kind
