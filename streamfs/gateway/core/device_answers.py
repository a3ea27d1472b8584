"""What devices say of what they were asked: answers, that they have started, and whether they are online."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from streamfs.base.newest import MOST_NAMES
from streamfs.errors import PayloadError
from streamfs.gateway.core.device_profile import Answer, Availability, Birth, DeviceProfile
from streamfs.gateway.messages.codecs.paths import Paths
from streamfs.gateway.messages.topics import Template

OURS = "streamfs"
"""What the ids of our messages begin with, where others have ids, too."""

N_DIGITS = 12
"""Digits at the end of a UUID that are the number of a message."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Said(NamedTuple):
    """A device's birth, or its answer: to a message, by its number, or with the interval that it has taken."""

    profile: str
    device: str
    is_birth: bool = False
    number: int | None = None
    seconds: float | None = None
    refusal: str = ""
    is_online: bool | None = None  # of `device`, or of all if it is empty
    values: Mapping[str, Any] | None = None  # of Sparkplug's metrics that can be written


class Ear:
    """Understand the answers and births of devices of some profiles."""

    def __init__(self, profiles: Mapping[str, DeviceProfile]) -> None:
        self._known: dict[str, bool] = {}
        self._answers = [
            (key, Template(profile.answer.topic), profile.answer)
            for key, profile in profiles.items()
            if profile.answer is not None
        ]
        self._births = [
            (key, Template(profile.birth.topic), profile.birth)
            for key, profile in profiles.items()
            if profile.birth is not None
        ]
        self._availabilities = [
            (key, Template(each.topic), each) for key, profile in profiles.items() for each in profile.availability
        ]

    @property
    def topics(self) -> tuple[str, ...]:
        """Topic filters."""
        templates = [template for _, template, _ in self._all]
        return tuple(dict.fromkeys(text for template in templates for text in template.filters(())))

    def listens(self, topic: str) -> bool:
        """Return whether a topic has answers or births."""
        known = self._known.get(topic)
        if known is None:
            if len(self._known) >= MOST_NAMES:
                self._known.clear()
            known = self._known[topic] = any(template.match(topic) is not None for _, template, _ in self._all)
        return known

    def has_state(self, topic: str) -> bool:
        """Return whether messages of a topic say who is online: the retained one holds still."""
        return any(template.match(topic) is not None for _, template, _ in self._availabilities)

    def read(self, topic: str, payload: bytes) -> list[Said]:
        """Return what a message says; nothing if it is of another kind."""
        found = []
        for key, template, answer in self._answers:
            match = template.match(topic)
            said = None if match is None else _answer(key, match[0], answer, payload)
            found += [] if said is None else [said]
        for key, template, birth in self._births:
            match = template.match(topic)
            device = None if match is None else _born(match[0], birth, payload)
            found += [] if device is None else [Said(key, device, is_birth=True)]
        return [*found, *self.read_state(topic, payload)]

    def read_state(self, topic: str, payload: bytes) -> list[Said]:
        """Return who is online, or is not, by a message."""
        found = []
        for key, template, availability in self._availabilities:
            match = template.match(topic)
            is_online = None if match is None else _is_online(availability, payload)
            if match is not None and is_online is not None:
                found.append(Said(key, match[0], is_online=is_online))
        return found

    @property
    def _all(self) -> tuple[tuple[str, Template, Answer | Birth | Availability], ...]:
        return (*self._answers, *self._births, *self._availabilities)


def _answer(profile: str, node: str, answer: Answer, payload: bytes) -> Said | None:
    document = _document(payload)
    if answer.id is None:
        seconds = document if answer.path is None else _at(document, answer.path)
        is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        return Said(profile, node, seconds=float(seconds)) if is_number else None
    found = _at(document, answer.id)
    number = next((n for each in (found if isinstance(found, list) else [found]) if (n := _number(each))), None)
    if number is None:
        return None
    taken = None if answer.ok_path is None else _at(document, answer.ok_path)
    is_taken = answer.ok_path is None or (taken is not None and answer.ok in (None, taken))
    reason = "" if answer.reason is None else str(_at(document, answer.reason) or "no reason given")
    return Said(profile, node, number=number, refusal="" if is_taken else reason or "no reason given")


def _born(node: str, birth: Birth, payload: bytes) -> str | None:
    """Return the name of the device that has started; None if none has."""
    if birth.text is not None:
        return node if _text(payload) == birth.text else None
    document = _document(payload)
    if birth.path is not None and _at(document, birth.path) != birth.word:
        return None
    name = node if birth.device is None else _at(document, birth.device)
    return name if isinstance(name, str) else None


def _is_online(availability: Availability, payload: bytes) -> bool | None:
    """Return whether a message says that a device is online; None if it says neither."""
    word: Any = availability.always
    if word is None:
        word = _text(payload)
        document = _document(payload) if availability.path is not None else None
        if availability.path is not None and isinstance(document, dict):
            word = _at(document, availability.path)
        return {availability.online: True, availability.offline: False}.get(str(word))
    return bool(word == availability.online)


def _text(payload: bytes) -> str:
    return payload.decode("utf-8", errors="replace").strip()


def _document(payload: bytes) -> Any:
    try:
        return orjson.loads(payload)
    except orjson.JSONDecodeError:
        return None


def _at(document: Any, path: str) -> Any:
    if not isinstance(document, dict):
        return None
    try:
        return Paths([path]).found(document).get(path)
    except PayloadError:
        return None


def _number(text: Any) -> int | None:
    """Return the number of a message, which may stand after our name and a colon, or be the end of a UUID."""
    said = str(text)
    last = said.removeprefix(f"{OURS}:") if ":" in said else said[-N_DIGITS:] if _UUID.fullmatch(said) else said
    return int(last) if last.isdigit() and last.isascii() and len(last) < 19 else None
