"""Series on lines, each behind its class, and ARFF, as archives of time series have them."""

import gzip
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from streamfs import StreamSet
from streamfs.data.recordings import csv_text
from streamfs.errors import DataError, LayoutError

VALUES = np.arange(40.0).reshape(4, 10) / 8.0
ARFF = "@relation r\n" + "".join(f"@attribute att{place} numeric\n" for place in range(10))


def lines(*classes, separator="\t", form="{:g}"):
    rows = [[name, *map(form.format, row)] for name, row in zip(classes, VALUES, strict=True)]
    return "".join(separator.join(row) + "\n" for row in rows)


FOUR, HEADED = ("1", "2", "1", "2"), ["label", *(f"t{tick}" for tick in range(10))]
TARGETS = "@attribute target {1,2}\n@data\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g_TRAIN.tsv", lines(*FOUR)),
        ("g_TRAIN.csv", lines(*FOUR, separator=",")),
        ("g_TRAIN.txt", lines(*("  1.0000000e+00", "  2.0") * 2, separator="  ", form="{:.7e}")),
        ("g.tsv", "\t".join(HEADED) + "\n" + lines(*FOUR)),
        ("g.csv", ",".join(["", *HEADED]) + "\n" + re.sub("(?m)^(?=.)", "7,", lines(*FOUR, separator=","))),
        ("g.arff", ARFF + TARGETS + re.sub("(?m)^(.),(.*)$", r"\2,\1", lines(*FOUR, separator=","))),
    ],
)
def test_each_line_is_a_stream(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    for path in (tmp_path / name, tmp_path / f"{name}.gz"):
        streams = StreamSet.read(path, period=0.5)
        assert_array_equal(streams.values[..., 0], VALUES)
        assert (streams.labels.tolist(), streams.names[3]) == ([*FOUR], f"{path.name.partition('.')[0]}-3")
        assert (streams.period, streams.columns) == (0.5, ("x0",))


def test_a_series_ends_with_its_last_value(tmp_path):
    text = lines("walk", "run", "run", "walk").replace("\t1.125\n", "\tNaN\n") + "walk" + "\tNaN" * 10 + "\n"
    (tmp_path / "s_TEST.tsv").write_text(text, encoding="utf-8")
    streams = StreamSet.read(tmp_path / "s_TEST.tsv")
    assert (streams.lengths.tolist(), streams.classes) == ([9, 10, 10, 10, 1], ("run", "walk"))


def test_lines_without_a_header_need_a_name_of_archives_and_classes_that_repeat(tmp_path):
    for name, classes in (("log.tsv", FOUR), ("log_TRAIN.tsv", ("1", "2", "3", "4"))):
        (tmp_path / name).write_text(lines(*classes), encoding="utf-8")
        found = (
            r"has no header.*, by which each line would be a class.*; its first row is 1, 0, 0.125.*column_names"
        )
        with pytest.raises(LayoutError, match=found):
            StreamSet.read(tmp_path / name)


TIMES, TICKS = (["7", "7", "8", "8"], ["2026-01-01 00:00:00"] * 4), [f"t{tick}" for tick in range(10)]
CHANNELS = [f"emg{number}" for number in range(10)]


@pytest.mark.parametrize("name", ["log.csv", "log_train.csv"])
@pytest.mark.parametrize(
    ("header", "firsts", "message"),
    [
        (["timestamp", *TICKS], TIMES[0], "has no column 'time'"),
        (["ms", *CHANNELS], TIMES[0], "has no column 'time'"),
        (["Date", *TICKS], TIMES[1], "try time='Date'"),
        (["label", *CHANNELS], ["rest", "rest", "fist", "fist"], "has no column 'time'"),
        (["device", *map(str, range(10))], ["a", "a", "b", "b"], "has no column 'time'"),
        (["label", *TICKS], TIMES[1], "has no column 'time'"),
        ([], TIMES[1], "give column_names"),
        ([], ["0", "20", "40", "60"], "give column_names"),
        (["", *map(str, range(10))], ["0", "1", "2", "3"], "has no column 'time'"),
    ],
)
def test_rows_of_times_and_channels_are_no_series(tmp_path, name, header, firsts, message):
    text = (",".join(header) + "\n" if header else "") + lines(*firsts, separator=",")
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(LayoutError, match=message):
        StreamSet.read(tmp_path / name, labelled=False)


@pytest.mark.parametrize("said", [{"window": 4.0}, {"labels": "runs"}, {"label": "label"}, {"columns": ["t1"]}])
def test_lines_are_rows_of_what_is_said_of_a_table(tmp_path, said):
    text = ",".join(HEADED) + "\n" + lines(*FOUR, separator=",")
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(LayoutError, match="has no column 'time'"):
        StreamSet.read(tmp_path / "t.csv", **said)


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("a_TRAIN.tsv", ("1234567", "1234568", "1234567", "1234568")),
        ("a_test.tsv", ("-1", "-1", "1", "1")),
        ("a_TRAIN.tsv", ("up", "up", "left", "left")),
    ],
)
def test_classes_stay_apart(tmp_path, name, classes):
    (tmp_path / name).write_text(lines(*classes), encoding="utf-8")
    assert StreamSet.read(tmp_path / name).labels.tolist() == [*classes]


def test_numbers_are_one_class_however_they_are_written(tmp_path):
    rows = re.sub("(?m)^(.),(.*)$", r"\2,\1.0", lines(*FOUR, separator=","))
    (tmp_path / "a.arff").write_text(ARFF + "@attribute target {1.0,2.0}\n@data\n" + rows, encoding="utf-8")
    assert StreamSet.read(tmp_path / "a.arff").labels.tolist() == [*FOUR]


