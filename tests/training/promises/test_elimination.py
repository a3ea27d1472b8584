"""Features in the order in which a forest can do without them."""

import numpy as np
import pytest
from helpers.tables import plain_table
from hypothesis import given, settings
from hypothesis import strategies as st

from streamfs.training.learners import grown_forest
from streamfs.training.promises.elimination import MIN_LEAF, N_TREES, elimination

TIME_LIMIT = 3


def order_of(table, seed=0):
    return elimination(table, TIME_LIMIT, seed).tolist()


def order_of_one_forest(table, seed=0):
    forest = grown_forest(table, MIN_LEAF, TIME_LIMIT, seed, N_TREES)
    return np.argsort(-forest.feature_importances_, kind="stable").tolist()


def noise(n_streams, n_ticks, n_features, seed=0):
    return np.random.default_rng(seed).normal(size=(n_streams, n_ticks, n_features))


@st.composite
def tables(draw):
    """Few streams of some lengths and classes; some values are equal, some missing, some features constant."""
    n_streams, n_ticks, n_features = (draw(st.integers(1, most)) for most in (8, 4, 7))
    values = noise(n_streams, n_ticks, n_features, draw(st.integers(0, 1000)))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    values = np.round(values) if draw(st.booleans()) else values
    values[rng.random(values.shape) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    values[:, :, draw(st.lists(st.integers(0, n_features - 1), max_size=3))] = 1.0
    lengths = rng.integers(1, n_ticks + 1, n_streams)
    values[np.arange(n_ticks) >= lengths[:, np.newaxis]] = np.nan
    values[0, 0] = 1.0
    return plain_table(values, rng.integers(0, draw(st.integers(1, 3)), n_streams))


class TestTheOrder:
    @settings(max_examples=40)
    @given(table=tables(), seed=st.integers(0, 2**32 - 1))
    def test_has_every_feature_once_and_is_that_of_its_seed(self, table, seed):
        order = order_of(table, seed)
        assert sorted(order) == list(range(table.values.shape[2]))
        assert order_of(table, seed) == order

    @pytest.mark.parametrize("n_features", range(13))
    def test_has_every_feature_once_for_any_number_of_them(self, n_features):
        table = plain_table(noise(20, 2, n_features), ["a", "b"] * 10)
        table = table if n_features else plain_table(np.ones((20, 2, 1)), ["a", "b"] * 10).with_features([])
        assert sorted(order_of(table)) == list(range(n_features))

    @pytest.mark.parametrize("place", [0, 4, 9, 39])
    @pytest.mark.parametrize("seed", [0, 1])
    def test_begins_with_the_informative_one(self, place, seed):
        values, labels = noise(60, TIME_LIMIT, 40, seed), np.repeat(["a", "b", "c"], 20)
        values[:, :, place] += np.repeat([0.0, 2.0, 4.0], 20)[:, np.newaxis]
        assert order_of(plain_table(values, labels), seed)[0] == place

    @pytest.mark.parametrize("constant", [[0], [0, 3], [1, 2, 5, 7], [0, 1, 2, 3, 4, 5]])
    def test_ends_with_those_that_never_change(self, constant):
        values = noise(40, TIME_LIMIT, 9)
        values[:, :, constant] = 3.0
        order = order_of(plain_table(values, ["a", "b"] * 20))
        assert sorted(order[-len(constant) :]) == constant

    def test_of_features_that_never_change_is_that_of_their_places(self):
        order = order_of(plain_table(np.ones((6, 2, 3)), ["a", "b"] * 3))
        assert order == [0, 1, 2]

    @pytest.mark.parametrize("seed", range(3))
    def test_begins_with_two_that_are_informative_only_together(self, seed):
        rng = np.random.default_rng(seed)
        signs, values = rng.choice([-1.0, 1.0], (200, 2)), noise(200, TIME_LIMIT, 30, seed)
        values[:, :, [7, 21]] = 2.0 * signs[:, np.newaxis] + 0.5 * values[:, :, [7, 21]]
        labels = np.where(signs[:, 0] == signs[:, 1], "alike", "unlike")
        assert sorted(order_of(plain_table(values, labels), seed)[:2]) == [7, 21]

    def test_looks_at_no_tick_beyond_the_time_limit(self):
        values, labels = noise(40, TIME_LIMIT + 1, 4), np.repeat(["a", "b"], 20)
        early = plain_table(values[:, :TIME_LIMIT], labels)
        values[20:, TIME_LIMIT, 2] += 100.0
        assert order_of(plain_table(values, labels)) == order_of(early)


class TestCopies:
    """The first three are redundant, the fourth is less informative, the others are noise."""

    COPIES, OTHER, SEEDS = (0, 1, 2), 3, range(8)

    def table(self, seed, shift):
        """The copies are shifted by 0.8 deviations to either side, as exactly as the other is by its shift."""
        rng, side = np.random.default_rng(seed), np.repeat([-1.0, 1.0], 150)
        told = rng.normal(size=(2, 2, 150))
        told = (told - told.mean(axis=2, keepdims=True)).reshape(2, 300)
        values = noise(300, 1, 12, seed + 100)
        values[:, 0, self.COPIES] = (0.8 * side + told[0])[:, np.newaxis]
        values[:, 0, self.OTHER] = shift * side + told[1]
        return plain_table(values, np.where(side > 0, "a", "b"))

    def test_redundant_features_come_first_though_a_forest_divides_their_importance(self):
        made = [self.table(seed, shift=0.68) for seed in self.SEEDS]
        assert sum(order_of_one_forest(table)[0] == self.OTHER for table in made) >= 6
        assert all(order_of(table)[0] in self.COPIES for table in made)

    def test_are_not_the_first_two_if_another_is_about_as_informative(self):
        for seed in self.SEEDS:
            assert self.OTHER in order_of(self.table(seed, shift=0.78))[:2]
