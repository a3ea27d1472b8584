"""Bindings and options as records and snapshots keep them: what a replay needs to be what the run was."""

from collections.abc import Sequence
from dataclasses import asdict

import orjson

from streamfs.gateway.core.bindings import Bindings, Route
from streamfs.gateway.core.options import Options


def described(bindings: Bindings, options: Options) -> bytes:
    """Write bindings and options as JSON.

    Returns
    -------
    bytes
        Empty if a route was not made by `Route.of` and so cannot be written.

    Examples
    --------
    >>> bindings, options = understood(described(Bindings.single(["light"], ["n1"]), Options()), ["light"])
    >>> bindings.streams, options.name
    (('n1',), 'gateway')
    """
    if not all(route.described for route in bindings.routes):
        return b""
    content = {
        "nodes_of": bindings.nodes_of,
        "discovers": bindings.discovers,
        "routes": [route.described for route in bindings.routes],
        "options": asdict(options),
    }
    return orjson.dumps(content)


def understood(content: bytes, channels: Sequence[str]) -> tuple[Bindings, Options]:
    """Read what `described` has written.

    Parameters
    ----------
    content : bytes
        Not empty.
    channels : sequence of str
        The channels to bind.

    Raises
    ------
    ValueError
        If the nodes have no such channels.
    """
    said = orjson.loads(content)
    routes = tuple(Route.of(**orjson.loads(route)) for route in said["routes"])
    bindings = Bindings(tuple(channels), said["nodes_of"], said["discovers"], routes)
    return bindings, Options(**said["options"])
