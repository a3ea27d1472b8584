"""Where the broker is, and with which credentials."""

import socket
import time
from pathlib import Path

import pytest
from helpers.transports import PATIENCE

from streamfs.errors import TransportError
from streamfs.gateway.transport import broker_address
from streamfs.gateway.transport.broker_address import BrokerAddress, Tls, parse_url, resolve
from streamfs.gateway.transport.transport import Transport


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("mqtt://broker", BrokerAddress("broker", 1883)),
        ("mqtt://10.0.0.1:1884/", BrokerAddress("10.0.0.1", 1884)),
        ("mqtt://me@broker", BrokerAddress("broker", 1883, "me")),
        ("mqtt://me:p%40ss@[::1]:1", BrokerAddress("::1", 1, "me", "p@ss")),
        ("mqtts://broker", BrokerAddress("broker", 8883, tls=Tls())),
        ("mqtts://broker:1883", BrokerAddress("broker", 1883, tls=Tls())),
    ],
)
def test_a_url_names_a_broker(url, address):
    assert parse_url(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "",
        "broker",
        "http://broker",
        "mqtt://",
        "mqtt://a..b",
        "mqtt://my broker",
        "mqtt://broker:x",
        "mqtt://broker:0",
        "mqtt://broker:70000",
        "mqtt://broker/topic",
    ],
)
def test_a_url_that_names_no_broker_is_refused(url):
    with pytest.raises(ValueError, match=f"broker is '{url}', expected mqtt"):
        Transport(url)


@pytest.mark.parametrize("url", ["http://me:secret@broker", "mqtt://me:se/cret@broker", "mqtt://me:se@c:ret@b:x"])
def test_a_password_is_not_shown_in_an_error(url):
    with pytest.raises(ValueError, match=r"me:\*\*\*@b") as caught:
        parse_url(url)
    assert "cret" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_password_is_not_shown_in_an_address():
    address = resolve("mqtt://broker", "me", "secret")
    assert "secret" not in f"{address!r} {address}"


def test_an_address_with_a_port_shows_both():
    assert str(BrokerAddress("::1", 7)) == "[::1]:7"


@pytest.mark.parametrize(
    ("text", "password"),
    [("s3\n", "s3"), ("s3\r\n", "s3"), ("s3\n\n", "s3\n"), (" s3", " s3"), ("\ufeffs3", "s3")],
)
def test_a_password_file_holds_a_line(tmp_path, text, password):
    path = tmp_path / "password"
    path.write_text(text, encoding="utf-8", newline="")
    assert resolve("mqtt://me@broker", password_file=path).password == password


def test_a_password_can_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("STREAMFS_TEST_PASSWORD", "s3")
    assert resolve("mqtt://me@broker", password_env="STREAMFS_TEST_PASSWORD").password == "s3"  # noqa: S105, S106


@pytest.mark.parametrize(
    ("settings", "error", "named"),
    [
        ({"password_env": "STREAMFS_UNSET"}, TransportError, "STREAMFS_UNSET is not set"),
        (
            {"password_file": Path("/nowhere/password")},
            TransportError,
            "/nowhere/password cannot be read: No such",
        ),
        ({"user": "you"}, ValueError, "user is given by the URL and by user"),
        (
            {"password": "a", "password_env": "HOME"},
            ValueError,
            "password is given by password and by password_env",
        ),
        ({"ca": Path("ca.pem")}, ValueError, "'mqtt://me@broker', expected mqtts"),
    ],
)
def test_what_cannot_be_put_together_is_refused_by_name(settings, error, named):
    with pytest.raises(error, match=named):
        resolve("mqtt://me@broker", **settings)


def test_a_password_needs_a_user():
    with pytest.raises(ValueError, match="a password is given but no user"):
        resolve("mqtt://broker", password="s3")  # noqa: S106


def test_a_password_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "password").write_bytes(b"\xff")
    with pytest.raises(TransportError, match="password is not UTF-8"):
        resolve("mqtt://me@broker", password_file=tmp_path / "password")


def test_files_for_tls_are_read_when_they_are_named(authority, tmp_path):
    certificate, key = authority.issue("me.example")
    _, other = authority.issue("other.example")
    nothing = tmp_path / "nothing.pem"
    with pytest.raises(TransportError, match=r"nothing\.pem cannot be read: No such file"):
        Tls(ca=nothing)
    nothing.write_text("nothing")
    with pytest.raises(TransportError, match=r"nothing\.pem holds no certificates"):
        Tls(ca=nothing)
    with pytest.raises(
        TransportError, match=r"nothing\.pem and .*key: expected a certificate and its private key"
    ):
        Tls(certificate=nothing, key=key)
    with pytest.raises(TransportError, match=r"me\.example\.pem and .*other\.example\.key: expected a cert"):
        Tls(certificate=certificate, key=other)
    with pytest.raises(TransportError, match=r"me\.example\.pem: expected a certificate and its private key"):
        Tls(certificate=certificate)
    with pytest.raises(ValueError, match=r"me\.example\.key', expected a certificate"):
        Tls(key=key)


def test_a_key_with_a_password_is_refused_without_a_question(authority):
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - comes with trustme

    certificate, key = authority.issue("me.example")
    plain = serialization.load_pem_private_key(key.read_bytes(), None)
    locked = serialization.BestAvailableEncryption(b"s3")
    formats = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    key.write_bytes(plain.private_bytes(*formats, locked))
    with pytest.raises(TransportError, match="without a password"):
        Tls(certificate=certificate, key=key)


def test_each_address_of_a_host_is_tried():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        places = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (name, listener.getsockname()[1])) for name in HOSTS]
        deadline = time.monotonic() + PATIENCE
        with broker_address._first_that_answers(places, deadline) as opened:
            assert opened.getpeername()[0] == "127.0.0.1"
        with pytest.raises(ConnectionRefusedError):
            broker_address._first_that_answers(places[:1], deadline)


HOSTS = "127.0.0.2", "127.0.0.1", "127.0.0.3"
