"""What newcomers type for devices that they own, in real processes with a real broker."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from threading import Event, Thread

import pytest
from helpers.broker import Broker
from helpers.procedures import channels_procedure
from paho.mqtt.client import CallbackAPIVersion, Client

from sensors_sim.sparkplug_wire import BOOLEAN, DOUBLE, WireMetric, written

pytestmark = pytest.mark.mqtt

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0  # seconds
OPTIONS = {"time_limit": 20, "period": 1.0, "max_silence": 30.0}
NODES = ("window", "plug", "living", "shellyhtg3-aabbcc", "a84041000181", "eui-70b3", "oven", "node7", "own1")
WARM = 25.0
STALE = json.dumps({"temperature": WARM, "humidity": 60})  # what the bridge still says of a device that is dead
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def date(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def said(now, number):
    """Return what nine kinds of devices send, as it was seen in their documentation; and stale values."""
    uplink = {"decoded_payload": {"temperature": WARM, "humidity": 40}, "f_port": 2, "f_cnt": number}
    radio = {"modulation": {"lora": {"spreadingFactor": 7}}}
    birth = [WireMetric("Inputs/Temperature", 1, DOUBLE, WARM)]
    shelly = {"ts": now, "temperature:0": {"id": 0, "tC": WARM, "tF": 77}, "humidity:0": {"id": 0, "rh": 40}}
    pack = [{"bn": "urn:dev:mac:0024befffe804ff1:", "bt": now, "n": "temperature", "u": "Cel", "v": WARM}]
    object_ = {"TempC_SHT": WARM, "Hum_SHT": 40, "BatV": 3.0}
    return {
        "zigbee2mqtt/bridge/state": {"state": "online"},
        "zigbee2mqtt/attic/window": {"temperature": WARM + number % 2 / 100, "humidity": 40, "linkquality": 90},
        "zigbee2mqtt/cellar": STALE.encode(),
        "tele/plug/SENSOR": {"Time": date(now + 3600), "AM2301": {"Temperature": WARM}, "TempUnit": "C"},
        "living/sensor/living_temperature/state": WARM,
        "living/sensor/living_wifi_signal/state": -60,
        "shellyhtg3-aabbcc/events/rpc": {"src": "x", "dst": "y", "method": "NotifyFullStatus", "params": shelly},
        "application/b/device/a84041000181/event/up": {
            "time": f"{date(now)}Z",
            "fCnt": number,
            "object": object_,
            "txInfo": radio,
        },
        "v3/app@ttn/devices/eui-70b3/up": {"received_at": f"{date(now)}Z", "uplink_message": uplink},
        "spBv1.0/plant/NBIRTH/edge": written(now, [WireMetric("Node Control/Rebirth", 9, BOOLEAN, 0.0)], 0),
        "spBv1.0/plant/DBIRTH/edge/oven": written(now, birth, 1),
        "senml/node7": pack,
        "sensors/own1/temperature": {"t": now, "v": WARM},
    }


class Home:
    """Devices at a broker, which publish every second; and what is decided of them."""

    def __init__(self, broker):
        self.decisions = {}
        self.nodes = []
        self._stop = Event()
        self._thread = Thread(target=self._run)
        self._client = Client(CallbackAPIVersion.VERSION2)
        self._client.on_message = lambda _client, _data, message: self._decided(json.loads(message.payload))
        self._client.connect(broker.host, broker.port)
        self._client.subscribe("streamfs/decision/+")
        self._client.publish("zigbee2mqtt/cellar", STALE, retain=True)

    def __enter__(self):
        self._client.loop_start()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self._client.disconnect()
        self._client.loop_stop()

    def _decided(self, decision):
        if decision["reason"] != "closed":  # as the gateway stops
            self.decisions[decision["stream"]] = decision["label"]

    def _run(self):
        number = 0
        while not self._stop.wait(1.0):
            number += 1
            now = time.time()
            others = {f"sensors/{node}/temperature": {"t": now, "v": WARM} for node in self.nodes}
            for topic, payload in (said(now, number) | others).items():
                self._client.publish(topic, payload if isinstance(payload, bytes) else json.dumps(payload))

    def wait_for(self, nodes):
        until = time.monotonic() + PATIENCE
        while not set(nodes) <= set(self.decisions):
            assert time.monotonic() < until, f"decided are only {sorted(self.decisions)}"
            time.sleep(0.1)


def words(*args):
    return [sys.executable, "-m", "streamfs", *args]


def save_model(folder, policy):
    channels_procedure(f"temperature@{policy}", threshold=20.0, **OPTIONS).save(folder / "model.streamfs")


def test_devices_are_bound_by_what_check_proposes_and_a_retrained_model_is_taken_over(tmp_path):
    save_model(tmp_path, "delta:0.5")
    run = partial(subprocess.run, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    settings = tmp_path / "gateway.toml"
    with Broker() as broker, Home(broker) as home:
        settings.write_text(f'model = "model.streamfs"\n[broker]\nurl = "mqtt://{broker.host}:{broker.port}"\n')
        proposed = run(words("check", settings.name, "--listen", "3")).stdout
        assert proposed.count("[[source]]") == len(NODES)
        with settings.open("a", encoding="utf-8") as file:
            file.write(proposed)
        assert "[[source]]" not in run(words("check", settings.name, "--listen", "3")).stdout
        command = words("run", "--config", settings.name)
        with (
            (tmp_path / "errors").open("w") as errors,
            subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stderr=errors, stdout=errors) as gateway,
        ):
            try:
                home.wait_for(NODES)
                assert home.decisions == dict.fromkeys(NODES, "on")
                save_model(tmp_path, "every:2")
                gateway.send_signal(signal.SIGHUP)
                home.nodes.append("own2")
                home.wait_for(["own2"])
            finally:
                gateway.terminate()
    log = (tmp_path / "errors").read_text(encoding="utf-8")
    assert gateway.returncode == 0, log
    assert "reloads 1" in log
    assert home.decisions == dict.fromkeys([*NODES, "own2"], "on")  # and nothing of stale values
