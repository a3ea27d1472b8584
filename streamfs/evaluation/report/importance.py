"""What each quantity is worth: accuracy lost and energy spent when its readings are those of other streams."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from feature_extractors.arrays import Integers
from feature_extractors.report import split_channel
from streamfs.base.progress import Progress, quiet
from streamfs.data.streams import StreamSet
from streamfs.evaluation.evaluation import evaluate
from streamfs.evaluation.model_card import paid
from streamfs.evaluation.traffic import measure_traffic
from streamfs.procedure.procedure import Procedure

REPEATS = 3
"""Draws of other streams for each column, by default."""


class Importance(NamedTuple):
    """A column's worth.

    Parameters
    ----------
    column : str
        Of the recorded streams.
    accuracy : float
        By how much the share of all streams that are labelled rightly falls.
    paid : float
        By how much the mean cost of a stream rises, in the unit of the model's card.
    """

    column: str
    accuracy: float
    paid: float


def importances(
    procedure: Procedure,
    streams: StreamSet,
    *,
    repeats: int = REPEATS,
    seed: int = 0,
    progress: Progress = quiet,
) -> list[Importance]:
    """Measure what a procedure loses if a column's readings are those of other streams, for each column it reads.

    Parameters
    ----------
    procedure : Procedure
        The procedure.
    streams : StreamSet
        Labelled streams that it was not trained on.
    repeats : int
        Draws of other streams, over which the mean is taken.
    seed : int
        Seed of the draws.
    progress : callable, optional
        Told what is done, how much of it, and of how much.

    Returns
    -------
    list of Importance
        Most important first: by accuracy, then by what is paid.

    Raises
    ------
    DataError
        If no stream has a tick, a column is missing, or the period or a class differs.

    Notes
    -----
    A column that another one repeats may seem to be worth nothing: either does without the other.

    References
    ----------
    L. Breiman, Random forests, Machine Learning 45, 2001, section 10.

    Examples
    --------
    >>> from streamfs import train
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["calm", "busy"], 60)
    >>> telling = rng.normal(np.where(labels == "calm", 0, 9)[:, None], 1, (120, 6))
    >>> streams = StreamSet(np.stack([telling, rng.normal(0, 1, (120, 6))], axis=2), labels, ["noise", "light"])
    >>> procedure = train(streams, features=["mean(noise)", "mean(light)"], confidence=0.8, select=None)
    >>> [(each.column, round(each.accuracy, 1)) for each in importances(procedure, streams)]
    [('noise', 0.5)]
    """
    rng = np.random.default_rng(seed)
    columns = list(dict.fromkeys(split_channel(channel)[0] for channel in procedure.channels))
    usual = _outcome(procedure, streams)
    found = []
    for done, column in enumerate(columns):
        progress("exchanging readings", done, len(columns))
        losses = [_outcome(procedure, _exchanged(streams, column, rng.permutation)) for _ in range(repeats)]
        right, cost = np.mean(losses, axis=0)
        more = 0.0 if np.isclose(cost, usual[1], rtol=1e-9, atol=0.0) else float(cost - usual[1])
        found.append(Importance(column, float(usual[0] - right), more))
    progress("exchanging readings", len(columns), len(columns))
    return sorted(found, key=lambda each: (-each.accuracy, -each.paid, each.column))


def _exchanged(streams: StreamSet, column: str, permutation: Callable[[int], Integers]) -> StreamSet:
    """Return the streams with a column of other streams; beyond these streams' ends it is missing."""
    values = streams.values.copy()
    place = streams.columns.index(column)
    values[:, :, place] = values[permutation(len(streams)), :, place]
    return StreamSet(values, streams.labels, streams.columns, streams.period, streams.names, streams.lengths)


def _outcome(procedure: Procedure, streams: StreamSet) -> tuple[float, float]:
    """Return the share of all streams that are labelled rightly, and the mean cost of a stream."""
    found = evaluate(procedure, streams)
    is_right = [d.label == truth for d, truth in zip(found.decisions, found.labels, strict=True)]
    return float(np.mean(is_right)), paid(procedure, measure_traffic(procedure, streams))[0]
