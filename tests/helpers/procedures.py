"""Small procedures that the tests share."""

import numpy as np

import feature_extractors as fx
from streamfs import Costs, Procedure, StreamSet
from streamfs.classifiers.tree import Tree


def step_tree(*, threshold=0.5, low=(20.0, 4.0), high=(0.0, 30.0)):
    """One test of feature 0: not above the threshold, and above it."""
    return Tree.from_json(
        {
            "feature": [0, -1, -1],
            "nominal": [False] * 3,
            "threshold": [threshold, 0.0, 0.0],
            "first_child": [1, 0, 0],
            "n_children": [2, 0, 0],
            "code": [0.0] * 3,
            "share": [1.0, 0.5, 0.5],
            "counts": [[20.0, 34.0], list(low), list(high)],
            "laplace": True,
        }
    )


def mean_procedure(*, confidence=0.9, time_limit=10, period=1.0, column="x", costs=None):
    """Says "on" as soon as the mean exceeds one half; never sure of "off"."""
    features = (fx.get(f"mean({column})"),)
    costs = Costs([2.0], [3.0], a=1.0, b=0.5) if costs is None else costs
    return Procedure(features, step_tree(), ("off", "on"), costs, confidence, time_limit, period)


def labelled_streams(n_streams=60, n_ticks=20, seed=0, *, gaps=0.0):
    """Two classes that two of four columns tell apart, the more slowly the later the stream."""
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(n_streams) % 2, "busy", "calm")
    shift = np.where(labels == "busy", 1.0, 0.0)[:, np.newaxis]
    noise = rng.normal(size=(4, n_streams, n_ticks))
    a = shift * 3 + noise[0] + rng.normal(0, 0.5, (n_streams, 1))
    b = shift * 3 + noise[1]
    values = np.stack([a, b, noise[2], noise[3]], axis=2)
    values[rng.random(values.shape) < gaps] = np.nan
    names = [f"pair-{i:03d}" for i in range(n_streams)]
    return StreamSet(values, labels, ["a.level", "b.level", "a.noise", "b.noise"], 1.0, names)


def channels_procedure(*channels, confidence=0.9, threshold=0.5, time_limit=6, period=1.0, **options):
    """The mean of each channel; says "on" as soon as that of the first exceeds the threshold."""
    features = tuple(fx.get(f"mean({channel})") for channel in channels)
    costs = Costs(np.arange(1.0, 1.0 + len(features)))
    tree = step_tree(threshold=threshold)
    return Procedure(features, tree, ("off", "on"), costs, confidence, time_limit, period, **options)
