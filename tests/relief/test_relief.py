"""Relief, StreamRelief and equations 3 to 5 against the oracle."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import papers as naive
from oracles import relieff as naive_relieff
from sklearn.utils.estimator_checks import check_estimator

from streamfs import Costs, Relief, ReliefF, StreamRelief, StreamSet
from streamfs.errors import DataError
from streamfs.relief import (
    PrefixRelief,
    Probes,
    choose_extrapolation,
    decision_probability,
    expected_cost,
    lower_bound,
    neighbours,
    position_grid,
)
from streamfs.relief._field import BLOCK
from streamfs.relief._search import CHUNK
from streamfs.relief.extrapolation import EXTRAPOLATIONS, probability_by_tick
from streamfs.relief.neighbours import FEW_PAIRS, relieff_voting
from streamfs.relief.rows import make_rows

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


@st.composite
def tables(draw):
    """Instances, classes, groups and the nominal features; grids make ties."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows, n_plain, n_patchy = draw(st.integers(2, 40)), draw(st.integers(0, 9)), draw(st.integers(0, 3))
    n_nominal = draw(st.integers(0 if n_plain + n_patchy else 1, 3))
    X = rng.normal(size=(n_rows, n_plain + n_patchy + n_nominal))
    X[:, n_plain + n_patchy :] = rng.choice([-1.5, 0.0, 2.0, 7.0], (n_rows, n_nominal))
    if draw(st.booleans()):
        X = np.round(X * draw(st.sampled_from([1, 3, 10]))) / draw(st.sampled_from([1.0, 7.0, 1e6]))
    X[:, n_plain:][rng.random((n_rows, n_patchy + n_nominal)) < draw(st.sampled_from([0.0, 0.2, 0.9]))] = np.nan
    classes = rng.integers(0, draw(st.integers(2, 4)), n_rows)
    classes[:2] = 0, 1
    classes = np.unique(classes, return_inverse=True)[1]
    groups = rng.integers(0, draw(st.integers(1, n_rows)), n_rows) if draw(st.booleans()) else np.arange(n_rows)
    return X, classes, groups, tuple(range(n_plain + n_patchy, X.shape[1]))


@given(tables(), st.sampled_from([1, 2]))
def test_relief_of_any_table_equals_the_oracle(table, power):
    X, classes, groups, nominal = table
    weights = make_rows(X, classes, groups, power, nominal).weights([len(X)])[0]
    assert_allclose(weights, naive.relief_weights(X, classes, groups, power, nominal), **EXACT)


@given(tables(), st.sampled_from([1, 2]), st.sampled_from([1, 2, 5, 50]))
def test_relieff_of_any_table_equals_the_oracle(table, power, k):
    X, classes, groups, nominal = table
    rows = make_rows(X, classes, groups, power, nominal)
    weights = rows.mean_gains(relieff_voting(np.bincount(classes), k), [len(X)])[0]
    theirs = naive_relieff.relieff_weights(X, classes, k, groups, power, nominal)
    assert_allclose(weights, theirs, **EXACT)


@given(tables(), st.integers(0, 100))
def test_weights_of_growing_sets_are_those_of_each_alone(table, seed):
    X, classes, groups, nominal = table
    n_rows = len(X)
    ends = np.unique(np.append(np.random.default_rng(seed).integers(1, n_rows + 1, 5), n_rows))
    low, high = naive.bounds(X)
    weights = make_rows(X, classes, groups, 1, nominal).weights(ends.tolist())
    for end, ours in zip(ends, weights, strict=True):
        measured = (low, high, naive.distinct_values(X))
        theirs = naive.relief_weights(X[:end], classes[:end], groups[:end], 1, nominal, *measured)
        assert_allclose(ours, theirs, **EXACT)


