"""Streams and decisions as frames, Arrow and xarray, and back; .ts files of the archives."""

import gzip
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from helpers.procedures import labelled_streams, mean_procedure
from numpy.testing import assert_array_equal

from streamfs import StreamSet, evaluate
from streamfs.errors import DataError
from streamfs.evaluation import decisions_frame

NAN = float("nan")


def ragged():
    values = np.arange(24.0).reshape(3, 4, 2)
    values[0, 1, 1] = NAN
    return StreamSet(values, ["a", "b", "a"], ["x", "y"], 5.0, ["s", "t", "u"], [4, 2, 3])


def same(one, other):
    assert (one.names, one.columns, one.period) == (other.names, other.columns, other.period)
    assert_array_equal(one.labels, other.labels)
    assert_array_equal(one.lengths, other.lengths)
    assert_array_equal(one.values, other.values)


@pytest.mark.parametrize(
    "convert",
    [
        StreamSet.to_frame,
        lambda streams: streams.to_frame().to_pandas(),
        pa.table,
        pl.DataFrame,
        getattr(pd.DataFrame, "from_arrow", lambda streams: pa.table(streams).to_pandas()),  # Spark has pandas 2
    ],
)
def test_streams_are_frames_and_frames_are_streams(convert):
    same(StreamSet.from_frame(convert(ragged())), ragged())


@pytest.mark.parametrize("missing", [pd.NA, pd.NaT, None, Decimal("NaN")])
def test_a_missing_label_of_pandas_is_no_class(missing):
    labels = np.array(["a", missing], dtype=object)
    with pytest.raises(DataError, match=f"the label of stream stream-1 is {missing}: leave out streams"):
        StreamSet(np.zeros((2, 3, 1)), labels, ["x"])


@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
def test_times_of_xarray_may_be_dates_or_durations(unit):
    array = ragged().to_xarray()
    passed = (np.arange(array.sizes["time"]) * ragged().period * 1e3).astype("m8[ms]").astype(f"m8[{unit}]")
    for times in (passed, np.datetime64("2026-11-28") + passed):
        same(StreamSet.from_xarray(array.assign_coords(time=times)), ragged())


def test_variables_of_a_dataset_are_columns():
    same(StreamSet.from_xarray(ragged().to_xarray().to_dataset("column")), ragged())
    with pytest.raises(TypeError, match="array is of type ndarray, expected a DataArray or Dataset of xarray"):
        StreamSet.from_xarray(np.zeros((1, 1, 1)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.isel(stream=0), "dimensions of the array are time, column, expected stream, time, column"),
        (lambda a: a.expand_dims("day"), "dimensions of the array are day, stream, time, column, expected"),
        (
            lambda a: a.to_dataset(name="x"),
            "variables of the Dataset are x, expected the columns .*: give one of x",
        ),
        (lambda _: xr.Dataset(), "variables of the Dataset are none, expected the columns of streams$"),
        (lambda a: a.assign_coords(label="a"), "coordinate 'label' is of no dimension, expected a label of each"),
        (lambda a: a.assign_coords(label=a["time"]), "coordinate 'label' is of time, expected a label of each"),
        (lambda a: a.assign_coords(stream=[None] * 3), "stream 1 has the name None, expected a text"),
        (lambda a: a.astype(str).where(a["column"] == "x", "?"), "expected real numbers, and one is '\\?'"),
        (
            lambda a: a.assign_coords(time=-a["time"]),
            "times are -5 to -5 seconds apart, expected even ones that rise",
        ),
        (
            lambda a: a.assign_coords(time=a["time"] + np.inf),
            "time 1 is inf, expected seconds, a date or a duration",
        ),
        (
            lambda a: a.assign_coords(time=[f"t{n}" for n in range(a.sizes["time"])]),
            "times are .*, and one is 't0'",
        ),
        (lambda a: a.assign_coords(time=a["time"] * 1j), "times are complex128, expected real numbers"),
    ],
)
def test_arrays_of_xarray_that_are_no_streams_are_refused(change, message):
    with pytest.raises(DataError, match=message):
        StreamSet.from_xarray(change(ragged().to_xarray()))


def test_the_label_of_an_array_is_a_name():
    with pytest.raises(TypeError, match=r"label is \['label'\], expected the name of a coordinate"):
        StreamSet.from_xarray(ragged().to_xarray(), label=["label"])


