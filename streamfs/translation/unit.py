"""A C file that functions are translated into, each after those that it calls."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from feature_extractors.arrays import Array as Values
from streamfs.translation.expressions import Translated, Typed, called
from streamfs.translation.function import Function
from streamfs.translation.precision import Precision
from streamfs.translation.values import REAL, Array, Results, Struct, Value, extents, record_of

HELPERS = {
    "min_real": "real min_real(real a, real b) { return b < a ? b : a; }",
    "max_real": "real max_real(real a, real b) { return b > a ? b : a; }",
    "min_single": "float min_single(float a, float b) { return b < a ? b : a; }",
    "max_single": "float max_single(float a, float b) { return b > a ? b : a; }",
    "min_whole": "whole min_whole(whole a, whole b) { return b < a ? b : a; }",
    "max_whole": "whole max_whole(whole a, whole b) { return b > a ? b : a; }",
    "squared": "real squared(real x) { return x * x; }",
    "exponent_of": "whole exponent_of(real x) { int e; (void)frexp@(x, &e); return e; }",
    "quotient_of": "whole quotient_of(whole a, whole b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }",
    "remainder_of": "whole remainder_of(whole a, whole b) { whole r = a % b; "
    "return r != 0 && (r < 0) != (b < 0) ? r + b : r; }",
    "argmax_of": "whole argmax_of(const real *a, whole n) { whole b = 0; for (whole i = 0; i < n; i++) { "
    "if (isnan(a[i])) { return i; } if (a[i] > a[b]) { b = i; } } return b; }",
    "nearest_whole": "real nearest_whole(real x) { real r = floor@(x), d = x - r; "
    "return d > (real)0.5 || (d == (real)0.5 && fmod@(r, 2) != 0) ? r + 1 : r; }",
    "modulo": "real modulo(real a, real b) { real r = fmod@(a, b); "
    "return r != 0 && (r < 0) != (b < 0) ? r + b : r; }",
}
"""What Python has and C lacks, or the library of AVR, as `rint`; @ stands for the suffix of the precision."""


LIBRARY = ("sqrt", "exp", "log", "log2", "sin", "cos", "floor", "fmod", "pow", "hypot", "frexp", "ldexp")
"""Functions of libm that steps call, and take room on the stack."""

_MOST_SIGNS = 110  # in a line of a table


class Unit:
    """Functions in C, of reals of one precision."""

    has_constants = True
    """Whether arguments that are not written to are declared so."""
    storage = "static"

    def __init__(self, precision: Precision) -> None:
        self.precision = precision
        self._translated: dict[tuple[Callable[..., Any], tuple[Value, ...], bool], Translated] = {}
        self._tables: dict[str, str] = {}
        self._names: dict[str, int] = {}
        self._entries: dict[str, None] = {}
        self._structs: dict[np.dtype[Any], Struct] = {}

    def entry(
        self, function: Callable[..., Any], kinds: tuple[Value, ...], is_updated: bool = False
    ) -> Translated:
        """Return a function for arguments of these types; it will be part of the text."""
        translated = self.translated(function, kinds, is_updated)
        self._entries[translated.name] = None
        return translated

    def translated(
        self, function: Callable[..., Any], kinds: tuple[Value, ...], is_updated: bool = False
    ) -> Translated:
        """Return a function for arguments of these types; one that is updated lacks its first statement."""
        key = function, kinds, is_updated
        if key not in self._translated:
            name = self._new_name(function)
            self._translated[key] = Function(self, function, name, kinds, is_updated).translate()
        return self._translated[key]

    def parts(self) -> dict[str, str]:
        """Return the names in C of the functions, by names that do not depend on what else there is."""
        keys = {translated.name: key for key, translated in self._translated.items()}
        return {_part_name(*keys[translated.name]): translated.name for translated in self._in_order()}

    def calls(self) -> dict[str, tuple[str, ...]]:
        """Return what each function calls, by the same names, and of libm, without a suffix."""
        parts = {in_c: part for part, in_c in self.parts().items()}
        return {
            parts[each.name]: (
                *(parts[name] for name in each.calls),
                *(name for name in LIBRARY if re.search(rf"\b{name}{self.precision.suffix}\(", each.text)),
            )
            for each in self._in_order()
        }

    def functions(self) -> list[Callable[..., Any]]:
        """Return the functions that have been translated."""
        return [function for function, *_ in self._translated]

    def is_vectorised(self, function: Callable[..., Any]) -> bool:  # noqa: ARG002 - kernels may be
        """Return whether a function fills vector registers; what it writes to overlaps no other argument."""
        return False

    def table(self, function: Callable[..., Any], name: str, values: Values) -> Typed:
        """Return a constant table, which the function knows under a name."""
        module = function.__module__.rpartition(".")[2].lstrip("_")
        place = f"{module}_{name.lower()}"
        numbers = wrapped(map(self.precision.literal, values.ravel().tolist()))
        kind = Array(REAL, values.ndim)
        sizes = zip(extents(place, kind), values.shape, strict=True)
        names = "".join(f"enum {{ {name} = {n} }};\n" for name, n in sizes)
        self._tables[place] = f"{names}static const real {place}[{values.size}] = {{{numbers}}};\n"
        return called(place, kind)

    def struct(self, dtype: np.dtype[Any]) -> Struct:
        """Return the type of numpy's records, one for each layout."""
        return self._structs.setdefault(dtype, record_of(f"record_{len(self._structs) + 1}", dtype))

    def text(self) -> str:
        """Return the functions, with what they need before them."""
        functions = self._in_order()
        body = "\n".join(function.text for function in functions)
        helpers = [text for name, text in HELPERS.items() if f"{name}(" in body]
        kinds = {kind.text: kind for _, given, _ in self._translated for kind in given_records(given)}
        results = {f.result.text: f.result for f in functions if isinstance(f.result, Results)}
        parts = [
            *(kind.definition for kind in (kinds | {kind.text: kind for kind in self._structs.values()}).values()),
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


def _part_name(function: Callable[..., Any], kinds: tuple[Value, ...], is_updated: bool) -> str:
    words = (
        f"{kind.item.text}{kind.n_dimensions}" if isinstance(kind, Array) else getattr(kind, "text", "")
        for kind in kinds
    )
    module = function.__module__.rpartition(".")[2].lstrip("_")
    signature = ",".join(word for word in words if word not in ("real", "real0"))
    return f"{module}.{function.__name__.strip('_')}{'+' * is_updated}({signature})"


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
