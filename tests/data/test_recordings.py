"""Recordings of other systems: files, columns, words and units."""

import gzip

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from recorded_files import NAN, WIDE, run

from streamfs import StreamSet
from streamfs.data.recordings import csv_text
from streamfs.errors import DataError, LayoutError

LONG = "device,when,sensor,value,label\na,0,t,20,hot\na,0,h,50,hot\na,10,t,21,hot\nb,0,t,5,cold\nb,10,h,80,cold\n"


ALSO_LONG = ("device", "when", "sensor", "value")


def test_a_folder_is_read_as_its_files(files):
    folder = files(one=WIDE, deeper__two=WIDE.replace("\na,", "\nc,").replace("\nb,", "\nd,"))
    for paths in (folder, str(folder / "**/*.csv"), [folder / "deeper", folder / "one.csv"]):
        assert sorted(StreamSet.read(paths).names) == ["a", "b", "c", "d"]
    (folder / ".hidden.csv").write_text("nonsense")
    assert len(StreamSet.read(folder)) == 4


def test_a_stream_may_go_on_in_another_file(files):
    folder = files(day1=WIDE, day2="stream,time,label,y\na,2,calm,7\n")
    streams = StreamSet.read(folder)
    assert streams.columns == ("x", "y")
    assert_array_equal(streams.values[0], [[1, NAN], [2, NAN], [NAN, 7]])


def test_a_file_without_names_of_streams_is_a_stream(files):
    folder = files(walk__one=run(0, 1), walk__two=run(5, 6, 7), run__one=run(0, 1))
    streams = StreamSet.read(folder, labels="folder")
    assert streams.names == ("run/one", "walk/one", "walk/two")
    assert streams.labels.tolist() == ["run", "walk", "walk"]
    assert streams.lengths.tolist() == [2, 2, 3]
    assert StreamSet.read(folder / "run" / "one.csv", labelled=False).names == ("one",)


