"""The header of a model file, validated before anything is read from it."""

from collections.abc import Mapping, Sequence
from typing import Any

from streamfs.classifiers import kinds
from streamfs.classifiers.classifier import Classifier, HeaderFields
from streamfs.errors import ModelError
from streamfs.procedure.card_words import listed
from streamfs.procedure.stopping import TickThresholds


def _fields() -> HeaderFields:
    """Every header's fields; of a classifier, the kinds that are registered."""
    return {
        "features": ((list,), "a list of texts"),
        "classes": ((list,), "a list of texts"),
        "classifier": ((str,), listed(kinds.words())),
        "confidence": ((int, float), "a number"),
        "time_limit": ((int,), "a whole number of ticks"),
        "period": ((int, float), "a number of seconds"),
        "max_silence": ((int, float, type(None)), "a number of seconds, or null"),
        "about": ((dict,), "an object"),
    }


def check_header(header: Any, source: object) -> type[Classifier]:
    """Validate the header of a model file from `source`, and return the kind of its classifier."""
    if not isinstance(header, dict):
        raise ModelError(f"{source} is damaged: its header is {header!r}, expected an object")
    fields = _fields()
    for name in fields:
        _check_field(header, name, fields, source)
    for name in ("features", "classes"):
        for text in header[name]:
            if not isinstance(text, str):
                raise ModelError(f"{source} is damaged: {name} holds {text!r}, expected a text")
    kind = kinds.kind_of(header["classifier"])
    if kind is None:
        found, expected = header["classifier"], fields["classifier"][1]
        raise ModelError(f"{source} is damaged: classifier is {found!r}, expected {expected}")
    for name in kind.header_fields:
        _check_field(header, name, kind.header_fields, source)
    return kind


def read_stopping(header: Mapping[str, Any], source: object) -> TickThresholds | None:
    """Return the thresholds by tick of a model file from `source`; None if it has one threshold."""
    try:
        return TickThresholds.from_json(header["stopping"]) if "stopping" in header else None
    except ModelError as error:
        raise ModelError(f"{source} is damaged: {error}") from error


def check_distinct(what: str, names: Sequence[Any]) -> None:
    """Refuse names that are not strings, are empty, or occur twice."""
    for index, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise ValueError(f"{what} {index + 1} is {name!r}, expected a text that is not empty")
        if name in names[:index]:
            raise ValueError(f"{what} {name!r} is there twice, expected each once")


def _check_field(header: Mapping[str, Any], name: str, fields: HeaderFields, source: object) -> None:
    types, expected = fields[name]
    if name not in header:
        raise ModelError(f"{source} is damaged: {name} is missing, expected {expected}")
    value = header[name]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise ModelError(f"{source} is damaged: {name} is {value!r}, expected {expected}")
