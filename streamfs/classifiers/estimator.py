"""scikit-learn's classifiers in a procedure."""

from collections.abc import Sequence
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array
from streamfs.classifiers.pickled import PickledClassifier, shares
from streamfs.errors import TrainingError


class EstimatorClassifier(PickledClassifier):
    """A classifier with scikit-learn's methods, `fit` and `predict_proba`.

    Parameters
    ----------
    model : estimator
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
            raise TypeError(f"model is a {type(model).__name__}, expected a classifier with fit and predict_proba")
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
            If the model cannot be fitted to such rows: many take no NaN.
        """
        rows = _finite(values)
        try:
            self.model.fit(rows, np.asarray(labels), **self._weights(sample_weight))
        except ValueError as error:
            raise TrainingError(self._complaint(rows, error)) from error
        return self

    def probabilities(self, values: Array) -> Array:
        """Return class probabilities, shape (n_rows, n_classes); equal ones if the model fails."""
        rows = _finite(values)
        if not len(rows):
            return np.empty((0, self.n_classes))
        places = [list(self.model.classes_).index(label) for label in self.classes]
        try:
            return shares(np.asarray(self.model.predict_proba(rows), dtype=np.float64)[:, places])
        except ValueError:
            if len(rows) > 1:
                return np.concatenate([self.probabilities(row[np.newaxis]) for row in rows])
            self.n_failures += 1
            return shares(np.zeros((1, self.n_classes)))

    def _complaint(self, rows: Array, error: ValueError) -> str:
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
        return f"{steps} of {type(self._steps[-1][1]).__module__.partition('.')[0]}"

    @property
    def _steps(self) -> Sequence[tuple[str, Any]]:
        """The steps of a pipeline with their names, or the model without one."""
        steps: Sequence[tuple[str, Any]] = getattr(self.model, "steps", [("", self.model)])
        return steps

    def _weights(self, sample_weight: npt.ArrayLike | None) -> dict[str, npt.ArrayLike]:
        """Return the argument of `fit` that gives the rows' weights, if there is one."""
        name, last = self._steps[-1]
        if sample_weight is None or "sample_weight" not in signature(last.fit).parameters:
            return {}
        return {f"{name}__sample_weight" if name else "sample_weight": sample_weight}


def _finite(values: npt.ArrayLike) -> Array:
    """Return rows in which NaN stands for all that is not finite."""
    rows = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(rows), rows, np.nan)
