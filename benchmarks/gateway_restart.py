"""Make the state of a killed gateway, and measure how soon one that resumes from it decides; used by `gateway.py`.

python benchmarks/gateway_restart.py '{"folder": "made", "make": true, "tail": 30000}'
python benchmarks/gateway_restart.py '{"folder": "made", "port": 1883}'

Ten thousand nodes are streams of their own, all open; each has sent ten readings before the last snapshot, and some of
them have sent more since, which the log has alone.
"""

import json
import sys
import time
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from threading import Event
from typing import Any

N_NODES = 10_000
N_ROUNDS = 10  # before the snapshot
AT_ONCE = 500  # messages to a commit
CLIENT = "restarted"


def topic(node: int) -> str:
    return f"sensors/n{node:05d}/light"


def payload(number: int, value: float = 0.25) -> bytes:
    return b'{"t": %.1f, "v": %.4f, "seq": %d, "unit": "lx", "battery": 2.93}' % (1.7e9 + number, value, number)


def make(folder: Path, tail: int) -> None:
    """Write the state after rounds of all nodes, a snapshot, and a tail of messages."""
    from gateway_runs import sudden  # noqa: PLC0415 - which loads what the other way is measured without

    from streamfs.gateway.core.bindings import Bindings  # noqa: PLC0415
    from streamfs.gateway.core.core import Core  # noqa: PLC0415
    from streamfs.gateway.core.options import Options, Time  # noqa: PLC0415
    from streamfs.gateway.core.records import (  # noqa: PLC0415
        MESSAGE,
        Record,
        start_record,
    )
    from streamfs.gateway.storage.journal import Entry  # noqa: PLC0415
    from streamfs.gateway.storage.state import State  # noqa: PLC0415

    procedure = sudden("mean(light)")
    procedure.save(folder / "model.streamfs")
    core = Core(procedure, Bindings.single(procedure.channels), Options(time=Time(lateness=0.0)))

    def rounds() -> Iterator[Record]:
        number = 0
        while True:
            for node in range(N_NODES):
                yield Record(MESSAGE, 1.7e9 + number, topic(node), payload(number))
            number += 1

    with State(folder / "state") as state:
        state.models.keep_model(procedure.packed)
        begin = start_record(procedure.digest, 1.7e9)
        records = chain([begin], rounds())
        for total in (1 + N_ROUNDS * N_NODES, tail):
            for _ in range(0, total, AT_ONCE):
                chunk = list(islice(records, AT_ONCE))
                effects = core.take(chunk)
                position = state.log.append(chunk)
                state.journal.commit(Entry(position, effects.decisions, [], effects.energy))
            if total != tail:
                state.journal.commit(Entry(position, snapshot=core.to_state()(), marks=core.marks()))
        state.log.sync()


def restart(folder: Path, port: int) -> dict[str, float]:
    """Measure seconds from the construction of a gateway, with everything imported and compiled."""
    from numba.core.registry import cpu_target  # noqa: PLC0415

    from streamfs.gateway.core.bindings import Bindings  # noqa: PLC0415
    from streamfs.gateway.core.options import Options, Time  # noqa: PLC0415
    from streamfs.gateway.service import Gateway  # noqa: PLC0415
    from streamfs.gateway.storage.state import State  # noqa: PLC0415
    from streamfs.gateway.transport.transport import Transport  # noqa: PLC0415
    from streamfs.procedure.procedure import Decision, Procedure  # noqa: PLC0415

    cpu_target.target_context.refresh()  # numba imports half of itself, and scipy, only now
    stop = Event()
    decided: list[float] = []

    def note(_: Decision) -> None:
        decided.extend((time.perf_counter(), time.process_time()))
        stop.set()

    procedure = Procedure.load(folder / "model.streamfs")
    bindings = Bindings.single(procedure.channels)
    begin, cpu = time.perf_counter(), time.process_time()
    with State(folder / "state") as state:
        transport = Transport(f"mqtt://127.0.0.1:{port}", CLIENT, session_expiry=3600)
        gateway = Gateway(
            procedure, bindings, transport, Options(time=Time(lateness=0.0)), state=state, on_decision=note
        )
        built = time.perf_counter()
        replayed = int(gateway.statistics().counters["replayed"])
        n_open = gateway.core.roster.newest.engine.n_open
        gateway.run(stop, idle_timeout=20.0)
    found = {"built": built - begin, "decided": decided[0] - begin, "cpu": decided[1] - cpu}
    return found | {"replayed": replayed, "open": n_open}


if __name__ == "__main__":
    arguments: dict[str, Any] = json.loads(sys.argv[1])
    if arguments.get("make"):
        make(Path(arguments["folder"]), arguments["tail"])
        print(json.dumps({"made": True}))
    else:
        print(json.dumps(restart(Path(arguments["folder"]), arguments["port"])))
