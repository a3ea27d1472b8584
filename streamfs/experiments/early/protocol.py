"""Trials of early classifiers: each is fitted to the train series of a set, and decides its test series.

A method must name a class by the end of a series; one that does not makes an error at the last tick. Earliness
is the mean tick of decisions as a share of the series, HM the harmonic mean of accuracy and 1 - earliness, and
the cost of a decision alpha x error + (1 - alpha) x delay. Costs are those of methods that are given alpha, if
they can; all else is measured with nothing set.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from streamfs.base.progress import Progress, quiet
from streamfs.experiments.early.methods import METHODS, Task
from streamfs.experiments.early.series import LabelledSeries, Split
from streamfs.training.balance import harmonic_mean

Row = dict[str, Any]
"""Seed, set, method and figures of a trial; or ``failed``, and why."""


def row_of(task: Task, method: str) -> Row:
    """Measure a method on a set with a seed."""
    trial = METHODS[method](task)
    n_ticks = task.split.test.values.shape[1]
    test = task.split.test.sample(trial.n_cases, seed=0)
    truth, costs = task.truth(test), {}
    for alpha, decided in trial.at.items():
        error, delay = float(np.mean(decided.classes != truth)), float(decided.ticks.mean() / n_ticks)
        costs[str(alpha)] = alpha * error + (1.0 - alpha) * delay
    usual = trial.decided
    accuracy, earliness = float(np.mean(usual.classes == truth)), float(usual.ticks.mean() / n_ticks)
    stated = float(usual.stated.mean())
    return {
        "accuracy": accuracy,
        "earliness": earliness,
        "hm": float(harmonic_mean(1.0 - accuracy, earliness)),
        "costs": costs,
        "stated": None if np.isnan(stated) else stated - accuracy,
        "fit_seconds": trial.fit,
        "us_a_tick": 1e6 * trial.deciding / (trial.n_cases * n_ticks),
        "cases": trial.n_cases,
    }


def measure(
    sets: Mapping[str, Callable[[int], Split]],
    seeds: Sequence[int],
    methods: Sequence[str],
    progress: Progress = quiet,
) -> Iterator[Row]:
    """Measure methods on sets, as recorded and disturbed, seed by seed; a failure is a row, too.

    Parameters
    ----------
    sets : mapping
        A function of the seed that loads each set, by its name.
    seeds : sequence of int
        Seeds of the methods, of the disturbance, and of sets that are split at random.
    methods : sequence of str
        Names in `METHODS`.
    progress : callable, optional
        Receives the number of trials that are done.
    """
    warm_up(methods)
    n_done, n_trials = 0, len(seeds) * len(sets) * 2 * len(methods)
    for seed in seeds:
        for name, load in sets.items():
            split = load(seed)
            for is_disturbed in (False, True):
                task = Task(split.disturbed(seed) if is_disturbed else split, seed)
                for method in methods:
                    progress("trials", n_done, n_trials)
                    known = {"seed": seed, "set": name, "disturbed": is_disturbed, "method": method}
                    yield known | trial_of(task, method)
                    n_done += 1
    progress("trials", n_done, n_trials)


def trial_of(task: Task, method: str) -> Row:
    """Measure a method, or say why it fails."""
    try:
        return row_of(task, method)
    except (ValueError, IndexError) as error:
        return {"failed": " ".join(str(error).split())[:120]}


def warm_up(methods: Iterable[str]) -> None:
    """Compile what the methods use, on made-up series, before anything is timed."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b"], 12)
    values = rng.normal(size=(24, 16, 1)).cumsum(axis=1) + 3.0 * (labels == "b")[:, np.newaxis, np.newaxis]
    task = Task(Split(LabelledSeries(values, labels), LabelledSeries(values, labels)), 0)
    for method in methods:
        row_of(task, method)
