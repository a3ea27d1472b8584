"""Tests by betting: as the slow twin has them, and valid at every look."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import betting as slow

from streamfs.procedure.betting import ErrorTest, RankTests, ShareTest, share_at_least

RISK = 0.1
SHARES = st.floats(0.05, 0.95)
BINS = st.lists(st.integers(0, 4), max_size=40)
WEIGHTS = st.sampled_from([eighths / 8 for eighths in range(1, 9)])


@given(outcomes=st.lists(st.booleans(), max_size=70), share=SHARES)
def test_shares_are_bet_on_as_by_the_slow_twin(outcomes, share):
    test = ShareTest(share)
    for is_right in outcomes:
        test.add(is_right)
    assert (test.bets.n, test.n_right) == (len(outcomes), sum(outcomes))
    expected = slow.share_wealth(outcomes, share) if outcomes else 1.0
    assert test.bets.wealth == pytest.approx(expected, rel=1e-9)


@given(reference=BINS, errors=BINS, restart=st.integers(0, 20), weight=WEIGHTS)
@settings(max_examples=50)
def test_errors_are_bet_on_as_by_the_slow_twin(reference, errors, restart, weight):
    counts = np.bincount(reference, minlength=5).tolist()
    test = ErrorTest(counts, weight)
    for number, error in enumerate(errors):
        if number == restart:
            test, kept = ErrorTest(counts, weight), test.to_state()
            test.restore(kept)
            test.restore([[9] * 5, 3, 0.1, 0.2, 0.3])  # of three ways to bet, as once
        test.add(error)
    expected = slow.error_wealth(reference, errors, weight) if errors else 1.0
    assert test.bets.wealth == pytest.approx(expected, rel=1e-9)


@given(reference=BINS, values=st.lists(st.integers(0, 4), max_size=70), weight=WEIGHTS)
@settings(max_examples=50)
def test_ranks_are_bet_on_as_by_the_slow_twin(reference, values, weight):
    tests = RankTests([np.bincount(reference, minlength=5).tolist(), [3, 4]], [weight, 1.0])
    for value in values:
        tests.add([value, -1])
    expected = slow.rank_wealth(reference, values, weight) if values else 1.0
    assert tests.wealths() == pytest.approx([expected, 1.0], rel=1e-9)
    assert tests.n.tolist() == [len(values), 0]


@given(n_right=st.integers(0, 200), n_wrong=st.integers(0, 200))
@settings(max_examples=20)
def test_the_bound_of_a_share_is_that_of_the_slow_twin(n_right, n_wrong):
    bound = share_at_least(n_right, n_wrong, RISK)
    assert bound == pytest.approx(slow.share_at_least(n_right, n_wrong, RISK), abs=0.002)
    assert bound <= n_right / max(n_right + n_wrong, 1)


@pytest.mark.parametrize("share", [0.6, 0.9])
def test_a_share_that_is_kept_is_rarely_rejected_whenever_one_looks(share):
    rng = np.random.default_rng(1)
    n_rejected = sum(_rejects(ShareTest(share), rng.random(300) < share) for _ in range(200))
    assert n_rejected <= 200 * RISK + 3 * np.sqrt(200 * RISK)


def test_errors_as_those_of_the_reference_are_rarely_rejected_whenever_one_looks():
    rng = np.random.default_rng(3)
    n_rejected = 0
    for share in (0.7, 0.9) * 100:
        n_right = int(rng.binomial(60, share))
        n_rejected += _rejects(ErrorTest([n_right, 60 - n_right]), (rng.random(300) >= share).astype(int))
    assert n_rejected <= 200 * RISK + 3 * np.sqrt(200 * RISK)


@pytest.mark.parametrize("draw", [np.random.Generator.random, np.random.Generator.standard_cauchy])
def test_values_as_those_of_the_reference_are_rarely_rejected_whenever_one_looks(draw):
    rng = np.random.default_rng(2)
    n_rejected = 0
    for _ in range(100):
        reference, values = draw(rng, 60), draw(rng, 300)
        edges = np.quantile(reference, [0.25, 0.5, 0.75])
        tests = RankTests([np.bincount(np.searchsorted(edges, reference), minlength=4).tolist()])
        most = 0.0
        for place in np.searchsorted(edges, values).tolist():
            tests.add([place])
            most = max(most, float(tests.wealths()[0]))
        n_rejected += most >= 1 / RISK
    assert n_rejected <= 100 * RISK + 3 * np.sqrt(100 * RISK)


def test_values_that_come_as_copies_of_few_are_rarely_rejected_whenever_one_looks():
    """Thirty levels, each seen by five of the reference and by twelve later: pairs of nodes at thirty times."""
    rng = np.random.default_rng(4)
    n_rejected = 0
    for _ in range(100):
        levels, others = rng.normal(size=30), rng.normal(size=30)
        edges = np.quantile(levels, np.linspace(0, 1, 9)[1:-1])
        reference = 5 * np.bincount(np.searchsorted(edges, levels), minlength=8)
        places = np.searchsorted(edges, rng.permutation(np.repeat(others, 12)))
        tests, most = RankTests([reference.tolist()], [1 / 8]), 0.0
        for place in places.tolist():
            most = max(most, tests.add([place]))
        n_rejected += most >= 1 / RISK
    assert n_rejected <= 100 * RISK


def test_where_all_values_are_alike_nothing_is_won():
    tests = RankTests([[0, 60, 0]], [1 / 2])
    assert max(tests.add([1]) for _ in range(300)) <= 1.0


def test_what_changes_late_is_noticed_as_soon_as_had_it_changed_early():
    def noticed(n_before):
        test, number = ShareTest(0.8), 0
        for i in range(n_before):
            test.add(i % 10 != 0)
        while test.bets.wealth < 1 / RISK:
            test.add(number % 2 == 0)
            number += 1
        return number

    assert noticed(2000) <= 5 * noticed(0)


@pytest.mark.parametrize("share", [0.0, 1.0, np.nan])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(ValueError, match=f"share is {share}, expected more than 0 and less than 1"):
        ShareTest(share)


def _rejects(test, *observations):
    """Whether a test rejects at any of its looks."""
    for each in zip(*observations, strict=True):
        test.add(*each)
        if test.bets.wealth >= 1 / RISK:
            return True
    return False
