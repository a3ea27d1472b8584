"""Promises and their tests, compared with exact integer arithmetic."""

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from oracles.promises import accuracy_p_value, binomial_tail, completeness_p_value, exact, fewest_labelled

from streamfs.training.promises import Promise
from streamfs.training.promises.promise import ACCURACY_PART, failures_allowed

shares = st.integers(1, 99).map(lambda percent: percent / 100)
risks = st.sampled_from([0.0137, 0.0513, 0.1037, 0.2019, 0.5003, 0.9001])  # no tail of whole hundredths is one
sizes = st.integers(0, 300)


def lower(n, promised, risk):
    """Failures that a test of n streams allows, counted one by one; -1 if none passes."""
    allowed = -1
    while n and binomial_tail(n, 1 - exact(promised), allowed + 1) <= risk:
        allowed += 1
    return allowed


def both(promise, n):
    """P-value and risk of each test of streams that are all labelled rightly."""
    accurate = promise.accuracy_p_values(n, n), promise.accuracy_risk
    if promise.completeness is None:
        return [accurate]
    return [accurate, (promise.completeness_p_values(n, n), promise.completeness_risk)]


class TestWhatMayBePromised:
    @pytest.mark.parametrize("name", ["accuracy", "completeness", "risk"])
    @pytest.mark.parametrize("value", [0, 1, 1.5, -0.1, float("nan"), float("inf"), True])
    def test_shares_lie_between_0_and_1(self, name, value):
        with pytest.raises(ValueError, match=f"{name} is {value}, expected more than 0 and less than 1"):
            Promise(**{name: value})

    @pytest.mark.parametrize("name", ["accuracy", "completeness", "risk"])
    def test_a_text_is_no_share(self, name):
        with pytest.raises(TypeError, match=rf"{name} is '0\.9', expected a number"):
            Promise(**{name: "0.9"})

    def test_only_of_completeness_nothing_may_be_promised(self):
        assert Promise().completeness is None
        with pytest.raises(TypeError, match="accuracy is None"):
            Promise(accuracy=None)
        with pytest.raises(TypeError, match="risk is None"):
            Promise(risk=None)

    def test_numpy_numbers_become_plain_json_numbers(self):
        promise = Promise(np.float64(0.9), np.float32(0.5), np.float64(0.05))
        numbers = {"accuracy": 0.9, "completeness": 0.5, "risk": 0.05}
        assert orjson.loads(orjson.dumps(vars(promise))) == numbers | {"per_class": None}


class TestRisk:
    @given(shares, shares, risks)
    def test_of_both_is_shared_and_of_one_is_whole(self, accuracy, completeness, risk):
        one, both = Promise(accuracy, None, risk), Promise(accuracy, completeness, risk)
        assert (one.accuracy_risk, one.completeness_risk) == (risk, 0.0)
        assert both.accuracy_risk + both.completeness_risk <= risk
        assert both.accuracy_risk == ACCURACY_PART * risk
        assert_allclose(both.completeness_risk, (1 - ACCURACY_PART) * risk, rtol=1e-9)


class TestPValues:
    @given(sizes, sizes, shares)
    def test_of_accuracy_are_the_chance_of_so_few_errors(self, n_labelled, n_right, accuracy):
        n_right = min(n_right, n_labelled)
        found = Promise(accuracy).accuracy_p_values(n_labelled, n_right)
        assert_allclose(found, accuracy_p_value(n_labelled, n_labelled - n_right, accuracy), rtol=1e-9)

    @given(st.integers(1, 300), sizes, shares)
    def test_of_completeness_are_the_chance_of_that_number_of_labels(self, n_streams, n_labelled, completeness):
        n_labelled = min(n_labelled, n_streams)
        found = Promise(0.9, completeness).completeness_p_values(n_labelled, n_streams)
        assert_allclose(found, completeness_p_value(n_streams, n_labelled, completeness), rtol=1e-9)

    def test_the_p_value_is_one_if_nothing_is_labelled(self):
        assert Promise(0.01, risk=0.9).accuracy_p_values([0, 0], [0, 0]).tolist() == [1.0, 1.0]

    def test_there_is_no_completeness_p_value_if_none_is_promised(self):
        with pytest.raises(ValueError, match="completeness is None, expected a share"):
            Promise().completeness_p_values(3, 4)


