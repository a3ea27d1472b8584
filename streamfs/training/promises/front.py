"""The trade-off that one can look at: what thresholds of subsets come to, as far as nothing else beats it."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from feature_extractors.base import Array
from streamfs.data.streams import Integers
from streamfs.errors import DataError
from streamfs.training.promises.csv_rows import read_rows

MOST_POINTS = 24
"""Points of a front that is to be read by people."""

SHARE_STEP = 0.005
"""Accuracies and completenesses that differ by less are as good as equal."""

COST_STEP = 0.02
"""Costs, and ticks, whose ratio differs from 1 by less are as good as equal."""

WIDENING = 1.2
"""Factor by which both grow until few enough points are left."""

SMALLEST = 1e-300
"""What a cost of nothing is taken for where costs are divided."""


class FrontPoint(NamedTuple):
    """What one threshold on some features came to on held-out streams.

    Parameters
    ----------
    accuracy, completeness : float
        Share of the labelled streams whose label is right, and of the streams given a label.
    cost, ticks : float
        Means over all streams, undecided ones included; the cost in the unit of the profile.
    threshold : float
        Of the confidence before it is calibrated.
    features : tuple of str
        What the classifier may read.
    """

    accuracy: float
    completeness: float
    cost: float
    ticks: float
    threshold: float
    features: tuple[str, ...]


def unbeaten(losses: Array) -> Integers:
    """Places of the rows that no other beats: none is as small in all columns, and smaller in one.

    Parameters
    ----------
    losses : ndarray of shape (n, n_columns)
        The smaller, the better. Equal rows do not beat each other.

    Examples
    --------
    >>> unbeaten(np.array([[1.0, 5.0], [2.0, 2.0], [2.0, 3.0], [4.0, 1.0]])).tolist()
    [0, 1, 3]
    """
    left, kept = np.lexsort(losses.T[::-1]), []
    while len(left):
        first = losses[left[0]]
        kept.append(int(left[0]))
        is_beaten = (losses[left] >= first).all(axis=1) & (losses[left] > first).any(axis=1)
        is_beaten[0] = True
        left = left[~is_beaten]
    return np.array(sorted(kept), dtype=np.int64)


def front(points: Sequence[FrontPoint], most: int = MOST_POINTS) -> tuple[FrontPoint, ...]:
    """Take the points that no other beats, and of those that are nearly equal one; the cheapest first.

    Parameters
    ----------
    points : sequence of FrontPoint
        Among which to choose.
    most : int
        How many may be left: what counts as nearly equal grows until they are as few.

    Notes
    -----
    A point may be left out where another is at most 2 % dearer and later, and at most 0.005 less accurate and less
    complete; so nothing that is much better than what is shown is ever left out.

    Examples
    --------
    >>> cheap = FrontPoint(0.90, 0.8, 10.0, 5.0, 0.7, ("mean(t)",))
    >>> found = front([cheap, cheap._replace(cost=99.0), cheap._replace(accuracy=0.95, cost=30.0)])
    >>> [(point.accuracy, point.cost) for point in found]
    [(0.9, 10.0), (0.95, 30.0)]
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
    """Places of rows of which each of the others is nearly beaten by one; cheap ones are taken first."""
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
    """Write points as CSV, a line each.

    Parameters
    ----------
    points : iterable of FrontPoint
        To be numbered from 1.
    exploration : str
        A short name for what was explored, by which `read_front` knows it again.
    path : path
        The file.
    """
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["point", *FrontPoint._fields, "exploration"])
        for number, point in enumerate(points, start=1):
            *figures, features = point
            writer.writerow([number, *figures, orjson.dumps(features).decode(), exploration])


def read_front(path: str | Path, exploration: str) -> tuple[FrontPoint, ...]:
    """Read the points of a front.

    Parameters
    ----------
    path : path
        A file that `write_front` has written.
    exploration : str
        What the front has to be of.

    Raises
    ------
    DataError
        If the file has no points, they are not in their order, or they are of another exploration: its streams or
        its options were not these.
    """
    points: list[FrontPoint] = []
    for line, row in read_rows(path):
        try:
            point = _point(row, len(points) + 1)
            found = row["exploration"]
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"line {line} of {path} is no point of a front: {error}") from error
        if found != exploration:
            raise DataError(
                f"{path} was explored with other streams or options: give those of then, since what was set "
                "apart then is not what is now"
            )
        points.append(point)
    if not points:
        raise DataError(f"{path} has no points of a front")
    return tuple(points)


def _point(row: Mapping[str, Any], number: int) -> FrontPoint:
    """The point of a row, which must have its number: rows that were sorted anew have others.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is none.
    """
    if int(row["point"]) != number:
        raise ValueError(f"its number is {row['point']}, expected {number}: leave the points in their order")
    missing = [name for name in (*FrontPoint._fields, "exploration") if row[name] is None]
    if missing:
        raise ValueError(f"the line ends before {missing[0]}")
    figures = [float(row[name]) for name in FrontPoint._fields[:-1]]
    if not 0 < figures[-1] <= 1:
        raise ValueError(f"threshold is {figures[-1]}, expected more than 0 and at most 1")
    return FrontPoint._make([*figures, tuple(map(str, orjson.loads(row["features"])))])
