"""True labels, as people publish them."""

from math import isfinite
from typing import Any, NamedTuple

import orjson

from streamfs.errors import PayloadError

_LONGEST_LABEL = 256  # characters
_LONGEST_PAYLOAD = 4096  # bytes
_SHOWN = 40  # characters of an offending payload or value


class Label(NamedTuple):
    """The true label of a stream; of its last decided episode if that is None, at a time in seconds since 1970."""

    label: str
    episode: int | None
    time: float | None


def decode_label(payload: bytes) -> Label:
    """Decode a label: plain text, or a JSON object with ``label`` and optionally ``episode`` and ``time``."""
    if len(payload) > _LONGEST_PAYLOAD:
        raise PayloadError(f"payload has {len(payload)} bytes, expected a label of at most {_LONGEST_PAYLOAD}")
    if not payload.lstrip().startswith(b"{"):
        return Label(_label(_text(payload)), None, None)
    document = _document(payload)
    unknown = next((name for name in document if name not in Label._fields), None)
    if unknown is not None:
        raise PayloadError(f"there is a field {_shown(unknown)}, expected only label, episode and time")
    return Label(_label(document.get("label")), _episode(document.get("episode")), _time(document.get("time")))


def _text(payload: bytes) -> str:
    try:
        return payload.decode()
    except UnicodeDecodeError as error:
        raise PayloadError(f"payload is {_shown(payload)}, expected text in UTF-8 ({error.reason})") from error


def _document(payload: bytes) -> dict[str, Any]:
    try:
        return dict(orjson.loads(payload))
    except orjson.JSONDecodeError as error:
        raise PayloadError(f"payload is {_shown(payload)}, expected text or a JSON object ({error})") from error


def _label(value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not text or len(text) > _LONGEST_LABEL or not text.isprintable():
        raise PayloadError(
            f"label is {_shown(value)}, expected printable text of at most {_LONGEST_LABEL} characters"
        )
    return text


def _episode(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise PayloadError(f"episode is {_shown(value)}, expected a whole number, at least 1")
    return value


def _time(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise PayloadError(f"time is {_shown(value)}, expected a number of seconds")
    return float(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
