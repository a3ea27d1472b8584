"""Measure the results that README and docs refer to, and write `benchmarks/RESULTS.md`.

STREAMFS_DATA=... python benchmarks/results.py [PART ...]

Each part is a section of the file; parts that are not named are left unchanged.
"""

import argparse
import os
import platform
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import c45
import cluster
import default_training
import early
import engine
import engine_forest
import export
import figure2
import gateway
import j48
import kernels
import node_cycles
import node_sizes
import numpy as np
import papers
import promise_before
import promise_kept
import promise_monitored
import promise_redrawn
import promise_regret
import promise_training
import recordings
import relief
import selection_daf
import selection_densities
import selection_filters
import selection_sampling
import selection_wrappers
import startup
import stated
import tables
import training

import feature_extractors as fx
from sensors_sim.same_source import SameSource
from streamfs import Costs, Procedure, StreamRelief, StreamSet, tabulate, train
from streamfs.cli.console import progress, say
from streamfs.data.datasets import room_climate_fold
from streamfs.data.default_features import default_features
from streamfs.errors import MissingExtraError
from streamfs.evaluation.evaluation import sweep

HERE = Path(__file__).parent

THRESHOLDS = (0.85, 0.9, 0.95)
SELECTIONS: dict[str, Callable[..., Any] | None] = {
    "StreamRelief": StreamRelief,
    "StreamRelief.literal": StreamRelief.literal,
    "all features (naive C4.5)": None,
}
SEED = 0


def measure(training: StreamSet, test: StreamSet, features: list[fx.Feature]) -> list[str]:
    """Return rows of a table: each selection at each confidence threshold."""
    rows = []
    for name, select in SELECTIONS.items():
        for confidence in THRESHOLDS:
            say(f"{name} at {confidence}")
            with progress() as report:
                procedure = train(
                    training, features=features, select=select, confidence=confidence, seed=SEED, progress=report
                )
            rows.append(row(name, confidence, procedure, test))
    return rows


def row(name: str, asked: float, procedure: Procedure, test: StreamSet) -> str:
    (e,) = sweep(procedure, test, [procedure.confidence])
    figures = [f"{x:.3f}" for x in (e.completeness, e.accuracy)] + [
        f"{x:.4g}" for x in (e.ticks, e.cost, e.offered_cost)
    ]
    cells = [name, f"{asked:g}", str(len(procedure.features)), *figures]
    return "| " + " | ".join(cells) + " |"


COLUMNS = (
    "features chosen by",
    "confidence",
    "features tested",
    "completeness",
    "accuracy",
    "ticks",
    "cost",
    "cost of all offered",
)
HEADER = f"\n| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


def room_climate() -> str:
    """Same-source detection on real motes."""
    training, test = room_climate_fold("train"), room_climate_fold("test")
    features = [feature for feature in default_features(training) if len(feature.columns) == 2]
    text = f"""
## Same-source detection on real motes: `room_climate`

The program is `examples/room_climate.py`: {len(training)} train pairs and {len(test)} test pairs that share no measurement;
10 s ticks, the first 20 minutes, four sensor columns, {len(features)} features of both motes. Costs are mean transmissions.
The folds for choosing the number of features share measurements, so that choice is optimistic.
"""
    return text + HEADER + "\n" + "\n".join(measure(training, test, features)) + "\n"


def simulated() -> str:
    """Same-source detection in the simulator."""
    training = StreamSet(*SameSource().sample(240, 60, seed=SEED))
    test = StreamSet(*SameSource().sample(1000, 60, seed=SEED + 1))
    features = list(default_features(training))
    text = f"""
## Same-source detection, simulated

The simulator's defaults: {len(training)} train pairs, {len(test)} test pairs, 60 ticks of 1 s, {len(features)}
features, costs in transmissions. One seed, by `train`, which weights rows by stream; sensors are calibrated here, so the
first tick distinguishes most places. The paper's experiment is further below.
"""
    return text + HEADER + "\n" + "\n".join(measure(training, test, features)) + "\n"


def relevance_floor() -> str:
    """Count the features that pass the floor with shuffled and with true labels."""
    streams = StreamSet(*SameSource().sample(200, 60, seed=SEED))
    table = tabulate(streams, default_features(streams))
    costs = Costs(np.ones(len(table.features)))
    positions = np.arange(1, 61, 5)
    rng = np.random.default_rng(SEED)
    shares = []
    for shuffle in range(20):
        say(f"relevance floor, shuffle {shuffle + 1} of 20")
        shuffled = replace(table, labels=rng.permutation(table.labels))
        fitted = StreamRelief(costs, positions=positions, random_state=shuffle).fit(shuffled)
        shares.append(fitted.relevant_.mean())
    true = StreamRelief(costs, positions=positions, random_state=SEED).fit(table).relevant_
    pairs = np.array([len(feature.columns) == 2 for feature in table.features])
    return f"""
## The relevance floor

{len(streams)} simulated pairs, {len(table.features)} features. With the labels shuffled among the streams, so that
no feature is informative, {np.mean(shares):.3f} of the features pass the floor on average over 20 shuffles (from
{np.min(shares):.3f} to {np.max(shares):.3f}; features of one column pass or fail together). With the true labels
{true[pairs].sum()} of {pairs.sum()} features of both nodes pass, and {true[~pairs].sum()} of {(~pairs).sum()} of one node: those
are uninformative alone but informative in pairs, which Relief is designed to detect.
"""