@pytest.mark.parametrize("spread", [1e-4, 1e-8, 1e-13])
def test_rows_equal_in_single_precision_are_distinguished(spread):
    rng = np.random.default_rng(0)
    X = 0.5 + spread * rng.normal(size=(40, 5))
    X[0], X[1] = 0.0, 1.0
    classes = np.arange(40) % 3
    assert_allclose(Relief().fit(X, classes).feature_importances_, naive.relief_weights(X, classes), **EXACT)
    theirs = naive_relieff.relieff_weights(X, classes, 4)
    assert_allclose(ReliefF(4).fit(X, classes).feature_importances_, theirs, **EXACT)


def large_table(n_rows=2100):
    rng = np.random.default_rng(0)
    X, classes = rng.normal(size=(n_rows, 6)), rng.integers(0, 3, n_rows)
    X[:, 4] = rng.integers(0, 4, n_rows)
    X[rng.random(n_rows) < 0.1, 3] = np.nan
    return X, classes


def test_rows_of_several_chunks_equal_the_oracle():
    X, classes = large_table(2 * CHUNK + 9)
    assert_allclose(
        Relief(nominal=[4]).fit(X, classes).feature_importances_,
        naive.relief_weights(X, classes, nominal=(4,)),
        **EXACT,
    )
    theirs = naive_relieff.relieff_weights(X, classes, 10, nominal=(4,))
    assert_allclose(ReliefF(nominal=[4]).fit(X, classes).feature_importances_, theirs, **EXACT)


def test_sampled_instances_of_a_large_table_equal_the_oracle():
    X, classes = large_table()
    assert len(X) > BLOCK
    fitted = ReliefF(7, n_instances=3, nominal=[4], random_state=5).fit(X, classes)
    chosen = np.sort(np.random.RandomState(5).choice(len(X), 3, replace=False))
    theirs = naive_relieff.relieff_weights(X, classes, 7, nominal=(4,), instances=chosen.tolist())
    assert_allclose(fitted.feature_importances_, theirs, **EXACT)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_any_number_of_threads_gives_the_same_weights(n_threads, monkeypatch):
    X, classes = large_table()
    assert len(X) ** 2 > FEW_PAIRS
    rows = make_rows(X, classes, np.arange(len(X)) // 3, 1, [4])
    probes = make_rows(np.random.default_rng(1).normal(size=(len(X), 3)), classes, classes, 1, None).measured
    found = []
    for n in (1, n_threads):
        monkeypatch.setattr(neighbours, "n_processors", lambda n=n: n)
        relieff = ReliefF(nominal=[4]).fit(X, classes).feature_importances_
        found.append([relieff, *rows.weights([50, 1000, len(X)]), rows.probe_weights(probes)])
    for one, several in zip(*found, strict=True):
        assert_array_equal(one, several)


@pytest.mark.parametrize("make", [Relief, ReliefF])
def test_ranges_may_be_given(make):
    X, classes, _ = random_table(3, n_streams=20)
    X = X[:, 0]
    low, high = np.array([-9.0, np.nan, 0.0, -5.0]), np.array([9.0, np.nan, 7.0, 6.0])
    fitted = make(nominal=[1], ranges=(low, high)).fit(X, classes)
    if make is Relief:
        theirs = naive.relief_weights(X, classes, nominal=(1,), low=low, high=high)
    else:
        theirs = naive_relieff.relieff_weights(X, classes, 10, nominal=(1,), low=low, high=high)
    assert_allclose(fitted.feature_importances_, theirs, **EXACT)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ranges": [[0.0], [1.0]]}, r"shape \(2, 1\), expected \(2, 2\)"),
        ({"ranges": [[0.0, 0.0], [1.0, 8.0]]}, "feature 1 is 1 to 9, expected values in its range, 0 to 8"),
        ({"ranges": [[0.0, 9.0], [1.0, 0.0]]}, "range of feature 1 is 9 to 0"),
        ({"ranges": [[0.0, 0.0], [np.nan, 9.0]]}, "range of feature 0 is 0 to nan"),
        ({"n_neighbors": 0}, "n_neighbors is 0, expected a whole number, at least 1"),
        ({"n_neighbors": 2.5}, "n_neighbors is 2.5"),
        ({"n_instances": 5}, "n_instances is 5, expected 1 to 4"),
        ({"power": 3}, "power is 3"),
        ({"nominal": [-1]}, "nominal holds -1"),
    ],
)
def test_a_bad_parameter_of_relieff_is_named(parameters, message):
    X = [[0.0, 1.0], [1.0, 2.0], [0.5, 9.0], [0.2, 3.0]]
    with pytest.raises(ValueError, match=message):
        ReliefF(**parameters).fit(X, [0, 0, 1, 1])


