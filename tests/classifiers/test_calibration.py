"""Calibration: the meaning of the likeliest class's probability, and invariants."""

import json
from dataclasses import replace

import numpy as np
import pytest
from helpers.procedures import mean_procedure, step_tree
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from streamfs import Engine, Procedure
from streamfs.classifiers import C45Classifier, Calibration
from streamfs.classifiers.calibrated import CalibratedClassifier
from streamfs.classifiers.forest import Forest
from streamfs.classifiers.tree import Tree
from streamfs.errors import ModelError

SEEDS = st.integers(0, 2**32 - 1)
calibrations = st.builds(Calibration, slope=st.floats(0.01, 20.0), intercept=st.floats(-8.0, 8.0))


def random_rows(seed, n_rows, n_classes):
    """Probabilities with ties, zeros and ones."""
    rng = np.random.default_rng(seed)
    rows = rng.choice([0.0, 1.0, 2.0, 3.0, 1e-9, 0.1, 50.0], (n_rows, n_classes))
    rows[rows.sum(axis=1) == 0.0, 0] = 1.0
    return rows / rows.sum(axis=1, keepdims=True)


def said(rng, n, slope, intercept):
    """Confidences, and right or wrong answers drawn from such a calibration."""
    confidence = rng.uniform(0.5, 0.999, n)
    true = 1.0 / (1.0 + np.exp(-(slope * np.log(confidence / (1.0 - confidence)) + intercept)))
    return confidence, rng.random(n) < true


class TestApply:
    @given(calibration=calibrations, seed=SEEDS, n_classes=st.integers(1, 5))
    def test_the_likeliest_has_its_own_and_the_others_their_proportions(self, calibration, seed, n_classes):
        rows = random_rows(seed, 30, n_classes)
        result = calibration.apply(rows)
        best = rows.argmax(axis=1)
        assert_allclose(result.sum(axis=1), 1.0, rtol=0, atol=1e-14)
        assert result.min() >= 0.0
        assert_array_equal(result.argmax(axis=1), best)
        if n_classes == 1:
            assert_array_equal(result, 1.0)
            return
        for row, new, k in zip(rows, result, best, strict=True):
            others, kept = np.delete(row, k), np.delete(new, k)
            rest = others / others.sum() if others.sum() > 0 else np.full(len(others), 1 / len(others))
            even = 1.0 / n_classes * (1.0 + 2.0**-20 * row[k])
            assert_allclose(new[k], max(calibration.of(row[k]), even), rtol=1e-12)
            most = new[k] / (1.0 + 2.0**-20 * row[k])
            drawn = (1.0 - new[k]) * rest
            if drawn.max() > most and new[k] < 0.5 * (1.0 + 2.0**-20):
                even = (1.0 - new[k]) / len(rest)
                drawn = even + max(most - even, 0.0) / (drawn.max() - even) * (drawn - even)
            assert_allclose(kept, drawn, rtol=1e-6, atol=1e-15)
            assert new[k] > kept.max()

    @given(calibration=calibrations, seed=SEEDS)
    def test_a_row_depends_on_no_other(self, calibration, seed):
        rows = random_rows(seed, 40, 3)
        alone = [calibration.apply(row[np.newaxis])[0] for row in rows]
        assert_array_equal(calibration.apply(rows), alone)

    def test_the_first_of_equals_stays_likeliest(self):
        result = Calibration(1.0, -5.0).apply(np.array([[0.5, 0.5], [0.4, 0.6], [0.2, 0.8]]))
        assert result.argmax(axis=1).tolist() == [0, 1, 1]
        assert_allclose(result, 0.5, rtol=1e-6)

    def test_certainty_and_no_rows(self):
        calibration = Calibration(0.5, 0.0)
        assert calibration.of(1.0) > calibration.of(1.0 - 2.0**-52)
        assert_allclose(calibration.of([0.0, 0.5, 1.0]), [1e-8, 0.5, 1.0], atol=1e-8)
        assert_allclose(calibration.apply(np.array([[0.0, 1.0, 0.0]]))[0, 0], (1.0 - calibration.of(1.0)) / 2)
        assert calibration.apply(np.empty((0, 2))).shape == (0, 2)


def rows_of_few_values(seed, n_classes):
    """Probabilities, many near one half."""
    rows = np.random.default_rng(seed).integers(1, 9, (50, n_classes)).astype(float)
    return rows / rows.sum(axis=1, keepdims=True)


