"""The options of the gateway as docs/gateway.md and docs/sources.md have them, written from their declarations."""

import inspect
from dataclasses import MISSING

from docs.reference_pages import SECTIONS as ALL
from streamfs.gateway.core.option_declaration import declared
from streamfs.gateway.settings.sources import InputSource

SECTIONS = {name.strip("[]"): section for name, section in ALL.items() if section is not InputSource}
FIRST = ("model", "name")
"""Keys that come first, before the others in the order of their declaration."""

_COLUMN = 31


def block():
    """All options with their defaults, or an example if there is none, as TOML."""
    return "\n".join(line for name, section in SECTIONS.items() for line in _lines(name, section))


def source_table():
    """The keys of a source, as a table."""
    rows = (
        f"| `{key}` | {f'`{default}`' if isinstance(default, str) else '-'} | {option.sentence} |\n"
        for key, _, option, default in declared(InputSource).values()
    )
    return "| key | default | meaning |\n|---|---|---|\n" + "".join(rows)


def _lines(name, section):
    if name:
        _, _, absence = inspect.getdoc(section).partition("; ")
        comment = f"# {absence.rstrip('.')}" if absence.startswith("without") else ""
        yield from ("", f"[{name}]".ljust(_COLUMN * bool(comment)) + comment)
    options = declared(section)
    for key in sorted(options, key=lambda key: FIRST.index(key) if key in FIRST else len(FIRST)):
        _, _, option, default = options[key]
        value = default if option.example is None else option.example
        if value not in (None, MISSING, ()):
            yield f"{key} = {_toml(value)}".ljust(_COLUMN - 1) + f" # {option.sentence}"


def _toml(value):
    return (
        str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else repr(value)
    )


if __name__ == "__main__":
    print(block(), source_table(), sep="\n\n")  # noqa: T201 - for the pages
