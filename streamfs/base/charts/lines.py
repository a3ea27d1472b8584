"""Charts of lines and points over an axis of numbers."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import cycle
from math import isfinite
from typing import NamedTuple

from streamfs.base.charts.chart import Chart, drawing
from streamfs.base.charts.scale import Scale, text_of

COLORS = ("#2f7fc2", "#c8690f", "#2e8b57", "#9467bd", "#b5508c", "#8a7a1f")
"""Of lines, each with enough contrast on white and on black, and told apart by the colour-blind in this order."""

DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "12 3 2 3 2 3")
"""Of lines, so that colour is never alone."""

WIDTH, HEIGHT = 480, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 24, 44
_LEGEND_ROW, _LETTER = 18, 6.4


class Line(NamedTuple):
    """A named line of points; NaN leaves a gap.

    Parameters
    ----------
    name : str
        What the legend calls it.
    x, y : sequence of float
        The points.
    has_marks : bool
        Whether each point is marked.
    is_stepped : bool
        Whether a number holds until the next.
    is_reference : bool
        Whether others are compared with this one, which has the colour of text.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    has_marks: bool = False
    is_stepped: bool = False
    is_reference: bool = False


class Mark(NamedTuple):
    """A vertical line at a place of the horizontal axis, and what it says."""

    x: float
    text: str


class LineContent(NamedTuple):
    """What a chart of lines draws; fields as the parameters of `line_chart`."""

    lines: Sequence[Line]
    axes: tuple[str, str]
    x_limits: tuple[float, float] | None
    y_limits: tuple[float, float] | None
    marks: Sequence[Mark]


def line_chart(
    title: str,
    lines: Sequence[Line],
    axes: tuple[str, str],
    *,
    x_limits: tuple[float, float] | None = None,
    y_limits: tuple[float, float] | None = None,
    marks: Sequence[Mark] = (),
) -> Chart:
    """Draw lines over a common axis.

    Parameters
    ----------
    title : str
        What one sees.
    lines : sequence of Line
        What is drawn.
    axes : tuple of str
        What the horizontal and the vertical axis show, with units.
    x_limits, y_limits : tuple of float, optional
        Ends of the axes; by default the least and the largest number.
    marks : sequence of Mark
        Vertical lines.

    Examples
    --------
    >>> chart = line_chart("Noise falls", [Line("noise", [0, 1, 2], [3.0, 2.0, 1.0])], ("tick", "noise, dB"))
    >>> chart.svg.startswith('<svg viewBox="0 0 480 270" role="img"')
    True
    >>> chart.rows
    (('noise', 0.0, 3.0), ('noise', 1.0, 2.0), ('noise', 2.0, 1.0))
    """
    styles = line_styles(lines)
    legend, n_rows = _legend([line.name for line in lines], styles)
    height = HEIGHT + _LEGEND_ROW * n_rows
    across = Scale.of((x for line in lines for x in line.x), _LEFT, WIDTH - _RIGHT, x_limits)
    up = Scale.of((y for line in lines for y in line.y), HEIGHT - _BOTTOM, _TOP, y_limits)
    whole = all(float(x).is_integer() for line in lines for x in line.x)
    parts = [*_frame(across, up, axes, whole=whole)]
    for line, (color, dash) in zip(lines, styles, strict=True):
        parts += _drawn(line, across, up, color, dash)
    for mark in marks:
        parts += _marked(mark, across)
    svg = drawing(title, WIDTH, height, [*parts, *legend])
    rows = tuple(
        (line.name, float(x), float(y))
        for line in lines
        for x, y in zip(line.x, line.y, strict=True)
        if isfinite(x + y)
    )
    content = LineContent(lines, axes, x_limits, y_limits, marks)
    return Chart(title, svg, ("line", *axes), rows, content)


def line_styles(lines: Sequence[Line]) -> list[tuple[str, str]]:
    """Return the colour and the dashes of each line.

    Examples
    --------
    >>> line_styles([Line("even", [0, 1], [0, 1], is_reference=True), Line("noise", [0, 1], [3, 2])])
    [('currentColor', '1 4'), ('#2f7fc2', '')]
    """
    others = zip(cycle(COLORS), cycle(DASHES), strict=False)
    return [("currentColor", "1 4") if line.is_reference else next(others) for line in lines]


