"""Measure how soon each command starts, and print JSON lines and a table.

python benchmarks/startup.py [PART ...]

Each run is a separate process, from its start to its end, by the wall clock; five runs, medians; the CPU time is given too.
A cold run finds an empty NUMBA_CACHE_DIR; a warm run finds the cache of the cold one. Kernels in C are built beforehand.
Files of Python code are compiled before. The streams are 60 simulated pairs of 20 ticks.

- ``help``: ``--help`` of the program and of each command
- ``imports``: what an importing program waits for, compared with numba alone; warm
- ``commands``: ``train``, the same with a promise and 200 pairs, both in CPU time; ``evaluate``, ``check``, and ``run``
  until it listens to a broker, minus the 0.1 s for which it was told to wait there; cold and warm
- ``gateway``: a gateway with an empty cache and a state folder, until it is online, and until it has decided a stream, by
  two readings that are sent to it then; compared with one whose kernels numba compiles, with its first restart, and
  with a processor of which it has 10 of 100 ms
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from figures import N_TURNS, Figure, Parts, described, main
from gateway_runs import Broker, Way, scratch, undecided, write_config
from startup_gateway import begins

from streamfs.cli.app import COMMANDS

STREAMFS = ("-m", "streamfs")
IDLE, COLD_TRAINING = 0.1, 8.0  # seconds
IMPORTS = ("numba", "streamfs", "feature_extractors", "streamfs.engine.engine", "streamfs.gateway.service")


class Took(NamedTuple):
    """Seconds of a process."""

    wall: float
    cpu: float

    @property
    def detail(self) -> str:
        return f"{self.cpu:.2f} s of CPU"


def took(words: Sequence[str], folder: Path | None = None, cache: Path | None = None) -> Took:
    """Run Python once, in a folder, with a cache of its own if one is named."""
    environment = os.environ | ({} if cache is None else {"NUMBA_CACHE_DIR": str(cache)})
    before, begin = _cpu(), time.perf_counter()
    command = [sys.executable, *words]
    ended = subprocess.run(  # noqa: S603 - our own command
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise RuntimeError(f"{' '.join(words)} has ended with {ended.returncode}: {ended.stderr}")
    return Took(time.perf_counter() - begin, _cpu() - before)


def _cpu() -> float:
    """CPU of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def warm(words: Sequence[str], folder: Path | None = None, cache: Path | None = None) -> Took:
    """The median of several runs, after one that does not count."""
    runs = [took(words, folder, cache) for _ in range(N_TURNS + 1)][1:]
    return Took(median(run.wall for run in runs), median(run.cpu for run in runs))


def help_texts() -> list[Figure]:
    figures = []
    for name in ("", *COMMANDS):
        seconds = warm([*STREAMFS, *name.split(), "--help"])
        what = " ".join(["streamfs", *name.split(), "--help, s"])
        figures.append(Figure(what, seconds.wall, at_most=0.3, detail=seconds.detail))
    return figures


def imports() -> list[Figure]:
    seconds = {name: warm(["-c", f"import {name}"]) for name in IMPORTS}
    return [Figure(f"import {name}, s", of.wall, detail=of.detail) for name, of in seconds.items()]


def commands() -> list[Figure]:
    figures = []
    with scratch() as folder, Broker() as broker:
        write_config(folder, undecided(), broker.url, Way(1, keeps=True))
        for n_pairs in ("60", "200"):
            took([*STREAMFS, "simulate", f"{n_pairs}.csv", "--pairs", n_pairs, "--ticks", "20"], folder)
        for name, words in {
            "train": ["train", "60.csv", "-o", "pairs.streamfs"],
            "train --promise": ["train", "200.csv", "-o", "promised.streamfs", "--promise", "0.8"],
            "evaluate": ["evaluate", "pairs.streamfs", "60.csv"],
            "check": ["check", "gateway.toml"],
            "run": ["run", "--config", "gateway.toml", "--idle", str(IDLE)],
        }.items():
            cache, waits = folder / f"cache-{name}", IDLE if name == "run" else 0.0
            for state, run in (("cold", took), ("warm", warm)):
                seconds = run([*STREAMFS, *words], folder, cache)
                if name.startswith("train"):
                    most = COLD_TRAINING if state == "cold" else None
                    what, detail = f"streamfs {name}, {state}, s of CPU", f"{seconds.wall:.3g} s by the clock"
                    figures.append(Figure(what, seconds.cpu, at_most=most, detail=detail))
                else:
                    what = f"streamfs {name}, {state}, s"
                    figures.append(Figure(what, seconds.wall - waits, detail=seconds.detail))
    return figures


PARTS: Parts = {"help": help_texts, "imports": imports, "commands": commands, "gateway": begins}


section = partial(described, "How soon each command starts", __file__, __doc__, PARTS)


if __name__ == "__main__":
    main(__doc__ or "", PARTS)
