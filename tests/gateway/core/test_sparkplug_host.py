"""Sparkplug B, both ways: commands as others read them, births asked for, deaths, metrics that are not offered."""

import pytest
from helpers.device_yard import PERIOD, Yard, begun, temperatures
from helpers.records import raw, restored

from sensors_sim.devices import Manners, SparkplugDevice
from sensors_sim.sparkplug_wire import BOOLEAN, DOUBLE, WHOLE, WireMetric, understood, written
from streamfs.errors import PayloadError
from streamfs.gateway.core import sparkplug_host
from streamfs.gateway.messages.codecs.sparkplug import Metric, encode_metrics, read_metrics
from streamfs.gateway.settings.profiles import profile_files

EDGE, DEVICE = "spBv1.0/plant/{}/press", "spBv1.0/plant/{}/press/die"
TEMPERATURE = WireMetric("temperature", 1, DOUBLE, 9.0)
RATE = WireMetric("Device Control/Scan rate", 2, WHOLE, 1000.0)  # spelt as others do


def born(at, sequence, *metrics):
    return [
        raw(
            EDGE.format("NBIRTH"), written(at, [WireMetric("Node Control/Rebirth", 9, BOOLEAN, 0.0)], sequence), at
        ),
        raw(DEVICE.format("DBIRTH"), written(at, [TEMPERATURE, *metrics], sequence + 1), at),
    ]


def data(at, sequence, *metrics):
    said = metrics or [TEMPERATURE._replace(name="")]
    return raw(DEVICE.format("DDATA"), written(at, [*said], sequence), at)


def commands(effects, kind):
    return [
        dict(understood(each.payload))
        for each in effects.publications
        if each.topic.startswith(f"spBv1.0/plant/{kind}")
    ]


def test_names_of_edge_nodes_and_devices_are_remembered_up_to_a_number(tmp_path, monkeypatch):
    """Whoever could publish filled memory and snapshots with made-up ones, and no bound on streams held."""
    monkeypatch.setattr(sparkplug_host, "MOST_NAMES", 5)
    core = begun(tmp_path, "sparkplug")
    host = core.conduct._host
    for number in range(20):
        payload = written(float(number), [RATE], 3)
        for topic in (f"NDATA/made-up-{number}", f"DBIRTH/made-up-{number}/d", f"NDATA/{'n' * 1000}{number}"):
            core.take([raw(f"spBv1.0/plant/{topic}", payload, float(number))])
    assert {len(known) for known in host.to_state().values()} <= {0, 5}
    assert "plant/made-up-19" in host.to_state()["sequences"]
    assert len(str(host.to_state())) < 2000


@pytest.mark.parametrize(("datatype", "value"), [(8, 60_000), (4, -5), (3, 7), (10, 2.5), (9, 0.5), (11, True)])
def test_what_is_written_is_read_again_and_understood_byte_by_byte(datatype, value):
    for metric in (Metric("a/b", None, datatype, value), Metric("", 7, datatype, value)):
        packed = encode_metrics([metric], 12.5)
        assert read_metrics(packed) == (None, [metric])
        ((key, found),) = understood(packed)
        assert key == (metric.name or 7)
        assert found in {value, float(value % 2**64)}


def test_what_cannot_be_written_or_read_is_refused_by_name():
    with pytest.raises(ValueError, match="metric 'x' has datatype 12, expected a number or a Boolean"):
        encode_metrics([Metric("x", None, 12, "on")], 0.0)
    with pytest.raises(PayloadError, match=r"payload is b'\?\?', expected a payload of Sparkplug B"):
        read_metrics(b"??")


