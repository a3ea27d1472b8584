"""Is the confidence that `train` states true? Simulated settings, as JSON lines and a table.

python benchmarks/stated.py [--seeds N ...] [--select SELECTION] [--out FILE]

Twenty settings of four kinds, of 2 to 6 classes, 12 to 600 ticks and 20 to 320 streams to train on, each drawn with every seed:

- ``white``: noise around the mean of the class
- ``drift``: noise around a line whose slope is that of the class
- ``step``: noise that jumps by the step of the class at a tick of its own
- ``late``: noise that the class changes after two thirds of the ticks

A thousand streams more are decided; *stated* is the mean confidence of those that get a label, *right* the share of them whose label is right.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from default_training import cost_based
from figures import Figure, processor, table
from river import linear_model, naive_bayes, preprocessing
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from streamfs import StreamSet, evaluate, train
from streamfs.cli.console import say
from streamfs.errors import TrainingError

SEEDS = (71, 72, 73, 74, 75)
"""Not those at which calibration was looked at while it was made."""
N_TEST = 1000
MOST = 0.03
"""Most by which the stated confidence may exceed the truth in the mean."""

Row = dict[str, Any]
Values = np.ndarray


class Setting(NamedTuple):
    """How streams are made, and how many."""

    kind: str
    n_streams: int
    n_classes: int
    n_ticks: int

    def streams(self, n: int, rng: np.random.Generator) -> StreamSet:
        """Make streams, of all classes equally many."""
        classes = np.arange(n) % self.n_classes
        noise = rng.normal(size=(n, self.n_ticks))
        values = noise + KINDS[self.kind](classes[:, np.newaxis], self.n_ticks, rng)
        return StreamSet(values[:, :, np.newaxis], classes.astype(str), ["x"])


def white(classes: Values, n_ticks: int, _: np.random.Generator) -> Values:
    """A mean of the class."""
    return 1.5 * classes + np.zeros(n_ticks)


def drift(classes: Values, n_ticks: int, _: np.random.Generator) -> Values:
    """A slope of the class, which adds up to three deviations."""
    return 3.0 * classes * np.arange(n_ticks) / n_ticks


def step(classes: Values, n_ticks: int, rng: np.random.Generator) -> Values:
    """A step of the class, at any tick."""
    return 2.0 * classes * (np.arange(n_ticks) >= rng.integers(0, n_ticks, classes.shape))


def late(classes: Values, n_ticks: int, _: np.random.Generator) -> Values:
    """A mean of the class after two thirds of the ticks."""
    return 2.0 * classes * (np.arange(n_ticks) >= 2 * n_ticks // 3)


KINDS: Mapping[str, Callable[[Values, int, np.random.Generator], Values]] = {
    "white": white,
    "drift": drift,
    "step": step,
    "late": late,
}

SIZES = ((20, 2, 60), (40, 2, 12), (80, 3, 120), (160, 6, 60), (320, 2, 600))
"""Streams to train on, classes and ticks."""

SETTINGS = tuple(Setting(kind, *size) for kind in KINDS for size in SIZES)


Options = Callable[[StreamSet], Mapping[str, Any]]


def row_of(setting: Setting, seed: int, options: Options, features: Sequence[str] | None = None) -> Row:
    """Train on a setting with some options, and decide streams of it that were not trained on."""
    place = SETTINGS.index(setting) if setting in SETTINGS else len(SETTINGS)
    rng = np.random.default_rng([seed, place])
    training, test = setting.streams(setting.n_streams, rng), setting.streams(N_TEST, rng)
    drawn = {"seed": seed} | setting._asdict()
    try:
        procedure = train(training, seed=seed, features=features, **options(training))
    except TrainingError as error:
        return drawn | {"failed": " ".join(str(error).split())[:120]}
    found = evaluate(procedure, test)
    labelled = [decision.confidence for decision in found.decisions if decision.label is not None]
    facts = {"completeness": found.completeness, "ticks": found.ticks}
    if not labelled:
        return drawn | facts | {"failed": "no stream is labelled"}
    held_out = procedure.about["held_out"]
    shown = held_out["right"] / held_out["labelled"]
    return drawn | facts | {"right": found.accuracy, "stated": float(np.mean(labelled)), "held_out": shown}


def rows(seeds: Sequence[int], select: str) -> Iterator[Row]:
    """Measure all settings."""
    for seed in seeds:
        for setting in SETTINGS:
            say(f"seed {seed}: {setting.kind}, {setting.n_streams} streams")
            yield row_of(setting, seed, lambda _: {"select": select})


HEADER = (*Setting._fields, "completeness", "decided at", "right", "stated", "stated - right", "farthest from 0")


def report(found: Sequence[Row]) -> str:
    """Return a table of the settings, means over the seeds, and what is stated beside the truth."""
    lines = [" | ".join(HEADER), " | ".join(["---"] * len(HEADER))]
    for setting in SETTINGS:
        drawn = [row for row in found if setting == tuple(row[name] for name in Setting._fields)]
        trained = [row for row in drawn if "failed" not in row]
        cells = [str(part) for part in setting]
        if trained:
            means = {name: np.mean([row[name] for row in trained]) for name in ("completeness", "right", "stated")}
            cells += [f"{means['completeness']:.3f}", f"{np.mean([row['ticks'] for row in trained]):.1f}"]
            cells += [
                f"{means['right']:.3f}",
                f"{means['stated']:.3f}",
                f"{means['stated'] - means['right']:+.3f}",
            ]
            cells += [f"{farthest(trained):+.3f}"]
        lines.append(" | ".join([*cells, *["-"] * (len(HEADER) - len(cells))]))
    return "\n".join(f"| {line} |" for line in lines) + "\n\n" + table(figures(found)) + "\n"


def excess(rows: Sequence[Row]) -> Values:
    """Return what is stated less the truth."""
    return np.array([row["stated"] - row["right"] for row in rows])


def farthest(rows: Sequence[Row]) -> float:
    """Return the excess that is the farthest from 0."""
    return float(max(excess(rows), key=abs))


def figures(found: Sequence[Row]) -> list[Figure]:
    """Compare what is stated with the truth: in the mean, of each seed, and at worst."""
    trained = [row for row in found if "failed" not in row]
    of_seeds = [float(excess([row for row in trained if row["seed"] == n]).mean()) for n in seeds_of(trained)]
    worst = max(trained, key=lambda row: abs(row["stated"] - row["right"]))
    where = f"{worst['kind']}, {worst['n_streams']} streams"
    detail = f"{len(trained)} draws of {len(SETTINGS)} settings"
    return [
        Figure("settings that are refused", len(found) - len(trained), at_most=0),
        Figure("stated - right, mean", float(excess(trained).mean()), at_most=MOST, detail=detail),
        Figure("stated - right, mean of the seed where it is greatest", max(of_seeds), at_most=MOST),
        Figure("stated - right, mean absolute", float(np.abs(excess(trained)).mean())),
        Figure("stated - right, farthest from 0", farthest(trained), detail=where),
    ]


def seeds_of(found: Sequence[Row]) -> list[int]:
    """Return the seeds that were drawn with."""
    return sorted({row["seed"] for row in found})


PATHS: Mapping[str, Options] = {
    "StreamRelief, C4.5": lambda _: {"select": "streamrelief"},
    "all features, C4.5": lambda _: {"select": None},
    "all features, C4.5 by gain per cost": lambda streams: {"select": None, "classifier": cost_based(streams)},
    "all features, scikit-learn's logistic regression": lambda _: {"select": None, "classifier": of_sklearn()},
    "all features, River's softmax regression": lambda _: {"select": None, "classifier": of_river()},
    "StreamRelief, River's naive Bayes": lambda _: {
        "select": "streamrelief",
        "classifier": naive_bayes.GaussianNB(),
    },
    "StreamRelief, query-sensitive neighbours": lambda _: {"select": "streamrelief", "classifier": "qsfs1"},
    "channels, C4.5": lambda _: {"classifier": "c45"},
    "channels, scikit-learn's logistic regression": lambda _: {"classifier": of_sklearn()},
    "channels, River's softmax regression": lambda _: {"classifier": of_river()},
    "channels, query-sensitive neighbours": lambda _: {"classifier": "qsfs1"},
    "channels, at a confidence of 0.9": lambda _: {"confidence": 0.9},
    "channels, C4.5, at a confidence of 0.9": lambda _: {"classifier": "c45", "confidence": 0.9},
}
"""What `train` is given beside its default: what selects, and what is fitted."""

FEATURES = ("count()", "last(x)", "mean(x)", "max(x)", "variance(x)", "slope(x)", "mean(x; window=16)")
PATH_SETTINGS = (SETTINGS[1], SETTINGS[2], SETTINGS[8], SETTINGS[12], Setting("late", 160, 2, 120))
PATH_SEEDS = (81, 82)


def of_sklearn() -> Any:
    """Make a logistic regression of scikit-learn, for features that may be undefined."""
    return make_pipeline(SimpleImputer(), LogisticRegression(max_iter=1000))


def of_river() -> Any:
    """Make a softmax regression of River, on standardised features."""
    return preprocessing.StandardScaler() | linear_model.SoftmaxRegression()


def path_table() -> str:
    """Return a table of the paths: means over settings and seeds."""
    header = (
        "selects, fits",
        "draws",
        "refused",
        "completeness",
        "right",
        "stated",
        "stated - right",
        "mean absolute",
    )
    lines = [" | ".join(header), " | ".join(["---"] * len(header))]
    for name, options in PATHS.items():
        found = []
        for seed in PATH_SEEDS:
            for setting in PATH_SETTINGS:
                say(f"{name}, seed {seed}: {setting.kind}")
                found.append(row_of(setting, seed, options, FEATURES))
        trained = [row for row in found if "failed" not in row]
        cells = [name, str(len(found)), str(len(found) - len(trained))]
        cells += [f"{np.mean([row[key] for row in trained]):.3f}" for key in ("completeness", "right", "stated")]
        cells += [f"{excess(trained).mean():+.3f}", f"{np.abs(excess(trained)).mean():.3f}"]
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)


def paths() -> str:
    """Measure what `train` states with other selections and classifiers."""
    settings = "; ".join(
        f"{s.kind}: {s.n_streams} of {s.n_classes} classes, {s.n_ticks} ticks" for s in PATH_SETTINGS
    )
    return f"""
