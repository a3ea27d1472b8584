"""Comparisons of methods over sets and seeds, from rows of what they gave on each set with each seed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

from feature_extractors.arrays import Array
from streamfs.experiments.early.protocol import Row
from streamfs.experiments.summary import mean_and_interval

FIGURES = ("accuracy", "earliness", "stated", "fit_seconds", "us_a_tick")


@dataclass(frozen=True)
class Comparison:
    """Rows of one kind, disturbed or not, by set, method and seed."""

    rows: Sequence[Row]

    @cached_property
    def methods(self) -> list[str]:
        """The methods, in the order of the rows."""
        return list(dict.fromkeys(row["method"] for row in self.rows))

    @cached_property
    def sets(self) -> list[str]:
        """The sets, in the order of the rows."""
        return list(dict.fromkeys(row["set"] for row in self.rows))

    def seeds(self, method: str) -> list[int]:
        """Return the seeds with which a method was measured."""
        return sorted({row["seed"] for row in self.rows if row["method"] == method})

    def values(self, method: str, get: Callable[[Row], Any], names: Sequence[str] = ()) -> Array:
        """Return a figure, shape (n_sets, n_seeds); NaN where the method failed or states none."""
        found = {(r["set"], r["seed"]): get(r) for r in self.rows if r["method"] == method and "failed" not in r}
        seeds = self.seeds(method)
        cells = [[found.get((name, seed)) for seed in seeds] for name in names or self.sets]
        return np.array(cells, dtype=np.float64).reshape(-1, len(seeds))

    def cost(self, method: str) -> Array:
        """Return the mean cost over alpha, shape (n_sets, n_seeds)."""
        return self.values(method, lambda row: np.mean(list(row["costs"].values())))

    def ranks(self) -> dict[str, float]:
        """Return mean ranks of HM over sets, where a method that fails is last."""
        found = np.array([self.values(method, hm).mean(axis=1) for method in self.methods])
        found = np.where(np.isnan(found), -1.0, found).round(9)
        better = (found[np.newaxis] > found[:, np.newaxis]).sum(axis=1)
        equal = (found[np.newaxis] == found[:, np.newaxis]).sum(axis=1)
        return dict(zip(self.methods, (better + (equal + 1) / 2).mean(axis=1), strict=True))

    def summary(self) -> list[dict[str, Any]]:
        """Return means over sets and seeds by method; NaN if it fails on a set.

        ``hm_ci`` is half the 95 % interval over the seeds, ``cost`` the mean over alpha, and ``stated`` the stated
        confidence less the accuracy.
        """
        ranks, found = self.ranks(), []
        for method in self.methods:
            mean, interval = mean_and_interval(self.values(method, hm).mean(axis=0))
            means = {name: float(self.values(method, itemgetter(name)).mean()) for name in FIGURES}
            row = {"method": method, "hm": mean, "hm_ci": interval, "rank": ranks[method], **means}
            found.append({**row, "cost": float(self.cost(method).mean())})
        return found


def hm(row: Row) -> float:
    """Return the harmonic mean of a trial."""
    return float(row["hm"])
