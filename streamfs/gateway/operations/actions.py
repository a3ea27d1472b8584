"""What an operator may do from the page, with a token: label, reopen, mute, reload and go back to a model."""

import hmac
import logging
import re
from collections.abc import Callable, Mapping
from math import isfinite
from time import time
from typing import Any

import orjson

from streamfs.errors import PayloadError

LONGEST_ACTION = 4096
"""Most bytes of what is asked."""

MOST_HOURS, MOST_MUTED = 168.0, 100
"""Hours for which a warning may be muted, and warnings that are muted at a time."""

_DIGEST = re.compile(r"[0-9a-f]{8,128}")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_log = logging.getLogger(__name__)


def without_numbers(warning: str) -> str:
    """Return a warning whose numbers do not matter: it stays the same warning while they change.

    Examples
    --------
    >>> without_numbers("3 messages on b/2 feed no stream")
    '# messages on b/# feed no stream'
    """
    return _NUMBER.sub("#", warning)


class Actions:
    """Does what is asked, and logs it.

    Parameters
    ----------
    token : str, optional
        Whoever has it may act; without one, nobody may.
    topics : mapping
        The topics of ``label`` and ``command``: what is asked goes the way of a message.
    send : callable
        Takes a topic and a payload, from any thread.
    reload : callable
        Reads settings and model again; given a digest, follows that earlier model.

    Attributes
    ----------
    muted : dict
        Warnings without their numbers, and until when, in seconds since 1970, the page does not show them.
    """

    def __init__(
        self,
        token: str | None,
        topics: Mapping[str, str],
        send: Callable[[str, bytes], None],
        reload: Callable[..., None],
    ) -> None:
        self.muted: dict[str, float] = {}
        self._token = token
        self._topics = topics
        self._send = send
        self._reload = reload

    @property
    def are_allowed(self) -> bool:
        """Whether anybody may act."""
        return self._token is not None

    def admits(self, token: str) -> bool:
        """Return whether a token is the right one."""
        return self._token is not None and hmac.compare_digest(token.encode(), self._token.encode())

    def do(self, asked: bytes, client: str) -> str:
        """Do what is asked in a JSON object, and return what was done; raise a PayloadError if it cannot be."""
        try:
            wanted = orjson.loads(asked)
        except orjson.JSONDecodeError as error:
            raise PayloadError(f"an action is {asked[:40]!r}, expected JSON") from error
        kinds = {
            "label": self._label,
            "reopen": self._reopen,
            "mute": self._mute,
            "reload": self._read_again,
            "follow": self._follow,
        }
        kind = kinds.get(str(wanted.get("action"))) if isinstance(wanted, dict) else None
        if kind is None:
            raise PayloadError(f"there is no such action, expected one of {', '.join(kinds)}")
        done = kind(wanted)
        _log.info("%s, asked by %s", done, client)
        return done

    def _label(self, wanted: Mapping[str, Any]) -> str:
        stream, label, episode = _stream(wanted), _text(wanted, "label"), wanted.get("episode")
        if episode is not None and not (isinstance(episode, int) and episode >= 1):
            raise PayloadError(f"episode is {episode!r}, expected a whole number, at least 1")
        payload = {"label": label} if episode is None else {"label": label, "episode": episode}
        self._send(f"{self._topics['label']}{stream}", orjson.dumps(payload))
        return f"label {label!r} of stream {stream!r}"

    def _reopen(self, wanted: Mapping[str, Any]) -> str:
        stream = _stream(wanted)
        self._send(self._topics["command"], orjson.dumps({"reopen": stream}))
        return f"reopening of stream {stream!r}"

    def _mute(self, wanted: Mapping[str, Any]) -> str:
        warning, hours = _text(wanted, "warning"), wanted.get("hours")
        if isinstance(hours, bool) or not isinstance(hours, int | float) or not isfinite(hours):
            raise PayloadError(f"hours is {hours!r}, expected a number of at most {MOST_HOURS:g}")
        if not 0 <= hours <= MOST_HOURS:
            raise PayloadError(
                f"hours is {hours:g}, expected a number of at most {MOST_HOURS:g}, or 0 to hear again"
            )
        now, same = time(), without_numbers(warning)
        kept = {each: until for each, until in self.muted.items() if until > now and each != same}
        if hours and len(kept) >= MOST_MUTED:
            raise PayloadError(f"{MOST_MUTED} warnings are muted already")
        self.muted = kept | ({same: now + 3600.0 * hours} if hours else {})
        return f"warning muted for {hours:g} h: {same!r}" if hours else f"warning muted no longer: {same!r}"

    def _follow(self, wanted: Mapping[str, Any]) -> str:
        model = _text(wanted, "model")
        if not _DIGEST.fullmatch(model):
            raise PayloadError(f"model is {model[:40]!r}, expected the digest of one that the state keeps")
        self._reload(model)
        return f"model {model} for new episodes, if the state keeps it and it fits"

    def _read_again(self, _: Mapping[str, Any]) -> str:
        self._reload()
        return "reload of settings and model"


def _stream(wanted: Mapping[str, Any]) -> str:
    stream = _text(wanted, "stream")
    if stream == "*":
        raise PayloadError("stream is '*', expected one stream: a command reopens all")
    return stream


def _text(wanted: Mapping[str, Any], name: str) -> str:
    text = wanted.get(name)
    if not isinstance(text, str) or not text:
        raise PayloadError(f"{name} is {text!r}, expected text")
    return text
