"""The kinds of classifiers, by their words in the header of a model file."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from feature_extractors.own_parts import own_part
from streamfs.classifiers.classifier import Classifier, HeaderFields
from streamfs.errors import ModelError

_KINDS: dict[str, str | type[Classifier]] = {
    "tree": "streamfs.classifiers.tree:Tree",
    "forest": "streamfs.classifiers.forest:Forest",
    "boosting": "streamfs.classifiers.boosted_trees:BoostedTrees",
    "river": "streamfs.classifiers.online:OnlineClassifier",
    "river-frozen": "streamfs.classifiers.online:FrozenOnlineClassifier",
    "neighbours": "streamfs.classifiers.lazy:LazyNeighbors",
    "sklearn": "streamfs.classifiers.estimator:EstimatorClassifier",
    "calibrated": "streamfs.classifiers.calibrated:CalibratedClassifier",
}
"""Each a class, or the place from which it is imported on first use."""


def register(kind: type[Classifier]) -> None:
    """Make a kind of classifier known, so that model files of it can be loaded.

    Parameters
    ----------
    kind : subclass of Classifier
        Its `word` is its name in the file's header.

    Raises
    ------
    ValueError
        If another kind has that word.
    """
    if kind.word in _KINDS and kind_of(kind.word) is not kind:
        raise ValueError(f"word is {kind.word!r}, expected one that is not taken")
    _KINDS[kind.word] = kind


def kind_of(word: str) -> type[Classifier] | None:
    """Return the kind that a header names, imported if necessary, or None."""
    kind = _KINDS.get(word) or own_part("streamfs.classifiers", word)
    if isinstance(kind, str):
        module, _, name = kind.partition(":")
        kind = _KINDS[word] = getattr(import_module(module), name)
    return kind


def words() -> tuple[str, ...]:
    """Return the words of all kinds."""
    return tuple(_KINDS)


def kind_in(header: Mapping[str, Any]) -> type[Classifier]:
    """Return the kind that a header names, after validating the fields that it adds.

    Raises
    ------
    ModelError
        If the kind is unknown, or a field missing or of another type.
    """
    check_fields(header, {"classifier": ((str,), f"one of {', '.join(_KINDS)}")})
    kind = kind_of(header["classifier"])
    if kind is None:
        raise ModelError(f"classifier is {header['classifier']!r}, expected one of {', '.join(_KINDS)}")
    check_fields(header, kind.header_fields)
    return kind


def check_fields(header: Mapping[str, Any], fields: HeaderFields) -> None:
    """Raise ModelError if a field is missing from a header, or of another type."""
    for name, (types, expected) in fields.items():
        if name not in header:
            raise ModelError(f"{name} is missing, expected {expected}")
        value = header[name]
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise ModelError(f"{name} is {value!r}, expected {expected}")
