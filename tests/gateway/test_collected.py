"""Readings in a gateway's log are what its nodes sent, and become streams."""

from collections import Counter
from contextlib import closing
from dataclasses import replace

import numpy as np
import orjson
import polars as pl
import pytest

from streamfs import StreamSet
from streamfs.cli.app import main
from streamfs.errors import LogError
from streamfs.gateway.collected import Collected, LabelledSpan, collect, collect_labels
from streamfs.gateway.core.bindings import STANDARD, Bindings, Route
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.records import CLOCK, MESSAGE, START, Record
from streamfs.gateway.core.replay_configuration import described
from streamfs.gateway.storage.log import Log
from streamfs.gateway.storage.state import State

LONG = ("stream", "time", "sensor", "value")


def message(topic, payload, arrival=100.0):
    return Record(MESSAGE, arrival, topic, payload if isinstance(payload, bytes) else orjson.dumps(payload), "")


def logged(folder, *records):
    with closing(Log(folder)) as log:
        for record in records:
            log.append([record])
    return folder


def found(folder, *routes):
    left_out = Counter()
    return [*collect(folder, routes or (STANDARD,), "streamfs", left_out)], left_out


def test_readings_have_node_time_quantity_and_value(tmp_path):
    logged(
        tmp_path,
        message("sensors/n1/light", b"3.5"),
        message("sensors/n1/light@delta:4", {"t": 7.0, "v": 9.0}),
        Record(CLOCK, 101.0, "", b"", ""),
        message("sensors/n2/light@flag:5", {"t": 8.0, "v": 1}),
        message("streamfs/label/n1", b"on"),
        message("elsewhere/n1", b"1"),
        message("sensors/n1/light", b"nonsense"),
    )
    readings, left_out = found(tmp_path)
    assert readings == [
        Collected("n1", 100.0, "light", 3.5),
        Collected("n1", 7.0, "light", 9.0),
        Collected("n2", 8.0, "light@flag:5", 1.0),
    ]
    assert left_out == {"unbound": 1, "unreadable": 1}


def test_messages_with_several_values_are_read(tmp_path):
    route = Route.of("zigbee2mqtt/{node}", "json", fields={"temperature": "warmth", "humidity": "damp"})
    logged(tmp_path, message("zigbee2mqtt/hall", {"temperature": 21.5, "humidity": 40}))
    assert found(tmp_path, route)[0] == [
        Collected("hall", 100.0, "warmth", 21.5),
        Collected("hall", 100.0, "damp", 40.0),
    ]


def test_labels_say_what_has_been_since_the_label_before(tmp_path):
    logged(
        tmp_path,
        message("streamfs/label/n1", b"on", 1000.0),
        message("streamfs/label/n2", {"label": "off", "time": 900.0, "episode": 1}, 1001.0),
        message("streamfs/label/n1", {"label": "off"}, 1300.0),
        message("streamfs/label/n2", {"label": "on", "time": 950.0, "episode": 1}, 1302.0),  # better known
        message("streamfs/label/n1", {"is": "nonsense"}, 1400.0),
        message("streamfs/label/n1", b"", 1500.0),
        message("sensors/n1/light", b"1", 1600.0),
    )
    left_out = Counter()
    assert collect_labels(tmp_path, "streamfs", left_out, 400.0) == [
        LabelledSpan("n1", 600.0, 1000.0, "on"),
        LabelledSpan("n1", 1000.0, 1300.0, "off"),
        LabelledSpan("n2", 550.0, 950.0, "on"),
    ]
    assert left_out == {"labels that cannot be read": 1}
    assert [each.start for each in collect_labels(tmp_path, "streamfs", left_out)] == [0.0, 1000.0, 0.0]


def test_readings_and_labels_in_a_spool_are_streams_to_train_on(tmp_path, monkeypatch, capfd):
    rows = [
        message(f"sensors/n{k}/light", f"{k + t}".encode(), 100.0 + 10 * t) for t in range(10) for k in range(2)
    ]
    labels = [
        message(f"streamfs/label/n{k}", {"label": label, "time": time})
        for k in range(2)
        for label, time in (("dim", 145.0), ("bright", 195.0))
    ]
    logged(tmp_path / "spool", *rows, *labels)
    monkeypatch.chdir(tmp_path)
    main(["collect", "spool", "-o", "r.csv", "--labels", "l.csv"])
    following = capfd.readouterr().err.splitlines()[-1]
    assert following.endswith("next: streamfs inspect r.csv --long stream,time,sensor,value --labels l.csv")
    main(["inspect", *following.split("inspect ")[1].split(), "--json"])
    assert orjson.loads(capfd.readouterr().out)["classes"] == {"bright": 2, "dim": 2}


