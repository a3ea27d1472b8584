"""Devices of other makers in a simulated world: they take what they are asked, or not, and report accordingly."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from helpers.demo_devices import quick_settings
from simulated_broker import Delivery

from sensors_sim.devices import KINDS, Manners

REST = 15.0  # seconds from the last report to the end
LATEST = 3.0  # seconds before the last report, for a start anew that only the device itself tells of
STEP = 0.5  # seconds from one look at the devices to the next
LATENCY = 0.05  # seconds from the broker to a device
OBEDIENT = Manners(interval=1.0)
MANNERS = (OBEDIENT, OBEDIENT, Manners(1.0, misses=0.3), Manners(1.0, lies=True), Manners(1.0, is_deaf=True))
"""How devices behave: two in five obey."""


SILENT = ("shelly", "senml")
"""Profiles of devices that do not say that they have started anew."""


class Present(NamedTuple):
    """A device: the name of its profile, the value that it reports, and how it behaves."""

    profile: str
    value: float
    manners: Manners


@cache
def device_bindings(columns):
    """Return what binds devices of all profiles, in haste."""
    with TemporaryDirectory() as folder:
        return quick_settings(Path(folder), "mqtt://b").bindings(columns)


def draw_devices(random):
    """Return some devices."""
    profiles = random.sample(list(KINDS), random.choice([1, 2, 3]))
    return tuple(Present(each, random.choice([0.0, 1.0, 25.0]), random.choice(MANNERS)) for each in profiles)


def draw_restarts(random, devices, end):
    """Return when devices start anew, and their numbers; some so late that their reports show nothing any more."""
    n_early = random.choice([0, 0, 1, 3])
    early = [(random.uniform(0.0, end), random.randrange(len(devices))) for _ in range(n_early)]
    late = [
        (end + REST - random.uniform(LATEST, 2 * LATEST), number)
        for number, device in enumerate(devices)
        if device.profile not in SILENT and random.random() < 0.5
    ]
    return early + late


class Yard:
    """The devices of a world: they send to the broker, and hear what it takes."""

    def __init__(self, scenario, timeline, broker, wall):
        self.said = []  # topics and payloads
        self.devices = [
            KINDS[profile](f"{profile}-1", np.full(2, value), 1.0, manners, scenario.seed, wall)
            for profile, value, manners in scenario.devices
        ]
        self._first, self._end = len(scenario.messages) + 1, scenario.end - REST
        self._timeline, self._broker, self._wall = timeline, broker, wall
        if self.devices:
            timeline.at(STEP, self._turn)

    def hear(self, publication):
        """Take a publication of the gateway to where it belongs."""
        if self.devices:
            self._timeline.at(self._timeline.now + LATENCY, lambda: self._hear(publication))

    def _hear(self, publication):
        for device in self.devices:
            if publication.topic in device.topics:
                self._say(device.hear(publication.topic, publication.payload, self._now))

    def restart(self, number):
        """Let a device start anew."""
        self._say(self.devices[int(number) % len(self.devices)].restart())

    @property
    def _now(self):
        return self._wall + self._timeline.now

    def _turn(self):
        for device in self.devices:
            self._say(device.turn(self._now))
        if self._timeline.now + STEP < self._end:
            self._timeline.at(self._timeline.now + STEP, self._turn)

    def _say(self, messages):
        for topic, payload in messages:
            number = self._first + len(self.said)
            self.said.append((topic, payload))
            self._broker.publish(Delivery(number, self._timeline.now, topic, payload, 1))


def untold(publications, published):
    """Return what devices were to be asked, and were not."""
    asked = {(each.topic, each.payload) for each in publications if not each.topic.startswith("streamfs/")}
    return asked - {(each.topic, each.payload) for _, each in published}


def disobedient(devices, conduct):
    """Yield devices that obey and have heard all, but do not report as they were to last, with both intervals."""
    named = {known.name: known for known in conduct.devices.values()}
    for device in devices:
        known = named.get(device.address.format(name=device.name))
        has_heard = np.isinf(device.open) and not device._waiting
        if device.manners == OBEDIENT and has_heard and known is not None and not known.is_deferred:
            asked = [newest_asked(setting).asked[1] for setting in known.settings.values() if not setting.refusal]
            if asked and device.most not in asked:
                yield device.name, device.most, asked


def newest_asked(setting):
    """Return what a device was asked last, if it is asked for the newest only as it reports again."""
    return setting if setting.tries or setting.told is None else setting.told