def test_what_names_no_file_is_refused(tmp_path):
    for path in (tmp_path / "none", tmp_path / "none*.csv", []):
        with pytest.raises(DataError, match=r"no file|No such file"):
            StreamSet.read(path)
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match=r"none has no file of a recording, expected \.csv"):
        StreamSet.read(tmp_path / "none")
    for name, text in {"a": "pair,node\np,1\n", "b": "q,r\n1,2\n", "c": "pair,node\np,1\n"}.items():
        (tmp_path / "none" / f"{name}.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"; files have different columns: .* such as \S+a\.csv or \S+b\.csv$"):
        StreamSet.read(tmp_path / "none")


def test_a_long_table_is_read(files):
    streams = StreamSet.read(files(log=LONG) / "log.csv", long=ALSO_LONG)
    assert (streams.names, streams.columns, streams.period) == (("a", "b"), ("t", "h"), 10.0)
    assert_array_equal(streams.values, [[[20, 50], [21, NAN]], [[5, NAN], [NAN, 80]]])
    assert streams.labels.tolist() == ["hot", "cold"]


def test_some_columns_are_read_in_the_order_named(files):
    folder = files(log=LONG, wide="time,x,y,note\n0,1,2,odd\n1,3,4,even\n")
    streams = StreamSet.read(folder / "log.csv", long=ALSO_LONG, columns=["h"])
    assert streams.columns == ("h",)
    assert_array_equal(streams.values[:, 0, 0], [50, 80])  # a stream begins at its first row of these
    streams = StreamSet.read(folder / "wide.csv", columns=["y", "x"], labelled=False)
    with pytest.raises(DataError, match="columns has 'y', which is the label of the streams: leave it out"):
        StreamSet.read(folder / "wide.csv", columns=["y", "x"], label="y")
    assert_array_equal(streams.values[0], [[2, 1], [4, 3]])


def test_spreadsheets_with_semicolons_have_decimal_commas(files):
    streams = StreamSet.read(files(log="stream;time;label;x\na;0,5;on;1,5\na;1;on;2\n") / "log.csv")
    assert (streams.period, streams.values.ravel().tolist()) == (0.5, [1.5, 2.0])
    assert StreamSet.read(files(log=WIDE.replace(",", "\t")) / "log.csv").columns == ("x",)


@pytest.mark.parametrize("ending", ["txt", "dat.gz", "CSV"])
def test_files_with_other_endings_are_read_if_they_are_named(files, ending):
    folder = files(log=WIDE)
    text = (folder / "log.csv").read_bytes()
    path = folder / f"other.{ending}"
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    assert_array_equal(StreamSet.read(path).values, StreamSet.read(folder / "log.csv").values)


def test_words_stand_for_numbers_in_long_tables_too(files):
    text = "d,t,sensor,value\na,0,door,open\na,0,x,5\na,1,door,closed\na,1,x,unavailable\n"
    long, values = ("d", "t", "sensor", "value"), {"open": 1, "closed": 0, "unavailable": "missing"}
    streams = StreamSet.read(files(log=text) / "log.csv", long=long, values=values, labelled=False)
    assert_array_equal(streams.values, [[[1, 5], [0, NAN]]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1\n1,2\n", "has no header, its first row is 0, 1; give column_names"),
        ("2026-11-29 10:00,21\n", "has no header, its first row is 2026-11-29 10:00, 21; give column_names"),
        ("Temp:20.5,Hum: 50\n", "has names beside its numbers, Temp:20.5, Hum: 50: write the names once"),
        ("12:00:00.5 -> 20,5\n", "has an arrow behind its times, '12:00:00.5 -> 20': put a comma there"),
        ("<!DOCTYPE html>\n<html>\n", "is a web page: was it fetched without a login"),
        ('{"time": 0, "x": 1}\n', "is JSON: if there is an object on each line, let its name end in .jsonl"),
        ("PAR1\0\n", "is a Parquet file: let its name end in .parquet"),
        ("PK\3\4\0\n", "is a spreadsheet or another archive, whatever its name: save the sheet"),
        (",x,x\n0,1,2\n", r"column 'x' occurs twice; give header \(the .*\) and column_names \(others in the"),
        (",\n0,1\n", "has no header, its first row is empty"),
        ("time,time,x\n0,1,2\n", "column 'time' occurs twice"),
        (
            "33,Jogging,49105962326,-0.69,9.1\n33,Jogging,49105962327,1,2\n",
            "has no header, its first row is 33, Jog",
        ),
        ("time,x\r0,1\r1,2\r", "has carriage returns alone between rows"),
        ('"time x"\n0\n', "has one column, 'time x', expected commas"),
        ("time,x\ns,m\n0,1\n", "'s' in row 1, .* take the row out"),
        ("time,x\n0,1\n1", "ends within a row: the last has 1 cells, expected 2, and no line break"),
        (
            "logger 7\ntime,x\n0,1\n",
            "row 1 has 2 cells, expected 1 as in the header; take it out, or lines before the header",
        ),
    ],
)
def test_a_header_names_columns(files, text, message):
    with pytest.raises(DataError, match=message):
        StreamSet.read(files(log=text) / "log.csv", labelled=False)


@pytest.mark.parametrize(
    "text",
    [
        ",time,x\n0,0,1\n1,1,2\n",
        "time,x,\n0,1,\n1,2,\n",
        "sep=;\ntime;x\n0;1\n1;2\n",
        "time| x\n0|1\n1|2",
        "time,x\n0,1;\r\n1,2; \r\n",
        "time,x\n0,1;\n1,2;",
        "time,x\n0,1\ntime,x\n1,2\n# end of data\n\n#\n",
        "# logger 7\n# of room 3, floor 2\ntime,x\n0,1\n1,2\n",
        "\ufeff# logger 7\n\n#,,\ntime;x\n0;1\n1;2\n",
    ],
)
def test_what_spreadsheets_add_to_a_table_is_left_out(files, text):
    streams = StreamSet.read(files(log=text) / "log.csv", labelled=False)
    assert (streams.columns, streams.values.ravel().tolist()) == (("x",), [1.0, 2.0])


def test_a_comment_before_numbers_names_their_columns(files):
    folder = files(log="# logger 7\n#time,x\n0,1\n1,2\n", long="# logger 7\ntime,x\n0,1\n1,2,3\n")
    streams = StreamSet.read(folder / "log.csv", labelled=False)
    assert (streams.columns, streams.values.ravel().tolist()) == (("x",), [1.0, 2.0])
    with pytest.raises(DataError, match="row 2 has 3 cells, expected 2 as in the header"):
        StreamSet.read(folder / "long.csv", labelled=False)


@pytest.mark.parametrize("end", ["\n", "\r\n", "  \n"])
@pytest.mark.parametrize("begin", ["time x y", "  time   x y ", "# logger 7\n# time  x y"])
def test_columns_may_be_set_apart_by_any_number_of_spaces(files, monkeypatch, begin, end):
    rows = [f"{' ' * (row % 3)}{row}{' ' * (1 + row % 4)}{row * 0.5} -{row}" for row in range(60)]
    path = files(log=end.join([begin, *rows, ""])) / "log.csv"
    for block in (64, 2**20):
        monkeypatch.setattr(csv_text, "BLOCK", block)
        streams = StreamSet.read(path, labelled=False)
        assert streams.columns == ("x", "y")
        assert_array_equal(streams.values[0], np.arange(60)[:, np.newaxis] * [0.5, -1.0])


def test_a_last_stream_may_be_called_like_a_comment(files):
    path = files(log="stream,time,x\na,0,1\n#b,0,2\n# of room 3\n") / "log.csv"
    assert StreamSet.read(path, period=1.0, labelled=False).names == ("a", "#b")


def test_a_row_of_such_a_stream_that_was_cut_short_lacks_readings(files):
    path = files(log="stream,time,x,y\n#b,0,1,5\n#b,1\n# of room 3\n#b,2,3,4\n") / "log.csv"
    values = StreamSet.read(path, labelled=False).values[0]
    assert_array_equal(values, [[1, 5], [np.nan, np.nan], [3, 4]])
    (path.parent / "cut.csv").write_text("stream,time,x\n#b,0,1\n#b,1")
    with pytest.raises(DataError, match=r"cut.csv ends within a row: the last has 2 cells, expected 3"):
        StreamSet.read(path.parent / "cut.csv", labelled=False)


def test_a_table_may_have_tabs(files):
    folder = files(log=WIDE.replace(",", "\t"))
    (folder / "log.csv").rename(folder / "log.tsv")
    assert StreamSet.read(folder).names == ("a", "b")
    (folder / "series.tsv").write_text("label\tt0\tt1\tt2\n1\t0.5\t0.25\t0\n", encoding="utf-8")
    with pytest.raises(LayoutError, match=r"series.tsv has no column 'time', only label.*; if a stream is on"):
        StreamSet.read(folder / "series.tsv")


def test_a_column_has_one_unit(files, monkeypatch):
    rows = "".join(f"{row},{row} °C\n" for row in range(40))
    path = files(log=f"time,x\n{rows}40,99 °F\n") / "log.csv"
    monkeypatch.setattr(csv_text, "BLOCK", 64)
    for values in ({"°C": "unit", "°F": "unit"}, {"°C": "unit"}):
        with pytest.raises(DataError, match=r"x of .* is in °C and in °F, expected one unit"):
            StreamSet.read(path, values=values, labelled=False)
    with pytest.raises(DataError, match=r"x of .* is '0 °C' in row 1, expected a number$"):  # numbers no readings
        StreamSet.read(path, labelled=False)


def test_a_file_in_another_encoding_is_refused_with_advice(tmp_path):
    (tmp_path / "log.csv").write_bytes("time,°C\n0,1\n".encode("latin-1"))
    with pytest.raises(DataError, match="it is not in UTF-8; save it so"):
        StreamSet.read(tmp_path / "log.csv", labelled=False)


@pytest.mark.parametrize("separator", " ,\t")
def test_r_leaves_out_the_name_of_its_row_names(files, separator):
    text = '"time" "x"\n"1" 0 5\n"2" 1 6\n'.replace(" ", separator)
    streams = StreamSet.read(files(log=text) / "log.csv", labelled=False)
    assert (streams.columns, streams.values.ravel().tolist()) == (("x",), [5, 6])


@pytest.mark.parametrize("ending", [".jsonl", ".ndjson", ".json"])
def test_an_object_is_a_row(tmp_path, ending):
    path = (tmp_path / "log").with_suffix(ending)
    rows = ['{"time": "2026-11-29T10:00:00Z", "x": 1}', '{"time": "2026-11-29T10:00:10Z"}']
    path.write_text(f"[{','.join(rows)}]" if ending == ".json" else "\n".join(rows), encoding="utf-8")
    assert_array_equal(StreamSet.read(path, labelled=False).values.ravel(), [1, NAN])
    path.write_text("[1]\n", encoding="utf-8")
    with pytest.raises(DataError, match="cannot be read: it is neither a list of objects in JSON, nor"):
        StreamSet.read(path, labelled=False)


@pytest.mark.parametrize(
    ("name", "before"), [("log.json", ""), ("log.jsonl", "\ufeff"), ("log.jsonl.gz", ""), ("log.ndjson", "\n \n")]
)
def test_objects_on_lines_are_rows_however_they_are_kept(tmp_path, name, before):
    content = f'{before}{{"time": 0, "x": 1}}\n{{"time": 1, "x": null}}\n'.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert_array_equal(StreamSet.read(tmp_path / name, labelled=False).values.ravel(), [1, NAN])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"time": 0, "x": NaN}\n', "nor has one on each line, or ends within one; for NaN, write null"),
        (b'{"time": 0, "x": 1}\n{"time": 1, "x', "or ends within one"),
        (b'[{"time": 0, "x": 1},', "or ends within one"),
        ("[" * 2000, "nor has one on each line"),
        ('{"time": 0, "\xe9": 1}\n'.encode("latin-1"), "it is not in UTF-8; save it so"),
        ('[{"time": 0, "\xe9": 1}]'.encode("latin-1"), "it is not in UTF-8; save it so"),
        ('{"time": 0, "x": 1}\n'.encode("utf-16"), "has NUL bytes: it is damaged, or in UTF-16"),
        (b"", "has no names and values, expected objects"),
        (b"[]", "has no names and values, expected objects"),
    ],
)
@pytest.mark.parametrize("name", ["log.json", "log.jsonl"])
def test_what_is_not_json_is_refused_in_our_words(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=message):
        StreamSet.read(tmp_path / name, labelled=False)


