"""Stream sets: construction, selection, splitting, and files."""

import gzip
import io

import numpy as np
import polars as pl
import pytest
from helpers.procedures import labelled_streams
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from streamfs import StreamSet
from streamfs.data.recordings.tables import numbers_of
from streamfs.data.recordings.words import UNIT, coded
from streamfs.errors import DataError

NAN = float("nan")
TWO = "stream,time,label,x\na,0,calm,1\na,1,calm,2\nb,0,busy,3\nb,1,busy,4\n"

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
readings = st.floats(-1e100, 1e100) | st.just(NAN)


@st.composite
def stream_sets(draw, *, max_streams=4):
    """Draw small sets with odd names, gaps, and streams of any length, including 0."""
    columns = draw(
        st.lists(texts.filter(lambda c: c not in ("stream", "time", "label")), min_size=1, max_size=3, unique=True)
    )
    names = draw(st.lists(texts, min_size=1, max_size=max_streams, unique=True))
    n_ticks = draw(st.integers(0, 5))
    n_values = len(names) * n_ticks * len(columns)
    values = draw(st.lists(readings, min_size=n_values, max_size=n_values))
    lengths = draw(st.lists(st.integers(0, n_ticks), min_size=len(names), max_size=len(names)))
    labels = draw(st.lists(texts, min_size=len(names), max_size=len(names)))
    period = draw(st.floats(1e-6, 1e6))
    shape = (len(names), n_ticks, len(columns))
    return StreamSet(np.reshape(values, shape), labels, columns, period, names, lengths)


@pytest.fixture
def file(tmp_path):
    """Return a writer of text into a CSV file."""

    def write(text, name="streams.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def read(file, text, **options):
    return StreamSet.read(file(text), **options)


def assert_same(found, expected):
    assert found.names == expected.names
    assert found.columns == expected.columns
    assert found.period == expected.period
    assert_array_equal(found.labels, expected.labels)
    assert_array_equal(found.lengths, expected.lengths)
    n_ticks = int(expected.lengths.max(initial=0))
    assert found.n_ticks == n_ticks
    assert_array_equal(found.values, expected.values[:, :n_ticks])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"values": [[1.0]]}, r"values have shape \(1, 1\), expected \(n_streams"),
        ({"values": [[1.0]]}, r"give streams of one column as values\[:, :, np.newaxis\]"),
        ({"columns": ["x", "y", "z"]}, r"with 3 columns: turn the axes by values.transpose\(0, 2, 1\)"),
        ({"columns": [None]}, "column 1 has the name None, expected a text"),
        ({"values": [np.zeros((2, 1)), np.zeros((3, 2))]}, "streams have 1 and 2 columns, expected the same"),
        ({"values": [np.zeros((2, 1)), np.zeros((3, 1, 1))]}, r"a stream has shape \(3, 1, 1\), expected"),
        ({"labels": ["a"]}, r"labels have shape \(1,\), expected \(2,\)"),
        ({"columns": ["x", "y"]}, r"columns have shape \(2,\), expected \(1,\)"),
        ({"columns": [""]}, "column 1 has the name ''"),
        ({"names": ["n"]}, r"names have shape \(1,\), expected \(2,\)"),
        ({"names": ["n", "n"]}, "stream 'n' occurs twice"),
        ({"names": ["n", ""]}, "stream 2 has the name ''"),
        ({"values": np.zeros((2, 3, 2)), "columns": ["x", "x"]}, "column 'x' occurs twice"),
        ({"labels": np.array(["a", None])}, "the label of stream stream-1 is None: leave out streams without one"),
        ({"labels": [1.0, NAN]}, "the label of stream stream-1 is nan"),
        ({"labels": np.array(["2026-11-27", "NaT"], dtype="M8[D]")}, "the label of stream stream-1 is None"),
        ({"lengths": [3]}, r"lengths have shape \(1,\), expected \(2,\)"),
        ({"lengths": [3, 4]}, "a length is 4, expected 0 to 3 ticks"),
        ({"lengths": [-1, 3]}, "a length is -1, expected 0 to 3 ticks"),
        ({"lengths": [2.5, 3]}, "a length is 2.5, expected a whole number"),
        ({"lengths": [None, 3]}, "a length is nan, expected a whole number"),
        ({"lengths": ["all", 3]}, "lengths are <U21, expected real numbers, and one is 'all'"),
        ({"labels": [["a"], ["b", "c"]]}, r"labels are \[\['a'\], \['b', 'c'\]\], expected a flat sequence"),
        ({"columns": "x"}, "names of columns are 'x', expected several texts"),
        ({"period": "a"}, "period is 'a', expected a positive number of seconds"),
        ({"period": None}, "period is None, expected"),
        ({"lengths": [NAN, 3]}, "a length is nan, expected a whole number"),
        ({"period": 0}, "period is 0, expected a positive number"),
        ({"period": -2}, "period is -2, expected"),
        ({"period": NAN}, "period is nan, expected"),
        ({"period": float("inf")}, "period is inf, expected"),
        ({"values": np.zeros((2, 3, 1), dtype=complex)}, "values are complex128, expected real numbers"),
        ({"values": [[["cold"]], [["warm"]]]}, "values are <U4, expected real numbers, and one is 'cold'"),
        ({"values": [[[1]], [[10**400]]]}, "values are object, expected real numbers, and one is 1000"),
        ({"values": [[[1], [2, 3]], [[4]]]}, "a stream has ticks of 1 and 2 values, expected as many at each"),
        ({"values": [[[1], None], [[4], [5]]]}, "a stream has ticks of 0 and 1 values, expected as many at each"),
        ({"values": np.zeros((2, 3, 1), dtype="M8[s]")}, r"values are datetime64\[s\], expected real numbers"),
        ({"values": [np.zeros(3), np.zeros(2, dtype=complex)]}, "values are complex128, expected real numbers"),
        (
            {"values": [np.zeros(3), np.zeros(2, dtype="M8[s]")]},
            r"values are datetime64\[s\], expected real numbers",
        ),
        ({"values": np.ma.zeros((2, 3, 1), dtype=complex)}, "values are complex128, expected real numbers"),
    ],
)
def test_arguments_that_do_not_match_are_refused(given, message):
    fitting = {"values": np.zeros((2, 3, 1)), "labels": ["a", "b"], "columns": ["x"]}
    with pytest.raises(DataError, match=message):
        StreamSet(**(fitting | given))


