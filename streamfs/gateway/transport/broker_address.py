"""The address of a broker, credentials and TLS; nothing here knows MQTT."""

import os
import re
import socket
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from streamfs.base.plain_files import read_file
from streamfs.errors import TransportError

_EXPECTED = "expected mqtt://[user[:password]@]host[:port], or mqtts:// for TLS, and IPv6 in brackets: [::1]"
_PORTS = {"mqtt": 1883, "mqtts": 8883}


PROTOCOLS = ("5", "3.1.1")
"""Versions of MQTT."""


@dataclass(frozen=True)
class Tls:
    """How the broker is verified, by default by the system's authorities, and how the gateway identifies itself.

    The PEM files are read when this is made, so that an error is noticed at once, and again at every connection,
    so that a certificate can be renewed under a running gateway. The key has no password, and is by default in the
    certificate's file.
    """

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if self.key is not None and self.certificate is None:
            raise ValueError(f"key is {str(self.key)!r}, expected a certificate with it")
        self.context()

    def context(self) -> ssl.SSLContext:
        """Read the files; raise a TransportError if one cannot be read, or has the wrong content."""
        for path in (self.ca, self.certificate, self.key):
            if path is not None:
                _read(path, "file")
        try:
            context = ssl.create_default_context(cafile=self.ca)
        except ssl.SSLError as error:
            raise TransportError(f"{self.ca} holds no certificates of authorities: {error}") from error
        if self.certificate is not None:
            try:
                context.load_cert_chain(self.certificate, self.key, password="")  # never ask on a terminal
            except ssl.SSLError as error:
                files = f"{self.certificate} and {self.key}" if self.key else f"{self.certificate}"
                raise TransportError(
                    f"{files}: expected a certificate and its private key, without a password: {error}"
                ) from error
        return context


def check_host(host: str) -> None:
    """Raise a ValueError if a text cannot be a host."""
    try:
        is_host = bool(host.encode("idna")) and not re.search(r"[\s\0]", host)
    except UnicodeError:
        is_host = False
    if not is_host:
        raise ValueError(f"host is {host!r}, expected a host name or an IP address")


@dataclass(frozen=True)
class BrokerAddress:
    """The address of a broker, the credentials for it, and the version of MQTT that it speaks, "5" or "3.1.1".

    The password is never shown. TLS is used if given.
    """

    host: str
    port: int = 1883
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: Tls | None = None
    protocol: str = "5"

    def __post_init__(self) -> None:
        check_host(self.host)
        if not 1 <= self.port <= 65535:
            raise ValueError(f"port is {self.port}, expected a whole number from 1 to 65535")
        if self.protocol not in PROTOCOLS:
            raise ValueError(f"protocol is {self.protocol!r}, expected one of {', '.join(PROTOCOLS)}")
        if self.password is not None and self.user is None:
            raise ValueError("a password is given but no user, expected both")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def open(self, timeout: float) -> socket.socket:
        """Connect a socket, with TLS if wanted, within `timeout` seconds, not counting the host's lookup."""
        context = None if self.tls is None else self.tls.context()
        places = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        deadline = time.monotonic() + timeout
        plain = _first_that_answers(places, deadline)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.settimeout(_time_left(deadline))
        return plain if context is None else context.wrap_socket(plain, server_hostname=self.host)


def parse_url(url: str) -> BrokerAddress:
    """Parse a broker's URL, ``mqtt[s]://[user[:password]@]host[:port]``."""
    try:
        return _parse(url)
    except ValueError:
        # the error may be within the password: not even the cause is shown
        raise ValueError(f"broker is {_without_password(url)!r}, {_EXPECTED}") from None


def resolve(
    url: str,
    user: str | None = None,
    password: str | None = None,
    password_file: Path | None = None,
    password_env: str | None = None,
    ca: Path | None = None,
    certificate: Path | None = None,
    key: Path | None = None,
) -> BrokerAddress:
    """Combine a broker's URL with a password from elsewhere, and files for TLS as in `Tls`.

    A line end at the end of the password file is not part of the password. A ValueError says that something is
    given twice, or that there are files for TLS but the URL has no TLS.
    """
    address = parse_url(url)
    if address.tls is None and (ca or certificate or key):
        raise ValueError(
            f"broker is {_without_password(url)!r}, expected mqtts:// with a certificate, a key or a ca"
        )
    passwords = {
        "the URL": address.password,
        "password": password,
        "password_file": None if password_file is None else _read_password(password_file),
        "password_env": None if password_env is None else _look_up(password_env),
    }
    return BrokerAddress(
        address.host,
        address.port,
        _only_one("user", {"the URL": address.user, "user": user}),
        _only_one("password", passwords),
        None if address.tls is None else Tls(ca, certificate, key),
    )


def _parse(url: str) -> BrokerAddress:
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(url)
    return BrokerAddress(
        parts.hostname or "",
        _PORTS[parts.scheme] if parts.port is None else parts.port,
        None if parts.username is None else unquote(parts.username),
        None if parts.password is None else unquote(parts.password),
        Tls() if parts.scheme == "mqtts" else None,
    )


def _without_password(url: str) -> str:
    """Replace everything from the first colon of the credentials to the last @ by stars."""
    before, at, host = url.rpartition("@")
    scheme, separator, credentials = before.partition("://") if "://" in before else ("", "", before)
    user, colon, _ = credentials.partition(":")
    return f"{scheme}{separator}{user}{':***' if colon else ''}{at}{host}"


def _only_one(what: str, sources: dict[str, str | None]) -> str | None:
    given = {source: value for source, value in sources.items() if value is not None}
    if len(given) > 1:
        raise ValueError(f"{what} is given by {' and by '.join(given)}, expected one of them")
    return next(iter(given.values()), None)


def _look_up(variable: str) -> str:
    value = os.environ.get(variable)
    if value is None:
        raise TransportError(f"environment variable {variable} is not set, expected it to hold the password")
    return value


def _read_password(path: Path) -> str:
    try:
        text = _read(path, "password file").decode("utf-8-sig")  # editors put marks in front
    except UnicodeDecodeError as error:
        raise TransportError(f"password file {path} is not UTF-8") from error
    return re.sub(r"\r?\n\Z", "", text)


def _read(path: Path, what: str) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise TransportError(f"{what} {path} cannot be read: {error.strerror}") from error


def _first_that_answers(places: list[Any], deadline: float) -> socket.socket:
    """Try the addresses of a host in turn, each with an equal share of the time that is left."""
    for n_left, place in zip(range(len(places), 1, -1), places, strict=False):
        with suppress(OSError):
            return _dial(place, _time_left(deadline) / n_left)
    return _dial(places[-1], _time_left(deadline))


def _dial(place: Any, timeout: float) -> socket.socket:
    family, kind, protocol, _, address = place
    dialled = socket.socket(family, kind, protocol)
    try:
        dialled.settimeout(timeout)
        dialled.connect(address)
    except BaseException:
        dialled.close()
        raise
    return dialled


def _time_left(deadline: float) -> float:
    """Return the seconds until the deadline, never 0: a socket without a timeout would wait forever."""
    return max(deadline - time.monotonic(), 1e-3)