def test_a_device_is_asked_by_the_alias_of_its_birth_and_its_data_acknowledge(tmp_path):
    core = begun(tmp_path, "sparkplug")
    effects = core.take(born(0.0, 0, RATE))
    assert commands(effects, "DCMD/press/die") == [{2: 60_000.0}]
    (device,) = core.conduct.devices.values()
    core.take([data(1.0, 2, WireMetric("", 2, WHOLE, 30_000.0))])
    assert device.state == "sent"
    core.take([data(2.0, 3, WireMetric("", 2, WHOLE, 60_000.0))])
    assert device.state == "acknowledged"
    assert not commands(core.take([data(3.0, 4)]), "NCMD")


def test_births_that_were_missed_are_asked_for_once_in_a_patience(tmp_path):
    core = begun(tmp_path, "sparkplug")
    effects = core.take([data(float(at), at % 256) for at in range(100)])
    assert commands(effects, "NCMD/press") == [{"Node Control/Rebirth": 1.0}] * 2
    assert not core.conduct.devices
    core = restored(core, lambda _: core.procedure)
    assert not commands(core.take([data(110.0, 100)]), "NCMD")
    core.take(born(111.0, 101, RATE))
    assert not commands(core.take([data(200.0, 103)]), "NCMD")
    assert commands(core.take([data(201.0, 105)]), "NCMD/press")  # 104 was lost
    assert not commands(core.take([raw(EDGE.format("NDATA"), b"??", 300.0)]), "NCMD")


def test_a_profile_says_after_which_time_births_are_asked_for_again(tmp_path):
    text = profile_files()["sparkplug"].read_text(encoding="utf-8")
    (tmp_path / "profiles").mkdir()
    hasty = text.replace("[limits]\n", "[limits]\npatience = 5.0\n")
    (tmp_path / "profiles" / "sparkplug.toml").write_text(hasty, encoding="utf-8")
    core = begun(tmp_path, "sparkplug")
    assert len(commands(core.take([data(float(at), at) for at in range(20)]), "NCMD/press")) == 4


def test_a_metric_that_the_birth_does_not_list_is_not_written(tmp_path):
    core = begun(tmp_path, "sparkplug")
    assert not commands(core.take(born(0.0, 0)), "DCMD")
    (device,) = core.conduct.devices.values()
    assert device.settings[""].refusal == "its birth has no metric 'device control/scan rate'"
    assert commands(core.take(born(9.0, 2, RATE)), "DCMD")


@pytest.mark.parametrize("topic", [EDGE.format("NDEATH"), DEVICE.format("DDEATH")])
def test_deaths_of_devices_and_of_edge_nodes_are_known(tmp_path, topic):
    core = begun(tmp_path, "sparkplug")
    core.take(born(0.0, 0, RATE))
    core.take([raw(topic, written(5.0, [], 2), 5.0)])
    assert core.conduct.n_offline == 1
    core.take(born(9.0, 0, RATE))
    assert core.conduct.n_offline == 0


def test_a_simulated_device_answers_a_request_for_births_at_once(tmp_path):
    device = SparkplugDevice("d1", temperatures(25.0), PERIOD, Manners(interval=60.0))
    device._is_born = True  # before the gateway was there
    yard = Yard(begun(tmp_path, "sparkplug"), device)
    yard.run(3600.0, step=60.0)
    assert yard.conduct.state in {"acknowledged", "observed"}
    assert [decision.label for decision in yard.decisions] == ["on"]


def test_devices_of_equal_names_below_two_edge_nodes_are_two_nodes(tmp_path):
    core = begun(tmp_path, "sparkplug")
    for at, (edge, other) in enumerate((("press", "mill"), ("mill", "press")), 1):
        birth = written(float(at), [TEMPERATURE], 1)
        core.take([raw(f"spBv1.0/plant/DBIRTH/{edge}/die", birth, float(at))])
        assert f"{edge}%2Fdie" in core.roster.nodes
        assert (f"{other}%2Fdie" in core.roster.nodes) == (at == 2)
    core.take([raw("spBv1.0/plant/DDEATH/mill/die", b"", 3.0)])
    states = {device.name: device.state for device in core.conduct.devices.values()}
    assert states["mill/die"] == "offline" != states["press/die"]
