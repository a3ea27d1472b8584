"""Measure the memory of an idle stream; used by `gateway.py`.

python benchmarks/gateway_memory.py '{"what": "allocated"}' or '{"what": "resident"}'

A hundred thousand nodes are discovered, each a stream of its own with ten features without a window on two channels; a
thousand of them send in each tick, on both channels, and each twice in all. Streams are open, and nothing waits.
"""

import gc
import json
import sys
import tracemalloc
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from gateway_runs import MANY, undecided

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.options import Limits, Options, Time
from streamfs.gateway.core.records import MESSAGE, Record, clock_record

N_STREAMS = 100_000
N_A_TICK = 1000
AT_ONCE = 1000  # messages
PAGE = 4096  # bytes


def messages(n_streams: int) -> Iterator[Record]:
    for number in range(2):
        for node in range(n_streams):
            stamp = 1.7e9 + number * (n_streams // N_A_TICK) + node // N_A_TICK
            for channel in ("light", "sound"):
                payload = b'{"t": %.1f, "v": 0.25, "seq": %d}' % (stamp, number)
                yield Record(MESSAGE, stamp, f"sensors/node-{node:06d}/{channel}", payload)


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE


def followed(n_streams: int) -> Core:
    """What has become of the streams, when nothing waits any more."""
    procedure = undecided(MANY)
    core = Core(
        procedure,
        Bindings.single(procedure.channels),
        Options(time=Time(lateness=0.0, grace=1.0), limits=Limits(streams=N_STREAMS)),
    )
    records = messages(n_streams)
    while chunk := list(islice(records, AT_ONCE)):
        core.take([*chunk, clock_record(chunk[-1].arrival)])
    return core


def measure(*, traced: bool) -> float:
    """Return the bytes for a stream: allocated, or by which the process has grown."""
    followed(2 * N_A_TICK)  # compiles, imports and fills what is filled once
    gc.collect()
    if traced:
        tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0] if traced else resident()
    core = followed(N_STREAMS)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0] if traced else resident()
    tracemalloc.stop()
    roster = core.roster
    if (roster.n_undecided, roster.n_streams) != (N_STREAMS, N_STREAMS) or core.joiner.n_pending > 4 * N_A_TICK:
        raise RuntimeError(f"{roster.n_streams} streams, {core.joiner.n_pending} readings wait")
    return (after - before) / N_STREAMS


if __name__ == "__main__":
    what = json.loads(sys.argv[1])["what"]
    print(json.dumps({what: measure(traced=what == "allocated")}))
