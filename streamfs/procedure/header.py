"""The header of a model file, validated before anything is read from it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from streamfs.classifiers import kinds
from streamfs.classifiers.classifier import Classifier, HeaderFields
from streamfs.errors import ModelError
from streamfs.procedure.stopping import StoppingRule, read_rule

FIELDS: HeaderFields = {
    "features": ((list,), "a list of texts"),
    "classes": ((list,), "a list of texts"),
    "confidence": ((int, float), "a number"),
    "time_limit": ((int,), "a whole number of ticks"),
    "period": ((int, float), "a number of seconds"),
    "max_silence": ((int, float, type(None)), "a number of seconds, or null"),
    "about": ((dict,), "an object"),
}
"""Every header's fields, beside those of its classifier."""

LARGEST = 2**28
"""Most bytes of a model file, and of what it unpacks to."""

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters but tab and newline: a terminal might obey them."""


def check_header(header: Any, source: object) -> type[Classifier]:
    """Validate the header of a model file from `source`, and return the kind of its classifier."""
    if not isinstance(header, dict):
        raise ModelError(f"{source} is damaged: its header is {header!r}, expected an object")
    try:
        kinds.check_fields(header, FIELDS)
        _check_texts(header, ("features", "classes"))
        _check_printable(header)
        return kinds.kind_in(header)
    except ModelError as error:
        raise ModelError(f"{source} is damaged: {error}") from error


def read_stopping(header: Mapping[str, Any], source: object) -> StoppingRule | None:
    """Return the stopping rule of a model file from `source`; None if it has one threshold."""
    try:
        return read_rule(header["stopping"]) if "stopping" in header else None
    except ModelError as error:
        raise ModelError(f"{source} is damaged: {error}") from error


def check_distinct(what: str, names: Sequence[Any]) -> None:
    """Refuse names that are not strings, are empty, have control characters, or occur twice."""
    for index, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise ValueError(f"{what} {index + 1} is {name!r}, expected a text that is not empty")
        if CONTROL.search(name):
            raise ValueError(f"{what} {index + 1} is {name!r}, expected no control characters")
        if name in names[:index]:
            raise ValueError(f"{what} {name!r} is there twice, expected each once")


def _check_texts(header: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in names:
        for text in header[name]:
            if not isinstance(text, str):
                raise ModelError(f"{name} holds {text!r}, expected a text")


def _check_printable(header: Mapping[str, Any]) -> None:
    """Refuse control characters in any text, however deep."""
    rest: list[Any] = [header]
    while rest:
        value = rest.pop()
        if isinstance(value, str) and CONTROL.search(value):
            raise ModelError(f"it has the text {value[:80]!r}, expected no control characters")
        if isinstance(value, dict):
            rest += [*value, *value.values()]
        elif isinstance(value, list):
            rest += value
