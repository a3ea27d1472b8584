"""Times of recordings: forms, zones, and clocks that are changed."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from recorded_files import run

from streamfs import StreamSet
from streamfs.errors import DataError, LayoutError

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


def test_parts_of_a_date_are_a_time(files):
    header, names = "year,month,day,hour,minute,second,x\n", ("year", "month", "day", "hour", "minute", "second")
    path = files(log=f"{header}2026,1,9,9,59,30,1\n2026,1,9,10,0,0,2\n") / "log.csv"
    streams = StreamSet.read(path, labelled=False, time=names)
    assert (streams.period, streams.values.ravel().tolist()) == (30.0, [1.0, 2.0])
    frame = pl.read_csv(path).drop("hour", "minute", "second")
    with pytest.raises(DataError, match="expected a date like those before it"):
        StreamSet.from_frame(frame.with_columns(month=pl.Series([1, 13])), labelled=False, time=names[:3])


def test_two_columns_name_one_time_in_its_zone(tmp_path):
    days = pl.Series("day", [NOON.date()] * 2)
    hours = pl.Series("hour", [NOON.time(), (NOON + timedelta(seconds=30)).time()])
    pl.DataFrame([days, hours, pl.Series("x", [1, 2])]).write_parquet(tmp_path / "log.parquet")
    (tmp_path / "cuts.csv").write_text(f"start,end,label\n{MOMENTS[0].isoformat()},{MOMENTS[1].isoformat()},on\n")
    streams = StreamSet.read(
        tmp_path / "log.parquet", time=("day", "hour"), labels=tmp_path / "cuts.csv", time_zone="UTC"
    )
    assert_array_equal(streams.values.ravel(), [1])


@pytest.mark.parametrize(
    "spelt",
    [
        "%Y-%m-%d %H:%M:%S UTC",
        "%Y-%m-%d %H:%M:%S +0000",
        "%Y-%m-%d %H:%M:%S+00",
        "%Y-%m-%dT%H:%M:%S.000+0000 [Europe/London]",
        "%Y-%m-%dT%H:%M:%SZ[Etc/UTC]",
    ],
)
def test_offsets_are_read_in_any_spelling(files, spelt):
    folder = files(
        log=run(*(t.strftime(spelt) for t in MOMENTS)), cuts=f"start,end,label\n{MOMENTS[0]},{MOMENTS[1]},on\n"
    )
    assert_array_equal(StreamSet.read(folder / "log.csv", labels=folder / "cuts.csv").values.ravel(), [0])


def test_a_time_that_is_far_off_is_said_to_be_of_its_stream(files):
    rows = [f"{name},{minute * 60},{minute}" for name in "abc" for minute in range(5)]
    files(log="\n".join(["stream,time,x", *rows[:-1], "c,1e6,4", ""]))
    with pytest.raises(DataError, match=r"stream c of .* spans 16,668 ticks of 60 s, and most others about 5"):
        StreamSet.read(files(), labelled=False)


def test_a_run_of_a_label_may_be_far_longer_than_others(files):
    states = [minute // 2 % 2 for minute in range(40)] + [1, 1]
    times = [minute * 60 + minute * 17 % 29 for minute in range(40)] + [400_000, 400_059]
    rows = "".join(f"{t},{state},{t % 7}\n" for t, state in zip(times, states, strict=True))
    path = files(log=f"when,busy,x\n{rows}") / "log.csv"
    layout = {"label": "busy", "labels": "runs"}
    with pytest.raises(LayoutError, match=r"try time='when', period=60\.0, resample='last'") as raised:
        StreamSet.read(path, **layout)
    assert len(StreamSet.read(path, **layout, **raised.value.proposal)) == 20
