"""Recorded streams for tests and benchmarks of the cluster: a model of ten features, and files of samples."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import feature_extractors as fx
from streamfs import Costs, Engine, Procedure
from streamfs.classifiers.tree import Tree

FEATURES = (
    *("count()", "mean(a)", "variance(a)", "min(a)", "max(a)", "slope(a)", "exponential_mean(a)"),
    *("correlation(a,b)", "mean_absolute_difference(a,b)", "flag_agreement(a,b)"),
)
N_LEAVES = 31
SILENT = 10
"""One stream in ten falls silent after five samples, so that only time ends it."""


def procedure(confidence=0.6, time_limit=30):
    """Return a model of ten features and a balanced tree; some streams get a label, some a time-out."""
    rng = np.random.default_rng(1)
    n_tests, n_nodes = N_LEAVES - 1, 2 * N_LEAVES - 1
    tree = Tree.from_json(
        {
            "feature": [*rng.integers(1, len(FEATURES), n_tests).tolist(), *[-1] * N_LEAVES],
            "nominal": [False] * n_nodes,
            "threshold": [*rng.normal(0.0, 0.3, n_tests).tolist(), *[0.0] * N_LEAVES],
            "first_child": [*(2 * node + 1 for node in range(n_tests)), *[0] * N_LEAVES],
            "n_children": [*[2] * n_tests, *[0] * N_LEAVES],
            "code": [0.0] * n_nodes,
            "share": [1.0, *[0.5] * (n_nodes - 1)],
            "counts": rng.integers(1, 50, (n_nodes, 2)).astype(float).tolist(),
            "laplace": True,
        }
    )
    features = tuple(map(fx.get, FEATURES))
    return Procedure(features, tree, ("off", "on"), Costs(np.ones(len(features))), confidence, time_limit)


class History(NamedTuple):
    """Samples in the order in which they come: stream, time and values; the late ones come much later."""

    names: np.ndarray
    streams: np.ndarray
    times: np.ndarray
    values: np.ndarray
    is_late: np.ndarray

    def table(self, part=slice(None)):
        return pa.table(
            {
                "stream": pa.array(self.names[self.streams[part]]),
                "time": self.times[part],
                "a": self.values[part, 0],
                "b": self.values[part, 1],
            }
        )

    def write(self, folder: Path, n_files):
        """Write files of as many samples each."""
        folder.mkdir(parents=True, exist_ok=True)
        for number, rows in enumerate(np.array_split(np.arange(len(self.times)), n_files)):
            pq.write_table(self.table(rows), folder / f"{number:06d}.parquet")


def history(n_streams, n_seconds, *, disorder=0.0, n_late=0, seed=0):
    """Return a second-by-second history: mixed up by less than `disorder` seconds, and some come far too late.

    The streams begin within the first ten seconds, and half of them lie a little higher.
    """
    rng = np.random.default_rng(seed)
    starts, shift = rng.integers(0, 10, n_streams), rng.choice([0.0, 0.3], n_streams)
    second, stream = (part.ravel() for part in np.mgrid[0:n_seconds, 0:n_streams])
    is_live = (second >= starts[stream]) & ((stream % SILENT > 0) | (second < starts[stream] + 5))
    second, stream = second[is_live], stream[is_live]
    values = rng.normal(size=(len(stream), 2))
    values[:, 0] += shift[stream]
    is_late = np.zeros(len(stream), bool)
    is_late[rng.choice(np.flatnonzero(second < n_seconds // 3), n_late, replace=False)] = True
    coming = second + rng.uniform(0.0, disorder, len(stream)) + np.where(is_late, n_seconds // 2, 0)
    order = np.argsort(coming, kind="stable")
    names = np.array([f"stream-{number:07d}" for number in range(n_streams)])
    return History(names, stream[order], second[order].astype(float), values[order], is_late[order])


def content(decisions):
    """Return decisions, each as `Decision.to_json` returns it, for comparison."""
    return sorted(str(decision) for decision in decisions)


def decided_by_one(recorded, model):
    """Return the decisions of an engine that takes all samples, but the late ones, by time."""
    order = np.argsort(recorded.times, kind="stable")
    order = order[~recorded.is_late[order]]
    engine = Engine(model)
    names = recorded.names[recorded.streams[order]].tolist()
    decisions = engine.push_batch(names, recorded.times[order], recorded.values[order])
    decisions += engine.expire(recorded.times.max())
    return content(decision.to_json() for decision in decisions)