SHORT, LONGER = np.array([[1.0], [2.0]]), np.array([[3.0], [4.0], [5.0]])


@pytest.mark.parametrize(
    "values",
    [
        [SHORT, LONGER],
        [SHORT.tolist(), LONGER.tolist()],
        [SHORT[:, 0], LONGER[:, 0]],
        np.array([SHORT, LONGER], dtype=object),
        [np.ma.masked_greater(np.append(SHORT, [[7.0]], 0), 6.0)[:2], np.ma.array(LONGER)],
    ],
)
def test_streams_may_be_given_one_by_one(values):
    streams = StreamSet(values, ["a", "b"], ["x"])
    assert_array_equal(streams.values[:, :, 0], [[1, 2, NAN], [3, 4, 5]])
    assert streams.lengths.tolist() == [2, 3]


def test_what_a_mask_hides_is_missing():
    masked = np.ma.masked_equal(np.array([[[1], [-999]], [[-999], [4]]]), -999)
    for values in (masked, list(masked)):
        assert_array_equal(StreamSet(values, ["a", "b"], ["x"]).values[:, :, 0], [[1, NAN], [NAN, 4]])


def test_names_that_are_numbers_are_texts():
    streams = StreamSet(np.zeros((2, 3, 2)), ["a", "b"], range(2), names=np.arange(2))
    assert streams.columns == streams.names == ("0", "1")
    assert repr(streams).endswith("columns 0, 1, labels a 1, b 1)")


