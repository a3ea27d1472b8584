"""Split models: nodes compute features and send them, or their crossings, and a gateway decides as before."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.compiled_c import split_model
from helpers.lazy import lazy_procedure
from helpers.random_models import any_classifier, random_forest, random_procedure, random_tree
from hypothesis import given, settings
from hypothesis import strategies as st

import feature_extractors as fx
from feature_extractors.report import SENDS
from streamfs import Costs, StreamSet
from streamfs.classifiers import Calibration
from streamfs.data.derived import derive
from streamfs.errors import TranslationError
from streamfs.evaluation.evaluation import replay
from streamfs.evaluation.split_traffic import paid_by_split
from streamfs.procedure.split import split

N_TICKS = 14


def recordings(rng, n=12):
    """Return streams with gaps, late beginnings, infinite and very large values."""
    values = np.round(rng.normal(1, 1, (n, N_TICKS, 2)), 1)
    values[rng.random(values.shape) < 0.15] = np.nan
    values[:3, :4, 0] = np.nan
    values[3] *= 1e50
    return StreamSet(values, ["t"] * n, ("a", "b"), 0.5, lengths=rng.integers(6, N_TICKS + 1, n))


def without_codes(rng):
    """Return a classifier that has numeric tests alone."""
    found = any_classifier(rng, 5)
    while getattr(found, "nominal", np.zeros(1)).any():
        found = random_tree(rng, 5)
    return found


def outcomes(procedure, streams):
    """Return label, tick, reason and confidence of each stream; as text, in which NaN is equal to itself."""
    found = {each.stream: each for each in replay(procedure, streams)}
    return [f"{d.label} {d.tick} {d.reason} {d.confidence!r}" for d in (found[name] for name in streams.names)]


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), sends=st.sampled_from(SENDS), max_silence=st.sampled_from([None, 1.5]))
def test_nodes_send_what_python_derives_and_decisions_remain(tmp_path_factory, seed, sends, max_silence):
    rng = np.random.default_rng(seed)
    channel = rng.choice(["b", "b@delta:0.5", "b@mean:3"])
    procedure = random_procedure(rng, without_codes(rng), channel, max_silence=max_silence)
    streams, halves = recordings(rng), split(procedure, sends)
    derived = derive(streams, halves.columns, max_silence)
    assert outcomes(halves.gateway, derived) == outcomes(procedure, streams)
    model = split_model(tmp_path_factory.mktemp("model"), procedure, halves)
    by_channel = list(derived.sent_through(halves.channels, max_silence))
    for k, (readings, length) in enumerate(zip(streams.values, streams.lengths, strict=True)):
        sent = model.sent(readings[:length])
        for channel, expected in zip(halves.channels, by_channel, strict=True):
            np.testing.assert_array_equal(sent[channel], expected[k, :length])


def test_crossings_are_fewer_messages_than_values_and_priced_like_any():
    rng = np.random.default_rng(1)
    procedure, streams = random_procedure(rng, random_forest(1, 5)), recordings(rng)
    paid = paid_by_split(procedure, streams)
    assert [*paid] == ["readings", "values", "crossings"]
    ticks = {each.stream: each.tick for each in replay(procedure, streams)}
    for sends in SENDS:
        halves = split(procedure, sends)
        derived = derive(streams, halves.columns)
        opened = streams.lengths - derived.seen_through(halves.channels).episodes().lengths
        until = np.arange(N_TICKS) < [[opened[k] + ticks[name]] for k, name in enumerate(streams.names)]
        sent = sum(np.isfinite(each[until]).sum() for each in derived.sent_through(halves.channels))
        assert paid[sends] == sent / len(streams)
    assert 0 < paid["crossings"] < paid["values"]
    assert [*paid_by_split(random_procedure(rng, random_tree(rng, 5, n_tests=30)), streams)] == [
        "readings",
        "values",
    ]


def test_what_cannot_be_split_is_named():
    rng = np.random.default_rng(1)
    forest = random_forest(1, 5)
    codes = random_tree(rng, 5, n_tests=30)
    for procedure, sends, why in (
        (random_procedure(rng, forest, "b.light"), "values", "b.light has role b, expected streams of one node"),
        (random_procedure(rng, forest, "b@from:3"), "values", "b@from:3 opens later, expected channels of the"),
        (
            random_procedure(rng, codes),
            "crossings",
            r"the tree tests .* for codes, expected thresholds",
        ),
        (lazy_procedure(), "values", "the classifier, .*, releases features"),
        (
            random_procedure(rng, forest.calibrated(Calibration(0.7, 0.2, 0.4, clock=1))),
            "crossings",
            r"the calibration reads the value of mean\(a\), expected count\(\) or to send values",
        ),
        (
            random_procedure(rng, random_tree(rng, 5).calibrated(Calibration(0.7, 0.2, 0.4, clock=0))),
            "crossings",
            "expected a tree or a forest, or to send values",
        ),
        (
            replace(random_procedure(rng, random_forest(1, 1)), features=(fx.get("count()"),), costs=Costs([1.0])),
            "values",
            "no feature reads a column, so that there is nothing",
        ),
    ):
        with pytest.raises(TranslationError, match=why):
            split(procedure, sends)
    with pytest.raises(ValueError, match="sends is 'all', expected one of values, crossings"):
        split(random_procedure(rng, forest), "all")
