"""Warm-up before the first message, so that this one does not wait for compilation."""

import numpy as np
import orjson

from streamfs.gateway.core.bindings import Bindings, split_role
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.options import Options, Time
from streamfs.gateway.core.records import MESSAGE, Record, clock_record, start_record
from streamfs.procedure.procedure import Decision, Procedure
from streamfs.procedure.promise_monitor import monitor_of

_N_TICKS = 3


def warm_up(procedure: Procedure) -> None:
    """Run a procedure on a stream of zeros for some ticks: kernels are compiled, or loaded from their cache."""
    nodes = {role: f"zeros-{role}" for role, _ in map(split_role, procedure.channels)}
    bindings = Bindings(procedure.channels, {"zeros": nodes})
    core = Core(procedure, bindings, Options(time=Time(lateness=0.0)))
    core.take([start_record(procedure.digest, 0.0)])
    period = procedure.period
    batch = orjson.dumps({"t0": _N_TICKS * period, "dt": period, "v": [0.0, None]})
    for payload in (*(_reading(tick * period) for tick in range(_N_TICKS)), batch):
        topics = [f"sensors/{source.node}/{source.channel}" for source in bindings.sources("zeros")]
        core.take(Record(MESSAGE, 0.0, topic, payload) for topic in topics)
    core.take([clock_record(1.0)])
    core.finish()
    monitor = monitor_of(procedure)
    if monitor is not None:
        decision = Decision("zeros", 1, None, 0.0, procedure.time_limit, 0.0, "timeout", 0.0)
        monitor.decided(decision, np.zeros(len(procedure.features)))


def _reading(time: float) -> bytes:
    return orjson.dumps({"t": time, "v": 0.0})
