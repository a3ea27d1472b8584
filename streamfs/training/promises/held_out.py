"""Curves of subsets of features on streams that their classifiers were not fitted on."""

from collections.abc import Mapping, Sequence

import numpy as np

from streamfs.training.held_out import Followed, OutOfFold
from streamfs.training.promises.curve import Curve

Curves = Mapping[int, Curve]
"""Curves by the tick before which nothing is decided."""


class HeldOut(OutOfFold):
    """Streams in folds, and the curves of all thresholds on them."""

    def curves(self, chosen: Sequence[int], starts: Sequence[int] = (1,)) -> Curves:
        """Follow all streams, each held out, through all thresholds from each of some ticks on."""
        followed = self.follow(chosen)
        return {start: curve_of(followed.since(start)) for start in starts}


def accuracy_where(curve: Curve, completeness: float) -> float:
    """Return the accuracy at the threshold whose completeness is nearest to a share; 0 without any."""
    if not len(curve):
        return 0.0
    return float(curve.accuracy[np.abs(curve.completeness - completeness).argmin()])


def curve_of(followed: Followed) -> Curve:
    """Return the results of all thresholds on streams that were followed, the means of all repetitions."""
    seen, truth, spent = followed.trajectories, followed.truth, followed.spent
    return Curve.of(seen, truth, spent, followed.ticks, followed.n_classes).averaged(followed.n_repetitions)
