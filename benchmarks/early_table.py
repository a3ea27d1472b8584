"""Tables of early classifiers, from rows of what they gave on each set with each seed."""

from collections.abc import Sequence

import numpy as np
from early_sets import BUNDLED
from figures import Figure, table

from feature_extractors.arrays import Array
from streamfs.experiments.early.comparison import Comparison, hm
from streamfs.experiments.early.methods import AT_OURS, OURS
from streamfs.experiments.early.protocol import Row
from streamfs.experiments.early.triggers import TRIGGERS

STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.776}
"""Student's quantiles of 95 % intervals, by the number of seeds."""

LEAST_HM, LEAST_DISTURBED, MOST_OF_COST = 0.82, 0.72, 0.95
WEAK, STRONG = 0.70, 0.80

SUMMARY = (
    "method",
    "seeds",
    "HM, all sets",
    "HM, aeon's five",
    "mean rank",
    "accuracy",
    "earliness",
    "AvgCost over alpha",
    "stated less accuracy",
    "fit s",
    "us a tick",
    "failed",
)


class Table(Comparison):
    """A comparison as tables of Markdown."""

    def text(self) -> str:
        """Return a table of the methods; one that fails on a set has no mean over sets."""
        ranks, lines = self.ranks(), [SUMMARY, ("---",) * len(SUMMARY)]
        five = bundled_of(self.sets)
        for method in self.methods:
            of = lambda key, m=method: self.values(m, lambda row: row[key])  # noqa: E731
            stated = of("stated")
            lines.append(
                (
                    method,
                    str(len(self.seeds(method))),
                    interval(self.values(method, hm)),
                    interval(self.values(method, hm, five)) if five else "-",
                    f"{ranks[method]:.2f}",
                    _mean(of("accuracy")),
                    _mean(of("earliness")),
                    interval(self.cost(method)),
                    _mean(stated, "+.3f"),
                    _mean(of("fit_seconds"), ".2f"),
                    _mean(of("us_a_tick"), ".1f"),
                    ", ".join(name for name in self.sets if self._fails(method, name)) or "-",
                )
            )
        return _lines(lines)

    def by_set(self) -> str:
        """Return a table of mean HM by set and method."""
        lines = [("HM", *self.methods), ("---",) * (len(self.methods) + 1)]
        lines += [(name, *(_mean(self.values(m, hm, [name])) for m in self.methods)) for name in self.sets]
        return _lines(lines)

    def by_alpha(self) -> str:
        """Return a table of mean AvgCost by alpha and method."""
        alphas = list(next(row["costs"] for row in self.rows if "failed" not in row))
        lines = [("AvgCost at alpha", *self.methods), ("---",) * (len(self.methods) + 1)]
        for alpha in alphas:
            cost = lambda row, alpha=alpha: row["costs"][alpha]  # noqa: E731
            lines.append((alpha, *(_mean(self.values(method, cost)) for method in self.methods)))
        return _lines(lines)

    def _fails(self, method: str, name: str) -> bool:
        return bool(np.isnan(self.values(method, hm, [name])).any())


def bundled_of(names: Sequence[str]) -> Sequence[str]:
    """Return the sets that come with aeon, if all of them were measured."""
    return BUNDLED if set(BUNDLED) <= set(names) else ()


def _lines(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _mean(values: Array, form: str = ".3f") -> str:
    return "-" if np.isnan(values).any() else f"{values.mean():{form}}"


def interval(values: Array) -> str:
    """Return the mean over sets and seeds, with half the 95 % interval of Student's t over the seeds."""
    if np.isnan(values).any():
        return "-"
    seeds = values.mean(axis=0)
    if len(seeds) not in STUDENT:
        return f"{seeds.mean():.3f}"
    return f"{seeds.mean():.3f} ± {STUDENT[len(seeds)] * seeds.std(ddof=1) / np.sqrt(len(seeds)):.3f}"


def targets(plain: Table, disturbed: Table) -> list[Figure]:
    """Compare ours with what it should be."""
    five = bundled_of(plain.sets)
    found, worst = [], []
    for what, each, least in (("", plain, LEAST_HM), (", disturbed", disturbed, LEAST_DISTURBED)):
        if five:
            mine = each.values(OURS, hm, five)
            found.append(
                Figure(f"HM over aeon's sets{what}", float(mine.mean()), at_least=least, detail=", ".join(five))
            )
    ranks = plain.ranks()
    best = min(ranks, key=lambda method: ranks[method])
    found.append(Figure("mean rank of HM", ranks[OURS], at_most=1.0, detail=f"best is {best}, {ranks[best]:.2f}"))
    for where, ending in (("evenly spread prefixes", ""), ("our ticks", AT_OURS)):
        triggers = {f"{name}{ending}" for name in TRIGGERS} & {*plain.methods}
        if triggers:
            cost, cheapest = min((float(plain.cost(name).mean()), name) for name in triggers)
            ratio, detail = float(plain.cost(OURS).mean()) / cost, f"{cheapest}, {cost:.3f}"
            what = f"AvgCost : best trigger's at {where}, over alpha"
            found.append(Figure(what, ratio, at_most=MOST_OF_COST, detail=detail))
    for name in plain.sets:
        mine = float(plain.values(OURS, hm, [name]).mean())
        others = [float(plain.values(m, hm, [name]).mean()) for m in plain.methods if m != OURS]
        if mine < WEAK and others and np.nanmax(others) > STRONG:
            worst.append(f"{name}: {mine:.3f}, a peer {np.nanmax(others):.3f}")
    detail = "; ".join(worst) or "-"
    found.append(Figure("sets below 0.70 where a peer is above 0.80", len(worst), at_most=0, detail=detail))
    return found


def report(found: Sequence[Row]) -> str:
    """Return the tables of all rows."""
    plain, disturbed = (Table([row for row in found if row["disturbed"] is is_so]) for is_so in (False, True))
    return f"""
As recorded, {len(plain.sets)} sets:

{plain.text()}

Disturbed:

{disturbed.text()}

By set, as recorded:

{plain.by_set()}

By set, disturbed:

{disturbed.by_set()}

By alpha, as recorded:

{plain.by_alpha()}

By alpha, disturbed:

{disturbed.by_alpha()}

{table(targets(plain, disturbed)) if OURS in plain.methods else ""}
"""
