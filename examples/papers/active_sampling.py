"""The experiment of Veeramachaneni and Avesani, Active sampling for feature selection, ICDM 2003.

    STREAMFS_DATA=... python examples/papers/active_sampling.py [--out FOLDER] [--quick]

Mushrooms are classified as edible or poisonous. Three features are known for all; each of the other 18 is
extracted on a few mushrooms, chosen actively or at random, to find out which is best. Table 1 has the error with
the three alone, Figure 1 shows how well the candidates are ranked, Figure 2 how well the error rate of one of
them is known.

Choices that the paper leaves open: one draw of 4000 mushrooms serves all runs; the policies see the mushrooms in
the same random order; a candidate can have the values that occur among all 8124. The prior of ones is also that
of the regions, over all combinations of values (--prior 1), since Table 1 can be reproduced with it and not
without. The lead of the active policy is also given for other draws, five runs on each, with its interval over
them: that over runs says nothing of other mushrooms.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from options import new_folder

from feature_extractors.arrays import Array, Integers
from streamfs import Instances
from streamfs.cli.console import print_json, print_table, progress
from streamfs.errors import DataError, StreamfsError
from streamfs.selection.candidate import RecordedCandidates
from streamfs.selection.possible_values import PossibleValues
from streamfs.selection.ranking_quality import mean_square_error, spearman
from streamfs.selection.regions import Regions, make_regions

LEFT_OUT = "stalk-root"
POLICIES = ("active", "random")
PRINTED = {
    (1, 2, 3): 30.9,
    (4, 5, 6): 2.3,
    (7, 8, 9): 12.8,
    (10, 11, 12): 17.5,
    (13, 14, 15): 24.7,
    (16, 17, 18): 21.3,
    (19, 20, 21): 11.1,
}
"""Table 1: features, counted from 1, and the error rate in percent."""
N_OTHER_DRAWS, N_RUNS_OF_A_DRAW = 100, 5
CHUNK = 10  # runs in one piece of work


class Mushrooms(NamedTuple):
    """Mushrooms: categories of 21 features as numbers from 0; labels, 0 is edible."""

    values: Integers
    labels: Integers
    names: tuple[str, ...]
    n_values: tuple[int, ...]

    def take(self, rows: Integers) -> "Mushrooms":
        """Return some of the mushrooms."""
        return self._replace(values=self.values[rows], labels=self.labels[rows])


def run(recorded: RecordedCandidates, seeds: list[tuple[int, ...]], budget: int) -> Array:
    """Follow the error rates of the candidates, in percent: shape (n_seeds, 2 policies, 18, budget + 1)."""
    curves = np.empty((len(seeds), 2, len(recorded.values), budget + 1))
    for place, seed in enumerate(seeds):
        rng = np.random.default_rng(seed)
        for candidate, values in enumerate(recorded.values):
            order = rng.permutation(len(values))
            for policy in range(2):
                _, curve = recorded.sample(candidate, order, budget, is_active=policy == 0)
                curves[place, policy, candidate] = curve
    return 100 * curves


def recorded_of(mushrooms: Mushrooms, previous: tuple[int, ...], prior: int) -> RecordedCandidates:
    """Return the candidates that are not known of all."""
    others = [feature for feature in range(len(mushrooms.names)) if feature + 1 not in previous]
    return RecordedCandidates.of(
        regions_of(mushrooms, previous, prior),
        [mushrooms.values[:, feature] for feature in others],
        [mushrooms.n_values[feature] for feature in others],
    )


def correlations_of(curves: Array, true: Array) -> Array:
    """Return the rank correlations of runs with the true ranking, shape (n_runs, 2, budget + 1)."""
    return spearman(np.moveaxis(curves, 2, 3), true)


def leads_of(correlations: Array) -> Array:
    """Return the mean lead of the active policy by sample sizes in each run."""
    return np.asarray((correlations[:, 0] - correlations[:, 1]).mean(axis=1))


def half_interval(found: Array) -> float:
    """Return half the 95 % confidence interval of a mean."""
    return 1.96 * float(found.std(ddof=1)) / float(np.sqrt(len(found)))


class Outcome(NamedTuple):
    """Result of the runs with one set of previous features; policies in the order of `POLICIES`.

    Parameters
    ----------
    previous : tuple of int
        The set of features.
    correlation : ndarray of shape (2, budget + 1)
        Figure 1: mean rank correlation with the true ranking.
    lead, lead_ci : float
        Mean advantage of the active policy's correlation over the random one's by sample sizes, and half
        its 95 % confidence interval over runs.
    feature : str
        The candidate of Figure 2, on which the active policy has the largest advantage.
    mse : ndarray of shape (2, budget + 1)
        Figure 2: mean square error of its error rate, in squared percent.
    """

    previous: tuple[int, ...]
    correlation: Array
    lead: float
    lead_ci: float
    feature: str
    mse: Array

    @classmethod
    def of(cls, previous: tuple[int, ...], names: Sequence[str], true: Array, curves: Array) -> "Outcome":
        """Summarise runs of candidates with these names and true error rates."""
        correlations = correlations_of(curves, true)
        leads = leads_of(correlations)
        squares = mean_square_error(curves, true)
        best = int((squares[1] - squares[0]).sum(axis=1).argmax())
        return cls(
            previous,
            correlations.mean(axis=0),
            float(leads.mean()),
            half_interval(leads),
            names[best],
            squares[:, best],
        )


def read_mushrooms() -> Mushrooms:
    """Read them from the folder of STREAMFS_DATA."""
    folder = os.environ.get("STREAMFS_DATA")
    if not folder:
        raise DataError("STREAMFS_DATA is not set, expected the folder that holds uci/mushroom.csv")
    instances = Instances.read(Path(folder) / "uci" / "mushroom.csv")
    kept = [index for index, name in enumerate(instances.names) if name != LEFT_OUT]
    values = [PossibleValues.occurring(index, instances.values[:, index]) for index in kept]
    numbers = [possible.numbers(instances.values[:, possible.feature]) for possible in values]
    labels = np.unique(instances.labels, return_inverse=True)[1]
    names = tuple(instances.names[index] for index in kept)
    return Mushrooms(np.stack(numbers, axis=1), labels, names, tuple(map(len, values)))


def regions_of(mushrooms: Mushrooms, previous: tuple[int, ...], prior: int) -> Regions:
    """Divide mushrooms into regions by class and features, which are counted from 1."""
    return make_regions(mushrooms.labels, mushrooms.values[:, [feature - 1 for feature in previous]], prior)


def span(previous: tuple[int, ...]) -> str:
    """Write consecutive features as a range."""
    return f"{previous[0]}-{previous[-1]}"


def table_1(drawn: Mushrooms, draws: Sequence[Mushrooms]) -> list[dict[str, Any]]:
    """Return error rates with the previous features alone, printed and ours, with a prior of ones and without."""
    rows = []
    for previous, printed in PRINTED.items():
        of_draws = [100 * regions_of(mushrooms, previous, 1).error_before for mushrooms in draws]
        rows.append(
            {
                "previous": span(previous),
                "printed": printed,
                "prior_of_ones": 100 * regions_of(drawn, previous, 1).error_before,
                "mean_of_draws": float(np.mean(of_draws)),
                "sd_of_draws": float(np.std(of_draws, ddof=1)),
                "no_prior": 100 * regions_of(drawn, previous, 0).error_before,
            }
        )
    return rows


def outcomes(drawn: Mushrooms, options: argparse.Namespace) -> Iterator[Outcome]:
    """Run both policies with each set of previous features."""
    with progress() as report:
        for index, previous in enumerate(PRINTED):
            recorded = recorded_of(drawn, previous, options.prior)
            seeds = [(options.seed, index, number) for number in range(options.runs)]
            chunks = [seeds[start : start + CHUNK] for start in range(0, len(seeds), CHUNK)]
            work = (delayed(run)(recorded, chunk, options.budget) for chunk in chunks)
            curves = []
            for part in Parallel(options.n_jobs, return_as="generator")(work):
                curves.append(part)
                report(f"runs with {span(previous)}", sum(map(len, curves)), len(seeds))
            names = [name for number, name in enumerate(drawn.names, 1) if number not in previous]
            yield Outcome.of(previous, names, 100 * recorded.true_errors, np.concatenate(curves))


def lead_on(
    drawn: Mushrooms, previous: tuple[int, ...], seed: tuple[int, ...], options: argparse.Namespace
) -> float:
    """Return the mean lead of the active policy in a few runs on a draw."""
    recorded = recorded_of(drawn, previous, options.prior)
    curves = run(recorded, [(*seed, number) for number in range(N_RUNS_OF_A_DRAW)], options.budget)
    return float(leads_of(correlations_of(curves, 100 * recorded.true_errors)).mean())


def leads_over_draws(draws: Sequence[Mushrooms], options: argparse.Namespace) -> list[dict[str, float]]:
    """Return the mean lead on other draws, and half its interval over them, with each set of previous features."""
    found = []
    for index, previous in enumerate(PRINTED):
        seeds = [(options.seed, index, options.runs, number) for number in range(len(draws))]
        work = (
            delayed(lead_on)(*each, options) for each in zip(draws, [previous] * len(draws), seeds, strict=True)
        )
        leads = np.array(Parallel(options.n_jobs)(work))
        found.append({"lead_of_draws": float(leads.mean()), "lead_of_draws_ci": half_interval(leads)})
    return found


def as_json(found: list[Outcome], over: list[dict[str, float]]) -> dict[str, list[dict[str, Any]]]:
    """Return the whole curves of Figures 1 and 2, from 0 values on."""
    names = [{"previous": outcome.previous} for outcome in found]
    leads = [{"lead": outcome.lead, "lead_ci": outcome.lead_ci} for outcome in found]
    return {
        "figure_1": [
            {**name, **lead, **draws, **dict(zip(POLICIES, outcome.correlation, strict=True))}
            for name, lead, draws, outcome in zip(names, leads, over, found, strict=True)
        ],
        "figure_2": [
            {**name, "feature": outcome.feature, **dict(zip(POLICIES, outcome.mse, strict=True))}
            for name, outcome in zip(names, found, strict=True)
        ],
    }


def print_figures(found: list[Outcome], over: list[dict[str, float]], budget: int) -> None:
    """Print Figures 1 and 2 at some sample sizes."""
    sizes = sorted({budget // 10, budget // 4, budget // 2, budget})

    def at_sizes(curves: Array) -> dict[str, str]:
        return {
            f"after {size}": " : ".join(f"{x:.0f}" if x > 99 else f"{x:.2g}" for x in curves[:, size].round(6))
            for size in sizes
        }

    print_table(
        [
            {
                "previous": span(o.previous),
                "lead": f"{o.lead:.3f} ±{o.lead_ci:.3f}",
                "on other draws": f"{draws['lead_of_draws']:.3f} ±{draws['lead_of_draws_ci']:.3f}",
                **at_sizes(o.correlation),
            }
            for o, draws in zip(found, over, strict=True)
        ],
        "Figure 1: rank correlation by the number of values of each candidate, active : random",
    )
    print_table(
        [{"previous": span(o.previous), "feature": o.feature, **at_sizes(o.mse)} for o in found],
        "Figure 2: mean square error of one candidate's error rate, in squared percent, active : random",
    )


def draw_figures(found: list[Outcome], folder: Path) -> None:
    """Write Figures 1 and 2 as PNG."""
    from streamfs.experiments.plots import save  # noqa: PLC0415 - matplotlib is an extra
    from streamfs.experiments.selection_plots import policies_figure  # noqa: PLC0415 - the same

    folder.mkdir(parents=True, exist_ok=True)
    correlations = {span(o.previous): dict(zip(POLICIES, o.correlation, strict=True)) for o in found}
    errors = {f"{span(o.previous)}: {o.feature}": dict(zip(POLICIES, o.mse, strict=True)) for o in found}
    save(policies_figure(correlations, "rank correlation"), folder / "active_sampling_figure_1.png")
    save(policies_figure(errors, "mean square error, %²"), folder / "active_sampling_figure_2.png")


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--runs", type=int, default=500, help="number of runs of each policy with each set (default: %(default)s)"
    )
    parser.add_argument("--mushrooms", type=int, default=4000, help="number of mushrooms to draw")
    parser.add_argument("--budget", type=int, default=100, help="largest sample of a candidate")
    parser.add_argument("--prior", type=int, choices=[0, 1], default=1, help="instances added to each region")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draws (default: %(default)s)")
    parser.add_argument("--n-jobs", type=int, default=os.cpu_count() or 1, help="number of processes")
    parser.add_argument("--quick", action="store_true", help="10 runs of 20 values, to try it out")
    parser.add_argument("--out", type=new_folder, help="folder for the figures")
    parser.add_argument("--json", action="store_true", help="print the tables as JSON")
    options = parser.parse_args()
    options.draws = N_OTHER_DRAWS
    if options.quick:
        options.runs, options.budget, options.draws = 10, 20, 2
    least = {"runs": 2, "budget": 10, "mushrooms": 1000, "n_jobs": 1, "seed": 0}
    for name, number in least.items():
        if getattr(options, name) < number:
            parser.error(f"--{name.replace('_', '-')} is {getattr(options, name)}, expected at least {number}")
    if options.budget > options.mushrooms:
        parser.error(f"--budget is {options.budget}, expected at most the {options.mushrooms} mushrooms")
    return options


def main() -> None:
    """Run the experiment."""
    options = parse()
    try:
        database = read_mushrooms()
        rng = np.random.default_rng(options.seed)
        if options.mushrooms > len(database.labels):
            raise DataError(f"--mushrooms is {options.mushrooms}, expected at most {len(database.labels)}")
        drawn = database.take(rng.choice(len(database.labels), options.mushrooms, replace=False))
        found = list(outcomes(drawn, options))
        draws = [
            database.take(rng.choice(len(database.labels), options.mushrooms, replace=False))
            for _ in range(N_OTHER_DRAWS)
        ]
        over = leads_over_draws(draws[: options.draws], options)
        if options.out:
            draw_figures(found, options.out)
    except (StreamfsError, ValueError) as error:
        raise SystemExit(f"{error}") from error
    rows = table_1(drawn, draws)
    if options.json:
        print_json({"table_1": rows, **as_json(found, over)})
        return
    print_table(rows, "Table 1: error rate with the previous features alone, in percent")
    print_figures(found, over, options.budget)


if __name__ == "__main__":
    main()
