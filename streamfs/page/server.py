"""Serve the page until it is stopped."""

from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path

import uvicorn

from streamfs.base.plain_files import read_text
from streamfs.errors import StreamfsError
from streamfs.page.asgi import application
from streamfs.page.sources import source_of
from streamfs.page.watched import Watched

SHORTEST_PASSWORD = 8
"""Fewest characters of a password."""

_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_FAREWELL = 1  # seconds for connections to end


def is_local(host: str) -> bool:
    """Return whether only this machine can reach an address.

    Examples
    --------
    >>> is_local("127.0.0.1"), is_local("0.0.0.0"), is_local("localhost")
    (True, False, True)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_password(path: Path) -> str:
    """Return the password in a file; raise a StreamfsError if it is too short."""
    password = read_text(path).strip()
    if len(password) < SHORTEST_PASSWORD:
        raise StreamfsError(f"{path} has {len(password)} characters, expected {SHORTEST_PASSWORD} or more")
    return password


def server(
    places: Sequence[str],
    host: str = "127.0.0.1",
    port: int = 9465,
    *,
    password: str | None = None,
    names: Sequence[str] = (),
) -> uvicorn.Server:
    """Return a server of the page, to be run.

    Parameters
    ----------
    places : sequence of str
        Folders of states or views, and addresses of gateways.
    host : str
        HttpGateway to listen on; if other machines can reach it, there must be a password.
    port : int
        TCP port.
    password : str, optional
        What visitors have to know.
    names : sequence of str
        Further names under which the page is asked for.

    Raises
    ------
    ValueError
        If a place is neither a folder nor an address.
    StreamfsError
        If other machines can reach the page without a password.
    """
    if not is_local(host) and password is None:
        raise StreamfsError(f"{host} can be reached by other machines: set a password, or listen on 127.0.0.1")
    gateways = [Watched(number, source_of(place)) for number, place in enumerate(places, 1)]
    hosts = {*_LOCAL, host.lower(), *(name.lower() for name in names)} if is_local(host) or names else ()
    settings = uvicorn.Config(
        application(gateways, hosts, password),
        host=host,
        port=port,
        loop="asyncio",
        http="h11",
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_FAREWELL,
        h11_max_incomplete_event_size=65_536,
    )
    return uvicorn.Server(settings)
