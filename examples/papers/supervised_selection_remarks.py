"""The concluding remarks of Acuna and Coaquira, Feature selection for supervised classification, tested."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Row = dict[str, Any]

WRAPPERS, FILTERS = ("SFS", "SFFS", "SBS"), ("Relief", "LVF", "FINCO")
EVERYWHERE = ("SFS", "SFFS", *FILTERS)
"""Methods that are run on every set."""


class Outcomes:
    """Means of the measurements over the sets on which all compared methods were run."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = [
            {
                **row,
                "share": 100.0 * row["selected"] / row["features"],
                "gain": row["before"] - row["after"],
                "honest gain": row["before"] - row["honest"],
            }
            for row in rows
        ]

    def means(self, what: str, methods: Sequence[str]) -> dict[str, float]:
        """Return the mean of each method over both kernels."""
        tried = {name: {row["method"] for row in self.rows if row["set"] == name} for name in self.sets}
        common = [name for name, with_them in tried.items() if with_them.issuperset(methods)]
        return {
            method: float(np.mean([r[what] for r in self.rows if r["method"] == method and r["set"] in common]))
            for method in methods
        }

    @property
    def sets(self) -> list[str]:
        """Return the names of the sets."""
        return list(dict.fromkeys(row["set"] for row in self.rows))

    @property
    def largest(self) -> "Outcomes":
        """Return the outcomes on the larger half of the sets."""
        sizes = {row["set"]: row["instances"] * row["features"] for row in self.rows}
        least = np.median(list(sizes.values()))
        return Outcomes([row for row in self.rows if sizes[row["set"]] >= least])


Holds = Callable[[dict[str, float]], bool]


def least(*names: str) -> Holds:
    """Test whether some methods have the lowest means."""
    return lambda means: set(sorted(means, key=means.__getitem__)[: len(names)]) == set(names)


def most(name: str) -> Holds:
    """Test whether a method has the highest mean."""
    return lambda means: max(means, key=means.__getitem__) == name


def alike(means: dict[str, float]) -> bool:
    """Test whether means differ by less than a point."""
    return max(means.values()) - min(means.values()) < 1.0


def wrappers_gain(means: dict[str, float]) -> bool:
    """Test whether wrappers gain more than filters on average."""
    parts = ([mean for name, mean in means.items() if name in names] for names in (WRAPPERS, FILTERS))
    of_wrappers, of_filters = (float(np.mean(part)) for part in parts)
    return of_wrappers > of_filters


class Remark(NamedTuple):
    """A conclusion of the slides, tested by the means of a measure over methods, maybe on large sets only."""

    text: str
    what: str
    methods: tuple[str, ...]
    holds: Holds
    unit: str
    is_of_large: bool = False

    def test(self, outcomes: Outcomes) -> Row:
        """Test the remark, and return the figures."""
        means = (outcomes.largest if self.is_of_large else outcomes).means(self.what, self.methods)
        return said(self.text, means, self.unit, is_true=self.holds(means))


REMARKS = (
    Remark("among wrappers SFFS performs better", "after", WRAPPERS, least("SFFS"), "% error"),
    Remark("the same, honest", "honest", WRAPPERS, least("SFFS"), "% error"),
    Remark("among filters FINCO selects least", "share", FILTERS, least("FINCO"), "% of the features"),
    Remark("and takes longest", "seconds", FILTERS, most("FINCO"), "s"),
    Remark("LVF and Relief perform alike", "after", ("LVF", "Relief"), alike, "% error"),
    Remark("but LVF takes longer", "seconds", ("LVF", "Relief"), most("LVF"), "s"),
    Remark("wrappers reduce the error more than filters", "gain", EVERYWHERE, wrappers_gain, "points less"),
    Remark("the same, honest", "honest gain", EVERYWHERE, wrappers_gain, "points less"),
    Remark("Relief is the fastest", "seconds", EVERYWHERE, least("Relief"), "s"),
    Remark(
        "the more so on large sets", "seconds", EVERYWHERE, least("Relief"), "s, larger half", is_of_large=True
    ),
    Remark("FINCO and SFFS select least", "share", EVERYWHERE, least("FINCO", "SFFS"), "% of the features"),
    Remark("SBS selects more than other wrappers", "share", WRAPPERS, most("SBS"), "% of the features"),
    Remark("and takes longer", "seconds", WRAPPERS, most("SBS"), "s"),
)


def remarks(rows: Sequence[Row], by_settings: Sequence[Row]) -> list[Row]:
    """Test each remark of slides 62 and 63, and return the figures."""
    at = {row["level"]: row for row in by_settings}
    tries = {name: at[0.05][f"LVF {name}"] for name in ("50", "1000", "10000")}
    levels = {f"at {level:g}": row["FINCO"] for level, row in at.items()}
    share = "% of the features"
    return [
        *(remark.test(Outcomes(rows)) for remark in REMARKS),
        said("1000 tries of LVF suffice", tries, share, is_true=tries["1000"] - tries["10000"] < 5.0),
        said("a level near 0 selects more", levels, share, is_true=levels["at 0"] > levels["at 0.05"]),
    ]


def said(text: str, means: dict[str, float], unit: str, *, is_true: bool) -> Row:
    """Return a row of the table."""
    figures = ", ".join(f"{name} {value:.3g}" for name, value in means.items())
    return {"remark": text, "here": "yes" if is_true else "no", "figures": f"{figures} {unit}"}
