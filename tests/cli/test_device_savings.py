"""What devices would have saved, compared with what simulated ones save."""

import numpy as np
import orjson
import pytest
from click.testing import CliRunner
from helpers.procedures import channels_procedure

from streamfs import StreamSet
from streamfs.cli.app import cli
from streamfs.cli.device_savings import savings
from streamfs.gateway.settings.profiles import load_profile

PERIOD = 60.0
MODEL = channels_procedure("temperature@delta:0.5", threshold=20.0, time_limit=20, period=PERIOD)
DAY = 1440  # ticks


def history(*columns, names=None):
    values = np.array(columns)[:, :, np.newaxis]
    return StreamSet(values, [""] * len(columns), ["temperature"], PERIOD, names)


def saved(streams, profile, model=MODEL):
    rows, _ = savings(model, streams, load_profile(profile))
    return rows


def test_a_device_that_is_decided_rests_for_the_rest_of_its_history():
    (row, total) = saved(history(np.full(DAY, 25.0), names=["kitchen"]), "tasmota")
    assert (row.device, row.days, row.decided_after, row.before) == ("kitchen", 1.0, PERIOD, DAY)
    assert row.after == 26  # three before it is told to rest: a gateway waits two ticks for late readings
    assert total[1:] == (1.0, 1, None, row.before, row.after)
    assert row.to_json(6.0)["battery_months"] == pytest.approx(6 * DAY / row.after, abs=0.05)


def test_a_device_without_control_saves_nothing():
    (row, _) = saved(history(np.full(DAY, 25.0)), "streamfs")
    assert row.after == row.before


def test_while_a_stream_is_open_what_changes_is_sent():
    slow = channels_procedure("temperature@delta:0.5", threshold=99.0, time_limit=2000, period=PERIOD)
    values = np.repeat(np.arange(24.0), 60)
    (row, _) = saved(history(values), "zigbee2mqtt", slow)
    assert (row.decided_after, row.before) == (None, DAY)
    assert row.after == 24
    (row, _) = saved(history(values), "tasmota", slow)
    assert row.after == DAY


def test_the_command_prints_rows_and_all(tmp_path):
    MODEL.save(tmp_path / "m.streamfs")
    rows = [f"s{i},{60 * t},25.0" for i in range(2) for t in range(100)]
    (tmp_path / "h.csv").write_text("\n".join(["stream,time,temperature", *rows]), encoding="utf-8")
    words = ["savings", str(tmp_path / "m.streamfs"), str(tmp_path / "h.csv"), "--devices", "tasmota", "--json"]
    result = CliRunner().invoke(cli, words)
    assert [row["device"] for row in orjson.loads(result.stdout)] == ["s0", "s1", "all"]
