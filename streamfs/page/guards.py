"""Who may see the page: only those who ask for it by its own name, and with the password, if there is one."""

import hmac
from base64 import b64decode
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a browser may load for a page: what this server has, and no script or style within the page."""

_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class Guards:
    """Refuses requests for other hosts, or without the password, and says what browsers may load.

    A page of another site whose name is made to mean this address (DNS rebinding) asks for that name.

    Parameters
    ----------
    app : callable
        What answers.
    hosts : collection of str
        Names under which the page may be asked for, in small letters; all if there are none.
    password : str, optional
        Of whatever user name (HTTP's Basic).
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], password: str | None = None) -> None:
        self._app = app
        self._hosts = hosts
        self._password = password

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                named = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(each for each in _HEADERS if each[0] not in named)]
            await send(message)

        refusal = self._refusal(Headers(scope=scope))
        await (self._app if refusal is None else refusal)(scope, receive, guarded)

    def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        host = _without_port(headers.get("host", ""))
        if self._hosts and host not in self._hosts:
            return PlainTextResponse(f"this page is not {host[:80]}\n", 421)
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != headers.get("host", ""):
            return PlainTextResponse("this page takes nothing from other sites\n", 403)
        if self._password is not None and not _knows(headers.get("authorization", ""), self._password):
            return PlainTextResponse(
                "the password is needed\n", 401, {"WWW-Authenticate": 'Basic realm="streamfs", charset="UTF-8"'}
            )
        return None


def _without_port(host: str) -> str:
    """Return the name in a Host header.

    Examples
    --------
    >>> _without_port("Attic.example:8080"), _without_port("[::1]:80"), _without_port("[::1]")
    ('attic.example', '[::1]', '[::1]')
    """
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdecimal() else host.lower()


def _knows(authorization: str, password: str) -> bool:
    kind, _, coded = authorization.partition(" ")
    if kind.lower() != "basic":
        return False
    try:
        said = b64decode(coded, validate=True).partition(b":")[2]
    except ValueError:  # not base64, or not ASCII
        return False
    return hmac.compare_digest(said, password.encode())
