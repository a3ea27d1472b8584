"""Forests: probabilities, validation of model files, and use in a procedure."""

import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from helpers.one_by_one import check_one_by_one
from helpers.random_models import random_forest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import extra_trees as naive

import feature_extractors as fx
from streamfs import Costs, Engine, Procedure, StreamSet, evaluate
from streamfs.base import container
from streamfs.classifiers import Calibration, ExtraTreesClassifier, Forest
from streamfs.classifiers._forest import BLOCK, GROUP
from streamfs.classifiers.forest_text import MOST_LISTED, forest_text
from streamfs.data.feature_table import tabulate
from streamfs.errors import ModelError
from streamfs.evaluation.trajectories import Trajectories

NAN = float("nan")
SEEDS = st.integers(0, 2**32 - 1)


def random_rows(seed, n_rows, n_features):
    rng = np.random.default_rng(seed)
    return rng.choice([-2.0, -1.0, -0.0, 0.0, 0.5, 0.7, 1e301, np.inf, -np.inf, NAN], (n_rows, n_features))


class TestProbabilities:
    @settings(max_examples=60)
    @given(
        seed=SEEDS,
        n_rows=st.integers(1, 2 * GROUP + 1),
        n_trees=st.integers(1, 6) | st.sampled_from([GROUP, GROUP + 1, 300]),
        n_classes=st.integers(1, 7),
    )
    def test_are_the_mean_of_the_leaves(self, seed, n_rows, n_trees, n_classes):
        forest = random_forest(seed, n_classes=n_classes, n_trees=n_trees)
        rows, roots = random_rows(seed, n_rows, 3), naive.nested(forest)
        assert_array_equal(forest.probabilities(rows), [naive.evaluate(roots, row.tolist()) for row in rows])

    @pytest.mark.parametrize("n_rows", [0, 1, GROUP - 1, GROUP + 1, BLOCK, BLOCK + 1, 2 * BLOCK + 17])
    @pytest.mark.parametrize("calibration", [None, Calibration(0.7, 0.2), Calibration(0.7, 0.2, 0.5, clock=1)])
    @pytest.mark.parametrize("n_trees", [4, 2 * GROUP + 1])
    def test_of_a_row_depend_on_no_other(self, n_rows, calibration, n_trees):
        forest, rows = random_forest(1, n_trees=n_trees).calibrated(calibration), random_rows(1, n_rows, 3)
        alone = [forest.probabilities(row[np.newaxis])[0] for row in rows]
        assert_array_equal(forest.probabilities(rows), np.reshape(alone, (n_rows, 3)))

    def test_are_the_same_for_rows_of_the_features_that_are_tested(self):
        forest, rows = random_forest(3), random_rows(3, 50, 9)
        wide = replace(forest, feature=np.where(forest.feature < 0, -1, 4 * forest.feature))
        kept = [0, 2, 4, 7, 8]
        assert_array_equal(wide.reading(kept).probabilities(rows[:, kept]), wide.probabilities(rows))

    @given(seeds=st.lists(SEEDS, min_size=1, max_size=3), n_trees=st.integers(1, 5))
    def test_of_forests_together_are_the_mean_of_all_trees(self, seeds, n_trees):
        forests, rows = [random_forest(seed, n_trees=n_trees) for seed in seeds], random_rows(seeds[0], 20, 3)
        mean = np.mean([forest.probabilities(rows) for forest in forests], axis=0)
        assert_allclose(Forest.together(forests).probabilities(rows), mean, rtol=1e-12)

    def test_are_the_same_where_features_stand_in_other_places(self):
        forest, rows, places = random_forest(3), random_rows(3, 50, 3), [4, 0, 2]
        wide = np.full((50, 5), NAN)
        wide[:, places] = rows
        assert_array_equal(forest.placed(places).probabilities(wide), forest.probabilities(rows))

    def test_do_not_depend_on_how_rows_lie_in_memory(self):
        forest, rows = random_forest(2), random_rows(2, 50, 3)
        expected, fixed = forest.probabilities(rows), rows.copy()
        fixed.flags.writeable = False
        for same in (np.asfortranarray(rows), np.repeat(rows, 2, axis=0)[::2], fixed, rows.tolist()):
            assert_array_equal(forest.probabilities(same), expected)

    @given(seed=SEEDS, calibration=st.sampled_from([Calibration(1.5, -0.3), Calibration(0.7, 0.1, 0.5, clock=2)]))
    @settings(max_examples=30)
    def test_calibrated_are_those_of_the_calibration(self, seed, calibration):
        forest, rows = random_forest(seed), random_rows(seed, 20, 3)
        calibrated = forest.calibrated(calibration)
        assert_array_equal(calibrated.probabilities(rows), calibration.apply(forest.probabilities(rows), rows))
        assert_array_equal(calibrated.calibrated(None).probabilities(rows), forest.probabilities(rows))

    def test_of_trees_without_a_test_are_those_of_the_roots(self):
        shares = np.array([[0.25, 0.75], [0.75, 0.25]])
        forest = Forest(np.array([-1, -1]), np.zeros(2), *np.zeros((2, 2), int), shares, np.array([0, 1]))
        assert forest.features_tested() == ()
        assert_array_equal(forest.probabilities(np.empty((3, 0))), 0.5)

    def test_need_a_matrix_with_the_features_that_are_tested(self):
        forest = random_forest(3)
        with pytest.raises(ValueError, match="X has 1 dimensions, expected 2"):
            forest.probabilities(np.zeros(3))
        with pytest.raises(ValueError, match="X has 2 features, expected at least 3"):
            forest.probabilities(np.zeros((4, 2)))


