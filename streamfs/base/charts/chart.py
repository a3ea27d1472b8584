"""A chart: its title, its drawing, and a table of its numbers."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from streamfs.base.charts.scale import text_of

if TYPE_CHECKING:
    from streamfs.base.charts.lines import LineContent


class Chart(NamedTuple):
    """A drawing, with the numbers that it shows.

    Parameters
    ----------
    title : str
        What one sees.
    svg : str
        The drawing. Text and axes have the colour of the text around it.
    header : tuple of str
        Columns of the table.
    rows : tuple of tuple
        Rows of the table: texts and numbers.
    lines : LineContent, optional
        What lines were drawn, so that others can draw them, too; None of bars, which are the rows.
    """

    title: str
    svg: str
    header: tuple[str, ...]
    rows: tuple[tuple[str | float, ...], ...]
    lines: "LineContent | None" = None

    def html(self) -> str:
        """Return a figure with caption, drawing, and the table, which is folded."""
        return (
            f"<figure><figcaption>{escape(self.title)}</figcaption>{self.svg}"
            f"<details><summary>Numbers</summary>{table(self.header, self.rows)}</details></figure>"
        )


def drawing(title: str, width: float, height: float, parts: Iterable[str]) -> str:
    """Return elements of SVG as a drawing with a title for those who do not see it."""
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}" font-size="12" '
        f'fill="currentColor" font-family="system-ui, sans-serif">{"".join(parts)}</svg>'
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str | float]]) -> str:
    """Return a table in HTML; numbers stand on the right.

    Examples
    --------
    >>> table(("class", "streams"), [("<b>", 3.0)])[-71:-22]
    '<tr><th scope="row">&lt;b&gt;</th><td>3</td></tr>'
    """
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = "".join(f"<tr>{_row(row)}</tr>" for row in rows)
    scrolls = '<div class="table" role="region" aria-label="Table" tabindex="0">'
    return f"{scrolls}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _row(cells: Sequence[str | float]) -> str:
    first, *others = (_cell(value) for value in cells)
    return f'<th scope="row">{first}</th>' + "".join(f"<td>{cell}</td>" for cell in others)


def _cell(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else text_of(value)
