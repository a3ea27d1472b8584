"""Ask an ASGI application without a network."""

import asyncio
from typing import NamedTuple
from urllib.parse import unquote


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str


def ask(app, path, *, method="GET", headers=None, body=b""):
    """Send one request, by default as a browser on this machine would, and return the whole answer."""
    return asyncio.run(_ask(app, path, method, {"host": "127.0.0.1:9465", **(headers or {})}, body))


async def _ask(app, path, method, headers, body):
    raw, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": unquote(raw),
        "raw_path": raw.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 9465),
        "scheme": "http",
        "root_path": "",
        "http_version": "1.1",
    }
    received = [{"type": "http.request", "body": body, "more_body": False}]
    sent = []

    async def receive():
        return received.pop() if received else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    start = next(message for message in sent if message["type"] == "http.response.start")
    content = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
    found = {name.decode(): value.decode() for name, value in start["headers"]}
    return Answer(start["status"], found, content.decode())
