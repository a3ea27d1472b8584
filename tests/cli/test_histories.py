"""What other systems have kept: Home Assistant, InfluxDB, Zigbee2MQTT and mosquitto_sub."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.procedures import channels_procedure

from streamfs.cli.app import cli
from streamfs.cli.histories.find import history
from streamfs.cli.histories.home_assistant import recorded_statistics
from streamfs.cli.histories.past_reading import PastReading
from streamfs.errors import DataError

AT = 1_795_365_000.0  # 2026-11-22T16:30:00Z

NEW = """
CREATE TABLE states_meta(metadata_id INTEGER PRIMARY KEY, entity_id TEXT);
CREATE TABLE state_attributes(attributes_id INTEGER PRIMARY KEY, shared_attrs TEXT);
CREATE TABLE states(state_id INTEGER PRIMARY KEY, entity_id TEXT, state TEXT, attributes TEXT,
    last_updated_ts FLOAT, last_changed_ts FLOAT, metadata_id INTEGER, attributes_id INTEGER);
INSERT INTO states_meta VALUES (1, 'sensor.kitchen_temp'), (2, 'binary_sensor.hall_door'), (3, 'light.hall');
INSERT INTO state_attributes VALUES (1, '{"device_class": "temperature"}'), (2, 'none');
"""
OLD = """
CREATE TABLE states(state_id INTEGER PRIMARY KEY, entity_id TEXT, state TEXT, attributes TEXT, last_changed TEXT,
    last_updated TEXT);
INSERT INTO states(entity_id, state, attributes, last_updated)
    VALUES ('sensor.kitchen_temperature', '21.5', '{"device_class": "temperature"}', '2026-11-22 16:30:00.500000');
