"""Whether promises are kept: many trainings with a promise, each evaluated on fresh streams.

python benchmarks/promise_kept.py [PART ...]

A trial is a setting and a seed: streams are drawn, features searched, and the classifier is fitted and certified as by
`train_promised`, with five features and 30 ticks; it is then evaluated on 20000 streams drawn for this trial alone. A promise is
broken if the accuracy or the completeness on these is below it. Most promises are close to the best that the setting's streams
allow, since a broken test would not show if there were room to spare.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
from figures import Figure, Parts, explained, main, processor, table
from joblib import Parallel, delayed
from promise_settings import ALIKE, APART, CALIBRATED, FIVE, N_UNSEEN, NOISY, PLAIN, QUIET, Nodes, Setting
from scipy.special import betaincinv

from feature_extractors.arrays import Array
from streamfs.cli.console import say
from streamfs.evaluation.evaluation import write_csv
from streamfs.training.promises import Promise, PromiseError
from streamfs.training.promises.curve import Curve
from streamfs.training.promises.promise import failures_allowed

HERE = Path(__file__).parent
N_SEEDS = 21
N_TICKS = 30
RISK = 0.05
N_JOBS = os.cpu_count() or 1

Row = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """A setting and a promise."""

    setting: Setting
    promise: Promise


def asked(number: int, nodes: Nodes, n_streams: int, accuracy: float, completeness: float | None) -> Asked:
    prices = ("flat", "light dear", "humidity cheap")[number % 3]
    return Asked(Setting(number, nodes, prices, n_streams, N_TICKS), Promise(accuracy, completeness, RISK))


ASKED = tuple(
    asked(number, *row)
    for number, row in enumerate(
        (
            (CALIBRATED, 300, 0.9, 0.9),
            (CALIBRATED, 600, 0.92, 0.9),
            (CALIBRATED, 300, 0.95, None),
            (CALIBRATED, 1000, 0.95, 0.9),
            (QUIET, 300, 0.85, 0.85),
            (QUIET, 600, 0.9, 0.9),
            (QUIET, 450, 0.95, None),
            (QUIET, 1000, 0.92, 0.9),
            (PLAIN, 300, 0.85, 0.8),
            (PLAIN, 600, 0.9, 0.9),
            (PLAIN, 450, 0.92, None),
            (PLAIN, 1000, 0.9, 0.9),
            (ALIKE, 300, 0.8, 0.8),
            (ALIKE, 600, 0.8, 0.8),
            (ALIKE, 450, 0.9, None),
            (ALIKE, 1000, 0.9, 0.85),
            (NOISY, 300, 0.8, 0.8),
            (NOISY, 600, 0.85, 0.8),
            (NOISY, 450, 0.92, None),
            (NOISY, 1000, 0.88, 0.85),
            (APART, 300, 0.85, 0.8),
            (APART, 600, 0.9, 0.85),
            (APART, 450, 0.93, None),
            (APART, 1000, 0.9, 0.85),
        )
    )
)
"""Nodes, streams, accuracy and completeness that are promised."""


def slack(curve: Curve, promise: Promise, n_test: int) -> float:
    """Return the most margins by which any threshold of a fitted classifier exceeds a promise, as an oracle would.

    A margin is what a test of this size requires beyond the promise: the smallest share that passes, of all streams
    for the completeness, of those that the threshold labels for the accuracy, minus the promised share.
    """
    labelled = np.maximum(np.round(curve.completeness * n_test), 1.0)
    beyond = (curve.accuracy - promise.accuracy) / margins(promise.accuracy, labelled, promise.accuracy_risk)
    if promise.completeness is not None:
        complete = margins(promise.completeness, np.array([n_test]), promise.completeness_risk)
        beyond = np.minimum(beyond, (curve.completeness - promise.completeness) / complete)
    return float(beyond.max())


def margins(promised: float, n_streams: Array, risk: float) -> Array:
    """Return the smallest shares of streams that pass, minus the promised one; infinite if none passes."""
    allowed = failures_allowed(n_streams, 1.0 - promised, risk)
    return np.where(allowed < 0, np.inf, 1.0 - allowed / n_streams - promised)


def trial(asked: Asked, seed: int, n_unseen: int = N_UNSEEN) -> Row:
    """Train with a promise, and evaluate the result on fresh streams."""
    setting, promise = asked.setting, asked.promise
    trainer = setting.problem(promise, seed, FIVE).trainer()
    scorer = trainer.scorer(promise)
    trainer.search(scorer)
    model = trainer.tuned(trainer.fit_best(scorer), promise)
    try:
        certificate = trainer.certify(model, promise)
    except PromiseError:
        certificate = None
    curve = trainer.curve(model, setting.unseen(seed, n_unseen))
    n_test = len(trainer.split.test)
    row = {
        **setting.row(),
        "promised_accuracy": promise.accuracy,
        "promised_completeness": promise.completeness,
        "seed": seed,
        "n_test": n_test,
        "scored": len(scorer.scores),
        "learner": model.learner,
        "slack": slack(curve, promise, n_test),
    }
    if certificate is None:
        return {**row, "refused": True, "threshold": None, "accuracy": None, "completeness": None, "broken": False}
    point = curve.at_threshold(certificate.point.threshold)
    complete = promise.completeness is None or point.completeness >= promise.completeness
    return {
        **row,
        "refused": False,
        "threshold": certificate.point.threshold,
        "accuracy": point.accuracy,
        "completeness": point.completeness,
        "broken": not (complete and point.accuracy >= promise.accuracy),
    }


def run(cases: Sequence[Asked] = ASKED, n_seeds: int = N_SEEDS, n_unseen: int = N_UNSEEN) -> list[Row]:
    """Return all trials, by setting, then by seed."""
    rows: list[Row] = []
    work = [delayed(trial)(case, seed, n_unseen) for seed in range(n_seeds) for case in cases]
    for done, row in enumerate(Parallel(N_JOBS, return_as="generator_unordered")(work), start=1):
        rows.append(row)
        if done % len(cases) == 0:
            say(f"promises, kept: {done} of {len(work)} trials")
    return sorted(rows, key=lambda row: (row["setting"], row["seed"]))


def measured() -> list[Row]:
    """Run all, and write the table of every trial."""
    rows = run()
    write_csv(rows, HERE / "promise_kept.csv")
    return rows


def interval(n_found: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact interval of a share (C. J. Clopper and E. S. Pearson, Biometrika 26, 1934)."""
    tail = (1.0 - confidence) / 2.0
    low = float(betaincinv(n_found, n - n_found + 1, tail)) if n_found else 0.0
    high = float(betaincinv(n_found + 1, n - n_found, 1.0 - tail)) if n_found < n else 1.0
    return low, high


