"""A forest averaged with linear scores, as flat tables, which a model file holds and a gateway evaluates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy.typing as npt

from streamfs.classifiers._evaluate import Array
from streamfs.classifiers._forest_fields import TABLES
from streamfs.classifiers._linear import FlatScores
from streamfs.classifiers.crossings import CountedThresholds
from streamfs.classifiers.explanation import score_terms
from streamfs.classifiers.forest import Forest
from streamfs.classifiers.linear_scores import LinearScores
from streamfs.errors import ModelError, TranslationError

LINEAR = "linear_"
"""How the names of the scores' arrays begin in a model file."""


@dataclass(frozen=True, eq=False)
class BlendedForest(Forest):
    """The mean of what a forest states and of the probabilities that linear scores give by the softmax function.

    Trees see thresholds, sums see the shape that many features have together.

    Parameters
    ----------
    linear : LinearScores
        Of the same features and classes.

    Raises
    ------
    streamfs.errors.ModelError
        If the tables are not a forest, or the scores are of another number of classes.

    Examples
    --------
    >>> import numpy as np
    >>> blend = BlendedForest(
    ...     feature=np.array([0, -1, -1]), threshold=np.array([0.5, 0.0, 0.0]),
    ...     first_child=np.array([1, 0, 0]), missing_child=np.array([1, 0, 0]),
    ...     shares=np.array([[0.5, 0.5], [0.75, 0.25], [0.0, 1.0]]), roots=np.array([0]),
    ...     linear=LinearScores(
    ...         -1, np.zeros(1), np.array([0]), lowest=np.array([-2.0]), highest=np.array([2.0]),
    ...         offsets=np.zeros((1, 2)), centres=np.zeros((1, 1)), factors=np.array([[[-0.5, 0.5]]]),
    ...     ),
    ... )
    >>> blend.probabilities(np.array([[1.0], [9.0], [np.nan]])).round(3)
    array([[0.134, 0.866],
           [0.06 , 0.94 ],
           [0.625, 0.375]])
    """

    word: ClassVar = "blend"

    linear: LinearScores = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.linear.n_classes != self.n_classes:
            raise ModelError(f"linear.offsets has {self.linear.n_classes} classes, expected {self.n_classes}")

    @classmethod
    def of(cls, forest: Forest, linear: LinearScores) -> Self:
        """Return a forest of probabilities, averaged with scores."""
        return cls(**{name: getattr(forest, name) for name in TABLES}, linear=linear)

    def features_tested(self) -> tuple[int, ...]:
        """Return the features that the trees test, and those that scores and calibration read, ascending."""
        return tuple(sorted({*super().features_tested(), *self.linear.read}))

    def reading(self, features: Sequence[int]) -> Self:
        """Return the blend, uncalibrated, for rows of these features alone, ascending, with all that it reads."""
        return replace(super().reading(features), linear=self.linear.reading(features))

    def counting(self, features: Mapping[int, str]) -> CountedThresholds:  # noqa: ARG002 - none are counted
        """Raise a TranslationError: sums read values."""
        raise TranslationError(
            'its linear scores read values, expected classifier="extra-trees" in training, or to send values'
        )

    def text(self, feature_names: Sequence[str], class_names: Sequence[str] = ()) -> str:
        """Return the forest's text, and the size of the scores."""
        n_segments, n_terms, _ = self.linear.factors.shape
        scores = f"linear      sums of {n_terms} features in {n_segments} segments, averaged with the forest"
        return "\n".join([super().text(feature_names, class_names), scores])

    def explain(self, values: Array, feature_names: Sequence[str], class_names: Sequence[str]) -> list[str]:
        """Return the trees' votes, and what adds most to the score of the likeliest class."""
        return [
            *super().explain(values, feature_names, class_names),
            *score_terms(self.linear, values, feature_names, class_names),
        ]

    def describe(self) -> str:
        """Return a noun phrase for the model card."""
        return super().describe().replace("trees", "trees, averaged with linear scores", 1)

    @cached_property
    def scores(self) -> FlatScores:
        """The linear scores as the compiled evaluation reads them."""
        return self.linear.flat()

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all fields as arrays, which `from_arrays` takes."""
        linear = {LINEAR + name: array for name, array in self.linear.to_arrays().items()}
        return super().to_arrays() | linear

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Read what `to_arrays` made; raise a ModelError if a field is missing, unknown or wrong."""
        linear = {name.removeprefix(LINEAR): array for name, array in arrays.items() if name.startswith(LINEAR)}
        forest = {name: array for name, array in arrays.items() if not name.startswith(LINEAR)}
        return cls(**cls.fields_of(forest), linear=LinearScores.from_arrays(linear))
