"""Sequential search and selection against a naive implementation, stopping rules and repetition."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from oracles.selection import sequential
from sklearn.base import BaseEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import check_estimator

from streamfs.classifiers.neighbours import NeighborsClassifier
from streamfs.errors import DataError
from streamfs.selection.criteria import Consistency, EstimatorEvaluator, WrapperAccuracy
from streamfs.selection.folds import make_folds
from streamfs.selection.repeated import RepeatedSelector
from streamfs.selection.search import Scores, SearchStep, SequentialSearch
from streamfs.selection.sequential import SequentialSelector

WAYS = [
    ("forward", False, None, None),
    ("backward", False, None, None),
    ("forward", True, None, None),
    ("backward", True, None, None),
    ("forward", False, 2, 1),
    ("forward", False, 2, 0),
    ("backward", False, 1, 2),
    ("backward", False, 0, 2),
]


class Evaluator:
    """Scores from a table; records its calls."""

    def __init__(self, table):
        self.table, self.calls = table, []

    def __call__(self, subset):
        self.calls.append(tuple(subset))
        return self.table[tuple(sorted(subset))]


class Told:
    """A criterion with given scores."""

    def __init__(self, table):
        self.table = table

    def prepare(self, X, y, groups=None):  # noqa: ARG002
        return Evaluator(self.table)


class SteppingEvaluator(Evaluator):
    """The same, for many subsets at once."""

    def with_each(self, subset, features):
        return np.array([self([*subset, f]) for f in features])

    def without_each(self, subset, features):
        return np.array([self([g for g in subset if g != f]) for f in features])


def make_scores(seed, n_features, n_levels, bonus):
    """Random scores for all subsets, with a bonus for each feature; few levels make ties."""
    rng = np.random.default_rng(seed)
    sizes = range(1, n_features + 1)
    subsets = [subset for k in sizes for subset in itertools.combinations(range(n_features), k)]
    return {subset: float(rng.integers(n_levels)) + bonus * len(subset) for subset in subsets}


score_tables = st.builds(
    make_scores,
    seed=st.integers(0, 2**32 - 1),
    n_features=st.integers(2, 6),
    n_levels=st.sampled_from([2, 5, 99]),
    bonus=st.sampled_from([-0.5, 0.0, 0.5]),
)


def search(evaluate, n_features, **parameters):
    """Return the result of a search, and its steps."""
    way = SequentialSearch(**parameters)
    history = list(way.steps(Scores(evaluate, n_features)))
    return way.result(history), history


def n_features_of(table):
    return len(max(table, key=len))


class TestSearch:
    @pytest.mark.parametrize(("direction", "floating", "take", "remove"), WAYS)
    @given(table=score_tables)
    def test_equals_the_naive_one(self, direction, floating, take, remove, table):
        n = n_features_of(table)
        expected = sequential(table.__getitem__, n, direction, floating, take, remove)
        parameters = {"direction": direction, "floating": floating, "take": take, "remove": remove}
        for kind in (Evaluator, SteppingEvaluator):
            found, _ = search(kind(table), n, **parameters)
            subset = found.subset if direction == "forward" else tuple(sorted(found.subset))
            assert subset == expected
            assert found.score == table[tuple(sorted(expected))]

    @pytest.mark.parametrize(("direction", "floating", "take", "remove"), WAYS)
    @given(table=score_tables)
    def test_evaluates_nothing_twice_and_nothing_when_restarted(self, direction, floating, take, remove, table):
        evaluate, n = SteppingEvaluator(table), n_features_of(table)
        way, known = SequentialSearch(direction, floating, take, remove), {}
        history = list(way.steps(Scores(evaluate, n, known)))
        keys = [tuple(sorted(subset)) for subset in evaluate.calls]
        assert len(keys) == len(set(keys))
        assert set(keys) == set(known)
        evaluate.calls.clear()
        assert list(way.steps(Scores(evaluate, n, known))) == history
        assert evaluate.calls == []

    @pytest.mark.parametrize(("direction", "floating"), [way[:2] for way in WAYS[:4]])
    @given(table=score_tables, data=st.data())
    def test_continues_to_the_given_number_of_features(self, direction, floating, table, data):
        n = n_features_of(table)
        size = data.draw(st.integers(1, n))
        found, history = search(Evaluator(table), n, direction=direction, floating=floating, size=size)
        assert len(found.subset) == size
        assert found.score == max(step.score for step in history if len(step.subset) == size)
        if not floating:
            start = 0 if direction == "forward" else n
            assert [len(step.subset) for step in history][-1] == size
            assert len(history) == abs(size - start) + (direction == "backward")

    def test_a_tolerance_is_the_rise_to_exceed_or_the_loss_allowed(self):
        table = {(0,): 1.0, (1,): 0.0, (0, 1): 1.5}
        for tolerance, forward, backward in ((0.25, (0, 1), (0, 1)), (0.5, (0,), (0,))):
            assert search(Evaluator(table), 2, tolerance=tolerance)[0].subset == forward
            assert search(Evaluator(table), 2, direction="backward", tolerance=tolerance)[0].subset == backward

    def test_steps_are_the_subsets_reached(self):
        table = {(0,): 1.0, (1,): 2.0, (2,): 0.0, (0, 1): 3.0, (1, 2): 2.0, (0, 2): 0.0, (0, 1, 2): 3.0}
        assert search(Evaluator(table), 3)[1] == [SearchStep((1,), 2.0), SearchStep((1, 0), 3.0)]
        assert search(Evaluator(table), 3, direction="backward")[1] == [
            SearchStep((0, 1, 2), 3.0),
            SearchStep((0, 1), 3.0),
        ]

    def test_a_score_of_nan_is_refused(self):
        with pytest.raises(ValueError, match=r"the criterion gives nan for features \[1\]"):
            search(Evaluator({(0,): 1.0, (1,): np.nan}), 2)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"direction": "up"}, "direction is 'up', expected one of forward, backward"),
            ({"tolerance": -0.1}, "tolerance is -0.1, expected at least 0"),
            ({"tolerance": np.nan}, "tolerance is nan"),
            ({"take": 1.5}, "take is 1.5, expected a whole number, at least 0"),
            ({"take": 1, "remove": 1}, "take is 1 and remove 1, expected take above remove for forward search"),
            ({"direction": "backward", "take": 2}, "take is 2 and remove 1, expected remove above take"),
            ({"floating": True, "take": 2}, "expected neither where floating"),
            ({"take": 3}, "take is 3, expected at most 2, the number of features"),
            ({"size": 3}, "n_features is 3, expected 1 to 2"),
            ({"size": 0}, "n_features is 0, expected 1 to 2"),
        ],
    )
    def test_inconsistent_parameters_are_refused(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            search(Evaluator({(0,): 1.0, (1,): 2.0, (0, 1): 3.0}), 2, **parameters)


def make_rows(seed=0, n_rows=60, n_features=6):
    """Rows of three classes that the first and the third feature separate, with gaps."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 3
    X = rng.normal(size=(n_rows, n_features))
    X[:, 0] += 3.0 * (y == 1)
    X[:, 2] += 3.0 * (y == 2)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


