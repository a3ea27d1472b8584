"""Streams that show how a procedure decides: typical, early, wrong and undecided ones."""

from typing import NamedTuple

import numpy as np

from feature_extractors.arrays import Array
from feature_extractors.report import split_channel
from streamfs.data.feature_table import tabulate
from streamfs.data.streams import StreamSet
from streamfs.evaluation.evaluation import Evaluation
from streamfs.evaluation.trajectories import Trajectories
from streamfs.procedure.procedure import Decision, Procedure

KINDS = {
    "typical": "Decided rightly, after about as many ticks as half of the streams",
    "early": "Decided rightly, earliest of all",
    "wrong": "Decided wrongly, surest first",
    "undecided": "Not labelled in time",
}
"""What each kind is."""

EACH = 3
"""Most streams of a kind."""


class ChosenStream(NamedTuple):
    """A stream, and how it was decided.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    decision : Decision
        What was decided.
    label : str
        The true class.
    readings : dict of str to ndarray of shape (n_ticks,)
        Of the columns that the procedure reads.
    confidence : ndarray of shape (n_ticks, n_classes)
        The probability of each class from the episode's first tick on.
    opening : int
        Ticks before the episode's first one.
    """

    kind: str
    decision: Decision
    label: str
    readings: dict[str, Array]
    confidence: Array
    opening: int


def choose(procedure: Procedure, streams: StreamSet, evaluation: Evaluation) -> list[ChosenStream]:
    """Choose up to three streams of each kind, in the order of `KINDS`."""
    chosen = [(kind, index) for kind, indices in _indices(evaluation).items() for index in indices[:EACH]]
    shown = streams.take([index for _, index in chosen])
    table = tabulate(shown, procedure.features, procedure.max_silence)
    trajectories = Trajectories.of(procedure.classifier, table, procedure.time_limit)
    columns = dict.fromkeys(split_channel(channel)[0] for channel in procedure.channels)
    found = []
    for row, (kind, index) in enumerate(chosen):
        n_ticks = int(shown.lengths[row])
        readings = {column: shown.column(column)[row, :n_ticks] for column in columns}
        probabilities = np.zeros((0, 0)) if trajectories.probabilities is None else trajectories.probabilities[row]
        confidence = probabilities[: trajectories.ticks[row]]
        opening = n_ticks - int(table.lengths[row])
        decision, label = evaluation.decisions[index], str(evaluation.labels[index])
        found.append(ChosenStream(kind, decision, label, readings, confidence, opening))
    return found


def _indices(evaluation: Evaluation) -> dict[str, list[int]]:
    """Return the streams of each kind, the first to show first; each is of one kind only."""
    decisions, labels = evaluation.decisions, evaluation.labels
    labelled = [i for i, decision in enumerate(decisions) if decision.label is not None]
    right = [i for i in labelled if decisions[i].label == labels[i]]
    middle = float(np.median([decisions[i].tick for i in right])) if right else 0.0
    typical = sorted(right, key=lambda i: abs(decisions[i].tick - middle))
    early = [i for i in sorted(right, key=lambda i: decisions[i].tick) if i not in typical[:EACH]]
    wrong = [i for i in labelled if decisions[i].label != labels[i]]
    return {
        "typical": typical,
        "early": early,
        "wrong": sorted(wrong, key=lambda i: -decisions[i].confidence),
        "undecided": [i for i, decision in enumerate(decisions) if decision.label is None],
    }