def test_packed_files_of_several_streams_are_read(tmp_path):
    (tmp_path / "one.csv.gz").write_bytes(gzip.compress(WIDE.encode()))
    assert StreamSet.read(tmp_path).names == ("a", "b")


def test_a_block_ends_with_a_row(files, monkeypatch):
    path = files(log='time,x,note\n0,1,"one\n""two"""\n\n1,2,\n2,3,"\n\n"\n') / "log.csv"
    for n_bytes in range(1, 40):
        monkeypatch.setattr(csv_text, "BLOCK", n_bytes)
        assert_array_equal(StreamSet.read(path, labelled=False, columns=["x"]).values.ravel(), [1, 2, 3])


@pytest.mark.parametrize("n_bytes", [7, 2**20])
@pytest.mark.parametrize(
    "comment",
    [
        "# restarted",
        "  # battery, low, again, now",
        "#",
        "# battery, low, again",
        "# moved,,",
        '# a 5" pipe, "new',
        "#time,x,y",
    ],
)
def test_comments_between_rows_are_no_rows(files, monkeypatch, comment, n_bytes):
    monkeypatch.setattr(csv_text, "BLOCK", n_bytes)
    path = files(log=f"time,x,y\n0,1,2\n{comment}\n1,3,4\n{comment}\n{comment}\n2,5,6\n") / "log.csv"
    assert_array_equal(StreamSet.read(path, labelled=False).values[0], [[1, 2], [3, 4], [5, 6]])


