"""What a report says of a procedure: everything that is measured on streams that it was not trained on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from streamfs.base.progress import Progress, quiet, step
from streamfs.costs.batteries import Duty
from streamfs.data.streams import StreamSet, require_streams
from streamfs.evaluation.evaluation import Evaluation, evaluate, monitored, sweep
from streamfs.evaluation.model_card import facts_on, paid
from streamfs.evaluation.reliability import Reliability, reliability
from streamfs.evaluation.report.chosen_streams import ChosenStream, choose
from streamfs.evaluation.report.importance import REPEATS, Importance, importances
from streamfs.evaluation.split_traffic import traffics_sent
from streamfs.evaluation.traffic import Traffic
from streamfs.procedure.card_schema import Facts
from streamfs.procedure.procedure import Procedure

LEVELS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99)
"""Confidence thresholds of the trade-off; those that are below chance are left out."""


@dataclass(frozen=True, eq=False)
class MeasuredProcedure:
    """All that a report shows.

    Parameters
    ----------
    procedure : Procedure
        What was measured.
    streams : StreamSet
        On which streams.
    evaluation : Evaluation
        The decisions.
    traffic : Traffic
        What was sent for them.
    paid : float
        Mean cost of a stream, in `unit`.
    unit : str
        Of all costs.
    trade_off : list of dict
        Completeness, accuracy and what is paid by confidence threshold.
    reliability : tuple of Reliability
        Share of right labels by confidence.
    importances : list of Importance
        What each column is worth.
    chosen : list of ChosenStream
        Streams to look at.
    facts : dict
        The model card, with what was sent for these streams.
    promise : dict or None
        What these streams say of the promise; None without one.
    groups : list of dict
        Figures of each group; none without groups.
    seed : int
        Seed of what was drawn.
    """

    procedure: Procedure
    streams: StreamSet
    evaluation: Evaluation
    traffic: Traffic
    paid: float
    unit: str
    trade_off: list[dict[str, float]]
    reliability: tuple[Reliability, ...]
    importances: list[Importance]
    chosen: list[ChosenStream]
    facts: Facts
    promise: dict[str, Any] | None
    groups: list[dict[str, Any]]
    seed: int


def measure(
    procedure: Procedure,
    streams: StreamSet,
    *,
    groups: Sequence[str] | None = None,
    duty: Duty | None = None,
    repeats: int = REPEATS,
    seed: int = 0,
    progress: Progress = quiet,
) -> MeasuredProcedure:
    """Measure a procedure on labelled streams that it was not trained on.

    Parameters
    ----------
    procedure : Procedure
        What to measure.
    streams : StreamSet
        Labelled streams with the procedure's period, at least one of which has a tick.
    groups : sequence of str, optional
        The group of each stream, such as its room.
    duty : Duty, optional
        How often streams are decided, and the capacity of a node's battery.
    repeats : int
        Draws of other streams, for the importance of each column.
    seed : int
        Seed of these.
    progress : callable, optional
        Told what is done, how much of it, and of how much.

    Raises
    ------
    DataError
        If no stream has a tick, a column is missing, or the period or a class differs.
    ModelError
        If the card or the promise in the procedure is damaged.
    """
    require_streams(streams)
    with step(progress, "deciding the streams"):
        evaluation = evaluate(procedure, streams)
        traffic = traffics_sent(procedure, streams, [procedure.rule])[0]
        cost, unit = paid(procedure, traffic)
        monitor = monitored(procedure, streams)
    with step(progress, "measuring confidence"):
        reliable = reliability(procedure, streams)
    return MeasuredProcedure(
        procedure,
        streams,
        evaluation,
        traffic,
        cost,
        unit,
        _trade_off(procedure, streams, progress),
        reliable,
        importances(procedure, streams, repeats=repeats, seed=seed, progress=progress),
        choose(procedure, streams, evaluation),
        facts_on(procedure, traffic, len(streams), duty),
        None if monitor is None else monitor.to_json(),
        [] if groups is None else evaluation.by_group(groups),
        seed,
    )


def _trade_off(procedure: Procedure, streams: StreamSet, progress: Progress) -> list[dict[str, float]]:
    """Return completeness, accuracy and what is paid by confidence threshold."""
    levels = [level for level in LEVELS if level * len(procedure.classes) >= 1.0]
    evaluations = sweep(procedure, streams, levels, progress)
    traffics = traffics_sent(procedure, streams, [each.rule for each in evaluations])
    return [
        {
            "confidence": level,
            "completeness": each.completeness,
            "accuracy": each.accuracy,
            "paid": paid(procedure, traffic)[0],
        }
        for level, each, traffic in zip(levels, evaluations, traffics, strict=True)
    ]