def test_an_infinite_reading_is_refused_with_its_place():
    with pytest.raises(DataError, match="x of stream two is -inf at tick 3"):
        StreamSet([[[0.0]] * 3, [[0.0], [0.0], [-np.inf]]], ["a", "b"], ["x"], names=["one", "two"])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"weights have shape \(1,\), expected \(2,\)"),
        ([1.0, -1.0], "the weight of stream stream-1 is -1.0, expected at least 0"),
        ([0.0, 0.0], "weights are 0 for every stream"),
        (["a", 1.0], "weights are .*, expected real numbers, and one is 'a'"),
        ([1e308, 1e308], r"weights are up to 1e\+308, expected a sum that a number can hold"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    with pytest.raises(DataError, match=message):
        StreamSet(np.zeros((2, 3, 1)), ["a", "b"], ["x"]).weighted(weights)


def test_values_beyond_a_streams_length_are_ignored():
    streams = StreamSet([[[1.0], [np.inf]]], ["a"], ["x"], lengths=[1])
    assert_array_equal(streams.values, [[[1.0], [NAN]]])


def test_a_set_copies_its_values():
    values, lengths = np.zeros((1, 2, 1)), np.array([2])
    streams = StreamSet(values, ["a"], ["x"], lengths=lengths)
    values[:], lengths[:] = 7.0, 1
    assert_array_equal(streams.values, np.zeros((1, 2, 1)))
    assert streams.lengths.tolist() == [2]


def test_an_unknown_column_is_refused_listing_the_known_ones():
    with pytest.raises(DataError, match=r"column 'a.lihgt' does not exist, expected one of a.level, b.level"):
        labelled_streams().column("a.lihgt")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@given(streams=stream_sets())
@example(streams=StreamSet([[[1.0]]], ["a"], [".5"]))
@example(streams=StreamSet([[[1.0]], [[NAN]]], ["a", "b"], ["x"], names=["#a", " #b"], lengths=[1, 0]))
def test_a_written_set_is_read_back(tmp_path_factory, ending, streams):
    path = tmp_path_factory.mktemp("round") / f"streams.{ending}"
    streams.write(path)
    assert_same(StreamSet.read(path, streams.period), streams)


def test_a_missing_reading_is_written_as_an_empty_cell(tmp_path):
    StreamSet([[[1.0, NAN]], [[NAN, NAN]]], ["a", "b"], ["x", "y"], lengths=[1, 0]).write(tmp_path / "streams.csv")
    written = (tmp_path / "streams.csv").read_text(encoding="utf-8")
    assert written.splitlines() == ["stream,time,label,x,y", "stream-0,0.0,a,1.0,", "stream-1,,b,,"]


def test_what_is_no_path_of_a_table_is_not_written(tmp_path):
    streams = StreamSet([[[1.0]]], ["a"], ["x"])
    with pytest.raises(TypeError, match="path is 5, expected the path of a file"):
        streams.write(5)
    for name, message in (
        ("a.xlsx", "ends in '.xlsx', expected .csv or .parquet"),
        ("\0.csv", "no file can have"),
        ("\ud800.csv", "no file can have"),
    ):
        with pytest.raises(DataError, match=message):
            streams.write(tmp_path / name)


@given(streams=stream_sets(), seed=st.integers(0, 100))
def test_rows_may_come_in_any_order(tmp_path_factory, streams, seed):
    path = tmp_path_factory.mktemp("order") / "streams.parquet"
    streams.write(path)
    pl.read_parquet(path).sample(fraction=1, shuffle=True, seed=seed).write_parquet(path)
    found = StreamSet.read(path, streams.period)
    order = [found.names.index(name) for name in streams.names]
    assert_same(found.take(order), streams)


@settings(max_examples=40)
@given(streams=stream_sets())
def test_streams_without_labels_are_written_and_read(tmp_path_factory, streams):
    path = tmp_path_factory.mktemp("unlabelled") / "streams.csv"
    bare = StreamSet(
        streams.values, [""] * len(streams), streams.columns, streams.period, streams.names, streams.lengths
    )
    bare.write(path)
    assert_same(StreamSet.read(path, streams.period, labelled=False), bare)
    with pytest.raises(DataError, match=r"row 1 of .* has no label"):
        StreamSet.read(path, streams.period)


@settings(max_examples=40)
@given(
    later=st.sets(st.integers(2, 10**4), max_size=20),
    period=st.sampled_from([0.1, 0.25, 1.0, 3.0, 600.0]),
    start=st.sampled_from([0.0, 17.3, 1.7e9]),
)
def test_the_period_is_the_smallest_step(tmp_path_factory, later, period, start):
    path = tmp_path_factory.mktemp("step") / "streams.csv"
    rows = [f"a,{start + tick * period!r},calm,{tick}" for tick in sorted({0, 1} | later, reverse=True)]
    path.write_text("\n".join(["stream,time,label,x", *rows]), encoding="utf-8")
    found = StreamSet.read(path)
    assert found.period == period
    ticks = np.flatnonzero(~np.isnan(found.values[0, :, 0]))
    assert_array_equal(found.values[0, ticks, 0], ticks)


def test_the_period_of_streams_of_one_tick_is_a_second(file):
    assert read(file, "stream,time,label,x\na,5,calm,1\nb,9,busy,1\n").period == 1.0


def test_a_row_falls_on_the_nearest_tick(file):
    streams = read(file, "stream,time,label,x\na,0,calm,1\na,1.4,calm,2\na,1.6,calm,3\n", period=1.0)
    assert_array_equal(streams.values[0, :, 0], [1, 2, 3])


def test_a_stream_begins_at_its_first_row(file):
    streams = read(file, "stream,time,label,x\nb,9,calm,1\na,5,busy,2\nb,10,calm,3\n")
    assert streams.names == ("b", "a")
    assert_array_equal(streams.values[:, :, 0], [[1, 3], [2, NAN]])
    assert streams.lengths.tolist() == [2, 1]


def test_a_tick_without_a_row_is_a_missing_sample(file):
    streams = read(file, "stream,time,label,x,y\na,0,calm,1,5\na,1,calm,2,6\na,3,calm,,7\n")
    assert_array_equal(streams.values[0], [[1, 5], [2, 6], [NAN, NAN], [NAN, 7]])


@pytest.mark.parametrize("cell", ["", '""', " ", "nan", "NaN"])
def test_an_empty_cell_is_a_missing_reading(file, cell):
    assert np.isnan(read(file, f"stream,time,label,x\na,0,calm,{cell}\n").values).all()


SPELLINGS = [("1e3", 1000.0), (" 2.5 ", 2.5), ("+1", 1.0), ("-0.5", -0.5), ("\u22120.5", -0.5)]
SPACED = [("1 020.5", 1020.5), ("-12\u202f345", -12345.0), ("1\xa0020\xa0300.", 1020300.0)]


@pytest.mark.parametrize(("cell", "number"), [*SPELLINGS, *SPACED])
def test_common_spellings_of_numbers_are_read(file, cell, number):
    assert read(file, f"stream,time,label,x\na,0,calm,{cell}\n").values.item() == number


@pytest.mark.parametrize(("cell", "number"), [*SPELLINGS, *SPACED])
def test_a_unit_may_follow_common_spellings_of_numbers(cell, number):
    numbers = numbers_of(coded(pl.Series([f"{cell.strip()} W"]), {"W": UNIT}), "log.csv")
    assert numbers.item() == number


def test_a_stream_whose_only_row_is_empty_is_kept(file):
    streams = read(file, "stream,time,label,x\na,0,calm,1\nb,0,busy,\nc,,busy,\n")
    assert streams.names == ("a", "b", "c")
    assert streams.labels.tolist() == ["calm", "busy", "busy"]
    assert streams.lengths.tolist() == [1, 1, 0]


def test_a_file_may_hold_only_streams_without_ticks(file):
    streams = read(file, "stream,time,label,x\na,,calm,\n")
    assert (streams.names, streams.n_ticks) == (("a",), 0)


@pytest.mark.parametrize(
    "text",
    [
        TWO + "\n\n",
        TWO.replace("\n", "\r\n"),
        "\ufeff" + TWO,
        TWO.replace("stream", '"stream"'),
        TWO.replace("b,0", "\nb,0"),
        TWO.removesuffix("\n"),
    ],
    ids=["blank lines", "carriage returns", "byte order mark", "quotes", "blank line within", "no last newline"],
)
def test_files_of_spreadsheets_are_read(file, text):
    assert_same(read(file, text), read(file, TWO))


def test_a_compressed_file_is_read(file):
    assert_same(StreamSet.read(file(gzip.compress(TWO.encode()), "streams.csv.gz")), read(file, TWO))


def test_a_path_is_not_a_pattern(file):
    assert_same(StreamSet.read(file(TWO, "run[1]*.csv")), read(file, TWO))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read: it is empty, or has comments alone"),
        ("stream,time,label,x\n", "has no readings: it has no rows"),
        ("stream,time,label\na,0,calm\n", "has no column of readings"),
        ("stream,label,x\na,calm,1\n", "has no column 'time', only stream, label, x"),
        ("stream,time,x\na,0,1\n", "has no column 'label', only stream, time, x"),
        ("stream:time:label:x\na:0:calm:1\n", "has no column 'time', only stream:time:label:x"),
        ("stream,time,label,x,x\na,0,calm,1,2\n", "column 'x' occurs twice"),
        ("stream,time,label,x\na,0,calm,1\na,1,calm,1,2\n", "row 2 has 5 cells, expected 4 as in the header"),
        ("stream,time,label,x\na,0,calm,1\na,1,calm,two\n", "x of .* is 'two' in row 2, expected a number"),
        ('stream,time,label,x\na,0,calm,"1,5"\n', "x of .* is '1,5' in row 1, expected a number"),
        ("stream;time;label;x\na;0;calm;1.020,5\n", "is '1.020,5' in row 1, expected a number without marks"),
        ("stream,time,label,x\na,noon,calm,1\n", "time of .* is 'noon' in row 1, expected seconds"),
        (
            "stream,time,label,x\na,0,calm,1\na,1700000000000000000,calm,1\n",
            "time of .* is 1.7e.18 in row 2, expected seconds",
        ),
        ("stream,time,label,x\na,inf,calm,1\n", "time of .* is inf in row 1, expected seconds"),
        ("stream,time,label,x\na,0,calm,1\na,,calm,2\n", "row 2 of .* has readings but no time"),
        ("stream,time,label,x\n,0,calm,1\n", "row 1 of .* has no stream"),
        ("stream,time,label,x\na,0,,1\n", "row 1 of .* has no label: leave out streams without one"),
        ("stream,time,label,x\na,0,calm,1\na,1,busy,1\n", "stream a of .* has two labels, 'calm' and 'busy'"),
        ("stream,time,label,x\na,0,calm,1\na,0,calm,1\n", "stream a of .* has several rows at tick 1 of 1 s"),
        ("stream,time,label,x\na,0,calm,inf\n", "x of stream a is inf at tick 1"),
        (b"stream,time,label,x\n\xff,0,calm,1\n", "cannot be read: it is not in UTF-8"),
        ("stream;time;x\na;0;1\n".encode("utf-16"), "is in UTF-16; save it in UTF-8, or convert it as"),
        ("1,0.5," + "0.25," * 999 + "2\n", r"its first row is 1, 0\.5, (0\.25, ){10}\.\.\.; give column_names"),
        (b"\x00\x01\x02\x03", "has NUL bytes: it is damaged, or in UTF-16; save it in UTF-8"),
    ],
)
def test_a_damaged_table_is_refused(file, text, message):
    with pytest.raises(DataError, match=message):
        read(file, text)