def test_rows_that_begin_with_a_number_sign_are_rows(files):
    path = files(log="stream,time,x\n#1,0,5\n#2,0,6\n") / "log.csv"
    assert StreamSet.read(path, labelled=False).names == ("#1", "#2")


def test_a_row_that_is_commented_out_is_refused(files):
    for rows in ("desk,0,2\n#desk,1,2.5\n", "#desk,0,2\ndesk,1,2.5\n"):
        path = files(log=f"stream,time,x\n{rows}") / "log.csv"
        with pytest.raises(DataError, match=r"has the line '#desk,.*' beside a row of 'desk': take it out if"):
            StreamSet.read(path, labelled=False)


def test_a_sign_before_rows_without_a_name_comments_none_out(files):
    path = files(log="stream,time,x\n,0,2\n#,1,3\n") / "log.csv"
    with pytest.raises(DataError, match=r"row 1 of .* has no stream"):
        StreamSet.read(path, labelled=False)


@pytest.mark.parametrize("before", ["", "# made by hand\n"])
@pytest.mark.parametrize("rows", ["#b,0,1\n#b,1,2\n", "#b,0,1\nc,0,2\n"])
def test_a_header_behind_a_number_sign_may_have_such_rows(files, before, rows):
    path = files(log=f"{before}# stream,time,x\n{rows}") / "log.csv"
    streams = StreamSet.read(path, labelled=False)
    assert (streams.names[0], sorted(streams.values.ravel())) == ("#b", [1, 2])


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        (
            "stream,time,x\n#3,11/29/2026 10:00 AM,low\n#3,11/29/2026 10:01 AM,high\n",
            {"time_format": "%m/%d/%Y %I:%M %p", "values": {"low": 1, "high": 2}},
        ),
        ("stream,x\n#3,low\n#3,high\n", {"time": "rows", "period": 1.0, "values": {"low": 1, "high": 2}}),
        ("stream,time,x,\n#3,0,1\n#3,1,2\n", {}),
        ('stream,time,"x\n(C)"\n#3,0,1\n#3,1,2\n', {}),
    ],
)
def test_no_row_of_a_stream_that_is_called_so_is_lost(files, text, layout):
    streams = StreamSet.read(files(log=text) / "log.csv", labelled=False, **layout)
    assert (streams.names, streams.values.ravel().tolist()) == (("#3",), [1.0, 2.0])


