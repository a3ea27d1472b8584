"""HTTP: metrics for Prometheus, liveness and readiness."""

import logging
import math
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from ipaddress import ip_address
from threading import Condition, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs

import orjson

from streamfs.errors import PayloadError, StreamfsError
from streamfs.gateway.operations.actions import LONGEST_ACTION, Actions
from streamfs.gateway.operations.health import Health, Statistics
from streamfs.gateway.operations.view_file import NOW, STREAMS

if TYPE_CHECKING:
    from streamfs.gateway.operations.metrics import Metrics

_log = logging.getLogger(__name__)

PATIENCE = 5.0  # seconds that a client has to send its request, and again to accept the answer
LONGEST = 16_384  # most bytes of a request
MOST = 16  # simultaneous connections from this machine, and from others
_ROUND = 0.1  # seconds between checks for the end
VIEWS = {f"/view/{name}": name for name in (NOW, STREAMS)}
_FAREWELL = 0.5  # seconds for unfinished answers to break off
_PENANCE = 1.0  # seconds that a wrong token takes
_MERCY = 60.0  # seconds within which one is logged

_INDEX = b"""<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>streamfs gateway</title>
<h1>streamfs gateway</h1>
<ul>
<li><a href="/metrics">metrics</a>: metrics for Prometheus
<li><a href="/healthz">healthz</a>: whether the gateway's loop runs
<li><a href="/readyz">readyz</a>: whether the gateway works, and if not, why
<li><a href="/view/now">view/now</a>, <a href="/view/streams">view/streams</a>: for <code>streamfs page</code>
</ul></html>
"""


class Site(NamedTuple):
    """Address and TCP port of the server."""

    host: str
    port: int


def _nothing(_: str) -> bytes:
    return b""


class ForPages(NamedTuple):
    """What `streamfs page` asks for: the newest view of a kind, the course of a stream, and actions."""

    view: Callable[[str], bytes] = _nothing
    course: Callable[[str], bytes] = _nothing
    actions: Actions | None = None