class TestHowManyAreNeeded:
    @given(shares, risks)
    def test_fewer_labelled_streams_cannot_pass(self, accuracy, risk):
        assert Promise(accuracy, risk=risk).fewest_labelled == fewest_labelled(accuracy, risk)

    @given(shares, shares, risks)
    def test_fewer_streams_cannot_pass(self, accuracy, completeness, risk):
        promise = Promise(accuracy, completeness, risk)
        assert promise.fewest_labelled == fewest_labelled(accuracy, promise.accuracy_risk)
        complete = fewest_labelled(completeness, promise.completeness_risk)
        assert promise.fewest_streams == max(promise.fewest_labelled, complete)
        assert Promise(accuracy, None, risk).fewest_streams == fewest_labelled(accuracy, risk)

    @given(shares, st.none() | shares, risks)
    def test_the_fewest_streams_pass_if_all_are_right_and_one_fewer_do_not(self, accuracy, completeness, risk):
        promise = Promise(accuracy, completeness, risk)
        n = promise.fewest_streams
        assert all(p <= part for p, part in both(promise, n))
        assert n == 1 or any(p > part for p, part in both(promise, n - 1))

    @pytest.mark.parametrize(
        ("accuracy", "n"), [(0.9, 3), (0.9, 5), (0.8, 2), (0.8, 3), (0.8, 4), (0.8, 5), (0.5, 7)]
    )
    def test_a_risk_that_is_just_a_power_of_the_accuracy_counts_as_met(self, accuracy, n):
        risk = float(exact(accuracy) ** n)
        assert Promise(accuracy, risk=risk).fewest_labelled == n == fewest_labelled(accuracy, risk)

    @given(sizes, shares, risks)
    def test_failures_allowed_are_those_that_pass(self, n, promised, risk):
        assert failures_allowed(n, 1 - promised, risk) == lower(n, promised, risk)


class TestChances:
    @given(st.integers(1, 120), shares, shares, shares, risks)
    def test_are_the_share_of_draws_that_pass(self, n, accuracy, true_accuracy, completeness, risk):
        n_labelled = round(completeness * n)
        allowed = lower(n_labelled, accuracy, risk)
        expected = binomial_tail(n_labelled, 1 - exact(true_accuracy), allowed)
        found = Promise(accuracy, risk=risk).chances([completeness], [true_accuracy], n)
        assert_allclose(found, [expected], rtol=1e-9)

    @given(st.integers(1, 120), shares, shares, shares, risks)
    def test_of_both_are_the_product_of_those_at_their_parts_of_the_risk(
        self, n, promised, true_accuracy, completeness, risk
    ):
        promise = Promise(0.7, promised, risk)
        one = Promise(0.7, None, promise.accuracy_risk).chances(completeness, true_accuracy, n)
        other = binomial_tail(n, 1 - exact(completeness), lower(n, promised, promise.completeness_risk))
        assert_allclose(promise.accuracy_chances(completeness, true_accuracy, n), one, rtol=1e-9)
        assert_allclose(promise.chances(completeness, true_accuracy, n), one * other, rtol=1e-9)

    @given(st.integers(1, 200), shares, st.none() | shares, risks)
    def test_a_just_broken_promise_passes_at_most_at_the_risk(self, n, accuracy, completeness, risk):
        promise = Promise(accuracy, completeness, risk)
        true = 1.0 if completeness is None else completeness
        assert promise.chances(true, accuracy, n) <= risk + 1e-12

    def test_a_threshold_that_labels_nothing_never_passes(self):
        assert Promise(0.03, risk=0.05).chances([0.0, 0.0], [0.0, 1.0], 40).tolist() == [0.0, 0.0]
