"""Settings of time that contradict each other, or the model."""

from collections.abc import Iterator

from streamfs.gateway.core.timing import Timing
from streamfs.gateway.settings.settings import Settings
from streamfs.procedure.procedure import Procedure

_ASKING = 1.0  # seconds from one proof of silence to the next, or a tick if that is longer


def time_contradictions(settings: Settings, procedure: Procedure) -> list[str]:
    """Return an error for each key that cannot have the effect that it is set for, with its line."""
    return [
        f"{settings.where(*place)}: {'.'.join(place)} {text}"
        for place, text in _contradictions(settings, procedure)
    ]


def _contradictions(settings: Settings, procedure: Procedure) -> Iterator[tuple[tuple[str, str], str]]:
    timing = Timing.of(settings, procedure)
    limits, lateness = settings.limits, timing.lateness
    if timing.time.overtaking > lateness:
        yield (
            ("time", "overtaking"),
            f"is {timing.time.overtaking:g}, expected at most time.lateness, {lateness:g}",
        )
    if limits.ahead * procedure.period <= lateness:
        yield (
            ("limits", "ahead"),
            f"is {limits.ahead} ticks of {procedure.period:g} s, expected more than time.lateness, {lateness:g} s",
        )
    n_waiting = lateness / procedure.period * len(procedure.channels)
    if limits.pending < n_waiting:
        yield (
            ("limits", "pending"),
            f"is {limits.pending}, expected {n_waiting:.0f} or more: readings wait for time.lateness",
        )
    yield from _expiry(settings, procedure, timing)
    if settings.broker.qos == 1 and settings.broker.session_expiry == 0:
        yield (
            ("broker", "session_expiry"),
            "is 0, expected more with qos 1: what is sent while the connection is lost would be lost, too",
        )


def _expiry(settings: Settings, procedure: Procedure, timing: Timing) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield why streams would be forgotten that are not silent for long."""
    expire_after = settings.streams.expire_after
    if expire_after is None:
        return
    place = ("streams", "expire_after")
    proved = max(timing.grace, procedure.period) + max(procedure.period, _ASKING)
    if expire_after <= proved:
        yield (
            place,
            f"is {expire_after:g}, expected more than {proved:g}: a shorter silence may be one of the link",
        )
    elif procedure.max_silence is not None and expire_after <= procedure.max_silence:
        yield (
            place,
            f"is {expire_after:g}, expected more than {procedure.max_silence:g}: the model allows that silence",
        )
