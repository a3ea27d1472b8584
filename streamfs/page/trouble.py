"""What is wrong, and what could not be read."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from streamfs.page.watched import Watched

MOST_CLOCKS = 10
"""Nodes whose clocks are shown."""

SLOW = 5.0
"""Seconds by which stamps may differ from their arrival without being shown."""

CAUSES = ("late", "duplicate", "future", "overflow")


def parts(gateway: Watched, query: Mapping[str, str]) -> dict[str, dict[str, Any]]:  # noqa: ARG001 - as all pages
    """Return what is wrong, by template."""
    now, nodes = gateway.now(), gateway.rows().nodes
    return {
        "warnings": {
            "problems": now.facts.get("problems", []),
            "warnings": now.warnings,
            "muted": [each for each in now.facts.get("warnings", []) if now.is_muted(each)],
        },
        "letters": {"letters": now.facts.get("letters", [])[::-1]},
        "orphans": {"orphans": now.facts.get("orphans", {})},
        "clocks": {"nodes": nodes, "worst": _worst(nodes), "causes": CAUSES},
    }


def _worst(nodes: Any) -> list[int]:
    """Return the nodes whose clocks are furthest off, or whose readings were left out most often."""
    if not len(nodes):
        return []
    off, left_out = np.abs(np.nan_to_num(nodes.columns["lowest"])), nodes.columns["left_out"]
    is_wrong = (off >= SLOW) | (left_out > 0)
    order = np.lexsort((-left_out, -off))
    found: list[int] = order[is_wrong[order]][:MOST_CLOCKS].tolist()
    return found
