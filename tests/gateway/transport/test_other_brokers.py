"""Another broker than mosquitto, in the same process: iotcore, which the demo uses."""

import pytest
from helpers.transports import PATIENCE, connected, numbers, receive, send, until

from streamfs.cli.demo import embedded_broker
from streamfs.gateway.messages.publication import Publication


@pytest.fixture(scope="module")
def url():
    with embedded_broker() as port:
        yield f"mqtt://127.0.0.1:{port}"


class Address:
    """What `send` wants of a broker."""

    def __init__(self, url):
        self.url = url


def take(transport, n):
    """Take messages, and acknowledge each: the broker sends no more than it likes before."""
    taken = []
    while len(taken) < n:
        some = until(transport, lambda messages: messages, room=n - len(taken))
        transport.acknowledge(len(some))
        taken += some
    transport.poll(0.5, 0)
    return taken


def test_order_session_and_retained_messages_are_kept(url):
    session = {"client_id": "gateway", "session_expiry": 60}
    with connected(url, topics=["sensors/#"], **session) as first:
        send(Address(url), [b"%d" % number for number in range(300)])
        assert numbers(take(first, 200)) == list(range(200))
    with connected(url, topics=["sensors/#"], **session) as second:
        assert not second.session_lost
        assert numbers(take(second, 100)) == list(range(200, 300))
    with connected(url) as sender:
        assert sender.publish(Publication("streamfs/control/n1", b"1"))
        assert sender.drain(PATIENCE)
    with connected(url, topics=["streamfs/control/n1"]) as node:
        (message,) = receive(node, 1)
        assert (message.payload, message.retained) == (b"1", True)
