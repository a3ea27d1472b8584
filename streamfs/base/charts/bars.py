"""Charts of horizontal bars."""

from collections.abc import Mapping
from html import escape

from streamfs.base.charts.chart import Chart, drawing
from streamfs.base.charts.lines import COLORS, WIDTH, shortened
from streamfs.base.charts.scale import Scale, text_of

_ROW, _NAMES, _NUMBERS = 24, 150, 60
_MOST_LETTERS = 22


def bar_chart(title: str, bars: Mapping[str, float], unit: str) -> Chart:
    """Draw a bar for each name, from 0.

    Parameters
    ----------
    title : str
        What one sees.
    bars : mapping of str to float
        The numbers; those below 0 go to the left.
    unit : str
        What they are, with the unit.

    Examples
    --------
    >>> bar_chart("Light is dear", {"light": 3.0, "humidity": 1.0}, "mJ a stream").rows
    (('light', 3.0), ('humidity', 1.0))
    """
    scale = Scale.of([0.0, *bars.values()], _NAMES, WIDTH - _NUMBERS)
    zero, height = scale.place(0.0), _ROW * len(bars) + 22
    parts = []
    for index, (name, number) in enumerate(bars.items()):
        y, end = _ROW * index + 4, scale.place(number)
        left, width = min(zero, end), abs(end - zero)
        shown = shortened(name, _MOST_LETTERS)
        parts += [
            f'<text x="{_NAMES - 8}" y="{y + 13}" text-anchor="end">{escape(shown)}</text>',
            f'<rect x="{left:.1f}" y="{y}" width="{width:.1f}" height="{_ROW - 8}" fill="{COLORS[0]}"/>',
            f'<text x="{max(zero, end) + 6:.1f}" y="{y + 13}">{text_of(number)}</text>',
        ]
    parts += [
        f'<line x1="{zero:.1f}" y1="0" x2="{zero:.1f}" y2="{height - 20}" stroke="currentColor"/>',
        f'<text x="{WIDTH / 2:.0f}" y="{height - 4}" text-anchor="middle">{escape(unit)}</text>',
    ]
    svg = drawing(title, WIDTH, height, parts)
    return Chart(title, svg, ("", unit), tuple((name, float(number)) for name, number in bars.items()))
