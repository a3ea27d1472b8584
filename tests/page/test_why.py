"""Why a stream is not decided."""

from helpers.views import MODEL

from streamfs.page.tables import DECIDED, OPEN, WAITING, NewestReading
from streamfs.page.why import threshold, why

FRESH = NewestReading("x", "n1", 1.0, 0, 0)
OLD = NewestReading("y", "n2", 1.0, 90, 30)
MISSING = NewestReading("z", "", float("nan"), -1, 30)


def test_a_stream_that_waits_lacks_channels_or_a_tick():
    assert why(MODEL, WAITING, 0, float("nan"), [FRESH, OLD, MISSING]) == [
        "y of n2 is 90 s old, and serves for 30 s",
        "z has never come",
    ]
    (last,) = why(MODEL, WAITING, 0, float("nan"), [FRESH])
    assert "next tick" in last


def test_an_open_stream_lacks_confidence():
    short, time, lack = why(MODEL, OPEN, 12, 0.89999, [FRESH, OLD])
    assert short == "its confidence is 89.9 %, and 90 % are needed", "not rounded up to what it does not reach"
    assert time == "tick 12 of 60; without a label it ends in 48 s"
    assert lack.startswith("y of n2")
    assert "no confidence yet" in why(MODEL, OPEN, 1, float("nan"), [])[0]


def test_thresholds_begin_at_their_ticks():
    late = MODEL | {"thresholds": [[5, 9], [0.9, 0.7]]}
    assert [threshold(late, tick) for tick in (4, 5, 8, 9, 60)] == [None, 0.9, 0.9, 0.7, 0.7]
    assert why(late, OPEN, 2, 0.99, [])[0] == "nothing is decided before tick 5"
    own = MODEL | {"thresholds": None, "rule": "when it rains"}
    assert why(own, OPEN, 2, 0.99, [])[0] == "what decides is: when it rains"


def test_of_a_decided_stream_nothing_is_lacking():
    assert why(MODEL, DECIDED, 4, 0.95, [OLD]) == []
