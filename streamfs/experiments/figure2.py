"""The paper's Figure 2: same-source detection by every method, simulated or recorded, over many seeds."""

from collections.abc import Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool

from joblib import Parallel, delayed

from streamfs.base.progress import Progress
from streamfs.errors import StreamfsError
from streamfs.experiments.experiment import Experiment
from streamfs.experiments.outcome import METHODS, Outcome, check_method
from streamfs.experiments.sources import SplitSource

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
    progress: Progress | None = None,
) -> list[Outcome]:
    """Run the methods on splits of seeds 0, 1, and so on; the outcomes come by seed, method and threshold.

    Prices are costs of a message by quantity; `n_features` is as in `Experiment.run`. The outcomes do not depend
    on the number of processes.
    """
    for method in methods:
        check_method(method)
    work = (delayed(run_split)(source, seed, thresholds, prices, methods, n_features) for seed in range(n_seeds))
    outcomes: list[Outcome] = []
    try:
        for done, found in enumerate(Parallel(n_jobs, return_as="generator_unordered")(work)):
            outcomes += found
            if progress is not None:
                progress("splits", done + 1, n_seeds)
    except BrokenProcessPool as error:
        raise StreamfsError(
            "a process of the experiment died, maybe for lack of memory: run fewer processes with --jobs"
        ) from error
    return sorted(outcomes, key=lambda outcome: outcome.seed)


def run_split(
    source: SplitSource,
    seed: int,
    thresholds: Sequence[float],
    prices: Mapping[str, float] | None,
    methods: Sequence[str],
    n_features: int | None,
) -> list[Outcome]:
    """Run the methods on one split."""
    training, testing = source.split(seed)
    experiment = Experiment(training, testing, source.features(training), prices, seed)
    return [outcome for method in methods for outcome in experiment.run(method, thresholds, n_features)]
