"""What workers do in parts is what one process does: tables, and Relief's weights."""

import numpy as np
import pytest
from helpers.elsewhere import Elsewhere
from helpers.procedures import labelled_streams
from numpy.testing import assert_array_equal

import feature_extractors as fx
from streamfs import StreamRelief, StreamSet, tabulate
from streamfs.base.workers import working_with
from streamfs.relief import neighbours

FEATURES = ["mean(a.level)", "slope(a.level)", "variance(b.level)", "count()"]


@pytest.fixture
def elsewhere():
    return Elsewhere()


def test_tables_are_the_same_wherever_their_parts_are_computed(elsewhere):
    streams = labelled_streams(50, gaps=0.2)
    streams = StreamSet(streams.values, streams.labels, streams.columns, lengths=np.arange(50) % 21)
    features = [*map(fx.get, FEATURES)]
    whole = tabulate(streams, features)
    with working_with(elsewhere):
        found = tabulate(streams, features)
    assert_array_equal(found.values, whole.values)
    assert_array_equal(found.lengths, whole.lengths)
    assert len(elsewhere.functions) == 1


def test_weights_are_the_same_wherever_their_blocks_are_searched(elsewhere, monkeypatch):
    monkeypatch.setattr(neighbours, "FEW_PAIRS", 0)
    rng = np.random.default_rng(0)
    labels = np.where(np.arange(300) % 3, "calm", "busy")
    values = rng.normal(size=(300, 4, 5)) + (labels == "busy")[:, np.newaxis, np.newaxis]
    whole = StreamRelief().fit(values, labels)
    with working_with(elsewhere):
        found = StreamRelief().fit(values, labels)
    assert_array_equal(found.weights_, whole.weights_)
    assert_array_equal(found.probe_weights_, whole.probe_weights_)
    assert len(elsewhere.functions) == 2  # the features, and the probes
