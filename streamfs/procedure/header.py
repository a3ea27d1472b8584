"""The header of a model file, looked over before anything is made of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from streamfs.errors import ModelError

Expected = Mapping[str, tuple[tuple[type, ...], str]]
"""Fields by their names: of which types each may be, and the same in words."""

_KINDS: Expected = {
    "features": ((list,), "a list of texts"),
    "classes": ((list,), "a list of texts"),
    "classifier": ((str,), "tree, forest, river or neighbours"),
    "confidence": ((int, float), "a number"),
    "time_limit": ((int,), "a whole number of ticks"),
    "period": ((int, float), "a number of seconds"),
    "max_silence": ((int, float, type(None)), "a number of seconds, or null"),
    "about": ((dict,), "an object"),
}
_OF_A_CLASSIFIER: Mapping[str, Expected] = {
    "tree": {"laplace": ((bool,), "true or false")},
    "forest": {},
    "river": {"identity": ((str,), "a text")},
    "neighbours": {},
}


def check_header(header: Any, source: object) -> None:
    """Refuse a header that lacks a field, or has something else in it.

    Parameters
    ----------
    header : object
        As the file has it.
    source : object
        The file's path.

    Raises
    ------
    ModelError
        Naming the file and the field.
    """
    if not isinstance(header, dict):
        raise ModelError(f"{source} is damaged: its header is {header!r}, expected an object")
    for name, (kinds, expected) in _KINDS.items():
        _check_field(header, name, kinds, expected, source)
    for name in ("features", "classes"):
        for text in header[name]:
            if not isinstance(text, str):
                raise ModelError(f"{source} is damaged: {name} holds {text!r}, expected a text")
    if header["classifier"] not in _OF_A_CLASSIFIER:
        found, expected = header["classifier"], _KINDS["classifier"][1]
        raise ModelError(f"{source} is damaged: classifier is {found!r}, expected {expected}")
    for name, (kinds, expected) in _OF_A_CLASSIFIER[header["classifier"]].items():
        _check_field(header, name, kinds, expected, source)


def check_distinct(what: str, names: Sequence[Any]) -> None:
    """Refuse names that are no texts, are empty, or occur twice.

    Raises
    ------
    ValueError
        Naming the first such.

    Examples
    --------
    >>> check_distinct("class", ["off", "on", "off"])
    Traceback (most recent call last):
    ...
    ValueError: class 'off' is there twice, expected each once
    """
    for index, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise ValueError(f"{what} {index + 1} is {name!r}, expected a text that is not empty")
        if name in names[:index]:
            raise ValueError(f"{what} {name!r} is there twice, expected each once")


def _check_field(
    header: Mapping[str, Any], name: str, kinds: tuple[type, ...], expected: str, source: object
) -> None:
    if name not in header:
        raise ModelError(f"{source} is damaged: {name} is missing, expected {expected}")
    value = header[name]
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise ModelError(f"{source} is damaged: {name} is {value!r}, expected {expected}")