class TestThresholds:
    @given(calibration=calibrations, seed=SEEDS)
    def test_of_two_classes_a_row_passes_calibrated_if_and_only_if_it_did_before(self, calibration, seed):
        rows = rows_of_few_values(seed, 2)
        before, after = rows.max(axis=1), calibration.apply(rows).max(axis=1)
        for threshold in [0.5, *before]:
            calibrated = calibration.of(threshold, n_classes=2)
            if calibrated < 1.0 - 1e-13:
                assert_array_equal(after >= calibrated, before >= threshold)

    @given(calibration=calibrations, seed=SEEDS, n_classes=st.integers(3, 5))
    def test_of_more_it_does_where_the_threshold_is_above_one_half(self, calibration, seed, n_classes):
        rows = rows_of_few_values(seed, n_classes)
        before, after = rows.max(axis=1), calibration.apply(rows).max(axis=1)
        for threshold in before:
            calibrated = calibration.of(threshold, n_classes=n_classes)
            assert (after >= calibrated)[before >= threshold].all()
            if 0.5 + 1e-6 < calibrated < 1.0 - 1e-13:
                assert_array_equal(after >= calibrated, before >= threshold)

    @given(calibration=calibrations, seed=SEEDS)
    def test_of_two_classes_the_likeliest_has_its_calibrated_confidence(self, calibration, seed):
        rows = random_rows(seed, 30, 2)
        assert_array_equal(calibration.apply(rows).max(axis=1), calibration.of(rows.max(axis=1), n_classes=2))


class TestOf:
    @given(calibration=calibrations)
    def test_it_rises_strictly(self, calibration):
        confidence = np.linspace(0.01, 0.99, 60)
        calibrated = calibration.of(confidence)
        assume(calibrated.max() < 1.0 - 1e-13)
        assert (np.diff(calibrated) > 0.0).all()

    def test_it_is_the_sigmoid_of_a_line_of_the_logit(self):
        calibration = Calibration(2.0, -0.5)
        odds = np.array([1.0, 3.0, 9.0])
        expected = odds**2 * np.exp(-0.5)
        assert_allclose(calibration.of(odds / (1 + odds)), expected / (1 + expected))
        assert calibration.of(0.75).shape == ()
        assert calibration.of([[0.75], [0.5]]).shape == (2, 1)

    def test_slope_one_and_no_intercept_change_nothing(self):
        confidence = np.linspace(0.01, 0.99, 50)
        assert_allclose(Calibration(1.0, 0.0).of(confidence), confidence)


def platt_loss(confidence, right, weights):
    """Platt's loss as a function of slope and intercept, from the definition."""
    logits = np.log(confidence / (1.0 - confidence))
    n_right, n_wrong = weights[right].sum(), weights[~right].sum()
    targets = np.where(right, (n_right + 1) / (n_right + 2), 1 / (n_wrong + 2))

    def loss(terms):
        x = terms[0] * logits + terms[1]
        return (weights * (targets * np.logaddexp(0, -x) + (1 - targets) * np.logaddexp(0, x))).sum()

    return loss


class TestClock:
    """Confidence that grows with the number of samples."""

    CALIBRATION = Calibration(0.8, -0.3, growth=0.5, clock=1)

    def test_growth_is_added_to_the_logit(self):
        rows = np.array([[7.0, 1.0], [7.0, 20.0], [7.0, np.nan]])
        found = self.CALIBRATION.apply(np.array([[0.3, 0.7]] * 3), rows)[:, 1]
        expected = 1 / (1 + np.exp(-(0.8 * np.log(0.7 / 0.3) - 0.3 + 0.5 * np.log([1, 20, 1]))))
        assert_allclose(found, expected, rtol=1e-12)

    def test_a_fit_recovers_it(self):
        rng = np.random.default_rng(0)
        counts, confidence = rng.integers(1, 100, 40_000), rng.uniform(0.05, 0.95, 40_000)
        logits = 0.7 * np.log(confidence / (1 - confidence)) + 0.4 * np.log(counts) - 1.0
        right = rng.random(40_000) < 1 / (1 + np.exp(-logits))
        found = Calibration.fit(confidence, right, counts=counts, clock=3)
        assert [found.slope, found.intercept, found.growth] == pytest.approx([0.7, -1.0, 0.4], abs=0.12)
        assert found.clock == 3

    def test_few_rows_are_drawn_towards_no_calibration(self):
        found = Calibration.fit([0.6, 0.7, 0.9], [True] * 3, counts=[1, 2, 9], clock=0)
        assert Calibration.fit([0.6, 0.7, 0.9], [True] * 3).slope == 0.01
        assert 0.5 < found.slope < 1.5
        assert abs(found.growth) < 0.2

    def test_a_forest_reads_the_number_and_keeps_it_in_its_file(self):
        forest = Forest(
            feature=np.array([0, -1, -1]),
            threshold=np.array([0.5, 0.0, 0.0]),
            first_child=np.array([1, 0, 0]),
            missing_child=np.array([2, 0, 0]),
            shares=np.array([[0.5, 0.5], [0.75, 0.25], [0.0, 1.0]]),
            roots=np.array([0]),
        ).calibrated(self.CALIBRATION)
        assert forest.features_tested() == (0, 1)
        rows = np.array([[0.1, 1.0], [0.1, 30.0]])
        said = forest.probabilities(rows).max(axis=1)
        assert said[0] < said[1]
        assert_array_equal(Forest.from_arrays(forest.to_arrays()).probabilities(rows), forest.probabilities(rows))

    def test_what_has_no_number_is_refused(self):
        with pytest.raises(ValueError, match="rows are missing, whose feature 1 counts samples"):
            self.CALIBRATION.apply(np.array([[0.3, 0.7]]))
        with pytest.raises(ValueError, match="clock is -1, expected a feature, or -1 without growth"):
            Calibration(1.0, 0.0, growth=0.1)
        with pytest.raises(ValueError, match=r"counts have shape \(1,\), expected numbers of samples"):
            Calibration.fit([0.5], [True], counts=[0], clock=0)
        with pytest.raises(ModelError, match="a leaf's confidence knows no number of samples"):
            replace(step_tree(), calibration=self.CALIBRATION)
        assert isinstance(step_tree().calibrated(self.CALIBRATION), CalibratedClassifier)


