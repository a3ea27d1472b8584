"""Labels of recordings: columns, files, intervals, folders."""

import polars as pl
import pytest
from numpy.testing import assert_array_equal
from recorded_files import WIDE, run

from streamfs import StreamSet
from streamfs.errors import DataError, LayoutError


def test_runs_of_a_label_are_streams_of_their_own(files):
    text = "stream,time,label,x\nb,0,on,9\na,3,off,4\na,0,on,1\na,1,on,2\na,4,,5\na,5,off,6\na,6,on,7\na,2,off,3\n"
    path = files(log=text) / "log.csv"
    with pytest.raises(LayoutError, match=r"stream a of .* has two labels, 'off' and 'on'; try labels='runs'"):
        StreamSet.read(path)
    streams = StreamSet.read(path, labels="runs")
    assert sorted(zip(streams.names, streams.labels, streams.lengths, strict=True)) == [
        ("a/1", "on", 2),
        ("a/2", "off", 2),
        ("a/3", "off", 1),
        ("a/4", "on", 1),
        ("b/1", "on", 1),
    ]
    assert_array_equal(streams.values[streams.names.index("a/2"), :, 0], [3, 4])
    with pytest.raises(DataError, match="has no column 'label', only time, x"):
        StreamSet.read(files(bare=run(0, 1)) / "bare.csv", labels="runs")
    with pytest.raises(DataError, match=r"no row of .* has a label"):
        StreamSet.read(files(bare="time,label,x\n0,,1\n") / "bare.csv", labels="runs")


SENSORS = "stream,time,sensor,value\n" + "".join(
    f"{stream},{time},{sensor},{value}\n"
    for stream, time, sensor, value in (
        ("a", 0, "x", 1),
        ("a", 1, "door", "open"),
        ("a", 1, "x", 2),
        ("a", 2, "x", 3),
        ("a", 2, "door", "open"),
        ("a", 3, "x", 4),
        ("a", 4, "door", "shut"),
        ("a", 4, "x", 5),
        ("a", 5, "door", ""),
        ("a", 5, "x", 6),
        ("b", 3, "x", 7),
        ("b", 0, "door", "open"),
    )
)


def test_a_sensor_of_a_long_table_labels_the_others_until_its_next_value(files):
    path, long = files(log=SENSORS) / "log.csv", ("stream", "time", "sensor", "value")
    with pytest.raises(LayoutError, match=r"'door' is a sensor of .*, whose value changes; try labels='runs'"):
        StreamSet.read(path, long=long, label="door")
    streams = StreamSet.read(path, long=long, label="door", labels="runs")
    assert streams.columns == ("x",)
    assert [*zip(streams.names, streams.labels, streams.lengths, strict=True)] == [
        ("a/1", "open", 3),
        ("a/2", "shut", 1),
        ("b/1", "open", 1),
    ]
    assert streams.values[:, :, 0].tolist()[0] == [2, 3, 4]
    assert streams.values[1:, 0, 0].tolist() == [5, 7]
    taken = StreamSet.read(path, long=long, columns=["x"], label="door", labels="runs")
    assert_array_equal(taken.values, streams.values)
    for columns, known in ((None, r"x, door; did you mean door\?"), (["x"], "x")):
        with pytest.raises(DataError, match=f"no column and no sensor 'dor', only the sensors {known}$"):
            StreamSet.read(path, long=long, columns=columns, label="dor", labels="runs")
    with pytest.raises(DataError, match="columns has 'door', which is the label"):
        StreamSet.read(path, long=long, columns=["door", "x"], label="door", labels="runs")


def test_large_numbers_of_a_sensor_are_labels_of_their_own():
    rows = [
        ("a", 0.0, "kind", 1234567.0),
        ("a", 0.0, "x", 1.0),
        ("a", 1.0, "kind", 1234568.0),
        ("a", 1.0, "x", 2.0),
    ]
    frame = pl.DataFrame(rows, ["stream", "time", "sensor", "value"], orient="row")
    streams = StreamSet.from_frame(frame, long=frame.columns, label="kind", labels="runs")
    assert streams.labels.tolist() == ["1234567", "1234568"]


