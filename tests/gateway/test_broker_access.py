"""The broker's access list that is deployed: who may read and write what, at a real broker."""

import re
import shutil
import subprocess
import time
from pathlib import Path
from threading import Event, Thread

import orjson
import pytest
from helpers.broker import Broker
from helpers.procedures import channels_procedure
from helpers.transports import PATIENCE, ending, listen, until

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.service import Gateway
from streamfs.gateway.transport.transport import Transport

pytestmark = pytest.mark.mqtt

DEPLOY = Path(__file__).parents[2] / "deploy"
OWN = re.compile(r"(listener|certfile|keyfile|persistence_location) .*")
"""Lines of the settings that are of the machine."""
TOPICS = {
    "sensors/n1/light": {"n1"},
    "sensors/n2/light": {"n2"},
    "streamfs/control/n1": {"gateway"},
    "streamfs/decision/n1": {"gateway"},
    "streamfs/status/gateway": {"gateway"},
    "streamfs/deadletter/gateway": {"gateway"},
    "streamfs/alert/gateway": {"gateway"},
    "streamfs/promise/gateway": {"gateway"},
    "streamfs/label-wanted/n1": {"gateway"},
    "streamfs/asked/gateway/n1": {"gateway"},
    "streamfs/guard/gateway": {"gateway"},
    "streamfs/guarded/gateway": {"gateway"},
    "streamfs/label/n1": {"operator"},
    "streamfs/command/gateway": {"operator"},
    "elsewhere": set(),
}
"""Who may publish."""


@pytest.fixture(scope="module")
def strict(broker, tmp_path_factory):  # noqa: ARG001 - the session's broker skips where there is no mosquitto
    folder = tmp_path_factory.mktemp("broker")
    passwords = folder / "streamfs.passwords"
    passwords.touch()
    for user in ("gateway", "operator", "n1", "n2", "n3"):
        subprocess.run([shutil.which("mosquitto_passwd"), "-b", str(passwords), user, user], check=True)
    shutil.copy(DEPLOY / "mosquitto.acl", folder / "streamfs.acl")
    for file in folder.iterdir():
        file.chmod(0o644)
    lines = (DEPLOY / "mosquitto.conf").read_text(encoding="utf-8").splitlines()
    shared = [line.replace("/etc/mosquitto", str(folder)) for line in lines if not OWN.fullmatch(line)]
    with Broker("\n".join(shared), persistence=tmp_path_factory.mktemp("kept")) as running:
        yield running


def address(broker, user):
    return broker.url.replace("//", f"//{user}:{user}@")


@pytest.mark.parametrize("user", ["gateway", "operator", "n1"])
def test_each_publishes_what_is_its_own_and_nothing_else(strict, user):
    allowed = set()
    for topic in TOPICS:
        with ending(listen(address(strict, user), topics=[])) as client:
            client.publish(Publication(topic, b"1", retain=False), topic)
            until(client, lambda _, client=client: not client.n_in_flight)
            refused = [refusal.token for refusal in client.refused()]
            assert refused or client.confirmed() == [topic]
        allowed |= {topic} - set(refused)
    assert allowed == {topic for topic, users in TOPICS.items() if user in users}


def test_nobody_connects_without_a_name(strict):
    with ending(Transport(strict.url)) as client:
        until(client, lambda _: client.counters["refused_connections"])


def test_a_node_reads_only_what_it_is_to_send(strict):
    with ending(listen(address(strict, "gateway"), topics=[])) as gateway:
        for topic in ("streamfs/control/n1", "streamfs/control/n2", "streamfs/decision/n1"):
            gateway.publish(Publication(topic, b"1"))
        assert gateway.drain(PATIENCE)
    with ending(listen(address(strict, "n1"), topics=["streamfs/#", "sensors/#"])) as node:
        messages = until(node, lambda messages: messages)
        time.sleep(0.2)
        messages += node.poll(0.1)
    assert {message.topic for message in messages} == {"streamfs/control/n1"}


def test_a_gateway_has_all_that_it_needs(strict):
    procedure = channels_procedure("light")
    transport = Transport(address(strict, "gateway"))
    gateway = Gateway(procedure, Bindings.single(procedure.channels), transport)
    stop, now = Event(), int(time.time())
    thread = Thread(target=gateway.run, args=(stop,), kwargs={"patience": PATIENCE})
    thread.start()
    try:
        assert gateway.ready.wait(PATIENCE)
        with (
            ending(listen(address(strict, "n3"), topics=["streamfs/control/n3"])) as node,
            ending(listen(address(strict, "operator"), topics=["streamfs/decision/n3"])) as operator,
        ):
            for tick in range(5):
                node.publish(Publication("sensors/n3/light", b'{"v":1,"t":%d}' % (now + tick), retain=False))
            assert node.drain(PATIENCE)
            (decision,) = until(operator, lambda messages: messages)
            controls = until(node, lambda said: said and orjson.loads(said[-1].payload)["channels"] == [])
        assert orjson.loads(decision.payload)["label"] == "on"
        assert orjson.loads(controls[0].payload)["channels"] == ["light"]
        assert not gateway.health().warnings()
    finally:
        stop.set()
        gateway.wake()
        thread.join()
