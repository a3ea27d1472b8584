"""Wrappers and filters for kernel density classifiers: what they select, how errors change, how long it takes.

Acuna and Coaquira, Feature selection for supervised classification: sequential selection around the standard and
the adaptive kernel, Relief, the Las Vegas filter (LVF) and FINCO, on the available UCI sets, as in slides 35 to
37. A random method is repeated ten times, with more than 20 features twenty times: the mean number of features is
taken, those chosen most often. Relief uses all instances: it is not random here.

    STREAMFS_DATA=... python examples/papers/supervised_selection.py [--plot supervised_selection.png]

The text of the slides has neither the names of the twelve sets nor any figures, so ours are compared with the
concluding remarks, slides 62 and 63. Choices that the slides leave open: bandwidths (Silverman's), the folds by
which a wrapper scores subsets (five), the inconsistency levels (0.05). Errors are in ten folds; "after" as in the
slides, with features selected on all instances, including those tested, which flatters; "honest" with a selection
on the train instances of each fold. SBS is left out if there are more than 20 features, and so is autos, one of
whose classes has only three instances.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from options import picture, whole
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from supervised_selection_remarks import Row, remarks

from streamfs import Instances, ReliefF
from streamfs.base.progress import Progress
from streamfs.classifiers import KernelDensityClassifier
from streamfs.classifiers.class_densities import KERNELS
from streamfs.cli.console import print_json, print_table, progress
from streamfs.data.datasets import folder
from streamfs.data.described_instances import read_described
from streamfs.errors import StreamfsError
from streamfs.selection import EqualWidthDiscretiser, Finco, LasVegasFilter, RepeatedSelector, SequentialSelector
from streamfs.selection.error_rates import cross_validation

SETS = (
    "iris",
    "bupa",
    "diabetes",
    "glass",
    "breast-cancer",
    "credit-a",
    "labor",
    "vehicle",
    "hepatitis",
    "colic",
    "sonar",
)
"""In the order of their number of features."""
LEVEL = 0.05
MANY = 20  # features

Features = npt.NDArray[np.int64]


def sequential(instances: Instances, kernel: str, **chosen: Any) -> SequentialSelector:
    """Return sequential selection around a kernel density classifier."""
    return SequentialSelector(KernelDensityClassifier(kernel, instances.nominal), **chosen)


def relief(instances: Instances) -> ReliefF:
    """Return Relief with one near miss of each other class and squared differences; select weights above 0."""
    return ReliefF(n_neighbors=1, power=2, nominal=instances.nominal, threshold=0.0)


def lvf(instances: Instances, level: float = LEVEL, tries: int = 1000) -> LasVegasFilter:
    """Return the Las Vegas filter."""
    return LasVegasFilter(level, tries, EqualWidthDiscretiser(nominal=instances.nominal), random_state=0)


def finco(instances: Instances, level: float = LEVEL) -> Finco:
    """Return FINCO."""
    return Finco(level, EqualWidthDiscretiser(nominal=instances.nominal))


@dataclass(frozen=True)
class Method:
    """A way to select features.

    Parameters
    ----------
    select : callable
        Makes the selector for some instances, and a wrapper's for a kernel.
    is_wrapper, is_random : bool
        Whether it scores by a classifier, and whether to repeat it.
    most : int
        Largest number of features that it is run on.
    """

    select: Callable[..., Any]
    is_wrapper: bool = True
    is_random: bool = True
    most: int = 10_000

    def selectors(self, instances: Instances) -> dict[str, Any]:
        """Return the selectors by kernel; a filter has one for all kernels."""
        if self.is_wrapper:
            return {kernel: self.select(instances, kernel) for kernel in KERNELS}
        return {"": self.select(instances)}


METHODS = {
    "SFS": Method(sequential),
    "SFFS": Method(lambda instances, kernel: sequential(instances, kernel, floating=True)),
    "SBS": Method(lambda instances, kernel: sequential(instances, kernel, direction="backward"), most=MANY),
    "Relief": Method(relief, is_wrapper=False, is_random=False),
    "LVF": Method(lvf, is_wrapper=False),
    "FINCO": Method(finco, is_wrapper=False, is_random=False),
}


class OnSelected(ClassifierMixin, BaseEstimator):
    """A kernel density classifier on the features that a selector selects on its train instances, or on all."""

    def __init__(self, selector: Any, kernel: str, nominal: Sequence[int]) -> None:
        self.selector = selector
        self.kernel = kernel
        self.nominal = nominal

    def fit(self, X: npt.NDArray[np.float64], y: npt.NDArray[Any]) -> Self:
        """Select and fit; without features the largest class is predicted."""
        is_selected = self.selector
        if hasattr(is_selected, "fit"):
            is_selected = clone(self.selector).fit(X, y).get_support()
        self.selected_ = np.flatnonzero(is_selected)
        nominal = np.flatnonzero(np.isin(self.selected_, self.nominal)).tolist()
        self.classifier_ = KernelDensityClassifier(self.kernel, nominal) if any(is_selected) else DummyClassifier()
        self.classifier_.fit(X[:, self.selected_], y)
        self.classes_ = self.classifier_.classes_
        return self

    def predict(self, X: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
        """Classify by the selected features."""
        return self.classifier_.predict(X[:, self.selected_])


def error(instances: Instances, selector: Any, kernel: str, asked: argparse.Namespace, times: int) -> float:
    """Per cent wrong in folds; a selector selects anew in each of them."""
    classifier = OnSelected(selector, kernel, instances.nominal)
    X, y = instances.values, instances.labels
    measured = cross_validation(classifier, X, y, asked.folds, times, random_state=asked.seed)
    return 100.0 * measured.rate


def outcomes(name: str, asked: argparse.Namespace, report: Progress) -> Iterator[Row]:
    """Try each method on a set."""
    instances = read_described(folder() / "uci" / f"{name}.csv")
    X, y = instances.values, instances.labels
    n_features = X.shape[1]
    times = asked.repeats or (20 if n_features > MANY else 10)
    everything = np.ones(n_features, dtype=bool)
    before = {kernel: error(instances, everything, kernel, asked, times) for kernel in KERNELS}
    methods = {name: method for name, method in METHODS.items() if n_features <= method.most}
    for number, (title, method) in enumerate(methods.items()):
        report(name, number, len(methods))
        for fitted_for, selector in method.selectors(instances).items():
            n_repetitions = times if method.is_random else 1
            repeated = RepeatedSelector(selector, n_repetitions, asked.seed) if method.is_random else selector
            started = process_time()
            selected = repeated.fit(X, y).get_support()
            seconds = (process_time() - started) / n_repetitions
            for kernel in (fitted_for,) if fitted_for else KERNELS:
                yield {
                    "set": name,
                    "instances": len(y),
                    "features": n_features,
                    "method": title,
                    "kernel": kernel,
                    "selected": int(selected.sum()),
                    "names": [instances.names[feature] for feature in np.flatnonzero(selected)],
                    "before": before[kernel],
                    "after": error(instances, selected, kernel, asked, times),
                    "honest": error(instances, selector, kernel, asked, 1),
                    "seconds": seconds,
                }
    report(name, len(methods), len(methods))


def settings(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the mean per cent of features that the filters select by inconsistency level and number of tries."""
    rows = []
    sets = [read_described(folder() / "uci" / f"{name}.csv") for name in names]
    for level in (0.0, 0.01, 0.05, 0.1):
        row: dict[str, Any] = {"level": level}
        selectors: dict[str, Callable[[Instances], Any]] = {"FINCO": lambda few, level=level: finco(few, level)}
        for tries in (50, 1000, 10_000):
            selectors[f"LVF {tries}"] = lambda few, level=level, tries=tries: lvf(few, level, tries)
        for title, select in selectors.items():
            shares = [100.0 * select(few).fit(few.values, few.labels).get_support().mean() for few in sets]
            row[title] = float(np.mean(shares))
        rows.append(row)
    return rows


