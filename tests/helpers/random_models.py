"""Trees, forests and procedures of random shapes."""

import numpy as np
from hypothesis import strategies as st

import feature_extractors as fx
from streamfs import Costs, Procedure
from streamfs.classifiers import BoostedTrees, Calibration, Forest
from streamfs.classifiers._forest_fields import TABLES
from streamfs.classifiers.tree import Tree
from streamfs.procedure import TickThresholds


def random_tree(rng, n_features, n_classes=3, n_tests=8):
    """Numeric tests, and nominal ones of whole numbers from 0 to 3; some branches have no training weight."""
    feature, nominal, threshold, first, n_children, code, share = [-1], [False], [0.0], [0], [0], [0.0], [1.0]
    for _ in range(n_tests):
        node = int(rng.choice([i for i, tested in enumerate(feature) if tested < 0]))
        is_nominal = bool(rng.random() < 0.3)
        codes = sorted(rng.choice(4, rng.integers(2, 5), replace=False).tolist()) if is_nominal else [0, 0]
        feature[node], nominal[node] = int(rng.integers(n_features)), is_nominal
        threshold[node] = 0.0 if is_nominal else float(rng.normal(1, 1))
        first[node], n_children[node] = len(feature), len(codes)
        shares = rng.random(len(codes)) * (rng.random(len(codes)) < 0.8)
        shares = shares / shares.sum() if shares.sum() > 0 else np.full(len(codes), 1 / len(codes))
        for child, weight in zip(codes, shares.tolist(), strict=True):
            for column, value in zip(
                (feature, nominal, threshold, first, n_children, code, share),
                (-1, False, 0.0, 0, 0, float(child), weight),
                strict=True,
            ):
                column.append(value)
    return Tree.from_json(
        {
            "feature": feature,
            "nominal": nominal,
            "threshold": threshold,
            "first_child": first,
            "n_children": n_children,
            "code": code,
            "share": share,
            "counts": (rng.integers(0, 9, (len(feature), n_classes)) + 0.5).tolist(),
            "laplace": bool(rng.random() < 0.5),
        }
    )


def random_forest(seed, n_features=3, n_classes=3, n_trees=4):
    """Trees of random shapes and shares."""
    rng = np.random.default_rng(seed)
    tables = {name: [] for name in ("feature", "threshold", "first_child", "missing_child", "shares", "roots")}
    for _ in range(n_trees):
        root = len(tables["feature"])
        tables["roots"].append(root)
        n_nodes, node = 1, 0
        while node < n_nodes:
            is_test = n_nodes < 30 and rng.random() < 0.7
            first = root + n_nodes if is_test else 0
            tables["feature"].append(rng.integers(n_features) if is_test else -1)
            tables["threshold"].append(rng.choice([-1.0, 0.0, 0.5, 1e300]) if is_test else 0.0)
            tables["first_child"].append(first)
            tables["missing_child"].append(first + rng.integers(2) if is_test else 0)
            tables["shares"].append(rng.dirichlet(np.ones(n_classes)))
            n_nodes, node = n_nodes + 2 * is_test, node + 1
    return Forest(**{name: np.array(table) for name, table in tables.items()})


def boosted(forest, rng):
    """The same trees, which add to scores of classes."""
    scores = rng.normal(0.0, 2.0 / np.sqrt(forest.n_trees), forest.shares.shape)
    tables = {name: getattr(forest, name) for name in TABLES}
    return BoostedTrees(**(tables | {"shares": scores}))


def any_forest(rng, n_features):
    """1 to 300 trees of 2 to 7 classes, some boosted; most calibrated, some with feature 0 as their clock."""
    calibrations = [None, Calibration(0.7, 0.2), Calibration(1.5, -0.3, 0.4, clock=0)]
    n_trees, n_classes = int(rng.choice([1, 3, 15, 16, 17, 60, 300])), int(rng.integers(2, 8))
    forest = random_forest(int(rng.integers(2**32)), n_features, n_classes, n_trees)
    if rng.random() < 0.3:
        forest = boosted(forest, rng)
    return forest.calibrated(calibrations[rng.integers(3)])


def any_classifier(rng, n_features):
    """A tree or a forest: what an engine's compiled pass evaluates."""
    return random_tree(rng, n_features) if rng.random() < 0.5 else any_forest(rng, n_features)


def random_procedure(rng, classifier=None, b="b", **options):
    """Five features of two channels, and a random tree unless there is another classifier."""
    features = tuple(map(fx.get, ("count()", "mean(a)", f"last({b})", "variance(a)", f"correlation(a, {b})")))
    classifier = random_tree(rng, len(features)) if classifier is None else classifier
    classes, costs = tuple("tuvwxyz"[: classifier.n_classes]), Costs(np.ones(len(features)))
    return Procedure(features, classifier, classes, costs, rng.choice([0.5, 0.7]), 9, 0.5, **options)


@st.composite
def tick_thresholds(draw, time_limit=9):
    """Any thresholds by tick, some of them 0, never reached, or from a later tick; some give streams up."""
    ticks = tuple(sorted(draw(st.sets(st.integers(1, time_limit), min_size=1, max_size=6))))
    level = st.sampled_from([0.0, 0.4, 0.5, 0.6, 0.7, 0.9, 1.0])
    levels, floors = (draw(st.lists(level, min_size=len(ticks), max_size=len(ticks))) for _ in range(2))
    return TickThresholds(ticks, tuple(levels), tuple(floors) if draw(st.booleans()) else ())
