"""Connections to brokers for tests, and stand-ins for a broker."""

import gc
import socket
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.transport.transport import Transport

PATIENCE = 20.0  # seconds for what is to happen
QUICK = {"backoff": (0.02, 0.1), "seed": 1}
ACCEPTS = bytes.fromhex("2003000000")  # a broker's answer to a connection
GRANTS = bytes.fromhex("9004000100") + b"\x01"  # and to its first subscription, for one topic


def until(transport, is_done, room=None):
    """Poll until something has happened; return what has come."""
    messages = []
    deadline = time.monotonic() + PATIENCE
    while not is_done(messages):
        assert time.monotonic() < deadline, transport.counters
        messages += transport.poll(0.05, room)
    return messages


def receive(transport, n):
    return until(transport, lambda messages: len(messages) >= n)


def hear_out(transport):
    """Wait until the broker has confirmed everything."""
    assert transport.publish(Publication("anything", b"", retain=False))
    assert transport.drain(PATIENCE)


def numbers(messages):
    return [int(message.payload) for message in messages]


def send(broker, payloads, topic="sensors/n1/light", qos=1, retain=False):
    """Publish from another client, and wait until the broker has all."""
    with connected(broker.url) as sender:
        for payload in payloads:
            while not sender.publish(Publication(topic, payload, retain), qos=qos):
                sender.poll(0.05)
        assert sender.drain(PATIENCE)


def listen(url, client_id=None, topics=("sensors/#",), **settings):
    """A transport that is connected and subscribed."""
    transport = Transport(url, client_id, **(QUICK | settings))
    transport.connect(PATIENCE)
    transport.subscribe(topics)
    transport.check_subscribed(PATIENCE)
    return transport


@contextmanager
def ending(transport):
    """Close it at the end, without waiting long for something that is not a broker."""
    try:
        yield transport
    finally:
        transport.close(timeout=0.1)


@contextmanager
def connected(url, client_id=None, topics=(), **settings):
    with ending(listen(url, client_id, topics, **settings)) as transport:
        yield transport


class Actor:
    """Something on a port that answers each connection with bytes of the test's making; no broker at all."""

    def __init__(self, *answers, closes=False):
        self.heard = []
        self._answers = answers
        self._closes = closes
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"mqtt://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE)
        self._listener.close()

    def _run(self):
        kept = []
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                break
            kept.append(client)
            for answer in self._answers:
                self.heard.append(client.recv(1 << 16))
                client.sendall(answer)
            if self._closes:
                client.close()
        for client in kept:
            client.close()


def count_open_files():
    return len(list(Path("/dev/fd").iterdir()))


@contextmanager
def nothing_left_open():
    """Everything is closed within, not only collected."""
    gc.collect()
    gc.disable()
    try:
        n_open, threads = count_open_files(), threading.enumerate()
        yield n_open
        assert count_open_files() == n_open
        assert threading.enumerate() == threads
    finally:
        gc.enable()