def share(what: str, n_found: int, n: int, at_most: float | None = None) -> Figure:
    low, high = interval(n_found, n)
    return Figure(
        what, n_found / n if n else nan, at_most, detail=f"{n_found} of {n}, 95 % interval {low:.3f} to {high:.3f}"
    )


def figures(rows: Sequence[Row]) -> list[Figure]:
    """Return how often promises were broken or refused, and the risk."""
    certified = [row for row in rows if not row["refused"]]
    could = [row for row in rows if row["slack"] >= 2.0]
    hard = [row for row in certified if row["slack"] < 1.0]
    n_broken = sum(row["broken"] for row in rows)
    return [
        share("broken promises, of all trials", n_broken, len(rows), at_most=RISK),
        share("broken promises, of the certified", n_broken, len(certified), at_most=RISK),
        share("of those, where an oracle has less than one margin", sum(row["broken"] for row in hard), len(hard)),
        share(
            "refused, where an oracle could with two margins",
            sum(row["refused"] for row in could),
            len(could),
            0.1,
        ),
        share("refused, of all trials", len(rows) - len(certified), len(rows)),
        *distances(certified, "accuracy"),
        *distances(certified, "completeness"),
    ]


def distances(certified: Sequence[Row], name: str) -> Iterator[Figure]:
    """Yield quantiles of the true shares minus those promised."""
    beyond = [row[name] - row[f"promised_{name}"] for row in certified if row[f"promised_{name}"] is not None]
    for quantile in (0.01, 0.05, 0.5, 0.95) if beyond else ():
        yield Figure(
            f"true {name} less promised, quantile {quantile:g}",
            float(np.quantile(beyond, quantile)),
            detail=f"{len(beyond)} certified",
        )


COLUMNS = (
    "nodes: noise, offsets, in common",
    "prices",
    "streams",
    "promised accuracy, completeness",
    "margins of an oracle",
    "refused",
    "broken",
    "true accuracy: least, median",
    "true completeness: least, median",
)


def by_setting(rows: Sequence[Row]) -> str:
    settings = sorted({row["setting"] for row in rows})
    lines = [COLUMNS, ("---",) * len(COLUMNS)]
    lines += [cells([row for row in rows if row["setting"] == setting]) for setting in settings]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cells(rows: Sequence[Row]) -> tuple[str, ...]:
    first, certified = rows[0], [row for row in rows if not row["refused"]]
    complete = first["promised_completeness"]
    return (
        f"{first['noise']:g}, {first['offsets']:g}, {first['common']:g}",
        first["prices"],
        str(first["n_streams"]),
        f"{first['promised_accuracy']:g}, {'-' if complete is None else format(complete, 'g')}",
        f"{np.median([row['slack'] for row in rows]):.2f}",
        f"{len(rows) - len(certified)} of {len(rows)}",
        str(sum(row["broken"] for row in rows)),
        *(spread([row[name] for row in certified]) for name in ("accuracy", "completeness")),
    )


def spread(values: Sequence[float]) -> str:
    return f"{min(values):.3f}, {np.median(values):.3f}" if values else "-"


PARTS: Parts = {"kept": lambda: figures(measured())}


def section() -> str:
    """The figures as a section of the results."""
    text = explained(__doc__)
    rows = measured()
    seeds = len({row["seed"] for row in rows})
    return f"""
## Promises: whether they are kept

`benchmarks/promise_kept.py`: {len(ASKED)} settings x {seeds} seeds, risk {RISK:g}. {text}

A margin is what a test of this size requires beyond the promise: the smallest share that passes (of all test streams for the
completeness, of those that the threshold labels for the accuracy) minus the promised share. The margins of an oracle are the most
by which any threshold of the same fitted classifier exceeds the promise on the fresh streams, in both.

{table(figures(rows))}

{by_setting(rows)}

The risk is that of the draw of the streams: at most this share of all trials may be certified and broken. If hardly any threshold
keeps the promise, most trials are refused, so more of the certified ones may be broken. The trials are in `promise_kept.csv`.

{processor()}.
"""


if __name__ == "__main__":
    main(__doc__ or "", PARTS)