def test_the_names_of_files_may_begin_with_the_label(files):
    folder = files(**{name: run(0, 1) for name in ("wave_01", "wave_02", "left-turn 1", "left-turn 2")})
    with pytest.raises(LayoutError, match="has no column 'label', only time, x; try labels='name'"):
        StreamSet.read(folder)
    streams = StreamSet.read(folder, labels="name")
    assert streams.labels.tolist() == ["left-turn", "left-turn", "wave", "wave"]
    with pytest.raises(DataError, match="stream 17 has no label in the name of its file"):
        StreamSet.read(files(**{"17": run(0, 1)}), labels="name")
    folder = files(on_1="stream,time,x\na,0,1\n", off_1="stream,time,x\na,1,1\n")
    with pytest.raises(DataError, match="stream a has files that are named 'off' and 'on': which is its label"):
        StreamSet.read([folder / "on_1.csv", folder / "off_1.csv"], labels="name")


def test_several_columns_name_a_stream(files):
    path = files(log="day,mote,time,x\n1,a,0,1\n1,b,0,2\n2,a,0,3\n2,a,1,4\n") / "log.csv"
    streams = StreamSet.read(path, stream=("day", "mote"), labelled=False)
    assert (streams.names, streams.columns, streams.lengths.tolist()) == (("1/a", "1/b", "2/a"), ("x",), [1, 1, 2])
    with pytest.raises(DataError, match="has no column 'node', only day, mote, time, x"):
        StreamSet.read(path, stream=("day", "node"), labelled=False)
    with pytest.raises(DataError, match=r"stream is \(\), expected a column, or several"):
        StreamSet.read(path, stream=(), labelled=False)


def test_labels_of_a_file(files):
    folder = files(one=run(0, 1), two=run(0, 1), names="stream,label\none.csv,on\ntwo,off\nthree,off\n")
    assert StreamSet.read(folder, labels=folder / "names.csv").labels.tolist() == ["on", "off"]
    folder = files(names="stream,label\none,on\n")
    with pytest.raises(DataError, match=r"names.csv has no label of stream 'two', only of one and others"):
        StreamSet.read(folder, labels=folder / "names.csv")


def test_a_file_of_labels_may_name_its_columns_as_the_recording(files):
    folder = files(log="seq,time,x\n1,0,5\n1,1,6\n2,0,7\n", kinds=",seq,kind\n0,2,off\n1,1,on\n")
    for label in ("kind", None):  # the only other column has the labels
        streams = StreamSet.read(folder / "log.csv", stream="seq", label=label, labels=folder / "kinds.csv")
        assert streams.labels.tolist() == ["on", "off"]


def test_intervals_have_dates_of_the_recordings_form_or_of_one_that_is_certain(files):
    folder = files(
        iso=run("2026-11-22 16:30", "2026-11-22 16:31"),
        german=run("22.11.2026 16:30", "22.11.2026 16:31"),
        cuts="start,end,label\n22.11.2026 16:30,22.11.2026 16:31,go\n",
        plain="start,end,label\n2026-11-22 16:30,2026-11-22 16:31,go\n",
        unsure="start,end,label\n11/10/2026 16:30,11/10/2026 16:31,go\n",
    )
    german = {"time_format": "%d.%m.%Y %H:%M"}
    for name, labels, said in (("iso", "cuts", {}), ("german", "cuts", german), ("german", "plain", german)):
        streams = StreamSet.read(folder / f"{name}.csv", labels=folder / f"{labels}.csv", **said)
        assert streams.values.tolist() == [[[0.0]]]
    with pytest.raises(
        DataError, match=r"start of .* is '11/10/2026 16:30' in row 1, expected seconds, or a date"
    ):
        StreamSet.read(folder / "iso.csv", labels=folder / "unsure.csv")


