"""Warnings of messages and streams that are left out: as long as they are recent."""

from streamfs.gateway.operations.data_warnings import MOST_NAMED, RECENT, DataWarnings, LastRejected
from streamfs.gateway.operations.health import Health


def test_dead_letters_are_named_by_cause_while_they_are_recent():
    rejected = {
        "time": LastRejected(2, "sensors/n1/x", "t is 'noon'", 100.0),
        "size": LastRejected(9, "sensors/n2/x", "payload has 10 bytes", 50.0),
    }
    of_size, of_time = DataWarnings().update(100.0, {}, rejected, {})
    assert of_size == "9 messages are dead letters (size); the last, on sensors/n2/x: payload has 10 bytes"
    assert of_time.startswith("2 messages are dead letters (time)")
    warnings = DataWarnings()
    assert warnings.update(50.0 + RECENT, {}, rejected, {}) == [of_time]
    assert warnings.update(100.0 + RECENT, {}, rejected, {}) == []


def test_refusals_and_evictions_are_warned_of_after_each_rise():
    warnings = DataWarnings()
    assert warnings.update(0.0, {"refused": 0, "evicted": 0}, {}, {}) == []
    (found,) = warnings.update(1.0, {"refused": 7, "evicted": 0}, {}, {})
    assert found.endswith("(refused: 7)")
    assert warnings.update(RECENT, {"refused": 7}, {}, {}) == [found]
    assert warnings.update(1.0 + RECENT, {"refused": 7}, {}, {}) == []
    assert len(warnings.update(2.0 + RECENT, {"refused": 8, "evicted": 1}, {}, {})) == 2


def test_the_busiest_topics_that_feed_no_stream_are_named():
    orphans = {f"other/{number:02}": number for number in range(MOST_NAMED + 1)}
    (found,) = DataWarnings().update(0.0, {}, {}, orphans)
    assert "on 11 topics feed no stream" in found
    assert found.endswith(": " + ", ".join(f"other/{number:02}" for number in range(10, 0, -1)) + ", ...")


def test_what_is_left_out_is_a_warning_of_health():
    health = Health(connected=True, subscribed=True, storing=True, loop_age=0.0, lag=0.0, data=["left out"])
    assert (health.problems(), health.warnings()) == ([], ["left out"])
