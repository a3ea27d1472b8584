"""Recordings that are cut into windows of fixed length."""

import itertools
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from recorded_files import run

from streamfs import StreamSet
from streamfs.errors import DataError, LayoutError

STEPS = st.sampled_from([1] * 12 + [2, 3, 4, 9])
RUNS = st.lists(st.tuples(st.sampled_from(["on", "off", ""]), st.integers(1, 25)), min_size=8, max_size=20)


def naive(rows, n_ticks):
    """Cut rows of stream, time and label one after the other; return name, label, start and ticks of windows."""
    found = []
    for stream in sorted({name for name, *_ in rows}):
        mine = sorted((time, label) for name, time, label in rows if name == stream)
        stretches = [[mine[0]]]
        for row in mine[1:]:
            if row[0] - stretches[-1][-1][0] > 3:
                stretches.append([])
            stretches[-1].append(row)
        number = 0
        for stretch in stretches:
            start = stretch[0][0]
            while stretch[-1][0] >= start + n_ticks - 1:
                number += 1
                inside = [row for row in stretch if start <= row[0] < start + n_ticks]
                counts = Counter(label for _, label in inside)
                for label, count in counts.items():
                    if label and count / len(inside) > 0.8999:
                        ticks = [time - start for time, _ in inside]
                        found.append((f"{stream}/{number}", label, start, ticks))
                start += n_ticks
    return found


@given(runs=RUNS, n_ticks=st.integers(5, 15), data=st.data())
def test_windows_are_those_of_a_naive_cut(runs, n_ticks, data):
    labels = [label for label, length in runs for _ in range(length)] + ["on"] * 40
    times = np.cumsum(data.draw(st.lists(STEPS, min_size=len(labels), max_size=len(labels)))) + 100
    names = ["desk"] * (len(labels) // 2) + ["hall"] * (len(labels) - len(labels) // 2)
    rows = [*zip(names, times.tolist(), labels, strict=True)]
    steps = [other[1] - row[1] for row, other in itertools.pairwise(rows) if row[0] == other[0]]
    assume(min(steps) == np.quantile(steps, 0.5) == 1)  # a hole is of more than three
    expected = naive(rows, n_ticks)
    frame = pl.DataFrame(rows, ["stream", "time", "label"], orient="row").with_columns(x=pl.col("time") * 10)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=len(rows))
    if not expected:
        with pytest.raises(DataError, match="window"):
            StreamSet.from_frame(shuffled, period=1.0, window=n_ticks)
        return
    streams = StreamSet.from_frame(shuffled, period=1.0, window=n_ticks)
    shown = [*zip(streams.names, streams.labels.tolist(), streams.starts.tolist(), strict=True)]
    assert sorted(shown) == sorted(each[:3] for each in expected)
    for name, _, start, ticks in expected:
        values = streams.values[streams.names.index(name)]
        assert_array_equal(values[ticks, 0], [10 * (start + tick) for tick in ticks])
        assert np.isnan(np.delete(values, ticks, axis=0)).all()
    assert set(streams.lengths) == {n_ticks}


def flickering(states):
    return "time,label,x\n" + "".join(f"{60 * i},{state},{i}\n" for i, state in enumerate(states))


def test_windows_with_a_hole_and_ends_are_left_out(files):
    times = [*range(7), *range(20, 26)]
    path = files(desk=run(*times)) / "desk.csv"
    streams = StreamSet.read(path, window=3, labelled=False)
    assert (streams.names, streams.starts.tolist()) == (("desk/1", "desk/2", "desk/3", "desk/4"), [0, 3, 20, 23])
    held = StreamSet.read(path, window=7, max_age=14, labelled=False)
    assert held.starts.tolist() == [0, 14]  # there is no row in between


def test_windows_are_unlabelled_where_labels_may_be_missing(files):
    path = files(desk=flickering(["on"] * 10 + ["on", "off"] * 5 + ["off"] * 10)) / "desk.csv"
    streams = StreamSet.read(path, window=600, labelled=False)
    assert [*zip(streams.names, streams.labels, strict=True)] == [
        ("desk/1", "on"),
        ("desk/2", ""),
        ("desk/3", "off"),
    ]
    assert streams.n_left_out == 0
    assert "left out" not in repr(streams)
    kept = StreamSet.read(path, window=600)
    assert (kept.names, kept.n_left_out) == (("desk/1", "desk/3"), 1)
    assert repr(kept).endswith("labels off 1, on 1, windows left out 1)")
    assert "windows left out: 1" in kept._repr_html_()
    assert kept.grouped(["a", "b"]).n_left_out == 1
    assert kept[:1].n_left_out == 0  # of these it is not known


def test_runs_intervals_and_labelled_streams_are_cut_likewise(files):
    path = files(desk=flickering(["on"] * 5 + ["off"] * 7)) / "desk.csv"
    streams = StreamSet.read(path, labels="runs", window=180)
    assert (streams.names, streams.starts.tolist()) == (("desk/1/1", "desk/2/1", "desk/2/2"), [0, 300, 480])
    folder = files(desk=run(*range(10)), cuts="start,end,label\n0,5,go\n5,9,sit\n")
    streams = StreamSet.read(folder / "desk.csv", labels=folder / "cuts.csv", window=2)
    assert streams.starts.tolist() == [0, 2, 5, 7]
    assert streams.labels.tolist() == ["go", "go", "sit", "sit"]
    walk = files(walk__a=run(*range(5))) / "walk"
    assert StreamSet.read([walk], labels="folder", window=2).labels.tolist() == ["walk", "walk"]