## Whether the stated confidence is true with other selections and classifiers

`benchmarks/stated.py` (`paths`): the same streams, in fewer settings ({settings}), with the seeds {", ".join(map(str, PATH_SEEDS))} and {len(FEATURES)} features.
On ranked or all features streams are decided where the classifier itself states 0.9; *refused* are those where it states that of no
held-out stream, or of none at all, and says so. On channels the threshold is chosen, as by default, unless
a confidence is given. *mean absolute* is that of stated - right.

{path_table()}

*{processor()}.*
"""


def section(found: Sequence[Row] | None = None) -> str:
    """Measure the default, or take rows that were measured before."""
    found = list(rows(SEEDS, "channels")) if found is None else found
    seeds = ", ".join(map(str, seeds_of(found)))
    return f"""
## Whether the stated confidence is true

`python benchmarks/stated.py`, whose help describes the settings: `train` with nothing set, each setting drawn with the seeds {seeds},
{N_TEST} streams to decide. Means over the seeds; *farthest from 0* is the seed where what is stated is the farthest from the truth.

{report(found)}
*{processor()}.*
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--select", default="channels", help="as `train` takes it, by default its default")
    parser.add_argument("--out", type=Path, help="append each row to this file, as a line of JSON")
    options = parser.parse_args()
    found = []
    for row in rows(options.seeds, options.select):
        print(json.dumps(row), flush=True)
        found.append(row)
        if options.out:
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    print(report(found))


if __name__ == "__main__":
    main()
