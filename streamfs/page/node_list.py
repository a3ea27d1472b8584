"""The list of nodes: when each was heard, what it was told, and what it does."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from streamfs.page.stream_list import page_of
from streamfs.page.tables import CONDUCTS
from streamfs.page.watched import Watched

SORTS = {
    "name": "name",
    "heard": "silent for longest first",
    "-joules": "most spent first",
    "-lowest": "clock furthest behind first",
    "lowest": "clock furthest ahead first",
    "battery": "emptiest battery first",
    "-left_out": "most left out first",
    "conduct": "what needs attention first",
}


def parts(gateway: Watched, query: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return what the list shows, by template."""
    rows, facts = gateway.rows(), gateway.now().facts
    table = rows.nodes
    only = table.with_conduct(query.get("does", ""))
    shown = page_of(query, table.chosen(query.get("q", ""), only, query.get("sort", "name")))
    return {
        "node_rows": {
            "table": table,
            "shown": shown,
            "counts": table.counts(),
            "conducts": CONDUCTS,
            "devices": {device["node"]: device for device in facts.get("devices", [])},
            "has_batteries": bool(np.isfinite(table.columns.get("battery", np.zeros(0))).any()),
            "unit": facts.get("unit", "joules"),
            "written": rows.written,
            "query": query,
        },
    }
