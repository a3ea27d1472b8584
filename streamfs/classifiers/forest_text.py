"""A forest as readable text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from streamfs.classifiers.forest import Forest

MOST_LISTED = 6
"""Features listed with their shares of the cuts."""


def forest_text(forest: "Forest", names: Sequence[str]) -> str:
    """Return the forest's size, its most frequently cut features by `names`, and its calibration."""
    tested, n_cuts = np.unique(forest.feature[forest.feature >= 0], return_counts=True)
    lines = [f"forest      {_counted(forest.n_trees, 'tree')}, {_counted(forest.n_nodes, 'node')}"]
    often = np.argsort(-n_cuts, kind="stable")
    shares = [(n_cuts[k], names[tested[k]]) for k in often[:MOST_LISTED]]
    if len(often) > MOST_LISTED:
        rest = often[MOST_LISTED:]
        shares.append((n_cuts[rest].sum(), _counted(len(rest), "other")))
    for place, (count, name) in enumerate(shares):
        lines.append(f"{'' if place else 'cuts':<12}{100.0 * count / n_cuts.sum():3.0f} %  {name}")
    if forest.calibration is not None:
        lines.append(f"calibrated  {forest.calibration.text()}")
    return "\n".join(lines)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