def test_rows_closer_than_the_period_are_refused(file):
    with pytest.raises(DataError, match=r"has several rows at tick 2 of 1 s: keep one .* try resample='last'"):
        read(file, "stream,time,label,x\na,0,calm,1\na,0.5,calm,2\na,1,calm,3\n", period=1.0)


@pytest.mark.parametrize("period", [0.0, -1.0, NAN, float("inf")])
def test_an_invalid_period_is_refused(file, period):
    with pytest.raises(DataError, match=f"period is {period}, expected a positive number"):
        read(file, TWO, period=period)


@pytest.mark.parametrize(("time", "period"), [("1e12", None), ("1e12", 1.0), ("1e4", 1e-8)])
def test_a_wrong_time_does_not_exhaust_memory(file, time, period):
    text = f"stream,time,label,x\na,0,calm,1\na,1,calm,1\nb,0,busy,1\nb,{time},busy,1\n"
    message = "stream b of .* spans 1,000,000,000,001 ticks of .* in 2 GiB: correct its times"
    with pytest.raises(DataError, match=message):
        read(file, text, period=period)


def test_unlabelled_streams_may_have_some_labels(file):
    streams = read(file, "stream,time,label,x\na,0,,1\nb,0,busy,1\n", labelled=False)
    assert streams.labels.tolist() == ["", "busy"]
    assert read(file, "stream,time,x\na,0,1\n", labelled=False).labels.tolist() == [""]
    with pytest.raises(DataError, match=r"row 1 of .* has no stream"):
        read(file, "stream,time,x\n,0,1\n", labelled=False)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"none.csv cannot be read: No such file"):
        StreamSet.read(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match=r"folder.csv has no file of a recording"):
        StreamSet.read(tmp_path / "folder.csv")


