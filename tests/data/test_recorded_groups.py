"""Groups of streams by a column."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamfs import StreamSet
from streamfs.data.recordings.groups import read_groups
from streamfs.errors import DataError, LayoutError

RUNS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(2, 9)), min_size=3, max_size=12
)


@given(runs=RUNS, is_long=st.booleans(), seed=st.integers(0, 99))
def test_a_column_names_the_groups_of_streams_and_of_runs(runs, is_long, seed):
    runs = [each for n, each in enumerate(runs) if not n or each[0] != runs[n - 1][0]]
    rows = [(label, group) for label, group, length in runs for _ in range(length)]
    frame = pl.DataFrame(rows, ["label", "person"], orient="row").with_row_index("time")
    frame = frame.with_columns(value=np.random.default_rng(seed).normal(size=len(rows)), sensor=pl.lit("t"))
    frame = frame if is_long else frame.drop("sensor").rename({"value": "t"})
    layout = {"long": ("", "time", "sensor", "value")} if is_long else {}
    streams = StreamSet.from_frame(
        frame.sample(fraction=1.0, shuffle=True, seed=seed),
        label="label",
        labels="runs",
        groups="person",
        **layout,
    )
    assert streams.columns == ("t",)
    assert streams.labels.tolist() == [label for label, *_ in runs]
    assert streams.groups.tolist() == [group for _, group, _ in runs]


def test_a_person_is_named_in_words_or_numbers_and_all_windows_are_of_one(files):
    rows = [f"{p},{t},{p + 10 * t}" for p in (3, 7) for t in range(8)]
    path = files(log="\n".join(["person,time,x", *rows, ""])) / "log.csv"
    streams = StreamSet.read(path, labelled=False, stream="person", groups="person", window=4)
    assert streams.groups.tolist() == ["3", "3", "7", "7"]
    words = path.with_name("words.csv")
    words.write_text("\n".join(["person,time,x", *(f"p{row}" for row in rows), ""]), encoding="utf-8")
    streams = StreamSet.read(words, labelled=False, stream="person", groups="person")
    assert (streams.groups.tolist(), streams.columns) == (["p3", "p7"], ("x",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stream,time,x,room\na,0,1,hall\na,1,2,lab\n", "stream a of .* has two groups, 'hall' and 'lab'"),
        ("stream,time,x,room\na,0,1,hall\na,1,2,\n", "row 2 of .* has no group"),
        ("stream,time,x,place\na,0,1,hall\n", "has no column 'room', only stream, time, x, place"),
    ],
)
def test_groups_that_are_not_clear_are_refused(files, text, message):
    with pytest.raises(DataError, match=message):
        StreamSet.read(files(log=text) / "log.csv", labelled=False, groups="room")


def test_the_column_of_groups_is_no_reading(files):
    path = files(log="stream,time,x,room\na,0,1,hall\nb,0,2,lab\n") / "log.csv"
    with pytest.raises(LayoutError, match=r"room of .* is 'hall' in row 1, expected a number"):
        StreamSet.read(path, labelled=False)
    assert StreamSet.read(path, labelled=False, groups="room").columns == ("x",)
    with pytest.raises(DataError, match="columns has 'room'"):
        StreamSet.read(path, labelled=False, groups="room", columns=["x", "room"])


@pytest.mark.parametrize("kind", [str, Path])
def test_a_file_names_the_groups_of_a_folder_in_which_it_is_not_read_as_a_recording(files, kind):
    folder = files(log="stream,time,x\na,0,1\nb,0,2\n", rooms="stream,group\nb,hall\na,lab\n")
    streams = StreamSet.read(folder, labelled=False, groups=kind(folder / "rooms.csv"))
    assert (streams.groups.tolist(), streams.columns) == (["lab", "hall"], ("x",))
    frame = pl.DataFrame({"stream": ["b", "a"], "time": [0, 0], "x": [1, 2]})
    streams = StreamSet.from_frame(frame, labelled=False, groups=kind(folder / "rooms.csv"))
    assert streams.groups.tolist() == ["hall", "lab"]


def test_what_is_wrong_with_a_file_of_groups_is_said_before_a_proposal(files):
    folder = files(log="device,time,x\na,0,1\nb,0,2\n", few="stream,group\na,hall\n")
    with pytest.raises(LayoutError) as told:
        StreamSet.read(folder / "log.csv", labelled=False, label="x", groups=folder / "few.csv")
    assert told.value.proposal
    with pytest.raises(DataError, match=r"few\.csv has no group for stream 'b'"):
        StreamSet.read(folder / "log.csv", labelled=False, stream="device", groups=folder / "few.csv")
    with pytest.raises(DataError, match=r"none\.csv cannot be read: No such file"):
        StreamSet.read(folder / "log.csv", labelled=False, stream="device", groups=folder / "none.csv")
    with pytest.raises(DataError, match=r"groups is .*rooms\.parquet.*, expected the name of a column, or a CSV"):
        StreamSet.read(folder / "log.csv", labelled=False, groups=folder / "rooms.parquet")


def groups_in(tmp_path, text):
    path = tmp_path / "groups.csv"
    path.write_text(text, encoding="utf-8")
    return read_groups(path, ["p", "q"])


def test_groups_come_in_the_order_of_the_streams(tmp_path):
    assert groups_in(tmp_path, "stream,group\nq,attic\np,cellar\n") == ["cellar", "attic"]


def test_groups_of_a_spreadsheet_are_read(tmp_path):
    assert groups_in(tmp_path, "\ufeffstream,group\nq,attic\np,cellar\n") == ["cellar", "attic"]


@pytest.mark.parametrize("content", [b"stream,group\np,K\xfcche\n", b"stream,group\np," + b"x" * 200_000])
def test_a_file_of_groups_that_is_no_text_is_named(tmp_path, content):
    path = tmp_path / "groups.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"groups\.csv cannot be read"):
        read_groups(path, ["p"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stream,group\np,attic,2\nq,attic\n", r"line 2 of .* has the further cells \['2'\]"),
        ("stream,group\np,attic\n", "has no group for stream 'q'"),
        (
            "stream,group\np,attic\nq,attic\nr,attic\n",
            "has a group for stream 'r', which is not one of the streams",
        ),
        ("stream,group\np,attic\nq,attic\np,cellar\n", "has stream 'p' in the groups 'attic' and 'cellar'"),
        ("stream,group\np,attic\nq,\n", "line 3 of .*, expected a stream and its group"),
        ("stream,room\np,attic\n", "line 2 of .*, expected a stream and its group"),
        ("", "has no group for stream 'p'"),
    ],
)
def test_groups_that_are_wrong_are_refused_by_the_name_of_the_stream(tmp_path, text, words):
    with pytest.raises(DataError, match=words):
        groups_in(tmp_path, text)
