"""What devices go back to when their gateway stops, dies or withdraws a promise, and whether they are online."""

import threading
import time

import numpy as np
import pytest
from helpers import demo_devices
from helpers.broker import Broker
from helpers.device_yard import MODELS, PERIOD, Yard, begun, temperatures
from helpers.records import label, raw, restored

from sensors_sim.device_fleet import DeviceFleet
from sensors_sim.devices import KINDS, Manners
from streamfs.gateway.core.feedback import Feedback
from streamfs.gateway.core.options import Limits
from streamfs.gateway.core.records import RETAINED, Record, clock_record, start_record, stop_record
from streamfs.gateway.guard import Guard, guard_transport, keep_guard
from streamfs.gateway.host import hosted
from streamfs.gateway.messages.message import Message
from streamfs.gateway.settings.cautions import cautions
from streamfs.gateway.settings.settings import read_settings

LIMIT = Limits().payload_bytes
SAFE = {
    "tasmota": 300.0,
    "esphome": 60.0,
    "senml": 300.0,
    "chirpstack": 1200.0,
    "thethings": 1200.0,
    "sparkplug": 60.0,
}
HEARD = [kind for kind in KINDS if kind != "shelly"]
EXTRA = {"zigbee2mqtt": 300.0}


def at_rest(tmp_path, kind, manners=None, **streams):
    """A gateway whose device is decided, and rests."""
    device = KINDS[kind]("d1", temperatures(25.0), PERIOD, Manners(interval=60.0) if manners is None else manners)
    yard = Yard(begun(tmp_path, kind, **streams), device)
    yard.run(1800.0, step=60.0)
    yard.run(6 * 3600.0, step=600.0)
    assert device.most >= 3600.0
    return yard, device


@pytest.mark.parametrize("kind", SAFE)
def test_devices_go_back_as_a_gateway_stops_and_rest_again_as_it_starts(tmp_path, kind):
    yard, device = at_rest(tmp_path, kind)
    yard.deliver(yard.to_device(yard.core.take([stop_record(yard.now)])))
    yard.core = restored(yard.core, MODELS)
    for _ in range(20):  # nobody is there but the device
        yard.now += 600.0
        device.turn(yard.now)
    assert device.most == SAFE[kind]
    yard.deliver(yard.to_device(yard.core.take([start_record(MODELS.first.digest, yard.now)])))
    yard.run(3 * 3600.0, step=600.0)
    assert device.most >= 3600.0


@pytest.mark.parametrize("kind", HEARD)
def test_a_guard_asks_devices_in_the_place_of_a_gateway_that_has_died(tmp_path, kind):
    yard, device = at_rest(tmp_path, kind)
    guard = Guard(read_settings(tmp_path / "gateway.toml"))
    (noted,) = yard.core.conduct._noted(yard.conduct)
    said = [
        (noted.topic, noted.payload),
        ("streamfs/status/gateway", b'{"status":"offline"}'),
    ]
    for topic, payload in said:
        assert not guard.hear(Message(topic, payload, True, yard.now), yard.now)
    published = []

    def deliver(publications):
        published.extend(publications)
        for each in publications:
            if each.topic in device.topics:
                for topic, payload in device.hear(each.topic, each.payload, yard.now):
                    deliver(guard.hear(Message(topic, payload, False, yard.now), yard.now))

    for _ in range(36):
        yard.now += 600.0
        for topic, payload in device.turn(yard.now):
            deliver(guard.hear(Message(topic, payload, False, yard.now), yard.now))
        deliver(guard.let_time_pass(yard.now))
    assert device.most == (SAFE | EXTRA)[kind]
    assert published[0].topic == "streamfs/guarded/gateway"
    guard.hear(Message("streamfs/status/gateway", b'{"status":"online"}', False, yard.now), yard.now)
    assert not guard.acts
    acted = Record(RETAINED, yard.now, published[0].topic, published[0].payload)
    yard.deliver(yard.to_device(yard.core.take([acted])))
    yard.run(3 * 3600.0, step=600.0)
    assert device.most >= 3600.0


