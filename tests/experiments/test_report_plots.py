"""The figures of a report by matplotlib show what the report's own charts show."""

import numpy as np
import pytest
from helpers.procedures import mean_procedure
from numpy.testing import assert_array_equal

from streamfs import StreamSet
from streamfs.evaluation.report import figures
from streamfs.evaluation.report.measure import measure
from streamfs.experiments import report_plots


@pytest.fixture(scope="module")
def measured():
    values = np.tile([[[0.2]], [[0.9]], [[0.6]]], (4, 4, 1))
    return measure(mean_procedure(), StreamSet(values, ["off", "on", "off"] * 4, ["x"]), repeats=1)


@pytest.mark.parametrize(
    ("plot", "chart"),
    [
        (report_plots.plot_trade_off, figures.trade_off_chart),
        (report_plots.plot_decided, figures.decided_chart),
        (report_plots.plot_reliability, lambda measured: figures.reliability_chart(measured.reliability)),
        (report_plots.plot_importance, lambda measured: figures.importance_charts(measured)[0]),
        (report_plots.plot_channels, figures.channel_chart),
    ],
)
def test_a_figure_shows_what_the_chart_shows(measured, plot, chart):
    axes, chart = plot(measured), chart(measured)
    assert axes.get_title() == chart.title
    if chart.lines is None:
        assert [bar.get_width() for bar in axes.patches] == [number for _, number in chart.rows]
    else:
        assert (axes.get_xlabel(), axes.get_ylabel()) == chart.lines.axes
        for drawn, line in zip(axes.get_lines(), chart.lines.lines, strict=False):
            assert_array_equal(drawn.get_data(), (line.x, line.y))


def test_confusion_has_each_count(measured):
    axes = report_plots.plot_confusion(measured)
    assert sum(int(text.get_text()) for text in axes.texts) == len(measured.streams)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["off", "on", "no label"]


def test_a_stream_is_drawn_into_axes_that_are_given(measured):
    axes = report_plots.plot_confusion(measured)
    axes.clear()
    chosen = measured.chosen[0]
    assert report_plots.plot_stream(chosen, measured, axes) is axes
    assert axes.get_title() == f"{chosen.decision.stream}: readings"
    assert report_plots.plot_stream(chosen, measured, confidence=True).get_ylabel() == "confidence"
