"""Dependency-aware ranking of Madelon: how soon the order of its 500 features is stable, and what stopping saves.

Somol, Grim, Filip and Pudil, On stopping rules in dependency-aware feature ranking, CIARP 2013. As there: probes
of up to 200 features, C and C^2 every 400 probes, and the accuracy of three nearest neighbours on the best 20
features, here measured on the validation set after each check. Choices that the paper leaves open: the quality of
a probe is the accuracy of three nearest neighbours in five folds of the train set, and the rules' thresholds are
ours.

    STREAMFS_DATA=... python examples/papers/dependency_aware.py [--plot dependency_aware.png]

All rules are evaluated in one long run: a ranking with that rule stops at the same probe. The plot needs the extra
`plot`.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from options import picture, whole

from streamfs import Instances
from streamfs.base.progress import Progress
from streamfs.classifiers import NeighborsClassifier
from streamfs.cli.console import print_json, print_table, progress
from streamfs.data.datasets import folder
from streamfs.errors import StreamfsError
from streamfs.selection import DependencyAwareRanking, WrapperAccuracy
from streamfs.selection.stopping import Check, OrderChange, RelativeValueChange, StoppingRule, ValueChange

N_BEST = 20  # features of Madelon that are not noise
CHECK_EVERY = 400  # probes

RULES: dict[str, StoppingRule] = {
    "1: C below 50 places": OrderChange(50.0),
    "1: C below 40 places": OrderChange(40.0),
    "2: C^2 below 0.0002": ValueChange(0.0002),
    "2: C^2 below 0.0001": ValueChange(0.0001),
    "2a: C^2 below 10 % of the first": RelativeValueChange(0.10),
    "2a: C^2 below 5 % of the first": RelativeValueChange(0.05),
}

THREE_NEAREST = NeighborsClassifier(n_neighbors=3)


@dataclass
class Watch:
    """A stopping rule that never stops: at each check it measures the accuracy with the best features.

    `rows` has a row for each check, and `stopped` the index of the first check at which each rule would stop.
    """

    training: Instances
    validation: Instances
    report: Progress
    n_probes: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    stopped: dict[str, int] = field(default_factory=dict)

    def __call__(self, checks: Sequence[Check]) -> bool:
        """Measure the accuracy on the validation set, and apply the rules."""
        latest = checks[-1]
        self.report("probes", latest.n_probes, self.n_probes)
        best = latest.ranking[:N_BEST]
        fitted = THREE_NEAREST.fit(self.training.values[:, best], self.training.labels)
        accuracy = float(fitted.score(self.validation.values[:, best], self.validation.labels))
        changes = {"C": latest.order_change, "C^2": latest.value_change}
        self.rows.append({"probes": latest.n_probes, "accuracy": accuracy, **changes})
        for name, rule in RULES.items():
            if name not in self.stopped and rule(checks):
                self.stopped[name] = len(self.rows) - 1
        return False

    def rules(self) -> list[dict[str, Any]]:
        """Return where each rule stops, what that saves, and the gain in accuracy without it."""
        end, found = self.rows[-1], []
        for name in RULES:
            at = self.rows[self.stopped.get(name, -1)]
            found.append(
                {
                    "stops": name,
                    "probes": at["probes"] if name in self.stopped else None,
                    "saved": 1.0 - at["probes"] / end["probes"],
                    "accuracy": at["accuracy"],
                    "later gain": end["accuracy"] - at["accuracy"],
                }
            )
        return found


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--probes", type=whole(CHECK_EVERY), default=10_000, help="number of probes (default: %(default)s)"
    )
    parser.add_argument("--seed", type=whole(0), default=0, help="seed of the probes (default: %(default)s)")
    parser.add_argument(
        "--n-jobs",
        type=whole(1),
        default=os.cpu_count() or 1,
        help="number of threads; by default one for each core",
    )
    parser.add_argument("--quick", action="store_true", help="200 probes and a fifth of the rows, to try it out")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--plot", type=picture, metavar="FILE", help="plot to this file; the suffix names the format"
    )
    return parser.parse_args()


def main(asked: argparse.Namespace) -> None:
    """Rank the features, and report the measurements."""
    training, validation = (
        Instances.read(folder() / f"madelon/madelon_{part}.csv.gz") for part in ("train", "valid")
    )
    step, n_probes, check_every = (5, 200, 50) if asked.quick else (1, asked.probes, CHECK_EVERY)
    with progress() as report:
        watch = Watch(training, validation, report, n_probes)
        ranking = DependencyAwareRanking(
            WrapperAccuracy(THREE_NEAREST, cv=5),
            max_probe=200,
            n_probes=n_probes,
            stopping=watch,
            check_every=check_every,
            n_features=N_BEST,
            n_jobs=asked.n_jobs,
            random_state=asked.seed,
        ).fit(training.values[::step], training.labels[::step])
    if asked.plot:
        draw(watch, asked.plot)
    if asked.json:
        print_json({"checks": watch.rows, "rules": watch.rules(), "best": ranking.ranking_})
    else:
        print_table(watch.rows, "Madelon")
        print_table(watch.rules(), f"Rules, in a run of {ranking.n_probes_} probes")


def draw(watch: Watch, path: Path) -> None:
    """Draw the measurements, and where the rules stop."""
    from streamfs.experiments.plots import save  # noqa: PLC0415 - matplotlib is an extra
    from streamfs.experiments.selection_plots import probes_figure  # noqa: PLC0415 - the same

    titles = {
        "accuracy": "accuracy of the best 20 features",
        "C": "C: mean change of a feature's place",
        "C^2": "C²: mean change of DAF",
    }
    panels = {title: [row[key] for row in watch.rows] for key, title in titles.items()}
    stops = {row["stops"]: row["probes"] for row in watch.rules()}
    save(probes_figure([row["probes"] for row in watch.rows], panels, stops), path)


if __name__ == "__main__":
    asked = options()
    try:
        main(asked)
    except (StreamfsError, OSError) as error:
        sys.exit(f"{error}")
