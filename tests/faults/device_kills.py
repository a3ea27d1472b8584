"""Random kills of gateway, guard, broker and devices, while streams begin and end to need devices of all profiles.

Run it as ``make device-kills``.
"""

import argparse
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import numpy as np
from conftest import DURABLE
from helpers import demo_devices
from helpers.broker import HOST, Broker, free_port
from helpers.procedures import channels_procedure
from processes import Fork

from sensors_sim._connection import Connection
from sensors_sim.device_fleet import DeviceFleet
from sensors_sim.devices import KINDS, Manners

HIGH, LOW = 1e6, 15.0
"""Values that are decided at once, whatever an episode has had before, and never."""

PATIENCE = 12 * demo_devices.REST
"""Stated latency: seven reports at rest show that a message was lost, and those after it that it was obeyed."""

VICTIMS = ("gateway", "guard", "broker", "device")
PAUSES = (0.0, 1.5)  # seconds from a kill to the next start, at least and at most
GUARD_AFTER = 0.5  # seconds without a gateway, after which the guard asks in its place
SWING = 6.0  # degrees by which the temperature of a Shelly, which has thresholds alone, changes all the time


STARTED = {"gateway": ("run", "--config", "{settings}", "--json"), "guard": ("guard", "{settings}")}
"""Processes that are killed, and their commands."""

MOST_DELTA = 5.0  # of a Shelly that rests


class Late(NamedTuple):
    """A device that did not do in time what is wanted of it: silent though needed, or talking though not."""

    kill: int
    victim: str
    device: str
    is_needed: bool


class Campaign:
    """A broker, a gateway, its guard and devices, which are killed one after the other."""

    def __init__(self, folder, broker, seed=0):
        self._rng = np.random.default_rng(seed)
        self._broker, self._folder = broker, folder
        self._port = free_port()
        more = f"[http]\nport = {self._port}\n[devices]\nguard_after = {GUARD_AFTER}"
        demo_devices.quick_settings(folder, broker.url, more)
        for path in (folder / "profiles").glob("*.toml"):
            text = path.read_text(encoding="utf-8").replace("per_day = 200", "per_day = 5000")
            path.write_text(text.replace("[limits]\n", "[limits]\ncorrections = 1000\n"), encoding="utf-8")
        endless = channels_procedure("temperature@delta:0.5", threshold=20.0, time_limit=10**6, max_silence=5.0)
        endless.save(folder / "model.streamfs")
        text = (folder / "gateway.toml").read_text(encoding="utf-8")
        (folder / "gateway.toml").write_text(f'state = "state"\n{text}', encoding="utf-8")
        self.devices = {
            kind: KINDS[kind](
                f"{kind}-1", _values(kind, HIGH), demo_devices.REST, _manners(kind), begin=time.time()
            )
            for kind in KINDS
        }
        self.needed = dict.fromkeys(self.devices, False)
        self._processes = {}
        self._stop = threading.Event()
        fleet = DeviceFleet([*self.devices.values()])
        self._thread = threading.Thread(target=fleet.run, args=(broker.host, broker.port, self._stop))

    def __enter__(self):
        for each in STARTED:
            self._start(each)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(10.0)
        for each in STARTED:
            self._kill(each)

    def settle(self, patience=PATIENCE):
        """Wait until all devices do what is wanted; return how long it took, and those that do not in time."""
        begun = time.monotonic()
        open_at = begun + demo_devices.REST
        while (passed := time.monotonic() - begun) < patience:
            if not self._astray():
                return passed, []
            if time.monotonic() >= open_at:  # an episode that began with the value before is decided already
                self._say([each for kind in self._astray() if self.needed[kind] for each in _reopening(kind)])
                open_at += demo_devices.REST
            time.sleep(0.05)
        return passed, self._astray()

    def kill(self):
        """Kill one at random, let another device be needed or not, and start it again; return what was killed."""
        victim = VICTIMS[self._rng.integers(len(VICTIMS))]
        kind = self._any_kind()
        pause = self._rng.uniform(*PAUSES)
        is_before = self._rng.random() < 0.5
        if is_before:
            self._flip()
        time.sleep(self._rng.uniform(0.0, 1.0))
        if victim in STARTED:
            self._kill(victim)
            time.sleep(pause)
            self._start(victim)
        elif victim == "broker":
            self._broker.kill()
            time.sleep(pause)
            self._broker.start()
        else:
            self.devices[kind].leave()
            time.sleep(pause)
            self._say(self.devices[kind].restart())
        if not is_before:
            self._flip()
        return victim

    def remarks(self):
        """What the gateway says of devices."""
        with suppress(OSError), urlopen(f"http://{HOST}:{self._port}/metrics", timeout=2.0) as page:
            lines = page.read().decode().splitlines()
            return [line for line in lines if line.startswith("streamfs_devices_")]
        return ["it does not answer"]

    def _flip(self):
        """Let a device be needed that is not, or the reverse."""
        kind = self._any_kind()
        self.needed[kind] = not self.needed[kind]
        self.devices[kind]._values = _values(kind, LOW if self.needed[kind] else HIGH)
        if self.needed[kind]:
            self._say(_reopening(kind))

    def _say(self, messages):
        if messages:
            with Connection(self._broker.host, self._broker.port, "campaign", lambda _: None) as connection:
                for topic, payload in messages:
                    connection.publish(topic, payload)

    def _astray(self):
        return [kind for kind, device in self.devices.items() if _rests(device) == self.needed[kind]]

    def _any_kind(self):
        return (*self.devices,)[self._rng.integers(len(self.devices))]

    def _start(self, each):
        args = [word.format(settings=self._folder / "gateway.toml") for word in STARTED[each]]
        self._processes[each] = Fork(args, self._folder / f"{each}.txt")

    def _kill(self, each):
        self._processes[each]._process.kill()
        self._processes[each].wait(10.0)