def test_a_feature_whose_range_overflows_is_named():
    X = [[0.0, -1.7e308], [1.0, 1.7e308], [0.5, 0.0], [0.2, 0.0]]
    with pytest.raises(ValueError, match="feature 1 spans more than a number can hold"):
        Relief().fit(X, [0, 0, 1, 1])


def test_codes_have_no_range():
    """Whatever the numbers of the categories."""
    X = np.array([[0.0, 0.0], [1.0, 0.1], [2.0, 0.9], [1.0, 0.8], [0.0, 0.3]])
    far = X.copy()
    far[:, 0] = np.array([-1.7e308, 1e308, 1.7e308])[X[:, 0].astype(int)]
    near, others = (Relief(nominal=[0]).fit(values, [0, 0, 1, 1, 0]) for values in (X, far))
    assert_array_equal(others.feature_importances_, near.feature_importances_)


@pytest.mark.parametrize("ends", [[2, 4], [2, 6], []])
def test_batches_end_with_the_last_row(ends):
    rows = make_rows(np.arange(10.0).reshape(5, 2), np.array([0, 1, 0, 1, 0]), np.arange(5), 1, None)
    with pytest.raises(ValueError, match="expected the last to be 5, the number of rows"):
        rows.weights(ends)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("neighbours", ["any", "other_streams"])
def test_ranges_of_each_position_equal_the_oracle(seed, neighbours):
    values, classes, lengths = random_table(seed)
    selector = StreamRelief(Costs(np.ones(4)), neighbours=neighbours, nominal=[1], ranges="position")
    fitted = selector.fit(values, classes)
    positions = fitted.positions_.tolist()
    X, row_classes, row_streams, row_positions = naive.training_table(values, classes, lengths, positions)
    for position, weights in zip(positions, fitted.weights_, strict=True):
        so_far = row_positions <= position
        streams = None if neighbours == "any" else row_streams[so_far]
        theirs = naive.relief_weights(X[so_far], row_classes[so_far], streams, nominal=(1,))
        assert_allclose(weights, theirs, **EXACT)


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


@pytest.mark.parametrize("quantile", [0.0, 1.0])
def test_the_floor_may_be_the_least_or_the_greatest_probe(quantile):
    assert Probes(n=5, quantile=quantile).quantile == quantile


probabilities = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6).map(sorted)


@given(
    probabilities,
    st.floats(0.01, 1.0),
    st.integers(1, 12),
    st.sampled_from(["counted", "literal"]),
)
@pytest.mark.parametrize("extrapolation", EXTRAPOLATIONS)
def test_expected_cost_equals_the_oracle(extrapolation, column, confidence, horizon, first_tick):
    P = np.array(column)[:, np.newaxis]
    by_tick = probability_by_tick(P, horizon, extrapolation)
    assume((np.abs(by_tick - confidence) > 1e-9).all())  # rounding must not decide when the threshold is reached
    ours = expected_cost(P, [3.0], confidence, horizon, extrapolation, first_tick)
    theirs = naive.expected_cost(P, np.array([3.0]), confidence, horizon, extrapolation, first_tick)
    assert_allclose(ours, theirs, rtol=0, atol=1e-9)


