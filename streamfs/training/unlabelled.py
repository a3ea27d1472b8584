"""Why a confidence gives no stream a label, and what to do about it."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from feature_extractors.arrays import Array, Integers
from streamfs.data.stream_arrays import Labels
from streamfs.errors import TrainingError
from streamfs.selection.folds import Fold
from streamfs.training.query_sensitive import least_unanimous

LOWER = (0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55)
"""Lower confidences that are tried, where one is too high."""


def unlabelled(what: str, confidence: float, said: Array, reason: str = "") -> TrainingError:
    """Return the error that `what` a label at a confidence, where those in `said` were stated."""
    highest = float(np.nan_to_num(said).max())
    reason = f"; {reason}" if reason else ""
    lower = math.floor(highest * 100.0) / 100.0
    return TrainingError(
        f"{what} a label at confidence {confidence:g}: the highest that is stated is {highest:.3f}{reason}. Give "
        f"a confidence of {lower:g} at most, or leave out select and confidence, which chooses it"
    )


def require_labels(what: str, confidence: float, said: Array, *others: Array, reason: str = "") -> None:
    """Raise a TrainingError that `what` a label, if a confidence is not reached in `said`.

    The confidence that it proposes is reached in `others`, too.
    """
    if not (said >= confidence).any():
        reached = min((said, *others), key=lambda each: float(np.nan_to_num(each).max()))
        raise unlabelled(what, confidence, reached, reason)


def require_decided(columns: Integers, confidence: float | None, at: Callable[[float], Integers]) -> None:
    """Raise a TrainingError if no held-out stream is decided, -1 in `columns`, at a confidence, if one is given.

    It proposes a lower one, `at` which half of the streams are.
    """
    if (columns >= 0).any():
        return
    when, lower = "before its end", "lower it"
    if confidence is not None:
        when = f"at confidence {confidence:g}"
        n_decided = ((level, int((at(level) >= 0).sum())) for level in LOWER if level < confidence)
        found = next(((level, n) for level, n in n_decided if 2 * n >= len(columns)), None)
        lower = lower if found is None else f"lower it to {found[0]:g}, at which {found[1]} are"
    raise TrainingError(
        f"none of {len(columns)} held-out streams is given a label {when}: leave the confidence out, and errors "
        f"and delays choose it; {lower}; or record more streams"
    )


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
