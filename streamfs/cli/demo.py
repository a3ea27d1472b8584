"""A demo of one minute: simulate, train, follow a fleet of nodes over MQTT, and account for the energy."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from feature_extractors.arrays import Array
from sensors_sim.fleet import Fleet
from sensors_sim.nodes import Battery, Node
from sensors_sim.same_source import SameSource, nodes_of
from streamfs.cli import console
from streamfs.costs.energy_meter import EnergyMeter
from streamfs.costs.pricing import Pricing
from streamfs.costs.radio_profiles import profile
from streamfs.data.streams import StreamSet
from streamfs.errors import MissingExtraError
from streamfs.evaluation.evaluation import Evaluation, evaluate
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.options import Options, Time
from streamfs.gateway.service import Gateway, Summary
from streamfs.gateway.transport.transport import Transport
from streamfs.gateway.warm_up import warm_up
from streamfs.procedure.procedure import Decision, Procedure
from streamfs.training.cost_aware import train

N_TRAINING_PAIRS = 240
N_TICKS = 60
TICK_SECONDS = 0.2  # that a simulated second takes

_DECIDED, _NODES_TIME = "streams decided", "seconds of the nodes' time"

_BROKER = """
id = 0
[router]
id = 0
max_connections = 100
max_outgoing_packet_count = 200
max_segment_size = 104857600
max_segment_count = 10
[v5.1]
name = "demo"
listen = "127.0.0.1:{port}"
next_connection_delay_ms = 1
[v5.1.connections]
connection_timeout_ms = 60000
max_payload_size = 20480
max_inflight_count = 100
"""


def run_demo(
    out: Path, n_pairs: int, profile_name: str, seed: int, n_training_pairs: int = N_TRAINING_PAIRS
) -> dict[str, Any]:
    """Train, serve and measure on this machine; write model, energy log and plot; return the figures."""
    _broker_class()  # this and the next line fail before any work if the extra is missing
    from streamfs.experiments import plots  # noqa: PLC0415

    console.announce_compiling()
    out.mkdir(parents=True, exist_ok=True)
    radio = profile(profile_name)
    recorded = StreamSet(*SameSource().sample(n_training_pairs, N_TICKS, seed=seed))
    with console.progress() as report:
        procedure = train(recorded, pricing=Pricing(radio), seed=seed, progress=report)
    procedure.save(out / "model.streamfs")
    console.say(procedure.text())

    live = SameSource().sample(n_pairs, N_TICKS, seed=seed + 1)
    fleet = Fleet(nodes_of(live), live.period, radio, seed=seed)
    spent = np.zeros(N_TICKS)
    decisions, summary = follow(procedure, fleet, live.names, profile_name, out / "energy.jsonl", spent)
    spent = np.maximum.accumulate(spent)

    streams = StreamSet(*live)
    offline = evaluate(procedure, streams)
    decided = {decision.stream: decision for decision in decisions}
    online = Evaluation(
        tuple(decided[name] for name in live.names), streams.labels, procedure.rule, offline.offered_cost
    )
    everything = energy_of_everything(nodes_of(live), live.period, profile_name)
    plots.save(plots.demo_figure(online, spent, everything, radio.unit), out / "demo.png")
    console.say(f"wrote the model, the energy log and the plot to {out}")
    same = sum(a == b for a, b in zip(online.decisions, offline.decisions, strict=True))
    return _figures(online, summary, float(everything[-1]), radio.unit) | {"same_decisions_offline": same}


def _figures(online: Evaluation, summary: Summary, everything: float, unit: str) -> dict[str, Any]:
    return {
        "pairs": len(online.decisions),
        "completeness": online.completeness,
        "accuracy": online.accuracy,
        "mean_ticks": online.ticks,
        "messages": summary.spent.messages,
        f"{unit}_spent": summary.spent.joules,
        f"{unit}_of_all_features_all_the_time": everything,
        "share_spent": summary.spent.joules / everything,
    }


def follow(
    procedure: Procedure, fleet: Fleet, pairs: tuple[str, ...], profile_name: str, log: Path, spent: Array
) -> tuple[list[Decision], Summary]:
    """Run a gateway and a fleet on an embedded broker with progress bars; fill `spent` with the energy by tick."""
    bindings = Bindings.pairs(procedure.channels, {pair: {"a": f"{pair}-a", "b": f"{pair}-b"} for pair in pairs})
    log.unlink(missing_ok=True)
    warm_up(procedure)
    with embedded_broker() as port, console.progress() as report, ThreadPoolExecutor(1) as pool:
        decisions: list[Decision] = []
        ticks: list[int] = []

        def count(decision: Decision) -> None:
            decisions.append(decision)
            report(_DECIDED, len(decisions), len(pairs))

        def tick(index: int) -> None:
            spent[index] = fleet.meter.joules
            ticks.append(index)
            report(_NODES_TIME, len(ticks), len(spent))

        gateway = Gateway(
            procedure,
            bindings,
            Transport(f"mqtt://127.0.0.1:{port}"),
            Options(profile=profile_name, time=Time(grace=1.0)),
            energy_log=log,
            on_decision=count,
        )
        report(_DECIDED, 0, len(pairs))
        stop = threading.Event()
        running = pool.submit(gateway.run, stop, until_decided=True)
        try:
            while not gateway.ready.wait(0.1) and not running.done():
                pass
            if not running.done():
                fleet.run("127.0.0.1", port, TICK_SECONDS, on_tick=tick)
            summary = running.result(timeout=60)
            report(_NODES_TIME, len(ticks), len(ticks))
            console.say(f"after {len(ticks)} seconds every pair is decided, and all nodes are silent")
            return decisions, summary
        finally:
            stop.set()


def energy_of_everything(readings: Any, period: float, profile_name: str) -> Array:
    """Return the energy up to each tick if every node sent every column at every tick."""
    meter = EnergyMeter(profile(profile_name))
    nodes = [Node(name, columns, meter, Battery(inf)) for name, columns in readings.items()]
    for node in nodes:
        node.set_channels(readings[node.name], 0)
    energy = np.zeros(N_TICKS)
    for tick in range(N_TICKS):
        for node in nodes:
            node.transmit(tick, tick * period)
        energy[tick] = meter.joules
    return energy


def _broker_class() -> Any:
    try:
        from iotcore import Broker  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("iotcore", "demo") from error
    return Broker


@contextmanager
def embedded_broker() -> Iterator[int]:
    """Run an MQTT broker that only this machine can reach, and yield its port."""
    broker_class = _broker_class()
    with socket.socket() as free, TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        free.close()
        config = Path(folder) / "broker.toml"
        config.write_text(_BROKER.format(port=port), encoding="utf-8")
        with broker_class(config_path=str(config)):
            yield port
