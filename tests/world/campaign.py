"""Campaigns: many simulated worlds, each checked; in several processes."""

import gc
import logging
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from checks import problems_of
from scenario import HOSTILE, Scenario, draw
from shrink import shrink
from twin import calm, differences, is_comparable
from world import run

AT_ONCE = 50  # seeds of a task
SELDOM = 100_000  # objects after which garbage is collected
MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
COMPARED = 4  # a calm twin runs beside 1 world in 4

Attempt = Callable[[Scenario], tuple[int, list[str]]]


class Report(NamedTuple):
    """What came of the worlds of some seeds: how often each fault was tried, recoveries, a processor's seconds.

    What is wrong is by seed, with the faults of its world.
    """

    first: int
    n_worlds: int
    tried: Counter[str]
    n_recoveries: int
    seconds: float
    wrong: list[tuple[int, set[str], list[str]]]


@contextmanager
def simulator() -> Iterator[Attempt]:
    """Yield a function that runs a scenario and returns the number of recoveries, and what is wrong."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    gc.collect()  # or what earlier worlds left would be frozen, and never be collected
    gc.freeze()  # what is there already is not looked at again and again, also not by the next simulator
    thresholds = gc.get_threshold()
    gc.set_threshold(SELDOM, *thresholds[1:])
    memory = MEMORY if MEMORY.is_dir() else None
    try:
        with TemporaryDirectory(dir=memory) as folder:
            yield partial(attempt, Path(folder) / "world")
    finally:
        gc.set_threshold(*thresholds)
        logging.disable(disabled)


def attempt(folder: Path, scenario: Scenario) -> tuple[int, list[str]]:
    """Run a scenario, and perhaps its calm twin."""
    try:
        outcome = run(scenario, folder)
        problems = problems_of(scenario, outcome)
        if scenario.seed % COMPARED == 0 and not problems and is_comparable(scenario):
            problems += differences(scenario, outcome, run(calm(scenario), folder))
    except Exception:  # noqa: BLE001 - whatever the gateway raises is wrong
        return 0, [f"raised: {traceback.format_exc()}"]
    return outcome.n_lives - 1, problems


def run_seeds(seeds: range) -> Report:
    """Run the worlds of some seeds."""
    begun = time.process_time()
    tried: Counter[str] = Counter()
    n_recoveries, wrong = 0, []
    with simulator() as simulate:
        for seed in seeds:
            scenario = draw(seed)
            n, problems = simulate(scenario)
            n_recoveries += n
            tried.update(troubles(scenario))
            if problems:
                wrong.append((seed, set(troubles(scenario)), problems))
    return Report(seeds.start, len(seeds), tried, n_recoveries, time.process_time() - begun, wrong)


def troubles(scenario: Scenario) -> list[str]:
    """Return the kinds of faults of a scenario, and ``hostile`` for each message of a node without sense."""
    hostile = ["hostile" for sent in scenario.messages if HOSTILE in sent.topic]
    return [*(fault.kind for fault in scenario.faults), *hostile]


def smallest(seed: int) -> tuple[Scenario, list[str]]:
    """Return the smallest world in which still something is wrong, and what is in that of the seed."""
    with simulator() as simulate:
        scenario = draw(seed)
        _, problems = simulate(scenario)
        return (shrink(scenario, lambda other: bool(simulate(other)[1])) if problems else scenario), problems


def campaign(first: int, n_worlds: float, seconds: float, n_processes: int) -> Iterator[Report]:
    """Run worlds from a seed on, until there are enough or the time is over; yield the reports as they come."""
    todo = _tasks(first, n_worlds, time.monotonic() + seconds)
    with ProcessPoolExecutor(n_processes) as pool:
        pending = [pool.submit(run_seeds, seeds) for seeds in islice(todo, 2 * n_processes)]
        while pending:
            yield pending.pop(0).result()
            pending += [pool.submit(run_seeds, seeds) for seeds in islice(todo, 1)]


def _tasks(first: int, n_worlds: float, until: float) -> Iterator[range]:
    for start in count(first, AT_ONCE):
        if start >= first + n_worlds or time.monotonic() >= until:
            return
        yield range(start, int(min(start + AT_ONCE, first + n_worlds)))
