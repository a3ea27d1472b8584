"""Compare the gateway with bare paho, and print JSON lines and a table.

python benchmarks/gateway.py [PART ...]

The peer is what a Python user would write first: paho's client, which subscribes and calls ``orjson.loads`` on each payload,
and does nothing else (`gateway_subscriber.py`). It speaks MQTT 3.1.1, paho's default, which costs it a little more
than half of what MQTT 5 does. The gateway is all of ``streamfs run --config``, with its defaults: discovery of nodes,
joiner, engine, accounts.

Each run has its own mosquitto, publisher and subscriber, in separate processes; the alternatives alternate, five times, and
medians are quoted. Unless stated otherwise, a thousand nodes publish 105 bytes of JSON with a time, a value and a sequence
number to ``sensors/{node}/light``, one each per second of event time, as fast as the broker takes them; a hundred rounds
are measured, after ten to warm up. The model has three features (mean, variance and slope) and never reaches the
confidence, so that every message is a sample of an open stream. Both ends have a thousand messages in flight at quality
of service 1. CPU is that of the subscriber's whole process, all threads. States are on a real disk.

- ``messages``: CPU a message at both qualities of service; log and journal, on and off
- ``batches``: fifty samples a message, binary and in JSON, compared with single ones; quality of service 0,
  readings may lag by a minute
- ``latency``: at a thousand messages a second, from the timestamp in a payload to the end of the work on it
- ``decisions``: the same, from the message that triggers a decision to the decision's arrival at a subscriber, with state
- ``restart``: how soon a gateway that was killed decides again (`gateway_restart.py`), and one that is started is ready
- ``memory``: bytes for an idle stream (`gateway_memory.py`)
"""

import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from statistics import median

import gateway_decisions
import gateway_start
import numpy as np
from figures import N_TURNS, Figure, Parts, described, main, processor
from gateway_runs import N_NODES, Run, Way, expect, find_mosquitto, run, started

from streamfs.cli.console import say

ROUNDS = 100
RATE = 1000.0  # messages a second
PACED = 8  # rounds, at that rate
BATCH = 50  # samples
LATENESS = 60.0  # seconds, longer than a batch

BARE_0, BARE_1 = Way(0, is_bare=True), Way(1, is_bare=True)
QUICK, SAFE, UNSAFE = Way(0), Way(1, keeps=True), Way(1)


def in_turns(ways: Mapping[str, Way], measure: Callable[[Way], Run]) -> dict[str, list[Run]]:
    """Runs of each way, alternating."""
    runs: dict[str, list[Run]] = {name: [] for name in ways}
    for turn in range(N_TURNS):
        for name, way in ways.items():
            say(f"{name}, turn {turn + 1} of {N_TURNS}")
            runs[name].append(measure(way))
    return runs


def messages() -> list[Figure]:
    ways = {"bare 0": BARE_0, "quick": QUICK, "bare 1": BARE_1, "safe": SAFE, "unsafe": UNSAFE}
    runs = in_turns(ways, lambda way: run(way, ROUNDS))
    n = ROUNDS * N_NODES
    cpu = {name: median(r.cpu for r in of) / n * 1e6 for name, of in runs.items()}
    rate = {name: median(n / r.wall for r in of) for name, of in runs.items()}
    return [
        Figure(
            "CPU a message, gateway : bare, QoS 0, no state",
            cpu["quick"] / cpu["bare 0"],
            at_most=1.2,
            detail=f"{cpu['quick']:.1f} : {cpu['bare 0']:.1f} µs; {rate['quick']:.0f} : {rate['bare 0']:.0f} messages/s",
        ),
        Figure(
            "CPU a message, gateway : bare, QoS 1, acknowledged once log and journal are on disk",
            cpu["safe"] / cpu["bare 1"],
            at_most=1.0,
            detail=f"{cpu['safe']:.1f} : {cpu['bare 1']:.1f} µs; {rate['safe']:.0f} : {rate['bare 1']:.0f} messages/s",
        ),
        Figure(
            "messages/s, log and journal on : off, QoS 1",
            rate["safe"] / rate["unsafe"],
            at_least=0.9,
            detail=f"{rate['safe']:.0f} : {rate['unsafe']:.0f} messages/s; CPU {cpu['safe']:.1f} : {cpu['unsafe']:.1f} µs",
        ),
    ]


