"""Simulated devices of each profile and the core: asked, obeying or not, through losses, restarts and deaths."""

import re

import numpy as np
import pytest
from helpers import demo_devices
from helpers.device_yard import PERIOD, Yard, begun, models_of, temperatures

from sensors_sim.devices import KINDS, Manners
from streamfs import StreamSet
from streamfs.cli.device_savings import savings
from streamfs.gateway.core import conduct
from streamfs.gateway.settings.profiles import load_profile, profile_files


@pytest.mark.parametrize("kind", KINDS)
def test_a_device_that_obeys_rests_once_its_stream_is_decided(tmp_path, kind):
    device = KINDS[kind]("d1", temperatures(25.0), PERIOD, Manners(interval=60.0))
    yard = Yard(begun(tmp_path, kind), device)
    yard.run(8 * 3600.0, step=20.0)
    assert [decision.label for decision in yard.decisions] == ["on"]
    if kind == "shelly":  # it has thresholds alone, which show in no interval
        assert (device.delta, yard.conduct.state) == (5.0, "acknowledged")
        return
    assert device.most >= 3600.0
    assert yard.conduct.state == "observed"
    assert device.n_sent < 40
    conduct, (heard,) = yard.core.conduct, yard.core.conduct.hearing.paid.values()
    assert heard.messages == sum(conduct.counters[name] for name in ("devices_asked", "devices_asked_again"))
    if kind in ("chirpstack", "thethings"):  # the network says that it has sent it
        assert all(setting.is_acknowledged for setting in yard.conduct.settings.values())
        assert heard.bytes == 4 * heard.messages


@pytest.mark.parametrize("kind", ["tasmota", "zigbee2mqtt"])
def test_of_what_a_device_was_asked_only_what_it_may_answer_is_remembered(tmp_path, monkeypatch, kind):
    """Each episode left two messages in memory and in snapshots for ever, where answers have no number."""
    monkeypatch.setattr(conduct, "_FEW_ASKED", 4)
    yard = Yard(begun(tmp_path, kind, reopen_after=1200.0), KINDS[kind]("d1", temperatures(30.0), PERIOD))
    yard.run(4 * 3600.0, step=60.0)
    assert len(yard.core.conduct._asked) <= 2 * 2 + 4
    assert len(yard.core.conduct.to_state()["asked"]) <= 2
    numbers = {setting.number for setting in yard.conduct.settings.values()}
    assert numbers <= yard.core.conduct._asked.keys()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "shelly"])
@pytest.mark.parametrize("seed", [0])
def test_through_losses_restarts_and_deaths_a_device_ends_as_it_is_wanted(tmp_path, kind, seed):
    device = KINDS[kind]("d1", temperatures(25.0), PERIOD, Manners(interval=60.0, misses=0.2), seed)
    yard = Yard(begun(tmp_path, kind), device, seed)
    yard.run(4 * 3600.0, kills=0.02, restarts=0.004, step=20.0)
    yard.run(30 * 3600.0, step=120.0)
    assert device.most >= 3600.0
    assert yard.conduct.state == "observed"


@pytest.mark.parametrize("kind", ["tasmota", "zigbee2mqtt", "chirpstack"])
@pytest.mark.parametrize("manners", [Manners(is_deaf=True), Manners(lies=True)], ids=["deaf", "lying"])
def test_a_device_that_disobeys_is_counted_and_decided_all_the_same(tmp_path, kind, manners):
    device = KINDS[kind]("d1", temperatures(25.0), PERIOD, manners)
    yard = Yard(begun(tmp_path, kind), device)
    yard.run(4 * 3600.0, step=20.0)
    assert [decision.label for decision in yard.decisions] == ["on"]
    assert yard.conduct.state == "disobeys"
    assert yard.core.conduct.counters["devices_disobeyed"] == 1


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "shelly"])
def test_a_device_that_rests_is_woken_by_its_heartbeat(tmp_path, kind):
    values = np.concatenate([temperatures(25.0)[:600], temperatures(10.0)])
    device = KINDS[kind]("d1", values, PERIOD, Manners(interval=60.0))
    yard = Yard(begun(tmp_path, kind, reopen_after=4 * 3600.0), device)
    yard.run(16 * 3600.0, step=30.0)
    labels = [decision.label for decision in yard.decisions]
    assert labels.count("on") >= 2
    assert device.most >= 3600.0


BEGIN = 1.7e9
"""Times of simulations; SenML takes small ones as counted from now."""

N_TICKS = 2160
"""Their length: a day and a half, in which there are several of the rarest heartbeats."""


def profile_with(folder, kind, rest):
    """Return a profile beside the settings, with other hours from one heartbeat to the next."""
    text = profile_files()[kind].read_text(encoding="utf-8")
    text = re.sub("^(rest|max) = .*", lambda line: f"{line[1]} = {3600 * rest:g}", text, flags=re.MULTILINE)
    (folder / "profiles").mkdir(exist_ok=True)
    (folder / "profiles" / f"{kind}.toml").write_text(text, encoding="utf-8")
    return load_profile(kind, folder / "profiles")


def simulated(tmp_path, kind, models, reopen_after):
    """Return what a device sends that nobody asks, and how often it reports and is decided when it is asked.

    The gateway waits for late readings as by default. The device is heard and asked thrice a tick, so that nothing
    falls together but what a tick brings together.
    """
    values = temperatures(25.0)
    free, asked = (KINDS[kind]("d1", values, PERIOD, Manners(interval=PERIOD), begin=BEGIN) for _ in range(2))
    times = BEGIN + PERIOD * np.arange(1, N_TICKS)
    history = [free._reported for now in times if free.turn(float(now))]
    streams = {} if reopen_after is None else {"reopen_after": reopen_after}
    yard = Yard(begun(tmp_path, kind, models, times={}, **streams), asked, begin=BEGIN)
    yard.run((N_TICKS - 1) * PERIOD, step=PERIOD / 3)
    return np.array(history), asked.n_sent, len(yard.decisions)


ASKED = (
    ("delta:0.5", 4.0, 1, None),
    ("delta:0.5", 4.0, 8, 5.2),
    ("mean:4", 2.0, 4, 4.0),
    ("mean:4", 0.5, 1, 5.2),
    ("every:5", 1.0, 8, 8.0),
    ("", 4.0, 8, 5.2),
)
"""What models want, for how many hours they hold it, and those to the next heartbeat and episode."""


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_history_promises_to_save_is_what_a_simulated_device_saves(tmp_path, kind):
    for policy, silence, rest, hours in ASKED:
        models = models_of(policy, silence)
        profile, reopen_after = profile_with(tmp_path, kind, rest), hours and 3600.0 * hours
        history, n_sent, n_decisions = simulated(tmp_path, kind, models, reopen_after)
        starts = np.array([BEGIN + PERIOD / 3])
        streams = StreamSet(history[None, :, None], [""], ["temperature"], PERIOD)
        (row, _), _ = savings(models.first, streams, profile, reopen_after, np.array([len(history)]), starts)
        assert row.before == len(history)
        assert row.after == pytest.approx(n_sent, abs=1.0), (policy, silence, rest, hours)
        assert row.decided == n_decisions, (policy, silence, rest, hours)


@pytest.mark.mqtt
def test_devices_of_all_profiles_are_decided_and_asked_over_a_real_broker():
    devices, decisions, states = demo_devices.run(6.0)
    assert decisions == {f"{kind}-1": "on" for kind in KINDS}
    assert all(device.n_heard for device in devices.values())
    assert set(states.values()) <= {"wanted", "sent", "acknowledged", "observed"}
