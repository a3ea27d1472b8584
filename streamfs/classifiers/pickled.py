"""Models of other libraries, which a model file holds as pickles."""

import copy
import pickle
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from feature_extractors.arrays import Array
from streamfs.base.container import digest
from streamfs.classifiers.classifier import Classifier, FileParts
from streamfs.errors import ModelError


class PickledClassifier(Classifier):
    """A model of another library, which is loaded on trust alone.

    Parameters
    ----------
    model : object
        It is copied, not changed.
    feature_names : sequence of str
        What it reads.
    classes : sequence of str
        The classes, in the order of the answers.

    Attributes
    ----------
    n_failures : int
        Rows for which the model raised an error; they have no answer.
    """

    header_fields: ClassVar = {"identity": ((str,), "a text")}
    n_failures: int

    def __init__(self, model: Any, feature_names: Sequence[str], classes: Sequence[str]) -> None:
        self.model = copy.deepcopy(model)
        self.feature_names = tuple(feature_names)
        self.classes = tuple(classes)
        self.n_failures = 0

    @classmethod
    @abstractmethod
    def is_model(cls, model: object) -> bool:
        """Return whether it is a model of this kind."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def features_tested(self) -> tuple[int, ...]:
        """Return all features: which of them the model reads is not known."""
        return tuple(range(len(self.feature_names)))

    def to_file(self) -> FileParts:
        """Return its parts of a model file: the pickled model, and its digest in the header."""
        model = pickle.dumps(self.model)
        return FileParts({"identity": digest(model)}, {}, {"pickle": model})

    @classmethod
    def from_file(cls, parts: FileParts, feature_names: Sequence[str], classes: Sequence[str]) -> Self:
        """Unpickle what `to_file` returned; the caller trusts it."""
        if "pickle" not in parts.sealed:
            raise ModelError(f"it has no pickled {cls.pickled}")
        return cls.load(parts.sealed["pickle"], parts.header["identity"], feature_names, classes)

    @classmethod
    def load(cls, data: bytes, identity: str, feature_names: Sequence[str], classes: Sequence[str]) -> Self:
        """Unpickle a model that the caller trusts.

        Raises
        ------
        ModelError
            If the bytes are not those of that identity, or hold no such model.
        """
        if digest(data) != identity:
            raise ModelError(f"the {cls.pickled} is damaged: its digest is {digest(data)}, expected {identity}")
        return cls(cls.unpickled(data), feature_names, classes)

    @classmethod
    def unpickled(cls, data: bytes) -> Any:
        """Unpickle a model that the caller trusts; raise ModelError if it is another."""
        try:
            model = pickle.loads(data)  # noqa: S301 - the caller trusts it
        except Exception as error:  # a pickle raises whatever its classes do
            raise ModelError(f"the pickled model cannot be loaded: {error!r}") from error
        if not cls.is_model(model):
            raise ModelError(f"the pickled model is a {type(model).__name__}, expected a {cls.pickled}")
        return model


def shares(numbers: Array) -> Array:
    """Return rows of numbers divided by their sums; equal shares where that gives none."""
    totals = numbers.sum(axis=1, keepdims=True)
    is_known = np.isfinite(totals) & (totals > 0.0)
    return np.where(is_known, numbers / np.where(is_known, totals, 1.0), 1.0 / numbers.shape[1])