@pytest.mark.parametrize("name", ["streams.doc", "streams", "streams.csv.zip", "streams.CSV.xls"])
def test_a_wrong_ending_is_refused(file, name):
    with pytest.raises(DataError, match=r"expected \.csv"):
        StreamSet.read(file(TWO, name))
    with pytest.raises(DataError, match=r"expected \.csv or \.parquet"):
        labelled_streams().write(name)


@pytest.mark.parametrize("column", ["stream", "time", "label"])
def test_a_column_with_a_reserved_name_is_not_written(tmp_path, column):
    with pytest.raises(DataError, match=f"column '{column}' cannot be written"):
        StreamSet([[[1.0]]], ["a"], [column]).write(tmp_path / "streams.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "damage", [lambda b: b[:40], lambda b: b[: len(b) // 2], lambda _: b"", lambda _: b"PAR1"]
)
@pytest.mark.parametrize("name", ["streams.parquet", "streams.csv.gz"])
def test_a_damaged_file_is_refused(file, name, damage):
    buffer = io.BytesIO()
    pl.read_csv(TWO.encode()).write_parquet(buffer)
    whole = buffer.getvalue() if name.endswith("parquet") else gzip.compress(TWO.encode())
    with pytest.raises(DataError, match=name):
        StreamSet.read(file(damage(whole), name))


