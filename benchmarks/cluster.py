"""Measure deciding recorded streams on Spark, in local mode; print JSON lines and a table.

python benchmarks/cluster.py [PART ...]

20 000 streams with a sample a second of two columns, ten features and a tree that never decides, so that each sample
is worked on; one stream in ten falls silent. Each run is a process of its own, whose first three batches do not
count, since Java compiles itself meanwhile; ways alternate, and medians are shown. Processor time is that of Java and
of all of Python. Times by the clock are those of this machine with whatever else it did.

- ``speed``: batches of 400 000 samples, on two cores and on one; and the same samples without Spark
- ``rows``: the same, handed over row by row
- ``peer``: the samples of a tenth of the streams in such a batch by River in `applyInPandas`
- ``overhead``: batches of 2000 samples
- ``state``: bytes of state a stream, compared with the arrays
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from figures import Figure, Parts, main, measure, processor, seconds, table
from gateway_runs import scratch

from streamfs.base.optional import load_optional

HERE = Path(__file__).parent
N_STREAMS, BATCH, SMALL = 20_000, 400_000, 2000
FILES = 8
"""Of a batch."""

N_BATCHES, N_TURNS = 8, 2
OPEN = {"confidence": 1.0, "time_limit": 10**6}
"""Of a model that never decides."""


class World(NamedTuple):
    """A model and a folder of samples, in files."""

    model: Any
    samples: Path
    n_samples: int


@contextmanager
def world(n_batches: int, batch: int, n_streams: int = N_STREAMS, files: int = FILES) -> Iterator[World]:
    """Write samples for some batches."""
    load_optional("pyspark", "cluster")
    sys.path.insert(0, str(HERE.parent / "tests"))
    from helpers.sample_history import history, procedure  # noqa: PLC0415 - needs an extra

    recorded, model = history(n_streams, n_batches * batch // n_streams + 10), procedure(**OPEN)
    recorded = recorded._replace(
        streams=recorded.streams[: n_batches * batch], times=recorded.times[: n_batches * batch]
    )
    with scratch() as folder:
        model.save(folder / "samples.streamfs")
        recorded.write(folder / "samples", n_batches * files)
        yield World(model, folder / "samples", len(recorded.times))


def run(way: str, n_cores: int, of: World, files: int = FILES) -> dict[str, float]:
    """Run one way once."""
    with scratch() as out:
        words = (way, n_cores, of.samples, out, files)
        begin = "import sys, cluster_run; cluster_run.main(*sys.argv[1:])"  # tasks import it, too
        command = [sys.executable, "-c", begin, *map(str, words)]
        paths = os.environ | {"PYTHONPATH": str(HERE)}
        ended = subprocess.run(command, capture_output=True, text=True, check=False, env=paths)  # noqa: S603 - ours
        if ended.returncode:
            raise RuntimeError(f"{way} has ended with {ended.returncode}: {ended.stderr[-2000:]}")
        found: dict[str, float] = json.loads(ended.stdout.splitlines()[-1])
        return found


def loaded() -> str:
    return f"{os.getloadavg()[0]:.0f} processes ready in the last minute"


def per_million(found: Sequence[dict[str, float]], which: str) -> float:
    return median(1e6 * each[which] / each["events"] for each in found)


@cache
def ways() -> dict[tuple[str, int], list[dict[str, float]]]:
    """Run our ways in turn."""
    found = defaultdict(list)
    with world(N_BATCHES, BATCH) as of:
        for _ in range(N_TURNS):
            for way in (("packed", 2), ("packed", 1), ("rows", 2)):
                each = run(*way, of)
                found[way].append(each | {"events": each["batches"] * BATCH})
    return found


def speed() -> list[Figure]:
    two, one = ways()["packed", 2], ways()["packed", 1]
    wall = per_million(two, "wall")
    with world(1, BATCH) as of:
        alone = 1e6 * seconds(lambda: taken(of)) / of.n_samples
    return [
        Figure("events a second on two cores, by the clock", 1e6 / wall, at_least=250_000, detail=loaded()),
        Figure("CPU s a million events on two cores", per_million(two, "cpu"), detail="Java and Python"),
        Figure("CPU s a million events on one core", per_million(one, "cpu"), detail="Java and Python"),
        Figure("one core : two cores, by the clock", per_million(one, "wall") / wall, detail=loaded()),
        Figure("CPU s a million events without Spark", alone, detail="one process, one shard"),
    ]


def taken(of: World) -> Any:
    """Return a shard that has taken all samples, from their files, without Spark."""
    from streamfs.cluster.engine_shard import EngineShard  # noqa: PLC0415 - needs an extra
    from streamfs.cluster.history import samples_in  # noqa: PLC0415 - the same
    from streamfs.cluster.parcels import divide_samples  # noqa: PLC0415 - the same
    from streamfs.cluster.places import StreamPlaces  # noqa: PLC0415 - the same

    shard, places, channels = EngineShard(of.model, 0.0), StreamPlaces(1), of.model.channels
    for path in sorted(of.samples.glob("*.parquet")):
        for batch in samples_in(path, channels):
            shard.take(divide_samples(batch, channels, places))
    return shard


def rows() -> list[Figure]:
    packed, plain = (per_million(ways()[way, 2], "cpu") for way in ("packed", "rows"))
    return [Figure("row by row : packed, CPU", plain / packed, detail=f"{plain:.3g} : {packed:.3g} s a million")]


def peer() -> list[Figure]:
    with world(1, BATCH // 10, N_STREAMS // 10) as of:  # as many samples a stream, which is what counts
        river = [run("river", 2, of)]
    of_ours, of_river = (
        {which: per_million(each, which) for which in ("cpu", "wall")} for each in (ways()["packed", 2], river)
    )
    ratio = {which: of_river[which] / of_ours[which] for which in of_ours}
    detail = f"{of_river['cpu']:.3g} : {of_ours['cpu']:.3g} s a million; {ratio['wall']:.3g} by the clock"
    return [Figure("River in applyInPandas : ours, CPU", ratio["cpu"], at_least=20, detail=detail)]


def overhead() -> list[Figure]:
    with world(4 * N_BATCHES, SMALL, SMALL, 1) as of:
        found = [run("packed", 2, of, 1) for _ in range(N_TURNS)]
    wall, cpu = (median(each[which] / each["batches"] for each in found) for which in ("wall", "cpu"))
    what = f"a batch of {SMALL} samples, {{}} s"
    return [Figure(what.format("CPU"), cpu), Figure(what.format("by the clock"), wall, detail=loaded())]


def state() -> list[Figure]:
    with world(1, 10 * N_STREAMS) as of:
        shard = taken(of)
    _, arrays = shard.engine.to_state()
    packed, plain = len(shard.pack()), sum(array.nbytes for array in arrays.values())
    detail = f"{packed / N_STREAMS:.0f} : {plain / N_STREAMS:.0f} bytes a stream"
    return [Figure("bytes of state : those of the arrays", packed / plain, at_most=1.1, detail=detail)]


PARTS: Parts = {"speed": speed, "rows": rows, "peer": peer, "overhead": overhead, "state": state}


def section() -> str:
    """Write the part of RESULTS.md."""
    load_optional("pyspark", "cluster")
    return f"""
## On Spark

`benchmarks/cluster.py` says how it is measured. {processor()}.

{table(measure(PARTS))}
"""


if __name__ == "__main__":
    main(__doc__ or "", PARTS)
