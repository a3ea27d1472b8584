"""What a notebook shows of an object: a line, and parts that are folded below it."""

from collections.abc import Iterable
from html import escape


def block(line: str, parts: Iterable[tuple[str, str]]) -> str:
    """Return a line of text with named parts in HTML below it, of which the first is open.

    Examples
    --------
    >>> block("two < three", [("Classes", "<p>a</p>")])
    '<div><p>two &lt; three</p><details open><summary>Classes</summary><p>a</p></details></div>'
    """
    folded = [
        f"<details{' open' if place == 0 else ''}><summary>{escape(name)}</summary>{html}</details>"
        for place, (name, html) in enumerate(parts)
    ]
    return f"<div><p>{escape(line)}</p>{''.join(folded)}</div>"


def figures(charts: Iterable[str]) -> str:
    """Return charts side by side, as far as there is room."""
    cells = "".join(f'<div style="flex: 1 1 24rem; max-width: 32rem">{chart}</div>' for chart in charts)
    return f'<div style="display: flex; flex-wrap: wrap; gap: 1rem">{cells}</div>'
