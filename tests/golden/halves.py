"""Halves of public data sets: a tree learns from one and is compared with another tree on the other."""

import csv
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SEEDS = range(10)


@dataclass(frozen=True)
class Case:
    """A data set, what its numeric columns are multiplied by, and whether leaves use Laplace's correction."""

    name: str
    scale: float = 1.0
    laplace: bool = True


@dataclass(frozen=True, eq=False)
class DataSet:
    """Rows as a classifier takes them: nominal values and classes as codes, NaN where a value is missing."""

    X: np.ndarray
    y: np.ndarray
    nominal: tuple[int, ...]

    def halves(self, seed):
        """Return the rows to learn from and the rows held out; each has half of every class."""
        order = np.random.default_rng(seed).permutation(len(self.y))
        order = order[np.argsort(self.y[order], kind="stable")]
        return np.sort(order[0::2]), np.sort(order[1::2])

    def checksum(self):
        """Return a number that tells whether the values or the halves are others than those recorded."""
        held_out = [self.halves(seed)[1] for seed in SEEDS]
        return zlib.crc32(b"".join(array.tobytes() for array in (self.X, self.y, *held_out)))


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a tree made of a held-out half.

    `predictions` are numbers of classes, `probability` is the mean of what it gave to the true class, which
    hardly two different trees have in common.
    """

    predictions: np.ndarray
    n_leaves: int
    probability: float

    @classmethod
    def of(cls, probabilities, n_leaves, y):
        """Return the outcome of a tree that gave these class probabilities to rows of the classes y."""
        true = probabilities[np.arange(len(y)), y]
        return cls(probabilities.argmax(axis=1), n_leaves, float(true.mean()))


def read(case):
    """Return a data set from the folder that the environment variable STREAMFS_DATA names."""
    path = Path(os.environ["STREAMFS_DATA"]) / "uci" / f"{case.name}.csv"
    kinds = [feature["kind"] for feature in json.loads(path.with_suffix(".json").read_text())["features"]]
    with path.open() as file:
        *columns, labels = zip(*list(csv.reader(file))[1:], strict=True)
    nominal = tuple(f for f, kind in enumerate(kinds) if kind == "nominal")
    X = np.column_stack(
        [coded(column) if f in nominal else case.scale * numbers(column) for f, column in enumerate(columns)]
    )
    return DataSet(X, np.unique(labels, return_inverse=True)[1], nominal)


def coded(column):
    """Return the place of each word in the alphabet."""
    words = sorted(set(column) - {"?"})
    return np.array([np.nan if word == "?" else words.index(word) for word in column])


def numbers(column):
    """Return the numbers that the words say."""
    return np.array([np.nan if word == "?" else float(word) for word in column])
