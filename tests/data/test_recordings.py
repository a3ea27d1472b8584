"""Recordings as people have them: files, folders, layouts, times, labels, and their way onto the grid."""

import gzip
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from streamfs import StreamSet
from streamfs.data.recordings import tables
from streamfs.errors import DataError, LayoutError

NAN = float("nan")
WIDE = "stream,time,label,x\na,0,calm,1\na,1,calm,2\nb,0,busy,3\nb,1,busy,4\n"
LONG = "device,when,sensor,value,label\na,0,t,20,hot\na,0,h,50,hot\na,10,t,21,hot\nb,0,t,5,cold\nb,10,h,80,cold\n"
ALSO_LONG = ("device", "when", "sensor", "value")


@pytest.fixture
def files(tmp_path):
    """Return a writer of files by name, which returns their folder."""

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path.joinpath(*name.split("__")).with_suffix(".csv")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return write


def run(*times, header="time,x", first=0):
    return "\n".join([header, *(f"{time},{first + index}" for index, time in enumerate(times))]) + "\n"


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


NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)
MOMENTS = [NOON, NOON + timedelta(seconds=30)]


@pytest.mark.parametrize(
    "spelt",
    [
        lambda t: t.isoformat(),
        lambda t: t.astimezone(timezone(timedelta(hours=5, minutes=30))).isoformat(timespec="milliseconds"),
        lambda t: t.strftime("%Y-%m-%dT%H:%M:%SZ"),
        lambda t: t.strftime("%Y-%m-%d %H:%M:%S"),
        lambda t: t.strftime("%Y%m%dT%H%M%SZ"),
        lambda t: t.timestamp(),
        lambda t: int(t.timestamp() * 1e3),
        lambda t: int(t.timestamp() * 1e6),
        lambda t: int(t.timestamp() * 10**9),
    ],
)
def test_times_are_read_in_any_common_form(files, spelt):
    folder = files(
        log=run(*map(spelt, MOMENTS)), cuts=f"start,end,label\n{MOMENTS[0].isoformat()},{MOMENTS[1]},on\n"
    )
    streams = StreamSet.read(folder / "log.csv", labels=folder / "cuts.csv")
    assert_array_equal(streams.values.ravel(), [0])
    assert StreamSet.read(folder / "log.csv", labelled=False).period == 30.0


@pytest.mark.parametrize(
    "dtype", [pl.Datetime("ms"), pl.Datetime("ns", "Asia/Kolkata"), pl.Datetime("us", "UTC"), pl.Duration("ms")]
)
def test_datetimes_of_parquet_are_read(tmp_path, dtype):
    times = MOMENTS if isinstance(dtype, pl.Datetime) else [timedelta(), timedelta(seconds=30)]
    zone = dtype.time_zone if isinstance(dtype, pl.Datetime) else None
    series = (
        pl.Series("time", times).cast(dtype)
        if zone is None
        else pl.Series("time", times).dt.convert_time_zone(zone)
    )
    pl.DataFrame({"time": series, "x": [1, 2]}).write_parquet(tmp_path / "log.parquet")
    assert StreamSet.read(tmp_path / "log.parquet", labelled=False).period == 30.0


def test_dates_without_an_offset_are_in_the_named_zone(files):
    around = ["2026-03-29 01:59:30", "2026-03-29 03:00:00", "2026-03-29 03:00:30"]  # clocks go forward between
    folder = files(log=run(*around), spring=run("2026-03-29 02:30:00"))
    assert StreamSet.read(folder / "log.csv", labelled=False, time_zone="Europe/Berlin").lengths.tolist() == [3]
    assert StreamSet.read(folder / "log.csv", labelled=False).lengths.tolist() == [123]
    with pytest.raises(DataError, match="2026-03-29 02:30:00 somewhere, which Europe/Berlin does not have"):
        StreamSet.read(folder / "spring.csv", labelled=False, time_zone="Europe/Berlin")


