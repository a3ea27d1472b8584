"""Warnings of messages and streams that are left out: as long as they are recent."""

import logging

import pytest
from helpers.procedures import channels_procedure
from helpers.records import Models, message, new_core, restored

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.unheard import LEAST, Unheard
from streamfs.gateway.core.unheard import MOST_NAMED as MOST_NODES
from streamfs.gateway.operations.data_warnings import MOST_NAMED, RECENT, DataWarnings, LastRejected
from streamfs.gateway.operations.health import Health
from streamfs.gateway.operations.log_notes import LogNotes

ALL_HEARD = Unheard()


def test_dead_letters_are_named_by_cause_while_they_are_recent():
    rejected = {
        "time": LastRejected(2, "sensors/n1/x", "t is 'noon'", 100.0),
        "size": LastRejected(9, "sensors/n2/x", "payload has 10 bytes", 50.0),
    }
    of_size, of_time = DataWarnings().update(100.0, {}, rejected, {}, ALL_HEARD)
    assert of_size == "9 messages are dead letters (size); the last, on sensors/n2/x: payload has 10 bytes"
    assert of_time.startswith("2 messages are dead letters (time)")
    warnings = DataWarnings()
    assert warnings.update(50.0 + RECENT, {}, rejected, {}, ALL_HEARD) == [of_time]
    assert warnings.update(100.0 + RECENT, {}, rejected, {}, ALL_HEARD) == []


def test_refusals_and_evictions_are_warned_of_after_each_rise():
    warnings = DataWarnings()
    assert warnings.update(0.0, {"refused": 0, "evicted": 0}, {}, {}, ALL_HEARD) == []
    (found,) = warnings.update(1.0, {"refused": 7, "evicted": 0}, {}, {}, ALL_HEARD)
    assert found.endswith("(refused: 7)")
    assert warnings.update(RECENT, {"refused": 7}, {}, {}, ALL_HEARD) == [found]
    assert warnings.update(1.0 + RECENT, {"refused": 7}, {}, {}, ALL_HEARD) == []
    assert len(warnings.update(2.0 + RECENT, {"refused": 8, "evicted": 1}, {}, {}, ALL_HEARD)) == 2


def test_a_gateway_to_which_nothing_has_come_for_long_says_so():
    """Mosquitto grants a subscription that its access list forbids, and sends nothing."""
    warnings = DataWarnings()
    assert warnings.update(0.0, {"received": 0}, {}, {}, ALL_HEARD) == []
    (found,) = warnings.update(RECENT, {"received": 0}, {}, {}, ALL_HEARD)
    assert found.startswith("no message has come since the start")
    assert warnings.update(RECENT, {"received": 1}, {}, {}, ALL_HEARD) == []


def test_silence_counts_from_the_last_connection():
    """Else a gateway without a broker was advised to look at access lists."""
    silent, warnings = Unheard(n_silent=1, silent=("n1",)), DataWarnings()
    of = {"received": 0, "connections": 0}
    for at, n_connections, is_connected, n in (
        (0.0, 0, False, 0),
        (RECENT, 0, False, 0),
        (RECENT + 1.0, 1, True, 0),
        (2 * RECENT, 1, True, 0),
        (2 * RECENT + 1.0, 1, True, 2),
        (2 * RECENT + 2.0, 1, False, 0),
        (2 * RECENT + 3.0, 2, True, 0),
        (2 * RECENT + 4.0, 3, True, 0),
        (3 * RECENT + 3.0, 3, True, 0),
        (3 * RECENT + 4.0, 3, True, 2),
    ):
        counters = of | {"connections": n_connections}
        found = warnings.update(at, counters, {}, {}, silent, is_connected=is_connected)
        assert len(found) == n, at


@pytest.mark.parametrize("counter", ["outbox_dropped", "dropped"])
def test_what_was_dropped_is_warned_of_though_nothing_waits_any_more_and_logged(counter, caplog):
    (found,) = DataWarnings().update(1.0, {counter: 7}, {}, {}, ALL_HEARD)
    assert found.endswith(f"({counter}: 7)")
    with caplog.at_level(logging.WARNING):
        LogNotes().update({counter: 7})
    assert f"({counter}: 7" in caplog.text


def test_the_busiest_topics_that_feed_no_stream_are_named():
    orphans = {f"other/{number:02}": number for number in range(MOST_NAMED + 1)}
    (found,) = DataWarnings().update(0.0, {}, {}, orphans, ALL_HEARD)
    assert "on 11 topics feed no stream" in found
    assert found.endswith(": " + ", ".join(f"other/{number:02}" for number in range(10, 0, -1)) + ", ...")


def test_what_is_left_out_is_a_warning_of_health():
    health = Health(connected=True, subscribed=True, storing=True, loop_age=0.0, lag=0.0, data=["left out"])
    assert (health.problems(), health.warnings()) == ([], ["left out"])


def test_nodes_that_send_nothing_or_not_all_are_named():
    nodes = [f"n{number}" for number in range(MOST_NODES + 3)]
    models = Models(channels_procedure("x", "door@flag:0.5"))
    core, _ = new_core(models, Bindings.single(["x", "door@flag:0.5"], nodes))
    assert core.unheard()[:2] == (len(nodes), 0)
    core.take([message("n1", float(time), 0.0, time) for time in range(LEAST - 1)])
    assert core.unheard()[:2] == (len(nodes) - 1, 0)
    core.take([message("n1", float(LEAST), 0.0, LEAST)])
    core.take(
        [
            message("n2", float(time), 0.0, time, channel)
            for time in range(LEAST)
            for channel in core.joiner.channels
        ]
    )
    found = restored(core, models).unheard()
    assert found == core.unheard()
    assert (found.n_silent, found.partial) == (len(nodes) - 2, (("n1", LEAST, ("door@flag:0.5",)),))
    warnings = DataWarnings()
    (of_channel,) = warnings.update(5.0, {}, {}, {}, found)
    assert of_channel.startswith(
        f"n1 has sent {LEAST} readings, but never door@flag:0.5, for which its streams wait"
    )
    assert warnings.update(5.0 + RECENT, {}, {}, {}, found) == [
        of_channel,
        "11 nodes have never sent anything, and their streams wait: n0, n3, n4, n5, n6, n7, n8, n9, n10, n11, ...",
    ]
    core.finish()
    assert core.unheard() == ALL_HEARD, "streams that are decided wait for nothing"


def test_of_many_nodes_that_do_not_send_all_the_first_are_named():
    of_channels = Unheard(0, 3, (), (("n1", 20, ("x", "y")),))
    of_n1, others = DataWarnings().update(0.0, {}, {}, {}, of_channels)
    assert of_n1.startswith("n1 has sent 20 readings, but never x, y,")
    assert others.startswith("2 further nodes")


def test_the_log_names_each_topic_once_with_a_suggestion(caplog):
    warnings = DataWarnings(lambda topic: "try this" if topic == "a" else "")
    for orphans in ({"a": 1}, {"a": 2, "b": 1}, {"b": 7}):
        warnings.update(0.0, {}, {}, orphans, ALL_HEARD)
    assert [record.args[:2] for record in caplog.records] == [
        ("a", "try this"),
        ("b", "its node is not bound, or no model reads its channel"),
    ]
