"""Why a confidence gives no stream a label, and what to do about it."""

import math
from collections.abc import Sequence

import numpy as np

from feature_extractors.base import Array
from streamfs.data.streams import Labels
from streamfs.errors import TrainingError
from streamfs.selection.folds import Fold
from streamfs.training.query_sensitive import least_unanimous


def unlabelled(what: str, confidence: float, said: Array, reason: str = "") -> TrainingError:
    """Return the error that `what` a label at a confidence, where those in `said` were stated."""
    highest = float(np.nan_to_num(said).max())
    reason = f"; {reason}" if reason else ""
    lower = math.floor(highest * 100.0) / 100.0
    return TrainingError(
        f"{what} a label at confidence {confidence:g}: the highest that is stated is {highest:.3f}{reason}. Lower "
        f"the confidence to {lower:g} at most, or leave out select and confidence, which chooses it"
    )


def require_labels(what: str, confidence: float, said: Array, *others: Array, reason: str = "") -> None:
    """Raise a TrainingError that `what` a label, if a confidence is not reached in `said`.

    The confidence that it proposes is reached in `others`, too.
    """
    if not (said >= confidence).any():
        reached = min((said, *others), key=lambda each: float(np.nan_to_num(each).max()))
        raise unlabelled(what, confidence, reached, reason)


def leaf_reason(confidence: float, labels: Labels, folds: Sequence[Fold]) -> str:
    """Return why no leaf of a tree that counts streams can state a confidence, or an empty string if one can."""
    n_classes = len(np.unique(labels))
    most = max(int(np.unique(labels[fold.training], return_counts=True)[1].max()) for fold in folds)
    if confidence >= 1.0:
        return "no leaf of a tree states 1"
    least = least_unanimous(confidence, n_classes)
    if most >= least:
        return ""
    return (
        f"with {n_classes} classes, {confidence:g} takes a leaf of {least} streams of one class and no other, and "
        f"a tree is fitted to {most} of a class at most"
    )