ARRAYS = {
    "feature": [1, -1, 0, -1, -1, -1],
    "threshold": [0.5, 0.0, 1.5, 0.0, 0.0, 0.0],
    "first_child": [1, 0, 3, 0, 0, 0],
    "missing_child": [2, 0, 3, 0, 0, 0],
    "shares": [[0.5, 0.5], [1.0, 0.0], [0.25, 0.75], [0.5, 0.5], [0.0, 1.0], [0.75, 0.25]],
    "roots": [0, 5],
    "calibration": [0.5, 0.1],
}


def arrays(**changes):
    """The arrays of a valid forest of two trees, some of them replaced."""
    return {name: np.array(changes.get(name, table)) for name, table in ARRAYS.items()}


def changed(name, place, value):
    table = np.array(ARRAYS[name])
    table[place] = value
    return {name: table}


class TestArrays:
    @given(seed=SEEDS, is_calibrated=st.booleans())
    @settings(max_examples=30)
    def test_keep_every_bit(self, seed, is_calibrated):
        calibration = Calibration(0.1 + seed / 2**31, -0.1) if is_calibrated else None
        forest = random_forest(seed).calibrated(calibration)
        again = Forest.from_arrays(forest.to_arrays())
        assert again.calibration == calibration
        for name, array in forest.to_arrays().items():
            assert_array_equal(again.to_arrays()[name], array, strict=True)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (changed("feature", 0, -2), "forest.feature is -2 at node 0, expected -1 to"),
            (changed("feature", 0, 2**40), "forest.feature is 1099511627776 at node 0"),
            (changed("feature", 0, -1), "forest.first_child is 1 at node 0, expected 0 at a leaf"),
            ({"feature": np.array(ARRAYS["feature"], float)}, r"forest.feature is of float64 and shape \(6,\)"),
            (
                {"feature": [1, -1]},
                r"forest.feature is of int64 and shape \(2,\), expected int64 and shape \(6,\)",
            ),
            (changed("threshold", 2, NAN), "forest.threshold is nan at node 2, expected a finite number"),
            (changed("threshold", 2, np.inf), "forest.threshold is inf at node 2"),
            (changed("first_child", 0, 0), "forest.first_child is 0 at node 0|missing_child is 2 at node 0"),
            (
                changed("first_child", 2, 1) | changed("missing_child", 2, 1),
                "first_child is 1 at node 2, .* behind",
            ),
            (
                changed("first_child", 2, 4) | changed("missing_child", 2, 4),
                "first_child is 4 at node 2, .* in its tr",
            ),
            (changed("first_child", 2, 2**62) | changed("missing_child", 2, 2**62), "first_child is .* at node 2"),
            (changed("first_child", 2, -4) | changed("missing_child", 2, -4), "first_child is -4 at node 2"),
            (
                changed("first_child", 0, 3) | changed("missing_child", 0, 3),
                "first_child is 0 at node 1, .* parent",
            ),
            (changed("first_child", 1, 3), "forest.first_child is 3 at node 1, expected 0 at a leaf"),
            (changed("missing_child", 0, 3), "forest.missing_child is 3 at node 0, expected one of the children"),
            (changed("missing_child", 1, 1), "forest.missing_child is 1 at node 1, expected 0 at a leaf"),
            (changed("shares", (3, 0), -0.5), r"forest.shares is \[-0.5  0.5\] at node 3, expected shares in"),
            (changed("shares", 3, [1.0 + 5e-10, 0.0]), "forest.shares is .* at node 3, expected shares in"),
            (changed("shares", (3, 0), 0.6), r"forest.shares is \[0.6 0.5\] at node 3, expected .* sum to 1"),
            (changed("shares", (3, 0), NAN), r"forest.shares is \[nan 0.5\] at node 3"),
            ({"shares": np.empty((0, 2))}, r"forest.shares has shape \(0, 2\), expected 1 to"),
            ({"shares": np.empty((6, 0))}, r"forest.shares has shape \(6, 0\), expected .* some classes"),
            ({"shares": [0.5] * 6}, r"forest.shares has shape \(6,\)"),
            ({"roots": np.empty(0, int)}, "forest.roots is empty, expected at least one tree"),
            ({"roots": [1, 5]}, "forest.roots is 1 at tree 0, expected 0"),
            ({"roots": [0, 0]}, "forest.roots is 0 at tree 1, expected above 0, below 6"),
            ({"roots": [0, 6]}, "forest.roots is 6 at tree 1, expected above 0, below 6"),
            ({"roots": [0]}, "forest.first_child is 0 at node 5, expected one parent"),
            ({"roots": [0, 4, 5]}, "forest.first_child is 3 at node 2, expected two children .* in its tree"),
            ({"roots": [[0, 5]]}, r"forest.roots is of int64 and shape \(1, 2\)"),
            ({"calibration": [1.0]}, r"forest.calibration is \[1.0\], expected a list of slope and intercept"),
            ({"calibration": [1, 2]}, r"forest.calibration is \[1, 2\]"),
            ({"calibration": [0.0, 1.0]}, r"forest.calibration: slope is 0\.0"),
            ({"calibration": [1.0, NAN]}, "forest.calibration: intercept is nan"),
        ],
    )
    def test_that_are_damaged_are_named(self, change, message):
        Forest.from_arrays(arrays())
        with pytest.raises(ModelError, match=message):
            Forest.from_arrays(arrays(**change))

    @given(
        seed=SEEDS,
        name=st.sampled_from(["feature", "first_child", "missing_child", "roots"]),
        number=st.integers(-2, 40) | st.sampled_from([-(2**63), 2**31, 2**32 + 1, 2**63 - 1]),
    )
    @settings(max_examples=300)
    def test_that_are_let_through_are_a_forest(self, seed, name, number):
        rng, rows = np.random.default_rng(seed), random_rows(seed, 10, 41)
        arrays = random_forest(seed, n_trees=2).to_arrays()
        table = arrays[name].copy()
        table[rng.integers(len(table))] = number
        try:
            forest = Forest.from_arrays({**arrays, name: table})
        except ModelError:
            return
        roots = naive.nested(forest)
        assert_array_equal(forest.probabilities(rows), [naive.evaluate(roots, row.tolist()) for row in rows])

    @pytest.mark.parametrize("name", ARRAYS)
    def test_that_are_missing_or_unknown_are_named(self, name):
        found = arrays()
        del found[name]
        with pytest.raises(ModelError, match=f"forest.{name} is missing"):
            Forest.from_arrays(found)
        with pytest.raises(ModelError, match=r"forest\.code is not a field of a forest"):
            Forest.from_arrays({**arrays(), "code": np.zeros(6)})


