"""Devices of every profile on a real mosquitto: which are decided, and how often they report afterwards.

Run it as ``make demo-devices``, or ``PYTHONPATH=.:tests python tests/helpers/demo_devices.py --seconds 40``.
"""

import argparse
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from helpers import mixed_fleet
from helpers.broker import Broker
from helpers.device_settings import device_lines
from helpers.procedures import channels_procedure

from sensors_sim.device_fleet import DeviceFleet
from sensors_sim.devices import KINDS, Manners
from streamfs.gateway.host import hosted
from streamfs.gateway.settings.profiles import profile_files
from streamfs.gateway.settings.settings import read_settings

REST = 3.0
"""Seconds from one report to the next while a device rests; profiles have hours."""

QUICK = (
    ("min = 10", "min = 0.5"),
    ("min = 30", "min = 0.5"),
    ("min = 1\n", "min = 0.5\n"),
    ("rest = 3600", f"rest = {REST}"),
    ("rest = 7200", f"rest = {REST}"),
    ("safe = 60\n", "safe = 1\n"),
    ("safe = 300\n", "safe = 1\n"),
    ("safe = 1200\n", "safe = 1\n"),
    ("per_day = 10\n", "per_day = 5000\n"),
)


def quick_settings(folder, url, more=""):
    """Return settings of a gateway for devices of all profiles, in haste, with more sections."""
    (folder / "profiles").mkdir()
    for kind in KINDS:  # with some patience: seconds, not minutes
        text = profile_files()[kind].read_text(encoding="utf-8")
        for slow, quick in QUICK:
            text = text.replace(slow, quick)
        text = text.replace("[limits]\n", "[limits]\npatience = 1.0\n")
        (folder / "profiles" / f"{kind}.toml").write_text(text, encoding="utf-8")
    model = channels_procedure("temperature@delta:0.5", threshold=20.0, time_limit=20, max_silence=5.0)
    model.save(folder / "model.streamfs")
    lines = ['model = "model.streamfs"', "[broker]", f'url = "{url}"', "[time]", "lateness = 0.0", more]
    lines += device_lines((kind, f"{kind}-1") for kind in KINDS)
    (folder / "gateway.toml").write_text("\n".join(lines), encoding="utf-8")
    return read_settings(folder / "gateway.toml")


def run(seconds, manners=None):
    """Run devices and a gateway for some seconds; return devices, decisions by stream, and states by device."""
    manners = Manners(interval=1.0) if manners is None else manners
    devices = {kind: KINDS[kind](f"{kind}-1", np.full(2, 25.0), 1.0, manners) for kind in KINDS}
    decisions, stop = {}, threading.Event()
    with Broker() as broker, tempfile.TemporaryDirectory() as folder:
        settings = quick_settings(Path(folder), f"mqtt://{broker.host}:{broker.port}")
        with hosted(settings, on_decision=lambda each: decisions.setdefault(each.stream, each.label)) as gateway:
            fleet = threading.Thread(
                target=DeviceFleet([*devices.values()]).run, args=(broker.host, broker.port, stop)
            )
            following = threading.Thread(target=gateway.run, args=(stop,))
            following.start()
            gateway.ready.wait(10.0)
            fleet.start()
            time.sleep(seconds)
            stop.set()
            gateway.wake()
            fleet.join(10.0)
            following.join(10.0)
            states = {device.node: device.state for device in gateway.core.conduct.devices.values()}
    return devices, decisions, states


def main(seconds):
    """Print what devices did on a real broker, and a mixed fleet in simulated time."""
    found, labels, conduct = run(seconds)
    lines = [f"{'device':16}{'decision':10}{'reports':>8}{'interval':>10}  asked, and"]
    for name, each in found.items():
        decided = labels.get(each.name, "-")
        lines.append(f"{name:16}{decided:10}{each.n_sent:8}{each.most:9.0f}s  {conduct.get(each.name)}")
    lines.append(f"\na fleet in simulated time, where every {mixed_fleet.EVERY}th node speaks another protocol:")
    with tempfile.TemporaryDirectory() as folder:
        words, rows = mixed_fleet.report(Path(folder))
    for row in rows:
        nodes, n, messages, share, joules = row.values()
        lines.append(f"{nodes:12}{n:5} nodes{messages:7.1f} messages a node,{share:7.1%} of all;{joules:10.2e} J")
    print("\n".join([*lines, words]))  # noqa: T201 - a demo


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=40.0)
    main(parser.parse_args().seconds)
