"""What devices would have sent of a recorded history, had they been asked for what a model wants."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from math import ceil, inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array
from feature_extractors.report import Policy, quantity_of, silent_ticks, split_channel
from streamfs.gateway.core.conduct import KEPT
from streamfs.gateway.core.speech import Asked, asked_for

if TYPE_CHECKING:
    from streamfs.data.streams import StreamSet
    from streamfs.evaluation.evaluation import RecordedEpisode
    from streamfs.gateway.core.device_profile import DeviceProfile
    from streamfs.procedure.procedure import Procedure

DAY = 86_400.0
YEAR = 365 * DAY

MESSAGES = 2
"""Messages to a device an episode: to report, and to rest."""

_SINCE_1970 = 3e8  # greater times are dates


class Saved(NamedTuple):
    """Of a device, or of all: days of history, episodes decided, the first, and messages before and after."""

    device: str
    days: float
    decided: int
    decided_after: float | None  # seconds; None if it never was, or for several
    before: int
    after: float

    def to_json(self, battery_months: float | None = None) -> dict[str, Any]:
        """Return a row, with messages a day; given the months of a battery now, with those that it would last."""
        ratio = self.before / self.after if self.after else inf
        row = {
            "device": self.device,
            "days": round(self.days, 2),
            "decided": self.decided,
            "decided_after": self.decided_after,
            "messages_a_day": round(self.before / self.days, 1),
            "would_be": round(self.after / self.days, 1),
            "saved": round(1 - self.after / self.before, 3) if self.before else 0.0,
        }
        return row if battery_months is None else {**row, "battery_months": round(battery_months * ratio, 1)}


def pause(procedure: "Procedure", profile: "DeviceProfile", reopen_after: float | None) -> int | None:
    """Return the ticks from a decision to the next episode of the stream; None if there is none.

    A device that hears only after it has reported is asked again with its next heartbeat, and begins there.
    """
    if reopen_after is None:
        return None
    is_waited_for = _can_be_asked(procedure, profile) and profile.reach.hears != "always"
    rest = profile.reach.rest if is_waited_for else procedure.period
    return ceil(ceil(reopen_after / rest - 1e-9) * rest / procedure.period - 1e-9)


def savings(
    procedure: "Procedure",
    streams: "StreamSet",
    episodes: "Sequence[RecordedEpisode]",
    profile: "DeviceProfile",
    messages: npt.NDArray[np.int64] | None = None,
) -> list[Saved]:
    """Return what each device would have saved, and all of them in the last row.

    A device is asked for what the model's channels need until its stream is decided, and rests until the next
    episode, as far as its daily budget of messages to it allows. Values between recorded readings are not known:
    what was not recorded is not counted, so there was as much at least.

    Parameters
    ----------
    procedure : Procedure
        The model.
    streams : StreamSet
        The history, on the model's period.
    episodes : sequence of RecordedEpisode
        The model's decisions on these streams.
    profile : DeviceProfile
        What the devices can be asked.
    messages : ndarray of shape (n_streams,), optional
        Messages of each stream in the history; by default one for each tick with a reading. Streams of several
        nodes have the latter.

    Returns
    -------
    list of Saved
        A row for each node of each stream, and one for all.
    """
    of_stream: dict[int, list[RecordedEpisode]] = defaultdict(list)
    for episode in episodes:
        of_stream[episode.stream].append(episode)
    roles = _wanted(procedure)
    rows = []
    for number, name in enumerate(streams.names):
        length = int(streams.lengths[number])
        if not length:
            continue  # it measures something else
        decided = [each for each in of_stream[number] if each.decision is not None]
        for role, wanted in roles.items():
            columns = {column: streams.values[number, :length, streams.columns.index(column)] for column in wanted}
            before = int(np.isfinite(np.array([*columns.values()])).any(axis=0).sum())
            if messages is not None and len(roles) == 1:
                before = int(messages[number])
            after = _sent(procedure, profile, wanted, columns, of_stream[number])
            rows.append(
                Saved(
                    f"{name}{f' ({role})' * bool(role)}",
                    length * streams.period / DAY,
                    len(decided),
                    decided[0].end * streams.period if decided else None,
                    before,
                    float(before) if after is None else min(after, float(before)),
                )
            )
    total = [sum(column) for column in zip(*((r.days, r.decided, r.before, r.after) for r in rows), strict=True)]
    days, n_decided, before, after = total or [0.0, 0, 0, 0.0]
    return [*rows, Saved("all", days, int(n_decided), None, int(before), float(after or 0.0))]


def decision_rows(
    episodes: "Sequence[RecordedEpisode]", streams: "StreamSet", starts: Array
) -> Iterator[tuple[str, str, str, str]]:
    """Yield a header, and stream, time, label and reason of each decision; dates of times since 1970."""
    yield "stream", "time", "label", "reason"
    for episode in episodes:
        if episode.decision is not None:
            seconds = starts[episode.stream] + (episode.end - 1) * streams.period
            date = datetime.fromtimestamp(seconds, UTC) if seconds > _SINCE_1970 else None
            time = f"{seconds:.12g}" if date is None else date.isoformat(timespec="milliseconds")
            decision = episode.decision
            yield streams.names[episode.stream], time, decision.label or "", decision.reason


def _wanted(procedure: "Procedure") -> dict[str, dict[str, list[Policy]]]:
    """Return the report policies that a model wants of each column, by role."""
    wanted: dict[str, dict[str, list[Policy]]] = defaultdict(lambda: defaultdict(list))
    for channel in procedure.channels:
        column, policy = split_channel(channel)
        role = column.partition(".")[0] if "." in column else ""
        wanted[role][column].append(policy)
    return wanted


def _asked(procedure: "Procedure", profile: "DeviceProfile", wanted: dict[str, list[Policy]]) -> dict[str, Asked]:
    """Return what devices are asked; nothing if they know thresholds alone: how often they report stays theirs."""
    if "every" not in profile.reach.can:
        return {}
    policies = {quantity_of(column): found for column, found in wanted.items()}
    return asked_for(profile, policies, procedure.period, procedure.max_silence)


def _can_be_asked(procedure: "Procedure", profile: "DeviceProfile") -> bool:
    return any(_asked(procedure, profile, wanted) for wanted in _wanted(procedure).values())


def _sent(
    procedure: "Procedure",
    profile: "DeviceProfile",
    wanted: dict[str, list[Policy]],
    columns: dict[str, Array],
    episodes: "Sequence[RecordedEpisode]",
) -> float | None:
    """Return the messages of a device in some episodes and in the rests after them; None if it cannot be asked."""
    asked = _asked(procedure, profile, wanted)
    if not asked:
        return None
    of_quantity = {quantity_of(column): values for column, values in columns.items()}
    n_ticks = len(next(iter(columns.values())))
    is_open = np.zeros(n_ticks, dtype=bool)
    sent = 0.0
    begun = 0 if profile.reach.hears == "always" else len(asked)  # the heartbeat is the first report
    for begin, end, was_at_rest in _talks(episodes, n_ticks, profile, len(asked), procedure.period):
        is_open[begin:end] = True
        sent -= begun * (begin > 0 and was_at_rest)
        if "" in asked:
            sent += (end - begin) * procedure.period / asked[""].most
        else:
            sent += sum(_reported(asked[name], of_quantity[name][begin:end], procedure.period) for name in asked)
    resting = int((~is_open).sum()) * procedure.period / profile.reach.rest
    return sent + resting * (1 if "" in asked else len(asked))


def _talks(
    episodes: "Sequence[RecordedEpisode]", n_ticks: int, profile: "DeviceProfile", n_messages: int, period: float
) -> Iterator[tuple[int, int, bool]]:
    """Yield from and until which ticks a device reports, and whether it was at rest before.

    It is told to rest once the stream is decided and its daily budget allows that, beside what is kept for waking
    it; if it does not before the next episode, it goes on.
    """
    rate = profile.reach.per_day / DAY
    left, refilled, rests = profile.reach.per_day, 0.0, True
    begins = [*(episode.begin for episode in episodes[1:]), n_ticks]
    for episode, following in zip(episodes, begins, strict=True):
        was_at_rest, end = rests, min(episode.end, n_ticks)
        left = min(profile.reach.per_day, left + (end * period - refilled) * rate) - n_messages * was_at_rest
        short = max(0.0, n_messages + KEPT - left)
        until = end + ceil(short / rate / period) if short else end
        rests = until < following
        until = min(until, following)
        left, refilled = left + (until - end) * period * rate - n_messages * rests, until * period
        yield episode.begin, until if rests else following, was_at_rest


def _reported(asked: Asked, values: Array, period: float) -> float:
    """Return the reports that a device makes of some values, on the model's grid."""
    if asked.least == asked.most:
        return len(values) * period / asked.most
    most = silent_ticks(max(asked.most, period), period)
    return float(np.isfinite(Policy("delta", asked.delta).sent(values, most)).sum())