def forest_procedure(seed, *, confidence=0.75, time_limit=9):
    """Calibrated extra trees on the means of two columns and the newest value of a third."""
    rng = np.random.default_rng(seed)
    features = (fx.get("mean(x)"), fx.get("mean(y)"), fx.get("last(z)"))
    X = np.round(rng.normal(size=(200, 3)), 1)
    y = np.digitize(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=200), [-0.5, 0.7])
    X[rng.random(X.shape) < 0.1] = NAN
    forest = ExtraTreesClassifier(10, min_leaf=2.0, random_state=seed).fit(X, y).forest_
    calibrated = forest.calibrated(Calibration(1.4, 0.1))
    costs = Costs([1.0, 2.0, 3.0])
    return Procedure(features, calibrated, ("low", "middle", "high"), costs, confidence, time_limit, 0.5)


def random_stream(rng, n_ticks):
    samples = np.round(rng.normal(rng.normal(0, 1, 3), 1.0, (n_ticks, 3)), 1)
    samples[1:][rng.random((n_ticks - 1, 3)) < 0.2] = NAN
    return samples


class TestProcedure:
    @given(seed=st.integers(0, 200), size=st.integers(1, 40))
    @settings(max_examples=30)
    def test_samples_may_come_one_by_one_or_together_and_through_a_snapshot(self, seed, size):
        check_one_by_one(forest_procedure(seed % 5), np.random.default_rng(seed), 3, 1, size)

    @given(seed=st.integers(0, 200))
    @settings(max_examples=20)
    def test_an_engine_decides_as_trajectories_do(self, seed):
        rng, procedure = np.random.default_rng(seed), forest_procedure(seed % 5)
        values = np.stack([random_stream(rng, 12) for _ in range(20)])
        streams = StreamSet(
            values, rng.choice(procedure.classes, 20), ["x", "y", "z"], 0.5, lengths=rng.integers(1, 13, 20)
        )
        decisions = evaluate(procedure, streams).decisions
        trajectories = Trajectories.of(procedure.classifier, tabulate(streams, procedure.features), 9)
        found, ticks = trajectories.decide(procedure.confidence)
        assert [None if i < 0 else procedure.classes[i] for i in found] == [d.label for d in decisions]
        assert ticks.tolist() == [d.tick for d in decisions]
        said = trajectories.confidence[np.arange(20), ticks - 1]
        assert_array_equal([d.confidence for d in decisions], said)
        assert any(d.label for d in evaluate(replace(procedure, confidence=0.5), streams).decisions)

    def test_a_saved_forest_decides_alike(self, tmp_path):
        rng, procedure = np.random.default_rng(0), forest_procedure(0)
        procedure.save(tmp_path / "m.streamfs")
        loaded = Procedure.load(tmp_path / "m.streamfs")
        assert (loaded.digest, loaded.text()) == (procedure.digest, procedure.text())
        assert replace(loaded).packed == procedure.packed
        one, other = Engine(procedure), Engine(loaded)
        decisions = []
        for name in "abcdef":
            for tick, sample in enumerate(random_stream(rng, 9)):
                decisions.append(repr(one.push(name, 0.5 * tick, sample)))
                assert decisions[-1] == repr(other.push(name, 0.5 * tick, sample))
        assert len(set(decisions)) > 4

    @pytest.mark.parametrize("change", [{"roots": np.array([1, 5])}, {"feature": np.array([9])}, {"shares": None}])
    def test_a_damaged_model_file_is_refused_by_name(self, tmp_path, change):
        header, parts, _ = container.unpack(forest_procedure(0).packed, "model", 1, "it")
        parts = dict(parts)
        for name, array in change.items():
            del parts[f"forest.{name}"]
            parts |= {} if array is None else {f"forest.{name}": array}
        (tmp_path / "m.streamfs").write_bytes(container.pack("model", 1, header, parts))
        with pytest.raises(ModelError, match=rf"m\.streamfs is damaged: forest\.{next(iter(change))} "):
            Procedure.load(tmp_path / "m.streamfs")

    def test_a_forest_that_tests_what_is_not_read_is_refused(self):
        procedure = forest_procedure(0)
        forest = procedure.classifier
        moved = replace(forest, feature=np.where(forest.feature == 2, 3, forest.feature))
        with pytest.raises(ValueError, match="the classifier tests feature 3, expected at most 2"):
            replace(procedure, classifier=moved)
        with pytest.raises(ValueError, match="the classifier knows 3 classes"):
            replace(procedure, classes=("low", "high"))

    def test_a_person_reads_its_size_and_what_it_cuts(self):
        forest = Forest.from_arrays(arrays())
        assert forest_text(forest, ["mean(x)", "mean(y)"]).splitlines() == [
            "forest      2 trees, 6 nodes",
            "cuts         50 %  mean(x)",
            "             50 %  mean(y)",
            "calibrated  slope 0.5, intercept 0.1",
        ]
        lines = forest_procedure(0).text().splitlines()
        assert lines[-5].startswith("forest      10 trees, ")
        shares = [float(line[12:16]) for line in lines[-4:-1]]
        assert shares == sorted(shares, reverse=True)
        assert_allclose(sum(shares), 100.0, atol=2.0)

    def test_of_many_features_the_channels_are_named_and_what_is_cut_the_most(self):
        names = [f"mean(t; window={n})" for n in range(2, 12)] + ["correlation(t, u)", "count()", "last(v)"]
        features = tuple(map(fx.get, names))
        X = np.random.default_rng(0).normal(size=(300, len(names)))
        forest = ExtraTreesClassifier(5, random_state=0).fit(X, X[:, 3] + 0.1 * X[:, 5] > 0).forest_
        costs = Costs(np.arange(len(names)) / 2)
        lines = Procedure(features, forest, ("no", "yes"), costs, 0.9, 9, 1.0).text().splitlines()
        assert lines[3:7] == [
            "features    13, of these channels  (each-time cost 39 together)",
            "            t",
            "            u",
            "            v",
        ]
        (first,) = (place for place, line in enumerate(lines) if line.startswith("cuts"))
        cuts = lines[first:]
        assert cuts[0].endswith("mean(t; window=5)")
        assert cuts[MOST_LISTED].endswith("%  7 others")
        assert len(cuts) == MOST_LISTED + 1
        assert_allclose(sum(float(line[12:16]) for line in cuts), 100.0, atol=4.0)

    @pytest.mark.parametrize(("n_features", "last"), [(MOST_LISTED, r"f\d"), (MOST_LISTED + 1, "1 other")])
    def test_all_cuts_are_counted(self, n_features, last):
        X = np.random.default_rng(0).normal(size=(300, n_features))
        forest = ExtraTreesClassifier(5, random_state=0).fit(X, X @ np.arange(n_features, 0, -1) > 0).forest_
        lines = forest_text(forest, [f"f{i}" for i in range(n_features)]).splitlines()[1:]
        assert len(lines) == n_features
        assert re.search(f"%  {last}$", lines[-1])
        assert_allclose(sum(float(line[12:16]) for line in lines), 100.0, atol=4.0)


def test_a_gateway_needs_no_scikit_learn():
    code = (
        "import sys, streamfs.classifiers.forest, streamfs.procedure.procedure; "
        "sys.exit(any(name in sys.modules for name in ('sklearn', 'joblib', 'scipy.stats')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, env=os.environ).returncode == 0
