"""A fleet of which half runs the model in C, and decides or sends crossings, beside one that a gateway decides.

Run it as ``make demo-node``, or ``PYTHONPATH=.:tests python tests/helpers/demo_node.py --nodes 40``.
"""

import argparse
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from helpers.broker import Broker
from helpers.compiled_c import exported_model, split_model

import feature_extractors as fx
from sensors_sim.deciding import ExportedModel
from sensors_sim.fleet import Fleet
from streamfs import StreamSet, train
from streamfs.costs.pricing import Pricing
from streamfs.evaluation.evaluation import replay
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.options import Options, Time
from streamfs.gateway.service import Gateway
from streamfs.gateway.transport.transport import Transport
from streamfs.procedure.split import split

RADIO, PERIOD, N_TICKS, TICK_SECONDS = "cc2420", 1.0, 40, 0.05


def streams_of(n, seed):
    """Return streams of a column whose drift tells three classes apart, the more surely the later."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, n)
    drift = 0.08 * (classes[:, np.newaxis] - 1) * np.arange(N_TICKS)
    values = np.round(20 + drift + 0.4 * rng.normal(size=(n, N_TICKS)), 2)
    labels = np.array(["falls", "stays", "rises"])[classes]
    return StreamSet(values[:, :, np.newaxis], labels, ("level",), PERIOD, [f"n{k}" for k in range(n)])


def run(procedure, streams, models):
    """Follow nodes by a gateway, but for those that decide; return the fleet and the gateway's decisions."""
    readings = {
        name: dict(zip(streams.columns, rows.T, strict=True))
        for name, rows in zip(streams.names, streams.values, strict=True)
    }
    followed = [name for name in streams.names if not isinstance(models.get(name), ExportedModel)]
    decisions, stop = {}, threading.Event()
    with Broker() as broker, ThreadPoolExecutor(1) as pool:
        gateway = Gateway(
            procedure,
            Bindings.single(procedure.channels, followed),
            Transport(f"mqtt://{broker.host}:{broker.port}"),
            Options(profile=RADIO, time=Time(grace=1.0)),
            on_decision=lambda each: decisions.setdefault(each.stream, each.label),
        )
        following = pool.submit(gateway.run, stop, until_decided=True)
        gateway.ready.wait(30.0)
        fleet = Fleet(readings, procedure.period, RADIO, models=models, max_silence=procedure.max_silence)
        fleet.run(broker.host, broker.port, TICK_SECONDS)
        try:
            following.result(timeout=30.0)
        finally:
            stop.set()
    return fleet, decisions


def main(n_nodes):
    """Print messages and energy of both halves of the fleet, in both ways."""
    pricing = Pricing(RADIO)
    procedure = train(streams_of(200, seed=0), pricing=pricing)
    streams = streams_of(n_nodes, seed=1)
    offline = {decision.stream: decision.label for decision in replay(procedure, streams)}
    own, others = streams.names[::2], streams.names[1::2]
    with tempfile.TemporaryDirectory() as folder:
        model = exported_model(Path(folder), procedure)
        mixed, decided = run(procedure, streams, dict.fromkeys(own, model))
        alone, _ = run(procedure, streams, {})
    lines = [f"{'':34}{'messages':>10}{'joules':>12}"]
    lines += [
        account("half that decides by itself", mixed, own),
        account("the same, decided by the gateway", alone, own),
        account("half that the gateway decides", mixed, others),
    ]
    same = sum(decided.get(name) == offline[name] for name in others)
    same_own = sum(mixed.decided.get(name, "") == offline[name] for name in own)
    lines.append(
        f"decided as offline: {same_own} of {len(own)} by themselves, {same} of {len(others)} by the gateway"
    )
    print("\n".join([*lines, "", *crossings(streams)]))  # noqa: T201 - a demo


def crossings(streams):
    """Return the lines of a tree of one feature, which the nodes compute, and whose crossings they send."""
    features = fx.catalogue(["level"], fx.ESSENTIAL)[1:]
    options = {"classifier": "c45", "n_features": 1, "select": "streamrelief"}
    pricing = Pricing(RADIO, max_silence=8.0)  # nodes that send nothing else show that time passes
    tree = train(streams_of(200, seed=0), features=features, pricing=pricing, **options)
    halves, offline = split(tree), {decision.stream: decision.label for decision in replay(tree, streams)}
    with tempfile.TemporaryDirectory() as folder:
        model = split_model(Path(folder), tree, halves)
        sending, decided = run(halves.gateway, streams, dict.fromkeys(streams.names, model))
    readings, _ = run(tree, streams, {})
    same = sum(decided.get(name, "") == offline[name] for name in streams.names)
    return [
        account("a small tree, by crossings", sending, streams.names),
        account("the same tree, by readings", readings, streams.names),
        f"decided as offline: {same} of {len(streams)} by crossings",
    ]


def account(what, fleet, names):
    """Return a line with the messages and joules of nodes."""
    accounts = [fleet.meter.account(name) for name in names]
    joules = sum(each.joules for each in accounts)
    return f"{what:34}{sum(each.messages for each in accounts):10}{joules:12.3g}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=40)
    main(parser.parse_args().nodes)
