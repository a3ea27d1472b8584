"""The gateway's log: text or JSON on standard error."""

import logging
import re
import select
import sys
from typing import TextIO

from streamfs.errors import MissingExtraError

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")  # and of direction

_PART = 1024  # characters, for which a pipe has room if it has any

_LEFT_OUT = "%d messages before this were left out or cut off, since nobody read them"

_FIELDS = {"levelname": "level", "name": "logger", "exc_info": "exception", "stack_info": "stack"}


def configure(format: str = "text", level: str = "info") -> None:  # noqa: A002 - as in the settings
    """Log to standard error, as text or JSON, from a lowest level on; a second call replaces the first.

    A line of JSON has ``time`` (ISO 8601, UTC), ``level``, ``logger`` and ``message``, ``exception`` if there is
    one, and the message's ``extra``. Control characters are escaped, so that each message is one line. While
    nobody reads standard error, messages are left out or cut off; how many is said afterwards.
    """
    if level not in ("debug", "info", "warning", "error"):
        raise ValueError(f"level is {level!r}, expected debug, info, warning or error")
    if format not in ("text", "json"):
        raise ValueError(f"format is {format!r}, expected text or json")
    handler = _LogHandler(_Unwaiting(sys.stderr))
    handler.setFormatter(_json() if format == "json" else _text())
    logger = logging.getLogger("streamfs")
    logger.handlers = [handler]
    logger.setLevel(level.upper())


class _Unwaiting:
    """A stream of lines, of which the part is left out for which writing would wait for a reader."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.is_cut = False  # the last line

    @property
    def has_room(self) -> bool:
        """Whether writing does not wait; so it is where that cannot be known."""
        try:
            descriptor = self._stream.fileno()
        except (OSError, ValueError, AttributeError):  # no file, or none at all
            return True
        if not hasattr(select, "poll"):
            return True
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        return bool(poll.poll(0))

    def write(self, text: str) -> None:
        """Write a line in parts, as long as there is room."""
        text, self.is_cut = "\n" * self.is_cut + text, False
        for begin in range(0, len(text), _PART):
            if not self.has_room:
                self.is_cut = True
                break
            self._stream.write(text[begin : begin + _PART])
            self._stream.flush()

    def flush(self) -> None:
        """Do nothing, since all is written."""


class _LogHandler(logging.StreamHandler[_Unwaiting]):
    """Leaves out, and counts, messages for which the gateway would wait."""

    n_left_out = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message, behind how many were left out before."""
        if self.n_left_out and self.stream.has_room:
            number, self.n_left_out = self.n_left_out, 0
            super().emit(logging.LogRecord(record.name, logging.WARNING, "", 0, _LEFT_OUT, (number,), None))
        has_room = self.stream.has_room
        if has_room:
            super().emit(record)
        self.n_left_out += not has_room or self.stream.is_cut


class _OneLine(logging.Formatter):
    """Text of which no message, a topic in it or a device's name, moves the cursor, turns or forges a line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        text = super().formatMessage(record)
        return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _text() -> logging.Formatter:
    return _OneLine("%(asctime)s %(levelname)s %(name)s: %(message)s")


def _json() -> logging.Formatter:
    try:
        from pythonjsonlogger.json import JsonFormatter  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtraError("python-json-logger", "gateway") from error
    return JsonFormatter(["levelname", "name", "message"], rename_fields=_FIELDS, timestamp="time")
