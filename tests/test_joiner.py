"""The joiner: what the streams look like on the grid, whatever happened on the way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from feature_extractors.report import Policy
from streamfs.gateway.bindings import Bindings
from streamfs.gateway.codecs import Reading
from streamfs.gateway.joiner import Joiner

POLICIES = ("", "every:3", "mean:4", "flag:0.5", "delta:0.25", "quantised:0.5")
CHANNELS = tuple(f"c{i}@{policy}".removesuffix("@") for i, policy in enumerate(POLICIES))
PERIOD = 0.5

columns = arrays(
    np.float64,
    (len(CHANNELS), 12),
    elements=st.one_of(st.floats(-2, 2, width=16), st.just(np.nan)),
)


def make_joiner(lateness=0.0, channels=CHANNELS, **options):
    return Joiner(Bindings.single(channels, ["n1"]), PERIOD, lateness, **options)


def messages_of(values, max_silence=None):
    """Return (tick, channel, reading) of all that a node sends, in order of time."""
    messages = []
    for channel, policy, column in zip(CHANNELS, POLICIES, values, strict=True):
        sent = Policy.parse(policy).sent(column, max_silence)
        for sequence, tick in enumerate(np.flatnonzero(np.isfinite(sent))):
            messages.append((int(tick), channel, Reading(tick * PERIOD, sent[tick], sequence)))
    return sorted(messages, key=lambda message: message[0])


def seen_of(values, max_silence=None):
    """Return what a gateway sees, shape (n_ticks, n_columns)."""
    seen = [
        Policy.parse(policy).seen(column, max_silence) for policy, column in zip(POLICIES, values, strict=True)
    ]
    return np.array(seen).T


def join(joiner, messages, *, live=True):
    """Return the ticks that come of messages: asked for after each, or only in the end."""
    ticks = []
    for _, channel, reading in messages:
        joiner.add("n1", channel, reading)
        if live:
            ticks += joiner.advance()
    return [*ticks, *joiner.flush()]


def samples_of(ticks):
    return np.array([tick.samples[0] for tick in ticks])


def number_of(tick):
    return round(tick.time / PERIOD)


@given(columns, st.one_of(st.none(), st.integers(1, 6)), st.booleans())
def test_the_joined_view_is_the_policies_view(values, max_silence, live):
    messages = messages_of(values, max_silence)
    joiner = make_joiner(max_silence=None if max_silence is None else max_silence * PERIOD)
    ticks = join(joiner, messages, live=live)
    numbers = [number_of(tick) for tick in ticks]
    assert numbers == list(range(messages[0][0], messages[-1][0] + 1)) if messages else not numbers
    for tick in ticks:
        assert_array_equal(tick.samples[0], seen_of(values, max_silence)[number_of(tick)])


@given(columns, st.integers(0, 4), st.lists(st.floats(0, 1), min_size=100, max_size=100))
def test_order_within_the_lateness_makes_no_difference(values, n_late, delays):
    messages = messages_of(values)
    delayed = zip(messages, delays, strict=False)
    arrived = [message for message, _ in sorted(delayed, key=lambda pair: pair[0][0] + n_late * pair[1])]
    lateness = n_late * PERIOD
    joiner = make_joiner(lateness=lateness, overtaking=lateness)
    check_same_as_in_order(joiner, arrived, messages)


@given(columns, st.lists(st.integers(0, 4), min_size=len(CHANNELS), max_size=len(CHANNELS)))
def test_channels_may_lag_behind_each_other(values, lags):
    messages = messages_of(values)
    lag_of = dict(zip(CHANNELS, lags, strict=True))
    arrived = sorted(messages, key=lambda message: message[0] + lag_of[message[1]])
    check_same_as_in_order(make_joiner(lateness=4 * PERIOD), arrived, messages)


def check_same_as_in_order(joiner, arrived, messages):
    expected, ticks = join(make_joiner(), messages, live=False), join(joiner, arrived)
    assert [tick.time for tick in ticks] == [tick.time for tick in expected]
    assert_array_equal(samples_of(ticks), samples_of(expected))
    assert (joiner.counters["late"], joiner.counters["lost"]) == (0, 0)


@pytest.mark.parametrize(("overtaking", "held"), [(0.0, np.nan), (2.0, 1.0)])
def test_an_overtaken_reading_is_missing_unless_overtaking_is_allowed(overtaking, held):
    joiner = make_door(lateness=2.0, overtaking=overtaking)
    for reading in (door(0.0, 1.0, 0), door(2.0, 1.0, 2)):
        joiner.add(*reading)
    ticks = list(joiner.advance(0.75))
    joiner.add(*door(1.5, 0.0, 1))
    ticks += joiner.flush()
    assert_array_equal(samples_of(ticks)[:, 0], [1.0, held, 1.0, 0.0, 1.0])


@given(columns, st.data())
def test_duplicates_change_nothing(values, data):
    messages = messages_of(values)
    repeated = [message for message in messages for _ in range(data.draw(st.integers(1, 3)))]
    joiner = make_joiner(lateness=PERIOD)
    ticks = join(joiner, repeated)
    assert_array_equal(samples_of(ticks), samples_of(join(make_joiner(lateness=PERIOD), messages)))
    assert joiner.counters["duplicate"] == len(repeated) - len(messages)


@given(columns)
def test_nothing_waits_but_what_the_lateness_holds_back(values):
    joiner = make_joiner(lateness=2 * PERIOD)
    for _, channel, reading in messages_of(values):
        joiner.add("n1", channel, reading)
        list(joiner.advance())
        assert joiner.n_pending <= 3 * len(CHANNELS)
    list(joiner.flush())
    assert joiner.n_pending == 0


@pytest.mark.parametrize("offset", [-0.25, -0.1, 0.0, 0.2])
def test_a_stamp_belongs_to_the_nearest_tick(offset):
    joiner = make_joiner(channels=("light",))
    joiner.add("n1", "light", Reading(1.5 + offset, 7.0, None))
    assert [(tick.time, tick.samples[0, 0]) for tick in joiner.flush()] == [(1.5, 7.0)]


def door(time, value=1.0, sequence=None):
    return "n1", "door@flag:0.5", Reading(time, value, sequence)


def make_door(**options):
    """Return a joiner of one column that is held."""
    return make_joiner(channels=("door@flag:0.5",), **options)


def test_a_tick_waits_until_the_watermark_has_passed_its_stamps():
    joiner = make_door(lateness=1.0)
    joiner.add(*door(0.0))
    joiner.add(*door(1.24))
    assert list(joiner.advance()) == []
    joiner.add(*door(1.25))
    assert [tick.time for tick in joiner.advance()] == [0.0]


def test_an_explicit_watermark_runs_ahead_of_the_stamps():
    joiner = make_door()
    joiner.add(*door(0.0))
    assert [tick.samples[0, 0] for tick in joiner.advance(1.25)] == [1.0, 1.0, 1.0]
    assert joiner.now == 1.0


def test_a_known_gap_is_not_held_over():
    joiner = make_door(lateness=2.0)
    for reading in (door(0.0, 1.0, 0), door(0.5, 0.0, 1), door(2.0, 0.0, 3), door(2.5, 1.0, 4)):
        joiner.add(*reading)
    assert_array_equal(samples_of(joiner.flush())[:, 0], [1.0, 0.0, np.nan, np.nan, 0.0, 1.0])
    assert joiner.counters["lost"] == 1


def test_a_gap_that_is_filled_in_time_is_none():
    joiner = make_door(lateness=2.0)
    for reading in (door(0.0, 1.0, 0), door(0.5, 0.0, 1), door(2.0, 0.0, 3)):
        joiner.add(*reading)
        list(joiner.advance(0.75))
    joiner.add(*door(1.5, 1.0, 2))
    assert_array_equal(samples_of(joiner.flush())[:, 0], [0.0, 1.0, 0.0])
    assert joiner.counters["lost"] == 0


def test_a_restarted_node_leaves_no_gap():
    joiner = make_door()
    for reading in (door(0.0, 1.0, 8), door(1.5, 0.0, 0), door(2.0, 1.0, 1)):
        joiner.add(*reading)
    assert_array_equal(samples_of(joiner.flush())[:, 0], [1.0, 1.0, 1.0, 0.0, 1.0])
    assert (joiner.counters["lost"], joiner.counters["restarted"]) == (0, 1)


def test_only_the_same_number_at_the_same_tick_is_a_duplicate():
    joiner = make_door(lateness=5.0)
    assert [joiner.add(*door(1.0, value, 3)) for value in (1.0, 0.0)] == [True, False]
    assert joiner.counters["duplicate"] == 1
    assert joiner.add(*door(2.0, 0.0, 3))  # a node that has restarted
    assert_array_equal(samples_of(joiner.flush()), [[1.0], [1.0], [0.0]])


def test_the_last_of_two_changes_within_a_tick_is_held():
    joiner = make_door(lateness=5.0)
    for sequence, value in ((1, 1.0), (0, 0.0), (2, 0.0), (3, 1.0)):
        assert joiner.add(*door(0.05 * sequence, value, sequence))
    assert joiner.add(*door(1.0, 0.0, 4))
    assert_array_equal(samples_of(joiner.flush()), [[1.0], [1.0], [0.0]])
    assert joiner.counters["crowded"] == 3
    assert joiner.counters["lost"] == 0


def test_the_first_of_two_readings_within_a_tick_is_that_of_every_tick():
    joiner = make_joiner(channels=("light",))
    for sequence in range(4):
        assert joiner.add("n1", "light", Reading(0.2 * sequence, float(sequence), sequence))
    assert_array_equal(samples_of(joiner.flush()), [[0.0], [2.0]])


def test_late_readings_are_held_only_if_they_are_the_newest():
    joiner = make_joiner(channels=("light", "door@flag:0.5"))
    joiner.add("n1", "light", Reading(0.0, 10.0, None))
    list(joiner.advance(1.5))
    assert joiner.add(*door(0.5, 1.0))
    assert joiner.add("n1", "light", Reading(0.5, 10.0, None))
    assert joiner.add(*door(0.0, 0.0))
    assert_array_equal(samples_of(joiner.advance(2.5)), [[np.nan, 1.0]] * 2)
    assert joiner.add(*door(0.0, 0.0))
    assert not joiner.add(*door(0.5, 0.0))
    assert_array_equal(samples_of(joiner.advance(3.0)), [[np.nan, 1.0]])
    assert joiner.counters["late"] == 4
    assert joiner.counters["duplicate"] == 1
    assert joiner.n_pending == 0


def test_a_long_jump_skips_the_empty_ticks():
    joiner = make_door(max_gap=3)
    joiner.add(*door(0.0))
    joiner.add(*door(1e9))
    ticks = list(joiner.flush())
    assert [tick.time for tick in ticks] == [0.0, 0.5, 1.0, 1.5, 1e9]
    assert joiner.counters["skipped"] == 2 * 10**9 - 4
    assert joiner.n_pending == 0


def test_a_watermark_far_ahead_skips_and_stays_ahead():
    joiner = make_door(max_gap=3)
    joiner.add(*door(0.0))
    assert len(list(joiner.advance(1e9))) == 4
    assert joiner.now == 1e9 - PERIOD
    assert list(joiner.advance(2e9)) == []
    joiner.add(*door(2e9, 0.0))
    assert samples_of(joiner.flush()).tolist() == [[0.0]]


def test_streams_share_a_nodes_reading():
    pairs = {"p1": {"a": "n1", "b": "n2"}, "p2": {"a": "n2", "b": "n3"}}
    joiner = Joiner(Bindings.pairs(("a.light", "b.light"), pairs), PERIOD)
    for node, value in (("n1", 1.0), ("n2", 2.0), ("n3", 3.0)):
        assert joiner.add(node, "light", Reading(0.0, value, None))
    (tick,) = joiner.flush()
    assert tick.streams == ("p1", "p2")
    assert_array_equal(tick.samples, [[1.0, 2.0], [2.0, 3.0]])


def test_a_dropped_stream_is_emitted_no_longer():
    joiner = Joiner(Bindings.single(["light"], ["n1", "n2"]), PERIOD)
    for time in (0.0, 0.5, 1.0):
        joiner.add("n1", "light", Reading(time, 1.0, None))
        joiner.add("n2", "light", Reading(time, 2.0, None))
    emitted = []
    for tick in joiner.flush():
        emitted.append((tick.streams, tick.samples.tolist()))
        joiner.drop("n1" if len(emitted) == 1 else "n2")
    assert emitted == [(("n1", "n2"), [[1.0], [2.0]]), (("n2",), [[2.0]])]
    assert joiner.streams == ()
    assert joiner.n_pending == 0


def test_any_node_is_a_stream_where_none_is_named():
    joiner = Joiner(Bindings.single(["light"]), PERIOD)
    nodes = [f"n{i}" for i in range(40)]
    for value, node in enumerate(nodes):
        assert joiner.add(node, "light", Reading(0.0, value, None))
    assert not joiner.add("n1", "humidity", Reading(0.0, 1.0, None))
    (tick,) = joiner.flush()
    assert tick.streams == tuple(nodes)
    assert tick.samples[:, 0].tolist() == list(range(40))


def test_what_nobody_wants_is_counted_and_moves_no_time():
    joiner = make_door()
    assert not joiner.add("n2", "door@flag:0.5", Reading(5.0, 1.0, None))
    assert not joiner.add("n1", "light", Reading(5.0, 1.0, None))
    assert joiner.newest is None
    assert joiner.counters["unbound"] == 2
    assert list(joiner.advance()) == []
    assert list(joiner.flush()) == []


@pytest.mark.parametrize("time", [None, np.nan, np.inf])
def test_a_reading_without_a_time_is_refused(time):
    with pytest.raises(ValueError, match="time is"):
        make_door().add(*door(time))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("period", {"period": 0.0}),
        ("period", {"period": np.nan}),
        ("lateness", {"period": 1.0, "lateness": -1.0}),
        ("overtaking", {"period": 1.0, "overtaking": -1.0}),
        ("max_silence", {"period": 1.0, "max_silence": 0.5}),
        ("max_gap", {"period": 1.0, "max_gap": -1}),
    ],
)
def test_numbers_out_of_range_are_refused(name, options):
    with pytest.raises(ValueError, match=name):
        Joiner(Bindings.single(["light"]), **options)
