"""What people ask of a gateway from the page: passed on with their token, and done and logged there."""

import logging
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import orjson

from streamfs.errors import PayloadError
from streamfs.page.watched import Watched

_log = logging.getLogger(__name__)

_PATIENCE = 5.0  # seconds for an answer, of which a wrong token takes one
_FIELDS = ("action", "stream", "label", "episode", "warning", "hours", "model")
_NUMBERS = {"episode": int, "hours": float}
_LONGEST = 4096  # bytes of an answer


def act(gateway: Watched, form: Mapping[str, str], client: str) -> str:
    """Ask a gateway for an action, and return what it says; raise a PayloadError if it is not done."""
    address = gateway.source.address(gateway.now().facts.get("http"))
    if address is None:
        raise PayloadError("this gateway takes no actions: its settings name no token")
    asked = orjson.dumps({name: _read(name, form[name]) for name in _FIELDS if form.get(name)})
    token = form.get("token", "").strip()
    if not token.isascii() or not token.isprintable():
        raise PayloadError("the token is not the right one")
    request = Request(f"{address}/do", asked, {"Authorization": f"Bearer {token}"})  # noqa: S310 - see `source_of`
    try:
        with urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310 - the same
            said = _text(answer.read(_LONGEST))
    except HTTPError as error:
        raise PayloadError(_text(error.read(_LONGEST)) or f"the gateway answers {error.code}") from error
    except (OSError, HTTPException) as error:
        raise PayloadError(f"the gateway does not answer: {getattr(error, 'reason', error)}") from error
    _log.info("%s, asked by %s", said, client)
    return said


def _read(name: str, text: str) -> Any:
    kind = _NUMBERS.get(name, str)
    try:
        return kind(text)
    except ValueError as error:
        raise PayloadError(f"{name} is {text[:40]!r}, expected a number") from error


def _text(answer: bytes) -> str:
    try:
        found = orjson.loads(answer)
    except orjson.JSONDecodeError:
        return ""
    return str(found.get("text", "")) if isinstance(found, dict) else ""
