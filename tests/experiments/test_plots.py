"""Plots show the computed values."""

from itertools import combinations

import numpy as np
import pytest
from helpers.procedures import labelled_streams, mean_procedure
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.image import imread
from numpy.testing import assert_array_equal

from streamfs import Costs, StreamRelief, StreamSet
from streamfs.evaluation.evaluation import sweep
from streamfs.experiments import plots
from streamfs.experiments.point_labels import label_points


@pytest.fixture(scope="module")
def selector():
    streams = labelled_streams(n_streams=20, n_ticks=12)
    return StreamRelief(Costs([1.0] * 4), horizon=20, confidence=0.6).fit(streams.values, streams.labels)


def lines(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def test_figure_1_draws_weights_bound_and_extrapolation(selector, tmp_path):
    figure = selector.plot(0, "a.level")
    left, right = figure.axes
    assert_array_equal(lines(left)["Relief weight"].get_ydata(), selector.weights_[:, 0])
    assert_array_equal(lines(left)["lower bound"].get_ydata(), selector.lower_bound_[:, 0])
    assert_array_equal(lines(left)["relevance floor"].get_ydata(), [selector.floor_] * 2)
    assert_array_equal(lines(right)["from weights"].get_ydata(), selector.probability_[:, 0])
    assert_array_equal(lines(right)["extrapolated"].get_xdata(), np.arange(13, 21))
    assert_array_equal(lines(right)["confidence threshold"].get_ydata(), [0.6, 0.6])
    assert figure.get_suptitle() == "a.level"
    plots.save(figure, tmp_path / "figure.png")
    assert imread(tmp_path / "figure.png").std() > 0.05


def test_a_missing_feature_is_named(selector):
    with pytest.raises(ValueError, match="feature is 4, expected 0 to 3"):
        selector.plot(4)


def test_figure_2_draws_means_and_intervals_of_every_method():
    measures = ("completeness", "accuracy", "cost", "sent")
    rows = [
        {"method": method, "confidence": c, **{name: k + c + m for k, name in enumerate(measures)}}
        | {f"{name}_ci": 0.125 for name in measures}
        for m, method in enumerate(("naive", "StreamRelief"))
        for c in (0.95, 0.85)
    ]
    figure = plots.figure_2(rows)
    *panels, paid, _ = figure.axes
    assert len(panels) == len(measures)
    for k, axes in enumerate(panels):
        assert axes.get_title().startswith(f"({'abcd'[k]}) ")
        assert axes.get_ylabel()
        for m in range(2):
            curve, band = axes.get_lines()[m], axes.collections[m].get_paths()[0].vertices
            assert_array_equal(curve.get_xdata(), [0.85, 0.95])
            assert_array_equal(curve.get_ydata(), [k + 0.85 + m, k + 0.95 + m])
            assert band[:, 1].min() == k + 0.85 + m - 0.125
            assert band[:, 1].max() == k + 0.95 + m + 0.125
    for m, method in enumerate(("naive", "StreamRelief")):
        assert_array_equal(lines(paid)[method].get_xdata(), [3 + 0.85 + m, 3 + 0.95 + m])
        assert_array_equal(lines(paid)[method].get_ydata(), [1 + 0.85 + m, 1 + 0.95 + m])


def test_a_sweep_draws_its_measures():
    streams = StreamSet(np.tile([[[0.2]], [[0.9]]], (3, 4, 1)), ["off", "on"] * 3, ["x"])
    evaluations = sweep(mean_procedure(time_limit=4), streams, [0.5, 0.9, 0.99])
    figure = plots.sweep_figure(evaluations, [1.0, 2.5, 4.0], "joules")
    *panels, paid = figure.axes
    assert [text.get_text() for text in paid.texts] == ["0.5", "0.9"]  # nothing is labelled at 0.99
    assert_array_equal(paid.get_lines()[0].get_xdata(), [1.0, 2.5, 4.0])
    assert_array_equal(paid.get_lines()[0].get_ydata(), [e.accuracy for e in evaluations])
    for axes, measure in zip(panels, ("completeness", "accuracy", "cost"), strict=True):
        (line,) = axes.get_lines()
        assert_array_equal(line.get_xdata(), [0.5, 0.9, 0.99])
        assert_array_equal(line.get_ydata(), [getattr(e, measure) for e in evaluations])
    assert panels[-1].get_ylabel() == "J a stream"


def test_each_class_is_drawn_by_its_median_while_half_of_it_goes_on(monkeypatch):
    values = np.arange(24.0).reshape(4, 3, 2)
    streams = StreamSet(values, ["off", "on", "on", "on"], ["x", "y"], 2.0, lengths=[3, 3, 1, 1])
    figure = plots.streams_figure(streams)
    assert [axes.get_title() for axes in figure.axes] == ["off (1)", "on (3)", "", ""]
    median = figure.axes[3].get_lines()[-1]  # y of class on, of which one in three goes on after its first tick
    assert_array_equal(median.get_xdata(), [0.0])
    assert_array_equal(median.get_ydata(), [np.median(values[1:, 0, 1])])
    assert "of 2" not in figure.get_suptitle()
    monkeypatch.setattr(plots, "MOST_CLASSES", 1)
    assert plots.streams_figure(streams).get_suptitle().endswith("; 1 of 2 classes")


@pytest.mark.parametrize("seed", range(3))
def test_names_of_points_hit_no_other_and_no_point(seed):
    points = np.unique(np.random.default_rng(seed).integers(0, 25, (12, 2)), axis=0)
    figure = Figure(figsize=(5, 4), layout="constrained")
    axes = figure.subplots()
    x, y = points.T
    axes.plot(x, y, "o", markersize=4)
    label_points(axes, x, y, [str(number) for number in range(len(points))])
    figure.draw_without_rendering()
    boxes = [text.get_window_extent().shrunk(0.9, 0.7) for text in axes.texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    places = axes.transData.transform(points)
    assert not any(box.contains(*place) for box in boxes for place in places)
    assert len(boxes) == len(points)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_the_frontier_has_what_nothing_cheaper_beats(points):
    spent, good = np.array(points, dtype=float).T
    best = plots.frontier(spent, good)
    assert (np.diff(spent[best]) > 0).all()
    assert (np.diff(good[best]) > 0).all()
    for cost, gain in points:
        assert any(spent[each] <= cost and good[each] >= gain for each in best)