def batches() -> list[Figure]:
    forms = {"single": (100, 70), "array": (30, 10), "json": (30, 10)}  # rounds that count, and that do not
    ways = {form: Way(0, form=form, lateness=LATENESS) for form in forms} | {"bare": BARE_0}
    runs = in_turns(ways, lambda way: run(way, forms[way.form][0], warm=forms[way.form][1]))
    cpu = {
        name: median(r.cpu for r in of) / (forms[ways[name].form][0] * N_NODES) * 1e6 for name, of in runs.items()
    }
    figures = []
    for form, what in (("array", "as a binary array"), ("json", "as a JSON array")):
        sample = cpu[form] / BATCH
        ratio = f"samples a second of CPU, {BATCH} to a message {what} : "
        detail = f"{cpu[form]:.1f} µs a message of {BATCH}, {cpu['single']:.1f} a single one: {1e6 / sample:.3g} samples/s"
        figures += [
            Figure(f"{ratio}one to a message", cpu["single"] / sample, at_least=25, detail=detail),
            Figure(f"{ratio}one to a message to bare paho", cpu["bare"] / sample, detail=f"{cpu['bare']:.1f} µs"),
        ]
    return figures


def latency() -> list[Figure]:
    ways = {"bare 0": BARE_0, "quick": QUICK, "bare 1": BARE_1, "safe": SAFE}
    runs = in_turns(ways, lambda way: run(way, PACED, warm=2, rate=RATE))
    figures = []
    for what, name, peer in (("QoS 0, no state", "quick", "bare 0"), ("QoS 1, state", "safe", "bare 1")):
        (p50, p99), (bare50, bare99) = (
            np.median([np.percentile(r.latencies, (50, 99)) for r in runs[x]], axis=0) * 1e3 for x in (name, peer)
        )
        cpu = [median(r.cpu / len(r.latencies) for r in runs[x]) * 1e6 for x in (name, peer)]
        figures += [
            Figure(
                f"latency p50 at {RATE:.0f}/s, gateway - bare, ms; {what}",
                p50 - bare50,
                at_most=0.3,
                detail=f"{p50:.2f} : {bare50:.2f} ms; CPU a message {cpu[0]:.0f} : {cpu[1]:.0f} µs",
            ),
            Figure(
                f"latency p99 at {RATE:.0f}/s, gateway : bare; {what}",
                p99 / bare99,
                at_most=2,
                detail=f"{p99:.2f} : {bare99:.2f} ms",
            ),
        ]
    return figures


def decisions() -> list[Figure]:
    latencies = np.concatenate([gateway_decisions.measure() for _ in range(3)]) * 1e3
    what = "from a message to the arrival of the decision that it triggers, committed before, ms"
    p50, p99 = np.percentile(latencies, (50, 99))
    detail = f"{len(latencies)} decisions; 20 ms of that may be the wait for the next commit"
    return [Figure(f"p50 {what}", p50, detail=detail), Figure(f"p99 {what}", p99)]


def restart() -> list[Figure]:
    figures = []
    for tail, target in ((30_000, 0.5), (60_000, None)):
        runs = gateway_start.restarts(tail, N_TURNS)
        seconds, built, cpu = (median(r[name] for r in runs) for name in ("decided", "built", "cpu"))
        what = f"from a restart to the first decision, {tail} messages since the snapshot, s"
        detail = f"10 000 open streams; imports not counted; state there after {built:.2f} s; {cpu:.2f} s of CPU"
        figures.append(Figure(what, seconds, at_most=target, detail=detail))
    starts = gateway_start.starts(N_TURNS)
    wall, cpu = (median(pair[i] for pair in starts) for i in (0, 1))
    what = "from the start of the process to ready, warm, s"
    return [*figures, Figure(what, wall, at_most=1.5, detail=f"{cpu:.2f} s of CPU")]


def memory() -> list[Figure]:
    found = {}
    for what in ("resident", "allocated"):
        with started("gateway_memory.py", {"what": what}) as lines:
            found[what] = expect(lines, what)[what]
    detail = "100 000 streams, ten features on two channels"
    return [
        Figure("bytes allocated for an idle stream", found["allocated"], at_most=1000, detail=detail),
        Figure(
            "bytes by which the process grows for it", found["resident"], detail="including what malloc retains"
        ),
    ]


PARTS: Parts = {
    "messages": messages,
    "batches": batches,
    "latency": latency,
    "decisions": decisions,
    "restart": restart,
    "memory": memory,
}


def about() -> str:
    """Describe the machine and the versions."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("paho-mqtt", "orjson", "numba"))
    command = [find_mosquitto() or "mosquitto", "-h"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603 - our own command
    return f"{processor()}; {packages}; {said.partition(chr(10))[0]}"


section = partial(described, "The gateway compared with bare paho", __file__, __doc__, PARTS, about=about)


if __name__ == "__main__":
    main(__doc__ or "", PARTS, about)
