"""Streams of pairs: all pairs of a group of nodes."""

from collections.abc import Sequence
from itertools import combinations

MAX_PAIRS = 10_000


def group_pairs(
    nodes: Sequence[str], roles: Sequence[str] = ("a", "b"), limit: int = MAX_PAIRS
) -> dict[str, dict[str, str]]:
    """Return the nodes of all pairs of a group by role, at most `limit` streams named like ``n1--n2``."""
    if len(set(roles)) != 2 or len(roles) != 2:
        raise ValueError(f"roles are {', '.join(map(repr, roles))}, expected two that differ")
    if len(nodes) < 2:
        raise ValueError(f"group has {len(nodes)} nodes, expected at least 2")
    n_pairs = len(nodes) * (len(nodes) - 1) // 2
    if n_pairs > limit:
        raise ValueError(f"group of {len(nodes)} nodes makes {n_pairs} streams, expected at most {limit}")
    repeated = next((node for position, node in enumerate(nodes) if node in nodes[:position]), None)
    if repeated is not None:
        raise ValueError(f"group has node {repeated!r} twice")
    first, second = roles
    pairs = {f"{one}--{other}": {first: one, second: other} for one, other in combinations(nodes, 2)}
    if len(pairs) < n_pairs:
        raise ValueError("group has pairs that have one name: their nodes' names contain --")
    return pairs
