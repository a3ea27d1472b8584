"""Relief, StreamRelief and equations 3 to 5 against the oracle."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import check_estimator

from streamfs import Costs, Relief, StreamRelief
from streamfs.errors import DataError
from streamfs.relief import Probes, decision_probability, expected_cost, lower_bound
from streamfs.relief.extrapolation import probability_by_tick

EXACT = {"rtol": 0, "atol": 1e-12}


def random_table(seed, *, n_streams=9, n_ticks=4, n_features=4):
    """Values with ties, a constant column, gaps and unequal lengths; labels of three classes."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_streams, n_ticks, n_features))
    values[:, :, 1] = rng.integers(0, 3, (n_streams, n_ticks))
    values[:, :, 2] = 7.0
    values[rng.random(values.shape) < 0.1] = np.nan
    lengths = rng.integers(2, n_ticks + 1, n_streams)
    values[:, 0, 0] = rng.normal(size=n_streams)
    values[np.arange(n_streams), lengths - 1, 0] = rng.normal(size=n_streams)
    values[np.arange(n_ticks) >= lengths[:, np.newaxis]] = np.nan
    classes = np.arange(n_streams) % 3
    return values, classes, lengths


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("power", [1, 2])
def test_relief_equals_the_oracle(seed, power):
    values, classes, _ = random_table(seed, n_streams=30, n_ticks=2)
    X = np.round(values[:, 0], 1)
    weights = Relief(power=power, nominal=[1]).fit(X, classes).feature_importances_
    assert_allclose(weights, naive.relief_weights(X, classes, power=power, nominal=(1,)), **EXACT)


@pytest.mark.parametrize("seed", range(4))
def test_among_equal_distances_the_lowest_index_wins(seed):
    rng = np.random.default_rng(seed)
    X, classes = rng.integers(0, 4, (40, 3)).astype(float), rng.integers(0, 2, 40)
    weights = Relief().fit(X, classes).feature_importances_
    assert_allclose(weights, naive.relief_weights(X, classes), **EXACT)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("reading", ["counted", "literal"])
@pytest.mark.parametrize("positions", [None, [1, 3]])
def test_every_intermediate_equals_the_oracle(seed, reading, positions):
    values, classes, lengths = random_table(seed)
    rng = np.random.default_rng(seed)
    costs = Costs(rng.random(4), rng.random(4), a=2.0, b=0.5)
    make = StreamRelief if reading == "counted" else StreamRelief.literal
    fitted = make(costs, confidence=0.8, horizon=9, positions=positions, nominal=[1]).fit(values, classes)
    neighbours = "other_streams" if reading == "counted" else "any"
    W = naive.stream_relief(values, classes, lengths, neighbours, positions=positions, nominal=(1,))
    P = naive.decision_probability(naive.lower_bound(W))
    expected = naive.expected_cost(P, costs.each, 0.8, 9, "linear", reading, positions)
    assert_allclose(fitted.weights_, W, **EXACT)
    assert_allclose(fitted.lower_bound_, naive.lower_bound(W), **EXACT)
    assert_allclose(fitted.probability_, P, **EXACT)
    assert_allclose(fitted.expected_cost_, expected, **EXACT)
    assert_allclose(fitted.score_, naive.score(expected, costs.once, 2.0, 0.5), **EXACT)
    relevant = None if reading == "literal" else fitted.relevant_
    assert_array_equal(fitted.ranking_, naive.ranking(fitted.score_, relevant))


@pytest.mark.parametrize("neighbours", ["any", "other_streams"])
def test_probes_equal_the_oracle(neighbours):
    values, classes, lengths = random_table(3)
    selector = StreamRelief(Costs(np.ones(4)), neighbours=neighbours, floor=Probes(12, 0.5), nominal=[1])
    fitted = selector.fit(values, classes)
    probes = naive.probe_weights(
        values,
        classes,
        lengths,
        fitted.probe_permutations_,
        fitted.probe_features_,
        neighbours,
        nominal=(1,),
    )
    assert_allclose(fitted.probe_weights_, probes, **EXACT)
    assert fitted.floor_ == np.quantile(fitted.probe_weights_, 0.5)
    assert_array_equal(fitted.relevant_, fitted.weights_[-1] > fitted.floor_)