def _frame(across: Scale, up: Scale, axes: tuple[str, str], *, whole: bool) -> Iterator[str]:
    """Yield the axes, with names and numbers: across only whole ones, if all are."""
    bottom, middle = HEIGHT - _BOTTOM, (up.start + up.end) / 2.0
    for number in up.ticks(5):
        y = up.place(number)
        yield _stroke(_LEFT, y, WIDTH - _RIGHT, y, "currentColor", 'stroke-opacity="0.15"')
        yield _text(_LEFT - 6, y + 4, text_of(number), "end")
    for number in across.ticks(8, least_step=1.0 if whole else 0.0):
        x = across.place(number)
        yield _stroke(x, bottom, x, bottom + 4, "currentColor")
        yield _text(x, bottom + 17, text_of(number))
    yield _stroke(_LEFT, bottom, WIDTH - _RIGHT, bottom, "currentColor")
    yield _text((across.start + across.end) / 2.0, HEIGHT - 8, axes[0])
    yield _text(14, middle, axes[1], more=f'transform="rotate(-90 14 {middle:.1f})"')


def _drawn(line: Line, across: Scale, up: Scale, color: str, dash: str) -> Iterator[str]:
    """Yield a line, and marks at its points."""
    places = [
        (across.place(x), up.place(y)) if isfinite(x) and isfinite(y) else None
        for x, y in zip(line.x, line.y, strict=True)
    ]
    steps, is_going = [], False
    for place in places:
        if place is not None:
            to = f"{place[0]:.1f} {place[1]:.1f}"
            stepped = f"H{place[0]:.1f}V{place[1]:.1f}" if line.is_stepped else f"L{to}"
            steps.append(stepped if is_going else f"M{to}")
        is_going = place is not None
    yield (
        f'<path d="{"".join(steps)}" fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}" '
        'stroke-linejoin="round"/>'
    )
    alone = [
        place
        for before, place, after in zip([None, *places], places, [*places[1:], None], strict=False)
        if place is not None and (line.has_marks or (before is None and after is None))
    ]
    for x, y in alone:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{color}"/>'


def _marked(mark: Mark, across: Scale) -> Iterator[str]:
    """Yield a vertical line, with its text above on the side that has more room."""
    x = across.place(mark.x)
    is_right = x > (across.start + across.end) / 2.0
    shown = shortened(mark.text, int((x if is_right else WIDTH - x) / _LETTER))
    yield _stroke(x, _TOP - 6, x, HEIGHT - _BOTTOM, "currentColor", 'stroke-dasharray="3 3"')
    yield _text(x, _TOP - 10, shown, "end" if is_right else "start")


def _legend(names: Sequence[str], styles: Sequence[tuple[str, str]]) -> tuple[list[str], int]:
    """Return swatches with the names of lines, below the drawing, and the number of their rows."""
    if len(names) < 2:
        return [], 0
    parts, x, row = [], float(_LEFT), 0
    for name, (color, dash) in zip(names, styles, strict=True):
        shown = shortened(name, int((WIDTH - _LEFT - _RIGHT - 38) / _LETTER))
        width = 38 + _LETTER * len(shown)
        if x > _LEFT and x + width > WIDTH:
            x, row = float(_LEFT), row + 1
        y = HEIGHT + _LEGEND_ROW * row + 8
        parts.append(_stroke(x, y, x + 22, y, color, f'stroke-width="2" stroke-dasharray="{dash}"'))
        parts.append(_text(x + 27, y + 4, shown, "start"))
        x += width
    return parts, row + 1


def shortened(text: str, most: int) -> str:
    """Return a text of at most this many letters; an ellipsis stands for what is cut off."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _stroke(x: float, y: float, x2: float, y2: float, color: str, more: str = "") -> str:
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" {more}/>'


def _text(x: float, y: float, text: str, anchor: str = "middle", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(text)}</text>'