def table(rows: Sequence[Row], kernel: str, what: str) -> list[dict[str, Any]]:
    """Return a row for each set with a column for each method; errors also with all features."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["kernel"] == kernel:
            cells = found.setdefault(row["set"], {"set": row["set"], "all": float(row["features"])})
            if what in ("after", "honest"):
                cells["all"] = row["before"]
            cells[row["method"]] = float(row[what])
    columns: Mapping[str, None] = {"set": None, "all": None, **dict.fromkeys(METHODS)}
    if what == "seconds":
        columns = {column: None for column in columns if column != "all"}
    return [{column: cells.get(column) for column in columns} for cells in found.values()]


TABLES = {
    "selected": "features selected",
    "after": "error in per cent, features selected on all instances",
    "honest": "error in per cent, features selected in the folds",
    "seconds": "CPU seconds of a selection",
}


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sets", nargs="+", choices=SETS, default=SETS, metavar="SET", help=f"by default all of {', '.join(SETS)}"
    )
    parser.add_argument("--repeats", type=whole(1), help="repetitions of random selections and of the folds")
    parser.add_argument("--folds", type=whole(2), default=10, help="folds for errors (default: %(default)s)")
    parser.add_argument("--seed", type=whole(0), default=0, help="seed (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="two small sets, two folds, once, to try it out")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--plot", type=picture, metavar="FILE", help="plot to this file; the suffix names the format"
    )
    return parser.parse_args()


def warm_up() -> None:
    """Select once by each method, so that compiling and loading are not measured."""
    few = read_described(folder() / "uci" / f"{SETS[0]}.csv")
    for method in METHODS.values():
        for selector in method.selectors(few).values():
            selector.fit(few.values, few.labels)


def main(asked: argparse.Namespace) -> None:
    """Compare the methods on all sets."""
    warm_up()
    if asked.quick:
        asked.sets, asked.folds, asked.repeats = ["iris", "labor"], 2, 1
    with progress() as report:
        rows = [row for name in asked.sets for row in outcomes(name, asked, report)]
        report("levels and tries", 0, 1)
        by_settings = settings(asked.sets)
        report("levels and tries", 1, 1)
    said = remarks(rows, by_settings)
    if asked.plot:
        from streamfs.experiments.plots import save  # noqa: PLC0415 - matplotlib is an extra
        from streamfs.experiments.selection_plots import selection_figure  # noqa: PLC0415 - the same

        save(selection_figure(rows), asked.plot)
    if asked.json:
        print_json({"outcomes": rows, "settings": by_settings, "remarks": said})
        return
    for kernel in KERNELS:
        for what, title in TABLES.items():
            print_table(table(rows, kernel, what), f"{kernel} kernel: {title}")
    print_table(by_settings, "Per cent of the features that the filters select, mean of the sets")
    print_table(said, "Concluding remarks of the slides")


if __name__ == "__main__":
    try:
        main(options())
    except (StreamfsError, OSError) as error_of_data:
        sys.exit(str(error_of_data))
