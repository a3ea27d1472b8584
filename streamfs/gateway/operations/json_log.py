"""The gateway's log: text or JSON on standard error."""

import logging
import re

from streamfs.errors import MissingExtraError

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")  # and of direction

_FIELDS = {"levelname": "level", "name": "logger", "exc_info": "exception", "stack_info": "stack"}


def configure(format: str = "text", level: str = "info") -> None:  # noqa: A002 - as in the settings
    """Log to standard error, as text or JSON, from a lowest level on; a second call replaces the first.

    A line of JSON has ``time`` (ISO 8601, UTC), ``level``, ``logger`` and ``message``, ``exception`` if there is
    one, and the message's ``extra``. Control characters are escaped, so that each message is one line.
    """
    if level not in ("debug", "info", "warning", "error"):
        raise ValueError(f"level is {level!r}, expected debug, info, warning or error")
    if format not in ("text", "json"):
        raise ValueError(f"format is {format!r}, expected text or json")
    handler = logging.StreamHandler()
    handler.setFormatter(_json() if format == "json" else _text())
    logger = logging.getLogger("streamfs")
    logger.handlers = [handler]
    logger.setLevel(level.upper())


class _OneLine(logging.Formatter):
    """Text of which no message, a topic in it or a device's name, moves a terminal's cursor or forges a line."""

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
