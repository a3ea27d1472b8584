"""What an error costs if nobody says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from streamfs import StreamSet, evaluate, train
from streamfs.evaluation.trajectories import Trajectories
from streamfs.training.balance import Balance, harmonic_mean, parts, unskilled_parts
from streamfs.training.held_out import Followed
from streamfs.training.luck import believed_share, believed_shares

shares = st.floats(0.0, 1.0)
seeds = st.integers(0, 2**32 - 1)


@given(shares, shares)
def test_a_balance_is_the_harmonic_mean_of_what_lacks(error, delay):
    rates = np.array([1.0 - error, 1.0 - delay])
    expected = 0.0 if rates.min() == 0.0 else 2.0 / (1.0 / rates).sum()
    assert harmonic_mean(error, delay) == pytest.approx(expected, abs=1e-6)


def lack(error, delay):
    return 2.0 - 2.0 * harmonic_mean(error, delay)


def followed(right, n_repetitions=1):
    """Streams that are followed at ticks 1, 5 and 10; `right` says which are right at each."""
    right = np.array(right, dtype=bool)
    paths = Trajectories(np.where(right, 0, 1), np.full(right.shape, 0.5), np.full(len(right), 3))
    truth = np.zeros(len(right), dtype=np.int64)
    ticks = np.array([1, 5, 10])
    return Followed(paths, truth, np.zeros(right.shape), ticks, 2, n_repetitions=n_repetitions)


@pytest.mark.parametrize(
    ("columns", "lacking"),
    [((0, 1), (0.0, 0.2)), ((0, 0), (0.5, 0.0)), ((1, -1), (0.5, 0.65)), ((-1, -1), (1.0, 0.9))],
)
def test_the_first_tick_is_no_delay_and_who_is_never_decided_is_an_error_at_the_limit(columns, lacking):
    found = followed([[True, True, True], [False, True, True]])  # of one class: a guess is always right
    assert Balance().of(found, np.array(columns), 10).mean() == pytest.approx(lack(*lacking))


def test_where_no_tick_can_be_saved_accuracy_alone_counts():
    rng, labels = np.random.default_rng(0), np.arange(200) % 2
    values = rng.normal(2.0 * labels[:, np.newaxis, np.newaxis], 1.0, (200, 1, 2))
    streams = StreamSet(values, labels.astype(str), ["one", "other"])
    assert train(streams, features=["last(one)", "last(other)"]).channels == ("one", "other")


@given(seeds)
def test_parts_are_what_the_balance_lacks_and_differ_as_it_would(seed):
    rng = np.random.default_rng(seed)
    lacking = np.array([rng.random(40) < rng.uniform(0.1, 0.9), rng.uniform(0.0, rng.uniform(0.1, 1.0), 40)])
    lacking[:, :3] = [[0.0, 1.0, 0.0], [0.2, 0.2, 0.7]]
    counts = rng.integers(1, 4, 40).astype(np.float64)
    error, delay = np.average(lacking, axis=1, weights=counts)
    found, little = parts(lacking, counts), 1e-6
    assert np.average(found, weights=counts) == pytest.approx(lack(error, delay))
    slopes = (lack(error + little, delay) - lack(error - little, delay)) / (2.0 * little)
    assert found[1] - found[0] == pytest.approx(slopes, rel=1e-4)
    slopes = (lack(error, delay + little) - lack(error, delay - little)) / (2.0 * little)
    assert found[2] - found[0] == pytest.approx(0.5 * slopes, rel=1e-4)


@given(seeds, st.floats(0.2, 0.95))
def test_labels_without_skill_lack_more_and_each_error_its_share(seed, chance):
    rng = np.random.default_rng(seed)
    wrong = (rng.random((3, 60)) < rng.uniform(0.0, 1.0, (3, 1))).astype(np.float64)
    wrong[:, :2] = [0.0, 1.0]
    counts = rng.integers(1, 4, 60).astype(np.float64)
    for row, found in zip(wrong, unskilled_parts(wrong, counts, chance, 40.0), strict=True):
        believed = believed_share(1.0 - row, chance, 40.0, weights=counts)
        right = believed_shares(np.average(1.0 - row, weights=counts), chance, 40.0, 40.0)
        assert right == pytest.approx(
            believed, abs=0.02
        )  # the latter is smoothed by the number that the weights are worth
        skill = (right - chance) / (1.0 - chance)
        lacking = 0.3 * min(max(1.0 - skill / 0.3, 0.0), 1.0)
        assert np.average(found, weights=counts) == pytest.approx(lacking)
        assert found[1] - found[0] == pytest.approx(1.0 / (1.0 - chance) if lacking else 0.0)


@given(st.floats(0.0, 0.9), seeds)
def test_where_accuracy_and_earliness_are_alike_parts_are_costs(share, seed):
    lacking = np.random.default_rng(seed).random((2, 50))
    lacking *= share / lacking.mean(axis=1, keepdims=True)
    assert_allclose(parts(lacking, np.ones(50)), lacking.sum(axis=0), atol=1e-9)


def many_classes(n_streams, seed):
    """Six classes, of which nothing is known at once; they part slowly."""
    rng, labels = np.random.default_rng(seed), np.arange(n_streams) % 6
    means = labels[:, np.newaxis] * np.linspace(0.0, 1.0, 30)
    return StreamSet(rng.normal(means, 1.0)[:, :, np.newaxis], labels.astype(str), ["x"])


FEATURES = ["count()", "last(x)", "mean(x)", "slope(x)"]


def test_where_the_first_labels_would_be_guesses_it_waits():
    streams, unseen = many_classes(120, 0), many_classes(600, 1)
    waits, guesses = (
        evaluate(train(streams, features=FEATURES, **given), unseen) for given in ({}, {"error_cost": 1.0})
    )
    assert guesses.accuracy < 0.2
    assert waits.accuracy > 0.4
    early, at_once = (harmonic_mean(1.0 - each.accuracy, each.ticks / 30) for each in (waits, guesses))
    assert early > at_once + 0.15


def test_where_classes_show_at_once_nothing_changes():
    rng, labels = np.random.default_rng(0), np.arange(80) % 2
    streams = StreamSet(rng.normal(3.0 * labels[:, None, None], 1.0, (80, 20, 1)), labels.astype(str), ["x"])
    usual, one = train(streams, features=FEATURES), train(streams, features=FEATURES, error_cost=1.0)
    assert evaluate(usual, streams).decisions == evaluate(one, streams).decisions


def parting(n_streams, seed):
    """Two classes that part at tick 8 of 20."""
    labels, values = np.arange(n_streams) % 2, np.random.default_rng(seed).normal(size=(n_streams, 20, 1))
    values[labels == 1, 8:] += 1.5
    return StreamSet(values, labels.astype(str), ["x"])


def test_it_waits_for_labels_that_are_no_guesses_though_guesses_at_once_are_as_well_balanced():
    streams, unseen = parting(120, 0), parting(600, 1)
    found = evaluate(train(streams, features=FEATURES), unseen)
    assert found.accuracy > 0.75
    assert abs(harmonic_mean(1.0 - found.accuracy, found.ticks / 20) - 2 / 3) < 0.1


@pytest.mark.parametrize("given", [{"delay_cost": 1.0}, {"sending_cost": 0.0}])
def test_who_gives_a_cost_gets_what_costs_least(given):
    streams = many_classes(120, 0)
    least, given = (train(streams, features=FEATURES, **costs) for costs in ({"error_cost": 1.0}, given))
    assert given.about["held_out"] == least.about["held_out"]
