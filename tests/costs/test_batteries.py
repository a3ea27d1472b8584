"""Battery life against sums worked by hand, and its laws."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamfs.costs.batteries import DAY, TWO_AA_CELLS, Duty, life
from streamfs.costs.energy import Profile
from streamfs.costs.radio_profiles import PROFILES, profile
from streamfs.costs.rates import by_role, role_of

RADIOS = st.sampled_from([radio for radio in PROFILES.values() if radio.unit == "joules"])
TICKS, PERIODS = st.floats(0.0, 1e3), st.floats(1e-3, 1e3)
MESSAGES = st.dictionaries(st.sampled_from(["a.light", "a.noise@delta:2"]), st.floats(0.0, 1e4), min_size=1)


def test_two_aa_cells_hold_three_quarters_of_their_nominal_capacity():
    assert pytest.approx(21060.0) == TWO_AA_CELLS


def test_a_day_worked_by_hand():
    # an episode of 100 s and 3500 s after it: 24 episodes a day, 7 messages each of 57 bytes of 32 us at 52.2 mW,
    # 20 ticks each of 0.25 s awake, and two control messages of 65 bytes of 32 us at 56.4 mW
    duty = Duty(reopen_after=3500.0, awake=0.25)
    got = life({"a.light": 5.0, "a.noise@delta:2": 2.0}, 20.0, 5.0, profile("cc2420"), duty)
    message = 57 * 32e-6 * 52.2e-3
    rest = 24 * 2 * 65 * 32e-6 * 56.4e-3 + 24 * 20 * 0.25 * 3.0 * 426e-6 + (86400 - 24 * 20 * 0.25) * 3.0 * 20e-6
    assert got.messages == pytest.approx(24 * 7)
    assert got.sending == pytest.approx(24 * 7 * message)
    assert got.joules == pytest.approx(24 * 7 * message + rest)
    assert got.days == pytest.approx(21060.0 / (24 * 7 * message + rest))


def test_by_default_an_hour_passes_from_a_decision_to_the_next_episode():
    assert life({"x": 1.0}, 6.0, 10.0, profile("cc2420")).messages == pytest.approx(86400 / 3660)


def test_by_default_a_radio_is_awake_for_a_tenth_of_a_second_a_tick():
    radio = Profile("idler", idle=1.0)
    assert life({"x": 0.0}, 6.0, 10.0, radio).joules == pytest.approx(86400 / 3660 * 0.6)


def test_a_radio_is_awake_for_no_longer_than_its_ticks():
    radio = Profile("idler", idle=1.0)
    assert life({"x": 0.0}, 10.0, 0.5, radio, Duty(5.0, awake=9.0)).joules == pytest.approx(86400 / 2)


def test_a_profile_that_counts_transmissions_knows_messages_only():
    assert life({"x": 3.0}, 0.0, 1.0, profile("transmissions")) == (72.0, None, None, None)


def test_a_node_without_a_channel_that_is_read_sleeps_all_day():
    radio = profile("nrf52840_ble")
    assert life({}, 100.0, 1.0, radio).joules == pytest.approx(86400 * radio.sleep)
    assert life({"x": 0.0}, 100.0, 1.0, radio).joules > 86400 * radio.sleep


def test_a_battery_that_nothing_drains_lasts_indefinitely():
    assert life({"x": 0.0}, 60.0, 1.0, Profile("sender", transmit=1.0)).days == math.inf


def test_the_price_of_a_quantity_multiplies_the_cost_of_its_messages():
    radio = profile("heinzelman2000")
    dear = life({"a.light@delta:40": 2.0, "a.noise": 1.0}, 60.0, 1.0, radio, prices={"light": 10.0})
    assert dear.joules == pytest.approx(life({"a.noise": 21.0}, 60.0, 1.0, radio).joules)
    assert dear.messages == pytest.approx(life({"a.noise": 3.0}, 60.0, 1.0, radio).messages)


def test_a_message_of_more_bytes_costs_more():
    radio = Profile("sender", transmit=1.0)
    twice, once = (life({"x": 1.0}, 60.0, 1.0, radio, message_bytes=n).joules for n in (80, 40))
    assert twice == pytest.approx(2 * once)


@given(messages=MESSAGES, more=st.floats(0.0, 1e3), ticks=TICKS, period=PERIODS, radio=RADIOS)
def test_more_messages_never_extend_battery_life(messages, more, ticks, period, radio):
    channel = min(messages)
    chattier = {**messages, channel: messages[channel] + more}
    quiet, loud = (life(sent, ticks, period, radio) for sent in (messages, chattier))
    assert loud.days <= quiet.days
    assert loud.messages >= quiet.messages


@given(
    messages=MESSAGES, ticks=TICKS, period=PERIODS, radio=RADIOS, rest=st.floats(1, DAY), longer=st.floats(1, 9)
)
def test_fewer_episodes_never_shorten_battery_life(messages, ticks, period, radio, rest, longer):
    often, rarely = (life(messages, ticks, period, radio, Duty(r)).days for r in (rest, rest * longer))
    assert rarely >= often * (1 - 1e-9)


@given(messages=MESSAGES, ticks=TICKS, period=PERIODS, radio=RADIOS, battery=st.floats(1.0, 1e6))
def test_battery_life_is_proportional_to_capacity(messages, ticks, period, radio, battery):
    once, twice = (life(messages, ticks, period, radio, Duty(battery=b)).days for b in (battery, 2 * battery))
    assert twice == pytest.approx(2 * once)


@given(messages=MESSAGES, ticks=TICKS, period=PERIODS, radio=RADIOS, awake=st.floats(0.0, 1e3))
def test_a_day_costs_its_messages_plus_control_sleep_and_idling(messages, ticks, period, radio, awake):
    got = life(messages, ticks, period, radio, Duty(awake=awake))
    slack, heard = 1e-9 * got.joules, DAY / (ticks * period + 3600) * 2 * radio.receive_joules(48)
    least = got.sending + heard + DAY * radio.sleep
    assert least - slack <= got.joules <= got.sending + heard + DAY * radio.idle + slack


@pytest.mark.parametrize(
    ("channel", "role"),
    [("a.light", "a"), ("b.light@delta:0.5", "b"), ("light@delta:0.5", ""), ('"a.inlet @ north"@every:2', "a")],
)
def test_the_role_is_the_part_before_the_dot(channel, role):
    assert role_of(channel) == role


def test_messages_are_grouped_by_role():
    assert by_role({"light": 1.0, "noise@flag:3": 2.0}) == {"": {"light": 1.0, "noise@flag:3": 2.0}}
    assert by_role({"a.x": 1.0, "b.x": 2.0, "a.y": 3.0}) == {"a": {"a.x": 1.0, "a.y": 3.0}, "b": {"b.x": 2.0}}


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("messages of x is -1.0, expected a finite number, at least 0", {"messages": {"x": -1.0}}),
        ("ticks is nan, expected", {"ticks": math.nan}),
        ("period is 0.0, expected seconds, more than 0", {"period": 0.0}),
        ("ticks is 0.0 and reopen_after 0.0, expected one of them", {"ticks": 0.0, "duty": Duty(0.0)}),
        ("n_bytes is -1", {"message_bytes": -1}),
    ],
)
def test_numbers_out_of_range_are_refused(words, options):
    with pytest.raises(ValueError, match=words):
        life(**{"messages": {"x": 1.0}, "ticks": 9.0, "period": 1.0, "radio": profile("cc2420"), **options})


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("reopen_after is -1.0, expected a finite number, at least 0", {"reopen_after": -1.0}),
        ("awake is nan, expected a finite number", {"awake": math.nan}),
        ("battery is 0.0, expected joules, more than 0", {"battery": 0.0}),
        ("battery is inf, expected", {"battery": math.inf}),
    ],
)
def test_a_duty_out_of_range_is_refused(words, options):
    with pytest.raises(ValueError, match=words):
        Duty(**options)