AUTUMNS = {
    "Europe/Berlin": datetime(2026, 10, 25, 1, tzinfo=UTC),
    "America/New_York": datetime(2026, 11, 1, 6, tzinfo=UTC),
    "Australia/Lord_Howe": datetime(2026, 4, 4, 15, tzinfo=UTC),  # by half an hour
}
"""When clocks go back."""


def night(zone, minutes, devices="ab"):
    """Return rows around a change of clocks, of two sensors one of which reports rarely, and their local times."""
    rows = [
        (device, AUTUMNS[zone] + timedelta(minutes=minutes * step), sensor, step)
        for step in range(-180 // minutes, 180 // minutes)
        for device in devices
        for sensor in ("x", "y")
        if sensor == "x" or step % 7 == 0
    ]
    return [
        (device, at.isoformat(), f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}", sensor, value)
        for device, at, sensor, value in rows
    ]


@pytest.mark.parametrize("zone", AUTUMNS)
@pytest.mark.parametrize("minutes", [6, 10])
@pytest.mark.parametrize(
    "ordered",
    [
        pytest.param(list, id="by time"),
        pytest.param(lambda rows: rows[::-1], id="the newest first"),
        pytest.param(lambda rows: sorted(rows, key=lambda row: row[0]), id="by device"),
        pytest.param(lambda rows: [*rows[:50], *rows[50:55][::-1], *rows[55:]], id="not quite in order"),
    ],
)
def test_the_order_of_rows_decides_which_of_both_hours_in_autumn_a_date_is_in(files, zone, minutes, ordered):
    rows = ordered(night(zone, minutes))
    known, local = ("\n".join(",".join(map(str, (d, t[kind], s, v))) for d, *t, s, v in rows) for kind in (0, 1))
    folder = files(known=f"device,time,sensor,value\n{known}\n", local=f"device,time,sensor,value\n{local}\n")
    layout = {"long": ("device", "time", "sensor", "value"), "labelled": False, "period": 60.0 * minutes}
    expected = StreamSet.read(folder / "known.csv", **layout)
    found = StreamSet.read(folder / "local.csv", time_zone=zone, **layout)
    order = [found.names.index(name) for name in expected.names]
    assert_array_equal(found.values[order], expected.values)


def test_hourly_dates_that_clocks_show_twice_are_both_read(files):
    rows = [local for _, _, local, sensor, _ in night("Europe/Berlin", 60, "a") if sensor == "x"]
    streams = StreamSet.read(files(log=run(*rows)) / "log.csv", labelled=False, time_zone="Europe/Berlin")
    assert streams.period == 3600.0
    assert not np.isnan(streams.values).any()


def test_dates_that_clocks_show_twice_are_refused_where_their_order_is_open(files):
    some = run("2026-10-25 01:40:00", "2026-10-25 02:30:00", "2026-10-25 03:20:00")
    cuts = "start,end,label\n2026-10-25 01:00,2026-10-25 02:10,on\n"
    folder = files(log=some, other=run("2026-10-25 01:00", "2026-10-25 01:30"), cuts=cuts)
    for arguments in ({"paths": "log.csv"}, {"paths": "other.csv", "labels": folder / "cuts.csv"}):
        paths = folder / arguments.pop("paths")
        with pytest.raises(
            DataError, match="somewhere, which Europe/Berlin has twice, and no order of rows tells"
        ):
            StreamSet.read(paths, **{"labelled": False, "time_zone": "Europe/Berlin", **arguments})


@pytest.mark.parametrize("step", [1, -1])
def test_dates_that_go_back_as_in_autumn_need_the_name_of_their_zone(files, step):
    rows = [local for _, _, local, sensor, _ in night("Europe/Berlin", 10, "a") if sensor == "x"]
    path = files(log=run(*rows[::step])) / "log.csv"
    with pytest.raises(
        LayoutError, match=r"time of .*log.csv goes back to 2026-10-25 02:00:00, as where"
    ) as error:
        StreamSet.read(path, labelled=False, resample="mean")
    assert error.value.proposal == {"time_zone": "Europe/Berlin"}
    assert StreamSet.read(path, labelled=False, resample="mean", time_zone="UTC").lengths.tolist() == [30]


def test_other_dates_need_their_format(files):
    path = files(log=run("22.11.2026 16:30", "22.11.2026 16:31")) / "log.csv"
    with pytest.raises(
        DataError, match=r"time of .* is '22.11.2026 16:30' in row 1, expected seconds, or a date such"
    ):
        StreamSet.read(path, labelled=False)
    assert StreamSet.read(path, labelled=False, time_format="%d.%m.%Y %H:%M").period == 60.0
    assert StreamSet.read(files(ms=run(0, 20)) / "ms.csv", labelled=False, time_format="ms").period == 0.02
    path = files(log=run("22.11.2026 16:30:00.500", "22.11.2026 16:30:01.250")) / "log.csv"
    assert StreamSet.read(path, labelled=False, time_format="%d.%m.%Y %H:%M:%S.%f").period == 0.75


def test_an_odd_date_among_others_is_refused_with_its_row(files):
    path = files(log=run("2026-11-22T16:30:00Z", "2026-11-22T16:31:00Z", "noon")) / "log.csv"
    with pytest.raises(DataError, match=r"time of .* is 'noon' in row 3, expected a date like those before it"):
        StreamSet.read(path, labelled=False)


def test_spreadsheets_with_semicolons_have_decimal_commas(files):
    streams = StreamSet.read(files(log="stream;time;label;x\na;0,5;on;1,5\na;1;on;2\n") / "log.csv")
    assert (streams.period, streams.values.ravel().tolist()) == (0.5, [1.5, 2.0])
    assert StreamSet.read(files(log=WIDE.replace(",", "\t")) / "log.csv").columns == ("x",)


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
    folder = files(log="seq,time,x\n1,0,5\n1,1,6\n2,0,7\n", kinds="seq,kind\n2,off\n1,on\n")
    streams = StreamSet.read(folder / "log.csv", stream="seq", label="kind", labels=folder / "kinds.csv")
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("start,end,label\n2,1,go\n", "row 1 of .* starts at 2 s and ends at 1 s"),
        ("start,end,label\n0,2,go\n1,3,sit\n", "intervals of stream desk in .* overlap at 1 s"),
        ("start,end,label\n9,10,go\n", "no row of the recording is in an interval"),
        ("start,end,label\n,10,go\n", "row 1 of .* has no start"),
        ("start,label\n0,go\n", "has no column 'end', only start, label"),
        ("stream,class\ndesk,go\n", "has no column 'label', only stream, class: name it by label"),
        (
            "name,label\ndesk,go\n",
            "has no column 'stream', only name, label: rename the one that is meant to 'str",
        ),
    ],
)
def test_labels_that_do_not_fit_are_refused(files, text, message):
    folder = files(desk=run(0, 1, 2), cuts=text)
    with pytest.raises(DataError, match=message):
        StreamSet.read(folder / "desk.csv", labels=folder / "cuts.csv")


