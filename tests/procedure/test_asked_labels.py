"""Labels that are asked for: as the slow twin has them, valid at every look, and fewer than random ones."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import asked as slow

from streamfs.procedure import asked_labels
from streamfs.procedure.asked_labels import AskedLabels
from streamfs.procedure.betting import ShareTest

RISK = 0.1
UNIT = st.floats(0.0, 1.0, exclude_max=True)
DECISIONS = st.lists(st.tuples(UNIT, UNIT, st.booleans()), max_size=50)


def ask(test, decisions):
    """Take decisions, and at once the labels that are wanted; return which are."""
    wanted = []
    for number, (confidence, chance, is_right) in enumerate(decisions):
        wanted.append(test.wants(f"s{number}", confidence, chance))
        assert test.answered(f"s{number}", is_right) == wanted[-1]
    return wanted


@given(decisions=DECISIONS, share=st.floats(0.1, 0.95), rate=st.floats(0.05, 0.9))
@settings(max_examples=50)
def test_they_are_bet_on_as_by_the_slow_twin(decisions, share, rate):
    test = AskedLabels(share, rate)
    wanted = ask(test, decisions)
    expected = slow.asked_wealth(decisions, share, rate) if decisions else (1.0, [])
    assert test.bets.wealth == pytest.approx(expected[0], rel=1e-6)
    assert wanted == expected[1]
    assert test.n == sum(wanted)


@given(decisions=DECISIONS, order=st.randoms(use_true_random=False))
@settings(max_examples=50)
def test_labels_may_come_late_in_any_order_and_after_a_restart(decisions, order):
    """What is asked for depends on the labels that are there; but each counts once, as it was asked for."""
    test = AskedLabels(0.8, 0.3)
    for number, (confidence, chance, _) in enumerate(decisions):
        test.wants(f"s{number}", confidence, chance)
    waiting = list(test.waiting)
    order.shuffle(waiting)
    other = AskedLabels(0.8, 0.3)
    other.restore(json.loads(json.dumps(test.to_state())))
    for each, streams in ((test, waiting), (other, sorted(waiting))):
        for stream in streams:
            assert each.answered(stream, decisions[int(stream[1:])][2])
            assert not each.answered(stream, False)
    assert test.bets.n == other.bets.n == len(decisions)
    assert test.bets.wealth == other.bets.wealth
    assert test.accuracy == pytest.approx(other.accuracy) if decisions else test.accuracy is None


def test_a_share_that_is_kept_is_rarely_rejected_whatever_the_confidence_says():
    rng, n_rejected = np.random.default_rng(1), 0
    for number in range(100):
        test, wrong = AskedLabels(0.8, 0.2), rng.beta(0.3, 1.2, 300)
        says = (1 - wrong / 2, np.full(300, 0.95), wrong)[number % 3]
        for i, (confidence, chance, right) in enumerate(
            zip(says.tolist(), rng.random(300).tolist(), rng.random(300) >= wrong, strict=True)
        ):
            if test.wants(f"s{i}", confidence, chance):
                test.answered(f"s{i}", bool(right))
            if test.bets.wealth >= 1 / RISK:
                n_rejected += 1
                break
    assert n_rejected <= 100 * RISK + 3 * np.sqrt(100 * RISK)


def test_where_confidence_ranks_what_is_wrong_fewer_labels_do():
    def labels_until(seed):
        rng = np.random.default_rng(seed)
        test, plain, wrong = AskedLabels(0.8, 0.2), ShareTest(0.8), rng.beta(0.3, 0.7, 4000)
        for i, each in enumerate(wrong.tolist()):
            is_right = rng.random() >= each
            if plain.bets.wealth < 1 / RISK:
                plain.add(is_right)
            if test.bets.wealth < 1 / RISK and test.wants(f"s{i}", 1 - each / 2, rng.random()):
                test.answered(f"s{i}", is_right)
        return test.n, plain.n

    asked, plain = np.sum([labels_until(seed) for seed in range(20)], axis=0)
    assert asked < 0.8 * plain


def test_a_label_that_never_comes_counts_as_right(monkeypatch):
    monkeypatch.setattr(asked_labels, "MOST_WAITING", 20)
    silent, right = AskedLabels(0.8, 0.5), AskedLabels(0.8, 0.5)
    for i in range(60):
        for test in (silent, right):
            test.wants(f"s{i}", 0.9, 0.0)
        right.answered(f"s{i}", True)
    assert silent.bets.n == 40
    assert silent.n == 0
    assert silent.bets.wealth < 1
    silent.wants("s59", 0.9, 0.99)  # it is decided again
    assert "s59" not in silent.waiting
    assert ("s59", False) in silent.news


@pytest.mark.parametrize(("share", "rate", "name"), [(0.0, 0.5, "share"), (0.5, 1.0, "rate")])
def test_shares_that_are_none_are_refused(share, rate, name):
    with pytest.raises(ValueError, match=f"{name} is"):
        AskedLabels(share, rate)
