"""The search for the cheapest features, on made-up costs; their scores, on small streams."""

import math
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.procedures import labelled_streams
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import promises as naive_promises

import feature_extractors as fx
from streamfs import tabulate
from streamfs.costs.spending import MessageSpending
from streamfs.errors import TrainingError
from streamfs.evaluation.trajectories import Trajectories
from streamfs.training.learners import forest_learner, rows_in_turns, tree_learner
from streamfs.training.promises import Promise, subset_score, subset_scorer
from streamfs.training.promises.certificate import walk
from streamfs.training.promises.channel_groups import FEW
from streamfs.training.promises.curve import ByClass, Curve
from streamfs.training.promises.finalists import finalists
from streamfs.training.promises.held_out import HeldOut, curve_of
from streamfs.training.promises.quantity_moves import QuantityMoves
from streamfs.training.promises.search_log import SearchLog
from streamfs.training.promises.subset_score import (
    CAUTION,
    DOUBT,
    EVEN,
    SPREAD,
    WAITING,
    SubsetScore,
    evaluate_starts,
    evaluate_subset,
)
from streamfs.training.promises.subset_scorer import SubsetScorer
from streamfs.training.promises.subset_search import PATIENCE, SubsetSearch

N = 200
PROMISE = Promise(0.9, 0.9)


def curve(cost, right=N, n=N):
    """One threshold at which all streams are labelled, `right` rightly, at `cost` each."""
    cost = np.array([cost * n], dtype=float)
    return Curve(np.array([0.9]), np.array([n]), np.array([right]), cost, cost, n)


