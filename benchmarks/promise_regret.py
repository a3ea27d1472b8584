"""What promises cost: procedures that a search found, compared with the cheapest of all subsets of nine features.

python benchmarks/promise_regret.py [PART ...]

22 settings of `benchmarks/promise_settings.py` by three promises. In each, all 511 subsets of nine features are scored on
held-out streams; every chosen subset is fitted and certified in the same way, and its cost is that of the messages of
its channels, each once, on 20000 unseen streams.
"""

import os
from collections.abc import Sequence
from math import ceil, inf, isnan, nan
from pathlib import Path

import numpy as np
from figures import Figure, Parts, explained, main, processor, table
from joblib import Parallel, delayed
from promise_settings import N_UNSEEN, SETTINGS, Setting
from promise_world import EXHAUSTIVE, FLOATING, HINDSIGHT, N_HINDSIGHT, Row, World

from streamfs.cli.console import say
from streamfs.evaluation.evaluation import write_csv

HERE = Path(__file__).parent
N_JOBS = os.cpu_count() or 1


def run(settings: Sequence[Setting] = SETTINGS, n_unseen: int = N_UNSEEN) -> list[Row]:
    """All rows, by setting, then by promise."""
    rows: list[Row] = []
    work = (delayed(rows_of)(setting, n_unseen) for setting in settings)
    for done, found in enumerate(Parallel(N_JOBS, return_as="generator_unordered")(work), start=1):
        rows += found
        say(f"promises, regret: {done} of {len(settings)} settings")
    return sorted(rows, key=lambda row: (row["setting"], row["promised_accuracy"]))


def rows_of(setting: Setting, n_unseen: int) -> list[Row]:
    return list(World(setting, n_unseen=n_unseen).rows())


def measured() -> list[Row]:
    """Run all, and write the table of every row."""
    rows = run()
    write_csv(rows, HERE / "promise_regret.csv")
    return rows


def of_way(rows: Sequence[Row], way: str) -> list[Row]:
    return [row for row in rows if row["way"] == way]


def quantile(values: Sequence[float], share: float) -> float:
    """Return the lowest value that a share of the values does not exceed; some may be infinite, NaN are left out."""
    known = sorted(value for value in values if not isnan(value))
    return known[max(0, ceil(share * len(known)) - 1)] if known else nan


def figures(rows: Sequence[Row]) -> list[Figure]:
    """Return the regret with its targets and its parts."""
    own, best = of_way(rows, FLOATING), of_way(rows, EXHAUSTIVE)
    known = [row for row in own if not isnan(row["to_exhaustive"])]
    n_refused = sum(row["cost"] == inf for row in known)
    n_more = sum(row["cost"] < inf for row in own) - (len(known) - n_refused)
    n_same = sum(row["to_exhaustive"] == 1.0 for row in known)
    counted = f"{len(known)} of {len(own)} (setting, promise), where the best-scored is certified"
    aside = f"the certified one of the {N_HINDSIGHT} best-scored that is cheapest on the unseen streams and keeps its promise"
    same = "the same, ninetieth percentile"
    return [
        Figure("cost : best-scored of all subsets, median", regret(own, EXHAUSTIVE, 0.5), 1.05, detail=counted),
        Figure(same, regret(own, EXHAUSTIVE, 0.9), 1.3, detail=f"the same subset in {n_same}"),
        Figure("refused where the best-scored is not", n_refused, detail=f"of {len(known)}"),
        Figure("certified where the best-scored is not", n_more, detail=f"of {len(own) - len(known)}"),
        Figure("cost : best in hindsight, median", regret(own, HINDSIGHT, 0.5), detail=aside),
        Figure(same, regret(own, HINDSIGHT, 0.9)),
        Figure(
            "best-scored : best in hindsight, median",
            regret(best, HINDSIGHT, 0.5),
            detail="the cost of imperfect scores",
        ),
        Figure(same, regret(best, HINDSIGHT, 0.9)),
        Figure(
            "cost : cost at an oracle's threshold, median", price(own, 0.5), detail="the price of certification"
        ),
        Figure(same, price(own, 0.9)),
        Figure("subsets scored, mean", float(np.mean([row["scored"] for row in own])), detail="of 511"),
    ]


def regret(rows: Sequence[Row], peer: str, share: float) -> float:
    return quantile([row[f"to_{peer}"] for row in rows], share)


def price(rows: Sequence[Row], share: float) -> float:
    """Quantile of the cost over that at the cheapest threshold that keeps the promise on the unseen streams."""
    known = [row for row in rows if row["oracle_cost"]]
    return quantile([row["cost"] / row["oracle_cost"] for row in known], share)


COLUMNS = (
    "chosen by",
    "refused",
    "broken",
    "to best-scored: median",
    "0.9",
    "to best in hindsight: median",
    "0.9",
    "price of certification: median",
    "0.9",
    "features",
    "subsets scored",
)


def cells(way: str, rows: Sequence[Row]) -> list[str]:
    """Return the results of each way to choose over all settings and promises."""
    certified = [row for row in rows if row["cost"] < inf]
    broken = sum(not row["kept"] for row in certified)
    shares = [regret(rows, peer, share) for peer in (EXHAUSTIVE, HINDSIGHT) for share in (0.5, 0.9)]
    prices = [price(rows, share) for share in (0.5, 0.9)]
    means = [float(np.mean([row[name] for row in rows])) for name in ("n_features", "scored")]
    return [
        way,
        f"{len(rows) - len(certified)} of {len(rows)}",
        f"{broken} of {len(certified)}",
        *(f"{number:.3g}" for number in (*shares, *prices, *means)),
    ]


def by_way(rows: Sequence[Row]) -> str:
    ways = list(dict.fromkeys(row["way"] for row in rows))
    lines = [COLUMNS, ("---",) * len(COLUMNS), *(cells(way, of_way(rows, way)) for way in ways)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


PARTS: Parts = {"regret": lambda: figures(measured())}


def section() -> str:
    """The figures as a section of the results."""
    text = explained(__doc__)
    rows = measured()
    return f"""
## Promises: what the search costs

`benchmarks/promise_regret.py`. {text}

{table(figures(rows))}

{by_way(rows)}

{processor()}.
"""


if __name__ == "__main__":
    main(__doc__ or "", PARTS)
