"""The paper's Figure 2: same-source detection by every method, simulated or recorded, over many seeds."""

from collections.abc import Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool

from joblib import Parallel, delayed

from streamfs.base.progress import Progress, quiet
from streamfs.errors import StreamfsError
from streamfs.experiments.experiment import Experiment
from streamfs.experiments.outcome import METHODS, Outcome, check_method
from streamfs.experiments.sources import SplitSource
from streamfs.experiments.tally import Tally, reported_tally

THRESHOLDS = tuple(round(0.80 + 0.01 * step, 2) for step in range(20))
N_SEEDS = 20


def compare(
    source: SplitSource,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    n_seeds: int = N_SEEDS,
    prices: Mapping[str, float] | None = None,
    methods: Sequence[str] = METHODS,
    n_features: int | None = None,
    n_jobs: int = 1,
    progress: Progress = quiet,
) -> list[Outcome]:
    """Run the methods on splits of seeds 0, 1, and so on; the outcomes come by seed, method and threshold.

    Prices are costs of a message by quantity; `n_features` is as in `Experiment.run`. The outcomes do not depend
    on the number of processes.
    """
    for method in methods:
        check_method(method)
    outcomes: list[Outcome] = []
    n_outcomes = n_seeds * len(methods) * len(thresholds)
    try:
        with reported_tally(progress, "seeds, methods, thresholds", n_outcomes) as tally:
            work = (
                delayed(run_split)(source, seed, thresholds, prices, methods, n_features, tally)
                for seed in range(n_seeds)
            )
            for found in Parallel(n_jobs, return_as="generator_unordered")(work):
                outcomes += found
    except BrokenProcessPool as error:
        raise StreamfsError(
            "a process of the experiment died, maybe for lack of memory: run fewer processes with --n-jobs"
        ) from error
    return sorted(outcomes, key=lambda outcome: outcome.seed)


def run_split(
    source: SplitSource,
    seed: int,
    thresholds: Sequence[float],
    prices: Mapping[str, float] | None,
    methods: Sequence[str],
    n_features: int | None,
    tally: Tally,
) -> list[Outcome]:
    """Run the methods on one split, and tally each outcome."""
    training, testing = source.split(seed)
    experiment = Experiment(training, testing, source.features(training), prices, seed)
    found = []
    for method in methods:
        for outcome in experiment.run(method, thresholds, n_features):
            tally.add()
            found.append(outcome)
    return found
