"""Sources have the documented statistics, nodes distort as documented, and pairs are a fair task."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.signal import lfilter
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sensors_sim import sources
from sensors_sim.links import Link
from sensors_sim.nodes import Battery, Node, NodeModel
from sensors_sim.same_source import Quantity, SameSource, nodes_of
from sensors_sim.sources import Autoregressive, DailyCycle, EventBursts, Sum
from streamfs.costs.energy_meter import EnergyMeter
from streamfs.costs.radio_profiles import profile

SOURCES = (
    Autoregressive(deviation=2.0, memory=10.0),
    DailyCycle(amplitude=3.0, amplitude_spread=0.2, day=100.0),
    EventBursts(rate=0.05, height=4.0, decay=10.0),
    Sum((Autoregressive(1.0, memory=5.0), EventBursts(rate=0.1, height=1.0, decay=5.0))),
)


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_is_reproducible_finite_and_of_its_shape(source):
    values = source.sample(3, 50, 2.0, rng())
    assert values.shape == (3, 50)
    assert np.isfinite(values).all()
    assert_array_equal(values, source.sample(3, 50, 2.0, rng()))
    assert (values != source.sample(3, 50, 2.0, rng(1))).all()


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_has_the_same_distribution_at_its_first_and_last_tick(source):
    values = source.sample(20_000, 40, 1.0, rng())
    assert values[:, 0].mean() == pytest.approx(values[:, -1].mean(), abs=0.1)
    assert values[:, 0].std() == pytest.approx(values[:, -1].std(), rel=0.05)


@pytest.mark.parametrize("period", [0.5, 4.0])
def test_autoregressive_has_its_deviation_and_memory_at_any_period(period):
    values = SOURCES[0].sample(20_000, 9, period, rng())
    assert values.std() == pytest.approx(2.0, rel=0.02)
    correlation = np.corrcoef(values[:, 0], values[:, 8])[0, 1]
    assert correlation == pytest.approx(math.exp(-8 * period / 10.0), abs=0.02)


def test_a_daily_cycle_repeats_after_a_day_and_each_source_has_its_own_amplitude():
    values = SOURCES[1].sample(2000, 200, 1.0, rng())
    assert_allclose(values[:, :100], values[:, 100:], atol=1e-9)
    heights = values.max(axis=1)
    assert heights.mean() == pytest.approx(3.0, rel=0.02)
    assert heights.std() == pytest.approx(0.6, rel=0.1)
    onsets = values[:, :100].argmax(axis=1)
    assert np.bincount(onsets // 25).min() > 400


@pytest.mark.parametrize("period", [1.0, 3.0])
def test_event_bursts_jump_at_their_rate_and_decay_in_between(period):
    values = SOURCES[2].sample(5000, 60, period, rng())
    jumps = values[:, 1:] - math.exp(-0.1 * period) * values[:, :-1]
    assert (jumps > 1e-9).mean() == pytest.approx(1 - math.exp(-0.05 * period), rel=0.05)
    assert jumps.mean() == pytest.approx(0.05 * period * 4.0, rel=0.05)
    assert jumps.min() > -1e-9


def test_a_sum_adds_its_parts_in_order():
    source = SOURCES[3]
    shared = rng()
    assert_array_equal(
        source.sample(4, 20, 1.0, rng()), sum(part.sample(4, 20, 1.0, shared) for part in source.parts)
    )


def test_a_perfect_node_measures_the_truth():
    physical = SOURCES[0].sample(4, 30, 2.0, rng())
    readings = NodeModel().sense(physical, 2.0, rng())
    assert_array_equal(readings.values, physical)
    assert_array_equal(readings.times, np.tile(2.0 * np.arange(30), (4, 1)))


def test_a_node_samples_by_its_own_clock():
    ramp = np.tile(3.0 * np.arange(60), (500, 1))
    model = NodeModel(clock_offset_spread=0.3, clock_drift_spread=1000.0)
    values, times = model.sense(ramp, 2.0, rng())
    inside = (times >= 0) & (times <= 118.0)
    assert_allclose(values[inside], 1.5 * times[inside])
    assert times[:, 0].std() == pytest.approx(0.3, rel=0.1)
    drift = (times[:, -1] - times[:, 0]) / 118.0 - 1
    assert drift.std() == pytest.approx(1e-3, rel=0.1)


def test_given_times_are_used():
    physical = np.array([[0.0, 10.0, 20.0]])
    readings = NodeModel(clock_offset_spread=5.0).sense(physical, 1.0, rng(), times=np.array([[-1.0, 0.5, 9.0]]))
    assert_array_equal(readings.values, [[0.0, 5.0, 20.0]])


def test_gain_and_offset_belong_to_the_node_and_noise_to_the_sample():
    physical = np.tile([0.0, 100.0], (5000, 1))
    zero, hundred = NodeModel(gain_spread=0.1, offset_spread=2.0).sense(physical, 1.0, rng()).values.T
    assert zero.std() == pytest.approx(2.0, rel=0.05)
    assert ((hundred - zero) / 100).std() == pytest.approx(0.1, rel=0.05)
    assert ((hundred - zero) / 100).mean() == pytest.approx(1.0, rel=0.01)
    constant = NodeModel(offset_spread=2.0).sense(np.zeros((5, 3)), 1.0, rng()).values
    assert_array_equal(constant, np.repeat(constant[:, :1], 3, axis=1))
    noisy = NodeModel(noise=0.5).sense(np.zeros((1, 5000)), 1.0, rng()).values
    assert noisy.std() == pytest.approx(0.5, rel=0.05)


@given(values=arrays(np.float64, (1, 5), elements=st.floats(-50, 50)), quantum=st.sampled_from([0.0625, 0.1, 1.0]))
def test_quantised_values_are_multiples_within_half_a_step(values, quantum):
    measured = NodeModel(quantum=quantum).sense(values, 1.0, rng()).values
    assert_allclose(measured / quantum, np.round(measured / quantum), atol=1e-9)
    assert (np.abs(measured - values) <= quantum / 2 + 1e-9).all()


def test_a_link_loses_its_share_and_changes_no_value():
    sent = rng().standard_normal((100, 200))
    sent[:, ::2] = np.nan
    arrived = Link(loss=0.3).deliver(sent, rng(1))
    known = np.isfinite(arrived)
    assert_array_equal(arrived[known], sent[known])
    assert known.sum() / np.isfinite(sent).sum() == pytest.approx(0.7, abs=0.02)
    assert_array_equal(Link().deliver(sent, rng()), sent)
    assert np.isnan(Link(loss=1.0).deliver(sent, rng())).all()


def test_a_battery_pays_until_it_cannot():
    battery = Battery(capacity_joules=3.0)
    assert [battery.spend(1.0) for _ in range(5)] == [True, True, True, False, False]
    assert battery.remaining == 0.0
    assert Battery(math.inf).spend(1e9)


@given(capacity=st.floats(0, 10), costs=st.lists(st.floats(0, 5), max_size=20))
def test_a_battery_never_goes_below_zero(capacity, costs):
    battery = Battery(capacity)
    paid = [joules for joules in costs if battery.spend(joules)]
    assert battery.remaining >= 0
    assert sum(paid) <= capacity + 1e-9


def node(channels, *, battery=math.inf, link=None, max_silence=None, values=(280.0, 310.0, 320.0, 290.0, 295.0)):
    meter = EnergyMeter(profile("transmissions"))
    made = Node("n", {"light": np.array(values)}, meter, Battery(battery), link, max_silence=max_silence)
    made.set_channels(channels, tick=0)
    return made, meter


def payloads(made, n_ticks=5):
    return [[message.payload for message in made.transmit(tick, float(tick))] for tick in range(n_ticks)]


def test_a_node_sends_by_its_policies():
    made, meter = node(["light@flag:300", "light@every:4"])
    assert payloads(made) == [
        [b'{"t":0.0,"v":0.0,"seq":0}', b'{"t":0.0,"v":280.0,"seq":0}'],
        [b'{"t":1.0,"v":1.0,"seq":1}'],
        [],
        [b'{"t":3.0,"v":0.0,"seq":2}'],
        [b'{"t":4.0,"v":295.0,"seq":1}'],
    ]
    assert meter.account("n") == (5, 25 * 3 + 27 * 2, 5.0)


def test_a_node_repeats_itself_within_max_silence():
    made, _ = node(["light@delta:1000"], max_silence=2)
    assert [len(messages) for messages in payloads(made)] == [1, 0, 1, 0, 1]


def test_a_new_channel_starts_its_policy_and_a_kept_one_continues():
    made, _ = node(["light@every:2"])
    made.transmit(0, 0.0)
    made.set_channels(["light@every:2", "light@every:3"], tick=1)
    sent = [[message.channel for message in made.transmit(tick, 0.0)] for tick in range(1, 5)]
    assert sent == [["light@every:3"], ["light@every:2"], [], ["light@every:2", "light@every:3"]]


def test_a_channel_that_returns_continues_its_sequence_numbers():
    made, _ = node(["light"])
    made.transmit(0, 0.0)
    made.set_channels([], tick=1)
    assert made.is_done
    made.set_channels(["light"], tick=2)
    assert not made.is_done
    assert [message.payload for message in made.transmit(2, 2.0)] == [b'{"t":2.0,"v":320.0,"seq":1}']


def test_a_node_that_never_sent_is_not_done():
    made, _ = node([])
    assert not made.is_done


def test_a_node_stops_after_n_ticks_unless_channels_are_set_again():
    made, _ = node([])
    made.set_channels(["light"], tick=0, n_ticks=2)
    sent = [len(made.transmit(tick, 0.0)) for tick in range(3)]
    assert (sent, made.is_done) == ([1, 1, 0], True)
    made.set_channels(["light"], tick=3, n_ticks=1)
    made.set_channels(["light"], tick=4)
    assert len(made.transmit(4, 4.0)) == 1


def test_a_refused_channel_changes_nothing():
    made, _ = node(["light"])
    with pytest.raises(ValueError, match="node n has no column 'sound', only light"):
        made.set_channels(["light@every:2", "sound"], tick=0)
    assert [len(messages) for messages in payloads(made)] == [1] * 5


def test_a_node_dies_of_a_message_that_it_cannot_pay_for():
    made, meter = node(["light"], battery=2.5)
    assert [len(messages) for messages in payloads(made)] == [1, 1, 0, 0, 0]
    assert made.is_done
    assert not made.alive
    assert meter.messages == 2


def test_a_lost_message_costs_energy_and_a_sequence_number():
    made, meter = node(["light"], link=Link(loss=0.5), values=np.arange(200.0))
    messages = [made.transmit(tick, 0.0)[0] for tick in range(200)]
    assert 60 < sum(message.delivered for message in messages) < 140
    assert b'"seq":199' in messages[-1].payload
    assert meter.messages == 200


def test_pairs_have_the_documented_shapes_names_and_share():
    pairs = SameSource(share_same=0.25).sample(n_pairs=40, n_ticks=7, period=2.0, seed=3)
    assert pairs.values.shape == (40, 7, 6)
    assert pairs.columns == (
        "a.temperature", "b.temperature", "a.humidity", "b.humidity", "a.light", "b.light",
    )  # fmt: skip
    assert (pairs.labels == "same").sum() == 10
    assert set(pairs.labels) == {"same", "different"}
    assert pairs.names[0] == "pair-0000"
    assert pairs.names[39] == "pair-0039"
    assert pairs.period == 2.0


def test_pairs_depend_on_the_seed_only():
    one, again, other = (SameSource().sample(10, 20, seed=seed) for seed in (1, np.random.default_rng(1), 2))
    assert_array_equal(one.values, again.values)
    assert_array_equal(one.labels, again.labels)
    assert (one.values != other.values).any()


def test_single_nodes_have_the_same_distribution_under_both_labels():
    pairs = SameSource().sample(4000, 2, seed=0)
    same = pairs.values[pairs.labels == "same", 0]
    different = pairs.values[pairs.labels == "different", 0]
    assert_allclose(same.mean(axis=0), different.mean(axis=0), rtol=0.02)
    assert_allclose(same.std(axis=0), different.std(axis=0), rtol=0.1)


def test_common_is_the_correlation_between_two_places():
    quantities = SameSource().quantities[:1]
    pairs = SameSource(quantities, common=0.3, share_same=0.0).sample(20_000, 1, seed=0)
    a, b = pairs.values[:, 0].T
    truth, offset, noise = 1.2**2, 0.1**2, 0.15**2
    assert np.cov(a, b)[0, 1] == pytest.approx(0.3 * truth, rel=0.1)
    assert a.var() == pytest.approx(truth + offset + noise, rel=0.05)


class Ramp:
    """A source whose value is the time in seconds, so that readings reveal when they were taken."""

    def sample(self, n_sources, n_ticks, period, rng):  # noqa: ARG002 - the interface of a Source
        return np.tile(period * np.arange(n_ticks), (n_sources, 1))


def test_a_node_has_one_clock_for_all_its_quantities():
    quantities = tuple(Quantity(name, 0.0, Ramp(), NodeModel(clock_offset_spread=2.0)) for name in ("x", "y"))
    values = SameSource(quantities, common=0.0).sample(50, 40, seed=0).values
    assert_array_equal(values[..., 0:2], values[..., 2:4])
    assert (values[:, 20, 0] != values[:, 20, 1]).all()


def evidence(values):
    """Return differences, correlations and spreads of differences of each quantity, over whole prefixes."""
    a, b = values[..., 0::2], values[..., 1::2]
    columns = [np.log(np.abs(a - b).mean(axis=1) + 1e-3)]
    if values.shape[1] > 1:
        a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
        columns.append((a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1) + 1e-9))
        columns.append(np.log((a - b).std(axis=1) + 1e-3))
    return np.concatenate(columns, axis=1)


@pytest.mark.parametrize(("n_ticks", "worst", "best"), [(1, 0.85, 0.95), (10, 0.96, 0.998), (50, 0.99, 1.01)])
def test_one_tick_mostly_suffices_and_fifty_do(n_ticks, worst, best):
    pairs = SameSource().sample(800, 60, seed=5)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    accuracy = cross_val_score(model, evidence(pairs.values[:, :n_ticks]), pairs.labels, cv=5).mean()
    assert worst < accuracy < best


def test_nodes_have_the_columns_of_their_role():
    pairs = SameSource().sample(12, 5, seed=0)
    nodes = nodes_of(pairs)
    assert len(nodes) == 24
    assert list(nodes["pair-0007-b"]) == ["temperature", "humidity", "light"]
    assert_array_equal(nodes["pair-0007-b"]["humidity"], pairs.values[7, :, 3])


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: Autoregressive(deviation=-1.0, memory=1.0), "deviation is -1.0"),
        (lambda: Autoregressive(deviation=1.0, memory=0.0), "memory is 0.0"),
        (lambda: DailyCycle(amplitude=-1.0), "are -1.0 and 0.1"),
        (lambda: DailyCycle(amplitude=1.0, day=0.0), "day is 0.0"),
        (lambda: EventBursts(rate=-1.0, height=1.0, decay=1.0), "are -1.0 and 1.0"),
        (lambda: EventBursts(rate=1.0, height=1.0, decay=0.0), "decay is 0.0"),
        (lambda: NodeModel(noise=-0.5), "noise is -0.5"),
        (lambda: NodeModel(quantum=math.nan), "quantum is nan"),
        (lambda: Battery(-1.0), "capacity_joules is -1.0"),
        (lambda: Battery(1.0).spend(-1.0), "joules is -1.0"),
        (lambda: Link(loss=1.5), "loss is 1.5"),
        (lambda: SameSource(quantities=()), "quantities is empty"),
        (lambda: SameSource(common=1.5), "common is 1.5"),
        (lambda: SameSource(share_same=-0.5), "share_same is -0.5"),
        (lambda: SameSource().sample(0, 5), "n_pairs is 0"),
        (lambda: SameSource().sample(5, 0), "n_ticks is 0"),
        (lambda: SameSource().sample(5, 5, period=0.0), "period is 0.0"),
        (lambda: node([], values=[[1.0], [2.0]]), r"shape \(2, 1\)"),
    ],
)
def test_invalid_arguments_are_refused_with_their_value(mistake, message):
    with pytest.raises(ValueError, match=message):
        mistake()


@pytest.mark.parametrize(("shape", "kept"), [((1, 500), 0.999), ((7, 40), 0.3), ((3, 1), 0.5), ((2, 0), 0.5)])
def test_levels_are_those_of_scipys_filter(shape, kept):
    shocks = np.random.default_rng(0).normal(size=shape)
    given = shocks.copy()
    assert_array_equal(sources._filter(shocks, kept), lfilter([1.0], [1.0, -kept], given))
    assert_array_equal(shocks, given)
