"""The time until a gateway is ready after a kill or a start; used by `gateway.py`."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from gateway_restart import CLIENT, N_NODES, N_ROUNDS, payload, topic
from gateway_runs import Broker, Way, expect, scratch, started, undecided, write_config

from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.transport.transport import Transport

PATIENCE = 60.0  # seconds


def restarts(tail: int, n_turns: int) -> list[dict[str, float]]:
    """Kill a gateway with `tail` messages in the log since the last snapshot, and resume, several times."""
    with scratch() as folder:
        made = folder / "made"
        made.mkdir()
        with started("gateway_restart.py", {"folder": str(made), "make": True, "tail": tail}) as lines:
            expect(lines, "made")
        return [_restart(made, folder / f"turn{turn}", tail) for turn in range(n_turns)]


def _restart(made: Path, folder: Path, tail: int) -> dict[str, float]:
    shutil.copytree(made, folder)
    with Broker() as broker:
        _queue(broker, tail)
        with started("gateway_restart.py", {"folder": str(folder), "port": broker.port}) as lines:
            return expect(lines, "decided")


def _queue(broker: Broker, tail: int) -> None:
    """Publish two messages for the gateway: one that decides a stream, and one that advances its time."""
    session = Transport(broker.url, CLIENT, session_expiry=3600)
    session.connect()
    session.subscribe(["sensors/+/light"])
    session.check_subscribed()
    session.close()
    publisher = Transport(broker.url, "publisher")
    publisher.connect()
    number = N_ROUNDS + tail // N_NODES + 2
    publisher.publish(Publication(topic(0), payload(number, 100.0), retain=False))
    publisher.publish(Publication(topic(0), payload(number + 2), retain=False))
    publisher.drain(PATIENCE)
    publisher.close()


def starts(n_turns: int) -> list[tuple[float, float]]:
    """Measure wall clock and CPU seconds until ``streamfs run`` is ready, without the first run."""
    with scratch() as folder, Broker() as broker:
        config = write_config(folder, undecided(), broker.url, Way(1, keeps=True))
        return [_start(config, folder / "notify") for _ in range(n_turns + 1)][1:]


def _start(config: Path, place: Path) -> tuple[float, float]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(str(place))
        notified.settimeout(PATIENCE)
        command = [sys.executable, "-m", "streamfs", "run", "--config", str(config)]
        begin = time.perf_counter()
        with subprocess.Popen(  # noqa: S603 - our own command
            command, env=os.environ | {"NOTIFY_SOCKET": str(place)}, stderr=subprocess.DEVNULL
        ) as process:
            while b"READY=1" not in notified.recv(1024):
                pass
            seconds = time.perf_counter() - begin, _cpu_seconds(process.pid)
            process.send_signal(signal.SIGTERM)
    place.unlink()
    return seconds


def _cpu_seconds(process: int) -> float:
    """CPU that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