@pytest.mark.parametrize("first", ["up", "0", "device"])
def test_a_first_line_that_counts_is_no_series(tmp_path, first):
    counting = first + "".join(f"\t{tick + (first == '0')}" for tick in range(10)) + "\n"
    (tmp_path / "a_TRAIN.tsv").write_text(counting + lines("a", "b", "a", "b"), encoding="utf-8")
    with pytest.raises(LayoutError, match=r"has no header|has no column 'time'"):
        StreamSet.read(tmp_path / "a_TRAIN.tsv")


def test_a_first_series_may_be_shorter_than_others(tmp_path):
    (tmp_path / "a_TRAIN.tsv").write_text(lines(*FOUR).replace("1\t1.125\n", "\t\n"), encoding="utf-8")
    assert StreamSet.read(tmp_path / "a_TRAIN.tsv").lengths.tolist() == [8, 10, 10, 10]


def test_all_lines_say_whether_they_are_series(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_text, "BLOCK", 1)  # a line or two in each
    (tmp_path / "a_TRAIN.tsv").write_text(lines(*FOUR), encoding="utf-8")
    assert len(StreamSet.read(tmp_path / "a_TRAIN.tsv")) == 4
    (tmp_path / "a_TRAIN.tsv").write_text(lines(*FOUR) + lines(*FOUR).replace("2\t", "0.25\t"), encoding="utf-8")
    with pytest.raises(LayoutError, match="give column_names"):
        StreamSet.read(tmp_path / "a_TRAIN.tsv")


def test_lines_are_rows_of_a_table_whose_columns_are_said(tmp_path):
    text = (
        "node," + ",".join(f"s{number}" for number in range(10)) + "\n" + lines("1", "1", "2", "2", separator=",")
    )
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    streams = StreamSet.read(tmp_path / "t.csv", stream="node", time="rows", labelled=False)
    assert (streams.names, len(streams.columns)) == (("1", "2"), 10)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a_TRAIN.tsv",
            lines(*FOUR).replace("1.5", "low"),
            "value 3 of .*a_TRAIN.tsv is 'low' in row 2, expected a number",
        ),
        ("a_TRAIN.tsv", lines(*FOUR) + "1" + "\t2" * 11 + "\n", "has 12 cells, expected 11"),
        ("a_TRAIN.tsv", lines(*FOUR) + lines("1", "", "2", "1"), "series 6 of .*a_TRAIN.tsv has no class"),
        ("a.arff", "@relation x\n@data\n1,2\n", "has features on each line, .*Instances.read"),
        (
            "a.arff",
            "@attribute a real\n@attribute c {u}\n@data\n1,u\n",
            "has features on each line, .*Instances.read",
        ),
        (
            "a.arff",
            ARFF + TARGETS + "1," * 9 + "1\n",
            "line 14 of .* has 10 cells, the last 1, expected 10 numbers",
        ),
        ("a.arff", ARFF + TARGETS + "1," * 9 + "x,1\n", "has the cell 'x', expected 10 numbers and a class"),
    ],
)
def test_what_is_wrong_with_a_line_is_named(tmp_path, name, text, message):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        StreamSet.read(tmp_path / name)


def test_both_parts_of_an_archive_are_refused_unless_named(tmp_path):
    (tmp_path / "Coffee").mkdir()
    files = [tmp_path / "Coffee" / f"Coffee_{part}.tsv" for part in ("TRAIN", "TEST")]
    for file in files:
        file.write_text(lines(*FOUR), encoding="utf-8")
    for found in (tmp_path, f"{tmp_path}/*", f"{tmp_path}/*/*.tsv"):
        with pytest.raises(DataError, match=r"Coffee_TRAIN.tsv to train on and .*Coffee_TEST.tsv to test with"):
            StreamSet.read(found)
    with pytest.raises(DataError, match=r" has Coffee.Coffee_TRAIN.tsv"):
        StreamSet.read(tmp_path)
    assert len(StreamSet.read(files)) == 2 * len(StreamSet.read(files[0]))
    for name in ("a_train.csv", "a_test.csv"):  # of nobody's archive
        (tmp_path / "own").mkdir(exist_ok=True)
        (tmp_path / "own" / name).write_text("time,x\n0,1\n1,2\n", encoding="utf-8")
    assert len(StreamSet.read(tmp_path / "own", labelled=False)) == 2


@pytest.mark.parametrize(
    ("name", "text"), [("a_TRAIN.tsv", lines(*FOUR)), ("a.ts", "@data\n1,2,3,4,5,6:u\n1,2,3:v\n")]
)
def test_series_are_thinned_if_asked(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    whole = StreamSet.read(tmp_path / name)
    assert StreamSet.read(tmp_path / name, period=2.0).lengths.tolist() == whole.lengths.tolist()
    thinned = StreamSet.read(tmp_path / name, period=2.0, resample="last")
    assert (thinned.period, thinned.n_ticks) == (2.0, whole.n_ticks // 2 + 1)


def test_beside_times_a_tick_of_series_is_a_second(tmp_path):
    (tmp_path / "a.ts").write_text("@data\n1,2,3:u\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("stream,time,label,x0\nb,0,v,1\nb,0.5,v,2\n", encoding="utf-8")
    streams = StreamSet.read([tmp_path / "a.ts", tmp_path / "b.csv"], period=0.5)
    assert dict(zip(streams.names, streams.lengths.tolist(), strict=True)) == {"a-0": 5, "b": 2}


def test_a_ts_file_without_series_has_no_rows(tmp_path):
    (tmp_path / "a.ts").write_text("@classLabel true u v\n@data\n", encoding="utf-8")
    with pytest.raises(DataError, match="has no readings: it has no rows"):
        StreamSet.read(tmp_path / "a.ts")