def test_a_guard_does_not_look_at_what_is_beyond_the_limit_of_a_payload(tmp_path):
    yard, device = at_rest(tmp_path, "zigbee2mqtt")
    guard = Guard(read_settings(tmp_path / "gateway.toml"))
    (noted,) = yard.core.conduct._noted(yard.conduct)
    guard.hear(Message(noted.topic, noted.payload, True, yard.now), yard.now)
    guard.hear(Message("streamfs/status/gateway", b'{"status":"offline"}', True, yard.now), yard.now)
    asked = []
    for _ in range(12):
        yard.now += 600.0
        guard.let_time_pass(yard.now)
        for topic, payload in device.turn(yard.now):
            said = Message(topic, payload, False, yard.now)
            assert not guard.hear(said._replace(payload=payload + b" " * LIMIT), yard.now)
            asked += guard.hear(said, yard.now)
    assert asked


def test_a_guard_leaves_devices_alone_while_the_gateway_is_online_or_away_for_a_moment(tmp_path):
    begun(tmp_path, "tasmota")
    guard = Guard(read_settings(tmp_path / "gateway.toml"))
    noted = b'{"device":"d1","profile":"tasmota:0","quantities":[""]}'
    for at, topic, payload in [
        (0.0, "asked/gateway/d1", noted),
        (0.0, "asked/gateway/d2", b"odd"),
        (1.0, "status/gateway", b'{"status":"offline"}'),
        (50.0, "status/gateway", b'{"status":"online"}'),
        (60.0, "status/gateway", b"?"),
    ]:
        assert not guard.hear(Message(f"streamfs/{topic}", payload, False, at), at)
        assert not guard.let_time_pass(at + 9.0)
    assert (guard.n_known, guard.let_time_pass(1e6)) == (1, [])


def test_devices_with_timers_go_back_by_themselves_and_are_asked_in_time(tmp_path):
    begun(tmp_path, "esphome")
    (tmp_path / "profiles").mkdir()
    text = (demo_devices.profile_files()["esphome"]).read_text(encoding="utf-8")
    own = text.replace("safe = 60\n", "safe = 60\nreturns_after = 14400\n")
    (tmp_path / "profiles" / "esphome.toml").write_text(own, encoding="utf-8")
    yard, device = at_rest(tmp_path, "esphome", Manners(interval=60.0, returns_after=14_400.0))
    settings = read_settings(tmp_path / "gateway.toml")
    (said,) = [
        each for each in cautions(settings, settings.broker.address(), MODELS.first) if "devices of" in each
    ]
    assert "go back to 60 s by themselves, 14400 s after" in said
    assert not yard.core.conduct.unguarded
    yard.run(24 * 3600.0, step=600.0)
    assert device.most == 3600.0
    yard.now += 14_400.0  # the gateway is dead
    device.turn(yard.now)
    assert device.most == 60.0


def test_while_a_promise_is_withdrawn_devices_that_rest_report_at_their_safe_interval(tmp_path, monkeypatch):
    yard, device = at_rest(tmp_path, "tasmota")
    monkeypatch.setattr(Feedback, "is_withdrawn", property(lambda _: True))
    yard.core.take([label("d1", "off", yard.now)])
    yard.run(2 * 3600.0, step=300.0)
    assert device.most == 300.0
    assert restored(yard.core, MODELS).conduct.is_wary


@pytest.mark.parametrize("kind", ["zigbee2mqtt", "tasmota", "esphome", "shelly"])
def test_a_device_that_is_offline_is_named_and_not_asked_until_it_is_back(tmp_path, kind):
    device = KINDS[kind]("d1", temperatures(25.0), PERIOD, Manners(interval=60.0, is_deaf=True))
    yard = Yard(begun(tmp_path, kind, reopen_after=3600.0), device)
    yard.run(60.0, step=60.0)
    yard.deliver(device.leave())
    assert (yard.conduct.state, yard.core.conduct.n_offline) == ("offline", 1)
    n_asked = yard.core.conduct.newest_number
    yard.core = restored(yard.core, MODELS)
    yard.run(3600.0, step=60.0)
    assert yard.core.conduct.newest_number == n_asked
    yard.deliver(device.restart())
    yard.run(180.0, step=60.0)
    assert yard.conduct.state != "offline"
    assert yard.core.conduct.newest_number > n_asked
    assert yard.core.counters["devices_gone"] == yard.core.counters["devices_back"] == 1


