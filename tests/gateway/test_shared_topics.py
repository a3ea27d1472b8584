"""Devices that share a topic, and are told apart by their payloads: at a real broker."""

import logging
import time
from contextlib import closing
from threading import Event, Thread

import orjson
import pytest
from helpers.procedures import channels_procedure
from helpers.transports import PATIENCE, ending, listen, until

from streamfs.gateway.core.bindings import Bindings, Route
from streamfs.gateway.messages.message import Message
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.service import Gateway
from streamfs.gateway.storage.state import State
from streamfs.gateway.transport.transport import Transport

pytestmark = pytest.mark.mqtt

WIDE = Route.of("+/+/+", "json", node="{id}", fields={"x": "light"})
MANY = Route.of("many/up", "json", node="{*}", fields={"*.x": "light"})
ROUTE = Route.of("hub/+/up", "json", node="{id}", fields={"x": "light"})


def test_each_device_of_a_topic_is_a_stream(broker, tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    procedure = channels_procedure("light")
    bindings = Bindings.single(procedure.channels, routes=(ROUTE, MANY))
    stop, now = Event(), int(time.time())
    with State(tmp_path / "state") as state:
        gateway = Gateway(procedure, bindings, Transport(broker.url), state=state)
        thread = Thread(target=gateway.run, args=(stop,), kwargs={"patience": PATIENCE})
        thread.start()
        try:
            assert gateway.ready.wait(PATIENCE)
            with ending(listen(broker.url, topics=["streamfs/decision/+"])) as client:
                client.publish(Publication("hub/7/up", b'{"x":1}', retain=False))
                for tick in range(5):
                    client.publish(Publication("many/up", b'{"c":{"x":0},"d":{"x":0}}', retain=False))
                    for node, hub in (("a", 7), ("b", 7), ("b", 8)):
                        said = {"id": node, "t": now + tick, "x": node == "a"}
                        client.publish(Publication(f"hub/{hub}/up", orjson.dumps(said), retain=False))
                assert client.drain(PATIENCE)
                (decision,) = until(client, lambda messages: messages)
            assert decision.topic == "streamfs/decision/a"
            time.sleep(1.1)  # until statistics are due
        finally:
            stop.set()
            gateway.wake()
            thread.join()
        assert set(gateway.core.spent.nodes) == {"a", "b", "c", "d"}
    assert "its payload has nothing at {id} that can name a node" in caplog.text
    with State(tmp_path / "state") as state:  # what was logged has the nodes
        again = Gateway(procedure, bindings, Transport(broker.url), state=state)
        assert set(again.core.roster.nodes) == {"a", "b", "c", "d"}


@pytest.mark.parametrize("topic", ["streamfs/label/a", "streamfs/command/gateway"])
def test_a_label_or_a_command_stays_one_where_a_source_reads_topics_as_long(topic):
    procedure = channels_procedure("light")
    bindings = Bindings.single(procedure.channels, routes=(WIDE,))
    payload, topics = b'{"id":"a","x":1}', [topic, "hub/7/up"]
    with closing(Transport("mqtt://127.0.0.1:1")) as transport:
        gateway = Gateway(procedure, bindings, transport)
        addressed = gateway._arrivals.addressed([Message(each, payload, False, 0.0, "") for each in topics])
    assert [message.topic for message in addressed] == [topic, "hub/7/up#a"]
