"""Other thresholds of a procedure, on streams that were held out, as `evaluate` finds them."""

import numpy as np
import pytest

from streamfs import Promise, StreamSet, evaluate, train_promised
from streamfs.evaluation.reliability import reliability
from streamfs.procedure import card_facts
from streamfs.training.promises.split import TrainTestSplit


def test_they_are_what_evaluate_finds_at_each():
    labels = np.arange(160) % 2
    values = np.random.default_rng(0).normal(labels[:, None, None], 1.0, (160, 12, 1))
    streams = StreamSet(values, labels.astype(str), ["x"])
    procedure = train_promised(streams, Promise(0.6), features=["mean(x)", "last(x)"], classifier="c45", n_jobs=1)
    kept_apart = TrainTestSplit.of(streams, None, 0).test
    found = card_facts.facts(procedure)["other_thresholds"]
    assert found["streams"] == len(kept_apart)
    assert len(found["thresholds"]) > 1
    for each in found["thresholds"]:
        evaluation = evaluate(procedure.with_confidence(each["threshold"]), kept_apart)
        assert (each["completeness"], each["accuracy"]) == pytest.approx(
            (evaluation.completeness, evaluation.accuracy)
        )
    *_, records = reliability(procedure.with_confidence(0.9), kept_apart)
    for stated, measured in zip(found["confidence"], records.bins, strict=True):
        assert stated == pytest.approx(measured._asdict())
