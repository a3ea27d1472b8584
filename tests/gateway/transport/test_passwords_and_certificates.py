"""A broker that refuses: passwords and certificates."""

import hashlib
import logging
import os
import time
from base64 import b64encode
from datetime import UTC, datetime

import pytest
from helpers.authority import Authority
from helpers.broker import Broker
from helpers.proxy import Proxy
from helpers.transports import PATIENCE, QUICK, Actor, connected, ending, numbers, receive, until

from streamfs.errors import TransportError
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.transport.broker_address import resolve
from streamfs.gateway.transport.transport import Transport

mqtt = pytest.mark.mqtt


@pytest.fixture
def locked(broker, tmp_path):  # noqa: ARG001
    """Run a broker that knows one user."""
    path = tmp_path / "passwords"
    hashed = hashlib.pbkdf2_hmac("sha512", b"s3cret", b"grainsofsalt", 101)
    path.write_text(f"me:$7$101${b64encode(b'grainsofsalt').decode()}${b64encode(hashed).decode()}\n")
    with Broker(f"allow_anonymous false\npassword_file {path}") as own:
        yield own


@mqtt
def test_the_right_password_opens(locked):
    address = resolve(locked.url, "me", "s3cret")
    with ending(Transport(address)) as transport:
        transport.connect(PATIENCE)
        assert transport.is_connected


@mqtt
def test_a_wrong_password_is_an_error_at_first(locked):
    with ending(Transport(resolve(locked.url, "me", "wr0ng"))) as transport:
        assert not transport.trouble
        with pytest.raises(TransportError, match="refuses the connection: Not authorized; look at user"):
            transport.connect(PATIENCE)
        assert transport.counters["refused_connections"] == 1
        assert "refuses the connection: Not authorized; look at user and password" in transport.trouble


def test_the_version_to_try_at_a_broker_that_refuses_ours_is_named():
    for refusal in (b"\x20\x03\x00\x84\x00", b"\x20\x02\x00\x01"):  # of MQTT 5, and of a broker that knows 3 alone
        with (
            Actor(refusal) as actor,
            ending(Transport(resolve(actor.url))) as transport,
            pytest.raises(TransportError, match=r'Unsupported protocol version; try protocol = "3\.1\.1"'),
        ):
            transport.connect(PATIENCE)


@mqtt
def test_a_wrong_password_is_logged_once_and_tried_ever_more_rarely(locked, caplog):
    started = time.monotonic()
    with ending(Transport(resolve(locked.url, "me", "wr0ng"), **QUICK)) as transport:
        until(transport, lambda _: transport.counters["refused_connections"] == 5)
    assert time.monotonic() - started >= (0.02 + 0.04 + 0.08 + 0.1) / 2
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "refuses the connection: Not authorized" in caplog.text
    assert "wr0ng" not in caplog.text


@mqtt
@pytest.mark.usefixtures("broker")
def test_tls_with_certificates_on_both_sides(authority, tmp_path):
    theirs, ours = authority.issue("127.0.0.1"), authority.issue("gateway.example")
    with Broker(f"{authority.settings(*theirs)}\nrequire_certificate true") as secret:
        url = f"mqtts://127.0.0.1:{secret.port}"
        with connected(resolve(url, ca=authority.ca, certificate=ours[0], key=ours[1]), topics=["t"]) as transport:
            payload = os.urandom(200_000)
            for _ in range(20):
                while not transport.publish(Publication("t", payload, retain=False)):
                    transport.poll(0.05, room=0)
            messages = receive(transport, 20)
            assert {message.payload for message in messages} == {payload}
            transport.acknowledge(20)
        with ending(Transport(resolve(url, ca=authority.ca), **QUICK)) as stranger:
            with pytest.raises(TransportError, match=f"{secret.port} has closed the connection.*alert.*key$"):
                stranger.connect(PATIENCE)
            until(stranger, lambda _: stranger.counters["failed_connections"] == 3)
        (folder := tmp_path / "other").mkdir()
        certificate, key = Authority(folder).issue("gateway.example")
        foreign = Transport(resolve(url, ca=authority.ca, certificate=certificate, key=key), **QUICK)
        with (
            ending(foreign) as stranger,
            pytest.raises(TransportError, match="look at the dates of the client's certificate"),
        ):
            stranger.connect(PATIENCE)


@mqtt
@pytest.mark.usefixtures("broker")
def test_tls_byte_by_byte(authority):
    with Broker(authority.settings(*authority.issue("127.0.0.1"))) as secret, Proxy(secret.port) as proxy:
        proxy.trickle(1)
        address = resolve(f"mqtts://127.0.0.1:{proxy.port}", ca=authority.ca)
        with connected(address, topics=["t"], connect_timeout=PATIENCE) as transport:
            transport.publish(Publication("t", b"1"))
            assert numbers(receive(transport, 1)) == [1]


EXPIRED = {"not_before": datetime(2020, 1, 1, tzinfo=UTC), "not_after": datetime(2020, 1, 2, tzinfo=UTC)}


@mqtt
@pytest.mark.usefixtures("broker")
@pytest.mark.parametrize(
    ("name", "times", "reason"),
    [
        ("127.0.0.1", EXPIRED, "certificate has expired; renew it at the broker"),
        ("127.0.0.2", {}, "'127.0.0.1'.; write a host that the certificate names into the URL"),
    ],
)
def test_a_certificate_that_is_wrong_is_logged_once(authority, caplog, name, times, reason):
    with Broker(authority.settings(*authority.issue(name, **times))) as wrong:
        address = resolve(f"mqtts://127.0.0.1:{wrong.port}", ca=authority.ca)
        with ending(Transport(address, **QUICK)) as transport:
            until(transport, lambda _: transport.counters["failed_connections"] == 3)
    assert len(caplog.records) == 1
    assert reason in caplog.text


@mqtt
@pytest.mark.usefixtures("broker")
def test_a_certificate_can_be_renewed_under_a_running_gateway(authority, tmp_path):
    """Nothing is asserted: `until` raises if the transport does not come back, and pytest on every warning."""
    certificate, key = authority.issue("127.0.0.1")
    with Broker(authority.settings(certificate, key)) as secret, Proxy(secret.port) as proxy:
        address = resolve(f"mqtts://127.0.0.1:{proxy.port}", ca=authority.ca)
        with connected(address) as transport:
            held = authority.ca.rename(tmp_path / "away.pem")
            proxy.cut()
            until(transport, lambda _: transport.counters["failed_connections"] == 2)
            held.rename(authority.ca)
            until(transport, lambda _: transport.is_connected)