def test_intervals_are_streams_of_their_own(files):
    folder = files(
        desk=run(0, 1, 2, 3, 4, 5), hall=run(0, 1), cuts="stream,start,end,label\ndesk,4,9,sit\ndesk,0,2,go\n"
    )
    streams = StreamSet.read(folder, labels=folder / "cuts.csv")
    assert streams.names == ("desk/1", "desk/2")
    assert streams.labels.tolist() == ["go", "sit"]
    assert_array_equal(streams.values[:, :, 0], [[0, 1], [4, 5]])
    everywhere = files(cuts="start,end,label\n0,2,go\n")
    assert StreamSet.read(everywhere, labels=everywhere / "cuts.csv").names == ("desk/1", "hall/1")


def test_columns_of_labels_are_found_by_what_they_hold(files):
    folder = files(
        desk=run(0, 1, 2, 3),
        hall=run(0, 1, 2, 3),
        names="file,room,by\ndesk.csv,on,me\nhall.csv,off,me\n",
        cuts="file,From,To,activity\ndesk,0,2,go\nhall.csv,2,4,sit\n",
    )
    both = [folder / "desk.csv", folder / "hall.csv"]
    assert StreamSet.read(both, labels=folder / "names.csv", label="room").labels.tolist() == ["on", "off"]
    streams = StreamSet.read(both, labels=folder / "cuts.csv")
    assert dict(zip(streams.names, streams.labels.tolist(), strict=True)) == {"desk/1": "go", "hall/1": "sit"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("start,end,label\n2,1,go\n", "row 1 of .* starts at 2 s and ends at 1 s"),
        (
            "start,end,label\n0,2,go\n1,3,sit\n",
            "intervals of stream desk in .* overlap at 1 s",
        ),
        ("start,end,label\n9,10,go\n", "no row of the recording is in an interval"),
        ("start,end,label\n,10,go\n", "row 1 of .* has no start"),
        ("start,label\n0,go\n", "has no column 'end', only start, label"),
        ("stream,class,by\ndesk,go,me\n", "has no column 'label', only stream, class, by: name it by label"),
        ("stream,label\ndesk,go\ndesk,sit\n", "stream desk of .* has two labels, 'go' and 'sit'"),
        (
            "name,label\nhall,go\n",
            "has no column 'stream', only name, label: rename the one that is meant to 'str",
        ),
    ],
)
def test_labels_that_do_not_fit_are_refused(files, text, message):
    folder = files(desk=run(0, 1, 2), cuts=text)
    with pytest.raises(DataError, match=message):
        StreamSet.read(folder / "desk.csv", labels=folder / "cuts.csv")


def test_labels_are_in_a_file_or_folders(files):
    with pytest.raises(DataError, match="labels is 'desk', expected 'folder', 'name', 'runs', or a CSV or"):
        StreamSet.read(files(desk=run(0)), labels="desk")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("resample", "first", "resample is 'first', expected 'last' or 'mean'"),
        ("max_age", -1.0, "max_age is -1.0, expected a number of seconds"),
        ("long", ("a", "b"), "long is .*, expected four columns"),
        (
            "labels",
            {"one": "on"},
            "labels is of type dict, expected 'folder', 'name', 'runs' or the path of",
        ),
        ("time_zone", 3, "time_zone is 3, expected a name such as"),
        ("columns", "x", "columns is 'x', expected the names of some columns"),
        ("columns", ("x", "x"), "columns is .*, expected the names of some columns, each once"),
        ("time_format", "hours", "time_format is 'hours', expected s, ms, us, ns or a format"),
        ("time_format", "%H:%M:%S,%f", "time_format is '%H:%M:%S,%f', expected a point before %f"),
        (
            "time",
            tuple("abcdefg"),
            "time is .*, expected a column, those of date and time of day, or those of year",
        ),
        ("values", {"open": "wide"}, "values says that 'open' is 'wide', expected a number, 'missing' or 'unit'"),
        ("decimal", "'", "decimal is .*, expected ',' or '.'"),
        ("time_zone", "Middle/Earth", "time_zone is 'Middle/Earth', expected a name such as"),
    ],
)
def test_a_wrong_field_is_refused(files, field, value, message):
    with pytest.raises(DataError, match=message):
        StreamSet.read(files(log=WIDE), **{field: value})
