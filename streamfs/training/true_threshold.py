"""A threshold on what a classifier states, and the confidence that is true where it is passed."""

from typing import NamedTuple

import numpy as np

from feature_extractors.arrays import Array, Integers
from streamfs.classifiers.calibration import Calibration
from streamfs.training.correction import correction
from streamfs.training.held_out import Followed
from streamfs.training.luck import believed_share, chance_of, effective_number

LUCK = 1.0
"""Squared standard errors by which a share of right answers may be off: the threshold was given, not chosen."""


class TrueThreshold(NamedTuple):
    """A calibration, and the calibrated threshold that the same streams pass at the same ticks.

    `columns` are those in which the followed streams were decided, -1 for never, and `stated` the calibrated
    confidence there.
    """

    calibration: Calibration
    threshold: float
    columns: Integers
    stated: Array

    @classmethod
    def of(cls, followed: Followed, threshold: float) -> "TrueThreshold":
        """Calibrate what a classifier states, so that decisions stay and their mean confidence is true.

        Confidence is fitted to right answers at the ticks at which held-out streams may be decided, whatever the
        threshold, and then corrected where they are decided: as many are right as is stated, luck apart. Of no
        decided stream, nothing is calibrated.
        """
        confidence = followed.trajectories.confidence
        is_sure = confidence >= threshold
        columns = np.where(is_sure.any(axis=1), is_sure.argmax(axis=1), -1)
        decided = np.flatnonzero(columns >= 0)
        at = columns[decided]
        records = followed.records()
        first = Calibration.fit(records.confidence, records.is_right, records.weights)
        said = first.of(confidence[decided, at])
        right = followed.is_right()[decided, at]
        weights = followed.counts[decided]
        believed = believed_share(right, chance_of(followed), effective_number(weights), LUCK, weights)
        n_classes = 1 + max(followed.truth.max(), followed.trajectories.best.max())
        last = correction(said, believed, 1.0 / n_classes, float(first.of(threshold)), weights)
        calibration = first.then(last)
        stated = np.zeros(len(columns))
        stated[decided] = calibration.of(confidence[decided, at])
        return cls(calibration, float(calibration.of(threshold)), columns, stated)