"""
STATISTICS = """
CREATE TABLE statistics_meta(id INTEGER PRIMARY KEY, statistic_id TEXT);
CREATE TABLE statistics(id INTEGER PRIMARY KEY, metadata_id INTEGER, start_ts FLOAT, mean FLOAT);
CREATE TABLE statistics_short_term(id INTEGER PRIMARY KEY, metadata_id INTEGER, start_ts FLOAT, mean FLOAT);
INSERT INTO statistics_meta VALUES (1, 'sensor.kitchen_temperature');
"""


@pytest.fixture
def recorder(tmp_path):
    """Return a writer of a recorder's database."""

    def write(script, rows=(), name="home-assistant_v2.db"):
        with closing(sqlite3.connect(tmp_path / name)) as database, database:
            database.executescript(script)
            for table, *values in rows:
                names = (
                    "state, last_updated_ts, metadata_id, attributes_id"
                    if table == "states"
                    else "metadata_id, start_ts, mean"
                )
                marks = ",".join("?" * len(values))
                database.execute(f"INSERT INTO {table}({names}) VALUES ({marks})", values)  # noqa: S608 - our own
        return tmp_path / name

    return write


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a text as the history in a file of some name."""

    def found(name, text, **options):
        (tmp_path / name).write_text(text, encoding="utf-8")
        readings = history(tmp_path / name, **options)
        return None if readings is None else list(readings)

    return found


def test_states_of_a_recorder_are_read(recorder):
    rows = [
        ("states", "21.5", AT, 1, 1),
        ("states", "unavailable", AT + 5, 1, 1),
        ("states", "on", AT + 6, 2, 2),
        ("states", "on", AT + 7, 3, None),
        ("states", None, AT + 8, 1, 1),
    ]
    assert list(history(recorder(NEW, rows))) == [
        PastReading("kitchen_temp", AT, "temperature", 21.5),
        PastReading("hall", AT + 6, "door", 1.0),
    ]


def test_states_of_an_old_recorder_are_read(recorder):
    assert list(history(recorder(OLD))) == [PastReading("kitchen", AT + 0.5, "temperature", 21.5)]


def test_means_are_known_at_the_end_of_their_time(recorder):
    path = recorder(STATISTICS, [("statistics", 1, AT, 20.5), ("statistics_short_term", 1, AT, 21.0)])
    assert list(history(path, statistics=True)) == [
        PastReading("kitchen", AT + 300, "temperature", 21.0),
        PastReading("kitchen", AT + 3600, "temperature", 20.5),
    ]


def test_another_database_is_refused(recorder):
    path = recorder("CREATE TABLE songs(name TEXT);", name="music.db")
    with pytest.raises(
        DataError, match="has no table 'states': it is not a database of Home Assistant's recorder"
    ):
        list(history(path))
    with pytest.raises(DataError, match="has no table 'statistics_short_term'"):
        list(recorded_statistics(path))


def test_a_file_of_the_history_page_is_read(read):
    states = ["sensor.kitchen_co2,640,2026-11-22T16:30:00.000Z", "sensor.kitchen_co2,unknown,-"]
    text = "\n".join(["entity_id,state,last_changed", *states])
    assert read("history.csv", text) == [PastReading("kitchen", AT, "co2", 640.0)]
    with pytest.raises(DataError, match=r"row 1 of .* has 1 cells, expected entity_id, state, last_changed"):
        read("history.csv", "entity_id,state,last_changed\nsensor.kitchen_co2\n")


def test_line_protocol_is_read_with_its_escapes(read):
    text = (
        "# of Home Assistant\n"
        f'°C,domain=sensor,entity_id=kitchen_temperature value=21.5,note_str="a, b = 1" {AT:.0f}000000000\n'
        f'air\\ inside,room=x\\,y,node=a\\ b humidity=40i,fan=true,mode="auto" {AT:.0f}\n'
    )
    assert read("export.lp", text) == [
        PastReading("kitchen", AT, "temperature", 21.5),
        PastReading("a b", AT, "humidity", 40.0),
        PastReading("a b", AT, "fan", 1.0),
    ]
    with pytest.raises(DataError, match=r"line 2 of .* is 'oh no', expected line protocol with a time"):
        read("export.lp", "m,node=a v=1 1\noh no\n")


def test_csv_with_annotations_is_read_table_by_table(read):
    text = (
        "#group,false,false,true,false,true,true,true\n"
        "#datatype,string,long,dateTime:RFC3339,double,string,string,string\n"
        "#default,_result,,,,,,\n,result,table,_time,_value,_field,_measurement,device\n"
        ",,0,2026-11-22T16:30:00.5Z,21.5,temperature,climate,kitchen\n\n#group,false\n"
        ",result,table,_time,_value,_field,_measurement\n,,1,2026-11-22T16:30:00Z,3,value,wind\n"
    )
    assert read("export.csv", text) == [
        PastReading("kitchen", AT + 0.5, "temperature", 21.5),
        PastReading("wind", AT, "wind", 3.0),
    ]
    assert read("plain.csv", text[text.index(",result") : text.index("\n\n") + 1]) == read("export.csv", text)[:1]
    with pytest.raises(DataError, match=r"has no column '_value', only"):
        read("export.csv", "#group,false\n,result,table,_time\n")


def test_a_log_of_zigbee2mqtt_is_read_without_what_it_says_again(read):
    said = "MQTT publish: topic 'zigbee2mqtt"
    window = '{"temperature":21.5,"contact":true,"linkquality":9}'
    text = (
        f"[2026-11-22 17:30:00] info: \tz2m:mqtt: {said}/kitchen/window', payload '{window}'\n"
        f"[2026-11-22 17:30:01] info: \tz2m:mqtt: {said}/kitchen/window', payload '{window}'\n"
        f'info  2026-11-22 17:30:02: {said}/bridge/state\', payload \'{{"state":"online"}}\'\n'
        "Zigbee2MQTT:info  2026-11-22 17:30:03: MQTT publish: topic 'zigbee2mqtt/0x01', payload "
        f'\'{{"battery":99,"last_seen":{AT:.0f}000}}\'\n'
        "debug 2026-11-22 17:30:04: something else\n"
        "info  2026-11-22 17:30:05: MQTT publish: topic 'zigbee2mqtt/0x01', payload "
        f'\'{{"battery":99,"update":{{}},"occupancy":false,"last_seen":{AT:.0f}000}}\'\n'
    )
    assert read("log.log", text, time_zone="Europe/Berlin") == [
        PastReading("kitchen/window", AT, "temperature", 21.5),
        PastReading("kitchen/window", AT, "contact", 1.0),
        PastReading("0x01", AT, "battery", 99.0),
        PastReading("0x01", AT, "occupancy", 0.0),
    ]


def test_in_the_hour_that_clocks_show_twice_the_order_of_a_log_counts(read):
    shown = ("01:50", "02:10", "02:50", "02:49", "02:05", "02:55", "03:05")  # two lines are a minute late
    text = "".join(
        f"info  2026-10-25 {at}:00: MQTT publish: topic 'z/a', payload '{{\"x\":{number}}}'\n"
        for number, at in enumerate(shown)
    )
    found = [reading.time for reading in read("log.log", text, time_zone="Europe/Berlin")]
    assert [(time - found[0]) / 60 for time in found] == [0, 20, 60, 59, 75, 125, 135]


def test_a_table_is_no_history(read, tmp_path):
    assert read("log.csv", "time,x\n0,1\n") is None
    assert read("notes.txt", "see you\n") is None
    assert history(tmp_path) is None


def test_savings_are_of_a_recorder_and_decisions_have_dates(recorder, tmp_path):
    rng = np.random.default_rng(0)
    times = AT + 60.0 * np.arange(600) + rng.uniform(-5, 5, 600)
    door = ("states", "on", AT, 2, 2)  # of a device that the model does not read
    path = recorder(NEW, [door, *(("states", "25.0", time, 1, 1) for time in times)])
    model = channels_procedure("temperature@delta:0.5", threshold=20.0, time_limit=20, period=60.0)
    model.save(tmp_path / "m.streamfs")
    words = ["savings", "m.streamfs", path.name, "--devices", "tasmota", "--reopen-after", "14400"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        result = CliRunner().invoke(cli, [*words, "--decisions", "d.csv", "--battery-months", "1"])
    assert result.exit_code == 0, result.output
    assert "kitchen_temp" in result.output
    assert "hall" not in result.output
    header, first, second, *others = (tmp_path / "d.csv").read_text(encoding="utf-8").splitlines()
    assert header == "stream,time,label,reason"
    assert first.startswith("kitchen_temp,2026-11-22T16:")
    assert second.startswith("kitchen_temp,2026-11-22T20:")
    assert len(others) == 1


def test_a_history_and_a_table_are_not_read_together(recorder, tmp_path):
    (tmp_path / "log.csv").write_text("time,x\n0,1\n", encoding="utf-8")
    result = CliRunner().invoke(cli, ["inspect", str(recorder(NEW)), str(tmp_path / "log.csv")])
    assert "log.csv is a table of readings, and others of these files are histories" in str(result.exception)


HALL = '{"temperature":21.5,"contact":true,"nested":{"power":12}}'
HEARD = [
    PastReading("zigbee2mqtt/hall", AT, "temperature", 21.5),
    PastReading("zigbee2mqtt/hall", AT, "contact", 1.0),
    PastReading("zigbee2mqtt/hall", AT, "nested.power", 12.0),
    PastReading("home/attic", AT + 1, "temperature", 20.25),
]


def printed(time, topic, payload, retain=0):
    """Return a line of the format for JSON, as mosquitto_sub prints it."""
    said = {"tst": time, "topic": topic, "qos": 0, "retain": retain, "payloadlen": 9, "payload": payload}
    return json.dumps(said, separators=(",", ":"))


@pytest.mark.parametrize(
    ("lines", "further"),
    [
        (
            [
                f"2026-11-22T17:30:00+0100 zigbee2mqtt/hall {HALL}",
                "2026-11-22T17:30:01+0100 home/attic/temperature 20.25",
                "2026-11-22T17:30:02+0100 home/door open",
                "2026-11-22T17:30:03+0100 a b/multi {",
                ' "x": 1',
                "}",
                "2026-11-22T17:30:04+0100 $SYS/broker/uptime 7 seconds",
                "2026-11-22T17:30:05+0100 alone 7",
            ],
            [PastReading("home", AT + 2, "door", 1.0), PastReading("alone", AT + 5, "value", 7.0)],
        ),
        (
            [
                f"1795365000.000000000 zigbee2mqtt/hall {HALL}",
                "1795365001.000000000 home/attic/temperature 20.25",
                "1795365001.500000000 home/attic/state unavailable",
            ],
            [],
        ),
        (
            [
                printed("2026-11-22T16:29:00.525465Z+0000", "home/kept", "5", retain=1),
                printed("2026-11-22T16:30:00.000000Z+0000", "zigbee2mqtt/hall", HALL),
                printed("2026-11-22T17:30:01.000000Z+0100", "home/attic/temperature", "20.25"),
                printed("2026-11-22T17:30:02.000000+0100", "home/a b/door", "open"),
                printed("2026-11-22T17:30:03.000000+0100", "home/odd", "{7"),
            ],
            [PastReading("home/a b", AT + 2, "door", 1.0)],
        ),
        (
            [
                printed("2026-11-22T17:30:00.000000Z+0100", "zigbee2mqtt/hall", json.loads(HALL)),
                "",
                printed("2026-11-22T17:30:01.000000Z+0100", "home/attic/temperature", 20.25),
            ],
            [],
        ),
    ],
)
def test_what_mosquitto_sub_prints_is_read_in_each_format_with_a_time(read, lines, further):
    assert read("home.log", "\n".join([*lines, ""])) == [*HEARD, *further]


def test_messages_without_a_time_are_left_out(read):
    good = printed("2026-11-22T17:30:01.000000Z+0100", "home/attic/temperature", "20.25")
    odd = [printed(time, "home/attic/temperature", "9") for time in ("noon", None, "2026-13-22T17:30:01Z+0100")]
    plain = "2026-11-32T17:30:01+0100 home/attic/temperature 9"
    assert [each.value for each in read("home.log", "\n".join([*odd, plain, good, ""]))] == [20.25]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kept.txt", "light,room=säle x=1 1795365000"),
        ("kept.csv", "#group\n_time,säle\n"),
        ("kept.csv", "entity_id,state,last_changed\nsäle,1,x\n"),
    ],
)
def test_a_history_in_another_encoding_is_refused(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="latin-1")
    with pytest.raises(DataError, match=rf"{name} is not UTF-8 from b'\\xe4le"):
        list(history(tmp_path / name))


LINE = "2026-11-22 16:30:00: MQTT publish: topic 'z/k', payload '{\"temperature\":21,\"last_seen\":%s}'"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("kept.log", LINE % '"yesterday"', "kept.log has the time 'yesterday', expected a date and a time of day"),
        ("kept.log", LINE % "[1]", r"kept.log has the time \[1\], expected a date and a time of day"),
        (
            "kept.csv",
            "entity_id,state,last_changed\nsensor.a_t,1,noon\n",
            "kept.csv has the time 'noon', expected",
        ),
        (
            "kept.csv",
            f"#group\n_time,_value,_field,_measurement\n{'x' * 140_000}\n",
            "line 3 of .*field larger than",
        ),
        ("kept.csv", "#group\n_time,_value,_field,_measurement\nnoon,1,x,y\n", "kept.csv has the time 'noon'"),
        ("kept.csv", "#group\n_time,_value,_field,_measurement\nnoon,1\n", "row 3 of .* has 2 cells, expected 4"),
    ],
)
def test_what_is_wrong_with_a_history_is_named(read, name, text, message):
    with pytest.raises(DataError, match=message):
        read(name, text)


def test_a_damaged_database_is_refused(recorder):
    path = recorder(OLD)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"?" * (len(content) - 4096))
    with pytest.raises(DataError, match=f"{path} cannot be read: database disk image is malformed"):
        list(history(path))