@contextmanager
def serve(
    host: str,
    port: int,
    statistics: Callable[[], Statistics],
    health: Callable[[], Health],
    pages: ForPages | None = None,
) -> Iterator[Site]:
    """Answer HTTP requests in a thread until the block ends; port 0 is any free port.

    ``/metrics`` is for Prometheus. ``/healthz`` answers 200 while the loop runs, ``/readyz`` while the gateway
    works, and 503 otherwise; both list problems and warnings in JSON. ``/view/...`` and ``/course?stream=`` are
    for pages, and ``POST /do``, with a bearer's token, takes `Actions`. A request must be complete within 5 s and
    have at most 16 KiB; 16 from this machine and 16 from others are answered at a time, and with one more the one
    that takes longest is cut, so that slow or hostile clients cost the gateway little and keep nobody out. At the
    end all connections are cut. Raise a StreamfsError if the address cannot be listened on.
    """
    from streamfs.gateway.operations.metrics import Metrics  # noqa: PLC0415 - needs an extra

    if not 0 <= port <= 65_535:
        raise ValueError(f"port is {port}, expected 0 to 65535")
    server = _open(host, port, Metrics(statistics, health), health, pages or ForPages())
    thread = Thread(target=server.serve_forever, args=[_ROUND], name="streamfs-web", daemon=True)
    thread.start()
    try:
        yield Site(host, server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _open(host: str, port: int, metrics: "Metrics", health: Callable[[], Health], pages: ForPages) -> "_Server":
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return _Server(family, address, metrics, health, pages)
    except OSError as error:
        raise StreamfsError(f"cannot listen for HTTP on {host}, port {port}: {error.strerror}") from error


class _Server(ThreadingHTTPServer):
    """One thread per request; open sockets are tracked, to bound their number and to close them at the end."""

    daemon_threads = True
    request_queue_size = 128  # those that a flood has not let be accepted yet

    def __init__(
        self,
        family: socket.AddressFamily,
        address: Any,
        metrics: "Metrics",
        health: Callable[[], Health],
        pages: ForPages,
    ) -> None:
        self.address_family = family
        self.pages = pages
        self.metrics = metrics
        self.health = health
        self._connections: dict[Any, bool] = {}  # whether they come from this machine
        self._changed = Condition()
        self._accuses_from = -math.inf
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Bind without a lookup of the host's name."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = address = self.socket.getsockname()
        self.server_name, self.server_port = address[:2]

    def process_request(self, request: Any, client_address: Any) -> None:
        is_local = _is_local(client_address[0])
        with self._changed:
            alike = [each for each, local in self._connections.items() if local == is_local]
            self._connections[request] = is_local
            for slowest in alike[: max(len(alike) + 1 - MOST, 0)]:
                with suppress(OSError):  # the client may have closed it first
                    slowest.shutdown(socket.SHUT_RDWR)
        if len(alike) < 2 * MOST:
            super().process_request(request, client_address)
        else:  # those that were cut have not ended yet
            request.sendall(b"HTTP/1.0 503 Service Unavailable\r\n\r\n")
            self.shutdown_request(request)

    def accuse(self, client: str) -> None:
        """Log that somebody has no right token, once in a while."""
        if monotonic() >= self._accuses_from:
            self._accuses_from = monotonic() + _MERCY
            _log.warning(
                "somebody at %s asked for an action without the right token (further ones within %g s go unsaid)",
                client,
                _MERCY,
            )

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with self._changed:
            self._connections.pop(request, None)
            self._changed.notify()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base's signature
        error = sys.exception()
        level = logging.DEBUG if isinstance(error, OSError) else logging.ERROR  # clients come and go
        _log.log(level, "an HTTP request was not answered", exc_info=error)

    def server_close(self) -> None:
        """Stop listening, and cut open connections."""
        super().server_close()
        with self._changed:
            for request in self._connections:
                with suppress(OSError):  # the client may have closed it first
                    request.shutdown(socket.SHUT_RDWR)
            self._changed.wait_for(lambda: not self._connections, timeout=_FAREWELL)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version = "streamfs"
    sys_version = ""

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.rfile = BytesIO(_head(self.connection))

    def do_GET(self) -> None:
        """Answer a request."""
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._answer(HTTPStatus.OK, *self.server.metrics.page(self.headers.get("Accept", "")))
        elif path in ("/healthz", "/readyz"):
            self._answer_health(path)
        elif path in VIEWS and (view := self.server.pages.view(VIEWS[path])):
            self._answer(HTTPStatus.OK, view, "application/octet-stream")
        elif path == "/course":
            stream = parse_qs(self.path.partition("?")[2]).get("stream", [""])[0]
            self._answer(HTTPStatus.OK, self.server.pages.course(stream), "application/json")
        elif path == "/":
            self._answer(HTTPStatus.OK, _INDEX, "text/html; charset=utf-8")
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    do_HEAD = do_GET  # noqa: N815 - the base's name

    def do_POST(self) -> None:
        """Do what is asked with the right token."""
        actions = self.server.pages.actions
        if self.path != "/do" or actions is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        if not actions.admits(self.headers.get("Authorization", "").removeprefix("Bearer ")):
            self.server.accuse(str(self.client_address[0]))
            self._do_penance()
            self._answer_action(HTTPStatus.FORBIDDEN, "the token is not the right one")
            return
        try:
            self._answer_action(HTTPStatus.OK, actions.do(self._body(), str(self.client_address[0])))
        except PayloadError as error:
            self._answer_action(HTTPStatus.BAD_REQUEST, str(error))

    def _do_penance(self) -> None:
        """Wait, unless the connection is cut meanwhile, and leave out what else is sent."""
        end = monotonic() + _PENANCE
        with suppress(TimeoutError):
            while (left := end - monotonic()) > 0:
                self.connection.settimeout(left)
                if not self.connection.recv(LONGEST):
                    raise ConnectionError("a client has left, or was cut")
        self.connection.settimeout(PATIENCE)

    def _body(self) -> bytes:
        """Read what follows the head."""
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > LONGEST_ACTION:
            raise PayloadError(f"Content-Length is {length!r}, expected at most {LONGEST_ACTION}")
        body = self.rfile.read(int(length))
        while len(body) < int(length):
            piece = self.connection.recv(int(length) - len(body))
            if not piece:
                raise PayloadError(f"an action ends after {len(body)} bytes, expected {length}")
            body += piece
        return body

    def _answer_action(self, status: HTTPStatus, text: str) -> None:
        self._answer(status, orjson.dumps({"ok": status == HTTPStatus.OK, "text": text}), "application/json")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        _log.debug(format, *args)

    def _answer_health(self, path: str) -> None:
        health = self.server.health()
        problems = health.problems()
        is_well = health.is_alive() if path == "/healthz" else not problems
        status = HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE
        answer = {"ok": is_well, "problems": problems, "warnings": health.warnings()}
        self._answer(status, orjson.dumps(answer), "application/json")

    def _answer(self, status: HTTPStatus, page: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(page)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page)


def _is_local(host: str) -> bool:
    """Return whether an address is this machine's own: others must not keep its probes from being answered."""
    return ip_address(host.removeprefix("::ffff:").partition("%")[0]).is_loopback


def _head(connection: socket.socket) -> bytes:
    """Read a request up to the empty line that ends it, with what has come of its body."""
    head = b""
    deadline = monotonic() + PATIENCE
    while b"\r\n\r\n" not in head:
        connection.settimeout(max(deadline - monotonic(), 0.001))
        piece = connection.recv(LONGEST)
        head += piece
        if not piece or len(head) > LONGEST:
            raise ConnectionError(
                f"the request ends after {len(head)} bytes, expected a whole one of at most {LONGEST}"
            )
    connection.settimeout(PATIENCE)
    return head
