"""A C file that functions are translated into, each after those that it calls."""

from collections.abc import Callable, Iterable
from typing import Any

from feature_extractors.base import Array as Values
from streamfs.translation.expressions import Translated, Typed
from streamfs.translation.function import Function
from streamfs.translation.precision import Precision
from streamfs.translation.values import REAL, Array, Results, Struct, Value

HELPERS = {
    "min_real": "real min_real(real a, real b) { return b < a ? b : a; }",
    "max_real": "real max_real(real a, real b) { return b > a ? b : a; }",
    "min_whole": "int32_t min_whole(int32_t a, int32_t b) { return b < a ? b : a; }",
    "max_whole": "int32_t max_whole(int32_t a, int32_t b) { return b > a ? b : a; }",
    "square": "real square(real x) { return x * x; }",
    "exponent_of": "int32_t exponent_of(real x) { int e; (void)frexp@(x, &e); return e; }",
    "quotient_of": "int32_t quotient_of(int32_t a, int32_t b) { "
    "return a / b - (a % b != 0 && (a < 0) != (b < 0)); }",
    "remainder_of": "int32_t remainder_of(int32_t a, int32_t b) { int32_t r = a % b; "
    "return r != 0 && (r < 0) != (b < 0) ? r + b : r; }",
    "modulo": "real modulo(real a, real b) { real r = fmod@(a, b); "
    "return r != 0 && (r < 0) != (b < 0) ? r + b : r; }",
}
"""What Python has and C lacks; @ stands for the suffix of the precision."""


_MOST_SIGNS = 110  # in a line of a table


class Unit:
    """Functions in C, of reals of one precision."""

    def __init__(self, precision: Precision) -> None:
        self.precision = precision
        self._translated: dict[tuple[Callable[..., Any], tuple[Value, ...]], Translated] = {}
        self._tables: dict[str, str] = {}
        self._names: dict[str, int] = {}
        self._entries: dict[str, None] = {}

    def entry(self, function: Callable[..., Any], kinds: tuple[Value, ...]) -> Translated:
        """Return a function for arguments of these types; it will be part of the text."""
        translated = self.translated(function, kinds)
        self._entries[translated.name] = None
        return translated

    def translated(self, function: Callable[..., Any], kinds: tuple[Value, ...]) -> Translated:
        """Return a function for arguments of these types."""
        key = function, kinds
        if key not in self._translated:
            self._translated[key] = Function(self, function, self._new_name(function), kinds).translate()
        return self._translated[key]

    def table(self, function: Callable[..., Any], name: str, values: Values) -> Typed:
        """Return a constant table, which the function knows under a name."""
        module = function.__module__.rpartition(".")[2].lstrip("_")
        place = f"{module}_{name.lower()}"
        numbers = wrapped(map(self.precision.literal, values.ravel().tolist()))
        names = "".join(
            f"enum {{ {kind}_{place} = {n} }};\n" for kind, n in zip(("n", "width"), values.shape, strict=False)
        )
        self._tables[place] = f"{names}static const real {place}[{values.size}] = {{{numbers}}};\n"
        return Typed(place, Array(REAL, values.ndim))

    def text(self) -> str:
        """Return the functions, with what they need before them."""
        functions = self._in_order()
        body = "\n".join(function.text for function in functions)
        helpers = [text for name, text in HELPERS.items() if f"{name}(" in body]
        kinds = {kind.text: kind for _, given in self._translated for kind in given_records(given)}
        results = {f.result.text: f.result for f in functions if isinstance(f.result, Results)}
        parts = [
            *(kind.definition for kind in kinds.values()),
            *(result.definition for result in results.values()),
            *(f"static inline {text}\n".replace("@", self.precision.suffix) for text in helpers),
            *(text for name, text in self._tables.items() if f"{name}[" in body),
        ]
        return "\n".join(["".join(parts), body])

    def _in_order(self) -> list[Translated]:
        by_name = {each.name: each for each in self._translated.values()}
        ordered: dict[str, Translated] = {}

        def add(name: str) -> None:
            if name not in ordered:
                for callee in by_name[name].calls:
                    add(callee)
                ordered[name] = by_name[name]

        for name in self._entries:
            add(name)
        return list(ordered.values())

    def _new_name(self, function: Callable[..., Any]) -> str:
        module = function.__module__.rpartition(".")[2].lstrip("_")
        name = f"{module}_{function.__name__.strip('_').lower()}"
        number = self._names.get(name, 0) + 1
        self._names[name] = number
        return name if number == 1 else f"{name}_{number}"


def given_records(kinds: tuple[Value, ...]) -> list[Struct]:
    """Return the records among the items of arrays."""
    return [kind.item for kind in kinds if isinstance(kind, Array) and isinstance(kind.item, Struct)]


def wrapped(items: Iterable[str]) -> str:
    """Return the items of a table in lines of moderate length."""
    lines, line = [], ""
    for item in items:
        if len(line) + len(item) > _MOST_SIGNS:
            lines.append(line.rstrip())
            line = ""
        line += f"{item}, "
    return "\n  " + "\n  ".join([*lines, line.rstrip()]).removesuffix(",") + "\n"
