"""What an evaluation on labelled streams found, as JSON, as a table, and on the screen."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import Any

from streamfs.base.progress import Progress, step
from streamfs.cli import console
from streamfs.data.fingerprints import n_known
from streamfs.data.streams import StreamSet
from streamfs.evaluation.evaluation import Evaluation, monitored, sweep
from streamfs.evaluation.model_card import paid
from streamfs.evaluation.split_traffic import traffics_sent
from streamfs.evaluation.traffic import Traffic
from streamfs.procedure.card_schema import read_fingerprints
from streamfs.procedure.procedure import Procedure
from streamfs.procedure.promise_monitor import PromiseMonitor
from streamfs.procedure.stopping import StoppingRule

NOT_IN_TABLE = ("offered_cost", "unit")
"""Figures for which a table of 80 columns has no room."""

_MOST_NAMED = 3  # quantities in which decisions differ

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Evaluations on the same streams by some rules, what streams send by each, and whether a promise is kept.

    `group_of` is the group of each stream, if groups were asked for; `n_known` of the `n_remembered` streams that
    the model remembers from its training are among these.
    """

    evaluations: Sequence[Evaluation]
    traffic: Sequence[Row]
    is_sweep: bool
    group_of: Sequence[str] | None
    monitor: PromiseMonitor | None
    n_known: int
    n_remembered: int

    @classmethod
    def on(
        cls,
        streams: StreamSet,
        procedure: Procedure,
        thresholds: Sequence[float] | None,
        group_of: Sequence[str] | None,
        report: Progress,
    ) -> "Evaluated":
        """Evaluate by the thresholds, if there are any, else by the procedure's own rule."""
        evaluations = sweep(procedure, streams, thresholds or [procedure.rule], report)
        with step(report, "counting the messages"):
            traffic = _traffic(procedure, streams, [each.rule for each in evaluations])
        remembered = read_fingerprints(procedure.about)
        known = n_known(remembered, streams)
        monitor = monitored(procedure, streams)
        return cls(evaluations, traffic, bool(thresholds), group_of, monitor, known, len(remembered))

    @cached_property
    def rows(self) -> Sequence[Row]:
        """What was found by each rule."""
        pairs = zip(self.evaluations, self.traffic, strict=True)
        return [{**each.summary(), **traffic} for each, traffic in pairs]

    @cached_property
    def groups(self) -> Sequence[Sequence[Row]]:
        """What was found of each group of streams, by rule; nothing without groups."""
        return [[] if self.group_of is None else each.by_group(self.group_of) for each in self.evaluations]

    def table(self) -> list[Row]:
        """Return each row and below it those of its groups, if there are some."""
        found = []
        for row, parts in zip(self.rows, self.groups, strict=True):
            counts = {name: sum(part[name] for part in parts) for name in ("labelled", "right")}
            found.append({**row, "group": "", **counts} if parts else row)
            found += [{"confidence": row["confidence"], **part} for part in parts]
        return found

    def to_json(self) -> Row | list[Row]:
        """Return what was found, by threshold in a list."""
        grouped = [{} if self.group_of is None else {"groups": parts} for parts in self.groups]
        tables = [row | parts for row, parts in zip(self.rows, grouped, strict=True)]
        if self.is_sweep:
            return tables
        classes = {"classes": self.evaluations[0].by_class()}
        promise = {} if self.monitor is None else {"promise": self.monitor.to_json()}
        return tables[0] | classes | promise | {"trained_on": self.n_known / max(self.n_remembered, 1)}

    def show(self, model: object) -> None:
        """Print tables, and what they mean."""
        console.print_table([{name: row[name] for name in row if name not in NOT_IN_TABLE} for row in self.rows])
        if not self.is_sweep:
            console.print_table(self.evaluations[0].by_class())
        if self.group_of is not None:
            console.print_table(self._groups_by_row())
        console.say(f"Paid is in {self.rows[0]['unit']}.")
        if self.monitor is not None:
            console.say(_whether_kept(self.monitor))
        if self.n_known:
            console.say(
                f"{self.n_known} of {self.n_remembered} streams of its training that {model} remembers are among "
                "these, on which it looks better than on new ones: evaluate it on others."
            )

    def _groups_by_row(self) -> list[Row]:
        return [
            ({"confidence": row["confidence"]} if self.is_sweep else {}) | group
            for row, parts in zip(self.rows, self.groups, strict=True)
            for group in parts
        ]


def _whether_kept(monitor: PromiseMonitor) -> str:
    """Return in two sentences whether a promise, or what training showed, holds on these streams."""
    said = monitor.to_json()
    is_promised = bool(said["promised"])
    where = "where it was certified" if is_promised else "on held-out streams in training"
    right = f"{said['right']} of {said['labels']} labels are right"
    shares = said["promised"] if is_promised else said["expected"]
    differing = [each for each in said["findings"] if each["what"] not in shares]
    named = ", ".join(f"{each['what']} (after {each['number']})" for each in differing[:_MOST_NAMED])
    named += f" and {len(differing) - _MOST_NAMED} more" if len(differing) > _MOST_NAMED else ""
    differs = f"differ from those {where} in {named}" if differing else f"look as those {where}"
    least = f"{shares['accuracy']:.3g}"
    held = f"promise of {least} is" if is_promised else f"accuracy of {least}, which held-out streams support, is"
    return (
        f"The {held} {said['status']}: {right}, which shows an accuracy of {said['accuracy_at_least']:.3f} at "
        f"least. Decisions {differs}."
    )


def _traffic(procedure: Procedure, streams: StreamSet, rules: Sequence[StoppingRule]) -> list[Row]:
    """Return what a stream sends and pays until its decision, by stopping rule; NaN if no stream has a tick."""
    if streams.lengths.any():
        traffics = traffics_sent(procedure, streams, rules)
    else:
        traffics = [Traffic({"": nan}, {}, nan, {})] * len(rules)
    found = []
    for traffic in traffics:
        cost, unit = paid(procedure, traffic)
        found.append({"sent": sum(traffic.channels.values()), "paid": cost, "unit": unit})
    return found
