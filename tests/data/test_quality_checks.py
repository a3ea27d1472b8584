"""Oddities of recorded streams that do not prevent training."""

import numpy as np

from streamfs import StreamSet
from streamfs.data.quality_checks import empty_columns, median_gap

NAN = np.nan


def test_a_column_without_readings_is_empty():
    assert empty_columns(StreamSet([[[1.0, NAN]], [[2.0, NAN]]], ["a", "b"], ["x", "y"])) == ["y"]


def test_a_median_gap_of_more_than_a_tick_is_reported_in_seconds():
    values = [[[1.0], [NAN], [NAN], [2.0], [NAN], [NAN], [3.0], [4.0]]]
    assert median_gap(StreamSet(values, ["a"], ["x"], 0.5)) == 1.5


def test_a_median_gap_of_a_tick_is_not_reported():
    assert median_gap(StreamSet([[[1.0], [2.0], [NAN], [3.0], [4.0]]], ["a"], ["x"])) is None
    assert median_gap(StreamSet([[[1.0]]], ["a"], ["x"])) is None