def test_labels_are_in_a_file_or_folders(files):
    with pytest.raises(DataError, match="labels is 'desk', expected 'folder', 'runs', or a CSV or Parquet file"):
        StreamSet.read(files(desk=run(0)), labels="desk")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("resample", "first", "resample is 'first', expected 'last' or 'mean'"),
        ("max_age", -1.0, "max_age is -1.0, expected a number of seconds"),
        ("long", ("a", "b"), "long is .*, expected four columns"),
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


def naive_cells(times, numbers, period, rule, max_age):
    """Ticks of one stream by the definition, one at a time."""
    start, cells = min(times), []
    nearest = [int(np.floor((time - start) / period + 0.5)) for time in times]
    for tick in range(max(nearest) + 1):
        here = [i for i in range(len(times)) if nearest[i] == tick and not np.isnan(numbers[i])]
        if here and rule == "last":
            newest = max(times[i] for i in here)
            cells.append([numbers[i] for i in here if times[i] == newest][-1])
        elif here:
            cells.append(sum(numbers[i] for i in here) / len(here))
        else:
            before = [i for i in range(len(times)) if nearest[i] < tick and not np.isnan(numbers[i])]
            latest = max((nearest[i] for i in before), default=None)
            is_held = latest is not None and (tick - latest) * period <= max_age
            cells.append(cells[latest] if is_held else NAN)
    return cells


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 40), st.integers(-9, 9).map(float) | st.just(NAN)), min_size=1, max_size=25
    ),
    rule=st.sampled_from(["last", "mean"]),
    max_age=st.sampled_from([0.0, 1.0, 3.0, 100.0]),
    batch=st.sampled_from([1, 9, 2**18]),
    is_long=st.booleans(),
)
def test_resampling_is_as_defined(tmp_path_factory, rows, rule, max_age, batch, is_long):
    times, numbers = [time / 4 for time, _ in rows], [number for _, number in rows]
    path = tmp_path_factory.mktemp("cells") / "log.csv"
    table = pl.DataFrame(
        {"stream": ["s"] * len(rows), "time": times, "sensor": ["x"] * len(rows), "value": numbers}
    )
    (table if is_long else table.drop("sensor")).write_csv(path)
    options = {"long": table.columns} if is_long else {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BLOCK", 8 * batch)
        streams = StreamSet.read(path, 1.0, labelled=False, resample=rule, max_age=max_age, **options)
    assert_array_equal(streams.values[0, :, 0], naive_cells(times, numbers, 1.0, rule, max_age))


@settings(max_examples=10)  # each is read in many blocks
@given(batch=st.integers(1, 9), seed=st.integers(0, 99))
def test_wide_and_long_tables_hold_the_same(tmp_path_factory, batch, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(3, 4, 2)).round(3)
    values[rng.random(values.shape) < 0.2] = NAN
    values[:, 0] = 1.0
    values[:, -1] = 2.0
    wide = StreamSet(values, ["on", "off", "on"], ["x", "y"], 2.0, ["a", "b", "c"])
    folder = tmp_path_factory.mktemp("both")
    wide.write(folder / "wide.csv")
    table = pl.read_csv(folder / "wide.csv").unpivot(index=["stream", "time", "label"]).sort("stream", "time")
    table.sample(fraction=1, shuffle=True, seed=seed).write_csv(folder / "long.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BLOCK", 8 * batch)
        found = StreamSet.read(
            folder / "long.csv", 2.0, long=("stream", "time", "variable", "value"), columns=["x", "y"]
        )
    found = found.take([found.names.index(name) for name in wide.names])
    assert_array_equal(found.values, wide.values)
    assert_array_equal(found.labels, wide.labels)


@settings(max_examples=20)
@given(
    period=st.sampled_from([0.02, 1.0, 10.0, 900.0, 1 / 3]),
    jitter=st.floats(0.02, 0.2),
    seed=st.integers(0, 1000),
)
def test_what_is_proposed_for_jittered_times_is_accepted(tmp_path_factory, period, jitter, seed):
    rng = np.random.default_rng(seed)
    times = 1.79e9 + period * (np.arange(200) + rng.uniform(-jitter, jitter, 200))
    path = tmp_path_factory.mktemp("jitter") / "log.csv"
    path.write_text(run(*map(repr, times.tolist())), encoding="utf-8")
    with pytest.raises(LayoutError, match=r"are irregular: steps of .* usually") as refused:
        StreamSet.read(path, labelled=False)
    proposal = refused.value.proposal
    assert proposal["period"] == pytest.approx(period, rel=0.1)
    assert proposal["resample"] == "last"
    streams = StreamSet.read(path, labelled=False, **proposal)
    assert abs(streams.lengths[0] - 200) <= 20
    assert not np.isnan(streams.values).any()


@pytest.mark.parametrize(
    ("text", "proposal"),
    [
        ("Timestamp,x\n0,1\n1,2\n", {"time": "Timestamp"}),
        (
            "device_id,ts,Temp,activity\na,0,1,on\na,1,2,on\n",
            {"time": "ts", "stream": "device_id", "label": "activity"},
        ),
        ("device,time,sensor,value\na,0,t,1\na,1,h,2\n", {"long": ("device", "time", "sensor", "value")}),
        ("time,x,note\n0,1,well\n1,2,ill\n", {"stream": "note"}),
        ("time,x,place,note\n0,1,hall,well\n1,2,hall,ill\n", {"columns": ("x",)}),
        ("time,x\n0,1\n0.1,1\n5,2\n5.17,3\n", {"period": 0.13, "resample": "last", "max_age": 0.26}),
        ("t,v\n0,1\n", {"time": "t"}),
        ("time,seq,x\n0,1,5\n1,1,6\n0,2,7\n1,2,8\n", {"stream": "seq"}),
        ("x,abs_ms\n1,1790000000000\n2,1790000001000\n", {"time": "abs_ms"}),
        ("x,y\n0,1\n", {}),
        ("x,row\n" + "".join(f"1,{i}\n" for i in range(12)), {"time": "row"}),
        ("x,row\n" + "".join(f"1,{i}\n" for i in range(9)), {}),
        (
            "mote,row,x\n" + "".join(f"{mote},{i},1\n" for mote in "ab" for i in range(6)),
            {"stream": "mote", "time": "row"},
        ),
        ("x,T_out\n0,1\n", {}),
        ("time,door\n0,open\n1,closed\n2,open\n", {"values": {"closed": 0, "open": 1}}),
        (
            "time,sky,x\n0,fog,1\n1,sun,2\n2,rain,?\n3,sun,4\n4,fog,5\n5,rain,6\n",
            {"values": {"fog": 0, "rain": 1, "sun": 2, "?": "missing"}},
        ),
        ("time,x\n0,5\n1,error\n2,NA\n3,7\n", {"values": {"error": "missing", "NA": "missing"}}),
        ('time,x\n0,"1,5"\n1,"2,75"\n', {"decimal": ","}),
        (
            "time,x,h\n0,21.5 °C,40%\n1,NA,41%\n2,22,4e1 %\n",
            {"values": {"NA": "missing", "°C": "unit", "%": "unit"}},
        ),
        ("time,flow\n0,5 m³\n1,4.5 m³\n", {"values": {"m³": "unit"}}),
        ("time,door,x\n0,open,1 V\n1,closed,2 V\n2,open,3\n", {"values": {"closed": 0, "open": 1, "V": "unit"}}),
        (
            "Datum;x\n22.11.2026 16:30;1,5\n22.11.2026 16:31;2\n",
            {"time": "Datum", "time_format": "%d.%m.%Y %H:%M"},
        ),
        ("time,x\n22-11-26 16:30,1\n22-11-26 16:31,2\n", {"time_format": "%d-%m-%y %H:%M"}),
        ("time,x\n20261122163000,1\n20261122163100,2\n", {"time_format": "%Y%m%d%H%M%S"}),
        ("time,x\n2026-11-22 16-30,1\n2026-11-22 16-31,2\n", {}),
        ("time,x\n11/22/2026 4:30 PM,1\n11/22/2026 4:31 PM,2\n", {"time_format": "%m/%d/%Y %I:%M %p"}),
        (
            "Date,Time,x\n11/22/26,4:30 PM,1\n11/22/26,4:31 PM,2\n",
            {"time": ("Date", "Time"), "time_format": "%m/%d/%y %I:%M %p"},
        ),
        (
            "ts,local,x\n" + "".join(f"{1795365000 + 60 * i},2026/11/22 17:{30 + i},{i}\n" for i in range(12)),
            {"time": "ts", "columns": ("x",)},
        ),
        ("date,time,x\n2026-11-22,16:30:00,1\n2026-11-22,16:31:00,2\n", {"time": ("date", "time")}),
        (
            "Date,Time,x\n22/11/2026,16:30,1\n22/11/2026,16:31,2\n",
            {"time": ("Date", "Time"), "time_format": "%d/%m/%Y %H:%M"},
        ),
        (
            "Date;Time;T\n22/11/2026;16.30.00;21,5\n22/11/2026;16.31.00;21,0\n",
            {"time": ("Date", "Time"), "time_format": "%d/%m/%Y %H.%M.%S"},
        ),
        ("Year,month,day,hour,T\n2026,1,9,9,5\n2026,1,9,10,4\n", {"time": ("Year", "month", "day", "hour")}),
        ("t,v\n2,1\n1,2\n", {}),
        (
            "start,end,x\n2026-11-22 16:00,2026-11-22 17:00,1\n2026-11-22 17:00,2026-11-22 18:00,2\n",
            {"time": "end", "columns": ("x",)},
        ),
        (
            "state,entity_id,last_changed\n20,h,2026-11-22T16:00Z\nunavailable,h,2026-11-22T16:01Z\n21,h,2026-11-22T16:02Z\n",
            {"stream": "entity_id", "time": "last_changed", "values": {"unavailable": "missing"}},
        ),
        ("time,x\n0,1\n0,2\n1,3\n1,4\n", {"period": 1.0, "resample": "last", "max_age": 2.0}),
    ],
)
def test_the_reader_accepts_what_it_proposes(files, text, proposal):
    path = files(log=text) / "log.csv"
    with pytest.raises(LayoutError) as refused:
        StreamSet.read(path, labelled=False)
    assert refused.value.proposal == proposal
    if proposal:
        assert "; try " in str(refused.value)
        assert len(StreamSet.read(path, labelled=False, **proposal)) >= 1


@pytest.mark.parametrize(
    ("columns", "texts", "proposal"),
    [
        ("stream,time,x,klass", "{s},{t},1,{c}", {"label": "klass"}),
        ("stream,time,door,klass", "{s},{t},open,{c}", {"label": "klass", "values": {"open": 1}}),
        ("unit,time,x,label", "{s},{t},1,{c}", {"stream": "unit"}),
        (
            "room,ts,x,firmware,label",
            "{s},{s[1]}{t},1,v1,{c}",
            {"stream": "room", "time": "ts", "columns": ("x",)},
        ),
        ("stream\ttime\tx\ty\tlabel", "{s}\t{t}\t0,125\t1,2571\t{c}", {"decimal": ","}),
        ("stream\ttime\tx\tlabel", "{s}\t{t}\t1,125\t{c}", {}),  # or thousands
    ],
)
def test_a_label_a_stream_and_decimals_are_found_by_what_they_hold(files, columns, texts, proposal):
    rows = [texts.format(s=f"s{s}", t=t, c="ab"[s % 2]) for s in range(6) for t in range(4)]
    path = files(log="\n".join([columns, *rows])) / "log.csv"
    with pytest.raises(LayoutError) as refused:
        StreamSet.read(path)
    assert refused.value.proposal == proposal
    if proposal:
        assert StreamSet.read(path, **proposal).classes == ("a", "b")


@pytest.mark.parametrize("label", ["label", "activity"])
def test_a_file_of_labels_is_found_in_a_folder(files, label):
    readings = "".join(f"{seq},{i},{seq + i}\n" for seq in (1, 2, 3) for i in range(4))
    folder = files(a_labels=f"seq,{label},place\n1,on,x\n2,off,x\n3,on,y\n", rss=f"seq,t,v\n{readings}")
    with pytest.raises(LayoutError, match=r"a_labels.csv has no column 'time'") as refused:
        StreamSet.read(folder)
    proposal = refused.value.proposal
    named = {} if label == "label" else {"label": label}
    assert proposal == {"labels": str(folder / "a_labels.csv"), **named, "stream": "seq", "time": "t"}
    assert StreamSet.read(folder, **proposal).labels.tolist() == ["on", "off", "on"]


def test_a_column_that_was_named_is_not_exchanged_for_another(files):
    path = files(log="day,T\nMonday,1\nTuesday,2\n") / "log.csv"
    with pytest.raises(LayoutError, match=r"day of .* is 'Monday' in row 1, expected seconds") as refused:
        StreamSet.read(path, labelled=False, time="day")
    assert "time" not in refused.value.proposal


def test_parts_of_a_date_are_a_time(files):
    header, names = "year,month,day,hour,minute,second,x\n", ("year", "month", "day", "hour", "minute", "second")
    path = files(log=f"{header}2026,1,9,9,59,30,1\n2026,1,9,10,0,0,2\n") / "log.csv"
    streams = StreamSet.read(path, labelled=False, time=names)
    assert (streams.period, streams.values.ravel().tolist()) == (30.0, [1.0, 2.0])
    frame = pl.read_csv(path).drop("hour", "minute", "second")
    with pytest.raises(DataError, match="expected a date like those before it"):
        StreamSet.from_frame(frame.with_columns(month=pl.Series([1, 13])), labelled=False, time=names[:3])


@pytest.mark.parametrize("ending", ["txt", "dat.gz", "CSV"])
def test_files_with_other_endings_are_read_if_they_are_named(files, ending):
    folder = files(log=WIDE)
    text = (folder / "log.csv").read_bytes()
    path = folder / f"other.{ending}"
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    assert_array_equal(StreamSet.read(path).values, StreamSet.read(folder / "log.csv").values)


def test_two_columns_name_one_time_in_its_zone(tmp_path):
    days = pl.Series("day", [NOON.date()] * 2)
    hours = pl.Series("hour", [NOON.time(), (NOON + timedelta(seconds=30)).time()])
    pl.DataFrame([days, hours, pl.Series("x", [1, 2])]).write_parquet(tmp_path / "log.parquet")
    (tmp_path / "cuts.csv").write_text(f"start,end,label\n{MOMENTS[0].isoformat()},{MOMENTS[1].isoformat()},on\n")
    streams = StreamSet.read(
        tmp_path / "log.parquet", time=("day", "hour"), labels=tmp_path / "cuts.csv", time_zone="UTC"
    )
    assert_array_equal(streams.values.ravel(), [1])


@pytest.mark.parametrize("spelt", ["%Y-%m-%d %H:%M:%S UTC", "%Y-%m-%d %H:%M:%S +0000", "%Y-%m-%d %H:%M:%S+00"])
def test_offsets_are_read_in_any_spelling(files, spelt):
    folder = files(
        log=run(*(t.strftime(spelt) for t in MOMENTS)), cuts=f"start,end,label\n{MOMENTS[0]},{MOMENTS[1]},on\n"
    )
    assert_array_equal(StreamSet.read(folder / "log.csv", labels=folder / "cuts.csv").values.ravel(), [0])


def test_words_stand_for_numbers_in_long_tables_too(files):
    text = "d,t,sensor,value\na,0,door,open\na,0,x,5\na,1,door,closed\na,1,x,unavailable\n"
    long, values = ("d", "t", "sensor", "value"), {"open": 1, "closed": 0, "unavailable": "missing"}
    streams = StreamSet.read(files(log=text) / "log.csv", long=long, values=values, labelled=False)
    assert_array_equal(streams.values, [[[1, 5], [0, NAN]]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1\n1,2\n", "has no header, its first row is 0, 1: put names"),
        (",\n0,1\n", "has no header, its first row is empty"),
        ("time,time,x\n0,1,2\n", "column 'time' occurs twice"),
        (
            "33,Jogging,49105962326,-0.69,9.1\n33,Jogging,49105962327,1,2\n",
            "has no header, its first row is 33, Jog",
        ),
        ("time,x\r0,1\r1,2\r", "has carriage returns alone between rows"),
        ("time x y\n0 1 2\n", "has one column, 'time x y', expected commas"),
        ("time,x\ns,m\n0,1\n", "'s' in row 1, .* take the row out"),
        ("logger 7\ntime,x\n0,1\n", "row 1 has 2 cells, expected 1 as in the header; take lines before"),
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
        "time| x\n0|1\n1|2\n",
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
    streams = StreamSet.read(folder / "log.csv", time="#time", labelled=False)
    assert (streams.columns, streams.values.ravel().tolist()) == (("x",), [1.0, 2.0])
    with pytest.raises(DataError, match="row 2 has 3 cells, expected 2 as in the header"):
        StreamSet.read(folder / "long.csv", labelled=False)


def test_a_last_stream_may_be_called_like_a_comment(files):
    path = files(log="stream,time,x\na,0,1\n#b,0,2\n# of room 3\n") / "log.csv"
    assert StreamSet.read(path, period=1.0, labelled=False).names == ("a", "#b")


def test_a_table_may_have_tabs(files):
    folder = files(log=WIDE.replace(",", "\t"))
    (folder / "log.csv").rename(folder / "log.tsv")
    assert StreamSet.read(folder).names == ("a", "b")
    (folder / "series.tsv").write_text("label\tt0\tt1\tt2\n1\t0.5\t0.25\t0\n", encoding="utf-8")
    with pytest.raises(LayoutError, match=r"series.tsv has no column 'time', but a stream on each line"):
        StreamSet.read(folder / "series.tsv")


def test_a_column_has_one_unit(files, monkeypatch):
    rows = "".join(f"{row},{row} °C\n" for row in range(40))
    path = files(log=f"time,x\n{rows}40,99 °F\n") / "log.csv"
    monkeypatch.setattr(tables, "BLOCK", 64)
    for values in ({"°C": "unit", "°F": "unit"}, {"°C": "unit"}):
        with pytest.raises(DataError, match=r"x of .* is in °C and in °F, expected one unit"):
            StreamSet.read(path, values=values, labelled=False)
    with pytest.raises(DataError, match=r"x of .* is '0 °C' in row 1, expected a number$"):  # numbers no readings
        StreamSet.read(path, labelled=False)


def test_a_file_in_another_encoding_is_refused_with_advice(tmp_path):
    (tmp_path / "log.csv").write_bytes("time,°C\n0,1\n".encode("latin-1"))
    with pytest.raises(DataError, match="it is not in UTF-8; save it so"):
        StreamSet.read(tmp_path / "log.csv", labelled=False)


def test_folders_are_proposed_as_labels(files):
    folder = files(walk__one=run(0, 1.01, 2), run__two=run(0, 1, 2.02))
    with pytest.raises(LayoutError, match="has no column 'label', only time, x; try labels='folder'"):
        StreamSet.read(folder)
    with pytest.raises(LayoutError, match=r"has no column 'label', only time, x: name .* the folders by labels$"):
        StreamSet.read(folder / "walk")


def test_packed_files_of_several_streams_are_read(tmp_path):
    (tmp_path / "one.csv.gz").write_bytes(gzip.compress(WIDE.encode()))
    assert StreamSet.read(tmp_path).names == ("a", "b")


def test_a_block_ends_with_a_row(files, monkeypatch):
    path = files(log='time,x,note\n0,1,"one\n""two"""\n\n1,2,\n2,3,"\n\n"\n') / "log.csv"
    for n_bytes in range(1, 40):
        monkeypatch.setattr(tables, "BLOCK", n_bytes)
        assert_array_equal(StreamSet.read(path, labelled=False, columns=["x"]).values.ravel(), [1, 2, 3])


def test_what_fits_is_proposed_though_labels_are_missing(files):
    path = files(log="when,x\n0,1\n1,2\n") / "log.csv"
    with pytest.raises(LayoutError, match="has no column 'time', only when, x; try time='when'"):
        StreamSet.read(path)
    with pytest.raises(LayoutError, match=r"has no column 'label', only when, x: name the column by label,"):
        StreamSet.read(path, time="when")
