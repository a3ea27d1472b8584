"""Measure how fast a long table becomes streams, and how much memory that takes, and print JSON lines and a table.

python benchmarks/recordings.py [PART ...]

The table is a CSV file of ten million rows of device, time, sensor and value: 100 devices, five sensors, ticks of 10 s
that jitter by 2 s, ISO dates with an offset. Ours puts it on the grid of ticks (`StreamSet.read` with ``long`` and
``resample="last"``); polars reads it (`read_csv` with `try_parse_dates`) and pivots it, which is only the first half of the way.
Each run is a process of its own, three in turn, medians; seconds are of the wall clock, without imports, memory is the
greatest resident set, minus that after imports. ``STREAMFS_ROWS`` is another number of rows.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from figures import Figure, Parts, main, measure, processor, table

N_ROWS = int(os.environ.get("STREAMFS_ROWS", "10_000_000"))
N_DEVICES, N_SENSORS, PERIOD, JITTER = 100, 5, 10.0, 2.0
N_TURNS = 3
BATCH = 1000  # ticks that are written at once

OURS = """
from streamfs import StreamSet

def work(path):
    streams = StreamSet.read(
        path, long=("device", "time", "sensor", "value"), labelled=False, resample="last"
    )
    return streams.values.nbytes, streams.period
"""
PEER = """
import polars as pl

def work(path):
    table = pl.read_csv(path, try_parse_dates=True)
    wide = table.pivot("sensor", index=["device", "time"], values="value", aggregate_function="last")
    return wide.height * (wide.width - 2) * 8, None
"""
MEASURED = """
import json, sys, time

def resident(what):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what))

before, start, cpu = resident("VmRSS"), time.perf_counter(), time.process_time()
n_bytes, period = work(sys.argv[1])
took, cpu = time.perf_counter() - start, time.process_time() - cpu
print(json.dumps({"wall": took, "cpu": cpu, "peak": resident("VmHWM") - before, "values": n_bytes, "period": period}))
"""


@contextmanager
def long_table(n_rows: int) -> Iterator[Path]:
    """Write the table into a folder that is removed afterwards."""
    rng, n_series = np.random.default_rng(0), N_DEVICES * N_SENSORS
    devices = np.repeat([f"node-{k}" for k in range(N_DEVICES)], N_SENSORS)
    sensors = np.tile([f"sensor-{k}" for k in range(N_SENSORS)], N_DEVICES)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "long.csv"
        with path.open("wb") as file:
            for first in range(0, n_rows // n_series, BATCH):
                ticks = np.arange(first, min(first + BATCH, n_rows // n_series))
                times = np.repeat(ticks * PERIOD, n_series) + rng.uniform(-JITTER, JITTER, len(ticks) * n_series)
                stamps = pl.from_epoch(pl.Series((1.79e12 + 1e3 * times).astype(np.int64)), time_unit="ms")
                rows = pl.DataFrame(
                    {
                        "device": np.tile(devices, len(ticks)),
                        "time": stamps.dt.strftime("%Y-%m-%dT%H:%M:%S%.3f+00:00"),
                        "sensor": np.tile(sensors, len(ticks)),
                        "value": rng.normal(20, 3, len(times)).round(3),
                    }
                )
                rows.write_csv(file, include_header=first == 0)
        yield path


def run(code: str, path: Path) -> dict[str, Any]:
    """Read the table in a process of its own."""
    words = [sys.executable, "-c", code + MEASURED, str(path)]
    ended = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603 - our own
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def long_tables() -> list[Figure]:
    with long_table(N_ROWS) as path:
        runs = [(run(OURS, path), run(PEER, path)) for _ in range(N_TURNS)]
    ours, peer = ({key: median(each[k][key] or 0 for each in runs) for key in runs[0][k]} for k in range(2))
    what = f"{N_ROWS / 1e6:g} million rows"
    faster = median(second["wall"] / first["wall"] for first, second in runs)
    times = (
        f"{ours['wall']:.3g} s ({ours['cpu']:.3g} s of CPU) : {peer['wall']:.3g} s ({peer['cpu']:.3g} s of CPU)"
    )
    sizes = f"{ours['peak'] / 2**20:.0f} MiB for {ours['values'] / 2**20:.0f} MiB"
    more = f"{peer['peak'] / 2**20:.0f} MiB for {peer['values'] / 2**20:.0f} MiB"
    return [
        Figure(f"{what}, times as fast as polars' read and pivot", faster, at_least=1, detail=times),
        Figure(f"{what}, memory over that of the values", ours["peak"] / ours["values"], at_most=3, detail=sizes),
        Figure(f"{what}, the same of polars", peer["peak"] / peer["values"], detail=more),
        Figure(f"{what}, period proposed, s", ours["period"], at_least=PERIOD, at_most=PERIOD),
    ]


PARTS: Parts = {"long": long_tables}


def section() -> str:
    """Return the part of RESULTS.md."""
    return f"""
## Reading recordings

A long CSV table of device, time, sensor and value, 100 devices and five sensors, ticks of 10 s that jitter by 2 s, ISO
dates: read, its period proposed, and put on the grid of ticks, beside what polars needs to read and pivot it. Processes
of their own, {N_TURNS} in turn, medians. {processor()}.

{table(measure(PARTS))}
"""


if __name__ == "__main__":
    main(__doc__ or "", PARTS)
