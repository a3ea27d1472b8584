"""Payloads of several devices, divided into documents that have one of them each, and what is common to all."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

from streamfs.gateway.messages.codecs.paths import is_any


class Division(NamedTuple):
    """The path to where a document has several devices, and the name there that is none."""

    path: tuple[str, ...]
    left_out: str

    @classmethod
    def of(cls, paths: Sequence[str]) -> Self | None:
        """Return how paths with a ``*`` divide a document; None if none has one, or they do so at two places.

        >>> Division.of(["model", "end.*.name|end.*.id"]), Division.of(["a.*.id", "b.*.id"])
        (Division(path=('end',), left_out=''), None)
        """
        found = set()
        for parts in (path.split(".") for text in paths for path in text.split("|")):
            place = next((i for i, part in enumerate(parts) if is_any(part)), None)
            if place is not None:
                found.add(cls(tuple(parts[:place]), parts[place][2:]))
        return found.pop() if len(found) == 1 else None

    def is_end_of(self, path: str) -> bool:
        """Return whether a path leads to the devices themselves, and no further.

        >>> Division(("end",), "").is_end_of("end.*"), Division(("end",), "").is_end_of("end.*.id")
        (True, False)
        """
        *before, last = path.split(".")
        return tuple(before) == self.path and is_any(last)

    def place(self, document: Any) -> "Place | None":
        """Return the place at which a document has devices; None if it has none."""
        outer = [document]
        for name in self.path:
            outer.append(outer[-1].get(name) if isinstance(outer[-1], dict) else None)
        inner = outer[-1]
        if isinstance(inner, list) and inner:
            return Place(self.path, outer, inner, [], {})
        names = [] if not isinstance(inner, dict) else [name for name, each in inner.items() if _is_several(each)]
        names = [name for name in names if name != self.left_out]
        if not names:
            return None
        return Place(
            self.path, outer, inner, names, {name: inner[name] for name in inner if not _is_several(inner[name])}
        )


class Place(NamedTuple):
    """A place of a document at which there are devices: elements of an array, or named parts of an object."""

    path: tuple[str, ...]
    outer: list[Any]  # the documents along the path
    inner: Any
    names: list[str]  # none of an array
    common: dict[str, Any]  # what an object has beside

    @property
    def n_parts(self) -> int:
        """How many parts there are."""
        return len(self.names) or len(self.inner)

    def parts(self) -> Iterator[tuple[str, Any]]:
        """Yield the name of each part, empty in an array, and the document in which an object has it alone."""
        for name in self.names:
            yield name, self._with({name: self.inner[name]})
        if not self.names:
            for element in self.inner:
                yield "", self._with({"0": element})

    def document(self, numbers: Sequence[int]) -> Any:
        """Return the document that has some parts alone, by their numbers, with what is common to all."""
        if not self.names:
            return self._with([self.inner[number] for number in numbers])
        own = {self.names[number]: self.inner[self.names[number]] for number in numbers}
        return self._with(own | self.common)

    def _with(self, content: Any) -> Any:
        """Return the document with another content at its place, which holds until the next."""
        if self.path:
            self.outer[-2][self.path[-1]] = content
            return self.outer[0]
        return content


def _is_several(value: Any) -> bool:
    return isinstance(value, dict | list)
