"""The page's server: pages, their live parts, what they are drawn with, and actions that are passed on."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from urllib.parse import parse_qs

import anyio
import orjson
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from streamfs.errors import PayloadError
from streamfs.page.actions import act
from streamfs.page.guards import Guards
from streamfs.page.live import changes
from streamfs.page.pages import Page, problem, render, render_all, static
from streamfs.page.watched import Watched

MOST_CLIENTS = 64
"""Browsers that are kept up to date at a time; others have to be reloaded."""

_LONGEST_FORM = 16_384  # bytes
_LOOK = 5.0  # seconds between looks at each gateway while nobody watches
_TYPES = {"page.css": "text/css", "page.js": "text/javascript"}
_NO_STORE = {"Cache-Control": "no-store"}


class Server:
    """Answers what browsers ask about some gateways."""

    def __init__(self, gateways: Sequence[Watched]) -> None:
        self._gateways = gateways
        self._n_live = 0

    def show(self, request: Request) -> Response:
        """Return a page, or a redirection to the only gateway."""
        if "number" not in request.path_params and len(self._gateways) == 1:
            return RedirectResponse("/1/", headers=_NO_STORE)
        try:
            return HTMLResponse(self._page(request)().whole, headers=_NO_STORE)
        except LookupError as error:
            return HTMLResponse(problem(str(error.args[0])), 404, _NO_STORE)

    async def follow(self, request: Request) -> Response:
        """Return the changes of a page, for as long as the browser listens."""
        if self._n_live >= MOST_CLIENTS:
            return Response("too many browsers follow\n", 503)
        page = self._page(request)
        try:
            await run_sync(page)
        except LookupError:
            return Response(status_code=204)  # so that the browser does not try again
        return StreamingResponse(self._counted(changes(lambda: page().parts, self._moved)), headers=_STREAM)

    async def do(self, request: Request) -> Response:
        """Pass on what is asked of a gateway."""
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > _LONGEST_FORM:
                return Response("the form is too long\n", 413)
        form = {name: values[0] for name, values in parse_qs(body.decode(errors="replace")).items()}
        client = "?" if request.client is None else request.client.host
        try:
            said, is_done = await run_sync(act, self._gateway(request), form, client), True
        except (PayloadError, LookupError) as error:
            said, is_done = str(error.args[0]), False
        status = 200 if is_done else 400
        if "application/json" in request.headers.get("accept", ""):
            return Response(orjson.dumps({"ok": is_done, "text": said}), status, _NO_STORE, "application/json")
        return HTMLResponse(problem(said, is_done=is_done), status, _NO_STORE)

    async def look(self) -> None:
        """Look at each gateway now and then, so that there is a past to show."""
        while True:
            for gateway in self._gateways:
                await run_sync(gateway.now)
            await anyio.sleep(_LOOK)

    def _gateway(self, request: Request) -> Watched:
        number = int(request.path_params["number"])
        if not 1 <= number <= len(self._gateways):
            raise LookupError("there is no such gateway")
        return self._gateways[number - 1]

    def _page(self, request: Request) -> Callable[[], Page]:
        if "number" not in request.path_params:
            return partial(render_all, self._gateways)
        number, kind = int(request.path_params["number"]), request.path_params.get("kind", "")
        return partial(render, self._gateways, number, kind, dict(request.query_params))

    def _moved(self) -> tuple[object, ...]:
        return tuple(gateway.moved() for gateway in self._gateways)

    async def _counted(self, events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        self._n_live += 1
        try:
            async for event in events:
                yield event
        finally:
            self._n_live -= 1


_STREAM = {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def _send_static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _TYPES:
        return Response(status_code=404)
    return Response(static(name)[0], 200, {"Cache-Control": "max-age=31536000, immutable"}, _TYPES[name])


def application(
    gateways: Sequence[Watched], hosts: Collection[str] = (), password: str | None = None
) -> Starlette:
    """Return the server as an ASGI application.

    Parameters
    ----------
    gateways : sequence of Watched
        What is shown.
    hosts : collection of str
        Names under which it may be asked for; any, if there are none.
    password : str, optional
        What visitors have to know.
    """
    server = Server(gateways)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[Mapping[str, object]]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.look)
            yield {}
            tasks.cancel_scope.cancel()

    routes = [
        Route("/", server.show),
        Route("/static/{name}", _send_static),
        Route("/live/", server.follow),
        Route("/live/{number:int}/", server.follow),
        Route("/live/{number:int}/{kind}", server.follow),
        Route("/{number:int}/do", server.do, methods=["POST"]),
        Route("/{number:int}/", server.show),
        Route("/{number:int}/{kind}", server.show),
    ]
    guards = Middleware(Guards, hosts=hosts, password=password)
    return Starlette(routes=routes, middleware=[guards], lifespan=lifespan)