def test_what_a_sensor_says_labels_windows(files):
    rows = [(time, "x", time) for time in range(20)]
    rows += [(0, "motion", "on"), (9, "motion", "off"), (10, "motion", "on"), (12, "motion", "off")]
    path = files(log="time,sensor,value\n" + "".join(f"{t},{s},{v}\n" for t, s, v in rows)) / "log.csv"
    streams = StreamSet.read(path, long=("", "time", "sensor", "value"), label="motion", window=5)
    assert streams.columns == ("x",)
    assert [*zip(streams.names, streams.labels, strict=True)] == [("log/1", "on"), ("log/4", "off")]
    tenths = StreamSet.read(path, long=("", "time", "sensor", "value"), label="motion", window=10)
    assert tenths.labels.tolist() == ["on"]


def test_windows_of_jittered_times_have_one_length(files):
    rng = np.random.default_rng(0)
    times = np.arange(500) * 60 + rng.integers(-25, 26, 500) + 1_790_000_000
    path = files(desk=run(*times.tolist())) / "desk.csv"
    with pytest.raises(LayoutError, match="are irregular") as refused:
        StreamSet.read(path, window=600, labelled=False)
    streams = StreamSet.read(path, window=600, labelled=False, **refused.value.proposal)
    assert set(streams.lengths) == {10}
    assert len(streams) >= 49


def test_a_row_between_two_windows_stays_in_its_own(files):
    times = 1_790_000_000.9237454 + np.array([0.0, *(np.arange(40) + 0.5)]) / 3
    path = files(desk=run(*map(repr, times.tolist()))) / "desk.csv"
    streams = StreamSet.read(path, period=1 / 3, window=5 / 3, resample="mean", labelled=False)
    assert set(streams.lengths) == {5}
    window = np.floor((times - times[0]) * 3 + 0.5) // 5
    for number, values in enumerate(streams.values):
        mine = np.flatnonzero(window == number)
        assert mine[0] <= np.nanmin(values) <= np.nanmax(values) <= mine[-1]


def test_windows_of_a_label_that_follow_each_other_are_a_group(files):
    states = ["on"] * 20 + ["on", "off"] * 5 + ["on"] * 10 + ["off"] * 10 + ["on"] * 10 + ["off"] * 10
    path = files(desk=flickering(states)) / "desk.csv"
    streams = StreamSet.read(path, window=600)
    assert streams.names == ("desk/1", "desk/2", "desk/4", "desk/5", "desk/6", "desk/7")
    assert streams.groups.tolist() == [0, 0, 0, 1, 2, 3]
    path = files(desk=flickering(["on"] * 20 + ["off"] * 20)) / "desk.csv"
    assert StreamSet.read(path, window=600).groups is None  # no other windows of the label could be held out


def test_windows_that_are_kept_may_have_longer_steps_than_others(files):
    rows = [(0, "on"), (1, "off"), *((tick, "on") for tick in (10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30))]
    text = "time,label,x\n" + "".join(f"{time},{label},{time}\n" for time, label in rows)
    path = files(desk=text) / "desk.csv"
    streams = StreamSet.read(path, window=10)
    assert (streams.period, streams.starts.tolist()) == (1, [10, 20])
    with pytest.raises(DataError, match=r"rows of .* are at least 1 s apart, and a tick is 0\.1 s"):
        StreamSet.read(path, window=10, period=0.1)


@pytest.mark.parametrize(
    ("window", "problem"),
    [
        (60, "window is 60 s, and a tick 60 s: expected at least 120 s"),
        (1200, "window is 1200 s, and the longest stretch without a hole of 180 s is only of 600 s"),
        (600, "none of 1 windows of 600 s has one label in nine of ten rows: give a shorter window"),
        (-1, "window is -1, expected a positive number of seconds"),
    ],
)
def test_windows_that_cannot_be_cut_are_refused(files, window, problem):
    path = files(desk=flickering(["on", "off"] * 5)) / "desk.csv"
    with pytest.raises(DataError, match=problem):
        StreamSet.read(path, window=window)


def test_windows_without_any_label_are_refused(files):
    path = files(desk=run(0, 1, 2, 3)) / "desk.csv"
    with pytest.raises(LayoutError, match="has no column 'label', only time, x"):
        StreamSet.read(path, window=2)


@pytest.mark.parametrize("asked", [{"window": 1}, {"window": 90}, {"groups": "room"}])
def test_what_streams_do_not_have_is_no_fault_of_their_layout(files, asked):
    rows = "".join(f"{n},{n},{n // 5},calm\n" for n in range(10))
    path = files(log=f"when,x,room,label\n{rows}") / "log.csv"
    with pytest.raises(LayoutError, match=r"has no column 'time'.*; try time='when'") as refused:
        StreamSet.read(path, **asked)
    with pytest.raises(DataError, match=r"^window is|^stream log of .* has two groups"):
        StreamSet.read(path, **asked, **refused.value.proposal)


def test_a_column_of_groups_that_is_not_there_is_named_first(files):
    path = files(log="when,x,room,label\n0,1,a,calm\n1,2,a,calm\n") / "log.csv"
    with pytest.raises(DataError, match=r"has no column 'rooms'.*did you mean room\?"):
        StreamSet.read(path, groups="rooms")
