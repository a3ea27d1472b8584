"""Print how far our C4.5 tree agrees with Weka's J48, as a Markdown table.

STREAMFS_DATA=... python benchmarks/j48.py
"""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from golden.agreement import RECORDED, j48, ours, share_equal
from golden.halves import Case, read

COLUMNS = (
    "set",
    "J48's options",
    "held-out rows",
    "equal to J48",
    "halves with as many leaves",
    "leaves (ours)",
    "leaves (J48)",
    "equal to ours with the features reversed",
)


def row(recorded: dict[str, Any]) -> str:
    case = Case(**recorded["case"])
    data, theirs = read(case), j48(recorded)
    some, turned = (ours(data, laplace=case.laplace, reverse=reverse) for reverse in (False, True))
    as_many = sum(one.n_leaves == other.n_leaves for one, other in zip(some, theirs, strict=True))
    cells = [
        case.name + (f" times {case.scale:.0f}" if case.scale != 1.0 else ""),
        f"`{recorded['options']}`",
        str(sum(len(half.predictions) for half in theirs)),
        f"{100 * share_equal(some, theirs):.2f} %",
        f"{as_many} of {len(theirs)}",
        *(f"{sum(half.n_leaves for half in halves) / len(halves):.1f}" for halves in (some, theirs)),
        f"{100 * share_equal(some, turned):.2f} %",
    ]
    return "| " + " | ".join(cells) + " |"


def table() -> str:
    """Return the agreement on each recorded case; the last column shows how much ties between features matter."""
    header = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"
    return "\n".join([header, *map(row, RECORDED["cases"])])


def section() -> str:
    """The agreement as a section of the results."""
    return f"""
## C4.5 compared with Weka's J48

Predictions of J48, recorded once (`tests/golden/record_j48.py`), and ours on the held-out halves of ten splits, rows pooled.
Sets with 100 % in the last column have no ties that matter. J48 treats values less than 1e-5 apart as equal, which affects
glass only; scaled up, it agrees.

{table()}
"""


if __name__ == "__main__":
    print(section())
