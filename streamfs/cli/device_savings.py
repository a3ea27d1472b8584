"""What devices would have sent of a recorded history, had they been asked for what a model wants."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import ceil, inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from feature_extractors.report import Policy, quantity_of, silent_ticks, split_channel, split_column
from streamfs.cli.reporting_device import ReportingDevice
from streamfs.cli.shown_channel import ShownChannel
from streamfs.evaluation.evaluation import replay_episodes
from streamfs.gateway.core.device_states import DAY
from streamfs.gateway.core.speech import asked_for
from streamfs.gateway.core.timing import Timing, longest_gap

if TYPE_CHECKING:
    from streamfs.data.streams import StreamSet
    from streamfs.evaluation.evaluation import RecordedEpisode
    from streamfs.gateway.core.device_profile import DeviceProfile
    from streamfs.procedure.procedure import Procedure

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


def savings(
    procedure: "Procedure",
    streams: "StreamSet",
    profile: "DeviceProfile",
    reopen_after: float | None = None,
    messages: npt.NDArray[np.int64] | None = None,
    starts: Array | None = None,
) -> "tuple[list[Saved], list[RecordedEpisode]]":
    """Return what each device would have saved, and the model's decisions.

    A device is asked for what the model's channels need until its stream is decided, and rests until the next
    episode, as far as its daily budget of messages to it allows. Values between recorded readings are not known:
    what was not recorded is not counted, so there was as much at least.

    Parameters
    ----------
    procedure : Procedure
        The model.
    streams : StreamSet
        The history, on the model's period.
    profile : DeviceProfile
        What the devices can be asked.
    reopen_after : float, optional
        Seconds from a decision until the stream is to be decided again, once its values are known; by default it
        is decided once.
    messages : ndarray of shape (n_streams,), optional
        Messages of each stream in the history; by default one for each tick with a reading. Streams of several
        nodes have the latter.
    starts : ndarray of shape (n_streams,), optional
        Times of the first ticks, in seconds, on the clock of the gateway's ticks; by default 0.

    Returns
    -------
    list of Saved
        A row for each node of each stream, and one for all in the end.
    list of RecordedEpisode
        The model's episodes on these streams.
    """
    roles = _wanted(procedure)
    timing = Timing(procedure.period)
    begins = np.zeros(len(streams)) if starts is None else np.nan_to_num(starts / procedure.period)
    phases = begins - np.floor(begins + 0.5)
    fleet = [
        {
            role: _device(procedure, streams, number, profile, wanted, timing, phase)
            for role, wanted in roles.items()
        }
        for number, phase in enumerate(phases.tolist())
    ]

    def begin_next(stream: int, end: int) -> int | None:
        return _begin_next(procedure, fleet[stream], int(streams.lengths[stream]), end, reopen_after)

    episodes = [*replay_episodes(procedure, streams, begin_next)]
    of_stream: dict[int, list[RecordedEpisode]] = defaultdict(list)
    for episode in episodes:
        of_stream[episode.stream].append(episode)
    rows = []
    for number, name in enumerate(streams.names):
        length = int(streams.lengths[number])
        if not length:
            continue  # it measures something else
        decided = [each for each in of_stream[number] if each.decision is not None]
        for role, device in fleet[number].items():
            columns = [streams.columns.index(column) for column in roles[role]]
            before = int(np.isfinite(streams.values[number, :length, columns]).any(axis=0).sum())
            if messages is not None and len(roles) == 1:
                before = int(messages[number])
            if device is not None:
                device.run(length, is_wanted=True)  # its last stretch, if that is undecided
            rows.append(
                Saved(
                    f"{name}{f' ({role})' * bool(role)}",
                    length * streams.period / DAY,
                    len(decided),
                    decided[0].end * streams.period if decided else None,
                    before,
                    float(before if device is None else min(device.n_reports, before)),
                )
            )
    total = [sum(column) for column in zip(*((r.days, r.decided, r.before, r.after) for r in rows), strict=True)]
    days, n_decided, before, after = total or [0.0, 0, 0, 0.0]
    return [*rows, Saved("all", days, int(n_decided), None, int(before), float(after or 0.0))], episodes


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


def _device(
    procedure: "Procedure",
    streams: "StreamSet",
    number: int,
    profile: "DeviceProfile",
    wanted: dict[str, list[Policy]],
    timing: Timing,
    phase: float,
) -> ReportingDevice | None:
    """Return a stream's device; None if it cannot be asked, or it is not known how often it reports beside."""
    reach, has_interval = profile.reach, "every" in profile.reach.can
    if not has_interval and reach.wakes is None:
        return None
    policies = {quantity_of(column): found for column, found in wanted.items()}
    asked = asked_for(profile, policies, procedure.period, procedure.max_silence)
    rest = asked_for(profile, dict.fromkeys(policies, ()), procedure.period, None)
    if not has_interval:  # it stays its own
        own = {"least": reach.min, "most": reach.wakes or inf}
        asked, rest = ({name: each._replace(**own) for name, each in way.items()} for way in (asked, rest))
    columns = {quantity_of(column): streams.columns.index(column) for column in wanted}
    length = streams.lengths[number]
    values = {quantity: streams.values[number, :length, column] for quantity, column in columns.items()}
    if not asked:
        return None
    most = silent_ticks(procedure.max_silence, procedure.period)
    held, gap = inf if most is None else most, longest_gap(procedure)
    shown = {
        quantity: [ShownChannel(policy, held, gap) for policy in found] for quantity, found in policies.items()
    }
    return ReportingDevice(reach, asked, rest, values, shown, timing, phase)


def _begin_next(
    procedure: "Procedure",
    devices: Mapping[str, ReportingDevice | None],
    length: int,
    end: int,
    reopen_after: float | None,
) -> int | None:
    """Return the first tick of the episode after one that has ended before a tick; None if there is none.

    It begins with the tick after the one that is due, once the values of all devices are known.
    """
    known = [device for device in devices.values() if device is not None]
    _run_past(known, end - 1, is_wanted=True)
    due = length if reopen_after is None else min(end + ceil(reopen_after / procedure.period - 1e-9), length)
    since = [device.known_since(due) for device in known]
    asked_at = _run_past(known, due - 1, is_wanted=False)
    pairs = zip(known, since, strict=True)
    first = int(max([due, *(device.shown_next(asked_at) if at is None else at for device, at in pairs)]))
    return first if first < length else None


def _run_past(devices: Sequence[ReportingDevice], tick: int, *, is_wanted: bool) -> float:
    """Run devices until the gateway has taken all their readings of a tick, and return when."""
    at = max((device.run_past(tick, is_wanted=is_wanted) for device in devices), default=0.0)
    for device in devices:
        device.run(at, is_wanted=is_wanted)
    return at
