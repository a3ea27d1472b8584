"""The time until a gateway with an empty cache is ready, and has decided a first stream; used by `startup.py`."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Queue
from statistics import median
from typing import NamedTuple

import orjson
from figures import N_TURNS, Figure
from gateway_runs import Broker, Way, scratch, sudden, write_config
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

PATIENCE = 300.0  # seconds
SLICE = 0.01  # seconds in which a throttled process runs, of ten of them


class Begun(NamedTuple):
    """A gateway's begin: seconds until it is ready, and until a decision is there; CPU by then, and memory in MB."""

    ready: float
    decided: float
    cpu: float
    resident: float


def begins() -> list[Figure]:
    """Measure gateways in C and by numba, and one in C whose processor is throttled."""
    with scratch() as folder, Broker() as broker:
        config = write_config(folder, sudden(), broker.url, Way(1, keeps=True))
        in_c = [_begin(config, broker, "c", f"c{turn}") for turn in range(N_TURNS + 1)][1:]
        restarted = _begin(config, broker, "c", "restarted", keeps_state=True)
        by_numba = _begin(config, broker, "numba", "numba")
        slow = _begin(config, broker, "c", "slow", is_throttled=True)
    found = Begun(*map(median, zip(*in_c, strict=True)))
    compared = f"{by_numba.cpu:.2f} : {found.cpu:.2f} s"
    return [
        Figure("until a gateway is online, s", found.ready),
        Figure("until its first decision, s", found.decided, at_most=1.0, detail=f"{found.cpu:.2f} s of CPU"),
        Figure("resident then, MB", found.resident, at_most=70, detail=f"by numba {by_numba.resident:.0f} MB"),
        Figure("CPU until the first decision, kernels by numba : in C", by_numba.cpu / found.cpu, detail=compared),
        Figure("CPU until the first decision, first restart : start", restarted.cpu / found.cpu, at_most=1.2),
        Figure(
            "until the first decision with a tenth of the CPU, s", slow.decided, detail=f"{slow.cpu:.2f} s of CPU"
        ),
    ]


def _begin(
    config: Path, broker: Broker, kernels: str, name: str, *, keeps_state: bool = False, is_throttled: bool = False
) -> Begun:
    """Start a gateway with an empty cache, and send readings that decide a stream once it is online."""
    if not keeps_state:
        shutil.rmtree(config.parent / "state", ignore_errors=True)
    own = {"STREAMFS_KERNELS": kernels, "NUMBA_CACHE_DIR": str(config.parent / f"{name}-cache")}
    command = [sys.executable, "-m", "streamfs", "run", "--config", str(config)]
    with ExitStack() as exits:
        client, heard = exits.enter_context(_client(broker))
        begin = time.perf_counter()
        process = exits.enter_context(subprocess.Popen(command, env=os.environ | own))  # noqa: S603 - our own command
        exits.callback(process.terminate)
        if is_throttled:
            exits.enter_context(_throttled(process.pid))
        while b"online" not in heard.get(timeout=PATIENCE):
            pass
        ready = time.perf_counter() - begin
        for moment, value in ((0.0, 1.0), (3.0, 0.0)):
            payload = orjson.dumps({"t": time.time() + moment, "v": value})
            client.publish(f"sensors/{name}/light", payload, qos=1)
        while b"confident" not in heard.get(timeout=PATIENCE):
            pass
        return Begun(ready, time.perf_counter() - begin, *_used(process.pid))


@contextmanager
def _client(broker: Broker) -> Iterator[tuple[Client, "Queue[bytes]"]]:
    """A client of the broker, and what it hears of a gateway from now on."""
    heard: Queue[bytes] = Queue()
    client = Client(CallbackAPIVersion.VERSION2)
    client.on_message = lambda _client, _data, message: None if message.retain else heard.put(message.payload)
    client.connect(broker.host, broker.port)
    client.subscribe([("streamfs/decision/#", 1), ("streamfs/status/#", 1)])
    client.loop_start()
    try:
        yield client, heard
    finally:
        client.disconnect()
        client.loop_stop()


@contextmanager
def _throttled(process: int) -> Iterator[None]:
    """Let a process run for a tenth of the time."""
    ended = threading.Event()

    def throttle() -> None:
        while not ended.is_set():
            os.kill(process, signal.SIGSTOP)
            ended.wait(9 * SLICE)
            os.kill(process, signal.SIGCONT)
            time.sleep(SLICE)

    thread = threading.Thread(target=throttle)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _used(process: int) -> tuple[float, float]:
    """CPU seconds that a process has used, and its resident memory in MB."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return cpu, int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6
