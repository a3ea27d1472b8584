"""Stopping by expected cost: as its paper says, and worth its name where streams tell late."""

import numpy as np
import pytest
from helpers.procedures import labelled_streams
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import anticipation as naive

from streamfs import StreamSet, evaluate, train
from streamfs.training.anticipation import anticipated_levels


@given(seed=st.integers(0, 2**32 - 1), n_groups=st.integers(1, 4), n_points=st.integers(1, 4))
@settings(max_examples=40)
def test_levels_are_those_of_a_slow_twin(seed, n_groups, n_points):
    rng = np.random.default_rng(seed)
    n_streams = rng.integers(1, 12)
    confidence = rng.integers(-1, 9, (n_streams, n_points)) / 8.0
    costs = rng.uniform(0.0, 1.0, (n_streams, n_points))  # ties would be broken by rounding
    expected = naive.levels(confidence, costs, n_groups)
    np.testing.assert_allclose(anticipated_levels(confidence, costs, n_groups), expected, rtol=0, atol=1e-12)


def tells_late(n_streams, seed):
    """Two classes that nothing tells apart before the middle."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_streams) % 2
    values = rng.normal(size=(n_streams, 20, 1))
    values[:, 10:, 0] += 3.0 * labels[:, np.newaxis]
    return StreamSet(values, labels.astype(str), ["x"])


def test_it_waits_where_waiting_pays_and_decides_where_it_does_not():
    features = ["last(x)", "max(x)", "count()"]
    patient, hasty = (
        train(tells_late(160, 0), features=features, confidence="anticipated", delay_cost=cost)
        for cost in (0.3, 2.0)
    )
    found = evaluate(patient, tells_late(200, 1))
    assert found.accuracy > 0.9
    assert found.completeness == 1.0
    assert 10 < found.ticks < 14
    assert evaluate(hasty, tells_late(200, 1)).ticks < 3
    assert patient.rule.thresholds() is patient.stopping
    assert len(set(patient.stopping.levels)) > 3


def test_it_is_a_word_for_chosen_channels_alone():
    streams = labelled_streams(n_streams=20)
    for options, message in (
        ({"confidence": "expected"}, "confidence is 'expected', expected a number, or 'anticipated'"),
        ({"confidence": "anticipated", "select": None}, "confidence is 'anticipated', but select is None"),
    ):
        with pytest.raises(ValueError, match=message):
            train(streams, **options)
