"""Headers that have other lines before them, and tables without a header."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from streamfs import StreamSet
from streamfs.errors import DataError, LayoutError

EXPORT = """"Export of a logger (version 5)"
"Name:","hall"


"Statistics"
"Kind","Number","Mean","Most","Least"
"day","1","2.5","9","0"

"Line","Date","Time","x","State",

"1","2026-11-29","10:00:00","5","calm",
"2","2026-11-29","10:00:10","6","calm",
"3","2026-11-29","10:00:20","7","calm",
"4","2026-11-29","10:00:30","8","calm",
"5","2026-11-29","10:00:40","9","calm"
"""
FORUM = "Plot: attic\nno;t;x\n" + "".join(f"{n};{10 * n};{n},5;\n" for n in range(9))

words = st.text("abcxyz ,.:-é", max_size=12)


@settings(max_examples=25)
@given(
    lines=st.lists(st.lists(words, max_size=2).map(" : ".join), min_size=1, max_size=6),
    separator=st.sampled_from(",;\t|"),
    end=st.sampled_from(["", "x"]),
    values=st.lists(st.integers(-9, 9), min_size=30, max_size=40),
)
def test_a_table_is_read_from_the_header_that_is_proposed(tmp_path_factory, lines, separator, end, values):
    table = [("time", "x", "y"), *((n, value, "") for n, value in enumerate(values))]
    rows = [separator.join(map(str, row)) + (separator if end else "") for row in table]
    folder = tmp_path_factory.mktemp("header")
    folder.joinpath("bare.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")
    before = [line.replace(separator, " ") for line in lines if not line.lstrip().startswith("#")]
    folder.joinpath("log.csv").write_text("\n".join(["Logger", *before, *rows, ""]), encoding="utf-8")
    expected = StreamSet.read(folder / "bare.csv", labelled=False, columns=["x"])
    with pytest.raises(LayoutError, match=rf"has its header in line {len(before) + 2}; try header="):
        StreamSet.read(folder / "log.csv", labelled=False, columns=["x"])
    found = StreamSet.read(folder / "log.csv", labelled=False, columns=["x"], header=["time"])
    assert_array_equal(found.values, expected.values)


@pytest.mark.parametrize(
    ("text", "proposal", "values"),
    [
        (EXPORT, {"time": ("Date", "Time"), "columns": ("Line", "x"), "header": ("Line",)}, [5, 6, 7, 8, 9]),
        (FORUM, {"time": "t", "header": ("no",)}, [n + 0.5 for n in range(9)]),
    ],
)
def test_exports_of_loggers_are_read_as_is_proposed(files, text, proposal, values):
    path = files(log=text) / "log.csv"
    with pytest.raises(LayoutError, match="has its header in line") as refused:
        StreamSet.read(path, labelled=False)
    found = refused.value.proposal
    assert found == proposal | {name: found[name] for name in ("columns", "stream") if name in found}
    assert_array_equal(StreamSet.read(path, labelled=False, **proposal).column("x")[0], values)
    path.with_suffix(".csv.gz").write_bytes(gzip.compress(text.encode()))
    packed = StreamSet.read(path.with_suffix(".csv.gz"), labelled=False, **proposal)
    assert_array_equal(packed.column("x")[0], values)


def test_names_are_those_of_a_table_without_a_header(files):
    path = files(log="33,0,1\n33,1,2\n33,2,4\n", ended="33,0,1;\n33,1,2;\n33,2,4;\n") / "log.csv"
    needed = (
        r"has no header, its first row is 33, 0, 1; give column_names \(the names of its columns, in their order\)"
    )
    with pytest.raises(LayoutError, match=needed):
        StreamSet.read(path, labelled=False)
    for each in (path, path.with_name("ended.csv")):
        streams = StreamSet.read(each, labelled=False, column_names=("user", "time", "a, b"), stream="user")
        assert (streams.names, streams.columns) == (("33",), ("a, b",))
        assert_array_equal(streams.values.ravel(), [1, 2, 4])


@pytest.mark.parametrize(
    ("text", "layout", "columns"),
    [
        ('time;x;y\n"1";"20";"5";\n"2";"21";"6";\n', {}, ("x", "y")),
        ('"time","x","y"\n"7",1,20,5\n"8",2,21,6\n', {}, ("x", "y")),
        ("T1,T2\n20,5\n21,6\n", {"time": "rows"}, ("T1", "T2")),
        ("2026-01,2027-01\n20,5\n21,6\n", {"time": "rows"}, ("2026-01", "2027-01")),
        ("t,x,1.5e3\n1,20,5\n2,21,6\n", {"time": "t"}, ("x", "1.5e3")),
        ("t:0,ch:1,ch:2\n1,20,5\n2,21,6\n", {"time": "t:0"}, ("ch:1", "ch:2")),
        ("# logger 7\n# time,T1,T2\n1,20,5\n2,21,6\n", {}, ("T1", "T2")),
        ("# exported\n# time,1,2\n1,20,5\n2,21,6\n", {}, ("1", "2")),
        ('{"device": "attic"}\ntime,x,y\n1,20,5\n2,21,6\n', {"header": ["time"]}, ("x", "y")),
    ],
)
def test_a_header_may_look_like_values(files, text, layout, columns):
    streams = StreamSet.read(files(log=text) / "log.csv", labelled=False, **layout)
    assert streams.columns == columns
    assert_array_equal(streams.values[0], [[20, 5], [21, 6]])


def test_names_replace_the_header_that_is_named(files):
    path = files(log="Serial: 7\nGroup:,0,1\nKind:,3,4\n\n0,5,6\n1,7,8\n") / "log.csv"
    streams = StreamSet.read(path, labelled=False, header=["Kind:"], column_names=["time", "x", "y"])
    assert_array_equal(streams.values[0], [[5, 6], [7, 8]])


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ({"header": ["when"]}, "no line of .* begins with when, as its header should"),
        ({"header": "time"}, "header is 'time', expected the names of some columns, each once"),
        ({"header": []}, "header is \\[\\], expected"),
        ({"column_names": ["t", "t"]}, "column_names is .*, expected the names of some columns, each once"),
        ({"column_names": ["time"]}, "row 1 has 2 cells, expected 1 as in column_names, time"),
        ({"column_names": ["time", "x", "y"]}, "time of .* is 'time' in row 1"),
    ],
)
def test_a_start_that_does_not_fit_is_refused(files, layout, message):
    path = files(log="time,x\n0,1\n1,2\n") / "log.csv"
    with pytest.raises(DataError, match=message):
        StreamSet.read(path, labelled=False, **layout)


def test_every_file_has_its_header_somewhere(files):
    rows = "time,x\n0,1\n1,2\n2,3\n3,4\n"
    folder = files(a=f"one line\n{rows}", b=f"two\nlines\n{rows}")
    assert StreamSet.read(folder, labelled=False, header=["time", "x"]).shape == (2, 4, 1)


def test_a_file_that_names_its_columns_has_no_hidden_header(files):
    folder = files(log="time,x\n0,1\n1,2\n")
    StreamSet.read(folder / "log.csv", labelled=False).write(folder / "log.parquet")
    for layout in ({"header": ["time"]}, {"column_names": ["time", "x"]}):
        with pytest.raises(DataError, match=r"log\.parquet names its columns itself"):
            StreamSet.read(folder / "log.parquet", labelled=False, **layout)


@pytest.mark.parametrize(
    "text",
    [
        "time\tlight, lux\tx\n0\t1\t5\n1\t2\t6\n",
        "time;light, lux;x\n0;1,0;5\n1;2,0;6\n",
        '"time"|"light, lux"|"x"\n"0"|"1"|"5"\n"1"|"2"|"6"\n',
        '\n \n\ntime,"light, lux",x\n0,1,5\n1,2,6\n',
        '# a device\n\n"time","light, lux",x\n0,1,5\n1,2,6\n',
    ],
)
def test_a_header_may_have_commas_in_names_and_blank_lines_before(files, text):
    streams = StreamSet.read(files(log=text) / "log.csv", labelled=False)
    assert streams.columns == ("light, lux", "x")
    assert_array_equal(streams.values[0], [[1, 5], [2, 6]])


def test_the_line_of_a_header_is_counted_from_the_first_of_the_file(files):
    path = (
        files(log="sep=;\n# a device\n\nPlot: attic\ntime;x\n" + "".join(f"{n};{n}\n" for n in range(9)))
        / "log.csv"
    )
    with pytest.raises(LayoutError, match="header in line 5; try header="):
        StreamSet.read(path, labelled=False)
    streams = StreamSet.read(path, labelled=False, header=["time"])
    assert_array_equal(streams.column("x")[0], range(9))
    bare = files(bare="0;1,5;2,5\n1;2,5;3,5\n") / "bare.csv"
    assert StreamSet.read(bare, labelled=False, column_names=["time", "x", "y"], decimal=",").shape == (1, 2, 2)
