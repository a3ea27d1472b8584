"""What operators are told of a promise."""

import pytest

from streamfs.gateway.operations.promise_warnings import promise_warnings

LABELS = "streamfs/label/{stream}"
PROMISED = {"promised": {"accuracy": 0.8, "completeness": 0.7}, "right": 5, "labels": 20}


def warned(status, *whats):
    findings = [{"what": what, "number": 9, "time": 0.0} for what in whats]
    return promise_warnings({**PROMISED, "status": status, "findings": findings}, LABELS)


def test_nothing_is_said_of_a_promise_that_is_kept_or_not_there():
    assert promise_warnings(None, LABELS) == warned("kept so far", "tick") == []


def test_a_doubt_names_some_quantities():
    (warning,) = warned("in doubt", "tick", "label", "confidence", "feature a")
    assert "in tick (after 9), label (after 9), confidence (after 9), ...; publish true labels" in warning


@pytest.mark.parametrize(
    ("whats", "said"),
    [
        (["tick", "accuracy"], "accuracy is less than 0.8 here (5 of 20 labels are right)"),
        (["completeness"], "completeness is less than 0.7 here (shown by 9 decisions)"),
        (["accuracy of off"], "accuracy of off is less than 0.8 here (shown by 9 labels)"),
        (["accuracy of room7", "accuracy"], "accuracy is less than 0.8 here"),
    ],
)
def test_a_withdrawal_says_what_is_not_kept(whats, said):
    (warning,) = warned("withdrawn", *whats)
    assert said in warning