class TestSelector:
    @pytest.mark.parametrize(("direction", "floating", "take", "remove"), WAYS)
    def test_equals_the_naive_one_around_neighbours(self, direction, floating, take, remove):
        X, y = make_rows()
        evaluate = EstimatorEvaluator(NeighborsClassifier(), X, y, make_folds(X, y, None, 5, 0))
        selector = SequentialSelector(direction=direction, floating=floating, take=take, remove=remove).fit(X, y)
        expected = sequential(evaluate, 6, direction, floating, take, remove)
        assert selector.ranking_.tolist() == list(expected)
        assert selector.score_ == evaluate(expected)
        assert_array_equal(np.flatnonzero(selector.support_), np.sort(selector.ranking_))
        assert_array_equal(selector.transform(X), X[:, selector.support_])

    def test_accepts_any_classifier_and_any_criterion(self):
        X, y = make_rows(1)
        X = np.nan_to_num(X)
        wrapped = SequentialSelector(GaussianNB(), cv=4, random_state=3).fit(X, y)
        by_criterion = SequentialSelector(criterion=WrapperAccuracy(GaussianNB(), 4, 3)).fit(X, y)
        assert wrapped.ranking_.tolist() == by_criterion.ranking_.tolist() == [2, 0]
        assert wrapped.score_ == by_criterion.score_

    def test_accepts_missing_values_if_the_classifier_does(self):
        X, y = make_rows(1)
        assert np.isnan(X).any()
        assert SequentialSelector(NeighborsClassifier()).fit(X, y).ranking_.tolist()[:2] == [2, 0]
        with pytest.raises(ValueError, match="contains NaN"):
            SequentialSelector(GaussianNB()).fit(X, y)

    def test_backward_search_ranks_by_index(self):
        table = {(0,): 0.0, (1,): 0.0, (2,): 1.0, (0, 1): 0.0, (0, 2): 2.0, (1, 2): 2.0, (0, 1, 2): 2.0}
        X, y = make_rows(n_features=3)
        selector = SequentialSelector(direction="backward", take=1, remove=2, criterion=Told(table)).fit(X, y)
        assert selector.history_[-1].subset == (2, 0)
        assert selector.ranking_.tolist() == [0, 2]

    def test_searches_by_consistency(self):
        X, y = make_rows()
        selector = SequentialSelector(criterion=Consistency()).fit(X, y)
        assert selector.score_ == Consistency().prepare(X, y)(selector.ranking_.tolist())

    def test_rows_of_a_group_are_kept_together(self):
        """Copies of a row on both sides of a fold would give away its class by any feature."""
        rng = np.random.default_rng(0)
        X, y, groups = np.repeat(rng.normal(size=(30, 3)), 4, axis=0), np.arange(120) // 60, np.arange(120) // 4
        assert SequentialSelector(NeighborsClassifier(1)).fit(X, y).score_ > 0.95
        assert SequentialSelector(NeighborsClassifier(1)).fit(X, y, groups).score_ < 0.8

    def test_a_callback_receives_each_step_and_may_end_the_search(self):
        X, y = make_rows()
        seen = []
        whole = SequentialSelector(n_features=4, callback=seen.append).fit(X, y)
        assert seen == whole.history_
        ended = SequentialSelector(n_features=4, callback=lambda step: len(step.subset) == 2).fit(X, y)
        assert ended.history_ == whole.history_[:2]
        assert ended.ranking_.tolist() == whole.ranking_[:2].tolist()

    def test_the_only_feature_is_selected(self):
        X, y = make_rows(n_features=3)
        for direction, floating, _, _ in WAYS[:4]:
            selector = SequentialSelector(direction=direction, floating=floating).fit(X[:, :1], y)
            assert selector.ranking_.tolist() == [0]

    def test_of_constant_features_the_first_is_selected(self):
        selector = SequentialSelector().fit(np.ones((20, 3)), np.arange(20) % 2)
        assert selector.ranking_.tolist() == [0]

    def test_counts_its_evaluations(self):
        X, y = make_rows()
        assert SequentialSelector(n_features=2).fit(X, y).n_evaluated_ == 6 + 5
        assert SequentialSelector(direction="backward", n_features=5).fit(X, y).n_evaluated_ == 1 + 6

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"n_features": "all"}, "n_features is 'all', expected a whole number, at least 1, or 'best'"),
            ({"n_features": 1.5}, "n_features is 1.5, expected a whole number"),
            ({"n_features": 7}, "n_features is 7, expected 1 to 6"),
            ({"n_features": 3, "take": 2}, "n_features is 3, which rounds that add 2 and remove 0 do not reach"),
            ({"criterion": Consistency(), "estimator": GaussianNB()}, "both estimator and criterion are given"),
        ],
    )
    def test_a_parameter_out_of_range_is_refused(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            SequentialSelector(**parameters).fit(*make_rows())

    def test_a_class_of_one_row_is_refused(self):
        X, y = make_rows()
        y[7] = 9
        with pytest.raises(DataError, match="class '9' has 1 sample only, expected at least 2"):
            SequentialSelector().fit(X, y)


class Listed:
    """Choices of successive fits of `Chosen`."""

    def __init__(self, rankings):
        self.rankings, self.seen = iter(rankings), []


class Chosen(SequentialSelector):
    """A selector of given features."""

    def __init__(self, listed=None, random_state=0):
        super().__init__(random_state=random_state)
        self.listed = listed

    def __sklearn_clone__(self):
        return Chosen(self.listed, self.random_state)

    def fit(self, X, y, groups=None):
        self.listed.seen.append((self.random_state, X, y, groups))
        self.ranking_ = np.array(next(self.listed.rankings), np.int64)
        self.support_ = np.isin(np.arange(X.shape[1]), self.ranking_)
        return self


class Seeded(BaseEstimator):
    """A criterion that records its seeds."""

    def __init__(self, seeds, random_state=0):
        self.seeds = seeds
        self.random_state = random_state

    def __sklearn_clone__(self):
        return Seeded(self.seeds, self.random_state)

    def prepare(self, X, y, groups=None):  # noqa: ARG002
        self.seeds.append(self.random_state)
        return len


def repeat(rankings, n_features, groups=None):
    listed = Listed(rankings)
    X = np.arange(12.0)[:, np.newaxis] + np.arange(n_features)
    selector = RepeatedSelector(Chosen(listed), len(rankings), random_state=0)
    return selector.fit(X, np.arange(12) % 2, groups), listed


class TestRepeated:
    def test_selects_the_mean_number_of_the_most_frequent(self):
        selector, _ = repeat([[3, 1], [1, 0, 3], [1], [2, 1, 3]], 5)
        assert selector.sizes_.tolist() == [2, 3, 1, 3]
        assert selector.frequencies_.tolist() == [1, 4, 1, 3, 0]
        assert selector.ranking_.tolist() == [1, 3]
        assert selector.support_.tolist() == [False, True, False, True, False]

    def test_rounds_halves_up(self):
        assert len(repeat([[3], [3, 1]], 5)[0].ranking_) == 2

    def test_of_equally_frequent_ones_the_earlier_entered_then_the_lower_comes_first(self):
        assert repeat([[3, 1], [3, 1]], 4)[0].ranking_.tolist() == [3, 1]
        assert repeat([[2, 1, 0], [0, 1, 2], [2, 1, 0]], 4)[0].ranking_.tolist() == [2, 1, 0]
        assert repeat([[2, 0], [0, 2]], 4)[0].ranking_.tolist() == [0, 2]

    def test_is_empty_if_most_repetitions_are(self):
        selector, _ = repeat([[], [], [1]], 3)
        assert not selector.support_.any()

    def test_each_has_its_own_seed_and_order_of_rows_with_their_groups(self):
        _, listed = repeat([[0], [0], [0]], 2, groups=np.arange(12) + 100)
        assert len({seed for seed, *_ in listed.seen}) == 3
        assert len({tuple(X[:, 0]) for _, X, _, _ in listed.seen}) == 3
        for _, X, y, groups in listed.seen:
            assert_array_equal(X[:, 0], groups - 100)
            assert_array_equal(y, X[:, 0] % 2)

    def test_is_seeded_and_varies(self):
        X, y = make_rows(2)
        one, two, other = (
            RepeatedSelector(SequentialSelector(), 4, random_state=seed).fit(X, y).rankings_ for seed in (1, 1, 2)
        )
        as_lists = [[ranking.tolist() for ranking in rankings] for rankings in (one, two, other)]
        assert as_lists[0] == as_lists[1] != as_lists[2]
        assert len({tuple(ranking) for ranking in as_lists[0]}) > 1

    def test_seeds_nested_estimators(self):
        seeds = []
        RepeatedSelector(SequentialSelector(criterion=Seeded(seeds)), 3, random_state=1).fit(*make_rows())
        assert len(set(seeds)) == 3

    def test_no_repetition_is_refused(self):
        with pytest.raises(ValueError, match="n_repetitions is 0, expected a whole number, at least 1"):
            RepeatedSelector(SequentialSelector(), 0).fit(*make_rows())

    def test_an_inconsistent_ranking_is_refused(self):
        listed = Listed([[0, 0]])
        with pytest.raises(ValueError, match="expected the selected features in order"):
            RepeatedSelector(Chosen(listed), 1).fit(*make_rows())


@pytest.mark.parametrize(
    "estimator",
    [
        SequentialSelector(),
        SequentialSelector(direction="backward"),
        SequentialSelector(floating=True),
        SequentialSelector(GaussianNB(), direction="backward", floating=True),
        RepeatedSelector(SequentialSelector(), 2),
    ],
)
def test_scikit_learn_conventions(estimator):
    for result in check_estimator(estimator, on_skip=None):
        assert result["status"] in {"passed", "skipped"}, result["check_name"]