def _values(kind, level):
    values = np.full(2000, level)
    values[1::2] -= SWING * (kind == "shelly")
    return values


def _manners(kind):
    return Manners(interval=1.0, forgets=kind != "shelly")  # whose settings are in its flash


def _reopening(kind):
    return [("streamfs/command/gateway", f'{{"reopen":"{kind}-1"}}'.encode())]


def _rests(device):
    return device.least >= demo_devices.REST or MOST_DELTA <= device.delta < np.inf


def run(n_kills, seed=0, say=lambda _: None):
    """Return the number of kills of each victim, seconds until all was as wanted after each, and who was late."""
    victims, seconds, late = Counter(), [], []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "broker").mkdir()
        with Broker(DURABLE, place / "broker") as broker, Campaign(place, broker, seed) as campaign:
            _, astray = campaign.settle(60.0)
            assert not astray, f"{astray} did not begin as they should"
            for number in range(n_kills):
                victim = campaign.kill()
                victims[victim] += 1
                passed, astray = campaign.settle()
                seconds.append(passed)
                late += [Late(number, victim, kind, campaign.needed[kind]) for kind in astray]
                if (number + 1) % 20 == 0:
                    say(f"{number + 1} kills, {len(late)} late")
                if astray:
                    say(f"late: {late[-len(astray) :]}; {'; '.join(campaign.remarks())}")
    return victims, seconds, late


def main():
    """Print the figures of a campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    victims, seconds, late = run(given.kills, given.seed, lambda text: print(text, flush=True))  # noqa: T201
    silent = sum(each.is_needed for each in late)
    median, worst = np.median(seconds), max(seconds)
    print(f"{dict(victims)}: {silent} silent though needed, {len(late) - silent} talking though not")  # noqa: T201
    print(f"as wanted after {median:.1f} s in the median, {worst:.1f} s at most, of {PATIENCE:.0f} s")  # noqa: T201


if __name__ == "__main__":
    main()
