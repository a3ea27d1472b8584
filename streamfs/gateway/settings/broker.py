"""Section ``[broker]`` of ``gateway.toml``."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from streamfs.gateway.settings.toml_section import Section
from streamfs.gateway.transport.broker_address import BrokerAddress, parse_url, resolve

_BYTES_2, _BYTES_4 = 2**16 - 1, 2**32 - 1  # largest numbers that MQTT has room for


@dataclass(frozen=True)
class Broker:
    """The connection to the broker.

    Parameters
    ----------
    url : str
        ``mqtt[s]://[user[:password]@]host[:port]``.
    client_id : str
        Name towards the broker, which keeps what it has for us under it.
    user : str, optional
        Who we are to the broker.
    password, password_file, password_env : str, pathlib.Path or str, optional
        What proves it, or where it is to be had; at most one of them.
    ca, certificate, key : pathlib.Path, optional
        For TLS: who may vouch for the broker, and what vouches for us.
    keepalive : int
        Seconds of silence after which the connection is probed.
    qos : int
        Quality of service of subscriptions, 0 or 1.
    receive_maximum : int
        Messages that the broker may have sent without one being acknowledged.
    session_expiry : int
        Seconds for which the broker keeps messages while we are away.
    """

    url: str = field(repr=False)
    client_id: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    password_file: Path | None = None
    password_env: str | None = None
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    keepalive: int = 30
    qos: int = 1
    receive_maximum: int = 1000
    session_expiry: int = 86_400

    @classmethod
    def read(cls, section: Section, name: str) -> Self:
        """Read the section of the gateway of that name."""
        url = section.needed("url", "the broker's URL, such as mqtts://broker.example")
        try:
            parse_url(url)
        except ValueError as error:
            if url:
                section.note("url", str(error).removeprefix("broker "))
        given = [key for key in ("password", "password_file", "password_env") if key in section]
        if len(given) > 1:
            section.note(given[1], f"is there beside {given[0]}, expected one of them")
        if "key" in section and "certificate" not in section:
            section.note("key", "is there without certificate, expected both")
        return cls(
            url,
            section.text("client_id", f"streamfs-{name}"),
            section.text("user", None),
            section.secret("password"),
            section.path("password_file"),
            section.text("password_env", None),
            section.path("ca"),
            section.path("certificate"),
            section.path("key"),
            section.whole("keepalive", cls.keepalive, 1, _BYTES_2),
            section.whole("qos", cls.qos, 0, 1),
            section.whole("receive_maximum", cls.receive_maximum, 1, _BYTES_2),
            section.whole("session_expiry", cls.session_expiry, 0, _BYTES_4),
        )

    def address(self) -> BrokerAddress:
        """Return where the broker is; secrets and certificates are read now.

        Raises
        ------
        TransportError
            If a file cannot be read, or a variable is not set.
        ValueError
            If what is given does not go together.
        """
        return resolve(
            self.url,
            self.user,
            self.password,
            self.password_file,
            self.password_env,
            self.ca,
            self.certificate,
            self.key,
        )
