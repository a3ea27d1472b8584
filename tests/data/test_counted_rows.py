"""Rows without times, which follow each other."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from streamfs import StreamSet
from streamfs.data.recordings import csv_text
from streamfs.errors import LayoutError


@given(
    names=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["x", ""])), min_size=1, max_size=60),
    period=st.sampled_from([None, 0.02, 10.0]),
    block=st.sampled_from([16, 2**20]),
)
def test_rows_of_a_stream_are_its_ticks(tmp_path_factory, names, period, block):
    path = tmp_path_factory.mktemp("rows") / "log.csv"
    rows = [f"{one},{two},{n}" for n, (one, two) in enumerate(names)]
    path.write_text("\n".join(["node,side,x", *rows, ""]), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_text, "BLOCK", block)
        streams = StreamSet.read(path, period, labelled=False, time="rows", stream="node", columns=["x"])
    counts = Counter(one for one, _ in names)
    assert (streams.names, streams.period) == (tuple(counts), period or 1.0)
    assert streams.lengths.tolist() == [*counts.values()]
    for name, values in zip(streams.names, streams.values[:, :, 0], strict=True):
        expected = [n for n, (one, _) in enumerate(names) if one == name]
        assert_array_equal(values[: len(expected)], expected)


def test_a_file_is_a_stream_and_runs_are_cut_from_it(files):
    folder = files(a="x,label\n1,on\n2,on\n3,off\n4,off\n\n5,off\n", b="x,label\n6,on\n7,on\n")
    streams = StreamSet.read(folder, 0.5, time="rows", labels="runs")
    assert streams.names == ("a/1", "a/2", "b/1")
    assert streams.lengths.tolist() == [2, 3, 2]
    assert StreamSet.read(folder / "a.csv", time="rows", window=2).labels.tolist() == ["on", "off"]


def test_a_column_called_so_has_the_times(files):
    path = files(log="rows,x\n10,1\n20,2\n") / "log.csv"
    assert StreamSet.read(path, labelled=False, time="rows").period == 10.0


def test_frames_are_counted_too_and_it_is_said_where_no_time_is_found(files):
    frame = pl.DataFrame({"stream": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]})
    streams = StreamSet.from_frame(frame, labelled=False, time="rows")
    assert_array_equal(streams.values[:, :, 0], [[1, 3], [2, np.nan]])
    with pytest.raises(LayoutError, match=r"give time \(the column of times, or rows if they follow each other\)"):
        StreamSet.read(files(log="x,y\n0,1\n") / "log.csv", labelled=False)
