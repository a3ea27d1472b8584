"""Frames of polars, pandas and Arrow become the streams that their files become."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from streamfs import StreamSet
from streamfs.data.recordings import tables
from streamfs.data.recordings.frames import frame_table
from streamfs.errors import DataError, LayoutError

TIMES = [datetime(2026, 3, 29, 0, 59, tzinfo=UTC) + timedelta(seconds=30 * tick) for tick in range(4)]
FRAME = pl.DataFrame(
    {
        "stream": ["a", "a", "b", "b"],
        "time": TIMES,
        "label": ["on", "on", "off", "off"],
        "x": [1.0, None, 3.0, 4.0],
        "n": [1, 2, 3, 4],
        "is_open": [True, False, True, True],
    }
)


def as_pandas(frame):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    table = {name: frame[name].to_list() for name in frame.columns}
    return pd.DataFrame(table)


def as_arrow(frame):
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed").table(frame.to_dict(as_series=False))


KINDS = {
    "polars": lambda frame: frame,
    "lazy": lambda frame: frame.lazy(),
    "pandas": as_pandas,
    "zoned pandas": lambda frame: as_pandas(frame).assign(
        time=lambda table: table["time"].dt.tz_convert("Europe/Berlin")
    ),
    "nullable pandas": lambda frame: as_pandas(frame).convert_dtypes(),
    "categorical pandas": lambda frame: as_pandas(frame).astype({"stream": "category", "label": "category"}),
    "indexed pandas": lambda frame: as_pandas(frame).set_index("time"),
    "arrow": as_arrow,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_is_read_as_its_file(tmp_path, monkeypatch, kind):
    FRAME.write_parquet(tmp_path / "frame.parquet")
    expected = StreamSet.read(tmp_path / "frame.parquet")
    monkeypatch.setattr(tables, "BATCH", 3)
    found = StreamSet.from_frame(KINDS[kind](FRAME))
    assert found.names == expected.names
    assert sorted(found.columns) == sorted(expected.columns)
    assert found.period == expected.period == 30.0
    assert_array_equal(found.labels, expected.labels)
    for column in expected.columns:
        assert_array_equal(found.column(column), expected.column(column))


NAMELESS = {
    "some rows of pandas": lambda frame: as_pandas(frame).iloc[[2, 3, 0, 1]],
    "parts of pandas": lambda frame: as_pandas(frame).set_axis([[7, 7, 8, 8], [1, 2, 1, 2]], axis=0),
    "a file of pandas": lambda frame: frame.with_columns(pl.int_range(9, 13).alias("Unnamed: 0")),
    "a file of pandas, read by polars": lambda frame: frame.with_columns(pl.int_range(9, 13).alias("")),
    "arrow of pandas": lambda frame: frame.with_columns(pl.int_range(9, 13).alias("__index_level_0__")).to_arrow(),
}


@pytest.mark.parametrize("kind", NAMELESS)
def test_an_index_without_a_name_is_no_reading(kind):
    readings = {*StreamSet.from_frame(NAMELESS[kind](FRAME)).columns}
    assert readings <= {"x", "n", "is_open"}


def test_an_index_without_a_name_is_read_where_it_is_named():
    frame = as_pandas(FRAME).set_index("time").rename_axis(None)
    with pytest.raises(LayoutError, match="try time='index'"):
        StreamSet.from_frame(frame)
    assert StreamSet.from_frame(frame, time="index").period == 30.0


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("kind", ["datetime64[{}, UTC]", "datetime64[{}]", "timedelta64[{}]"])
def test_times_of_pandas_may_be_in_any_unit(kind, unit):
    frame = as_pandas(FRAME)
    naive = frame["time"].dt.tz_localize(None)
    times = {"d": naive if "UTC" not in kind else frame["time"], "t": naive - naive[0]}[kind[0]]
    assert StreamSet.from_frame(frame.assign(time=times.astype(kind.format(unit)))).period == 30.0


def test_columns_of_pandas_may_be_numbers():
    frame = as_pandas(FRAME).rename(columns={"x": 0, "n": 1})
    assert StreamSet.from_frame(frame, columns=[1, 0]).columns == ("1", "0")


@pytest.mark.parametrize(
    ("meaning", "name"), [("time", 7), ("stream", 7), ("label", 7), ("time", (7,)), ("stream", [7])]
)
def test_a_column_with_a_meaning_may_be_a_number_too(meaning, name):
    frame = as_pandas(FRAME)
    found = StreamSet.from_frame(frame.rename(columns={meaning: 7}), **{meaning: name})
    assert found.to_frame().equals(StreamSet.from_frame(frame).to_frame())


def test_columns_of_pandas_that_are_named_twice_are_refused():
    with pytest.raises(DataError, match="column 'time' occurs twice"):
        StreamSet.from_frame(as_pandas(FRAME).set_index("time", drop=False))


def test_a_time_of_day_needs_its_date():
    hours = FRAME.with_columns(pl.col("time").dt.date().alias("day"), pl.col("time").dt.time())
    with pytest.raises(LayoutError, match="time of the frame is a time of day") as refused:
        StreamSet.from_frame(hours)
    assert StreamSet.from_frame(hours, **refused.value.proposal).period == 30.0


def test_numbers_of_a_frame_are_not_copied():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    numbers = np.arange(6.0)
    (_, rows), *_ = frame_table(pd.DataFrame({"x": pd.Series(numbers, copy=False)}, copy=False)).batches()
    assert np.shares_memory(rows["x"].to_numpy(), numbers)


def test_a_frame_that_does_not_fit_is_refused_with_a_proposal():
    with pytest.raises(LayoutError, match=r"the frame has no column 'time', .*; try time='when'"):
        StreamSet.from_frame(FRAME.rename({"time": "when"}))
    with pytest.raises(
        LayoutError, match=r"no column 'time', .*; give time \(the column of times, or rows .*\) and time_format"
    ):
        StreamSet.from_frame(FRAME.drop("time"))
    with pytest.raises(
        TypeError, match=r"frame is \[1\], expected a frame of polars or pandas, or an Arrow table"
    ):
        StreamSet.from_frame([1])
    with pytest.raises(TypeError, match="expected a frame of polars or pandas"):
        StreamSet.from_frame(as_pandas(FRAME)["x"])


@pytest.mark.parametrize(
    "kind", [lambda frame: frame, lambda frame: as_pandas(frame).astype({"door": "category"})]
)
def test_categories_are_words_for_which_numbers_are_proposed(kind):
    door = pl.Series(["open", "closed", None, "open"], dtype=pl.Categorical)
    frame = kind(FRAME.with_columns(door=door))
    with pytest.raises(LayoutError) as refused:
        StreamSet.from_frame(frame)
    assert refused.value.proposal == {"values": {"closed": 0, "open": 1}}
    streams = StreamSet.from_frame(frame, **refused.value.proposal)
    assert_array_equal(streams.column("door"), [[1, 0], [np.nan, 1]])
