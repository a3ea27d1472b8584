"""A simulated device, its broker and a gateway's core in simulated time."""

import numpy as np
from helpers.device_settings import device_lines
from helpers.procedures import channels_procedure
from helpers.records import Models, new_core, raw, restored

from streamfs.gateway.core.records import clock_record
from streamfs.gateway.settings.settings import read_settings

PERIOD = 60.0
N_TICKS = 4000


def models_of(policy, hours):
    """Return a model that wants temperatures under a policy, and holds them for some hours."""
    channel = f"temperature@{policy}" if policy else "temperature"
    options = {"threshold": 20.0, "time_limit": 20, "period": PERIOD, "max_silence": 3600.0 * hours}
    return Models(channels_procedure(channel, **options))


MODELS = models_of("delta:0.5", 4.0)


AT_ONCE = {"lateness": 0.0, "grace": 0.0}


def begun(tmp_path, kind, models=MODELS, times=AT_ONCE, **streams):
    lines = ['model = "m"', "[broker]", 'url = "mqtt://b"', "[time]"]
    lines += [f"{key} = {value}" for key, value in times.items()]
    lines += ["[streams]", *(f"{key} = {value}" for key, value in streams.items())]
    path = tmp_path / "gateway.toml"
    path.write_text("\n".join([*lines, *device_lines([(kind, "d1")])]), encoding="utf-8")
    settings = read_settings(path)
    core, _ = new_core(models, settings.bindings(models.first.channels), **streams, **times)
    return core


class Yard:
    """A device, its broker and a gateway, second by second."""

    def __init__(self, core, device, seed=0, begin=0.0):
        self.core, self.device, self.now = core, device, begin
        self.rng = np.random.default_rng(seed)
        self.decisions = []

    def deliver(self, messages):
        """Let the gateway take messages, and the device what it says to them, until nobody says more."""
        while messages:
            effects = self.core.take([raw(topic, payload, self.now) for topic, payload in messages])
            messages = self.to_device(effects)

    def to_device(self, effects):
        self.decisions += effects.decisions
        said = [each for each in effects.publications if each.topic in self.device.topics]
        return [answer for each in said for answer in self.device.hear(each.topic, each.payload, self.now)]

    def run(self, seconds, *, kills=0.0, restarts=0.0, step=10.0):
        end = self.now + seconds
        while self.now < end:
            self.now += step
            if self.rng.random() < kills:
                self.core = restored(self.core, MODELS)
            if self.rng.random() < restarts:
                self.deliver(self.device.restart())
            self.deliver(self.device.turn(self.now))
            self.deliver(self.to_device(self.core.take([clock_record(self.now)])))

    @property
    def conduct(self):
        (device,) = self.core.conduct.devices.values()
        return device


def temperatures(level):
    """Values that wander a little around a level."""
    rng = np.random.default_rng(7)
    return np.round(level + 0.1 * rng.normal(0, 1, N_TICKS).cumsum().clip(-5, 5), 2)