@pytest.mark.parametrize("extrapolation", EXTRAPOLATIONS)
@pytest.mark.parametrize("seed", range(5))
def test_extrapolation_equals_the_oracle(extrapolation, seed):
    rng = np.random.default_rng(seed)
    positions = np.cumsum(rng.integers(1, 4, rng.integers(1, 9)))
    positions += 1 - positions[0]
    P = np.sort(rng.uniform(0.3, 1.0, (len(positions), 6)), axis=0)
    P[-2:, 4] = 1.0
    P[:, 5] = 1.0
    by_tick = probability_by_tick(P, 60, extrapolation, positions)
    grid = positions.tolist()
    for feature in range(P.shape[1]):
        column = P[:, feature]
        theirs = [naive.probability_at(tick, column, grid, extrapolation) for tick in range(1, 61)]
        assert_allclose(by_tick[:, feature], theirs, rtol=0, atol=1e-9)
    assert (np.diff(by_tick, axis=0) >= 0).all()
    assert (by_tick <= 1).all()


@given(st.integers(0, 10_000))
def test_auto_predicts_the_last_quarter_as_the_oracle_does(seed):
    rng = np.random.default_rng(seed)
    positions = np.cumsum(rng.integers(1, 4, rng.integers(1, 14)))
    positions += 1 - positions[0]
    rising = np.sort(rng.uniform(0.3, 1.0, (len(positions), 4)), axis=0)
    rising[:, 3] = np.linspace(0.5, 0.9, len(positions))
    chosen = choose_extrapolation(rising, positions)
    theirs = [naive.choose_extrapolation(rising[:, feature], positions.tolist()) for feature in range(4)]
    assert list(chosen) == theirs
    by_tick = probability_by_tick(rising, 40, "auto", positions)
    for feature, name in enumerate(chosen):
        alone = probability_by_tick(rising[:, [feature]], 40, name, positions)
        assert_allclose(by_tick[:, feature], alone[:, 0], **EXACT)


def test_each_extrapolation_is_chosen_where_it_fits():
    ticks = np.arange(1.0, 17.0)
    curves = {
        "none": np.full(16, 0.6),
        "linear": 0.5 + 0.02 * ticks,
        "saturating": 1.0 - 0.5 * np.exp(-ticks / 6.0),
        "hermite": 0.5 + 1e-5 * (ticks - 1.0) ** 3,
    }
    assert choose_extrapolation(np.column_stack(list(curves.values()))) == tuple(curves)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("neighbours", ["any", "other_streams"])
def test_prefix_relief_equals_the_oracle(seed, neighbours):
    values, classes, lengths = random_table(seed)
    fitted = PrefixRelief(7, 2, 3, neighbours=neighbours, nominal=[1], random_state=seed).fit(values, classes)
    draws = [(int(stream), int(length)) for stream, length in fitted.prefixes_]
    assert len({stream for stream, _ in draws}) == 7
    assert all(2 <= length <= min(3, lengths[stream]) for stream, length in draws)
    X, row_classes, streams = naive.prefix_table(values, classes, draws)
    streams = None if neighbours == "any" else streams
    weights = naive.relief_weights(X, row_classes, streams, nominal=(1,))
    assert_allclose(fitted.feature_importances_, weights, **EXACT)
    assert_array_equal(fitted.relevant_, fitted.feature_importances_ > 0)
    assert (np.diff(fitted.feature_importances_[fitted.ranking_]) <= 0).all()