class TestFit:
    @given(seed=SEEDS, n=st.integers(2, 80), slope=st.floats(0.2, 3.0), intercept=st.floats(-1.0, 1.0))
    def test_no_other_numbers_are_likelier(self, seed, n, slope, intercept):
        rng = np.random.default_rng(seed)
        confidence, right = said(rng, n, slope, intercept)
        weights = rng.choice([0.25, 1.0, 3.0], n)
        found = Calibration.fit(confidence, right, weights)
        loss = platt_loss(confidence, right, weights)
        ours = loss([found.slope, found.intercept])
        best = minimize(loss, [1.0, 0.0], method="Nelder-Mead", bounds=[(0.01, None), (None, None)])
        assert ours <= best.fun + 1e-6 * weights.sum()

    def test_it_recovers_a_calibration(self):
        confidence, right = said(np.random.default_rng(0), 40_000, 0.6, -0.2)
        found = Calibration.fit(confidence, right)
        assert found.slope == pytest.approx(0.6, abs=0.03)
        assert found.intercept == pytest.approx(-0.2, abs=0.05)

    def test_it_is_finite_if_all_were_right(self):
        found = Calibration.fit([0.6, 0.7, 0.9, 1.0], [True] * 4)
        assert found.slope == 0.01
        assert_allclose(found.of([0.6, 0.9]), 5 / 6, atol=0.02)
        none = Calibration.fit([0.6, 0.7, 0.9, 0.5], [False] * 4)
        assert_allclose(none.of([0.6, 0.9]), 1 / 6, atol=0.02)

    def test_inverted_confidences_get_the_least_slope(self):
        confidence = np.linspace(0.55, 0.95, 200)
        found = Calibration.fit(confidence, confidence < 0.7)
        assert found.slope == 0.01
        assert_allclose(found.of(confidence).mean(), (confidence < 0.7).mean(), atol=0.01)

    @pytest.mark.parametrize("confidence", [0.5, 0.9, 1.0])
    def test_equal_confidences_are_as_often_right_as_they_were(self, confidence):
        found = Calibration.fit(np.full(1000, confidence), np.arange(1000) < 700)
        assert_allclose(found.of(confidence), 0.7, atol=1e-3)

    def test_one_row_is_enough(self):
        assert_allclose(Calibration.fit([0.5], [True]).of(0.5), 2 / 3)

    @given(seed=SEEDS)
    def test_whole_weights_are_repeated_rows(self, seed):
        rng = np.random.default_rng(seed)
        confidence, right = said(rng, 60, 1.0, 0.0)
        repeats = rng.integers(0, 4, 60)
        repeats[0] = 1
        one = Calibration.fit(confidence, right, repeats)
        other = Calibration.fit(np.repeat(confidence, repeats), np.repeat(right, repeats))
        assert_allclose([one.slope, one.intercept], [other.slope, other.intercept], rtol=1e-4, atol=1e-4)

    def test_the_same_rows_give_the_same_bits(self):
        confidence, right = said(np.random.default_rng(1), 5000, 0.8, 0.1)
        assert Calibration.fit(confidence, right) == Calibration.fit(confidence.copy(), right.copy())

    @pytest.mark.parametrize(
        ("confidence", "right", "weights", "message"),
        [
            ([0.5, 1.5], [True, False], None, r"a probability is 1\.5, expected one in \[0, 1\]"),
            ([0.5, np.nan], [True, False], None, "a probability is nan"),
            ([], [], None, r"confidence has shape \(0,\), expected one dimension and some rows"),
            ([0.5], [1], None, "right is int64 of shape"),
            ([0.5], [True, False], None, r"right is bool of shape \(2,\), expected bool of \(1,\)"),
            ([0.5, 0.6], [True, False], [1.0], r"weights have shape \(1,\), expected \(2,\)"),
            ([0.5, 0.6], [True, False], [1.0, -1.0], r"weights are -1\.0 to 1\.0"),
            ([0.5, 0.6], [True, False], [0.0, 0.0], r"weights are 0\.0 to 0\.0"),
            ([0.5, 0.6], [True, False], [1.0, np.inf], r"weights are 1\.0 to inf"),
            ([0.5, 0.6], [True, False], [1.0, np.nan], "weights are nan"),
        ],
    )
    def test_invalid_rows_are_refused(self, confidence, right, weights, message):
        with pytest.raises(ValueError, match=message):
            Calibration.fit(confidence, right, weights)


