"""Notices to systemd, if it has started the gateway."""

import logging
import os
import socket

from streamfs.errors import StreamfsError

_log = logging.getLogger(__name__)

_PATIENCE = 1.0  # seconds that systemd has to accept a notice

READY = "READY=1"
STOPPING = "STOPPING=1"
ALIVE = "WATCHDOG=1"


def notify(*assignments: str) -> bool:
    """Notify systemd, if ``NOTIFY_SOCKET`` is set, and return whether it was notified.

    Failures are logged, since the gateway works without systemd.
    """
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path:
        return False
    address = "\0" + path[1:] if path.startswith("@") else path  # the kernel's abstract names begin with NUL
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.settimeout(_PATIENCE)
        try:
            sender.sendto("\n".join(assignments).encode(), address)
        except OSError as error:
            _log.warning("systemd was not notified of %s: NOTIFY_SOCKET is %r (%s)", assignments, path, error)
            return False
    return True


def watchdog_seconds() -> float | None:
    """Return the seconds within which systemd expects `ALIVE`; None if it does not watch this process.

    Notify it twice as often. Raise a StreamfsError if ``WATCHDOG_USEC`` or ``WATCHDOG_PID`` is not a whole number.
    """
    seconds = _number("WATCHDOG_USEC")
    process = _number("WATCHDOG_PID")
    if not seconds or (process is not None and process != os.getpid()):
        return None
    return seconds / 1e6


def _number(variable: str) -> int | None:
    text = os.environ.get(variable)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()):
        raise StreamfsError(f"{variable} is {text!r}, expected a whole number")
    return int(text)
