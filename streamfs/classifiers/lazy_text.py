"""Lazy neighbours as readable text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from streamfs.classifiers.lazy import LazyNeighbors


def lazy_text(lazy: "LazyNeighbors", names: Sequence[str]) -> str:
    """Return the number of voters, the features that always count, and the bounds from which others join."""
    voters = "1 of {} instances votes" if lazy.n_neighbors == 1 else f"{lazy.n_neighbors} of {{}} instances vote"
    lines = [f"neighbours  {voters.format(len(lazy.values))}"]
    always, others = (np.flatnonzero(flags).tolist() for flags in (lazy.subset, lazy.joining))
    lines += [_line("always", place, names[k]) for place, k in enumerate(always)]
    lines += [_line("if unusual", place, _bounds(lazy, k, names[k])) for place, k in enumerate(others)]
    return "\n".join(lines)


def _line(title: str, place: int, text: str) -> str:
    return f"{'' if place else title:<12}{text}"


def _bounds(lazy: "LazyNeighbors", feature: int, name: str) -> str:
    low, span = lazy.stored.lows[feature], lazy.stored.spans[feature]
    mean, threshold = lazy.means[feature], lazy.thresholds[feature]
    least, most = low + (mean - threshold) * span, low + (mean + threshold) * span
    return f"{name}  at most {least:.4g}, or at least {most:.4g}"
