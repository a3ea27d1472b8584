"""What devices would have sent of a recorded history, had they been asked for what a model wants."""

from collections import defaultdict
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from feature_extractors.base import Array
from feature_extractors.report import Policy, quantity_of, silent_ticks, split_channel
from streamfs.gateway.core.speech import Asked, asked_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamfs.data.streams import StreamSet
    from streamfs.gateway.core.device_profile import DeviceProfile
    from streamfs.procedure.procedure import Decision, Procedure

DAY = 86_400.0


class Saved(NamedTuple):
    """Of a device, or of all: days of history, when its stream was decided, and messages before and after."""

    device: str
    days: float
    decided_after: float | None  # seconds; None if it never was, or for several
    before: int
    after: float

    def to_json(self, battery_months: float | None = None) -> dict[str, Any]:
        """Return a row, with messages a day; given the months of a battery now, with those that it would last."""
        ratio = self.before / self.after if self.after else inf
        row = {
            "device": self.device,
            "days": round(self.days, 2),
            "decided_after": self.decided_after,
            "messages_a_day": round(self.before / self.days, 1),
            "would_be": round(self.after / self.days, 1),
            "saved": round(1 - self.after / self.before, 3) if self.before else 0.0,
        }
        return row if battery_months is None else {**row, "battery_months": round(battery_months * ratio, 1)}


def savings(
    procedure: "Procedure", streams: "StreamSet", decisions: "Iterable[Decision]", profile: "DeviceProfile"
) -> list[Saved]:
    """Return what each device would have saved, and all of them in the last row.

    A device is asked for what the model's channels need until its stream is decided, and rests afterwards. Values
    between recorded readings are not known: what was not recorded is not counted, so there was as much at least.

    Parameters
    ----------
    procedure : Procedure
        The model.
    streams : StreamSet
        The history, on the model's period.
    decisions : iterable of Decision
        The model's decisions on these streams.
    profile : DeviceProfile
        What the devices can be asked.

    Returns
    -------
    list of Saved
        A row for each node of each stream, and one for all.
    """
    decided = {decision.stream: decision for decision in decisions}
    rows = []
    for number, name in enumerate(streams.names):
        decision, length = decided.get(name), int(streams.lengths[number])
        is_labelled = decision is not None and decision.reason != "closed"
        end = length if decision is None or not is_labelled else _end(decision, streams.period, length)
        for role, wanted in _wanted(procedure).items():
            columns = {column: streams.values[number, :length, streams.columns.index(column)] for column in wanted}
            before = int(np.isfinite(np.array([*columns.values()])).any(axis=0).sum())
            after = _sent(procedure, profile, wanted, columns, end)
            rows.append(
                Saved(
                    f"{name}{f' ({role})' * bool(role)}",
                    length * streams.period / DAY,
                    end * streams.period if is_labelled else None,
                    before,
                    min(after, float(before)),
                )
            )
    total = [sum(column) for column in zip(*((row.days, row.before, row.after) for row in rows), strict=True)]
    days, before, after = total or [0.0, 0, 0.0]
    return [*rows, Saved("all", days, None, int(before), after)]


def _end(decision: "Decision", period: float, length: int) -> int:
    """Return the number of ticks of a recorded stream until its decision."""
    return length if decision.time is None else min(length, round(decision.time / period) + 1)


def _wanted(procedure: "Procedure") -> dict[str, dict[str, list[Policy]]]:
    """Return the report policies that a model wants of each column, by role."""
    wanted: dict[str, dict[str, list[Policy]]] = defaultdict(lambda: defaultdict(list))
    for channel in procedure.channels:
        column, policy = split_channel(channel)
        role = column.partition(".")[0] if "." in column else ""
        wanted[role][column].append(policy)
    return wanted


def _sent(
    procedure: "Procedure",
    profile: "DeviceProfile",
    wanted: dict[str, list[Policy]],
    columns: dict[str, Array],
    end: int,
) -> float:
    """Return the messages of a device whose stream is decided after `end` ticks."""
    of_quantity = {quantity_of(column): (wanted[column], values) for column, values in columns.items()}
    policies = {quantity: found for quantity, (found, _) in of_quantity.items()}
    asked = asked_for(profile, policies, procedure.period, procedure.max_silence)
    if not asked:  # all that it sends goes on
        return float(np.isfinite(np.array([*columns.values()])).any(axis=0).sum())
    n_ticks = len(next(iter(columns.values())))
    resting = (n_ticks - end) * procedure.period / profile.reach.rest * len(asked)
    if "" in asked:
        return end * procedure.period / asked[""].most + resting
    return resting + sum(_reported(asked[name], of_quantity[name][1][:end], procedure.period) for name in asked)


def _reported(asked: Asked, values: Array, period: float) -> float:
    """Return the reports that a device makes of some values, on the model's grid."""
    if asked.least == asked.most:
        return len(values) * period / asked.most
    most = silent_ticks(max(asked.most, period), period)
    return float(np.isfinite(Policy("delta", asked.delta).sent(values, most)).sum())
