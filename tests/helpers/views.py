"""Views of made-up gateways, as large and as hostile as one likes."""

from time import time

import numpy as np

from streamfs.gateway.operations.view_file import pack

MODEL = {
    "digest": "0123456789abcdef",
    "classes": ["off", "on"],
    "channels": ["x", "y@delta:0.5"],
    "features": ["mean(x)", "last(y@delta:0.5)"],
    "period": 1.0,
    "time_limit": 60,
    "max_silence": None,
    "max_ages": [0, 30],
    "rule": "0.9",
    "thresholds": [[1], [0.9]],
}

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "'; DROP TABLE",
    "\u202egnp.exe",
    "a\x00b\x1b[2J\n",
    "/../../etc/passwd?x=1&y#z",
    "{{ 7 * 7 }}{% raw %}",
    "x" * 65_000,
]
"""Names that somebody may send."""


def now_facts(**changed):
    """What a gateway says that works and has nothing to report."""
    written = time()
    return {
        "name": "attic",
        "prefix": "streamfs",
        "program": "0.2.0",
        "began": written - 100.0,
        "seconds": 1.0,
        "http": None,
        "has_ended": False,
        "is_ready": True,
        "problems": [],
        "warnings": [],
        "muted": {},
        "counters": {"messages": 10},
        "gauges": {"streams_known": 3, "streams_undecided": 2, "queue": 0, "outbox": 0},
        "decided": [["confident", "on", 1]],
        "open": {MODEL["digest"]: 1},
        "energy": 0.5,
        "energy_before": 0.0,
        "unit": "joules",
        "alerts": {},
        "promise": None,
        "reopen_after": None,
        "decisions": [],
        "letters": [],
        "orphans": {},
        "devices": [],
        "rows_written": written,
        "written": written,
        **changed,
    }


def decision(stream, label="on", **changed):
    """A decision as a view has it."""
    usual = {"episode": 1, "confidence": 0.95, "tick": 4, "cost": 0.5, "reason": "confident", "time": 1.0}
    return {"id": f"{stream}/1", "stream": stream, "label": label, **usual, "at": time(), **changed}


def rows_of(names, nodes, seed=0, written=None):
    """Facts and arrays of streams in all states, each fed by the two channels of a node."""
    rng = np.random.default_rng(seed)
    n, n_nodes = len(names), len(nodes)
    status = (np.arange(n) % 3 + 1).astype(np.int8)
    written = time() if written is None else written
    slots = 2 * (np.arange(n) % n_nodes)[:, np.newaxis] + np.arange(2)
    arrays = {
        "model0.row": np.arange(n, dtype=np.int32),
        "model0.status": status,
        "model0.episode": np.ones(n, dtype=np.int32),
        "model0.tick": np.where(status == 1, 0, np.arange(n) % 50 + 1).astype(np.int32),
        "model0.start": np.arange(n, dtype=np.float64),
        "model0.confidence": np.where(status == 1, np.nan, 0.5 + 0.4 * rng.random(n)).astype(np.float32),
        "model0.slots": slots.astype(np.int32),
        "model0.value": rng.normal(size=(n, 2)).astype(np.float32),
        "model0.age": np.where(status[:, np.newaxis] == 1, [-1, 40], [0, 3]).astype(np.int32),
        "nodes.told": np.tile([True, False], (n_nodes, 1)),
        "nodes.told_at": np.full(n_nodes, written - 50.0),
        "nodes.behind": np.zeros((n_nodes, 2), dtype=np.float32),
        "nodes.battery": np.where(np.arange(n_nodes) % 2, np.nan, 80.0).astype(np.float32),
        "nodes.heard": np.full(n_nodes, written - 1.0),
        "nodes.newest": np.full(n_nodes, written - 1.5),
        **{f"nodes.{name}": np.full(n_nodes, 0.5, dtype=np.float32) for name in ("lowest", "shift", "joules")},
        **{
            f"nodes.{name}": np.zeros(n_nodes, dtype=np.int32)
            for name in ("messages", "n_readings", "n_late", "n_duplicate", "n_future", "n_overflow")
        },
    }
    facts = {"models": [MODEL], "channels": MODEL["channels"], "streams": [list(names)], "nodes": list(nodes)}
    return {**facts, "written": written}, arrays


def write_view(folder, facts, rows=None):
    """Write the files of a view into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if rows is not None:
        (folder / "streams").write_bytes(b"".join(pack(*rows)))
    fresh = folder / "now.new"
    fresh.write_bytes(b"".join(pack(facts, {})))
    fresh.replace(folder / "now")
