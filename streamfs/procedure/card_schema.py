"""The shape of a model card as it stands in a model file, looked over before anything is read from it."""

from collections.abc import Mapping
from typing import Any

from streamfs.errors import ModelError

_NUMBER = (int, float)
_PERHAPS = (int, float, type(None))

Shape = Mapping[str, tuple[type, ...]]
"""Fields by their names: of which types each may be; what an object holds is numbers, and none is below 0."""

_PARTS: Mapping[str, Shape] = {
    "data": {
        "streams": (int,),
        "classes": (dict,),
        "shortest": (int,),
        "median": _NUMBER,
        "longest": (int,),
        "missing": (dict,),
    },
    "radio": {
        "name": (str,),
        "unit": (str,),
        "message_bytes": _NUMBER,
        "message": _NUMBER,
        "idle": _NUMBER,
        "sleep": _NUMBER,
        "notes": (str,),
    },
    "traffic": {
        "streams": (int,),
        "held_out": (bool,),
        "confidence": _NUMBER,
        "ticks": _NUMBER,
        "channels": (dict,),
        "columns": (dict,),
    },
}
_PROMISE: Shape = {
    "accuracy": _NUMBER,
    "completeness": _PERHAPS,
    "risk": _NUMBER,
    "threshold": _NUMBER,
    "streams": (int,),
    "labelled": (int,),
    "right": (int,),
    "cost": _NUMBER,
    "ticks": _NUMBER,
}
_POINT: Shape = {
    **{name: kinds for name, kinds in _PROMISE.items() if name not in ("accuracy", "completeness")},
    **dict.fromkeys(("accuracy", "accuracy_at_least", "completeness", "completeness_at_least"), _NUMBER),
    "searched_on": (int,),
}
_EVIDENCE = {"promise": _PROMISE, "point": _POINT}
_BESIDE = (
    *("accuracy_risk", "completeness_risk", "p_accuracy", "p_completeness"),
    *("searched_on", "subsets", "all_features_cost"),
)
"""Numbers that evidence may lack."""


def check_card(card: Any) -> None:
    """Refuse a card of another shape; None, where training made none, is one too.

    Raises
    ------
    ModelError
        Naming the field.
    """
    if card is None:
        return
    _check("card", card, {**dict.fromkeys(_PARTS, (dict,)), "prices": (dict,)})
    for part, shape in _PARTS.items():
        _check(f"card.{part}", card[part], shape)


def check_evidence(name: str, evidence: Any) -> None:
    """Refuse a promise's or a point's evidence of another shape; None, where there is none, is one too.

    Parameters
    ----------
    name : {"promise", "point"}
        What it is of.
    evidence : object
        What the model file has of it.

    Raises
    ------
    ModelError
        Naming the field.

    Examples
    --------
    >>> check_evidence("promise", {"accuracy": "high"})
    Traceback (most recent call last):
    ...
    streamfs.errors.ModelError: the model is damaged: promise.accuracy is 'high', expected a number
    """
    if evidence is not None:
        _check(name, evidence, _EVIDENCE[name])
        _check(name, evidence, {field: _PERHAPS for field in _BESIDE if field in evidence})


def _check(what: str, part: Any, shape: Shape) -> None:
    if not isinstance(part, dict):
        raise ModelError(f"the model is damaged: {what} is {part!r}, expected an object")
    for name, kinds in shape.items():
        if name not in part:
            raise ModelError(f"the model is damaged: {what} has no {name}")
        value = part[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise ModelError(f"the model is damaged: {what}.{name} is {value!r}, expected {_named(kinds)}")
        if isinstance(value, _NUMBER) and not isinstance(value, bool):
            _check_number(f"{what}.{name}", value)
        elif isinstance(value, dict) and name not in _PARTS:
            for key, number in value.items():
                _check_number(f"{what}.{name}.{key}", number)


def _check_number(what: str, number: Any) -> None:
    if isinstance(number, bool) or not isinstance(number, _NUMBER) or number < 0:
        raise ModelError(f"the model is damaged: {what} is {number!r}, expected a number, at least 0")


def _named(kinds: tuple[type, ...]) -> str:
    names = {int: "a number", float: "a number", str: "a text", bool: "true or false", dict: "an object"}
    return " or ".join(dict.fromkeys(names.get(kind, "null") for kind in kinds))
