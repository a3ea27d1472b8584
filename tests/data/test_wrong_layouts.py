"""What readers are given in place of a layout or a path is refused by its name."""

from dataclasses import fields
from datetime import timedelta

import numpy as np
import polars as pl
import pytest
from recorded_files import NAN

from streamfs import StreamSet
from streamfs.data.recordings.layout import Layout
from streamfs.errors import DataError, LayoutError


@pytest.mark.parametrize("wrong", [object(), 2j, b"x", NAN, {1: 2j}, (b"x", NAN), lambda: None])
@pytest.mark.parametrize("name", [field.name for field in fields(Layout)])
def test_a_field_of_another_type_is_named(name, wrong):
    if isinstance(wrong, tuple) and name in ("columns", "header", "column_names"):
        return  # columns of pandas are called by anything
    with pytest.raises(DataError, match=f"^{name} (is|says) .*, expected "):
        Layout(**{name: wrong})


@pytest.mark.parametrize(
    "wrong", [np.array([1.0, 2.0]), pl.Series([1]), pl.col("x"), {}, (), 0, "", "\0", 10**400]
)
@pytest.mark.parametrize("name", ["time_zone", "decimal", "resample", "time_format"])
def test_a_word_is_not_taken_for_another(name, wrong):
    with pytest.raises(DataError, match=f"(?s)^{name} is .*, expected "):
        Layout(**{name: wrong})


@pytest.mark.parametrize("name", ["period", "window", "max_age"])
def test_a_time_is_a_number_that_a_float_can_hold(name):
    with pytest.raises(DataError, match=f"^{name} is 1000.*, expected a .*number of seconds"):
        Layout(**{name: 10**400})


def test_names_of_columns_may_come_one_by_one(files):
    path = files(log="time,x,y\n0,1,2\n") / "log.csv"
    assert StreamSet.read(path, columns=(name for name in "yx"), labelled=False).columns == ("y", "x")
    with pytest.raises(DataError, match=r"columns is .*, expected the names of some columns, each once"):
        StreamSet.read(path, columns=["1", 1], labelled=False)
    with pytest.raises(DataError, match=r"has no column \"\['x'\]\""):
        StreamSet.read(path, columns=[["x"]], labelled=False)


def test_columns_called_by_numbers_are_those_of_readings():
    frame = pl.DataFrame({"0": ["s", "s"], "1": [0, 1], "2": ["t", "t"], "3": [5, 6]})
    streams = StreamSet.from_frame(frame, long=(0, 1, 2, 3), labelled=False)
    assert (streams.names, streams.columns) == (("s",), ("t",))


@pytest.mark.parametrize(
    "wrong", [0, NAN, None, object(), pl.DataFrame({"time": [0]}), (1, 2), [None, "x"], [b"x"], b"x"]
)
def test_what_is_no_path_is_named(wrong):
    with pytest.raises(TypeError, match=r"^paths is .*, expected a path or several"):
        StreamSet.read(wrong)


def test_what_is_wrong_beyond_an_error_is_named():
    rows = {"node": ["a", "a", "b"], "time": [0, 1, 0], "label": ["u", "u", "v"], "x": ["1.203,5", "1", "2"]}
    with pytest.raises(
        LayoutError, match=r"has two labels, 'u' and 'v'; if stream is node, x of .* is '1\.203,5' in"
    ):
        StreamSet.from_frame(pl.DataFrame(rows))


def test_of_many_columns_the_first_are_listed():
    frame = pl.DataFrame({f"c{number}_": [1.5] for number in range(99)})
    with pytest.raises(LayoutError, match=r"has no column 'time', only (c\d+_, ){12}\.\.\.; give time"):
        StreamSet.from_frame(frame)


def test_a_path_that_no_file_can_have_is_refused(files):
    wrong = "x" * 5000
    for paths, labels in (("\0", None), (wrong, None), (files(log="time,x\n0,1\n"), f"{wrong}.csv")):
        with pytest.raises(DataError, match="cannot be read: "):
            StreamSet.read(paths, labels=labels)


@pytest.mark.parametrize(
    "wrong",
    [pl.Series([[1]]), pl.Series([object()], dtype=pl.Object), pl.Series([timedelta(1)]), pl.Series([b"x"])],
)
@pytest.mark.parametrize("time", [("day", "at"), ("at", "day"), ("day", "at", "x")])
def test_a_date_and_a_time_of_day_of_other_types_are_named(time, wrong):
    frame = pl.DataFrame({"day": wrong, "at": ["10:00"], "x": [1.0]})
    with pytest.raises(DataError, match=r"of the frame .*, expected "):
        StreamSet.from_frame(frame, time=time, labelled=False)


@pytest.mark.parametrize("time", [pl.Null, pl.Float64, pl.String])
def test_windows_need_times(time):
    frame = pl.DataFrame({"time": pl.Series([None, None], dtype=time), "label": ["on", "on"], "x": [1.0, 2.0]})
    with pytest.raises(DataError, match="no row of the frame has a time"):
        StreamSet.from_frame(frame, window=2)
