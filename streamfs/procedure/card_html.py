"""A model card in HTML: of Markdown, what a card has, and nothing that a name in it could add."""

import re
from collections.abc import Iterator
from html import escape
from itertools import groupby

_CODE = re.compile(r"`` (.+?) ``|`([^`]+)`")
_BOLD = re.compile(r"\*\*(.+?)\*\*")
_CELLS = re.compile(r"(?<!\\)\|")
_MANY = 40  # rows of a table


def card_html(markdown: str) -> str:
    r"""Return headings, tables, lists and paragraphs of a card, without its title; a table of many rows is folded.

    Examples
    --------
    >>> card_html("# Card\n\n## Data\n\n- **all** of `<b>`")
    '<h3>Data</h3><ul><li><strong>all</strong> of <code>&lt;b&gt;</code></li></ul>'
    """
    return "".join(html for block in markdown.split("\n\n") for html in _block(block.strip("\n")))


def _block(block: str) -> Iterator[str]:
    for kind, lines in groupby(block.splitlines(), _kind):
        texts = [*lines]
        if kind == "heading":
            yield "".join(f"<h3>{_inline(text.removeprefix('## '))}</h3>" for text in texts)
        elif kind == "list":
            yield f"<ul>{''.join(f'<li>{_inline(text[2:])}</li>' for text in texts)}</ul>"
        elif kind == "table":
            yield _table(texts)
        elif kind == "text":
            yield f"<p>{_inline(' '.join(texts))}</p>"


def _kind(line: str) -> str:
    kinds = {"## ": "heading", "# ": "title", "- ": "list", "| ": "table"}
    return next((kind for start, kind in kinds.items() if line.startswith(start)), "text")


def _table(lines: list[str]) -> str:
    head, _, *rows = ([cell.strip().replace("\\|", "|") for cell in _CELLS.split(line)[1:-1]] for line in lines)
    cells = "".join(f'<th scope="col">{_inline(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{_inline(first)}</th>{"".join(f"<td>{_inline(cell)}</td>" for cell in others)}</tr>'
        for first, *others in rows
    )
    table = f'<div class="table"><table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>'
    return table if len(rows) <= _MANY else f"<details><summary>{len(rows)} rows</summary>{table}</details>"


def _inline(text: str) -> str:
    """Return a line with its code and what is bold, all else as it is."""
    parts, end = [], 0
    for found in _CODE.finditer(text):
        parts += [_bold(text[end : found.start()]), f"<code>{escape(found[1] or found[2])}</code>"]
        end = found.end()
    return "".join([*parts, _bold(text[end:])])


def _bold(text: str) -> str:
    return _BOLD.sub(r"<strong>\1</strong>", escape(text))