HEAD = """# Results

Written by `make bench` (`benchmarks/results.py`), never by hand; each part says what it was measured with.

Completeness is the share of streams that get a label, accuracy the share of labels that are correct, cost the mean
of equation 1 over all streams, including timed-out ones. The cost counts the features that the tree tests; the next
column has the cost of all features that were offered to it. Accuracy can be below the confidence threshold, because
the threshold may be crossed at any of many ticks: see `docs/design.md`.
"""


def stamp() -> str:
    """Name the versions that a part was measured with."""
    names = ("streamfs", "numpy", "numba", "scikit-learn", "river", "polars")
    packages = ", ".join(f"{name} {version(name)}" for name in names)
    return f"\n*Python {platform.python_version()}, {packages}; {os.cpu_count()} cores, {platform.machine()}.*\n"


PARTS: dict[str, Callable[[], str]] = {
    "floor": relevance_floor,
    "simulated": simulated,
    "room_climate": room_climate,
    **figure2.PARTS,
    "j48": j48.section,
    "relief": relief.section,
    "c45": c45.section,
    "engine": engine.section,
    "engine_forest": engine_forest.section,
    "recordings": recordings.section,
    "export": export.section,
    "node_sizes": node_sizes.section,
    "node_cycles": node_cycles.section,
    "tables": tables.section,
    "kernels": kernels.section,
    "startup": startup.section,
    "gateway": gateway.section,
    "cluster": cluster.section,
    "selection_filters": selection_filters.section,
    "selection_wrappers": selection_wrappers.section,
    "selection_densities": selection_densities.section,
    "selection_daf": selection_daf.section,
    "selection_sampling": selection_sampling.section,
    **papers.PARTS,
    "promise_regret": promise_regret.section,
    "promise_kept": promise_kept.section,
    **promise_redrawn.SECTIONS,
    **promise_before.SECTIONS,
    "promise_training": promise_training.section,
    "promise_monitored": promise_monitored.section,
    "training": training.section,
    "early": early.section,
    "early_triggers": early.triggers,
    "default_training": default_training.section,
    "held_back": default_training.held_back,
    "stated": stated.section,
    "stated_paths": stated.paths,
}
NEED_DATA = (
    "room_climate",
    "recorded",
    "j48",
    "selection_wrappers",
    "selection_daf",
    "selection_sampling",
    *papers.PARTS,
    *promise_redrawn.SECTIONS,
    *promise_before.SECTIONS,
    "promise_training",
    "promise_monitored",
    "training",
    "early",
    "early_triggers",
    "default_training",
    "held_back",
)
NEED_BROKER = ("gateway",)

MARKED = r"\n<!-- (\w+) -->\n(.*?)(?=\n<!-- |\Z)"
"""A part of the file: its name and its text."""


def main(asked: Sequence[str]) -> None:
    """Measure the named parts, by default all, and keep the others as they are in the file."""
    path = HERE / "RESULTS.md"
    for name, measured in PARTS.items():
        if asked and name not in asked:
            continue
        if name in NEED_DATA and "STREAMFS_DATA" not in os.environ:
            say(f"STREAMFS_DATA is not set: {name} stays as it is")
            continue
        if name in NEED_BROKER and gateway.find_mosquitto() is None:
            say(f"mosquitto is not found: {name} stays as it is")
            continue
        try:
            text = measured().rstrip() + "\n" + stamp()
        except MissingExtraError as error:
            say(f"{name} stays as it is: {error}")
            continue
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        known = dict(re.findall(MARKED, before, re.DOTALL)) | {name: text}
        parts = (f"\n<!-- {name} -->\n{known[name]}" for name in {**PARTS, **known} if name in known)
        path.write_text(HEAD + "".join(parts), encoding="utf-8")
    say(f"wrote {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"by default all of: {', '.join(PARTS)}")
    options = parser.parse_args()
    wrong = set(options.parts) - set(PARTS)
    if wrong:
        parser.error(f"there is no part {min(wrong)!r}, expected some of {', '.join(PARTS)}")
    main(options.parts)