def test_a_panic_of_the_parser_is_a_data_error(file):
    buffer = io.BytesIO()
    pl.read_csv(TWO.encode()).write_parquet(buffer)
    n_refused = 0
    for place in (78, 79, 215, 216, 359, 360):  # in the headers of pages
        damaged = bytearray(buffer.getvalue())
        damaged[place] ^= 128
        try:
            StreamSet.read(file(bytes(damaged), "streams.parquet"))
        except DataError:
            n_refused += 1
    assert n_refused > 0


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        ("time", [[1.0]], "time of .* is of type List.*, expected seconds"),
        ("x", [[1.0]], "x of .* is of type List.*, expected numbers"),
        ("x", [b"1"], "x of .* is of type Binary, expected numbers"),
        ("stream", [[1]], "stream of .* is of type List.*, expected text"),
    ],
)
def test_a_column_of_another_type_is_refused(tmp_path, column, cells, message):
    path = tmp_path / "streams.parquet"
    pl.DataFrame({"stream": ["a"], "time": [0], "label": ["calm"], "x": [1.0]} | {column: cells}).write_parquet(
        path
    )
    with pytest.raises(DataError, match=message):
        StreamSet.read(path)


def test_columns_of_related_types_are_read(tmp_path):
    path = tmp_path / "streams.parquet"
    table = {"stream": [7, 7], "time": [0, 1], "label": [True, True], "on": [True, None], "none": [None, None]}
    pl.DataFrame(table).write_parquet(path)
    streams = StreamSet.read(path)
    assert (streams.names, streams.labels.tolist()) == (("7",), ["true"])
    assert_array_equal(streams.values[0], [[1, NAN], [NAN, NAN]])


@given(streams=stream_sets(), data=st.data())
def test_take_returns_the_chosen_streams(streams, data):
    order = data.draw(st.permutations(range(len(streams))))
    taken = streams.take(order)
    assert taken.names == tuple(streams.names[i] for i in order)
    assert_array_equal(taken.values, streams.values[order])
    assert_array_equal(taken.labels, streams.labels[order])
    assert_array_equal(taken.lengths, streams.lengths[order])


def test_streams_are_taken_by_a_mask():
    streams = labelled_streams(6)
    assert streams.take(streams.labels == "busy").labels.tolist() == ["busy"] * 3
    assert len(streams.take([])) == 0
    with pytest.raises(IndexError, match="boolean"):
        streams.take([True])


@given(
    counts=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    share=st.floats(0, 1),
    seed=st.integers(0, 2**32),
)
def test_a_split_is_stratified_disjoint_and_seeded(counts, share, seed):
    labels = np.repeat([f"class-{i}" for i in range(len(counts))], counts)
    streams = StreamSet(np.zeros((len(labels), 1, 1)), labels, ["x"])
    first, second = streams.split(share, seed)
    assert sorted(first.names + second.names) == sorted(streams.names)
    for label, count in zip(streams.classes, counts, strict=True):
        assert abs((first.labels == label).sum() - share * count) <= 0.5
    again, _ = streams.split(share, seed)
    assert again.names == first.names


