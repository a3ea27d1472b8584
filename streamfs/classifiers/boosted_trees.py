"""Fitted gradient boosting as flat tables, which a model file holds and a gateway evaluates."""

from dataclasses import dataclass
from typing import ClassVar

from streamfs.classifiers._forest_fields import Tables, check_scores, check_tables
from streamfs.classifiers.forest import Forest


@dataclass(frozen=True, eq=False)
class BoostedTrees(Forest):
    """Decision trees whose leaves add to the scores of classes: a class's probability grows with exp(score).

    Its tables are those of a forest, except that a leaf's `shares` are any finite numbers: what it adds to the
    score of each class. Scores are summed over the trees and turned into probabilities by the softmax function.

    Examples
    --------
    >>> import numpy as np
    >>> boosted = BoostedTrees(
    ...     feature=np.array([-1, 1, -1, -1]), threshold=np.array([0.0, 0.5, 0.0, 0.0]),
    ...     first_child=np.array([0, 2, 0, 0]), missing_child=np.array([0, 3, 0, 0]),
    ...     shares=np.array([[0.0, 1.0], [0.0, 0.0], [0.0, -1.0], [0.0, 1.0]]), roots=np.array([0, 1]),
    ... )
    >>> boosted.probabilities(np.array([[7.0, 0.1], [7.0, np.nan]])).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    """

    word: ClassVar = "boosting"
    adds: ClassVar = True

    @staticmethod
    def _check(tables: Tables) -> None:
        check_tables(tables)
        check_scores(tables["shares"])

    def describe(self) -> str:
        """Return a noun phrase for the model card."""
        calibrated = "" if self.calibration is None else ", whose confidence is calibrated"
        return f"{self.n_trees} boosted trees{calibrated}"
