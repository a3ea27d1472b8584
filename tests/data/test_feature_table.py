"""Tables of features: computed in parts, at some ticks alone, and refused where memory does not suffice."""

import numpy as np
import pytest
from helpers.procedures import channels_procedure, labelled_streams
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import feature_extractors as fx
from streamfs.data import StreamSet, feature_table
from streamfs.data.feature_table import episode_lengths, parts_of, tabulate
from streamfs.errors import DataError
from streamfs.evaluation.reliability import reliability
from streamfs.evaluation.traffic import measure_traffic
from streamfs.evaluation.trajectories import Trajectories, follow

FEATURES = [fx.get(name) for name in ("mean(a)", "max(b@delta:1)", "correlation(a, b)", "count()")]


def ragged(seed, n_streams):
    """Streams of any length, none among them, with gaps, some of which never open."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_streams, 12, 2))
    values[rng.random(values.shape) < 0.2] = np.nan
    return StreamSet(values, rng.choice(["x", "y"], n_streams), ["a", "b"], lengths=rng.integers(0, 13, n_streams))


@given(seed=st.integers(0, 2**32 - 1), n_streams=st.integers(1, 9), part_bytes=st.sampled_from([1, 700, 2**26]))
@settings(max_examples=60)
def test_parts_and_ticks_change_no_value(seed, n_streams, part_bytes):
    streams = ragged(seed, n_streams)
    whole = tabulate(streams, FEATURES)
    ticks = np.flatnonzero(np.random.default_rng(seed).random(15) < 0.4) + 1
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(feature_table, "PART_BYTES", part_bytes)
        parted, few = tabulate(streams, FEATURES), tabulate(streams, FEATURES, ticks=ticks[ticks <= 12])
        lengths = episode_lengths(streams, FEATURES)
    assert_array_equal(parted.values, whole.values)
    assert_array_equal(few.values, whole.at(ticks[ticks <= 12]).values)
    assert_array_equal(few.lengths, whole.at(ticks[ticks <= 12]).lengths)
    for found in (parted.lengths, lengths):
        assert_array_equal(found, whole.lengths)


@given(seed=st.integers(0, 2**32 - 1), n_streams=st.integers(0, 9), part_bytes=st.integers(1, 3000))
def test_each_stream_with_a_tick_is_in_one_part_that_fits(seed, n_streams, part_bytes):
    streams = ragged(seed, n_streams)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(feature_table, "PART_BYTES", part_bytes)
        parts = list(parts_of(streams, 3))
    places = np.concatenate([rows for rows, _ in parts])
    expected = np.flatnonzero(streams.lengths) if streams.lengths.any() else np.arange(n_streams)
    assert_array_equal(np.sort(places), expected)
    for rows, part in parts:
        assert part.names == tuple(streams.names[row] for row in rows)
        assert_array_equal(part.values, streams.values[rows, : part.n_ticks])
        assert len(rows) <= 1 or 8 * 3 * len(rows) * part.n_ticks <= part_bytes or not part.lengths.any()


def test_what_is_classified_in_parts_is_what_is_classified_together(monkeypatch):
    streams = labelled_streams(30, gaps=0.2)
    streams = StreamSet(streams.values, streams.labels, streams.columns, lengths=np.arange(30) % 21)
    procedure = channels_procedure("a.level@delta:1.5", "b.level", threshold=1.5, time_limit=15)
    table = tabulate(streams, procedure.features)
    expected = Trajectories.of(procedure.classifier, table, procedure.time_limit)
    traffic, reliable = measure_traffic(procedure, streams), reliability(procedure, streams)
    monkeypatch.setattr(feature_table, "PART_BYTES", 500)
    (found,), lengths = follow(procedure, streams, [procedure.classifier])
    assert_array_equal(lengths, table.lengths)
    assert_array_equal(found.confidence, expected.confidence)
    assert_array_equal(found.ticks, expected.ticks)
    inside = expected.confidence > 0
    assert_array_equal(found.best[inside], expected.best[inside])
    assert measure_traffic(procedure, streams) == traffic
    assert reliability(procedure, streams) == reliable


def test_a_table_that_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr(feature_table.os, "sysconf", {"SC_PHYS_PAGES": 3, "SC_PAGE_SIZE": 4096}.get)
    streams = labelled_streams(20, 20)
    assert tabulate(streams, [fx.get("mean(a.level)")]).values.shape == (20, 20, 1)
    with pytest.raises(DataError, match=r"4 features of 20 streams at 20 ticks take 0.0 GiB, more than half of"):
        tabulate(streams, [fx.get(f"{kind}(a.level)") for kind in ("mean", "max", "min", "range")])


def test_what_are_no_streams_is_not_tabulated():
    with pytest.raises(TypeError, match="streams is 5, expected a StreamSet"):
        tabulate(5, FEATURES)
