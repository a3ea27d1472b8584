"""A gateway run from its settings, in a process that can be killed."""

import json
import os
import re
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import orjson
import pytest
from helpers.broker import HOST, free_port
from processes import Fork, begin
from traffic import LATENESS, pairs, procedure

PATIENCE = 180.0  # seconds for whatever is waited for: a cold start compiles
PAUSE = 0.01  # seconds between two looks at what tells nobody that it has changed

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and prlimit, which only Linux has")


class GatewayProcess:
    """A gateway with its own folder, which may run in one process after another.

    Parameters
    ----------
    folder : pathlib.Path
        For settings, model and state.
    url : str
        The broker's, or that of a proxy before it.
    model : Procedure, optional
        What it runs, by default that of the pairs.
    **sections : dict
        What gateway.toml shall have beside the usual, by section; ``top`` stands for the keys before them, and
        None takes a key away.
    """

    def __init__(self, folder, url, /, model=None, **sections):
        self.folder = folder
        self.state = folder / "state"
        self.config = folder / "gateway.toml"
        self.model = folder / "model.streamfs"
        self.port = free_port()
        self.counters = Counter()
        self.returncode = None
        self._process = None
        self._args = ["run", "--config", str(self.config), "--json"]
        self._errors = folder / "errors.txt"
        folder.mkdir(parents=True, exist_ok=True)
        (procedure() if model is None else model).save(self.model)
        rows = [f"{stream},{nodes['a']},{nodes['b']}" for stream, nodes in pairs().items()]
        (folder / "pairs.csv").write_text("\n".join(["stream,a,b", *rows, ""]), encoding="utf-8")
        self.config.write_text(as_toml(self._settings(url), sections), encoding="utf-8")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.is_alive:
            self.kill()

    @property
    def pid(self):
        return self._process.pid

    @property
    def is_alive(self):
        return self._process is not None and self._process.poll() is None

    @property
    def errors(self):
        """Standard error of the last process."""
        return self._errors.read_text(encoding="utf-8")

    def start(self, *sabotage):
        """Start a process with a fault of `sabotage.py` built in."""
        self._process = Fork(self._args, self._errors, sabotage)

    def start_command(self):
        """Start a process as users do, which takes longer."""
        self._process = begin(self._args, self._errors)

    def kill(self):
        """Kill the process."""
        self.signal(signal.SIGKILL)
        self._end()

    def await_end(self):
        """Wait until the process has ended."""
        self._end()

    def stop(self):
        """Stop the process; its counters are then known exactly."""
        self.signal(signal.SIGTERM)
        self._end()
        assert self.returncode == 0, self.errors
        self.counters = read_counters(self.errors)

    def signal(self, number):
        os.kill(self.pid, number)

    def await_ready(self):
        self.await_that(lambda: self.health() == [], "the gateway is not ready")

    def health(self):
        """Return the problems that the gateway reports; None if it does not answer."""
        page = self._page("readyz")
        return None if page is None else orjson.loads(page)["problems"]

    def warnings(self):
        """Return the warnings that the gateway reports, but those of clocks: the traffic's stamps are of 1970."""
        return [text for text in orjson.loads(self._page("readyz"))["warnings"] if "clock" not in text]

    def metrics(self):
        """Return counters and gauges, up to a second old; empty if the gateway does not answer."""
        lines = (self._page("metrics") or b"").decode().splitlines()
        named = (line.rpartition(" ") for line in lines if line.startswith("streamfs_") and "{" not in line)
        return Counter(
            {name.removeprefix("streamfs_").removesuffix("_total"): float(number) for name, _, number in named}
        )

    def await_metric(self, name, least):
        self.await_that(lambda: self.metrics()[name] >= least, f"{name} has not reached {least}")

    def await_that(self, is_so, otherwise):
        """Poll until a condition holds."""
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            assert self.is_alive, f"the gateway has ended with {self._process.poll()}: {self.errors}"
            assert time.monotonic() < deadline, f"{otherwise}: {self.errors}"
            time.sleep(PAUSE)

    def resident_bytes(self):
        """Return the resident memory of the process."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024

    def _end(self):
        self.returncode = self._process.wait(PATIENCE)
        self._process = None

    def _page(self, name):
        try:
            with urlopen(f"http://{HOST}:{self.port}/{name}", timeout=PATIENCE) as answer:
                return answer.read()
        except HTTPError as answer:
            with answer:
                return answer.read()
        except OSError:
            return None

    def _settings(self, url):
        return {
            "top": {"model": "model.streamfs", "state": "state"},
            "broker": {"url": url, "receive_maximum": 20, "client_id": "gateway"},
            "time": {"lateness": LATENESS, "overtaking": LATENESS, "grace": 600.0},
            "streams": {"pairs_file": "pairs.csv", "reopen_after": 6.0},
            "commit": {"messages": 20, "seconds": 0.01},
            "limits": {"queue": 20},
            "http": {"port": self.port},
            "log": {"level": "info"},
        }


def as_toml(usual, sections):
    """Write settings; given keys override the usual ones."""
    parts = []
    for name in dict.fromkeys([*usual, *sections]):
        values = {**usual.get(name, {}), **sections.get(name, {})}
        parts.append("" if name == "top" else f"[{name}]")
        parts += [f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None]
    return "\n".join([*parts, ""])


def read_counters(errors):
    """Return the counters in the gateway's last line of output."""
    counters = Counter()
    for part in errors.splitlines()[-1].partition("; ")[2].split(", "):
        name, _, number = part.rpartition(" ")
        with suppress(ValueError):
            counters[name] = float(number)
    return counters