@pytest.mark.parametrize(
    ("slope", "intercept", "message"),
    [
        (0.0, 0.0, r"slope is 0\.0, expected a positive number"),
        (-1.0, 0.0, r"slope is -1\.0"),
        (np.nan, 0.0, "slope is nan"),
        (np.inf, 0.0, "slope is inf"),
        (1.0, np.nan, "intercept is nan, expected a finite number"),
    ],
)
def test_invalid_slopes_and_intercepts_are_refused(slope, intercept, message):
    with pytest.raises(ValueError, match=message):
        Calibration(slope, intercept)


def test_rows_that_are_not_probabilities_are_refused():
    with pytest.raises(ValueError, match=r"have shape \(2,\), expected \(n, n_classes\)"):
        Calibration(1.0, 0.0).apply(np.array([0.5, 0.5]))
    with pytest.raises(ValueError, match=r"a probability is -0\.5"):
        Calibration(1.0, 0.0).apply(np.array([[-0.5, 1.5]]))


@pytest.mark.parametrize("laplace", [True, False])
def test_a_calibrated_tree_calibrates_its_leaves(laplace):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.digitize(X[:, 0] + rng.normal(size=300), [-1.0, 1.0])
    tree, calibration = C45Classifier(laplace=laplace).fit(X, y).tree_, Calibration(0.7, -0.1)
    calibrated = tree.calibrated(calibration)
    assert tree.n_leaves > 4
    assert_array_equal(calibrated.probabilities(X), calibration.apply(tree.probabilities(X)))
    assert_array_equal(calibrated.ways["confidence"], calibrated.confidence.max(axis=1))
    assert_array_equal(calibrated.calibrated(None).probabilities(X), tree.probabilities(X))
    again = Tree.from_json(json.loads(json.dumps(calibrated.to_json())))
    assert again.calibration == calibration
    assert_array_equal(again.probabilities(X), calibrated.probabilities(X))
    assert "calibration" not in tree.to_json()


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([1.0], r"tree.calibration is \[1\.0\], expected a list of slope and intercept, perhaps"),
        ([1, 2.0], r"tree.calibration is \[1, 2\.0\]"),
        ("1.0", "tree.calibration is '1.0'"),
        (None, "tree.calibration is None"),
        ([-1.0, 0.0], r"tree.calibration: slope is -1\.0, expected a positive number"),
    ],
)
def test_a_trees_damaged_calibration_is_named(numbers, message):
    with pytest.raises(ModelError, match=message):
        Tree.from_json({**step_tree().to_json(), "calibration": numbers})


def test_a_calibrated_tree_is_saved_with_its_calibration(tmp_path):
    procedure = mean_procedure()
    calibrated = replace(procedure, classifier=procedure.classifier.calibrated(Calibration(0.5, 0.1)))
    calibrated.save(tmp_path / "m.streamfs")
    loaded = Procedure.load(tmp_path / "m.streamfs")
    assert loaded.classifier.calibration == Calibration(0.5, 0.1)
    assert loaded.text() == calibrated.text()
    assert loaded.text().splitlines()[-1] == "calibrated  slope 0.5, intercept 0.1"
    assert Engine(calibrated).push("s", 0.0, [1.0]) is None, "calibrated, it is not sure enough"
    assert Engine(procedure).push("s", 0.0, [1.0]).label == "on"
