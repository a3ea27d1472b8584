"""Groups of streams by a column."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamfs import StreamSet
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
