"""Reports: complete, self-contained, and harmless whatever the names."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from helpers.procedures import labelled_streams, mean_procedure

from streamfs import StreamSet, train
from streamfs.data.fingerprints import fingerprints
from streamfs.errors import DataError
from streamfs.evaluation.evaluation import evaluate
from streamfs.evaluation.report.chosen_streams import EACH, choose
from streamfs.evaluation.report.importance import importances
from streamfs.evaluation.report.measure import measure
from streamfs.evaluation.report.page import html

HOSTILE = "<script>alert('x')</script>"
VOID = {"meta", "link"}


class Page(HTMLParser):
    """A page whose elements are all closed, with its addresses and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.addresses, self.tags, self.words = [], [], set(), []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.addresses += [value for name, value in attributes if name in ("href", "src")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, _attributes):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())


@pytest.fixture(scope="module")
def procedure():
    return train(labelled_streams(80), features=["mean(a.level)", "mean(b.level)"], confidence=0.9, select=None)


@pytest.fixture(scope="module")
def measured(procedure):
    streams = labelled_streams(40, seed=1)
    return measure(procedure, streams, groups=["hall"] * 30 + ["lab"] * 10, repeats=1)


def test_a_report_has_all_sections_and_loads_nothing(measured):
    page = Page(html(measured, "new.csv"))
    assert page.tags.isdisjoint({"script", "iframe", "img", "object"})
    assert all(address.startswith("#") or address == "data:," for address in page.addresses)
    found = measured.evaluation
    right = sum(d.label == label for d, label in zip(found.decisions, found.labels, strict=True))
    labelled = sum(d.label is not None for d in found.decisions)
    for words in (
        f"({right} of {labelled};",
        "40 streams of new.csv",
        "Nothing was promised",
        "Classes and groups",
        "Trade-off",
        "How often a confidence is right",
        "What each column tells",
        "How it was made",
    ):
        assert words in page.text
    assert measured.procedure.digest in page.text


def test_the_same_seed_gives_the_same_report(procedure, measured):
    again = measure(procedure, labelled_streams(40, seed=1), groups=["hall"] * 30 + ["lab"] * 10, repeats=1)
    assert html(again, "new.csv") == html(measured, "new.csv")


def test_a_report_on_the_streams_of_the_training_says_so(procedure, measured):
    words = "streams of its training that the model remembers are among these"
    assert words not in html(measured, "new.csv")
    again = measure(procedure, labelled_streams(80).take(np.arange(20)), repeats=1)
    kept = set(fingerprints(again.streams)) & set(procedure.about["fingerprints"])
    assert 0 < len(kept) < 20
    assert f"{len(kept)} of 64 {words}" in html(again, "old.csv")


def test_confusion_counts_each_stream_once(measured):
    table = html(measured, "x").partition('aria-label="Confusion matrix"')[2].partition("</table>")[0]
    assert sum(map(int, re.findall(r"<td[^>]*>(\d+)</td>", table))) == 40


def test_hostile_names_are_inert():
    streams = labelled_streams(24, n_ticks=4)
    names = [f"{HOSTILE} {i}" for i in range(24)]
    labels = [f"{HOSTILE}{label}" for label in streams.labels]
    named = StreamSet(streams.values[:, :, :1], labels, [HOSTILE], 1.0, names)
    made = train(named, features=[f'mean("{HOSTILE}")'], confidence=0.6, select=None)
    page = Page(html(measure(made, named, groups=names, repeats=1), HOSTILE))
    assert "script" not in page.tags
    assert HOSTILE in page.text


def test_chosen_streams_are_of_their_kind_and_none_comes_twice(procedure):
    streams = labelled_streams(60, seed=2, n_ticks=6)
    sure = procedure.with_confidence(0.97)
    found = choose(sure, streams, evaluate(sure, streams))
    names = [each.decision.stream for each in found]
    assert len(set(names)) == len(names)
    for kind in {each.kind for each in found}:
        of_kind = [each for each in found if each.kind == kind]
        assert len(of_kind) <= EACH
        is_right = {each.decision.label == each.label for each in of_kind}
        assert is_right == {kind in ("typical", "early")}
        assert all((each.decision.label is None) == (kind == "undecided") for each in of_kind)
    for each in found:
        if each.decision.tick:
            assert each.confidence[each.decision.tick - 1].max() == pytest.approx(each.decision.confidence)


def test_the_informative_column_is_the_most_important():
    rng = np.random.default_rng(0)
    streams = labelled_streams(200, seed=3, n_ticks=5)
    noise = streams.values.copy()
    noise[:, :, 1] = rng.normal(size=noise.shape[:2])
    deaf = StreamSet(noise, streams.labels, streams.columns, 1.0, streams.names)
    first = train(deaf, features=["mean(a.level)", "mean(b.level)"], confidence=0.8, select=None)
    found = importances(first, deaf, repeats=2)
    assert found[0].column == "a.level"
    assert found[0].accuracy > 0.2


def test_a_procedure_without_a_card_counts_messages():
    values = np.repeat([[[0.9]], [[0.1]]], 10, axis=0) * np.ones((20, 10, 1))
    streams = StreamSet(values, ["on"] * 10 + ["off"] * 10, ["x"])
    bare = replace(mean_procedure(), about={})
    page = Page(html(measure(bare, streams, repeats=1), "x.csv"))
    assert "What each channel sends" in page.text
    assert "transmissions" in page.text
    assert "Not labelled in time" in page.text


def test_streams_without_ticks_are_refused(procedure):
    empty = StreamSet(np.zeros((2, 0, 2)), ["calm", "busy"], ["a.level", "b.level"])
    with pytest.raises(DataError, match="none of 2 streams has a tick"):
        measure(procedure, empty)
