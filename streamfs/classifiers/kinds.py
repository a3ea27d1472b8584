"""The kinds of classifiers, by their words in the header of a model file."""

from importlib import import_module

from streamfs.classifiers.classifier import Classifier

_KINDS: dict[str, str | type[Classifier]] = {
    "tree": "streamfs.classifiers.tree:Tree",
    "forest": "streamfs.classifiers.forest:Forest",
    "river": "streamfs.classifiers.online:OnlineClassifier",
    "neighbours": "streamfs.classifiers.lazy:LazyNeighbors",
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
    kind = _KINDS.get(word)
    if isinstance(kind, str):
        module, _, name = kind.partition(":")
        kind = _KINDS[word] = getattr(import_module(module), name)
    return kind


def words() -> tuple[str, ...]:
    """Return the words of all kinds."""
    return tuple(_KINDS)
