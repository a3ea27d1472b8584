"""scikit-learn's classifiers in a procedure."""

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.classifiers.classifier import FileParts
from streamfs.classifiers.pickled import PickledClassifier, shares
from streamfs.classifiers.skops_files import packed, unpacked
from streamfs.errors import ModelError, TrainingError

FAILURES = (TypeError, ValueError, ArithmeticError, LookupError, RuntimeError)
"""What models raise for rows that they cannot take: networks a RuntimeError."""


class ProbabilisticModel(Protocol):
    """What a classifier of any library has to have to decide in a procedure.

    scikit-learn's classifiers and pipelines have it, and so has the network of `examples/torch_network.py`. If
    `fit` takes `sample_weight`, the rows of a stream weigh as much as those of any other. A copy is fitted, made
    by `copy.deepcopy`.

    Attributes
    ----------
    classes_ : sequence of str
        After `fit`, the labels in the order of the columns of `predict_proba`.

    Examples
    --------
    >>> from streamfs import StreamSet, train
    >>> class Nearest:
    ...     def fit(self, X, y):
    ...         self.classes_, places = np.unique(y, return_inverse=True)
    ...         self.means = np.array([np.nanmean(X[places == k], axis=0) for k in range(len(self.classes_))])
    ...     def predict_proba(self, X):
    ...         gaps = np.nansum((X[:, None] - self.means) ** 2, axis=2)
    ...         return 1.0 / (gaps + 1e-9)
    >>> labels = np.repeat(["calm", "busy"], 30)
    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal(np.where(labels == "calm", 0, 2)[:, None, None], 1, (60, 12, 1))
    >>> procedure = train(StreamSet(values, labels, ["noise"]), features=["mean(noise)"], classifier=Nearest())
    >>> procedure.about["held_out"]["labelled"]
    60
    """

    classes_: Any

    def fit(self, X: Array, y: npt.NDArray[Any]) -> Any:
        """Fit to rows of features, shape (n_rows, n_features), NaN where undefined, and their labels."""

    def predict_proba(self, X: Array) -> Array:
        """Return numbers that are in proportion to probabilities, shape (n_rows, n_classes), none negative."""