def test_what_a_broker_has_kept_says_who_is_offline_and_is_no_birth(tmp_path):
    yard, _ = at_rest(tmp_path, "zigbee2mqtt")
    assert yard.core.conduct.has_state("zigbee2mqtt/d1/availability")
    assert not yard.core.conduct.has_state("zigbee2mqtt/d1")
    for topic, payload, n_offline in [
        ("zigbee2mqtt/d1/availability", b"offline", 1),
        ("zigbee2mqtt/d1/availability", b'{"state":"online"}', 0),
        ("zigbee2mqtt/bridge/state", b'{"state":"offline"}', 1),
        ("zigbee2mqtt/bridge/state", b"?", 1),
        ("zigbee2mqtt/bridge/state", b'{"state":"online"}', 0),
        ("zigbee2mqtt/other/availability", b"offline", 0),
    ]:
        yard.core.take([Record(RETAINED, yard.now, topic, payload)])
        assert yard.core.conduct.n_offline == n_offline
    assert not yard.core.counters["devices_born"]


def test_a_device_that_ceases_to_do_as_it_did_is_asked_anew_but_nobody_is_fought(tmp_path):
    yard, device = at_rest(tmp_path, "tasmota")
    for state in ("observed", "observed", "disobeys"):
        device._set(60.0, 60.0, np.inf)  # by its owner
        yard.run(900.0, step=60.0)
        yard.run(4 * 3600.0, step=300.0)
        assert yard.conduct.state == state
    assert yard.core.counters["devices_strayed"] == 3
    assert device.most == 60.0


@pytest.mark.mqtt
def test_on_a_real_broker_devices_go_back_when_their_gateway_stops_and_when_it_has_died(tmp_path):
    def settle(devices, wanted, seconds=20.0):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not wanted(devices):
            time.sleep(0.05)
        assert wanted(devices), {name: device.most for name, device in devices.items()}

    kinds = ("tasmota", "zigbee2mqtt", "chirpstack")
    devices = {kind: KINDS[kind](f"{kind}-1", np.full(2, 25.0), 1.0, Manners(interval=1.0)) for kind in kinds}
    stop, ends = threading.Event(), threading.Event()
    with Broker() as broker:
        settings = demo_devices.quick_settings(tmp_path, broker.url, "[devices]\nguard_after = 0.5\nsafe = 2.0")
        fleet = threading.Thread(
            target=DeviceFleet([*devices.values()]).run, args=(broker.host, broker.port, stop)
        )
        guard = Guard(settings)
        keeper = threading.Thread(target=keep_guard, args=(guard, guard_transport(settings, guard), stop))
        with hosted(settings) as gateway:
            running = threading.Thread(target=gateway.run, args=(ends,))
            running.start()
            gateway.ready.wait(10.0)
            fleet.start()
            settle(devices, lambda found: all(each.most == demo_devices.REST for each in found.values()))
            assert any("no streamfs guard is online" in each for each in gateway.health().warnings())
            ends.set()
            gateway.wake()
            running.join(10.0)
        settle(devices, lambda found: found["tasmota"].most == found["chirpstack"].most == 2.0)
        assert devices["zigbee2mqtt"].most == demo_devices.REST  # which sleeps
        keeper.start()
        settle(devices, lambda found: found["zigbee2mqtt"].most == 2.0)
        stop.set()
        keeper.join(10.0)
        fleet.join(10.0)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "",
            "are asked for 300 s as the gateway stops, and keep the interval that they were asked for last if it",
        ),
        ('[devices]\non_stop = "keep"', "keep the interval that they were asked for last when the gateway stops"),
        ("[devices]\nsafe = 900.0", "are asked for 900 s as"),
    ],
)
def test_check_says_what_devices_go_back_to(tmp_path, line, said):
    begun(tmp_path, "tasmota")
    with (tmp_path / "gateway.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    settings = read_settings(tmp_path / "gateway.toml")
    assert any(said in each for each in cautions(settings, settings.broker.address(), MODELS.first))


def test_clocks_and_answers_of_no_device_change_nothing(tmp_path):
    core = begun(tmp_path, "tasmota")
    assert core.take([clock_record(9.0), stop_record(10.0), raw("streamfs/guard/gateway", b"?")]).is_empty
    assert not core.conduct.is_guarded
    core.take([raw("streamfs/guard/gateway", b'{"status":"online"}')])
    assert core.conduct.is_guarded