def test_an_array_without_ticks_is_read():
    assert StreamSet.from_xarray(ragged().to_xarray()[:, :0]).lengths.tolist() == [0] * len(ragged())


def test_streams_are_an_array_of_xarray():
    array = ragged().to_xarray()
    assert array.sel(stream="u", time=10.0, column="y").item() == 21.0
    assert array.label.sel(stream="t").item() == "b"
    same(StreamSet.from_xarray(array), ragged())
    same(StreamSet.from_xarray(array.transpose("column", "stream", "time")), ragged())
    with pytest.raises(DataError, match="the array has no coordinate 'kind', only stream, time, column, label"):
        StreamSet.from_xarray(array, label="kind")
    with pytest.raises(DataError, match="times are 5 to 10 seconds apart, expected even ones"):
        StreamSet.from_xarray(xr.concat([array[:, :2], array[:, 3:]], "time"))


def test_decisions_are_a_frame():
    found = labelled_streams(8, 6)
    labels = np.where(found.labels == "calm", "off", "on")
    evaluation = evaluate(mean_procedure(column="a.level"), StreamSet(found.values, labels, found.columns))
    frame = evaluation.to_frame()
    assert frame["stream"].to_list() == [made.stream for made in evaluation.decisions]
    assert frame["truth"].to_list() == labels.tolist()
    assert frame["cost"].mean() == evaluation.cost
    assert frame["label"].null_count() == round(8 * (1 - evaluation.completeness))
    assert decisions_frame([]).columns == frame.columns[:-1]


TS = """# a comment
% another
@problemName Two
@timeStamps false
@missing true
@univariate false
@classLabel true low high
@data
1.0,2.0,?:4,5,6:low
7,8:9,10,11:high
"""


def test_a_ts_file_is_read(tmp_path):
    (tmp_path / "Two_TRAIN.ts").write_text(TS, encoding="utf-8")
    streams = StreamSet.read(tmp_path / "Two_TRAIN.ts")
    assert (streams.names, streams.columns, streams.period) == (("Two_TRAIN-0", "Two_TRAIN-1"), ("x0", "x1"), 1.0)
    assert streams.labels.tolist() == ["low", "high"]
    (tmp_path / "Two_TRAIN.ts.gz").write_bytes(gzip.compress(TS.encode()))
    assert_array_equal(StreamSet.read(tmp_path / "Two_TRAIN.ts.gz", 0.5).values, streams.values)
    found = np.stack([streams.column("x0"), streams.column("x1")], axis=2)
    assert_array_equal(found, [[[1.0, 4.0], [2.0, 5.0], [NAN, 6.0]], [[7.0, 9.0], [8.0, 10.0], [NAN, 11.0]]])


def test_a_ts_file_without_classes_has_no_labels(tmp_path):
    (tmp_path / "one.ts").write_text("@classLabel false\n@data\n1,2\n3,4,5\n", encoding="utf-8")
    streams = StreamSet.read(tmp_path / "one.ts", labelled=False)
    assert (streams.labels.tolist(), streams.lengths.tolist()) == (["", ""], [2, 3])


def test_files_of_one_name_in_two_folders_have_streams_of_their_own(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one.ts").write_text("@classLabel\tfalse\n@data\n1,2\n", encoding="utf-8")
    assert StreamSet.read(tmp_path, labelled=False).names == ("a/one-0", "b/one-0")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@timeStamps true\n@data\n(0,1):low\n", "line 1 of .*'@timeStamps true': times in series are not read"),
        ("@targetLabel true\n@data\n1:2\n", "numbers to predict, and streams are told apart by classes"),
        ("@data\n1,two:low\n", r"line 2 of .* has the cell 'two', expected a number or \?"),
        ("@data\n1_0,2:low\n", "line 2 of .* has the cell '1_0', expected a number or"),
        ("@data\n1,2:säle\n", r"wrong.ts is not UTF-8 from b'\\xe4le\\n' on"),
        ("@data\nlow\n", "line 2 of .*is 'low', expected numbers, a colon and a label"),
    ],
)
def test_what_is_wrong_with_a_ts_file_is_named(text, message, tmp_path):
    (tmp_path / "wrong.ts").write_text(text, encoding="latin-1")
    with pytest.raises(DataError, match=message):
        StreamSet.read(tmp_path / "wrong.ts")
