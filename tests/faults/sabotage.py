"""Faults built into a gateway's process: it kills itself at a certain point, or its disk is slow."""

import os
import signal
import time
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

from streamfs.gateway.storage.journal import Journal
from streamfs.gateway.storage.log import Log
from streamfs.gateway.storage.segment import Segment
from streamfs.gateway.transport.transport import Transport


class Point(NamedTuple):
    """A method, whether its end is meant or its beginning, and what becomes of the disk as the process dies."""

    owner: type
    method: str
    is_after: bool = False
    damage: Callable[..., Any] = lambda *_: None


def tear(segment, data):
    """Write half of it."""
    segment._file.write(data[: len(data) // 2])


def forget(segment):
    """Lose what was written but not synced, as in a power failure."""
    segment._file.truncate(getattr(segment, "_synced", segment.size))


POINTS = {
    "before_append": Point(Log, "append"),  # nothing of the commit is on the disk
    "in_write": Point(Segment, "_write", damage=tear),  # half of it is
    "before_sync": Point(Log, "sync"),  # the messages are written, but not durable
    "power_fails": Point(Segment, "sync", damage=forget),  # and so they are lost
    "before_commit": Point(Journal, "commit"),  # they are durable; what has come of them is not
    "after_commit": Point(Journal, "commit", is_after=True),  # all is; the broker does not know
    "before_publish": Point(Transport, "publish"),  # a decision is durable, but not published
    "after_publish": Point(Transport, "publish", is_after=True),  # it may be under way
    "after_confirmed": Point(Transport, "confirmed", is_after=True),  # the broker has it; the outbox has it too
    "after_acknowledge": Point(Transport, "acknowledge", is_after=True),  # the answer to the broker has not left
    "before_release": Point(Log, "release"),  # there is a snapshot; the log has not let go of what was before it
    "after_release": Point(Log, "release", is_after=True),  # it has
}


def kill_at(point, n):
    """Kill the process when it reaches a point for the n-th time."""
    owner, name, is_after, damage = POINTS[point]
    method, times = getattr(owner, name), count(1)

    def die(*args):
        damage(*args)
        os.kill(os.getpid(), signal.SIGKILL)

    def deadly(*args, **kwargs):
        if not is_after and next(times) == n:
            die(*args)
        result = method(*args, **kwargs)
        if is_after and result not in ([], False) and next(times) == n:
            die(*args)
        return result

    setattr(owner, name, deadly)


def slow_sync(seconds):
    """Delay each sync of the disk by some seconds."""
    sync = Segment.sync

    def slow(segment):
        time.sleep(seconds)
        sync(segment)

    Segment.sync = slow


def spoil(what="", *how):
    """Build a fault into this process: ``kill`` with a point and n, or ``sync`` with seconds."""
    if what == "sync":
        slow_sync(*how)
    elif what:
        kill_at(*how)