def test_a_folder_without_a_log_is_refused(tmp_path):
    with pytest.raises(LogError, match="has no segment of a log"):
        found(tmp_path)


def test_a_state_becomes_streams(tmp_path, capfd):
    records = [
        message(f"sensors/{node}/light", {"t": 10.0 * tick, "v": start + tick, "seq": tick})
        for tick in range(4)
        for node, start in (("n1", 0), ("n2", 100))
    ]
    logged(tmp_path / "state" / "log", *records, records[-1])  # delivered twice
    out = tmp_path / "readings.parquet"
    main(["collect", str(tmp_path / "state"), "-o", str(out)])
    told = capfd.readouterr().err.splitlines()[-1]
    assert told.endswith(f"8 readings; next: streamfs inspect {out} --long stream,time,sensor,value --labels FILE")
    assert pl.read_parquet(out).columns == [*LONG]
    streams = StreamSet.read(out, long=LONG, labelled=False)
    assert (streams.names, streams.columns, streams.period) == (("n1", "n2"), ("light",), 10.0)
    np.testing.assert_array_equal(streams.values[:, :, 0], [[0, 1, 2, 3], [100, 101, 102, 103]])
    (tmp_path / "pairs.csv").write_text("stream,a,b\ndesk,n1,n2\n", encoding="utf-8")
    main(["collect", str(tmp_path / "state"), "-o", str(out), "--pairs", str(tmp_path / "pairs.csv")])
    of_pair = StreamSet.read(out, long=LONG, labelled=False)
    assert (of_pair.names, of_pair.columns) == (("desk",), ("a.light", "b.light"))
    np.testing.assert_array_equal(of_pair.values[0].T, streams.values[:, :, 0])
    (tmp_path / "pairs.csv").write_text("stream,a,b\ndesk,n8,n9\n", encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["collect", str(tmp_path / "state"), "-o", f"{out}.csv", "--pairs", str(tmp_path / "pairs.csv")])
    assert "no readings of the nodes of pairs, such as 'n8'" in capfd.readouterr().err
    assert not (tmp_path / "readings.parquet.csv").exists()


def test_a_state_says_itself_how_its_messages_are_read(tmp_path, capfd):
    fields = {"temperature": "warmth"}
    routes = tuple(Route.of(f"{base}/{{node}}", "json", fields=fields) for base in ("zigbee2mqtt", "attic"))
    bindings = Bindings(("warmth",), {}, discovers=True, routes=routes[:1], aliases={"hall": "cellar"})
    starts = [
        Record(START, 99.0, "digest", described(each, Options(prefix="own")), "")
        for each in (bindings, replace(bindings, routes=routes[1:]))
    ]
    said = [
        message(f"{base}/hall", {"temperature": 21.5}, 100.0 + k)
        for k, base in enumerate(("zigbee2mqtt", "attic"))
    ]
    folder = tmp_path / "state"
    with State(folder) as state:
        state.begin()
        for record in (starts[0], *said, message("own/status/gateway", {"temperature": 1}), starts[1], said[1]):
            state.log.append([record])
        state.log.append([message("own/label/hall", b"warm", 102.0)])
    main(["collect", str(folder), "-o", str(tmp_path / "r.csv"), "--labels", str(tmp_path / "l.csv")])
    assert (tmp_path / "l.csv").read_text(encoding="utf-8").splitlines()[1:] == ["hall,0.0,102.0,warm"]
    left_out = Counter()
    readings = [*collect(folder, None, "streamfs", left_out)]
    assert readings == [Collected("cellar", 100.0, "warmth", 21.5), Collected("cellar", 101.0, "warmth", 21.5)]
    assert left_out == {"unbound": 1}
    streams = StreamSet.read(folder, labelled=False)
    assert (streams.names, streams.columns) == (("cellar",), ("warmth",))
    assert streams.values.tolist() == [[[21.5], [21.5]]]
    main(["inspect", str(folder / "journal.sqlite"), "--json"])  # stands for its state
    assert orjson.loads(capfd.readouterr().out)["streams"] == 1


def test_settings_name_the_topics(tmp_path, capfd):
    (tmp_path / "gateway.toml").write_text(
        'model = "m.streamfs"\n[broker]\nurl = "mqtt://localhost"\n'
        '[[source]]\ntopic = "house/{node}"\nformat = "json"\nchannel = "power"\n',
        encoding="utf-8",
    )
    logged(tmp_path / "spool", message("house/n1", b"5"), message("barn/n1", b"6"))
    out = tmp_path / "readings.csv"
    main(["collect", str(tmp_path / "spool"), "--config", str(tmp_path / "gateway.toml"), "-o", str(out)])
    assert out.read_text(encoding="utf-8") == "stream,time,sensor,value\nn1,100.0,power,5.0\n"
    assert "note: 1 messages are unbound" in capfd.readouterr().err
