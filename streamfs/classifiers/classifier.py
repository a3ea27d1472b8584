"""The interface of classifiers to procedures, engines, gateways and model cards."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Flags
from streamfs.classifiers._evaluate import FlatTree
from streamfs.classifiers._forest import FlatForest
from streamfs.errors import ModelError, TranslationError

if TYPE_CHECKING:
    from streamfs.classifiers.calibration import Calibration
    from streamfs.classifiers.crossings import CountedThresholds

HeaderFields = Mapping[str, tuple[tuple[type, ...], str]]
"""Fields of a JSON header by name: their types, and the same in words."""


class FileParts(NamedTuple):
    """The parts of a classifier in a model file.

    Attributes
    ----------
    header : mapping of str to object
        Fields of the file's JSON header.
    arrays : mapping of str to ndarray
        Arrays, by names without the classifier's word.
    sealed : mapping of str to bytes
        Parts in a format of the classifier's own, by names without its word.
    """

    header: Mapping[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]]
    sealed: Mapping[str, bytes]


class Classifier(ABC):
    """A classifier in a procedure: from rows of features to probabilities, in a model file, and for a reader.

    A new kind is a subclass that `register` is called with. What has a default need only be overridden by kinds
    that differ: those that release features, train while they serve, or have a compiled form.

    Attributes
    ----------
    word : str
        The kind's name in the header of a model file, and the prefix of its arrays there.
    header_fields : mapping
        Fields that the kind adds to the header.
    pickled : str
        Name of the pickled part of a model file, such as ``River model``, loaded on trust alone; or empty.
    releases_features : bool
        Whether a stream may cease to request a feature before it is decided.
    n_classes : int
        Number of classes.
    n_failures : int
        Rows for which it failed to answer.
    """

    word: ClassVar[str]
    header_fields: ClassVar[HeaderFields] = MappingProxyType({})
    pickled: ClassVar[str] = ""

    if TYPE_CHECKING:  # fields of some kinds, properties of others

        @property
        def releases_features(self) -> bool:
            """Whether a stream may cease to request a feature before it is decided."""

        @property
        def n_classes(self) -> int:
            """Number of classes."""

        @property
        def n_failures(self) -> int:
            """Rows for which it failed to answer."""
    else:
        releases_features, n_failures = False, 0

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: not what is made from it, which kernels would refuse when it came back."""
        kept = {name: getattr(type(self), name, None) for name in vars(self)}
        return {name: vars(self)[name] for name, found in kept.items() if not isinstance(found, cached_property)}

    @abstractmethod
    def probabilities(self, values: Array) -> Array:
        """Return the probability of each class, shape (n_rows, n_classes), of feature rows (NaN: undefined)."""

    @abstractmethod
    def features_tested(self) -> tuple[int, ...]:
        """Return the indices of the features that it reads, ascending."""

    @abstractmethod
    def to_file(self) -> FileParts:
        """Return its parts of a model file."""

    @classmethod
    @abstractmethod
    def from_file(cls, parts: FileParts, feature_names: Sequence[str], classes: Sequence[str]) -> Self:
        """Read what `to_file` returned.

        Raises
        ------
        ModelError
            If a part is missing, unknown or wrong.
        """

    @abstractmethod
    def describe(self) -> str:
        """Return a noun phrase for the model card, such as ``a decision tree with 5 leaves``."""

    def text(self, feature_names: Sequence[str], class_names: Sequence[str]) -> str:  # noqa: ARG002 - for subclasses
        """Return it as readable text, or an empty string."""
        return ""

    def explain(self, values: Array, feature_names: Sequence[str], class_names: Sequence[str]) -> list[str]:  # noqa: ARG002 - the same
        """Return in words why it says what it says of a row, shape (n_features,); nothing if it cannot."""
        return []

    def reading(self, features: Sequence[int]) -> "Classifier | None":  # noqa: ARG002 - for subclasses
        """Return it for rows of these features alone, all that it reads among them; None if it must be fitted."""
        return None

    def counting(self, features: Mapping[int, str]) -> "CountedThresholds":  # noqa: ARG002 - for subclasses
        """Return it for counts of the thresholds that features are above, given their names by their places.

        Raises
        ------
        TranslationError
            If it reads one of these features otherwise than by thresholds.
        """
        raise TranslationError(f"it is {self.describe()}, expected a tree or a forest, or to send values")

    def require_features(self, n_features: int) -> None:
        """Raise ValueError unless it can read rows of `n_features` features."""
        tested = max(self.features_tested(), default=-1)
        if tested >= n_features:
            raise ValueError(f"the classifier tests feature {tested}, expected at most {n_features - 1}")

    def requests(self, values: Array) -> Flags:
        """Return which features are still of interest after newest values, both of shape (n_rows, n_features)."""
        return np.ones(values.shape, dtype=np.bool_)

    @classmethod
    def pickled_part(cls, header: Mapping[str, Any]) -> str:  # noqa: ARG003 - for subclasses
        """Return what of a model file with such fields in its header is pickled, or an empty string."""
        return cls.pickled

    def calibrated(self, calibration: "Calibration | None") -> "Classifier":
        """Return it with this calibration, or none, in place of its own, if any."""
        from streamfs.classifiers.calibrated import CalibratedClassifier  # noqa: PLC0415 - which is a subclass

        plain = self.uncalibrated()
        return plain if calibration is None else CalibratedClassifier(plain, calibration)

    def uncalibrated(self) -> "Classifier":
        """Return it without its calibration; itself if it has none."""
        return self

    def frozen(self) -> "Classifier":
        """Return it such that nothing trains it any more, as one must be of which something is promised."""
        return self

    def flat_tree(self) -> FlatTree | None:
        """Return the tree that an engine's compiled pass evaluates; None if it is no tree."""
        return None

    def flat_forest(self) -> FlatForest | None:
        """Return the forest that an engine's compiled pass evaluates; None if it is no forest."""
        return None

    def learn_one(self, values: Array, label: str) -> bool:  # noqa: ARG002 - for subclasses
        """Train on a decision's features, shape (n_features,), and its true label; return whether it has."""
        return False

    def dump(self) -> bytes | None:
        """Return the state for a gateway's snapshot, from training while serving; None if there is none."""
        return None

    def restore(self, data: bytes) -> None:  # noqa: ARG002 - for subclasses
        """Continue from what `dump` returned.

        Raises
        ------
        ModelError
            If it keeps nothing, or the bytes are not its own.
        """
        raise ModelError(f"the snapshot holds a {type(self).__name__}, which has no state")
