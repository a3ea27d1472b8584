"""Report policies against a plain implementation of their rules, one tick at a time."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_array_equal

from feature_extractors.report import Policy, split_channel

TEXTS = ("", "every:3", "mean:1", "mean:4", "flag:1.5", "delta:0", "delta:0.75", "quantised:0.5")
QUARTERS = st.one_of(st.integers(-20, 20).map(lambda n: n / 4), st.just(math.nan))
COLUMNS = arrays(np.float64, st.integers(0, 30), elements=QUARTERS)
SILENCES = st.one_of(st.none(), st.integers(1, 6))


def plain_message(kind: str, value: float, x: float) -> float:
    if kind == "flag":
        return float(x > value)
    if kind == "quantised":
        return round(x / value) * value
    return x


def plain_sent(text: str, values: list[float], max_silence: int | None) -> list[float]:
    kind, _, number = (text or "every:1").partition(":")
    value = float(number)
    sent, held, last = [math.nan] * len(values), None, 0
    for tick, x in enumerate(values):
        if kind == "every" and tick % value == 0:
            sent[tick] = x
        elif kind == "mean" and (tick + 1) % value == 0:
            block = [v for v in values[tick + 1 - int(value) : tick + 1] if not math.isnan(v)]
            sent[tick] = sum(block) / len(block) if block else math.nan
        elif kind in ("flag", "delta", "quantised") and not math.isnan(x):
            message = plain_message(kind, value, x)
            changed = held is None or abs(message - held) > (value if kind == "delta" else 0)
            held = message if changed else held
            if changed or (max_silence is not None and tick - last >= max_silence):
                sent[tick], last = held, tick
    return sent


def plain_seen(text: str, sent: list[float], max_silence: int | None) -> list[float]:
    if not text:
        return sent
    limit = math.inf if max_silence is None else max_silence
    if text.startswith(("every", "mean")):
        limit = max(limit, float(text.partition(":")[2]))
    seen, held, last = [], math.nan, 0
    for tick, x in enumerate(sent):
        if not math.isnan(x):
            held, last = x, tick
        seen.append(held if tick - last <= limit else math.nan)
    return seen


@given(values=COLUMNS, max_silence=SILENCES)
def test_a_policy_equals_its_plain_implementation(values, max_silence):
    for text in TEXTS:
        sent = plain_sent(text, values.tolist(), max_silence)
        assert_array_equal(Policy.parse(text).sent(values, max_silence), sent, text)
        seen = plain_seen(text, sent, max_silence)
        assert_array_equal(Policy.parse(text).seen(values, max_silence), seen, text)


@given(
    values=arrays(np.float64, array_shapes(min_dims=2, max_dims=3, max_side=5), elements=QUARTERS),
    max_silence=SILENCES,
)
def test_leading_axes_are_independent(values, max_silence):
    rows = values.reshape(-1, values.shape[-1])
    for text in TEXTS:
        policy = Policy.parse(text)
        one_by_one = np.array([policy.seen(row, max_silence) for row in rows]).reshape(values.shape)
        assert_array_equal(policy.seen(values, max_silence), one_by_one, text)


@given(values=COLUMNS, max_silence=SILENCES, data=st.data())
def test_later_samples_never_change_earlier_messages(values, max_silence, data):
    n_ticks = data.draw(st.integers(0, len(values)))
    for text in TEXTS:
        policy = Policy.parse(text)
        whole = policy.sent(values, max_silence)[:n_ticks]
        assert_array_equal(whole, policy.sent(values[:n_ticks], max_silence), text)


@given(values=COLUMNS, step=st.sampled_from([0.0, 0.25, 1.0, 2.5]))
def test_the_value_seen_under_delta_is_within_the_step(values, step):
    seen = Policy("delta", step).seen(values)
    known = np.isfinite(values)
    assert (np.abs(seen[known] - values[known]) <= step).all()


@pytest.mark.parametrize("text", ["flag:1.5", "delta:0.75", "quantised:0.5"])
@given(values=arrays(np.float64, st.integers(1, 30), elements=st.floats(-5, 5)), max_silence=st.integers(1, 6))
def test_no_silence_is_longer_than_allowed(text, values, max_silence):
    sending = np.flatnonzero(np.isfinite(Policy.parse(text).sent(values, max_silence)))
    assert sending[0] == 0
    assert (np.diff(sending, append=len(values)) <= max_silence).all()


def test_the_held_value_is_repeated_not_the_newest_sample():
    sent = Policy.parse("delta:1").sent([5.0, 5.5, 5.75], max_silence=2)
    assert_array_equal(sent, [5.0, np.nan, 5.0])


def test_a_value_is_not_seen_beyond_max_silence():
    seen = Policy.parse("delta:1").seen([5.0, np.nan, np.nan, np.nan, 5.0], max_silence=2)
    assert_array_equal(seen, [5.0, 5.0, 5.0, np.nan, 5.0])


def test_infinite_samples_are_never_sent():
    for text in TEXTS:
        assert_array_equal(Policy.parse(text).sent([np.inf, -np.inf]), [np.nan, np.nan])


def test_a_quantised_zero_is_positive():
    assert not np.signbit(Policy.parse("quantised:0.5").sent([-0.1]))[0]


def test_every_tick_sends_a_copy():
    values = np.array([1.0, 2.0])
    Policy().sent(values)[0] = 9.0
    assert_array_equal(values, [1.0, 2.0])


def test_a_block_longer_than_the_column_sends_nothing():
    assert_array_equal(Policy.parse("mean:1e300").sent([1.0, 2.0]), [np.nan, np.nan])


@pytest.mark.parametrize("text", TEXTS)
def test_the_name_is_read_back(text):
    policy = Policy.parse(text)
    assert policy.name == text
    assert policy.holds is (text != "")


def test_every_one_is_every_tick():
    assert Policy.parse("every:1") == Policy.parse("") == Policy()
    assert Policy.parse("every:1").name == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sometimes:3", "sometimes"),
        ("delta", "delta"),
        ("delta:", "delta:"),
        ("delta:-1", "-1.0, expected at least 0"),
        ("flag:nan", "nan, expected a finite number"),
        ("every:0", "0.0, expected whole ticks"),
        ("mean:2.5", "2.5, expected whole ticks"),
        ("quantised:0", "0.0, expected more than 0"),
    ],
)
def test_an_invalid_policy_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        Policy.parse(text)


def test_values_without_ticks_and_silence_below_one_are_refused():
    with pytest.raises(ValueError, match=r"expected \(\.\.\., n_ticks\)"):
        Policy().sent(3.0)
    with pytest.raises(ValueError, match="max_silence is 0"):
        Policy("delta", 1.0).seen([1.0], max_silence=0)


@pytest.mark.parametrize(
    ("channel", "column", "policy"),
    [
        ("temperature", "temperature", ""),
        ("a.light@flag:300", "a.light", "flag:300"),
        ("light@every:1", "light", ""),
        ('"inlet @ north"', "inlet @ north", ""),
        ('"inlet @ ""north"""@delta:0.5', 'inlet @ "north"', "delta:0.5"),
    ],
)
def test_channel_splits_into_column_and_policy(channel, column, policy):
    assert split_channel(channel) == (column, Policy.parse(policy))


@pytest.mark.parametrize("channel", ["", "@delta:1", '""@delta:1', "light@flag", '"light"x@flag:1@'])
def test_an_invalid_channel_is_refused(channel):
    with pytest.raises(ValueError, match="expected"):
        split_channel(channel)
