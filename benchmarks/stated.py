"""Is the confidence that `train` states true? Simulated settings, as JSON lines and a table.

python benchmarks/stated.py [--seed N] [--select SELECTION] [--out FILE]

Twenty settings of four kinds, of 2 to 6 classes, 12 to 600 ticks and 20 to 320 streams to train on, each drawn once:

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
from figures import Figure, processor, table

from streamfs import StreamSet, evaluate, train
from streamfs.cli.console import say
from streamfs.errors import TrainingError

SEED = 31
"""Not one at which calibration was looked at while it was made."""
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


def row_of(setting: Setting, seed: int, select: str) -> Row:
    """Train on a setting with nothing set but the selection, and decide streams of it that were not trained on."""
    rng = np.random.default_rng([seed, SETTINGS.index(setting)])
    training, test = setting.streams(setting.n_streams, rng), setting.streams(N_TEST, rng)
    try:
        procedure = train(training, seed=seed, select=select)
    except TrainingError as error:
        return setting._asdict() | {"failed": " ".join(str(error).split())[:120]}
    found = evaluate(procedure, test)
    labelled = [decision.confidence for decision in found.decisions if decision.label is not None]
    facts = {"completeness": found.completeness, "ticks": found.ticks}
    if not labelled:
        return setting._asdict() | facts | {"failed": "no stream is labelled"}
    held_out = procedure.about["held_out"]
    shown = held_out["right"] / held_out["labelled"]
    return (
        setting._asdict()
        | facts
        | {"right": found.accuracy, "stated": float(np.mean(labelled)), "held_out": shown}
    )


def rows(seed: int, select: str) -> Iterator[Row]:
    """Measure all settings."""
    for setting in SETTINGS:
        say(f"{setting.kind}, {setting.n_streams} streams")
        yield row_of(setting, seed, select)


def report(found: Sequence[Row]) -> str:
    """Return a table of the settings, and what is stated beside the truth."""
    lines = ["| kind | streams | classes | ticks | completeness | decided at | right | stated | stated - right |"]
    lines.append("| --- " * 9 + "|")
    for row in found:
        size = f"| {row['kind']} | {row['n_streams']} | {row['n_classes']} | {row['n_ticks']} "
        if "failed" in row:
            lines.append(f"{size}| - | - | - | - | - |")
            continue
        lines.append(
            f"{size}| {row['completeness']:.3f} | {row['ticks']:.1f} | {row['right']:.3f} | {row['stated']:.3f} "
            f"| {row['stated'] - row['right']:+.3f} |"
        )
    return "\n".join(lines) + "\n\n" + table(figures(found)) + "\n"


def figures(found: Sequence[Row]) -> list[Figure]:
    """Compare what is stated with the truth."""
    trained = [row for row in found if "failed" not in row]
    excess = np.array([row["stated"] - row["right"] for row in trained])
    worst = trained[int(np.abs(excess).argmax())]
    where = f"{worst['kind']}, {worst['n_streams']} streams"
    return [
        Figure("settings that are refused", len(found) - len(trained), at_most=0),
        Figure("stated - right, mean", float(excess.mean()), at_most=MOST, detail=f"{len(trained)} settings"),
        Figure("stated - right, mean absolute", float(np.abs(excess).mean())),
        Figure("stated - right, farthest from 0", float(excess[np.abs(excess).argmax()]), detail=where),
    ]


def section(found: Sequence[Row] | None = None) -> str:
    """Measure the default, or take rows that were measured before."""
    found = list(rows(SEED, "channels")) if found is None else found
    return f"""
## Whether the stated confidence is true

`python benchmarks/stated.py`, whose help describes the settings: `train` with nothing set, one draw of each setting with seed {SEED},
{N_TEST} streams to decide.

{report(found)}
*{processor()}.*
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--select", default="channels", help="as `train` takes it, by default its default")
    parser.add_argument("--out", type=Path, help="append each row to this file, as a line of JSON")
    options = parser.parse_args()
    found = []
    for row in rows(options.seed, options.select):
        print(json.dumps(row), flush=True)
        found.append(row)
        if options.out:
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    print(report(found))


if __name__ == "__main__":
    main()