probabilities = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6).map(sorted)


@given(
    probabilities,
    st.floats(0.01, 1.0),
    st.integers(1, 12),
    st.sampled_from(["none", "linear"]),
    st.sampled_from(["counted", "literal"]),
)
def test_expected_cost_equals_the_oracle(column, confidence, horizon, extrapolation, first_tick):
    P = np.array(column)[:, np.newaxis]
    ours = expected_cost(P, [3.0], confidence, horizon, extrapolation, first_tick)
    theirs = naive.expected_cost(P, np.array([3.0]), confidence, horizon, extrapolation, first_tick)
    assert_allclose(ours, theirs, rtol=0, atol=1e-9)


def test_extrapolated_probability_never_falls_nor_exceeds_one():
    by_tick = probability_by_tick([[0.2, 0.5], [0.6, 0.5], [0.9, 0.5]], horizon=8)
    assert_allclose(by_tick[:, 0], [0.2, 0.6, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert_array_equal(by_tick[:, 1], 0.5)


@given(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=9))
def test_lower_bound_never_falls_and_never_exceeds(weights):
    bound = lower_bound(weights)
    assert_array_equal(bound, naive.lower_bound(np.array(weights)[:, np.newaxis])[:, 0])
    assert (np.diff(bound) >= 0).all()
    assert (bound <= weights).all()
    assert bound[-1] == weights[-1]


def test_the_floor_ranks_a_free_useless_feature_last():
    rng = np.random.default_rng(1)
    classes = np.repeat(["calm", "busy"], 15)
    telling = np.where(classes == "calm", 0.0, 1.0)[:, np.newaxis] + rng.normal(0, 0.3, (30, 6))
    values = np.stack([rng.normal(size=(30, 6)), telling, telling + rng.normal(0, 0.1, (30, 6))], axis=2)
    costs = Costs([0.0, 1.0, 5.0])
    assert StreamRelief(costs).fit(values, classes).ranking_.tolist() == [1, 2, 0]
    assert StreamRelief.literal(costs).fit(values, classes).ranking_[0] == 0


def test_relief_follows_scikit_learn():
    check_estimator(Relief(), on_skip=None)


def test_sampled_instances_are_seeded():
    values, classes, _ = random_table(5, n_streams=30)
    X = values[:, 0]
    one, two, other = (
        Relief(n_instances=10, random_state=seed).fit(X, classes).feature_importances_ for seed in (1, 1, 2)
    )
    assert_array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"neighbours": "all"}, "'all'"),
        ({"confidence": 1.5}, "confidence is 1.5"),
        ({"extrapolation": "cubic"}, "'cubic'"),
        ({"first_tick": "free"}, "'free'"),
        ({"positions": [2, 3]}, r"\[2, 3\]"),
        ({"positions": [1, 50]}, "position 50 lies beyond"),
        ({"horizon": 0}, "horizon is 0"),
        ({"power": 3}, "power is 3"),
        ({"nominal": [9]}, "feature 9"),
        ({"costs": Costs([1.0])}, "1 costs, expected 4"),
    ],
)
def test_a_bad_parameter_is_named(change, message):
    values, classes, _ = random_table(0)
    with pytest.raises(ValueError, match=message):
        StreamRelief(**{"costs": Costs(np.ones(4)), **change}).fit(values, classes)


def test_too_few_streams_of_a_class_are_named():
    values, _, _ = random_table(0)
    costs = Costs(np.ones(4))
    with pytest.raises(DataError, match="one class only"):
        StreamRelief(costs).fit(values, ["still"] * 9)
    with pytest.raises(DataError, match="class 'rare' has only 1 streams"):
        StreamRelief(costs).fit(values, ["rare"] + ["common"] * 8)


def test_decision_probability_is_one_half_for_a_useless_feature():
    assert_array_equal(decision_probability([-1.0, 0.0, 1.0]), [0.0, 0.5, 1.0])
