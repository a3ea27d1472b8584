"""What devices would have sent of a recorded history, had they been asked for what a model wants."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from math import ceil, inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.base import Array
from feature_extractors.report import Policy, quantity_of, silent_ticks, split_channel, split_column
from streamfs.gateway.core.conduct import KEPT
from streamfs.gateway.core.speech import Asked, asked_for

if TYPE_CHECKING:
    from streamfs.data.streams import StreamSet
    from streamfs.evaluation.evaluation import RecordedEpisode
    from streamfs.gateway.core.device_profile import DeviceProfile, Reach
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

    It begins with the tick after the one that is due. Where no value holds from one heartbeat to the next, that
    takes a heartbeat, and what the device reports once it has heard.
    """
    if reopen_after is None:
        return None
    reach, period = profile.reach, procedure.period
    if not _can_be_asked(procedure, profile) or _is_held(procedure, reach.rest):
        return ceil(reopen_after / period - 1e-9) + 1
    heard = reach.rest if reach.queued else period
    return ceil((ceil(reopen_after / reach.rest - 1e-9) * reach.rest + heard) / period - 1e-9)


def _is_held(procedure: "Procedure", seconds: float) -> bool:
    """Return whether values of all channels hold for some seconds."""
    longest = inf if procedure.max_silence is None else procedure.max_silence
    return seconds <= longest and all(split_channel(channel)[1].holds for channel in procedure.channels)


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
        wanted[split_column(column)[0]][column].append(policy)
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
    is_open = np.zeros(len(next(iter(columns.values()))), dtype=bool)
    for episode in episodes:
        is_open[episode.begin : episode.end] = True
    has_intervals = all(each.least == each.most for each in asked.values())
    talk = min(each.most for each in asked.values()) if has_intervals else procedure.period
    is_talking, n_reports = _talks(is_open, profile.reach, len(asked), procedure.period, talk)
    if has_intervals:
        return float(n_reports * len(asked))
    sent = (~is_talking).sum() * procedure.period / profile.reach.rest * len(asked)
    edges = np.flatnonzero(np.diff(is_talking, prepend=False, append=False)).reshape(-1, 2)
    for begin, end in edges:
        sent -= len(asked) * (begin > 0 and profile.reach.hears != "always")  # the heartbeat is the first report
        sent += sum(_reported(asked[name], of_quantity[name][begin:end], procedure.period) for name in asked)
    return float(sent)


def _talks(
    is_open: npt.NDArray[np.bool_], reach: "Reach", n_messages: int, period: float, talk: float
) -> tuple[npt.NDArray[np.bool_], int]:
    """Return at which ticks a device does not rest but reports every `talk` seconds, and its reports in all.

    When it hears, after a report or always, it is asked for what is wanted then, as far as its daily budget allows
    that beside what is kept for waking it. What its network keeps for it, it hears with its next report.
    """
    is_talking, n_ticks = np.ones(len(is_open), dtype=bool), len(is_open)
    changes = np.append(np.flatnonzero(np.diff(is_open)) + 1, n_ticks)
    rate, steps = reach.per_day * period / DAY, {True: talk / period, False: reach.rest / period}
    left, refilled, tick, reported = reach.per_day, 0.0, 0.0, -inf
    asked, kept, talks, n_reports = None, None, True, 0
    hears_at_once = reach.hears == "always"
    while tick < n_ticks:
        wanted = bool(is_open[int(tick)])
        left, refilled = min(reach.per_day, left + (tick - refilled) * rate), tick
        is_told = wanted != asked and left >= n_messages + KEPT * (not wanted)
        talks = wanted if is_told and hears_at_once else talks
        if tick >= reported + steps[talks]:
            talks, kept = (talks, None) if kept is None else (kept, None)
            n_reports, reported = n_reports + 1, tick
        if is_told:
            asked, left = wanted, left - n_messages
            talks, kept = (talks, wanted) if reach.queued else (wanted, None)
        following = max(tick, reported + steps[talks])
        if hears_at_once:
            following = min(following, changes[np.searchsorted(changes, tick, "right")])
        is_talking[int(tick) : ceil(following)] = talks
        tick = following
    return is_talking, n_reports


def _reported(asked: Asked, values: Array, period: float) -> float:
    """Return the reports that a device makes of some values, on the model's grid."""
    if asked.least == asked.most:
        return len(values) * period / asked.most
    most = silent_ticks(max(asked.most, period), period)
    return float(np.isfinite(Policy("delta", asked.delta).sent(values, most)).sum())
