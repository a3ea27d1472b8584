"""Tests of the accuracy in each group: as those of one group alone, at parts of the risk."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamfs.procedure import group_tests
from streamfs.procedure.betting import ShareTest
from streamfs.procedure.group_tests import GroupTests

SHARE, RISK = 0.8, 0.1
LABELS = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=60)


@given(labels=LABELS, n_before=st.integers(0, 60))
def test_each_is_that_of_its_labels_alone_also_after_a_restart(labels, n_before):
    tests, alone = GroupTests(SHARE, RISK), {}
    for number, (group, is_right) in enumerate(labels):
        if number == n_before:
            kept = json.loads(json.dumps(tests.to_state()))
            tests = GroupTests(SHARE, RISK)
            tests.restore(kept)
        test = alone.setdefault(group, ShareTest(SHARE))
        place = list(alone).index(group) + 1
        test.add(is_right)
        is_rejected = test.bets.wealth >= place * (place + 1) / RISK
        assert tests.add(group, is_right) == (test.n if is_rejected else 0)
    assert len(tests) == len(alone)


def test_groups_that_keep_the_share_are_rarely_rejected_however_many_come():
    n_found = 0
    for seed in range(100):
        tests, rng = GroupTests(SHARE, RISK), np.random.default_rng(seed)
        n_found += any(tests.add(f"room{i // 20}", rng.random() < SHARE) for i in range(400))
    assert n_found <= 100 * RISK + 3 * np.sqrt(100 * RISK)


def test_further_groups_are_not_tested(monkeypatch):
    monkeypatch.setattr(group_tests, "MOST_GROUPS", 2)
    tests = GroupTests(SHARE, RISK)
    assert [tests.add(f"room{i % 3}", is_right=False) for i in range(60)][2::3] == [0] * 20
    assert len(tests) == 2
