"""A promise of classifiers of other libraries, or of one's own: what is promised is what was tested."""

import numpy as np
import pytest
from helpers.own_classifier import Nearest
from river.naive_bayes import GaussianNB
from sklearn.linear_model import LogisticRegression

from streamfs import Procedure, Promise, PromiseError, StreamSet, evaluate, train, train_promised
from streamfs.errors import TrainingError
from streamfs.training.promises import SearchSettings, recertify
from streamfs.training.promises.split import TrainTestSplit

QUICK = {"features": ["mean(noise)"], "search": SearchSettings(as_offered=True), "n_jobs": 1}


def recorded(seed, apart=2.0):
    """Streams whose mean says which of two classes they are of."""
    labels = np.resize(["calm", "busy"], 120)
    values = np.random.default_rng(seed).normal(apart * (labels == "busy")[:, None, None], 1.0, (120, 6, 1))
    return StreamSet(values, labels, ["noise"])


def test_the_evidence_is_what_the_saved_model_does(tmp_path):
    streams, path = recorded(0), tmp_path / "m.streamfs"
    for model in (GaussianNB(), LogisticRegression(), Nearest()):
        train_promised(streams, Promise(0.8), classifier=model, **QUICK).save(path)
        procedure = Procedure.load(path, trust=True)
        promised, found = procedure.about["promise"], evaluate(procedure, TrainTestSplit.of(streams, None, 0).test)
        assert promised["right"] / promised["labelled"] == found.accuracy > 0.8
        assert promised["labelled"] / promised["streams"] == found.completeness
        said = procedure.classifier.probabilities(np.zeros((1, 1)))
        assert not procedure.classifier.learn_one(np.ones(1), "busy")
        assert procedure.classifier.dump() is None
        np.testing.assert_array_equal(procedure.classifier.probabilities(np.zeros((1, 1))), said)
        assert procedure.about["classifier"] == type(model).__name__


def test_what_learns_while_it_serves_ceases_when_it_is_certified():
    procedure = train(recorded(0), features=["mean(noise)"], classifier=GaussianNB())
    certified = recertify(procedure, recorded(1), Promise(0.8), retrain=False, n_jobs=1)
    assert certified.about["recertified"][0]["how"] == "threshold"
    row = np.ones(len(procedure.features))
    assert procedure.classifier.learn_one(row, "busy")
    assert not certified.classifier.learn_one(row, "busy")
    assert certified.classifier.describe() == (
        "GaussianNB of River, which does not learn any more, with calibrated confidence"
    )


def test_what_cannot_be_fitted_is_refused_before_the_search():
    with pytest.raises(TypeError, match="classifier is a dict, expected a River classifier, or another with fit"):
        train_promised(recorded(0), Promise(0.8), classifier={}, **QUICK)
    odd = Nearest()
    odd.predict_proba = lambda X: np.ones(len(X))
    with pytest.raises(
        TrainingError, match=r"Nearest cannot be fitted: its predict_proba returns the shape \(2,\)"
    ):
        train(recorded(0), features=["mean(noise)"], classifier=odd)
    boosted = train_promised(recorded(0), Promise(0.8), classifier="boosting", **QUICK)
    with pytest.raises(PromiseError, match=r"accuracy 0\.8"):
        recertify(boosted, recorded(1, apart=0.3), retrain=False, n_jobs=1)