def test_prefixes_have_instances_at_the_positions_only():
    values, classes, _ = random_table(1, n_ticks=6)
    every = PrefixRelief(random_state=3).fit(values, classes)
    few = PrefixRelief(positions=[1, 4], random_state=3).fit(values, classes)
    assert_array_equal(few.prefixes_, every.prefixes_)
    draws = [(stream, tick) for stream, length in few.prefixes_ for tick in (1, 4) if tick <= length]
    streams, ticks = np.array(draws).T
    weights = naive.relief_weights(values[streams, ticks - 1], classes[streams], streams)
    assert_allclose(few.feature_importances_, weights, **EXACT)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shortest": 0}, "shortest is 0, expected a whole number, at least 1"),
        ({"shortest": 4, "longest": 3}, "4 to 3 ticks long"),
        ({"n_prefixes": 0}, "n_prefixes is 0, expected a whole number, at least 1"),
        ({"n_prefixes": 10}, "n_prefixes is 10, expected 1 to 9"),
        ({"neighbours": "all"}, "'all'"),
        ({"positions": [2]}, r"\[2\]"),
    ],
)
def test_a_bad_prefix_is_named(change, message):
    values, classes, _ = random_table(0)
    with pytest.raises(ValueError, match=message):
        PrefixRelief(**change).fit(values, classes)


@pytest.mark.parametrize("confidence", [0.45, 0.55, 0.9])
def test_another_confidence_equals_a_new_fit(confidence):
    values, classes, _ = random_table(2)
    costs = Costs([1.0, 2.0, 0.5, 0.1], [0.0, 1.0, 0.0, 3.0])
    fitted = StreamRelief(costs, confidence=0.5, horizon=20, floor=Probes(5, 0.5)).fit(values, classes)
    again = StreamRelief(costs, confidence=confidence, horizon=20, floor=Probes(5, 0.5)).fit(values, classes)
    before = fitted.expected_cost_.copy()
    other = fitted.at_confidence(confidence)
    assert_array_equal(other.expected_cost_, again.expected_cost_)
    assert_array_equal(other.ranking_, again.ranking_)
    assert_array_equal(fitted.expected_cost_, before)
    assert fitted.confidence == 0.5
    with pytest.raises(ValueError, match="confidence is 0"):
        fitted.at_confidence(0)


@given(st.integers(1, 500), st.integers(1, 40), st.sampled_from(["even", "geometric"]))
def test_a_grid_rises_from_the_first_tick_to_the_last(n_ticks, n_positions, spacing):
    grid = position_grid(n_ticks, n_positions, spacing)
    assert grid[0] == 1
    assert len(grid) <= n_positions
    assert len(grid) >= min(n_positions, n_ticks) / 2
    if n_positions > 1:
        assert grid[-1] == n_ticks
    assert (np.diff(grid) > 0).all()
    if spacing == "even" and len(grid) > 1:
        assert np.ptp(np.diff(grid)) <= 1


def test_positions_may_be_a_number():
    values, classes, _ = random_table(0, n_ticks=9)
    fitted = StreamRelief(Costs(np.ones(4)), positions=3).fit(values, classes)
    assert fitted.positions_.tolist() == [1, 5, 9]


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


@pytest.mark.parametrize("estimator", [Relief(), ReliefF()])
def test_relief_follows_scikit_learn(estimator):
    check_estimator(estimator, on_skip=None)


EXEMPT = {
    "check_parameters_default_constructible": "floor is a value with parameters of its own, `Probes`",
}
"""Of scikit-learn's checks, which give tables: streams of one column."""


@pytest.mark.parametrize("estimator", [StreamRelief(), PrefixRelief()])
def test_estimators_of_streams_follow_scikit_learn(estimator):
    failed = {
        each["check_name"]
        for each in check_estimator(estimator, on_skip=None, on_fail=None)
        if each["status"] == "failed"
    }
    assert failed <= set(EXEMPT)


def streams_of_any_kind():
    """The same streams as a set, an array and a list, and the labels."""
    values, classes, _ = random_table(3, n_streams=12, n_ticks=5)
    values = np.nan_to_num(values)
    streams = StreamSet(values, classes, ["a", "b", "c", "d"])
    return {"set": streams, "array": values, "list": [*values]}, classes


