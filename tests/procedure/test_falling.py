"""Thresholds that fall with the tick: one stands for all, however a stream's confidence compares with it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from streamfs.procedure import TickThresholds
from streamfs.procedure.falling import Falling

FALLS = st.builds(Falling, st.sampled_from([0.2, 0.4, 0.8]), st.integers(1, 60))
SHARES = st.sampled_from([0.0, 1e-12, 0.05, 0.5, 0.625, 0.9, 0.999, 1.0])


def naive_threshold(falling, threshold, tick):
    """The log-odds of the threshold less the fall times the logarithm of the step's first tick."""
    step = 1
    while step + (step + 1) // 2 <= min(tick, falling.last):
        step += (step + 1) // 2
    if threshold in {0.0, 1.0}:
        return threshold
    odds = np.log(threshold / (1 - threshold)) - falling.fall * np.log(step)
    return 1 / (1 + np.exp(-odds))


@given(FALLS, SHARES, st.integers(1, 90))
def test_thresholds_fall_by_the_logarithm_of_their_steps(falling, threshold, tick):
    rule = falling.rule(1, threshold)
    np.testing.assert_allclose(rule.at(tick), naive_threshold(falling, threshold, tick), rtol=1e-9)


SAID = st.lists(SHARES, min_size=1, max_size=20)


@given(FALLS, SAID, st.integers(0, 19), st.integers(1, 9), st.integers(1, 9))
def test_a_stream_is_decided_where_its_flattened_confidence_reaches_the_threshold(
    falling, said, which, start, wait
):
    ticks, confidence = np.arange(1, len(said) + 1), np.array([said])
    flat = falling.flattened(confidence, ticks)
    threshold = max(float(flat[0, which % len(said)]), 1e-6)
    floor = 0.5 * threshold
    rule = falling.rule(start, threshold, start + wait, floor)
    flat_rule = TickThresholds.since(start, threshold, start + wait, floor)
    assert_array_equal(rule.actions_of(ticks, confidence), flat_rule.actions_of(ticks, flat))


def test_thresholds_that_fall_are_listed_briefly():
    rule = Falling(0.4, last=20).rule(1, 0.95, patience=6, floor=0.6)
    assert rule.text(20) == "0.95 from tick 1, falling to 0.857 from tick 18, given up below 0.441 from tick 6"
