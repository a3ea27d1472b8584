"""Time zones of single nodes: local times in summer and winter, in the hour that comes twice, beside others."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamfs.errors import SettingsError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.replay_configuration import described, understood
from streamfs.gateway.settings.settings import read_settings

HEAD = 'model = "m"\n[broker]\nurl = "mqtt://b"\n[[source]]\ndevice = "tasmota"\ntime_zone = "UTC"\n'


def bound(tmp_path, text):
    path = tmp_path / "gateway.toml"
    path.write_text(HEAD + text, encoding="utf-8")
    return read_settings(path).bindings(["temperature@delta:0.5"])


def time_of(bindings, node, stamp, arrival):
    routed = bindings.route(f"tele/{node}/SENSOR")
    payload = orjson.dumps({"Time": stamp, "DHT11": {"Temperature": 1.0}})
    ((_, reading),) = routed.codec.decode(payload, arrival).parts
    return reading.time


def seconds(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("node", "stamp", "arrival", "expected"),
    [
        ("berlin", "2026-01-15T13:00:00", "2026-01-15T12:00:01", "2026-01-15T12:00:00"),
        ("berlin", "2026-07-15T14:00:00", "2026-07-15T12:00:01", "2026-07-15T12:00:00"),
        ("berlin", "2026-10-25T02:30:00", "2026-10-25T00:30:05", "2026-10-25T00:30:00"),  # the hour that is twice
        ("berlin", "2026-10-25T02:30:00", "2026-10-25T01:30:05", "2026-10-25T01:30:00"),
        ("berlin", "2026-03-29T01:59:59", "2026-03-29T01:00:00", "2026-03-29T00:59:59"),
        ("berlin", "2026-03-29T03:00:00", "2026-03-29T01:00:00", "2026-03-29T01:00:00"),
        ("berlin", "2026-07-15T12:00:00+00:00", "2026-07-15T12:00:01", "2026-07-15T12:00:00"),
        ("attic", "2026-07-15T08:00:00", "2026-07-15T12:00:01", "2026-07-15T12:00:00"),  # by its alias
        ("other", "2026-07-15T12:00:00", "2026-07-15T12:00:01", "2026-07-15T12:00:00"),
    ],
)
def test_times_of_a_node_are_in_its_own_zone(tmp_path, node, stamp, arrival, expected):
    zones = '[node.berlin]\ntime_zone = "Europe/Berlin"\n'
    zones += '[node.york]\nalias = ["attic"]\ntime_zone = "America/New_York"'
    bindings = bound(tmp_path, zones)
    restored, _ = understood(described(bindings, Options()), bindings.channels)
    for each in (bindings, restored):
        assert time_of(each, node, stamp, seconds(arrival)) == seconds(expected)
    assert isinstance(bindings, Bindings)


@given(st.integers(1_000_000_000, 2_145_916_800), st.sampled_from(["Europe/Berlin", "Asia/Kolkata"]))
def test_local_times_are_found_again_whatever_the_season(tmp_path_factory, true, name):
    bindings = bound(tmp_path_factory.mktemp("zone"), f'[node.n]\ntime_zone = "{name}"')
    local = datetime.fromtimestamp(true, ZoneInfo(name)).replace(tzinfo=None).isoformat()
    assert time_of(bindings, "n", local, true + 30.0) == true


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            '[node.n]\ntime_zone = "Europe/Berlim"',
            "node.n.time_zone is 'Europe/Berlim', expected one",
        ),
        ("[node.n]\ntime_zone = 2", "node.n.time_zone is 2, expected text"),
    ],
)
def test_a_zone_that_is_none_is_refused_by_name(tmp_path, text, error):
    with pytest.raises(SettingsError, match=error):
        bound(tmp_path, text)


def test_a_zone_of_a_node_without_times_in_text_is_refused(tmp_path):
    text = HEAD.replace('device = "tasmota"\ntime_zone = "UTC"', 'topic = "a/{node}"\nchannel = "temperature"')
    (tmp_path / "gateway.toml").write_text(f'{text}[node.n]\ntime_zone = "Europe/Berlin"', encoding="utf-8")
    with pytest.raises(SettingsError, match=r"line 8: node.n.time_zone is 'Europe/Berlin', but no source has"):
        read_settings(tmp_path / "gateway.toml").bindings(["temperature"])