@given(
    groups=st.lists(st.integers(0, 30), min_size=40, max_size=90),
    share=st.sampled_from([0.0, 0.25, 0.5, 0.8, 1.0]),
    seed=st.integers(0, 99),
)
def test_a_split_parts_no_group_and_is_near_the_share(groups, share, seed):
    labels = np.where(np.arange(len(groups)) % 3, "a", "b")
    streams = StreamSet(np.zeros((len(groups), 1, 1)), labels, ["x"]).grouped(groups)
    first, second = streams.split(share, seed)
    assert not {*first.groups.tolist()} & {*second.groups.tolist()}
    assert sorted([*first.names, *second.names]) == sorted(streams.names)
    largest = np.unique(groups, return_counts=True)[1].max()
    assert abs(len(first) - share * len(streams)) <= 2 * largest
    assert first.names == streams.split(share, seed)[0].names


def test_different_seeds_give_different_splits():
    streams = labelled_streams(40)
    assert len({streams.split(0.5, seed)[0].names for seed in range(5)}) == 5


@pytest.mark.parametrize("share", [-0.1, 1.1, NAN])
def test_a_share_outside_0_to_1_is_refused(share):
    with pytest.raises(ValueError, match=f"share is {share}, expected 0 to 1"):
        labelled_streams().split(share, 0)


@given(streams=stream_sets())
def test_columns_at_every_tick_are_seen_as_they_are(streams):
    quoted = ['"' + column.replace('"', '""') + '"' for column in streams.columns]
    seen = streams.seen_through(quoted)
    assert seen.columns == tuple(quoted)
    assert_array_equal(seen.values, streams.values)
    assert_array_equal(seen.lengths, streams.lengths)


@given(streams=stream_sets(max_streams=3), policy=st.sampled_from(["delta:1", "flag:0", "every:2", "mean:2"]))
def test_the_view_of_a_stream_depends_on_that_stream_alone(streams, policy):
    column = '"' + streams.columns[0].replace('"', '""') + '"'
    seen = streams.seen_through([f"{column}@{policy}"])
    for index in range(len(streams)):
        alone = streams.take([index]).seen_through([f"{column}@{policy}"])
        assert_array_equal(seen.values[index], alone.values[0])


def test_held_values_end_with_the_stream():
    streams = StreamSet([[[1.0], [NAN], [5.0]]], ["a"], ["t"], lengths=[2])
    assert_array_equal(streams.seen_through(["t@delta:1"]).values.ravel(), [1, 1, NAN])


def test_a_channel_of_an_unknown_column_is_refused():
    with pytest.raises(DataError, match="column 'light' does not exist"):
        labelled_streams().seen_through(["light@delta:3"])


@given(streams=stream_sets())
def test_an_episode_begins_at_the_first_complete_tick(streams):
    episodes = streams.episodes()
    assert (episodes.names, episodes.columns) == (streams.names, streams.columns)
    for values, length, opened, n_left in zip(
        streams.values, streams.lengths, episodes.values, episodes.lengths, strict=True
    ):
        complete = [tick for tick in range(length) if not np.isnan(values[tick]).any()]
        first = complete[0] if complete else length
        assert n_left == length - first
        assert_array_equal(opened[:n_left], values[first:length])
        assert np.isnan(opened[n_left:]).all()


@given(streams=stream_sets())
def test_the_episodes_of_episodes_are_the_same(streams):
    once = streams.episodes()
    assert_array_equal(once.episodes().values, once.values)
    assert_array_equal(once.episodes().lengths, once.lengths)


def test_repr():
    assert repr(labelled_streams(4, 3)) == (
        "StreamSet(4 streams of up to 3 ticks of 1 s, columns a.level, b.level, a.noise, b.noise, "
        "labels busy 2, calm 2)"
    )


def test_a_file_on_a_coarser_grid_is_refused(tmp_path):
    path = tmp_path / "streams.csv"
    path.write_text("stream,time,label,x\na,0,calm,1\na,2,calm,1\na,6,calm,2\n", encoding="utf-8")
    assert StreamSet.read(path, 2.0).lengths.tolist() == [4]
    with pytest.raises(
        DataError,
        match="are at least 2 s apart, and a tick is 1 s: leave period out, or give resample and max_age",
    ):
        StreamSet.read(path, 1.0)