def test_streams_that_are_called_so_may_have_labels_in_a_file(files):
    folder = files(log="stream,time,x\n#1,0,5\nb,0,6\n", labels="stream,label\n#1,calm\nb,busy\n")
    streams = StreamSet.read(folder / "log.csv", labels=folder / "labels.csv")
    assert streams.labels.tolist() == ["calm", "busy"]


def test_rows_that_look_like_comments_before_one_that_does_not_are_refused(files):
    path = files(log="stream,time,x,y\n#b,1,2\n#b,0,1,5\n") / "log.csv"
    with pytest.raises(DataError, match=r"log.csv has comments or rows that begin with '#b', expected"):
        StreamSet.read(path, labelled=False)


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("attic\n#id,time,x\na,0,5\na,1,6\n", {"header": ["#id"]}),
        ("a,0,5\na,1,6\n", {"column_names": ["#id", "time", "x"]}),
    ],
)
def test_a_header_that_is_named_is_no_comment(files, text, layout):
    streams = StreamSet.read(files(log=text) / "log.csv", labelled=False, stream="#id", **layout)
    assert (streams.names, streams.values.ravel().tolist()) == (("a",), [5.0, 6.0])


def test_lines_within_a_cell_are_no_comments(files, monkeypatch):
    path = files(log='time,note,x\n# "logger"\n0,"\n# one\n",5\n# 5" pipe\n1,"#two",6\n') / "log.csv"
    for n_bytes in (1, 9, 2**20):
        monkeypatch.setattr(csv_text, "BLOCK", n_bytes)
        streams = StreamSet.read(path, labelled=False, columns=["x"])
        assert streams.values.ravel().tolist() == [5.0, 6.0]


def test_separators_at_the_ends_of_rows_alone_are_left_out_wherever_a_block_ends(files, monkeypatch):
    rows = "".join(f"{row};{row + 10};{row % 7};\n" for row in range(40))
    path = files(log=f"time;x;y\n{rows}") / "log.csv"
    for n_bytes in range(24, 60):
        monkeypatch.setattr(csv_text, "BLOCK", n_bytes)
        values = StreamSet.read(path, labelled=False).values[0]
        assert_array_equal(values, [[row + 10, row % 7] for row in range(40)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'time,"x":1}\n1,"x":2}\n',
            """the cell '"x":1}' has a quote that is not closed, or more behind""",
        ),
        ('time,"x\n0,1\n', "a quote in its first row is not closed"),
        ('time,x\n0,1\n1, ";2\n', "a quote is not closed"),
        ("# logger\n# of room 3\n", "it is empty, or has comments alone"),
        (f"time,x\n0,1,{'2' * 140_000}\n", "a row has more cells than the header"),
    ],
)
def test_rows_that_are_none_are_refused_in_words(files, text, message):
    with pytest.raises(DataError, match=f"log.csv cannot be read: {message}"):
        StreamSet.read(files(log=text) / "log.csv", labelled=False)
