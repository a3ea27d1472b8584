"""Section ``[broker]`` of ``gateway.toml``."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from streamfs.gateway.core.option_declaration import Option, OptionSection
from streamfs.gateway.transport.broker_address import PROTOCOLS, BrokerAddress, parse_url, resolve

_BYTES_2, _BYTES_4 = 2**16 - 1, 2**32 - 1  # largest two- and four-byte numbers of MQTT


def _check_url(url: str) -> None:
    try:
        parse_url(url)
    except ValueError as error:
        raise ValueError(f"url {str(error).removeprefix('broker ')}") from error


@dataclass(frozen=True)
class Broker(OptionSection):
    """Section ``[broker]``: the connection to the broker."""

    url: Annotated[
        str,
        Option(
            "The broker's URL: mqtt[s]://[user[:password]@]host[:port]; mqtts is TLS",
            check=_check_url,
            example="mqtts://broker.example",
        ),
    ] = field(repr=False)
    client_id: Annotated[
        str, Option('Unique at the broker; "streamfs-" and the name by default', example="streamfs-attic")
    ]
    user: Annotated[str | None, Option("User name", example="attic")] = None
    password: Annotated[
        str | None,
        Option("The password", is_secret=True),
    ] = field(default=None, repr=False)
    password_file: Annotated[
        Path | None,
        Option('File with the password; or password_env = "VARIABLE", or password = "..."', example="password"),
    ] = None
    password_env: Annotated[str | None, Option("Environment variable with the password")] = None
    ca: Annotated[
        Path | None,
        Option("Certificate authorities for TLS; the system's by default", example="ca.pem"),
    ] = None
    certificate: Annotated[Path | None, Option("Client certificate for TLS,", example="attic.pem")] = None
    key: Annotated[Path | None, Option("and its key", example="attic.key")] = None
    protocol: Annotated[str, Option('Version of MQTT: "5" or "3.1.1"', choices=PROTOCOLS)] = "5"
    keepalive: Annotated[
        int, Option("Seconds of silence before the connection is probed", least=1, most=_BYTES_2)
    ] = 30
    qos: Annotated[
        int, Option("QoS of subscriptions, 0 or 1; with 0 the broker may drop messages", least=0, most=1)
    ] = 1
    receive_maximum: Annotated[
        int, Option("Unacknowledged messages that the broker may send", least=1, most=_BYTES_2)
    ] = 1000
    session_expiry: Annotated[
        int,
        Option("Seconds the broker keeps messages while the gateway is away", least=0, most=_BYTES_4),
    ] = 86_400

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Yield what does not go together: a key, and what is wrong with it."""
        given = [key for key in ("password", "password_file", "password_env") if getattr(self, key) is not None]
        if len(given) > 1:
            yield given[1], f"is set besides {given[0]}, expected one of them"
        if self.key is not None and self.certificate is None:
            yield "key", "is set without certificate, expected both"

    def address(self) -> BrokerAddress:
        """Return the address of the broker, reading secrets; raise a TransportError if one cannot be read."""
        address = resolve(
            self.url,
            self.user,
            self.password,
            self.password_file,
            self.password_env,
            self.ca,
            self.certificate,
            self.key,
        )
        return replace(address, protocol=self.protocol)
