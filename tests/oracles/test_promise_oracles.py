"""The oracles of promises, against examples worked out on paper, published numbers and many draws."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles.promises import (
    Curve,
    Promise,
    accuracy_p_value,
    beginning,
    binomial_tail,
    certify,
    completeness_p_value,
    curve,
    decide,
    exhaust,
    fewest_labelled,
    fixed_sequence,
    paid,
    pareto,
    promise_p_values,
)

NAN = math.nan


# Binomial tests


def test_a_tail_is_the_sum_of_its_terms():
    assert binomial_tail(3, 0.5, 1) == 4 / 8
    assert binomial_tail(4, 0.25, 1) == (81 + 4 * 27) / 256
    assert binomial_tail(2, 0.1, 1) == 0.99


def test_a_tail_is_nothing_below_0_and_1_from_n_on():
    assert binomial_tail(5, 0.3, -1) == binomial_tail(5, 0.3, -7) == 0.0
    assert binomial_tail(5, 0.3, 5) == binomial_tail(5, 0.3, 7) == binomial_tail(0, 0.3, 0) == 1.0
    assert binomial_tail(5, 0.0, 0) == 1.0
    assert binomial_tail(5, 1.0, 4) == 0.0


def test_tails_are_those_of_printed_tables():
    printed = {(10, 0.3, 3): 0.6496, (15, 0.4, 6): 0.6098, (20, 0.1, 2): 0.6769, (20, 0.5, 10): 0.5881}
    for (n, p, k), tail in printed.items():
        assert round(binomial_tail(n, p, k), 4) == tail


@pytest.mark.parametrize(("n", "p", "k"), [(300, 0.137, 20), (2000, 0.1, 170), (100, 1 / 3, 40)])
def test_tails_of_many_are_exact(n, p, k):
    share = Fraction(repr(p))
    terms = (math.comb(n, i) * share**i * (1 - share) ** (n - i) for i in range(k + 1))
    assert binomial_tail(n, p, k) == float(sum(terms))


@pytest.mark.parametrize("k", [0, 400, 500, 600, 4999])
def test_a_tail_and_the_tail_from_the_other_end_make_1(k):
    assert_allclose(binomial_tail(5000, 0.1, k) + binomial_tail(5000, 0.9, 4999 - k), 1.0, rtol=1e-15)


def test_a_p_value_of_accuracy_is_the_chance_of_so_few_errors_at_the_promise():
    assert accuracy_p_value(2, 0, 0.9) == 0.81
    assert accuracy_p_value(2, 1, 0.9) == 0.99
    assert accuracy_p_value(3, 1, 0.5) == 0.5
    assert accuracy_p_value(0, 0, 0.9) == 1.0


def test_a_p_value_of_completeness_counts_the_streams_without_a_label():
    assert completeness_p_value(2, 2, 0.9) == 0.81
    assert completeness_p_value(3, 2, 0.5) == 0.5
    assert completeness_p_value(3, 0, 0.5) == 1.0


def test_without_an_error_a_promise_needs_a_least_number_of_streams():
    assert fewest_labelled(0.9, 0.05) == 29
    assert fewest_labelled(0.95, 0.05) == 59
    assert fewest_labelled(0.99, 0.01) == 459
    assert accuracy_p_value(29, 0, 0.9) <= 0.05 < accuracy_p_value(28, 0, 0.9)


def test_what_equals_the_risk_in_decimals_passes():
    assert fewest_labelled(0.5, 0.25) == 2
    assert fewest_labelled(0.9, 0.81) == 2
    assert fewest_labelled(0.7, 0.343) == 3


@pytest.mark.parametrize(("wrong", "enough"), [(0, 29), (1, 46), (2, 61), (3, 76), (4, 89)])
def test_streams_needed_are_those_of_sampling_plans(wrong, enough):
    # Binomial sampling plans: 90 % reliability at 95 % confidence.
    assert accuracy_p_value(enough, wrong, 0.9) <= 0.05 < accuracy_p_value(enough - 1, wrong, 0.9)


# Decisions and curves

CONFIDENCE = np.array([[0.5, 0.8, 0.9], [0.7, 0.6, 0.99], [NAN, 0.8, 0.2], [0.9, 0.9, 0.9]])
BEST = np.array([[0, 1, 2], [1, 0, 0], [0, 1, 0], [0, 0, 0]])
LENGTHS = [3, 2, 3, 0]
SPENT = np.array([[1.0, 2, 3], [10, 20, 99], [100, 100, 300], [7, 7, 7]])


def test_a_stream_is_decided_at_the_first_tick_whose_confidence_reaches_the_threshold():
    labels, ticks = decide(CONFIDENCE, BEST, LENGTHS, 0.8)
    assert_array_equal(labels, [1, -1, 1, -1])
    assert_array_equal(ticks, [2, 2, 2, 0])


def test_a_stream_without_enough_confidence_uses_all_its_ticks():
    labels, ticks = decide(CONFIDENCE, BEST, LENGTHS, 0.95)
    assert_array_equal(labels, [-1, -1, -1, -1])
    assert_array_equal(ticks, [3, 2, 3, 0])


def test_an_unknown_confidence_is_never_enough():
    labels, ticks = decide(CONFIDENCE, BEST, LENGTHS, 0.0)
    assert_array_equal(labels, [0, 1, 1, -1])
    assert_array_equal(ticks, [1, 1, 2, 0])


def test_a_curve_counts_labels_ticks_and_costs_of_each_threshold():
    replayed = curve(CONFIDENCE, BEST, LENGTHS, [1, 1, 0, 0], SPENT, [0.95, 0.8, 0.7, 0.5])
    assert replayed.n_streams == 4
    assert_array_equal(replayed.n_labelled, [0, 2, 3, 3])
    assert_array_equal(replayed.n_right, [0, 1, 2, 1])
    assert_array_equal(replayed.ticks, [3 + 2 + 3, 2 + 2 + 2, 2 + 1 + 2, 1 + 1 + 2])
    ever = SPENT[LENGTHS.index(0), 0]
    assert_array_equal(replayed.cost - ever, [3 + 20 + 300, 2 + 20 + 100, 2 + 10 + 100, 1 + 10 + 100])


# Certified thresholds


def counts(n_streams, n_labelled, n_right):
    unused = np.zeros(len(n_labelled))
    return Curve(n_streams, np.array(n_labelled), np.array(n_right), unused, unused)


def test_a_sequence_ends_at_its_first_failure():
    assert fixed_sequence([0.01, 0.05, 0.06, 0.01], 0.05) == 1
    assert fixed_sequence([0.06, 0.01, 0.01], 0.05) == -1
    assert fixed_sequence([0.01, 0.02], 0.05) == 1
    assert fixed_sequence([], 0.05) == -1


def test_the_loosest_threshold_before_the_first_failure_is_certified():
    # Of 29, 46, 61 labelled, 0, 1 and 2 may be wrong; the third has one too many, the fourth is too late.
    replayed = counts(100, [29, 46, 61, 100], [29, 45, 58, 100])
    assert certify(replayed, Promise(0.9, None, 0.05)) == 1
    assert certify(counts(100, [28, 46], [28, 46]), Promise(0.9, None, 0.05)) == -1


def test_a_walk_may_begin_where_enough_are_labelled():
    promise = Promise(0.9, None, 0.05)
    replayed = counts(100, [0, 28, 29, 46, 61], [0, 28, 29, 45, 58])
    assert beginning(replayed.n_labelled.tolist(), promise) == 2
    assert certify(replayed, promise, begin=2) == 3
    assert certify(replayed, promise, begin=4) == -1
    assert beginning([0, 28], promise) == 2
    assert certify(counts(28, [0, 28], [0, 28]), promise, begin=2) == -1


def test_all_that_is_promised_has_to_pass():
    # Of 46 streams one may be unlabelled at a completeness of 0.9, and one wrong of 46 labelled, none of 45.
    replayed = counts(46, [45, 45, 46, 44], [45, 44, 45, 44])
    promise = Promise(0.9, 0.9, 0.05)
    assert_allclose(
        promise_p_values(replayed, promise),
        [
            max(0.9**45, 0.9**46 + 46 * 0.1 * 0.9**45),
            0.9**45 + 45 * 0.1 * 0.9**44,
            0.9**46 + 46 * 0.1 * 0.9**45,
            0.9**46 + 46 * 0.1 * 0.9**45 + 1035 * 0.01 * 0.9**44,
        ],
        rtol=1e-13,
    )
    assert [certify(replayed, promise, begin) for begin in range(4)] == [0, -1, 2, -1]
    assert certify(replayed, Promise(0.9, None, 0.05), begin=3) == 3


# Many draws: at the promise itself, whatever is certified counts as broken

N_DRAWS = 2000
RISK = 0.05
THRESHOLDS = [0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0]


def draws_at_the_promise(promised):
    """Curves of streams of one tick whose labels are right with the promised chance at any confidence."""
    random = np.random.default_rng(2021)
    n_streams = 150
    for _ in range(N_DRAWS):
        labelled = random.random((n_streams, 1)) >= THRESHOLDS
        right = labelled[random.random(n_streams) < promised]
        yield counts(n_streams, labelled.sum(axis=0).tolist(), right.sum(axis=0).tolist())


def is_more_than_the_risk(n_broken, risk=RISK):
    """Whether `n_broken` or more broken draws have a probability below 0.001 at that risk."""
    return 1.0 - binomial_tail(N_DRAWS, risk, n_broken - 1) < 0.001


def test_a_certified_threshold_breaks_its_promise_as_seldom_as_said_and_one_out_of_sequence_more_often():
    promise = Promise(0.9, None, RISK)
    n_broken = n_broken_anywhere = 0
    for replayed in draws_at_the_promise(promise.accuracy):
        n_broken += certify(replayed, promise) != -1
        n_broken_anywhere += any(p <= RISK for p in promise_p_values(replayed, promise))
    assert n_broken > 0
    assert not is_more_than_the_risk(n_broken)
    assert is_more_than_the_risk(n_broken_anywhere)


def draws_of_two_broken_thresholds():
    """The strict one is accurate but only as complete as promised, the loose one complete but only as accurate."""
    random = np.random.default_rng(1991)
    n_streams = 227  # where the test's own level, 0.0496, is nearly the risk
    for _ in range(N_DRAWS):
        n_labelled = random.binomial(n_streams, 0.9)
        n_right = random.binomial(n_streams, 0.9)
        yield counts(n_streams, [n_labelled, n_streams], [n_labelled, n_right])


def test_a_walk_that_begins_where_these_streams_are_complete_breaks_its_promise_more_often():
    promise = Promise(0.9, 0.9, RISK)
    n_broken = n_broken_by_looking = 0
    for replayed in draws_of_two_broken_thresholds():
        n_broken += certify(replayed, promise) != -1
        complete = [completeness_p_value(227, n, 0.9) <= RISK for n in replayed.n_labelled.tolist()]
        n_broken_by_looking += certify(replayed, promise, begin=complete.index(True)) != -1
    assert n_broken > 0
    assert not is_more_than_the_risk(n_broken)
    assert is_more_than_the_risk(n_broken_by_looking)
    assert not is_more_than_the_risk(n_broken_by_looking, 2 * RISK)


# Trade-offs, costs and subsets


def test_a_front_holds_what_nothing_else_dominates():
    points = [
        (0.9, 0.9, 10.0, 5.0),
        (0.9, 0.9, 9.0, 5.0),  # cheaper than the first
        (0.95, 0.8, 9.0, 5.0),  # more accurate, less complete
        (0.9, 0.9, 9.0, 5.0),  # equal to the second
        (0.9, 0.9, 20.0, 4.0),  # dearer, but sooner
        (0.8, 0.8, 9.0, 5.0),  # worse than the second in two
        (0.9, 0.9, 20.0, 4.5),  # later than the fifth
    ]
    assert pareto(points) == [1, 2, 3, 4]
    assert pareto(points[:1]) == [0]
    assert pareto([]) == []


def test_a_channel_is_paid_once_however_many_features_read_it():
    messages = {
        "light": np.array([[True, False, True], [True, True, True]]),
        "humidity": np.array([[True, True, True], [False, False, True]]),
    }
    prices = {"light": 1.0, "humidity": 10.0}
    channels = [("light",), ("light", "humidity"), (), ("light", "light")]
    assert_array_equal(paid(messages, prices, channels, [0], [3, 2]), [2, 2])
    assert_array_equal(paid(messages, prices, channels, [0, 1, 3], [3, 2]), [2 + 30, 2])
    assert_array_equal(paid(messages, prices, channels, [1, 2], [1, 3]), [11, 3 + 10])
    assert_array_equal(paid(messages, prices, channels, [2], [3, 3]), [0, 0])
    assert_array_equal(paid(messages, prices, channels, [0, 1], [0, 0]), [0, 0])
    assert_array_equal(paid(messages, prices, channels, [0], [3, 0], tick=0.5, control=7.0), [2 + 1.5 + 7, 0])


def test_the_cheapest_subset_is_found_wherever_it_is():
    seen = []

    def cost_of(subset):
        seen.append(subset)
        return 1.0 if subset == (0, 2) else 2.0

    assert exhaust(3, cost_of) == ((0, 2), 1.0)
    assert seen == [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]


def test_of_equal_costs_fewer_features_win_then_the_first_in_lexicographic_order():
    assert exhaust(3, lambda subset: 1.0 if len(subset) >= 2 else 2.0) == ((0, 1), 1.0)
    assert exhaust(3, lambda _: 5.0) == ((0,), 5.0)
    assert exhaust(4, lambda subset: 1.0 if subset in {(1, 2), (0, 3), (0, 1, 2)} else 2.0) == ((0, 3), 1.0)


def test_where_no_subset_has_a_finite_cost_none_is_chosen():
    assert exhaust(2, lambda _: math.inf) == ((), math.inf)
