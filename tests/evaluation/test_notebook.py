"""What notebooks show: well-formed, complete, and inert."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest
from helpers.procedures import labelled_streams, mean_procedure

import feature_extractors as fx
from streamfs import Costs, FeatureTable, StreamRelief, StreamSet, evaluate, train

HOSTILE = "<script>alert('x')</script>"


def shown(thing):
    """Parse what a notebook shows, as XML but for the attribute without a value; return all its text."""
    html = thing._repr_html_()
    assert "<script" not in html
    return " ".join(ET.fromstring(f"<p>{html.replace('<details open>', '<details>')}</p>").itertext())  # noqa: S314


def test_streams_show_their_classes_and_columns():
    text = shown(labelled_streams(6, gaps=0.5))
    for words in ("6 streams of up to 20 ticks of 1 s", "calm", "busy", "a.noise"):
        assert words in text
    values = np.zeros((1, 2, 9))
    assert "without 3 further columns" in shown(StreamSet(values, ["x"], [f"c{i}" for i in range(9)]))
    assert "0 streams" in shown(StreamSet(np.zeros((0, 2, 1)), [], ["x"]))


def test_hostile_names_are_inert():
    streams = StreamSet(np.zeros((2, 3, 1)), [HOSTILE, "other"], [HOSTILE], names=[HOSTILE, "b"])
    assert HOSTILE in shown(streams)


def test_a_procedure_its_decisions_and_evaluation_show_what_they_are():
    procedure = mean_procedure()
    streams = StreamSet(np.ones((2, 4, 1)) * [[[0.9]], [[0.1]]], ["on", "off"], ["x"], names=["s", HOSTILE])
    found = evaluate(procedure, streams)
    assert "off or on" in shown(procedure)
    assert "mean(x)" in shown(procedure)
    assert "closed" in shown(found.decisions[1])
    assert HOSTILE in shown(found.decisions[1])
    assert "completeness" in shown(found)
    assert f"{found.completeness:.4g}" in shown(found)
    assert repr(procedure) == "Procedure(reads x, labels off, on, within 10 ticks of 1 s)"
    assert repr(found) == f"Evaluation(2 streams, completeness 0.5, accuracy 1, {found.ticks:.3g} ticks)"
    assert repr(procedure.features) == "(Feature(mean(x)),)"


def test_a_selector_shows_its_ranking_once_it_is_fitted():
    streams = labelled_streams(20, 8)
    selector = StreamRelief(Costs([1.0] * 2), horizon=12)
    assert "sk-" in selector._repr_html_()  # scikit-learn's view
    values = np.repeat(streams.values[:, :, :1], 2, axis=2)
    features = (fx.get(f"mean({streams.columns[0]})"), fx.get(f"last({streams.columns[0]})"))
    selector.fit(FeatureTable(values, streams.labels, features, streams.lengths))
    text = shown(selector)
    assert f"mean({streams.columns[0]})" in text
    assert "within 12 ticks" in text
    assert "feature 1" in shown(selector.fit(values, streams.labels))


@pytest.mark.slow
def test_a_trained_procedure_is_shown():
    assert "calm" in shown(train(labelled_streams(80)))