@pytest.mark.parametrize("kind", ["set", "array", "list"])
def test_streams_of_any_kind_are_ranked_and_selected_alike(kind):
    given, classes = streams_of_any_kind()
    X = given[kind]
    fitted = StreamRelief(n_features=2).fit(X, classes)
    assert_array_equal(fitted.ranking_, StreamRelief().fit(given["array"], classes).ranking_)
    kept = np.sort(fitted.ranking_[:2])
    selected = fitted.transform(X)
    assert type(selected) is type(X)
    values = selected.values if kind == "set" else np.asarray(selected)
    assert_array_equal(values, given["array"][:, :, kept])


def test_a_set_of_streams_has_its_own_labels_and_columns():
    given, classes = streams_of_any_kind()
    fitted = PrefixRelief(n_features=1).fit(given["set"])
    assert_array_equal(fitted.ranking_, PrefixRelief().fit(given["set"], classes).ranking_)
    assert fitted.transform(given["set"]).columns == (given["set"].columns[fitted.ranking_[0]],)


def test_streams_of_different_lengths_end_where_they_end():
    given, classes = streams_of_any_kind()
    short = [stream[: 3 + place % 3] for place, stream in enumerate(given["array"])]
    padded = np.array([np.pad(each, ((0, 5 - len(each)), (0, 0)), constant_values=np.nan) for each in short])
    fitted = StreamRelief(n_features=2).fit(short, classes)
    assert_array_equal(fitted.weights_, StreamRelief().fit(padded, classes).weights_)
    assert [len(each) for each in fitted.transform(short)] == [len(each) for each in short]


def test_what_a_mask_hides_is_missing():
    given, classes = streams_of_any_kind()
    hidden = np.ma.masked_greater(given["array"], 0.5)
    known = hidden.filled(np.nan)
    assert_array_equal(StreamRelief().fit(hidden, classes).weights_, StreamRelief().fit(known, classes).weights_)


def test_streams_with_other_columns_are_refused():
    given, classes = streams_of_any_kind()
    fitted = StreamRelief().fit(given["array"], classes)
    with pytest.raises(ValueError, match="X has 3 columns, but StreamRelief is expecting 4 columns"):
        fitted.transform(given["array"][:, :, :3])
    with pytest.raises(ValueError, match="streams have 3 and 4 columns, expected the same for all"):
        fitted.transform([given["array"][0], given["array"][1, :, :3]])
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        StreamRelief().fit(given["array"])


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
        ({"ranges": "tick"}, "ranges is 'tick', expected 'table' or 'position'"),
        ({"nominal": [9]}, "nominal holds 9"),
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


@pytest.mark.parametrize("estimator", [Relief(power=2), ReliefF(n_neighbors=2)])
def test_a_feature_is_selected_if_its_weight_is_above_the_threshold(estimator):
    values, classes, _ = random_table(3, n_streams=30)
    weights = estimator.fit(values[:, 0], classes).feature_importances_
    for threshold in (*weights, -1.0, 1.0):
        chosen = estimator.set_params(threshold=threshold).fit(values[:, 0], classes)
        assert_array_equal(chosen.get_support(), weights > threshold)
        assert_array_equal(np.sort(chosen.ranking_), np.flatnonzero(weights > threshold))
        assert (np.diff(weights[chosen.ranking_]) <= 0).all()


def test_instances_of_one_group_are_not_neighbours():
    values, classes, _ = random_table(4, n_streams=24)
    X, groups = np.round(values[:, 0], 1), np.arange(24) // 3 * 7
    weights = Relief(nominal=[1]).fit(X, classes, groups).feature_importances_
    assert_allclose(weights, naive.relief_weights(X, classes, streams=groups, nominal=(1,)), **EXACT)
    assert not np.allclose(weights, Relief(nominal=[1]).fit(X, classes).feature_importances_)
    with pytest.raises(ValueError, match=r"groups have shape \(23,\), expected \(24,\)"):
        Relief().fit(X, classes, groups[1:])
