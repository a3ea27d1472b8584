"""River's classifiers in a procedure."""

import pickle
from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.classifiers.classifier import Classifier
from streamfs.classifiers.pickled import PickledClassifier, shares
from streamfs.errors import TrainingError

if TYPE_CHECKING:
    from river.base import Classifier as RiverClassifier


class OnlineClassifier(PickledClassifier):
    """A River classifier that reads rows of features and answers with probabilities.

    Parameters
    ----------
    model : river.base.Classifier
        Any River classifier or pipeline; it is copied, not changed.
    feature_names : sequence of str
        Keys of the dicts that the model is given.
    classes : sequence of str
        The classes, in the order of the answers.

    Attributes
    ----------
    n_failures : int
        Rows for which the model raised an error; they have no answer.

    Notes
    -----
    A binary model is given True and False for the two classes. An undefined feature (NaN) is left out of the dict,
    as River expects of missing values: one NaN would spoil its scalers permanently. Rows are passed one at a time,
    which is slower than a tree.

    Examples
    --------
    >>> from river.naive_bayes import GaussianNB
    >>> classifier = OnlineClassifier(GaussianNB(), ["x"], ["low", "high"])
    >>> _ = classifier.learn([[0.0], [0.1], [1.0], [1.1]], ["low", "low", "high", "high"])
    >>> classifier.probabilities(np.array([[1.05]])).round(2)
    array([[0., 1.]])
    """

    word: ClassVar = "river"
    pickled: ClassVar = "River model"
    model: "RiverClassifier"

    def __init__(self, model: "RiverClassifier", feature_names: Sequence[str], classes: Sequence[str]) -> None:
        self.require(model)
        super().__init__(model, feature_names, classes)
        self._of_label: dict[str, Any] = {label: label for label in self.classes}
        if not self.model._multiclass:  # noqa: SLF001 - River's own way to ask
            if len(self.classes) != 2:
                raise TrainingError(
                    f"River's {type(self.model).__name__} separates two classes, not {len(self.classes)}: "
                    f"{', '.join(self.classes)}"
                )
            self._of_label = dict(zip(self.classes, (False, True), strict=True))

    def learn(self, values: npt.ArrayLike, labels: Sequence[str]) -> Self:
        """Train on rows in order.

        Parameters
        ----------
        values : array_like of shape (n_rows, n_features)
            NaN is undefined.
        labels : sequence of str
            The class of each row.

        Raises
        ------
        TrainingError
            If the model cannot be trained on such rows: some take only counts, or no missing features.
        """
        for row, label in zip(np.asarray(values, dtype=np.float64), labels, strict=True):
            self._learn(row, str(label))
        return self

    def learn_one(self, values: Array, label: str) -> bool:
        """Train on one decision whose true label has become known.

        Parameters
        ----------
        values : ndarray of shape (n_features,)
            The features at the decision; NaN is undefined.
        label : str
            The true class.

        Returns
        -------
        bool
            Whether it was trained: False if no feature is defined.

        Raises
        ------
        ValueError
            If the label is not one of the classes, or there is not one value per feature.
        TrainingError
            If the model cannot be trained on such values.

        Examples
        --------
        >>> from river.naive_bayes import GaussianNB
        >>> classifier = OnlineClassifier(GaussianNB(), ["x"], ["low", "high"])
        >>> classifier.learn_one(np.array([0.5]), "low")
        True
        >>> classifier.learn_one(np.array([np.nan]), "high")
        False
        """
        if label not in self._of_label:
            raise ValueError(f"label is {label!r}, expected one of the classes {', '.join(self.classes)}")
        if values.shape != (len(self.feature_names),):
            raise ValueError(f"values have shape {values.shape}, expected ({len(self.feature_names)},)")
        if np.isnan(values).all():
            return False
        self._learn(values, label)
        return True

    def probabilities(self, values: Array) -> Array:
        """Return class probabilities, shape (n_rows, n_classes); equal ones if the model fails."""
        result = np.empty((len(values), len(self.classes)))
        for out, row in zip(result, values, strict=True):
            answer = self._answer(row)
            out[:] = [answer.get(self._of_label[c], 0.0) for c in self.classes]
        return shares(result)

    @classmethod
    def is_model(cls, model: object) -> bool:
        """Return whether it is a River classifier."""
        from river.base import Classifier as RiverClassifier  # noqa: PLC0415 - River is slow to import

        return isinstance(model, RiverClassifier)

    @classmethod
    def require(cls, model: object) -> None:
        """Raise a TypeError unless it is a River classifier."""
        if not cls.is_model(model):
            has_scores = hasattr(model, "decision_function")
            advice = "; scikit-learn's CalibratedClassifierCV adds it" if has_scores else ""
            raise TypeError(
                f"classifier is a {type(model).__name__}, expected a River classifier, or another with fit and "
                f"predict_proba{advice}"
            )

    def _answer(self, row: Array) -> dict[Any, float]:
        try:
            return self.model.predict_proba_one(self._dict(row))  # type: ignore[no-any-return]
        except (TypeError, ValueError, ArithmeticError, LookupError):  # some models fail even on rows of training
            self.n_failures += 1
            return {}

    def describe(self) -> str:
        """Return a noun phrase for the model card."""
        return f"{type(self.model).__name__} of River, which goes on learning where labels arrive"

    def frozen(self) -> "FrozenOnlineClassifier":
        """Return a copy that does not learn while it serves."""
        return FrozenOnlineClassifier(self.model, self.feature_names, self.classes)

    def dump(self) -> bytes | None:
        """Pickle the model."""
        return pickle.dumps(self.model)

    def restore(self, data: bytes) -> None:
        """Continue with a model that `dump` has pickled, and that the caller trusts.

        Raises
        ------
        ModelError
            If the bytes hold no River classifier.
        """
        self.model = self.unpickled(data)

    def _learn(self, row: Array, label: str) -> None:
        try:
            self.model.learn_one(self._dict(row), self._of_label[label])
        except (TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise TrainingError(
                f"River's {type(self.model).__name__} cannot learn the label {label!r} from these "
                f"features ({error}): take another, such as naive_bayes.GaussianNB"
            ) from error

    def _dict(self, row: Array) -> dict[str, float]:
        return {name: x for name, x in zip(self.feature_names, row.tolist(), strict=True) if not isnan(x)}


class FrozenOnlineClassifier(OnlineClassifier):
    """A River classifier that does not learn while it serves: a promise is one of what was tested."""

    word: ClassVar = "river-frozen"
    learn_one, dump, restore = Classifier.learn_one, Classifier.dump, Classifier.restore

    def frozen(self) -> "FrozenOnlineClassifier":
        """Return itself."""
        return self

    def describe(self) -> str:
        """Return a noun phrase for the model card."""
        return f"{type(self.model).__name__} of River, which does not learn any more"
