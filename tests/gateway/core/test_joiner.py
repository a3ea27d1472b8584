"""The joiner: what the streams look like on the grid, whatever happened on the way."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from feature_extractors.report import Policy, split_channel
from streamfs.gateway.core._waiting import FOREVER
from streamfs.gateway.core.feeds import KEPT, RAW
from streamfs.gateway.core.joiner import Joiner
from streamfs.gateway.core.options import Time
from streamfs.gateway.core.reading_buffer import ReadingBuffer
from streamfs.gateway.core.timing import Timing
from streamfs.gateway.messages.codecs import Reading

POLICIES = ("", "every:3", "mean:4", "flag:0.5", "delta:0.25", "quantised:0.5")
CHANNELS = tuple(f"c{i}@{policy}".removesuffix("@") for i, policy in enumerate(POLICIES))
PERIOD = 0.5

columns = arrays(
    np.float64,
    (len(CHANNELS), 12),
    elements=st.one_of(st.floats(-2, 2, width=16), st.just(np.nan)),
)


class Tick(NamedTuple):
    time: float
    samples: np.ndarray
    stream: int


class Follower:
    """One joiner under the streams of some nodes, a stream each, fed reading by reading, or all at once."""

    def __init__(self, channels, timing, nodes=("n1",), max_silence=None, **options):
        self.joiner = Joiner(channels, channels, timing, **options)
        self.node_of = {node: self.joiner.add_node() for node in nodes}
        for number in self.node_of.values():
            self.joiner.add_stream({channel: self.joiner.slot(number, channel) for channel in channels})
        longest = FOREVER if max_silence is None else round(max_silence / timing.period)
        policies = [split_channel(channel)[1] for channel in channels]
        in_ticks = [int(p.value) if p.kind in ("every", "mean") else 1 for p in policies]
        self.max_ages = np.array(
            [max(longest, n) if p.holds else 0 for p, n in zip(policies, in_ticks, strict=True)]
        )
        self.ticks = []

    def row(self, node, channel, reported, message=0, arrival=None, slot=None):
        """What `ReadingBuffer.add` takes."""
        number = self.node_of[node]
        slot = self.joiner.slot(number, channel) if slot is None else slot
        arrival = getattr(reported, "time", None) if arrival is None else arrival
        return reported, number, slot, message, 0.0 if arrival is None else arrival, 10, 1.0

    def feed(self, rows):
        """Take readings; keep the ticks that fall due."""
        readings = ReadingBuffer()
        for row in rows:
            readings.add(*row)
        self.keep(self.joiner.take(readings))

    def add(self, node, channel, reading, **options):
        """Take a reading, and say whether it was news: whether its node has paid for it."""
        messages = self.joiner.nodes["messages"].sum()
        self.feed([self.row(node, channel, reading, **options)])
        return bool(self.joiner.nodes["messages"].sum() > messages)

    def advance(self, watermark=None):
        """Return the ticks that have fallen due since the last call, by silence up to a watermark too."""
        if watermark is not None:
            self.keep(self.joiner.let_time_pass(watermark + self.joiner.timing.lateness))
        ticks, self.ticks = self.ticks, []
        return ticks

    def flush(self):
        self.keep(self.joiner.flush())
        return self.advance()

    def keep(self, emitted):
        for entries in emitted:
            samples, ages = entries.values.copy(), entries.ticks["tick"][:, None] - entries.sources
            samples[ages > self.max_ages] = np.nan
            for entry, sample in zip(entries.ticks, samples, strict=True):
                time = entry["tick"] * self.joiner.timing.period
                self.ticks.append(Tick(float(time), sample[np.newaxis], int(entry["stream"])))

    def __getattr__(self, name):
        return getattr(self.joiner, name)


def make_joiner(lateness=0.0, channels=CHANNELS, nodes=("n1",), max_silence=None, **timing):
    gaps = {name: timing.pop(name) for name in ("max_gap", "ahead", "repeat") if name in timing}
    options = {name: timing.pop(name) for name in ("max_pending", "at_once") if name in timing}
    timing = Timing(PERIOD, Time(lateness, **{"grace": 0.0, **timing}), **gaps)
    return Follower(channels, timing, nodes, max_silence, **options)


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
    """Return the ticks that come of messages: given one by one, or all together."""
    rows = [joiner.row("n1", channel, reading, i) for i, (_, channel, reading) in enumerate(messages)]
    for batch in [[row] for row in rows] if live else [rows]:
        joiner.feed(batch)
    return joiner.flush()


def samples_of(ticks):
    return np.array([tick.samples[0] for tick in ticks])


def number_of(tick):
    return round(tick.time / PERIOD)


def join_raw(values, how, max_silence, *, live):
    """Return the ticks that come of samples that all come, and are thinned by the joiner."""
    repeat = {} if max_silence is None else {"repeat": max_silence}
    joiner = make_joiner(max_silence=None if max_silence is None else max_silence * PERIOD, **repeat)
    rows = []
    for number, tick in enumerate(np.flatnonzero(np.isfinite(values).any(axis=0))):
        for channel, value in zip(CHANNELS, values[:, tick], strict=True):
            reading = Reading(tick * PERIOD, value, number if how == RAW else None)
            rows += [(*joiner.row("n1", channel, reading, len(rows)), how)] * bool(np.isfinite(value))
    for batch in [[row] for row in rows] if live else [rows]:
        joiner.feed(batch)
    return joiner.flush()


def check_seen(ticks, values, max_silence):
    seen = seen_of(values, max_silence)
    for tick in ticks:
        assert_allclose(tick.samples[0], seen[number_of(tick)], rtol=0, atol=1e-12)


@given(columns, st.one_of(st.none(), st.integers(1, 6)), st.booleans())
def test_samples_that_all_come_are_seen_as_if_their_node_had_thinned_them(values, max_silence, live):
    values[:, 0] = np.nan_to_num(values[:, 0])  # where a policy begins
    ticks = join_raw(values, RAW, max_silence, live=live)
    assert ticks
    check_seen(ticks, values, max_silence)


@given(columns, st.one_of(st.none(), st.integers(1, 6)), st.booleans())
def test_what_a_device_sends_on_change_holds_and_is_then_thinned(values, max_silence, live):
    values = np.nan_to_num(values)
    sent = Policy.parse("delta:0.25").sent(values, max_silence)
    check_seen(
        join_raw(sent, RAW | KEPT, max_silence, live=live), Policy.parse("delta:0.25").seen(values), max_silence
    )


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


def test_silence_lets_time_run_ahead_of_the_stamps():
    joiner = make_door()
    joiner.add(*door(0.0))
    assert [tick.samples[0, 0] for tick in joiner.advance(1.25)] == [1.0, 1.0, 1.0]
    assert joiner.next_tick(0) == 3


def test_a_known_gap_is_not_held_over():
    joiner = make_door(lateness=2.0)
    for reading in (door(0.0, 1.0, 0), door(0.5, 0.0, 1), door(2.0, 0.0, 3), door(2.5, 1.0, 4)):
        joiner.add(*reading)
    assert_array_equal(samples_of(joiner.flush())[:, 0], [1.0, 0.0, np.nan, np.nan, 0.0, 1.0])
    assert joiner.counters["lost"] == 1


def test_a_message_without_a_value_leaves_no_gap_and_is_paid_once():
    joiner = make_door(lateness=2.0)
    told = (door(0.0, 1.0, 0), door(0.5, 0.0, 1), door(1.0, np.nan, 2), door(2.0, 1.0, 3), door(2.1, np.nan, 4))
    assert [joiner.add(*reading, message=number) for number, reading in enumerate(told)] == [True] * 5
    joiner.add(*door(2.5, 0.0, 5))
    assert_array_equal(samples_of(joiner.flush())[:, 0], [1.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    assert (joiner.counters["lost"], joiner.n_pending) == (0, 0)


def test_a_gap_that_is_filled_in_time_is_none():
    joiner = make_door(lateness=2.0)
    ticks = []
    for reading in (door(0.0, 1.0, 0), door(0.5, 0.0, 1), door(2.0, 0.0, 3)):
        joiner.add(*reading)
        ticks += joiner.advance(0.75)
    joiner.add(*door(1.5, 1.0, 2))
    assert_array_equal(samples_of(ticks + joiner.flush())[:, 0], [1.0, 1.0, 0.0, 1.0, 0.0])
    assert joiner.counters["lost"] == 0


def test_a_restarted_node_leaves_no_gap():
    joiner = make_door()
    for reading in (door(0.0, 1.0, 8), door(1.5, 0.0, 0), door(2.0, 1.0, 1)):
        joiner.add(*reading)
    assert_array_equal(samples_of(joiner.flush())[:, 0], [1.0, 1.0, 1.0, 0.0, 1.0])
    assert (joiner.counters["lost"], joiner.counters["restarted"]) == (0, 1)


@pytest.mark.parametrize(
    ("jump", "n_lost", "n_restarted"), [(2**16, 2**16 - 1, 0), (2**16 + 2, 0, 1), (2**62, 0, 1)]
)
def test_a_number_far_ahead_begins_a_count_and_leaves_no_gap(jump, n_lost, n_restarted):
    joiner = make_door(lateness=1.0)
    for reading in (door(0.0, 1.0, 8), door(1.0, 0.0, 8 + jump), door(1.5, 1.0, 9 + jump)):
        assert joiner.add(*reading)
    seen = samples_of(joiner.flush())[:, 0]
    assert_array_equal(seen, [1.0, np.nan if n_lost else 1.0, 0.0, 1.0])
    assert (joiner.counters["lost"], joiner.counters["restarted"]) == (n_lost, n_restarted)


def test_a_wild_number_costs_none_of_those_that_follow():
    joiner = make_door(lateness=1.0)
    for tick, number in enumerate((1, 2, 2**40, 4, 5)):
        assert joiner.add(*door(tick * PERIOD, 1.0, number))
    joiner.flush()
    assert (joiner.counters["lost"], joiner.counters["duplicate"], joiner.counters["restarted"]) == (0, 0, 2)


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
    assert not joiner.add(*door(0.0, 0.0))
    assert not joiner.add(*door(0.5, 0.0))
    assert_array_equal(samples_of(joiner.advance(3.0)), [[np.nan, 1.0]])
    assert joiner.counters["late"] == 3
    assert joiner.counters["duplicate"] == 2
    assert joiner.n_pending == 0


def test_a_long_jump_skips_the_empty_ticks():
    joiner = make_door(max_gap=3)
    joiner.add(*door(0.0))
    joiner.add(*door(1e9))
    ticks = list(joiner.flush())
    assert [tick.time for tick in ticks] == [0.0, 0.5, 1.0, 1.5, 1e9 - PERIOD, 1e9]
    assert joiner.counters["skipped"] == 2 * 10**9 - 5
    assert joiner.n_pending == 0


def test_the_grid_may_be_let_go_on_for_longer_but_not_for_less():
    joiner = make_door(max_gap=3)
    joiner.allow_gap(5)
    joiner.allow_gap(4)
    joiner.add(*door(0.0))
    assert len(joiner.advance(1e9)) == 7


def test_a_watermark_far_ahead_skips_and_stays_ahead():
    joiner = make_door(max_gap=3)
    joiner.add(*door(0.0))
    assert [tick.time for tick in joiner.advance(1e9)] == [0.0, 0.5, 1.0, 1.5, 1e9 - PERIOD]
    assert [tick.time for tick in joiner.advance(2e9)] == [2e9 - PERIOD]
    joiner.add(*door(2e9, 0.0))
    assert samples_of(joiner.flush()).tolist() == [[0.0]]


def test_a_node_that_left_leaves_its_number_and_nothing_else():
    joiner = make_joiner(channels=("light", "door@flag:0.5"), lateness=5.0)
    joiner.add(*door(0.0))
    joiner.add("n1", "light", Reading(0.0, 7.0, 3))
    joiner.remove_stream(0)
    joiner.remove_node(0)
    assert (joiner.n_pending, joiner.add_node(), joiner.add_node()) == (0, 0, 1)
    assert joiner.add_stream({channel: joiner.slot(0, channel) for channel in joiner.channels}) == 0
    assert joiner.nodes["messages"][0] == 0
    assert joiner.add("n1", "light", Reading(0.0, 8.0, 3))
    assert_array_equal(samples_of(joiner.flush()), [[8.0, np.nan]])


def test_more_channels_change_no_node():
    joiner = make_joiner(channels=("light",), nodes=("n1", "n2"), lateness=5.0)
    joiner.add("n1", "light", Reading(0.0, 1.0, 0))
    joiner.add("n2", "light", Reading(0.0, 2.0, 0))
    joiner.widen(*[["door@flag:0.5", "light"]] * 2)
    for node in (0, 1):
        joiner.feed_columns(node, {"door@flag:0.5": joiner.slot(node, "door@flag:0.5")})
    joiner.max_ages = np.array([0, FOREVER])
    joiner.add("n2", "door@flag:0.5", Reading(0.0, 1.0, 0))
    assert_array_equal(samples_of(joiner.flush()), [[1.0, np.nan], [2.0, 1.0]])


def test_what_cannot_wait_is_dropped_and_counted():
    joiner = make_joiner(channels=("light",), lateness=1e6, max_pending=100)
    for i in range(150):
        joiner.add("n1", "light", Reading(i * PERIOD, 1.0, i))
    assert (joiner.n_pending, joiner.counters["overflow"]) == (100, 50)
    assert joiner.nodes["messages"][0] == 150  # all of them were sent


readings = st.lists(
    st.tuples(
        st.integers(0, 2),  # node
        st.sampled_from(["light", "door@flag:0.5"]),
        st.integers(-3, 60),  # quarters of a second
        st.one_of(st.none(), st.integers(0, 80)),
    ),
    max_size=60,
)


@given(readings, st.lists(st.integers(1, 8)), st.integers(0, 3))
def test_how_readings_are_divided_makes_no_difference(sent, sizes, n_late):
    nodes = ("n0", "n1", "n2")
    alone, together = (
        make_joiner(n_late * PERIOD, ("light", "door@flag:0.5"), nodes, max_gap=7, at_once=at_once)
        for at_once in (100, 3)
    )
    rows = [
        alone.row(nodes[node], channel, Reading(quarters / 4, float(i), sequence), 0)
        for i, (node, channel, quarters, sequence) in enumerate(sent)
    ]
    for row in rows:
        alone.feed([row])
    rest = [(*row[:3], i, *row[4:]) for i, row in enumerate(rows)]
    for size in sizes:
        together.feed(rest[:size])
        rest = rest[size:]
    together.feed(rest)
    for one, other in zip(alone.flush(), together.flush(), strict=True):
        assert_array_equal(one.samples, other.samples)
    assert alone.counters == together.counters
    assert alone.nodes.tobytes() == together.nodes.tobytes()


@given(readings, st.integers(0, 60))
def test_a_restored_joiner_goes_on_as_if_nothing_had_happened(sent, n_before):
    nodes = ("n0", "n1", "n2")
    one, other = (make_joiner(PERIOD, ("light", "door@flag:0.5"), nodes) for _ in range(2))
    rows = [
        one.row(nodes[node], channel, Reading(quarters / 4, float(i), sequence), i)
        for i, (node, channel, quarters, sequence) in enumerate(sent)
    ]
    one.feed(rows[:n_before])
    other.joiner.restore(*one.joiner.to_state())
    other.ticks = list(one.ticks)
    for joiner in (one, other):
        joiner.feed(rows[n_before:])
    for expected, tick in zip(one.flush(), other.flush(), strict=True):
        assert_array_equal(tick.samples, expected.samples)
    assert one.counters == other.counters


def test_sequence_marks_have_the_highest_number_of_each_channel():
    joiner = make_joiner(channels=("light", "door@flag:0.5"), lateness=9.0)
    for sequence in (3, 5, 4):
        joiner.add(*door(float(sequence), 1.0, sequence))
    joiner.add("n1", "light", Reading(0.0, 1.0, None))
    assert list(joiner.marks()) == [(0, "door@flag:0.5", 5, 5.0)]


def test_readings_of_one_message_share_its_number_and_its_price():
    joiner = make_joiner(channels=("light",), lateness=9.0)
    batch = [joiner.row("n1", "light", Reading(k * PERIOD, float(k), 4)) for k in range(5)]
    joiner.feed(batch)
    joiner.feed(batch)
    joiner.feed([joiner.row("n1", "light", Reading(9.0, 9.0, 5))])
    joiner.feed([joiner.row("n1", "light", Reading(3.0 + k * PERIOD, float(k), 3)) for k in range(3)])
    assert joiner.nodes["messages"][0] == 3
    assert (joiner.counters["duplicate"], joiner.counters["lost"], joiner.n_pending) == (5, 0, 9)


def test_a_node_may_count_beyond_what_is_remembered():
    joiner = make_door(lateness=1e3)
    for sequence in (0, 1, 100, 99, 37, 36):
        joiner.add(*door(sequence * PERIOD, 1.0, sequence))
    assert [joiner.add(*door(s * PERIOD, 1.0, s)) for s in (100, 99, 38, 37, 36, 2)] == [
        False,
        False,
        True,
        False,
        False,
        False,
    ]
    assert joiner.add(*door(101 * PERIOD, 1.0, 2))
    assert joiner.counters["restarted"] == 1


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("period", {"period": 0.0}),
        ("period", {"period": np.nan}),
        ("ahead", {"period": 1.0, "ahead": 0.0}),
        ("max_gap", {"period": 1.0, "max_gap": -1}),
    ],
)
def test_numbers_out_of_range_are_refused(name, options):
    with pytest.raises(ValueError, match=name):
        Timing(**options)


def test_what_comes_again_without_a_number_is_known_however_old():
    joiner = make_joiner(channels=("light",), lateness=PERIOD)
    for _ in range(2):
        for tick in range(200):
            joiner.add("n1", "light", Reading(tick * PERIOD, 1.0, None))
    assert joiner.nodes["messages"][0] == joiner.counters["duplicate"] == 200
    assert joiner.counters["late"] == 0
