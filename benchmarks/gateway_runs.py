"""One run of a subscriber with its own broker and publisher; used by `gateway.py`."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import feature_extractors as fx
from streamfs import Costs, Procedure
from streamfs.classifiers.tree import Tree

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from helpers.broker import Broker, find_mosquitto  # noqa: F401 - for those that import this

HERE = Path(__file__).parent
DISK = Path("/var/tmp")  # noqa: S108 - a folder of its own is made there; /tmp may be in memory
N_NODES = 1000
WINDOW = 1000  # messages under way at once, at quality of service 1
TIMEOUT = 180.0  # seconds for which a process may be silent

FEATURES = ("mean(light)", "variance(light)", "slope(light)")
MANY = tuple(
    f"{kind}({column})"
    for column in ("light", "sound")
    for kind in ("mean", "variance", "max", "slope", "kurtosis")
)


def undecided(features: tuple[str, ...] = FEATURES, *, period: float = 1.0) -> Procedure:
    """Return a model that tests its first feature and is never confident, so that its streams stay open."""
    return _model(features, [[20.0, 20.0], [12.0, 8.0], [8.0, 12.0]], period)


def sudden(feature: str = "last(light)", *, period: float = 1.0) -> Procedure:
    """Return a model that is confident once the feature exceeds one half."""
    return _model((feature,), [[20.0, 20.0], [12.0, 8.0], [0.0, 50.0]], period)


def _model(features: tuple[str, ...], counts: list[list[float]], period: float) -> Procedure:
    tree = Tree.from_json(
        {
            "feature": [0, -1, -1],
            "nominal": [False] * 3,
            "threshold": [0.5, 0.0, 0.0],
            "first_child": [1, 0, 0],
            "n_children": [2, 0, 0],
            "code": [0.0] * 3,
            "share": [1.0, 0.5, 0.5],
            "counts": counts,
            "laplace": True,
        }
    )
    costs = Costs(np.ones(len(features)))
    return Procedure(tuple(map(fx.get, features)), tree, ("off", "on"), costs, 0.9, 1_000_000, period)


@dataclass(frozen=True)
class Way:
    """A way to subscribe.

    Parameters
    ----------
    qos : int
        Quality of service.
    is_bare : bool
        Whether it is plain paho and orjson, or else the gateway.
    keeps : bool
        Whether the gateway has a state folder.
    form : str
        What is published: see `gateway_publisher.py`.
    lateness : float
        Seconds that a reading may lag behind, for the gateway.
    shard : str
        The gateway's share of the nodes, of all by default.
    """

    qos: int
    is_bare: bool = False
    keeps: bool = False
    form: str = "single"
    lateness: float = 2.0
    shard: str = ""


class Run(NamedTuple):
    """The result of a run.

    Parameters
    ----------
    cpu, wall : float
        Seconds from the first message that counts to the last, of the subscriber's process.
    latencies : ndarray
        Seconds from a message's stamp to the end of the work on it.
    """

    cpu: float
    wall: float
    latencies: np.ndarray


def run(way: Way, rounds: int, *, warm: int = 10, rate: float | None = None) -> Run:
    """Publish rounds of all nodes, after some to warm up."""
    with scratch() as folder, Broker(f"max_inflight_messages {WINDOW}\nmax_queued_bytes 0") as broker:
        counts = [warm * N_NODES, rounds * N_NODES]
        arguments: dict[str, Any] = {"counts": counts, "latencies": rate is not None}
        if way.is_bare:
            arguments |= {"bare": True, "port": broker.port, "qos": way.qos}
        else:
            arguments["config"] = str(write_config(folder, undecided(), broker.url, way))
        published = {"port": broker.port, "qos": way.qos, "form": way.form, "n_nodes": N_NODES}
        paced = {} if rate is None else {"rate": rate}
        with started("gateway_subscriber.py", arguments) as lines:
            expect(lines, "ready")
            if rate is None:
                publish(published | {"rounds": [0, warm]})
                expect(lines, "warm")
                publish(published | {"rounds": [warm, warm + rounds]})
            else:
                publish(published | {"rounds": [0, warm + rounds]} | paced)
                expect(lines, "warm")
            result = expect(lines, "cpu")
    return Run(result["cpu"], result["wall"], np.array(result["latencies"]))


def write_config(folder: Path, procedure: Procedure, url: str, way: Way, **more: str) -> Path:
    """Write a gateway.toml and its model, and return its path."""
    procedure.save(folder / "model.streamfs")
    state = f'state = "{folder / "state"}"' if way.keeps else ""
    sections = {
        "broker": f'url = "{url}"\nqos = {way.qos}\nreceive_maximum = {WINDOW}',
        "time": f"lateness = {way.lateness}",
        "streams": "any_node = true",
        "log": 'level = "error"',
    }
    for name, lines in more.items():
        sections[name] = f"{sections.get(name, '')}\n{lines}"
    shard = f'shard = "{way.shard}"' if way.shard else ""
    text = f'model = "model.streamfs"\nname = "measured"\n{state}\n{shard}\n'
    path = folder / "gateway.toml"
    path.write_text(text + "\n".join(f"[{name}]\n{lines}" for name, lines in sections.items()), encoding="utf-8")
    return path


def publish(arguments: dict[str, Any]) -> dict[str, Any]:
    """Publish, and return the publisher's report."""
    with started("gateway_publisher.py", arguments) as lines:
        return expect(lines, "seconds")


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder on a real disk."""
    folder = Path(tempfile.mkdtemp(prefix="streamfs-bench-", dir=DISK))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def started(script: str, arguments: dict[str, Any]) -> Iterator[Iterator[dict[str, Any]]]:
    """Run a script of this folder, and yield the lines that it prints."""
    command = [sys.executable, str(HERE / script), json.dumps(arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own script
        try:
            yield (json.loads(line) for line in process.stdout or ())
            process.wait(TIMEOUT)
        finally:
            if process.poll() is None:
                process.kill()
    if process.returncode:
        raise RuntimeError(f"{script} ended with {process.returncode}, arguments {arguments}")


def expect(lines: Iterator[dict[str, Any]], what: str) -> dict[str, Any]:
    """Return the next line that says this."""
    for line in lines:
        if what in line:
            return line
    raise RuntimeError(f"a process has ended before it said {what!r}")