class EstimatorClassifier(PickledClassifier):
    """A classifier with scikit-learn's methods, `fit` and `predict_proba`.

    Parameters
    ----------
    model : ProbabilisticModel
        Any classifier or pipeline; it is copied, not changed.
    feature_names : sequence of str
        What the columns of a row are.
    classes : sequence of str
        The classes, in the order of the answers.

    Notes
    -----
    Undefined features are NaN, and so are infinite ones. A model that takes no NaN needs an imputer before it:
    ``make_pipeline(SimpleImputer(), LogisticRegression())``. It does not learn while it serves.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> classifier = EstimatorClassifier(DecisionTreeClassifier(), ["x"], ["low", "high"])
    >>> _ = classifier.learn([[0.0], [0.1], [1.0], [1.1]], ["low", "low", "high", "high"])
    >>> classifier.probabilities(np.array([[1.05]]))
    array([[0., 1.]])
    """

    word: ClassVar = "sklearn"
    pickled: ClassVar = "scikit-learn model"

    def __init__(self, model: Any, feature_names: Sequence[str], classes: Sequence[str]) -> None:
        if not self.is_model(model):
            raise TypeError(
                f"classifier is a {type(model).__name__}, expected a classifier with fit and predict_proba"
            )
        super().__init__(model, feature_names, classes)
        known = getattr(model, "classes_", classes)
        if sorted(known) != sorted(classes):
            raise ValueError(
                f"the model was fitted to the classes {', '.join(map(str, known))}, expected {classes}"
            )

    @classmethod
    def is_model(cls, model: object) -> bool:
        """Return whether it has scikit-learn's methods."""
        return hasattr(model, "fit") and hasattr(model, "predict_proba")

    def learn(
        self, values: npt.ArrayLike, labels: Sequence[str], sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Fit the model to rows.

        Parameters
        ----------
        values : array_like of shape (n_rows, n_features)
            NaN is undefined.
        labels : sequence of str
            The class of each row; each class has one.
        sample_weight : array_like of shape (n_rows,), optional
            Weights of the rows; not used if the model, or the last step of a pipeline, takes none.

        Raises
        ------
        TrainingError
            If the model cannot be fitted to such rows: many take no NaN; or if it does not answer as a
            `ProbabilisticModel` does.
        """
        from streamfs.classifiers.few_threads import few_threads  # noqa: PLC0415 - needs threadpoolctl, as fitting does

        rows = _finite(values)
        try:
            with few_threads(rows):
                self.model.fit(rows, np.asarray(labels), **self._weights(sample_weight))
            self._require_answers(rows[:2])
        except FAILURES as error:
            raise TrainingError(self._complaint(rows, error)) from error
        return self

    def _require_answers(self, rows: Array) -> None:
        """Raise a TrainingError unless the fitted model has all classes, and states numbers of each."""
        found = getattr(self.model, "classes_", ())
        if sorted(map(str, found)) != sorted(self.classes):
            raise TrainingError(f"its classes_ is {found!r}, expected {', '.join(self.classes)} in any order")
        said = np.asarray(self.model.predict_proba(rows))
        if said.shape != (len(rows), self.n_classes):
            raise TrainingError(
                f"its predict_proba returns the shape {said.shape}, expected {(len(rows), self.n_classes)}"
            )

    def probabilities(self, values: Array) -> Array:
        """Return class probabilities, shape (n_rows, n_classes); equal ones if the model fails."""
        rows = _finite(values)
        if not len(rows):
            return np.empty((0, self.n_classes))
        places = [list(self.model.classes_).index(label) for label in self.classes]
        try:
            return shares(np.asarray(self.model.predict_proba(rows), dtype=np.float64)[:, places])
        except FAILURES:
            if len(rows) > 1:
                return np.concatenate([self.probabilities(row[np.newaxis]) for row in rows])
            self.n_failures += 1
            return shares(np.zeros((1, self.n_classes)))

    def to_file(self) -> FileParts:
        """Return its parts of a model file: as skops packs it, with an empty identity, or else pickled."""
        data = packed(self.model)
        return super().to_file() if data is None else FileParts({"identity": ""}, {}, {"skops": data})

    @classmethod
    def from_file(cls, parts: FileParts, feature_names: Sequence[str], classes: Sequence[str]) -> Self:
        """Read what `to_file` returned; the caller trusts what is pickled."""
        if parts.header["identity"]:
            return super().from_file(parts, feature_names, classes)
        if "skops" not in parts.sealed:
            raise ModelError("it has no model that skops has packed")
        model = unpacked(parts.sealed["skops"])
        if not cls.is_model(model):
            raise ModelError(f"the packed model is a {type(model).__name__}, expected a {cls.pickled}")
        return cls(model, feature_names, classes)

    @classmethod
    def pickled_part(cls, header: Mapping[str, Any]) -> str:
        """Return the name of the model if it is pickled."""
        return cls.pickled if header["identity"] else ""

    def _complaint(self, rows: Array, error: Exception) -> str:
        """Return why the model cannot be fitted to rows, and what to do about it."""
        name, undefined = type(self.model).__name__, np.flatnonzero(np.isnan(rows).any(axis=0))
        if not len(undefined):
            return f"{name} cannot be fitted: {error}"
        return (
            f"{name} cannot be fitted to rows in which {self.feature_names[undefined[0]]} and "
            f"{len(undefined) - 1} other features may be undefined (NaN): put an imputer before it, such as "
            f"make_pipeline(SimpleImputer(), {name}()), or offer other features; it says: {error}"
        )

    def describe(self) -> str:
        """Return a noun phrase for the model card."""
        steps = ", ".join(type(step).__name__ for _, step in self._steps)
        home = type(self._steps[-1][1]).__module__.partition(".")[0]
        return f"{steps} of {'your own' if home in ('__main__', 'builtins') else home}"

    @property
    def takes_weights(self) -> bool:
        """Whether the model, or the last step of a pipeline, is fitted to weighted rows."""
        return "sample_weight" in signature(self._steps[-1][1].fit).parameters

    @property
    def _steps(self) -> Sequence[tuple[str, Any]]:
        """The steps of a pipeline with their names, or the model without one."""
        steps: Sequence[tuple[str, Any]] = getattr(self.model, "steps", [("", self.model)])
        return steps

    def _weights(self, sample_weight: npt.ArrayLike | None) -> dict[str, npt.ArrayLike]:
        """Return the argument of `fit` that gives the rows' weights, if there is one."""
        if sample_weight is None or not self.takes_weights:
            return {}
        name = self._steps[-1][0]
        return {f"{name}__sample_weight" if name else "sample_weight": sample_weight}


def _finite(values: npt.ArrayLike) -> Array:
    """Return rows in which NaN stands for all that is not finite."""
    rows = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(rows), rows, np.nan)
