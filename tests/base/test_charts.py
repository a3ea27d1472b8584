"""Charts: what is drawn is well-formed, in place, and listed."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamfs.base.charts.bars import bar_chart
from streamfs.base.charts.lines import Line, Mark, line_chart
from streamfs.base.charts.scale import Scale

HOSTILE = "<script>alert('x')</script>\"&amp;'\u202e"
numbers = st.floats(-1e9, 1e9)
some = numbers | st.just(float("nan"))
SVG = "{http://www.w3.org/2000/svg}"


def drawn(svg):
    return ET.fromstring(svg)  # noqa: S314 - ours


def text_in(svg):
    return [element.text for element in drawn(svg).iter("text")]


@given(st.lists(numbers, min_size=1, max_size=9), st.integers(2, 9))
def test_ticks_are_few_ascending_and_on_the_axis(values, most):
    scale = Scale.of(values, 0.0, 100.0)
    ticks = scale.ticks(most)
    assert len(ticks) <= most + 1
    assert ticks == sorted(set(ticks))
    assert all(-1e-6 <= scale.place(tick) <= 100.0 + 1e-6 for tick in ticks)


def test_ticks_are_whole_where_that_is_asked_for():
    assert Scale(0.0, 2.0, 0.0, 1.0).ticks(8, least_step=1.0) == [0.0, 1.0, 2.0]


@given(st.lists(st.tuples(some, some), max_size=8), st.booleans(), st.booleans())
def test_any_line_is_drawn_within_the_chart_and_listed(points, has_marks, is_stepped):
    x, y = [p[0] for p in points], [p[1] for p in points]
    chart = line_chart("any", [Line("one", x, y, has_marks, is_stepped)], ("x", "y"))
    for circle in drawn(chart.svg).iter("circle"):
        assert 0 <= float(circle.get("cx")) <= 480
        assert 0 <= float(circle.get("cy")) <= 270
    known = [p for p in points if p[0] == p[0] and p[1] == p[1]]
    if has_marks:
        assert len([*drawn(chart.svg).iter("circle")]) == len(known)
    assert [row[1:] for row in chart.rows] == [tuple(map(float, p)) for p in known]


def test_a_gap_splits_a_line_and_a_lonely_point_is_a_dot():
    chart = line_chart("gap", [Line("one", [0, 1, 2, 3], [1.0, 2.0, float("nan"), 3.0])], ("x", "y"))
    (path,) = drawn(chart.svg).iter("path")
    assert path.get("d").count("M") == 2
    assert len([*drawn(chart.svg).iter("circle")]) == 1


def test_names_are_inert_in_drawing_and_table():
    charts = [
        line_chart(HOSTILE, [Line(HOSTILE, [0, 1], [0, 1])] * 2, (HOSTILE, HOSTILE), marks=[Mark(0.5, HOSTILE)]),
        bar_chart(HOSTILE, {HOSTILE: 1.0}, HOSTILE),
    ]
    for chart in charts:
        assert "<script" not in chart.html()
        assert HOSTILE in text_in(chart.svg)
        drawn(f"<div>{chart.html()}</div>")


def test_bars_below_zero_go_to_the_left():
    chart = bar_chart("both", {"more": 1.0, "less": -1.0}, "J")
    more, less = (float(bar.get("x")) for bar in drawn(chart.svg).iter("rect"))
    assert less < more


@pytest.mark.parametrize("n_lines", [1, 2, 9])
def test_a_legend_names_each_line_if_there_are_several(n_lines):
    lines = [Line(f"line {i}", [0, 1], [i, i]) for i in range(n_lines)]
    text = text_in(line_chart("many", lines, ("x", "y")).svg)
    assert [name for name in text if name.startswith("line")] == (
        [line.name for line in lines] if n_lines > 1 else []
    )


def test_names_too_long_for_the_drawing_are_shortened_there_alone():
    name = "upstairs_" * 20
    chart = line_chart("long", [Line(name, [0, 1], [0, 1])] * 2, ("x", "y"), marks=[Mark(0.5, name)])
    *_, mark, legend, _ = text_in(chart.svg)
    assert all(name.startswith(shown[:-1]) and shown.endswith("…") and len(shown) < 75 for shown in (mark, legend))
    assert name in chart.html()
