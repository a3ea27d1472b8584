"""Forests by segments of the ticks."""

import numpy as np

import feature_extractors as fx
from streamfs import StreamSet, tabulate
from streamfs.data.feature_table import FeatureTable
from streamfs.training.learners import grown_forest, since
from streamfs.training.promises.segments import segments, segments_learner


def table(*names: str, n_ticks: int = 14, short: int = 14) -> FeatureTable:
    """Two classes, the streams of the second of which end early."""
    labels = np.where(np.arange(30) % 2, "on", "off")
    values = np.random.default_rng(0).normal((labels == "on")[:, np.newaxis, np.newaxis], 1.0, (30, n_ticks, 2))
    values[3, :2] = np.nan
    streams = StreamSet(values, labels, ["x", "y"], lengths=np.where(labels == "on", short, n_ticks))
    return tabulate(streams, [fx.get(name) for name in names])


def test_segments_grow_by_the_same_factor_and_few_ticks_are_as_many():
    assert [ticks.tolist() for ticks in segments(7)] == [[1], [2, 3], [4, 5, 6, 7]]
    assert [ticks.tolist() for ticks in segments(2)] == [[1], [2]]
    assert [len(ticks) for ticks in segments(30)] == [2, 7, 21]


def test_each_tick_is_classified_by_the_forest_of_its_segment():
    known = table("mean(x)", "count()", "max(y)")
    whole = segments_learner(1.0, 12, 5, 4)(known)
    for ticks in segments(12):
        own = grown_forest(known.at(ticks), 1.0, 12, 5, 4).forest_
        for tick in ticks:
            values = known.values[:, tick - 1]
            np.testing.assert_array_equal(whole.probabilities(values), own.probabilities(values))


def test_segments_begin_where_decisions_do():
    late = since(segments_learner(1.0, 12, 5, 4), 6, 12)(table("count()", "mean(x)"))
    (root,) = {late.threshold[root] for root in late.roots}
    assert root == 6.5


def test_there_is_one_segment_if_nothing_counts_ticks_or_a_class_lacks_late_ones():
    for known in (table("mean(x)", "max(y)"), table("count()", "mean(x)", short=3)):
        whole, plain = segments_learner(1.0, 14, 5, 4)(known), grown_forest(known, 1.0, 14, 5, 4).forest_
        np.testing.assert_array_equal(whole.threshold, plain.threshold)
