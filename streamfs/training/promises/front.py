"""The Pareto front of thresholds on subsets of features, in memory and as CSV."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from feature_extractors.arrays import Array, Integers
from streamfs.base.csv_rows import read_rows
from streamfs.errors import DataError

MOST_POINTS = 24
"""Most points of a front, so that people can read it."""

SHARE_STEP = 0.005
"""Accuracies and completenesses that differ by less are nearly equal."""

COST_STEP = 0.02
"""Costs, and ticks, whose ratio differs from 1 by less are nearly equal."""

WIDENING = 1.2
"""Factor by which both steps grow until few enough points are left."""

SMALLEST = 1e-300
"""Replaces a cost of 0 before its logarithm is taken."""


class FrontPoint(NamedTuple):
    """Results of one threshold on some features, on held-out streams.

    Cost, in the unit of the profile, and ticks are means over all streams, undecided ones included. The threshold
    is that of the confidence before calibration.
    """

    accuracy: float
    completeness: float
    cost: float
    ticks: float
    threshold: float
    features: tuple[str, ...]


def unbeaten(losses: Array) -> Integers:
    """Return the places of the rows that no other beats: by being as small in all columns, and smaller in one."""
    left, kept = np.lexsort(losses.T[::-1]), []
    while len(left):
        first = losses[left[0]]
        kept.append(int(left[0]))
        is_beaten = (losses[left] >= first).all(axis=1) & (losses[left] > first).any(axis=1)
        is_beaten[0] = True
        left = left[~is_beaten]
    return np.array(sorted(kept), dtype=np.int64)


def front(points: Sequence[FrontPoint], most: int = MOST_POINTS) -> tuple[FrontPoint, ...]:
    """Return the points that no other beats, of nearly equal ones only one, the cheapest first.

    A point may be left out if another is at most 2 % dearer and later, and at most 0.005 less accurate and less
    complete. These margins grow until at most `most` points are left.
    """
    if not points:
        return ()
    losses = np.array([(-p.accuracy, -p.completeness, p.cost, p.ticks) for p in points])
    found = unbeaten(losses)
    width = 1.0
    kept = _spread(losses[found], width)
    while len(kept) > most:
        width *= WIDENING
        kept = _spread(losses[found], width)
    return tuple(sorted((points[i] for i in found[kept]), key=lambda p: (p.cost, -p.accuracy, -p.completeness)))


def _spread(losses: Array, width: float) -> list[int]:
    """Return places of rows such that each row left out is nearly beaten by one; cheap rows are taken first."""
    shares, spent = losses[:, :2], np.log(np.maximum(losses[:, 2:], SMALLEST))
    share_step, cost_step = width * SHARE_STEP, np.log1p(width * COST_STEP)
    left, kept = np.lexsort((shares.sum(axis=1), np.floor(spent[:, 0] / cost_step))), []
    while len(left):
        first, left = int(left[0]), left[1:]
        kept.append(first)
        as_good = (shares[first] <= shares[left] + share_step).all(axis=1)
        as_cheap = (spent[first] <= spent[left] + cost_step).all(axis=1)
        left = left[~(as_good & as_cheap)]
    return kept


def write_front(points: Iterable[FrontPoint], exploration: str, path: str | Path) -> None:
    """Write points as CSV, numbered from 1, with the name by which `read_front` recognises the exploration."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["point", *FrontPoint._fields, "exploration"])
        for number, point in enumerate(points, start=1):
            *figures, features = point
            writer.writerow([number, *figures, orjson.dumps(features).decode(), exploration])


def read_front(path: str | Path, exploration: str) -> tuple[FrontPoint, ...]:
    """Read the points that `write_front` has written, in their order and of the same exploration."""
    points: list[FrontPoint] = []
    for line, row in read_rows(path):
        try:
            point = _point(row, len(points) + 1)
            found = row["exploration"]
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"line {line} of {path} is not a point of a front: {error}") from error
        if found != exploration:
            raise DataError(
                f"{path} was explored with other streams or options: give the same ones, since otherwise "
                "other streams are set apart"
            )
        points.append(point)
    if not points:
        raise DataError(f"{path} has no points of a front")
    return tuple(points)


def _point(row: Mapping[str, Any], number: int) -> FrontPoint:
    """Return the point of a row, whose number must match: if rows were sorted, it does not."""
    if int(row["point"]) != number:
        raise ValueError(f"its number is {row['point']}, expected {number}: leave the points in their order")
    missing = [name for name in (*FrontPoint._fields, "exploration") if row[name] is None]
    if missing:
        raise ValueError(f"the line ends before {missing[0]}")
    figures = [float(row[name]) for name in FrontPoint._fields[:-1]]
    if not 0 < figures[-1] <= 1:
        raise ValueError(f"threshold is {figures[-1]}, expected more than 0 and at most 1")
    return FrontPoint._make([*figures, tuple(map(str, orjson.loads(row["features"])))])
