"""Whether what is learned of earlier streams holds of later ones."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.data.stream_arrays import Labels
from streamfs.selection.folds import Fold
from streamfs.training.confidence import Confident
from streamfs.training.cross_validation import N_FOLDS
from streamfs.training.held_out import OutOfFold
from streamfs.training.luck import is_notable

Mask = npt.NDArray[np.bool_]

Decide = Callable[[OutOfFold], Mask]
"""Which streams, held out so, are decided rightly; of those that are not held out it does not matter."""

EARLIER = 0.6
"""Share of the streams that began first."""


class Later(NamedTuple):
    """Streams that began last, and how many are right if learned from earlier ones alone, and from a mixture."""

    streams: int
    right: int
    mixed: int


def held_later(held_out: OutOfFold, starts: Array | None, decide: Decide, usual: Mask) -> Later | None:
    """Return how later streams fare, if surely and notably fewer of them are right.

    They are decided once by a classifier that is fitted to earlier streams alone, once by those that are fitted to
    as many of all times. `decide` says which streams are then right, and `usual` which are if held out as usual.
    There is None, too, if the streams cannot be divided (`division_at`).
    """
    fold = None if starts is None else division_at(starts, held_out.table.labels)
    if fold is None:
        return None
    later = fold.test
    right = decide(held_out.divided([fold]))[later]
    if not is_notable(usual[later].astype(np.float64) - right):
        return None
    share = EARLIER * N_FOLDS / (N_FOLDS - 1)
    mixed = decide(held_out.trained_on_part(share, held_out.seed))[later]
    is_lost = is_notable(mixed.astype(np.float64) - right)
    return Later(len(later), int(right.sum()), int(mixed.sum())) if is_lost else None


def decided_rightly(held_out: OutOfFold, chosen: Confident) -> Mask:
    """Return which streams are decided rightly by the calibration and the thresholds that were chosen."""
    followed = held_out.follow(range(len(held_out.table.features)))
    paths = followed.calibrated(chosen.calibration, followed.n_classes).trajectories
    levels = np.array([chosen.thresholds.at(tick) for tick in followed.ticks.tolist()])
    is_inside = np.arange(len(levels)) < paths.ticks[:, np.newaxis]
    is_sure = is_inside & (paths.confidence >= levels)
    is_right: Mask = followed.is_right()[np.arange(len(is_sure)), is_sure.argmax(axis=1)]
    return is_right & is_sure.any(axis=1)


def division_at(starts: Array, labels: Labels) -> Fold | None:
    """Return the streams that began first, and those that began later; those of one time are on one side.

    There is None if a time is not known, or a class has few streams on one side.
    """
    if not len(starts) or np.isnan(starts).any():
        return None
    is_later = starts >= np.quantile(starts, EARLIER, method="higher")
    sides = (np.flatnonzero(~is_later), np.flatnonzero(is_later))
    fewest = min(np.count_nonzero(labels[side] == label) for side in sides for label in np.unique(labels))
    return Fold(*sides) if fewest >= N_FOLDS else None
