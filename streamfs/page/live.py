"""Live pages: the parts of a page that have changed, as server-sent events."""

import re
from collections.abc import AsyncIterator, Callable, Hashable
from hashlib import blake2b
from time import monotonic, time
from typing import Any

import anyio
import orjson
from anyio.to_thread import run_sync

_PAUSE = 0.25  # seconds between looks for what is new
_LEAST = 0.5  # seconds between two changes of a page
_SIGN = 5.0  # seconds between signs of life
_AGES = re.compile(r"(<time [^>]*>)[^<]*")


def print_of(html: str) -> bytes:
    """Return what tells one part from another; how long something is ago goes on by itself in the browser."""
    return blake2b(_AGES.sub(r"\1", html).encode(errors="surrogatepass"), digest_size=16).digest()


async def changes(render: Callable[[], dict[str, str]], moved: Callable[[], Hashable]) -> AsyncIterator[bytes]:
    """Yield events for ever: the time, each part of a page, and then each again when it has changed.

    Parameters
    ----------
    render : callable
        Returns the parts by name; called twice a second at most, in a thread.
    moved : callable
        Returns what differs from the time before if there may be something new; called four times a second.
    """
    known: dict[str, bytes] = {}
    last: Hashable = object()
    said = -_SIGN
    while True:
        if monotonic() - said >= _SIGN:
            said = monotonic()
            yield _event("time", time())
        stamp = await run_sync(moved)
        if stamp != last:
            last, before = stamp, ""
            for name, html in (await run_sync(render)).items():
                if known.get(name) != print_of(html):
                    known[name] = print_of(html)
                    yield _event("part", {"name": name, "after": before, "html": html})
                before = name
            await anyio.sleep(_LEAST - _PAUSE)
        await anyio.sleep(_PAUSE)


def _event(name: str, content: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), orjson.dumps(content))