@st.composite
def curves(draw):
    """Curves of some thresholds, most of whose labels are right."""
    n = draw(st.integers(20, 300))
    labelled = sorted(draw(st.lists(st.integers(1, n), min_size=1, max_size=9)))
    right = [draw(st.integers(9 * k // 10, k)) for k in labelled]
    cost = np.array([draw(st.integers(1, 99)) for _ in labelled], float)
    return Curve(np.linspace(1, 0.5, len(labelled)), np.array(labelled), np.array(right), cost, cost, n)


class MadeUp:
    """Curves by a table of costs; if the cost is infinite, too few labels are right."""

    def __init__(self, n_features, cost):
        features = [SimpleNamespace(name=f"f{i}", columns=(f"x{i}",)) for i in range(n_features)]
        self.table = SimpleNamespace(features=features)
        self.cost = cost
        self.asked = []

    def curves(self, chosen, starts):
        self.asked.append(tuple(chosen))
        cost = self.cost(tuple(chosen))
        found = curve(1.0, right=N // 2 + len(chosen)) if math.isinf(cost) else curve(cost)
        return dict.fromkeys(starts, found)


def searching(*scored, **options):
    """A search with a scorer of these curves."""
    return SubsetSearch(SubsetScorer(*scored, **options))


def each(features):
    """Each feature alone."""
    return [(feature,) for feature in features]


def by_table(n_features, seed, share=0.5):
    """Drawn costs with ties; some subsets cannot keep the promise."""
    rng = np.random.default_rng(seed)
    subsets = [s for size in range(1, n_features + 1) for s in combinations(range(n_features), size)]
    costs = np.where(rng.random(len(subsets)) < share, np.inf, rng.integers(1, 12, len(subsets)) / 4)
    return MadeUp(n_features, dict(zip(subsets, costs.tolist(), strict=True)).__getitem__)


def needs(*needed, also=0.0):
    """The promise is kept only with these features; each costs its place plus one."""

    def cost(chosen):
        return sum(1.0 + i for i in chosen) + also if set(needed) <= set(chosen) else math.inf

    return cost


class TestEvaluateSubset:
    @given(curves(), st.none() | st.sampled_from([0.5, 0.8]), st.integers(20, 400))
    def test_the_cost_is_that_expected_where_the_test_ends(self, found, complete, n):
        promise, tested = Promise(0.85, complete), walk(found, Promise(0.85, complete), n)
        costs = tested.cost / (tested.n_labelled if complete is None else tested.n_streams)
        chance = cost = 0.0
        for errors in DOUBT + SPREAD:
            completeness, accuracy = tested.doubted(errors)
            passing = 1.0
            for place, each in enumerate(costs):
                passing = min(passing, promise.accuracy_chances(completeness[place], accuracy[place], n))
                following = min(
                    passing,
                    promise.accuracy_chances(completeness[place + 1], accuracy[place + 1], n)
                    if place + 1 < len(costs)
                    else 0.0,
                )
                ends = (passing - following) * promise.completeness_chances(completeness[place], n) / len(SPREAD)
                chance, cost = chance + ends, cost + ends * each
        scored = evaluate_subset(found, promise, n, (1, 2))
        assert scored.subset == (1, 2)
        assert_allclose(scored.chance, chance, rtol=1e-9, atol=1e-300)
        assert scored.is_likely == (scored.chance >= EVEN)
        if chance > 1e-200:
            assert_allclose(scored.cost, cost / chance, rtol=1e-9)
        behind = promise.accuracy - found.accuracy
        if complete is not None:
            behind = np.maximum(behind, complete - found.completeness)
        assert_allclose(scored.shortfall, max(0.0, behind.min()), rtol=1e-12)

    def test_a_subset_waits_only_as_long_as_it_pays(self):
        late = {1: curve(2.0, 180), 4: curve(9.0), 8: curve(9.0), 16: curve(30.0)}
        assert evaluate_starts(late, PROMISE, N, (1,)) == replace(
            evaluate_subset(late[4], PROMISE, N, (1,)), start=4
        )
        assert evaluate_starts({**late, 1: curve(0.9 * WAITING * 9.0)}, PROMISE, N).start == 1
        assert evaluate_starts({**late, 1: curve(1.1 * WAITING * 9.0)}, PROMISE, N).start == 4

    @given(st.lists(curves(), min_size=1, max_size=4), st.none() | st.just(0.8), st.just(math.inf) | st.just(40.0))
    def test_ticks_that_cannot_be_better_are_left_out(self, each, complete, max_cost):
        each[0] = replace(each[0], cost=WAITING * each[0].cost)
        promise, by_tick = Promise(0.85, complete), dict(enumerate(each, start=1))
        scores = [evaluate_subset(found, promise, N, (), max_cost) for found in each]
        every = [replace(score, start=start) for start, score in enumerate(scores, start=1)]
        assert evaluate_starts(by_tick, promise, N, (), max_cost) == max(every, key=lambda score: score.score)

    def test_a_tick_at_which_nothing_is_cheap_enough_is_not_scored(self, monkeypatch):
        scored = []

        def spy(found, *rest):
            scored.append(found)
            return evaluate_subset(found, *rest)

        monkeypatch.setattr(subset_score, "evaluate_subset", spy)
        at_once, dear, cheap = curve(9.0), curve(9.1 / WAITING), curve(8.9 / WAITING)
        assert evaluate_starts({1: at_once, 2: dear, 3: cheap}, PROMISE, N).start == 3
        assert scored == [at_once, cheap]

    def test_what_costs_more_than_may_be_paid_has_no_chance(self):
        at_once, late = curve(2.0, 180), curve(9.0)
        assert evaluate_starts({1: at_once, 4: late}, PROMISE, N).start == 4
        bounded = evaluate_starts({1: at_once, 4: late}, PROMISE, N, max_cost=8.0)
        assert bounded == evaluate_subset(at_once, PROMISE, N)
        assert evaluate_subset(late, PROMISE, N, max_cost=8.0).chance == 0.0

    def test_without_a_chance_the_worst_class_says_how_far_it_is(self):
        of_class = ByClass(np.array([[N, 0]]), np.array([[N // 2, 0]]), np.array([N // 2, N // 2]))
        alike = replace(curve(1.0, N // 2), by_class=of_class)
        assert evaluate_subset(alike, Promise(0.8, per_class="found"), N).shortfall == pytest.approx(0.8)

    def test_a_looser_threshold_counts_the_more_the_likelier_it_passes(self):
        counts = np.array([N - 1, N])
        costs = []
        for right in range(N // 2, N):
            two = Curve(
                np.array([0.9, 0.8]), counts, np.array([N - 1, right]), np.array([5.0, 3.0]) * N, counts, N
            )
            costs.append(evaluate_subset(two, PROMISE, N).cost)
        assert costs == sorted(costs, reverse=True)
        assert costs[0] == pytest.approx(5.0)
        assert 3.0 < costs[-1] < 3.1

    def test_a_subset_that_labels_nothing_is_the_worst(self):
        empty = evaluate_subset(curve(1.0).thinned(0), PROMISE, N)
        assert (empty.chance, empty.cost, empty.shortfall) == (0.0, math.inf, 1.0)
        assert empty.score <= evaluate_subset(curve(1.0, right=0), PROMISE, N).score

    def test_the_cheaper_is_better_and_so_is_the_likelier(self):
        scores = [
            evaluate_subset(curve(cost, right), PROMISE, N).score
            for cost, right in ((9, 100), (9, 150), (9, 180), (9, 190), (9, N), (1, N))
        ]
        assert scores == sorted(set(scores))

    @given(st.floats(0.1, 1.0), st.floats(0.0, 100.0), st.floats(1e-6, 1e-4))
    def test_there_is_no_chance_at_which_the_score_leaps(self, chance, cost, step):
        here, there = (SubsetScore((1,), each, 1.0 + cost, 0.0).score for each in (chance, chance - step))
        assert here - 2.0 * CAUTION * step / chance < there < here

    def test_a_little_chance_is_given_up_for_much_cost(self):
        cheap, dear = SubsetScore((1,), 0.94, 12.0, 0.0), SubsetScore((2,), 0.95, 36.0, 0.0)
        assert cheap.score > dear.score

    def test_what_costs_nothing_counts_if_it_is_likely(self):
        free = [SubsetScore((1,), chance, 0.0, 0.0).score for chance in (0.9 * EVEN, EVEN, 1.0)]
        dear = SubsetScore((2,), 1e-3, 1e6, 0.0).score
        assert free[0] < dear < free[1] < free[2]

    def test_without_a_chance_the_nearer_is_better_at_any_cost(self):
        scores = [SubsetScore((1,), 0.0, math.inf, short).score for short in (0.9, 0.2, 0.1)]
        scores += [SubsetScore((1,), chance, 1e30, 0.0).score for chance in (1e-100, 1e-3)]
        assert scores == sorted(scores)
        assert len(set(scores)) > 3


class TestExhaust:
    @given(st.integers(1, 4), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 0.95]))
    def test_finds_the_cheapest_of_all_the_smallest_the_first(self, n_features, seed, share):
        made_up = by_table(n_features, seed, share)
        search = searching(made_up, PROMISE, N)
        found = search.exhaust(each(range(n_features)))
        subset, cost = naive_promises.exhaust(n_features, made_up.cost)
        assert len(search.scorer.scores) == 2**n_features - 1
        assert found.is_likely == math.isfinite(cost)
        if found.is_likely:
            assert found.cost == pytest.approx(cost)
            assert found.subset == subset

    def test_if_none_is_likely_it_finds_the_nearest(self):
        found = searching(MadeUp(3, lambda _: math.inf), PROMISE, N).exhaust(each(range(3)))
        assert found.subset == (0, 1, 2)
        assert not found.is_likely

    def test_more_than_a_thousand_subsets_are_too_many(self):
        with pytest.raises(ValueError, match=f"there are 11 features to exhaust, expected at most {FEW}"):
            searching(MadeUp(11, needs()), PROMISE, N).exhaust(each(range(11)))
        with pytest.raises(ValueError, match=f"there are 11 features to exhaust, expected at most {FEW}"):
            searching(MadeUp(11, needs()), PROMISE, N).exhaust([tuple(range(11))])


class TestSearch:
    @given(st.integers(1, 5), st.integers(0, 2**32 - 1))
    def test_returns_the_best_that_it_has_scored_and_scores_none_twice(self, n_features, seed):
        made_up = by_table(n_features, seed)
        search = searching(made_up, PROMISE, N)
        found = search.search(each(range(n_features)))
        assert found.score == max(scored.score for scored in search.scorer.scores.values())
        assert len(made_up.asked) == len(set(made_up.asked)) == len(search.scorer.scores)
        exhausted = searching(made_up, PROMISE, N).exhaust(each(range(n_features)))
        assert found.score <= exhausted.score

    @pytest.mark.parametrize("needed", [(0,), (3,), (1, 4), (0, 2, 3)])
    def test_finds_the_needed_features_and_no_others(self, needed):
        found = searching(MadeUp(6, needs(*needed)), PROMISE, N).search(each(range(6)))
        assert found.subset == needed

    def test_steps_back_if_the_first_feature_added_was_a_detour(self):
        costs = {(0,): 5.0, (0, 1): 4.0, (0, 2): 4.5, (0, 1, 2): 3.0, (1, 2): 1.0}
        found = searching(MadeUp(3, lambda chosen: costs.get(chosen, 9.0)), PROMISE, N).search(each(range(3)))
        assert found.subset == (1, 2)

    def test_ends_some_features_beyond_the_cheapest(self):
        made_up = MadeUp(12, needs(0))
        searching(made_up, PROMISE, N).search(each(range(12)))
        assert max(len(asked) for asked in made_up.asked) == 1 + PATIENCE

    def test_features_added_together_count_once_towards_patience(self):
        made_up = MadeUp(15, needs(0, 1, 2))
        searching(made_up, PROMISE, N).search([(0, 1, 2), *each(range(3, 15))])
        assert max(len(asked) for asked in made_up.asked) == 3 + PATIENCE

    def test_it_ends_as_far_beyond_a_cheapest_that_it_cannot_put_in(self):
        made_up = MadeUp(13, lambda chosen: 1.0 if chosen == (12,) else 9.0 + len(chosen))
        search = searching(made_up, PROMISE, N)
        search.scorer.score([12])
        assert search.search(each(range(12))).subset == (12,)
        assert max(len(asked) for asked in made_up.asked) == 1 + PATIENCE

    @pytest.mark.parametrize(("n_features", "found"), [(FEW, (4, 5, 6, 7, 8, 9)), (FEW + 1, (0,))])
    def test_features_that_only_do_well_together_are_found_backward_if_few(self, n_features, found):
        def cost(chosen):
            if {4, 5, 6, 7, 8, 9} <= set(chosen):
                return len(chosen) - 5.0
            return 7.0 if chosen == (0,) else 9.0

        made_up = MadeUp(n_features, cost)
        assert searching(made_up, PROMISE, N).search(each(range(n_features))).subset == found

    def test_the_places_of_features_are_kept(self):
        found = searching(MadeUp(9, needs(4, 7)), PROMISE, N).search(each([8, 7, 4, 2]))
        assert found.subset == (4, 7)

    def test_free_features_are_in_every_subset_but_not_named(self):
        made_up = MadeUp(4, lambda chosen: float(len(chosen)))
        found = searching(made_up, PROMISE, N, free=[0, 3]).search(each([1, 2]))
        assert all(asked[:2] == (0, 3) for asked in made_up.asked)
        assert found.subset == (1,)

    def test_features_are_exchanged_for_cheaper_variants_one_after_the_other(self):
        price = [8.0, 8.0, 3.0, 5.0, 2.0, 9.0]

        def cost(chosen):
            is_kept = {0, 2, 3} & set(chosen) and {1, 4, 5} & set(chosen)
            return sum(price[i] for i in chosen) if is_kept else math.inf

        alike = {0: (2, 3), 1: (4, 5), 2: (0, 3), 3: (0, 2), 4: (1, 5), 5: (1, 4)}
        variants = {(i,): each(others) for i, others in alike.items()}
        search = searching(MadeUp(6, cost), PROMISE, N)
        assert search.search(each([0, 1])).subset == (0, 1)
        assert search.search(each([0, 1]), variants).subset == (2, 4)
        assert all(len(set(subset)) == len(subset) for subset in search.scorer.scores)

    def test_features_that_go_in_together_come_out_and_are_exchanged_together(self):
        def cost(chosen):
            dear = 9.0 * bool({0, 1} & set(chosen)) + 2.0 * (4 in chosen) + 3.0 * bool({2, 3} & set(chosen))
            return dear if {0, 1} <= set(chosen) or {2, 3} <= set(chosen) else math.inf

        search = searching(MadeUp(5, cost), PROMISE, N)
        found = search.search([(0, 1), (1, 4)], {(0, 1): [(2, 3)], (1, 4): []})
        assert found.subset == (2, 3)
        assert set(search.scorer.scores) == {(0, 1), (1, 4), (0, 1, 4), (2, 3)}

    def test_a_subset_scored_earlier_may_be_the_cheapest(self):
        search = searching(MadeUp(6, needs(1)), PROMISE, N)
        search.scorer.score([1, 5])
        assert search.search([(1, 2, 3), (4,)], {(1,): []}).subset == (1,), "5, which is in no bundle, is dropped"

    def test_features_that_an_earlier_subset_shares_with_a_group_are_exchanged_together(self):
        search = searching(MadeUp(6, needs(1)), PROMISE, N)
        search.scorer.score([1, 2])
        assert search.search([(1, 2, 3), (4,)], {(1, 2): [(0, 1)]}).subset == (0, 1)
        assert (1,) not in search.scorer.scores

    def test_features_added_together_by_one_search_are_exchanged_one_by_one_by_the_next(self):
        costs = {(1, 2): 5.0, (1, 3): 2.0}
        search = searching(MadeUp(4, lambda chosen: costs.get(chosen, math.inf)), PROMISE, N)
        assert search.search([(1, 2)]).subset == (1, 2)
        assert search.search(each([1, 2]), {(2,): each([3])}).subset == (1, 3)

    def test_progress_is_reported_of_each_subset_once(self):
        told = []
        search = searching(MadeUp(3, needs()), PROMISE, N, progress=lambda *step: told.append(step[1]))
        search.search(each([1, 2]), {(1,): each([0, 2]), (2,): each([0, 1]), (0,): each([1, 2])})
        assert told == list(range(1, len(search.scorer.scores) + 1))

    def test_progress_is_reported(self):
        told = []
        searching(MadeUp(2, needs()), PROMISE, N, progress=lambda *step: told.append(step)).exhaust(each([0, 1]))
        assert told == [("searching the cheapest features", n, 0) for n in (1, 2, 3)]


class TestTime:
    def clock(self, monkeypatch, made_up, each=1.0):
        """Scoring a subset takes this many seconds."""
        monkeypatch.setattr(subset_scorer.time, "monotonic", lambda: each * len(made_up.asked))

    def test_when_it_is_over_the_best_so_far_is_taken(self, monkeypatch):
        made_up = MadeUp(8, needs(1, 5))
        self.clock(monkeypatch, made_up)
        search = searching(made_up, PROMISE, N, seconds=9.5)
        found = search.search(each(range(8)))
        assert len(made_up.asked) == 10
        assert found == search.scorer.best == max(search.scorer.scores.values(), key=lambda scored: scored.score)
        assert not found.is_likely

    def test_it_ends_exchanges_and_exhaustion_too(self, monkeypatch):
        made_up = MadeUp(6, needs())
        self.clock(monkeypatch, made_up)
        search = searching(made_up, PROMISE, N, seconds=4.5)
        search.exhaust(each(range(6)))
        assert list(search.scorer.scores) == [(0,), (1,), (2,), (3,), (4,)]

    def test_with_none_for_the_first_subset_there_is_no_best(self, monkeypatch):
        made_up = MadeUp(3, needs())
        search = searching(made_up, PROMISE, N, seconds=1.0)
        monkeypatch.setattr(subset_scorer.time, "monotonic", lambda: math.inf)
        with pytest.raises(TrainingError, match="no subset of features was scored: give the search more time"):
            search.search(each(range(3)))


class TestGoingOn:
    @given(st.integers(2, 5), st.integers(0, 2**32 - 1), st.integers(1, 12))
    def test_a_search_that_is_gone_on_with_goes_the_same_way(self, tmp_path_factory, n_features, seed, n_first):
        path = tmp_path_factory.mktemp("search") / "search.jsonl"
        made_up = by_table(n_features, seed)
        whole = searching(made_up, PROMISE, N)
        found = whole.search(each(range(n_features)))
        first = searching(made_up, PROMISE, N, log=SearchLog(path, "p"))
        for subset in list(whole.scorer.scores)[:n_first]:
            first.scorer.score(subset)
        made_up.asked.clear()
        again = searching(made_up, PROMISE, N, log=SearchLog(path, "p"))
        assert again.search(each(range(n_features))) == found
        assert again.scorer.scores == whole.scorer.scores
        assert list(again.scorer.scores) == list(whole.scorer.scores)
        assert made_up.asked == list(whole.scorer.scores)[n_first:]

    def test_curves_serve_searches_for_other_promises(self):
        made_up, curves = MadeUp(3, needs(1)), {}
        strict = searching(made_up, Promise(0.95, 0.9), N, curves=curves)
        strict.exhaust(each(range(3)))
        mild = searching(made_up, Promise(0.3), N, curves=curves)
        mild.exhaust(each(range(3)))
        assert len(made_up.asked) == len(curves) == 7
        assert strict.scorer.best.subset == (1,)
        assert 1 not in mild.scorer.best.subset


# Scores on held-out streams

STREAMS = labelled_streams(n_streams=60, n_ticks=6)
TABLE = tabulate(
    STREAMS, [fx.get(name) for name in ("count()", "mean(a.level)", "mean(b.level)", "mean(a.noise)")]
)
SPENDING = MessageSpending(STREAMS, STREAMS.columns, STREAMS.lengths)
SITES = np.arange(60) // 2 % 12


class TestRowsInTurns:
    def test_all_streams_and_all_ticks_are_among_the_rows_and_streams_count_alike(self):
        grid, n_streams = np.array([1, 2, 4]), len(TABLE.labels)
        table = replace(TABLE, values=np.arange(TABLE.values.size).reshape(TABLE.values.shape).astype(float))
        values, labels, weights = rows_in_turns(table, grid, n_streams)
        places = values[:, 0].astype(int) // table.values.shape[2]
        streams, ticks = places // table.n_ticks, 1 + places % table.n_ticks
        assert_array_equal(np.sort(streams), np.arange(n_streams))
        assert set(ticks) == set(grid.tolist())
        assert_array_equal(labels, table.labels[streams])
        assert_array_equal(weights, np.ones(n_streams))
        assert len(rows_in_turns(table, grid, 3 * n_streams)[1]) == 3 * n_streams


class TestHeldOut:
    @pytest.mark.parametrize("groups", [None, SITES])
    def test_each_stream_is_classified_by_a_classifier_fitted_to_others(self, groups):
        learn, fitted_to = tree_learner(2, 6), []

        def spy(table):
            fitted_to.append(table)
            return learn(table)

        held_out = HeldOut(TABLE, SPENDING, spy, 6, groups, seed=3)
        trajectories, truth, spent, *_ = held_out.follow((0, 1, 3))
        assert sorted(np.concatenate([fold.test for fold in held_out.folds]).tolist()) == list(range(60))
        assert_array_equal(truth, [STREAMS.classes.index(label) for label in STREAMS.labels])
        for fold, table in zip(held_out.folds, fitted_to, strict=True):
            assert table.values.tobytes() == TABLE.with_features([0, 1, 3]).take(fold.training).values.tobytes()
            assert not set(fold.training) & set(fold.test)
            assert groups is None or not set(groups[fold.training]) & set(groups[fold.test])
            classifier = learn(table)
            expected = Trajectories.of(classifier, TABLE.with_features([0, 1, 3]).take(fold.test), 6)
            assert_array_equal(trajectories.confidence[fold.test], expected.confidence)
            assert_array_equal(trajectories.best[fold.test], expected.best)
            tested = [table.features[i] for i in classifier.features_tested()]
            assert_array_equal(spent[fold.test], SPENDING.until(tested)[fold.test])

    def test_the_curve_is_that_of_all_folds_together(self):
        held_out = HeldOut(TABLE, SPENDING, tree_learner(2, 4), 4, seed=1)
        found, expected = held_out.curves([1, 2])[1], curve_of(held_out.follow((1, 2)))
        assert found.points() == expected.points()
        assert found.n_streams == 60
        assert found.ticks.max() <= 4 * 60

    def test_any_number_of_threads_gives_the_same(self):
        one, two = (HeldOut(TABLE, SPENDING, forest_learner(2, 6, 5), 6, seed=2, n_jobs=n) for n in (1, 2))
        assert one.curves([0, 1, 3])[1].points() == two.curves([0, 1, 3])[1].points()

    def test_records_are_the_ticks_at_which_a_stream_may_be_decided(self):
        held_out = HeldOut(TABLE, SPENDING, forest_learner(2, 6, 0), 6, seed=4)
        trajectories, truth, *_ = held_out.follow((0, 1))
        confidence, is_right, weights, _ = held_out.follow([0, 1]).records()
        expected = []
        for i in range(60):
            said, best = trajectories.confidence[i], trajectories.best[i]
            records = [t for t in range(6) if said[t] > max(said[:t], default=0)]
            expected += [(said[t], best[t] == truth[i], 1 / len(records)) for t in records]
        assert list(zip(confidence.tolist(), is_right.tolist(), weights.tolist(), strict=True)) == expected

    @pytest.mark.parametrize("n_groups", [7, 12, 15])
    def test_groups_are_left_out_one_by_one_unless_they_are_many(self, n_groups):
        groups = np.arange(60) % n_groups
        held_out = HeldOut(TABLE, SPENDING, tree_learner(2, 6), 6, groups, seed=3, leaves_groups_out=True)
        tested = [fold.test for fold in held_out.folds]
        assert sorted(np.concatenate(tested).tolist()) == list(range(60))
        sizes = [len(np.unique(groups[rows])) for rows in tested]
        assert len(sizes) == min(n_groups, 12)
        assert max(sizes) == 1 or n_groups > 12
        for fold in held_out.folds:
            assert not set(groups[fold.test]) & set(groups[fold.training])

    def test_a_part_of_the_others_trains_and_the_same_streams_are_held_out(self):
        whole = HeldOut(TABLE, SPENDING, tree_learner(2, 6), 6, seed=3)
        part, again = (whole.trained_on_part(0.5, 7) for _ in range(2))
        for fold, fewer, same in zip(whole.folds, part.folds, again.folds, strict=True):
            assert fewer.test.tolist() == fold.test.tolist()
            assert set(fewer.training) < set(fold.training)
            assert fewer.training.tolist() == same.training.tolist()
            for label in np.unique(TABLE.labels):
                n, n_all = ((TABLE.labels[rows] == label).sum() for rows in (fewer.training, fold.training))
                assert n == max(2, round(0.5 * n_all))

    def test_streams_of_a_class_without_training_streams_are_wrong(self):
        labels = np.array(["aside", "aside", *STREAMS.labels[2:]])
        lengths = np.where(labels == "aside", 0, TABLE.lengths)
        held_out = HeldOut(replace(TABLE, labels=labels, lengths=lengths), SPENDING, tree_learner(2, 6), 6, seed=0)
        _, truth, *_ = held_out.follow((1, 2))
        assert truth.tolist() == [-1, -1, *(["busy", "calm"].index(label) for label in labels[2:])]


def test_finalists_are_the_best_three_and_those_that_always_are():
    scores = [SubsetScore((i,), 1.0, cost, 0.0) for i, cost in enumerate([5.0, 1.0, 9.0, 2.0, 4.0, 7.0])]
    alike = SubsetScore((1, 6), 1.0, 1.0, 0.0)  # as it reads one more in vain
    found = finalists([*scores, alike], [(2,), (1,), (8,)])
    assert [each.subset for each in found] == [(1,), (3,), (4,), (2,)]


class TestMovesByQuantity:
    FEATURES = tuple(
        map(
            fx.get,
            ["count()", "mean(a.x)", "mean(a.x@every:4)", "correlation(a.x@every:4, b.x@every:4)", "mean(y)"],
        )
    )

    def test_read_all_that_can_be_read_of_a_quantity_over_one_policy(self):
        moves = QuantityMoves(self.FEATURES)
        assert moves.quantities == ("x", "y")
        assert list(moves.of((1, 4), "x")) == [(4,), (1, 4), (2, 3, 4)]
        assert list(moves.of((1,), "y")) == [(1,), (1, 4)]
        assert list(moves.of((1,), "x")) == [(1,), (2, 3)]  # nothing is left without it

    def test_are_made_while_one_is_cheaper_and_none_that_is_dear_at_the_first_tick(self):
        costs, first = {(2, 3, 4): 8.0, (2, 3): 3.0}, {"mean(a.x)": 4.0, "mean(y)": 5.0}
        made_up = MadeUp(5, lambda chosen: costs.get(chosen, 9.0))
        made_up.table.features = self.FEATURES
        made_up.spending = SimpleNamespace(
            until=lambda features: np.array([[sum(first.get(feature.name, 0.0) for feature in features)]])
        )
        search = searching(made_up, PROMISE, N)
        search.score_beside([(2, 3, 4)])
        assert search.move(QuantityMoves(self.FEATURES)).subset == (2, 3)
        assert made_up.asked == [(2, 3, 4), (4,), (2, 3)]  # the others pay more at the first tick
