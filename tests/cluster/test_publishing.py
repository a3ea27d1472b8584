"""Publications of a batch, at a real broker: each arrives at least once, or the batch fails."""

from contextlib import contextmanager

import pytest
from helpers.broker import Broker
from helpers.proxy import Proxy
from helpers.transports import connected, listen, until

from streamfs.cluster import publishing
from streamfs.cluster.publishing import publish_all
from streamfs.errors import TransportError
from streamfs.gateway.messages.publication import Publication

pytestmark = pytest.mark.mqtt


def publications(topic, n=300):
    return [Publication(f"{topic}/{number}", b"%d" % number, retain=False) for number in range(n)]


@contextmanager
def publisher(url):
    transport = listen(url, topics=())
    try:
        yield transport
    finally:
        transport.close(0.1)


def test_all_arrive_also_if_the_connection_is_lost_on_the_way(broker):
    wanted = publications("cluster/lost")
    with Proxy(broker.port) as proxy, connected(broker.url, topics=["cluster/lost/#"]) as reader:
        with publisher(proxy.url) as transport:
            publish, taken = transport.publish, []

            def cut_once(*publication):
                taken.append(publish(*publication))
                if len(taken) == 100:
                    transport.poll(0.0)
                    proxy.cut()
                return taken[-1]

            transport.publish = cut_once
            publish_all(transport, wanted)
        assert proxy.n_cut == 1
        topics = {each.topic for each in wanted}
        came = until(reader, lambda messages: {message.topic for message in messages} >= topics)
        assert {message.topic for message in came} == topics


def test_what_the_broker_refuses_is_named(tmp_path, broker):  # noqa: ARG001 - it skips where there is no mosquitto
    access = tmp_path / "access"
    access.write_text("topic readwrite allowed/#\n", encoding="utf-8")
    access.chmod(0o644)
    tmp_path.chmod(0o755)
    with Broker(f"acl_file {access}") as strict, publisher(strict.url) as transport:
        publish_all(transport, publications("allowed", 3))
        with pytest.raises(TransportError, match="denied/0 was refused by the broker: Not authorized"):
            publish_all(transport, publications("denied", 3))


def test_a_batch_fails_if_the_broker_confirms_nothing(broker, monkeypatch):
    monkeypatch.setattr(publishing, "_PATIENCE", 0.3)
    with Proxy(broker.port) as proxy, publisher(proxy.url) as transport:
        proxy.stall()
        with pytest.raises(TransportError, match="the broker has not confirmed 3 of 3 publications"):
            publish_all(transport, publications("cluster/silent", 3))
