"""Early classification as aeon has it: its own checks, and that its decisions are ours."""

import doctest

import numpy as np
import pytest
from helpers.peers import require
from numpy.testing import assert_array_equal

from streamfs import StreamClassifier

Y = np.repeat(["calm", "busy"], 20)
SHOWN = np.arange(8) >= np.arange(40)[:, np.newaxis] % 4  # from tick 1, 2, 3 or 4 on
X = np.random.default_rng(0).normal(size=(40, 2, 8))
X[:, 0] += 9.0 * SHOWN * np.where(Y == "calm", -1.0, 1.0)[:, np.newaxis]
CLASSIFIER = StreamClassifier(features=["last(x0)", "mean(x1)"], confidence=0.9, select=None)

ALLOWED = "check_non_state_changing_method"
"""aeon exempts its own early classifiers, too: what a prediction changes is `state_info`, which it asks for."""


def test_aeons_checks_pass():
    checking, ours = require("aeon.testing.estimator_checking"), require("streamfs.training.for_aeon")
    found = checking.check_estimator(ours.EarlyStreamClassifier)
    assert len(found) > 20
    assert [name for name, said in found.items() if said != "PASSED" and not said.startswith("SKIPPED")] == [
        name for name in found if name.startswith(ALLOWED)
    ]
    assert {ALLOWED} < set(require("aeon.testing.testing_config").EXCLUDED_TESTS["TEASER"])
    assert doctest.testmod(ours).failed == 0


def test_a_case_is_decided_when_the_stream_is():
    early = require("streamfs.training.for_aeon").EarlyStreamClassifier(CLASSIFIER).fit(X, Y)
    ticks, labels = np.full(40, -1), np.full(40, "", dtype=object)
    left = np.arange(40)
    for n_ticks in range(1, 9):
        if not left.size:
            break
        found, is_decided = early.update_predict(X[left, :, :n_ticks])
        assert set(found[~is_decided]) <= {-1}
        labels[left[is_decided]], ticks[left[is_decided]] = found[is_decided], n_ticks
        left = left[~is_decided]
    whole = early.classifier_
    assert_array_equal(ticks, whole.decision_ticks(X.transpose(0, 2, 1)))
    assert_array_equal(labels, whole.predict(X.transpose(0, 2, 1)))
    _, accuracy, earliness = early.score(X, Y)
    assert (accuracy, earliness) == (np.mean(labels == Y), ticks.mean() / 8)


def test_cases_that_do_not_go_on_are_refused():
    ours = require("streamfs.training.for_aeon").EarlyStreamClassifier
    early = ours(CLASSIFIER).fit([case[:, : 6 + place % 3] for place, case in enumerate(X)], Y)
    assert early.classifier_.procedure_.time_limit == 6
    _, is_decided = early.predict(X[:, :, :2])
    with pytest.raises(
        ValueError, match=f"X has 40 cases, expected the {(~is_decided).sum()} that are not decided"
    ):
        early.update_predict(X)
    with pytest.raises(ValueError, match="case 0 has 1 ticks, expected 2 or more"):
        early.update_predict_proba(X[~is_decided, :, :1])
    with pytest.raises(ValueError, match="on_timeout is 'none', expected 'label'"):
        ours(StreamClassifier(on_timeout="none")).fit(X, Y)
    with pytest.raises(TypeError, match="classifier is a str, expected a StreamClassifier"):
        ours("forest").fit(X, Y)
