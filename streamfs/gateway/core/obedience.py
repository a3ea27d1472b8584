"""Whether devices do what they are asked, by what they answer and by the time between their reports."""

from collections import Counter
from collections.abc import Mapping

from streamfs.gateway.core.device_profile import DeviceProfile
from streamfs.gateway.core.device_states import DAY, Device, Setting, ask_anew, begin_observing

_BURST, _BURST_SHARE = 1.0, 0.25
"""Seconds, and share of the interval that it was asked for, within both of which messages of a device are one."""

_LONGEST_BURST = 60.0
"""Seconds after which they are of a device that reports all the time: what a broker has kept comes in less."""

_SKIPPED, _ENOUGH, _TOO_MANY = 2, 2, 5
"""Gaps after a message: not counted, that show obedience, that show the contrary."""

_ANSWERED_AFTER = 2  # reports of a device whose network sends it a message after the first, and says so
_LEAST, _MOST = 0.6, 1.5  # of the interval that it was asked for


class Obedience:
    """Find out whether devices of some profiles do what they are asked, and count what is found."""

    def __init__(self, profiles: Mapping[str, DeviceProfile], counters: Counter[str]) -> None:
        self._profiles = profiles
        self._counters = counters

    def is_due(self, device: Device, setting: Setting, now: float) -> bool:
        """Return whether a device is to be asked, or asked again."""
        profile = self._profiles[device.profile]
        if setting.refusal:
            return False
        if not setting.tries:
            return True
        if device.disobeys:
            return now >= setting.sent_at + DAY
        if profile.reach.returns_after is not None and now >= setting.sent_at + profile.reach.returns_after / 2:
            setting.tries = 0
            return True
        if setting.tries >= profile.reach.tries:
            return False
        is_unanswered = profile.answer is not None and not (setting.is_acknowledged or device.is_observed)
        if profile.reach.queued and setting.n_heard < _ANSWERED_AFTER:
            is_unanswered = False
        waits = profile.reach.patience if profile.reach.hears == "always" else _BURST
        return (is_unanswered and now >= setting.sent_at + waits) or device.n_unfit >= _TOO_MANY

    def take_answer(self, device: Device, quantity: str, number: int, refusal: str) -> None:
        """Take an answer to a message about a quantity, by its number; empty unless it refuses."""
        setting = device.settings.get(quantity)
        if setting is not None and setting.told is not None and setting.told.number == number:
            setting = setting.told  # which it may be asked for again
        if setting is None or setting.number != number or setting.is_acknowledged or setting.refusal:
            return
        if refusal:
            setting.refusal = refusal
            self._counters["devices_refused"] += 1
        else:
            setting.is_acknowledged = True
            self._counters["devices_acknowledged"] += 1

    def observe(self, device: Device, gap: float, now: float) -> None:
        """Compare the time since a device's last message on a topic with what it was asked."""
        settings = [setting for setting in device.settings.values() if setting.tries]
        profile = self._profiles[device.profile]
        if not settings or "every" not in profile.reach.can:
            return
        most = min(setting.asked[1] for setting in settings)
        if not _is_report(device, gap, most, now):
            return
        if device.n_skipped < _SKIPPED:
            device.n_skipped += 1
            return
        rests = all(setting.rests for setting in settings)
        fits = gap >= _LEAST * most if rests else gap <= _MOST * most
        if device.is_observed:
            device.n_unfit = 0 if fits else device.n_unfit + 1
            if device.n_unfit >= _TOO_MANY:
                self._stray(device, now)
            return
        device.n_fit += fits
        device.n_unfit += not fits
        if device.n_fit >= _ENOUGH:
            device.is_observed = True
            device.disobeys = False
            device.n_unfit = 0
            self._counters["devices_obeyed"] += 1
            return
        is_asked_out = all(setting.tries >= profile.reach.tries for setting in settings)
        if device.n_unfit >= _TOO_MANY and is_asked_out and not device.disobeys:
            device.disobeys = True
            self._counters["devices_disobeyed"] += 1

    def _stray(self, device: Device, now: float) -> None:
        """A device has ceased to do what it did: ask it anew, not too often, to fight no owner."""
        self._counters["devices_strayed"] += 1
        strayed = [at for at in device.strayed_at if now < at + DAY]
        device.strayed_at = [*strayed, now]
        if len(strayed) >= self._profiles[device.profile].reach.corrections:
            begin_observing(device)
            device.disobeys = True
            self._counters["devices_disobeyed"] += 1
        else:
            ask_anew(device)


def _is_report(device: Device, gap: float, most: float, now: float) -> bool:
    """Return whether a message after a gap is the first of a burst, or that has become too long for one."""
    if gap <= min(_BURST, _BURST_SHARE * most):
        if device.burst_since is None:
            device.burst_since = now - gap
        if now < device.burst_since + _LONGEST_BURST:
            return False
    device.burst_since = now
    return True
