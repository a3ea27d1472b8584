"""What is proposed for recordings is accepted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded_files import run

from streamfs import StreamSet
from streamfs.errors import LayoutError


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
        (
            "device,time,sensor,value\na,0,t,1\na,0,door,open\na,1,t,off\na,1,door,closed\n",
            {
                "long": ("device", "time", "sensor", "value"),
                "values": {"off": "missing", "closed": 0, "open": 1},
            },
        ),
        ("user,time,x\n1,0,1\n2,0,2\n1,1,3\n", {"stream": "user"}),
        ("time,x,note\n0,1,well\n1,2,ill\n", {"stream": "note"}),
        ("time,x,place,note\n0,1,hall,well\n1,2,hall,ill\n", {"columns": ("x",)}),
        ("time,x\n0,1\n0.1,1\n5,2\n5.17,3\n", {"period": 0.13, "resample": "last", "max_age": 0.26}),
        ("t,v\n0,1\n", {"time": "t"}),
        (
            "time,device,sensor,value,label\n0,a,t,1,on\n1,a,t,2,on\n0,b,t,3,off\n1,b,t,4,off\n",
            {"long": ("device", "time", "sensor", "value")},
        ),
        ('time,x\n"Sun, 29 Nov 2026 08:00:00 GMT",1\n', {"time_format": "%a, %d %b %Y %H:%M:%S GMT"}),
        ("millis,x\n0,1\n500,2\n1000,3\n", {"time": "millis", "time_format": "ms"}),
        (
            "Recorded,uptime,x\n" + "".join(f"2026-11-29 10:00:{i},{5 + i},1\n" for i in range(10, 20)),
            {"time": "Recorded"},
        ),
        (
            "sample,started,x\n" + "".join(f"{i},10:00:00,1\n" for i in range(12)),
            {"time": "sample", "columns": ("x",)},
        ),
        ("time\tx\n0\t1 020,5\n1\t2\n", {"decimal": ","}),
        ("time,x\n0,\u22121.5 °C\n1,2 °C\n", {"values": {"°C": "unit"}}),
        ("time,x\n0,1 020.5 W\n1,2 W\n", {"values": {"W": "unit"}}),
        ("_start,_stop,_time,x\n0,9,1,4\n0,9,2,5\n", {"time": "_time"}),
        ("clock,n\n" + "".join(f"12:00:{i},{i}\n" for i in range(10, 22)), {}),
        (",v\n2026-01-01 00:00:00,1\n2026-01-01 00:00:10,2\n", {"time": "column 1"}),
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
        ("time;x\n0;1,5\n1;ill\n", {"values": {"ill": "missing"}}),
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


def test_folders_are_proposed_as_labels(files):
    folder = files(walk__one=run(0, 1.01, 2), run__two=run(0, 1, 2.02))
    with pytest.raises(LayoutError, match="has no column 'label', only time, x; try labels='folder'"):
        StreamSet.read(folder)
    with pytest.raises(LayoutError, match=r"has no column 'label', only time, x: name .* the folders by labels$"):
        StreamSet.read(folder / "walk")


def test_what_fits_is_proposed_though_labels_are_missing(files):
    path = files(log="when,x\n0,1\n1,2\n") / "log.csv"
    with pytest.raises(LayoutError, match="has no column 'time', only when, x; try time='when'"):
        StreamSet.read(path)
    with pytest.raises(LayoutError, match=r"has no column 'label', only when, x: name the column by label,"):
        StreamSet.read(path, time="when")


def labelled(runs, period=1):
    """Return a recording of runs of one label, of given lengths in ticks."""
    labels = [label for label, length in runs for _ in range(length)]
    return "time,activity,x\n" + "".join(f"{period * tick},{each},1\n" for tick, each in enumerate(labels))


RNG = np.random.default_rng(0)
FLICKERING = [
    (other if RNG.random() < 0.03 else label, 1)
    for label, other in (("on", "off"), ("off", "on")) * 10
    for _ in range(240)
]


@pytest.mark.parametrize(
    ("runs", "proposed"),
    [
        (FLICKERING, {"window": 30.0}),
        ([("walk", 1200), ("sit", 1100)] * 3, {"window": 60.0}),
        ([("walk", 40), ("sit", 30), ("rest", 25)] * 20, {"labels": "runs"}),
        ([("walk", 40), ("sit", 30)] * 5, {"labels": "runs"}),  # too few rows for windows
        ([("walk", 6), ("sit", 6)] * 100, {"labels": "runs"}),  # too short for windows
        ([("walk", 2000), ("fall", 30), ("sit", 2000)] * 2, {"window": 60.0}),  # of a rare label there are none
    ],
)
def test_windows_are_proposed_unless_runs_are_many_and_alike(files, runs, proposed):
    path = files(log=labelled(runs)) / "log.csv"
    with pytest.raises(LayoutError, match="has two labels") as refused:
        StreamSet.read(path, label="activity")
    assert refused.value.proposal == proposed
    assert len(StreamSet.read(path, label="activity", **refused.value.proposal))


def test_windows_are_proposed_where_a_sensor_is_the_label(files):
    states = [(tick, "motion", label) for tick, (label, _) in enumerate(FLICKERING)]
    rows = [*states, *((tick, "x", 1) for tick in range(len(states)))]
    path = files(log="time,sensor,value\n" + "".join(f"{t},{s},{v}\n" for t, s, v in rows)) / "log.csv"
    layout = {"long": ("", "time", "sensor", "value"), "label": "motion"}
    with pytest.raises(LayoutError, match=r"'motion' is a sensor of .*, whose value changes") as refused:
        StreamSet.read(path, **layout)
    assert refused.value.proposal == {"window": 30.0}
    assert StreamSet.read(path, **layout, window=30).n_ticks == 30


def test_words_that_come_back_later_are_labels_and_no_names_of_streams(files):
    states = ["worn"] * 1200 + ["off"] * 600 + ["worn"] * 900 + ["off"] * 900
    path = (
        files(log="\n".join(["time,x,state", *(f"{n},{n % 7},{s}" for n, s in enumerate(states)), ""])) / "log.csv"
    )
    with pytest.raises(LayoutError) as refused:
        StreamSet.read(path)
    assert refused.value.proposal["label"] == "state"
    assert "stream" not in refused.value.proposal


def test_a_count_is_no_label_by_its_name(files):
    rng = np.random.default_rng(0)
    rows = [f"{n},{rng.integers(0, 90)},{'ab'[n // 60 % 2]}" for n in range(900)]
    path = files(log="\n".join(["when,activity,state", *rows, ""])) / "log.csv"
    with pytest.raises(LayoutError) as refused:
        StreamSet.read(path)
    assert refused.value.proposal["label"] == "state"


def test_a_column_that_names_persons_is_proposed_for_groups(files):
    rows = [f"{n // 600},{n % 600},{n % 5},p{n // 1200},{'ab'[n // 600 % 2]}" for n in range(6000)]
    path = files(log="\n".join(["stream,time,x,subject,label", *rows, ""])) / "log.csv"
    with pytest.raises(LayoutError, match="subject of") as refused:
        StreamSet.read(path)
    assert refused.value.proposal == {"groups": "subject"}
    assert len(np.unique(StreamSet.read(path, groups="subject").groups)) == 5


@pytest.mark.parametrize("time", ["time", "when"])
def test_a_column_that_names_persons_is_proposed_for_groups_of_files(files, time):
    rows = {
        f"{label}{n}": f"{time},x,subject,label\n" + "".join(f"{i},{n % 3},p{n // 2},{label}\n" for i in range(9))
        for n in range(6)
        for label in "ab"
    }
    folder = files(**rows)
    with pytest.raises(LayoutError) as refused:
        StreamSet.read(folder)
    assert refused.value.proposal == {"groups": "subject"} | ({"time": "when"} if time == "when" else {})
    streams = StreamSet.read(folder, **refused.value.proposal)
    assert (len(streams), len(np.unique(streams.groups)), streams.columns) == (12, 3, ("x",))


@pytest.mark.parametrize("layout", [{"stream": "subject"}, {"long": (None, "time", "subject", "x")}])
def test_a_column_that_is_known_to_be_another_is_not_proposed_for_groups_of_files(files, layout):
    rows = {f"log{n}": f"time,x,subject,label\n0,1,p{n // 2},b\n1,low,p{n // 2},b\n" for n in range(6)}
    with pytest.raises(LayoutError) as refused:
        StreamSet.read(files(**rows), **layout)
    assert refused.value.proposal["values"] == {"low": "missing"}
    assert "groups" not in refused.value.proposal


def test_a_column_of_one_value_in_all_files_or_several_in_one_is_not_proposed_for_groups(files):
    one, several = (f"time,x,subject,label\n0,1,p1,b\n1,2,{last},b\n" for last in ("p1", "p2"))
    for texts in ({"a": one, "b": one, "c": one}, {"a": one, "b": several, "c": several}):
        with pytest.raises(LayoutError) as refused:
            StreamSet.read(files(**texts))
        assert "groups" not in refused.value.proposal


def test_the_label_is_proposed_where_runs_are_asked_for(files):
    rows = "".join(f"{n},{n},{'on' if n // 5 % 2 else 'idle'}\n" for n in range(40))
    path = files(log=f"when,x,doing\n{rows}") / "log.csv"
    with pytest.raises(LayoutError, match="has no column 'label'") as refused:
        StreamSet.read(path, labels="runs")
    assert refused.value.proposal == {"time": "when", "label": "doing"}
    assert len(StreamSet.read(path, labels="runs", **refused.value.proposal)) == 8
