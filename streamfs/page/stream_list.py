"""The list of streams: searched, sorted, and a page at a time."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from streamfs.page.tables import STATUSES, RowNumbers
from streamfs.page.watched import Watched

PAGE = 100
"""Rows of a page."""

SORTS = {
    "name": "name",
    "-confidence": "most confident first",
    "confidence": "least confident first",
    "-start": "newest episode first",
    "-tick": "longest under way first",
}


class PageOfRows(NamedTuple):
    """A page of rows, and the addresses of others.

    The order is that of an array, so that any place of it is reached at once: an offset costs nothing.
    """

    rows: list[int]
    first: int
    total: int
    links: dict[str, str]


def page_of(query: Mapping[str, str], rows: RowNumbers, size: int = PAGE) -> PageOfRows:
    """Return the page that a query names, of rows in order.

    Examples
    --------
    >>> import numpy as np
    >>> shown = page_of({"from": "2"}, np.array([7, 5, 9]), 2)
    >>> shown.rows, shown.links
    ([9], {'first': '?', 'previous': '?'})
    """
    total = len(rows)
    asked = query.get("from", "0")
    first = min(int(asked), max(0, total - 1)) // size * size if asked.isdecimal() and len(asked) < 10 else 0
    last = max(0, total - 1) // size * size
    others = {"first": 0, "previous": first - size} if first else {}
    if first < last:
        others |= {"next": first + size, "last": last}
    kept = {name: value for name, value in query.items() if name != "from"}
    links = {word: "?" + urlencode(kept | ({"from": place} if place else {})) for word, place in others.items()}
    return PageOfRows(rows[first : first + size].tolist(), first, total, links)


def parts(gateway: Watched, query: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return what the list shows, by template."""
    table, written = gateway.rows().streams, gateway.rows().written
    text, sort, status = query.get("q", ""), query.get("sort", "name"), query.get("status", "")
    rows = table.chosen(text, table.with_status(status), sort)
    shown = page_of(query, rows)
    return {
        "stream_rows": {
            "table": table,
            "shown": shown,
            "statuses": STATUSES,
            "decisions": gateway.decisions(table.names[row] for row in shown.rows),
            "written": written,
            "query": query,
        },
    }
