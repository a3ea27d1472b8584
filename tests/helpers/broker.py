"""A real mosquitto on a free port of this machine, for one test or a whole session."""

import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

HOST = "127.0.0.1"
PATIENCE = 10.0  # seconds for the broker to start or stop


def find_mosquitto() -> str | None:
    return shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")


PORTS = range(20_000, 32_000)
"""Below those that connections of other processes take for their own ends."""


def free_port() -> int:
    """Draw a free port; not by `random`, whose seed all processes of the tests share."""
    while True:
        with socket.socket() as probe, suppress(OSError):
            probe.bind((HOST, secrets.choice(PORTS)))
            return int(probe.getsockname()[1])


class Broker:
    """A mosquitto that keeps its port over stop and start.

    Parameters
    ----------
    settings : str
        Lines of mosquitto.conf that come after the usual ones.
    persistence : pathlib.Path, optional
        Directory in which messages and sessions outlive the process. None keeps nothing.
    """

    def __init__(self, settings: str = "", persistence: Path | None = None) -> None:
        self.host = HOST
        self.port = free_port()
        self._settings = settings
        self._persistence = persistence
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"mqtt://{self.host}:{self.port}"

    def start(self) -> None:
        """Start, and return once connections are accepted."""
        mosquitto = find_mosquitto()
        if mosquitto is None:
            raise FileNotFoundError("mosquitto not found: install it to run the MQTT tests")
        with tempfile.TemporaryDirectory() as directory:
            config = Path(directory) / "mosquitto.conf"
            config.write_text(self._config(), encoding="utf-8")
            self._process = subprocess.Popen(
                [mosquitto, "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            self._await_connections(self._process)

    def stop(self) -> None:
        """Ask the process to end, and wait for it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE)
            self._process = None

    def kill(self) -> None:
        """End the process without warning."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            self._process = None

    def suspend(self) -> None:
        """Let the process do nothing; its connections stay."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def _config(self) -> str:
        lines = [f"listener {self.port} {HOST}", "allow_anonymous true", "max_queued_messages 0"]
        lines.append("user root")  # heeded only if started by root: the files of persistence stay writable
        if self._persistence is None:
            lines.append("persistence false")
        else:
            lines += ["persistence true", f"persistence_location {self._persistence}/"]
        return "\n".join([*lines, self._settings, ""])

    def _await_connections(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise RuntimeError(f"mosquitto ended with code {process.returncode} on port {self.port}")
            try:
                socket.create_connection((HOST, self.port), timeout=1).close()
            except ConnectionRefusedError:
                time.sleep(0.02)
            else:
                return
        self.kill()
        raise TimeoutError(f"mosquitto did not accept connections on port {self.port} within {PATIENCE} s")
