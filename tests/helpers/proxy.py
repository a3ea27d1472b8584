"""A network between a client and a broker that can be made to fail."""

import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from select import select
from threading import Event, Thread
from types import TracebackType
from typing import Self

HOST = "127.0.0.1"
PATIENCE = 10.0  # seconds for the proxy's thread to obey
CHUNK = 1 << 16  # bytes read at once
MAX_WAITING = 1 << 10  # chunks or pieces on one way beyond which no more is read
PAUSE = 0.0005  # seconds between pieces, so that they do not join again
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with a reset


class Proxy:
    """Connections to a broker through which a network's faults can be played.

    A context: it works from its entry on, and resets everything at its exit. Clients connect to `port` (or `url`)
    instead of the broker's. One thread moves the bytes; a method returns once that thread has done what it says,
    so that a test need not wait. A fault stays until it is undone, for later connections as well.

    Parameters
    ----------
    port : int
        Port of the broker.
    host : str
        Machine of the broker.

    Attributes
    ----------
    port : int
        Where to connect; the same over `refuse` and `accept`.
    n_connections : int
        Connections that clients have made to the proxy, with a broker behind it or not.
    n_cut : int
        Connections that were reset by `cut` or by `resume`.
    n_bytes_to_broker, n_bytes_to_client : int
        Bytes that have been passed on.
    n_swallowed : int
        Bytes that have got lost in a stall.
    n_pieces : int
        Times that bytes were passed on.

    Examples
    --------
    A network that fails for a while, with or without saying so::

        with Proxy(broker.port) as proxy, closing(Transport(proxy.url)) as transport:
            transport.connect()
            proxy.stall()  # a cable is pulled: neither side is notified
            ...
            proxy.resume()  # connections that missed something are reset
            proxy.cut()  # and now all of them are
            assert proxy.n_cut == 1
    """

    def __init__(self, port: int, host: str = HOST) -> None:
        self.n_connections = self.n_cut = self.n_swallowed = self.n_pieces = 0
        self.n_bytes_to_broker = self.n_bytes_to_client = 0
        self._broker = host, port
        self._seconds = 0.0
        self._n_bytes = CHUNK
        self._is_stalled = self._is_over = False
        self._links: list[_Link] = []
        self._orders: deque[tuple[Callable[[], None], Event]] = deque()
        self._woken, self._waker = socket.socketpair()
        self._listener: socket.socket | None = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = Thread(target=self._run, name="proxy", daemon=True)

    @property
    def url(self) -> str:
        return f"mqtt://{HOST}:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._do(self._finish)
        self._thread.join(PATIENCE)
        self._waker.close()

    def cut(self) -> None:
        """Reset all connections, on both sides; new ones are let through."""
        self._do(partial(self._reset, lambda _link: True))

    def refuse(self) -> None:
        """Refuse new connections; existing ones stay open."""
        self._do(self._stop_listening)

    def accept(self) -> None:
        """Let new connections through again."""
        self._do(self._listen)

    def stall(self) -> None:
        """Drop data both ways; connections stay, and neither side notices that the other has closed."""
        self._do(self._stall)

    def resume(self) -> None:
        """End a stall. Connections that missed something are reset: a stream with a hole cannot go on."""
        self._do(self._resume)

    def delay(self, seconds: float) -> None:
        """Delay data by `seconds`, each way; 0 for no delay."""
        self._do(partial(setattr, self, "_seconds", seconds))

    def trickle(self, n_bytes: int) -> None:
        """Forward data in pieces of `n_bytes`, two per millisecond; 0 for all at once."""
        self._do(partial(setattr, self, "_n_bytes", n_bytes or CHUNK))

    def _do(self, order: Callable[[], None]) -> None:
        done = Event()
        self._orders.append((order, done))
        self._waker.send(b"\0")
        if not done.wait(PATIENCE):
            raise TimeoutError(f"the proxy's thread has not answered within {PATIENCE} s")

    def _run(self) -> None:
        while not self._is_over:
            now = time.monotonic()
            ways = [way for link in self._links for way in link.directions]
            dues = [way.waiting[0][0] for way in ways if way.waiting]
            readers = [way.source for way in ways if way.is_open and len(way.waiting) < MAX_WAITING]
            readers += [self._woken, *([] if self._listener is None else [self._listener])]
            writers = [way.sink for way in ways if way.waiting and way.waiting[0][0] <= now]
            soonest = min((due for due in dues if due > now), default=now + PATIENCE)
            readable, writable, _ = select(readers, writers, [], soonest - now)
            for link in list(self._links):
                self._move(link, readable, writable)
            if self._listener in readable:
                self._connect(self._listener)
            if self._woken in readable:
                self._obey()

    def _obey(self) -> None:
        self._woken.recv(CHUNK)
        while self._orders:
            order, done = self._orders.popleft()
            order()
            done.set()

    def _connect(self, listener: socket.socket) -> None:
        client, _ = listener.accept()
        self.n_connections += 1
        try:
            broker = socket.create_connection(self._broker, PATIENCE)
        except OSError:
            reset(client)
        else:
            self._links.append(_Link(client, broker))

    def _move(self, link: "_Link", readable: list[socket.socket], writable: list[socket.socket]) -> None:
        """Pass on what can be passed on; a link ends as one of its sides does."""
        try:
            for way in link.directions:
                if way.sink in writable:
                    self._write(way, link)
                if way.source in readable:
                    self._read(way, link)
        except OSError:
            link.reset()
            self._links.remove(link)
            return
        if not self._is_stalled and any(not way.is_open and not way.waiting for way in link.directions):
            link.close()
            self._links.remove(link)

    def _read(self, way: "_Direction", link: "_Link") -> None:
        chunk = way.source.recv(CHUNK)
        way.is_open = bool(chunk)
        if self._is_stalled:
            self.n_swallowed += len(chunk)
            link.has_hole = True
            return
        due = time.monotonic() + self._seconds
        if way.waiting:
            due = max(due, way.waiting[-1][0])
        for index, start in enumerate(range(0, len(chunk), self._n_bytes)):
            way.waiting.append((due + index * PAUSE, chunk[start : start + self._n_bytes]))

    def _write(self, way: "_Direction", link: "_Link") -> None:
        due, piece = way.waiting.popleft()
        n_sent = way.sink.send(piece)
        if n_sent < len(piece):
            way.waiting.appendleft((due, piece[n_sent:]))
        self.n_pieces += 1
        if way.sink is link.broker:
            self.n_bytes_to_broker += n_sent
        else:
            self.n_bytes_to_client += n_sent

    def _reset(self, is_meant: "Callable[[_Link], bool]") -> None:
        for link in [link for link in self._links if is_meant(link)]:
            link.reset()
            self._links.remove(link)
            self.n_cut += 1

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _listen(self) -> None:
        if self._listener is None:
            self._listener = socket.create_server((HOST, self.port))

    def _stall(self) -> None:
        self._is_stalled = True
        for link in self._links:
            for way in link.directions:
                self.n_swallowed += sum(len(piece) for _, piece in way.waiting)
                link.has_hole |= bool(way.waiting)
                way.waiting.clear()

    def _resume(self) -> None:
        self._is_stalled = False
        self._reset(lambda link: link.has_hole)

    def _finish(self) -> None:
        for link in self._links:
            link.reset()
        self._links.clear()
        self._stop_listening()
        self._woken.close()
        self._is_over = True


class _Direction:
    """From one side to the other: pieces, with the times at which they are due."""

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self.source = source
        self.sink = sink
        self.waiting: deque[tuple[float, bytes]] = deque()
        self.is_open = True


class _Link:
    """A client's connection and the one to the broker that goes with it."""

    def __init__(self, client: socket.socket, broker: socket.socket) -> None:
        self.client = client
        self.broker = broker
        self.directions = _Direction(client, broker), _Direction(broker, client)
        self.has_hole = False
        for side in (client, broker):
            side.setblocking(False)  # select says when one is ready
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        self.client.close()
        self.broker.close()

    def reset(self) -> None:
        reset(self.client)
        reset(self.broker)


def reset(side: socket.socket) -> None:
    with suppress(OSError):  # it has been reset by its other end
        side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    side.close()
