"""Cumulative cost of streams against plain sums: each channel's messages once, or given costs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from oracles import promises as naive_promises

import feature_extractors as fx
from feature_extractors.base import channels_of
from feature_extractors.report import split_channel
from streamfs import Costs, StreamSet, tabulate
from streamfs.costs.pricing import Pricing, own_costs
from streamfs.costs.radio_profiles import profile
from streamfs.costs.rates import Rates
from streamfs.costs.spending import FeatureSpending, MessageSpending, messages_sent
from streamfs.errors import DataError

NAMES = (
    "count()",
    "mean(a.t)",
    "max(a.t)",
    "correlation(a.t, b.t)",
    "mean(b.t@delta:0.5)",
    "mean(a.u@every:3)",
    "min(a.t@flag:1)",
    "correlation(a.t@delta:0.5, b.t@delta:0.5)",
)
FEATURES = tuple(fx.get(name) for name in NAMES)
CHANNELS = channels_of(FEATURES)
PRICES = {"u": 2.5, "t": 0.5}


@st.composite
def recorded(draw):
    """Streams of three columns with gaps, some without a tick."""
    n_streams, n_ticks = draw(st.integers(1, 5)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = rng.integers(0, 9, (n_streams, n_ticks, 3)) / 4
    values[rng.random(values.shape) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    lengths = rng.integers(0, n_ticks + 1, n_streams)
    return StreamSet(values, ["x"] * n_streams, ["a.t", "b.t", "a.u"], lengths=lengths)


def flags(streams, max_silence=None):
    """Return whether each channel sends, at each tick of each stream."""
    found = {}
    for channel in CHANNELS:
        column, policy = split_channel(channel)
        found[channel] = ~np.isnan(policy.sent(streams.column(column), max_silence))
    return found


def spent_until(spent, ticks):
    """Return the spending of each stream at its own tick, 0 before the first."""
    return [row[tick - 1] if tick else 0.0 for row, tick in zip(spent, ticks, strict=True)]


class TestMessageSpending:
    @given(recorded(), st.sets(st.integers(0, len(NAMES) - 1)), st.data(), st.sampled_from([None, 2.0]))
    def test_a_channel_is_paid_for_once_however_many_features_read_it(self, streams, tested, data, max_silence):
        ticks = [data.draw(st.integers(0, length)) for length in streams.lengths.tolist()]
        rates = Rates(3.0, tick=0.25, control=7.0)
        spending = MessageSpending(streams, CHANNELS, streams.lengths, rates, max_silence, PRICES)
        prices = {c: 3.0 * PRICES[c.partition("@")[0].rpartition(".")[2]] for c in CHANNELS}
        silence = None if max_silence is None else int(max_silence)
        expected = naive_promises.paid(
            flags(streams, silence), prices, [f.columns for f in FEATURES], sorted(tested), ticks, 0.25, 7.0
        )
        found = spending.until([FEATURES[i] for i in sorted(tested)])
        assert found.shape == (len(streams), streams.n_ticks)
        assert_allclose(spent_until(found, ticks), expected, rtol=1e-12)

    @given(recorded(), st.data())
    def test_messages_and_ticks_before_an_episode_opens_count(self, streams, data):
        lengths = np.array([data.draw(st.integers(0, length)) for length in streams.lengths.tolist()])
        ticks = [data.draw(st.integers(0, length)) for length in lengths.tolist()]
        late = streams.lengths - lengths
        ends = [tick + before if tick else 0 for tick, before in zip(ticks, late.tolist(), strict=True)]
        expected = naive_promises.paid(
            flags(streams), dict.fromkeys(CHANNELS, 1.0), [f.columns for f in FEATURES], [1, 3], ends, 2.0, 5.0
        )
        rates = Rates(1.0, tick=2.0, control=5.0)
        found = MessageSpending(streams, CHANNELS, lengths, rates).until([FEATURES[1], FEATURES[3]])
        assert_allclose(spent_until(found, ticks), expected, rtol=1e-12)

    def test_an_unchanged_value_is_repeated_after_max_silence_seconds(self):
        streams = StreamSet(np.ones((1, 7, 1)), ["x"], ["t"], period=2.0)
        spending = MessageSpending(streams, ["t@delta:1"], streams.lengths, max_silence=6.0)
        assert spending.until([fx.get("mean(t@delta:1)")]).tolist() == [[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0]]

    def test_a_stream_that_opens_late_has_paid_for_its_wait(self):
        streams = StreamSet([[[1.0, np.nan], [2.0, np.nan], [3.0, 5.0]]], ["x"], ["t", "u"])
        features = [fx.get("mean(t)"), fx.get("mean(u)")]
        lengths = tabulate(streams, features).lengths
        assert lengths.tolist() == [1]
        assert MessageSpending(streams, ["t", "u"], lengths).until(features)[0, 0] == 4.0

    def test_a_stream_that_never_opens_pays_to_its_end_and_one_without_a_tick_nothing(self):
        streams = StreamSet(np.ones((2, 4, 1)), ["x", "y"], ["t"], lengths=[3, 0])
        spending = MessageSpending(streams, ["t"], np.zeros(2, dtype=int), Rates(1.0, tick=2.0, control=5.0))
        assert spending.until([fx.get("mean(t)")]).tolist() == [[3 + 3 * 2 + 5] * 4, [0.0] * 4]

    @given(recorded())
    def test_is_zero_if_no_column_is_read(self, streams):
        assert not MessageSpending(streams, CHANNELS, streams.lengths).until([FEATURES[0]]).any()
        assert not MessageSpending(streams, CHANNELS, streams.lengths).until([]).any()

    @given(recorded())
    def test_never_falls(self, streams):
        for cost in messages_sent(streams, CHANNELS, PRICES).values():
            assert (np.diff(cost, axis=1) >= 0).all()


class TestFeatureSpending:
    @given(st.lists(st.integers(0, 3), min_size=1, unique=True), st.integers(1, 6))
    def test_is_equation_1_of_the_features_at_each_tick(self, asked, n_ticks):
        costs = Costs([1.0, 2.0, 4.0, 8.0], [3.0, 5.0, 7.0, 9.0], a=0.5, b=2.0)
        found = FeatureSpending(FEATURES[:4], costs, np.array([1, 9, 3]), n_ticks).until(
            [FEATURES[i] for i in asked]
        )
        each, once = sum(costs.each[asked]), sum(costs.once[asked])
        expected = [0.5 * tick * each + 2.0 * once for tick in range(1, n_ticks + 1)]
        assert_allclose(found, np.tile(expected, (3, 1)))

    def test_is_zero_for_no_features(self):
        assert (
            FeatureSpending(FEATURES[:2], Costs([1.0, 2.0]), np.ones(2), 3).until([]).tolist() == [[0.0] * 3] * 2
        )


class TestPricing:
    @given(recorded(), st.sets(st.integers(0, len(NAMES) - 1), min_size=1))
    def test_shared_costs_add_up_to_those_of_the_channels(self, streams, chosen):
        features = [FEATURES[i] for i in sorted(chosen)]
        pricing = Pricing(profile("transmissions"), PRICES)
        shared = pricing.costs(streams, features, shared=True).each.sum()
        n_ticks = max(1, int(streams.lengths.sum()))
        sent = messages_sent(streams, channels_of(features), PRICES)
        assert_allclose(shared * n_ticks, sum(cost[:, -1].sum() for cost in sent.values()), rtol=1e-9, atol=1e-12)
        assert shared <= pricing.costs(streams, features).each.sum() + 1e-12

    def test_a_single_feature_pays_in_full(self):
        streams = StreamSet(np.arange(12.0).reshape(2, 3, 2), ["x", "y"], ["a.t", "b.t"])
        pricing = Pricing(profile("transmissions"))
        for name in ("mean(a.t)", "correlation(a.t, b.t)"):
            alone = [pricing.costs(streams, [fx.get(name)], shared=shared).each[0] for shared in (False, True)]
            assert alone == [len(fx.get(name).columns)] * 2

    def test_messages_and_waiting_cost_the_radios_energy_times_the_weight_a(self):
        streams = StreamSet(np.zeros((1, 4, 1)), ["x"], ["t"], period=0.5)
        radio = profile("nrf52840_ble")
        pricing = Pricing(radio, {"t": 3.0}, a=0.5, awake=0.2)
        spending = pricing.spending(streams, [fx.get("mean(t)")], streams.lengths)
        a_tick = 3.0 * radio.message_joules(40) + 0.2 * 3.0 * 3e-6
        expected = 0.5 * (2 * radio.receive_joules(48) + a_tick * np.arange(1, 5))
        assert_allclose(spending.until([fx.get("mean(t)")]), [expected])

    def test_given_costs_are_charged_and_the_tick_is_free(self):
        streams = StreamSet(np.zeros((2, 3, 1)), ["x", "y"], ["t"])
        mean, top, tick = (fx.get(name) for name in ("mean(t)", "max(t)", "count()"))
        own = own_costs([mean, top], Costs([2.0, 5.0], [1.0, 0.0]))
        spending = Pricing(profile("transmissions"), own=own).spending(streams, [tick, mean, top], streams.lengths)
        assert spending.until([tick]).tolist() == [[0.0] * 3] * 2
        assert spending.until([mean, tick]).tolist() == [[3.0, 5.0, 7.0]] * 2
        assert spending.until([top, mean]).tolist() == [[8.0, 15.0, 22.0]] * 2
        assert own_costs([mean], None) is None

    def test_a_price_of_an_unknown_quantity_is_refused(self):
        streams = StreamSet(np.zeros((1, 1, 1)), ["x"], ["a.t"])
        with pytest.raises(DataError, match="there is a price of 'light', expected one of t"):
            Pricing(profile("transmissions"), {"light": 2.0}).spending(streams, [], streams.lengths)
        with pytest.raises(ValueError, match="price of t is -1"):
            Pricing(profile("transmissions"), {"t": -1.0}).spending(streams, [], streams.lengths)

    def test_a_radio_is_awake_for_a_finite_time(self):
        with pytest.raises(ValueError, match="awake is -1, expected seconds, at least 0"):
            Pricing(awake=-1)
