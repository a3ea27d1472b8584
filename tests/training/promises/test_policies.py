"""The features that are searched: variants over cheaper channels, and proposals of many."""

import numpy as np
import pytest
from helpers.procedures import labelled_streams
from hypothesis import given
from hypothesis import strategies as st

import feature_extractors as fx
from feature_extractors.report import Policy
from streamfs import StreamSet, tabulate
from streamfs.costs.pricing import Pricing
from streamfs.costs.radio_profiles import profile
from streamfs.errors import TrainingError
from streamfs.training.promises import proposals
from streamfs.training.promises.candidates import Candidates
from streamfs.training.promises.channel_groups import ChannelGroups
from streamfs.training.promises.policies import bare_name, policies_of, with_policies
from streamfs.training.promises.proposals import N_PROPOSED, N_RANKED, propose

OFFERED = (
    "mean(a.t)",
    "mean(a.t@delta:0.5)",
    "max(a.t@every:2)",
    "correlation(a.t, b.t)",
    "correlation(a.t@delta:1, b.t@delta:2)",
    "correlation(a.t@delta:1, b.t@every:2)",
    "mean(b.t@flag:0.5)",
    "mean(a.t@mean:4)",
    "mean(u)",
    "count()",
)


def noise(*columns, n_ticks=20, scale=1.0, n_streams=4):
    """Streams of noise."""
    values = np.random.default_rng(0).normal(0, scale, (n_streams, n_ticks, len(columns)))
    return StreamSet(values, ["a", "b"] * (n_streams // 2), columns)


STREAMS = noise("a.t", "b.t", "u")


def widened(streams, *names, widen=True):
    """Return names of the features found, and variants by name."""
    found, variants = with_policies(streams, [fx.get(name) for name in names], widen=widen)
    by_name = {found[i].name: [found[j].name for j in others] for i, others in variants.items()}
    return [feature.name for feature in found], by_name


class TestPolicies:
    def test_are_seldom_on_changes_of_the_spread_and_above_the_median(self):
        streams = StreamSet(np.tile([1.0, 3.0], 20)[np.newaxis, :, np.newaxis], ["a"], ["t"])
        names = [policy.name for policy in policies_of(streams, "t")]
        assert names == ["", "every:2", "every:4", "every:8", "delta:0.25", "delta:0.5", "delta:1", "flag:2"]

    @pytest.mark.parametrize(("n_ticks", "most"), [(7, 0), (8, 2), (15, 2), (16, 4), (63, 8), (64, 16)])
    def test_are_not_so_seldom_that_hardly_a_message_is_left(self, n_ticks, most):
        found = policies_of(noise("t", n_ticks=n_ticks), "t")
        assert max((p.value for p in found if p.kind == "every" and p != Policy()), default=0) == most

    def test_of_a_quantity_are_the_same_in_all_roles(self):
        values = np.stack([STREAMS.column("a.t"), 5 * STREAMS.column("b.t")], axis=2)
        streams = StreamSet(values, STREAMS.labels, ["a.t", "b.t"])
        assert policies_of(streams, "a.t") == policies_of(streams, "b.t") != policies_of(STREAMS, "a.t")

    def test_of_a_column_without_change_or_readings_are_in_ticks_only(self):
        for value in (1.0, np.nan):
            streams = StreamSet(np.full((2, 8, 1), value), ["a", "b"], ["t"])
            assert [policy.name for policy in policies_of(streams, "t")] == ["", "every:2"]

    def test_of_a_column_with_gaps_are_those_of_its_readings(self):
        readings = [1.0, np.nan, 3.0, np.nan, 1.0, np.nan, 3.0, np.nan]
        streams = StreamSet(np.reshape(readings, (1, 8, 1)), ["a"], ["t"])
        names = [policy.name for policy in policies_of(streams, "t")]
        assert names[:5] == ["", "every:2", "delta:0.25", "delta:0.5", "delta:1"]

    def test_none_sends_more_than_every_tick(self):
        streams = labelled_streams(gaps=0.3)
        for column in streams.columns:
            readings = streams.column(column)
            for policy in policies_of(streams, column):
                assert (~np.isnan(policy.sent(readings))).sum() <= (~np.isnan(readings)).sum()


class TestVariants:
    @given(st.lists(st.sampled_from(OFFERED), unique=True), st.booleans())
    def test_stand_for_each_other_and_differ_in_their_policies_only(self, names, widen):
        found, variants = widened(STREAMS, *names, widen=widen)
        assert found[: len(names)] == names
        assert len(set(found)) == len(found)
        assert widen or found == names
        for name, others in variants.items():
            assert len({name, *others}) == 1 + len(others)
            assert {bare_name(fx.get(other)) for other in others} <= {bare_name(fx.get(name))}
            for other in others:
                assert {other, *variants[other]} == {name, *others}

    def test_of_two_columns_change_both_channels(self):
        found, _ = widened(STREAMS, "correlation(a.t, u)")
        assert found[1:3] == ["correlation(a.t@every:2, u@every:2)", "correlation(a.t@every:4, u@every:4)"]
        assert all(fx.get(name).columns[0] != "a.t" and fx.get(name).columns[1] != "u" for name in found[1:])

    def test_of_two_quantities_change_each_by_its_own_steps(self):
        streams = StreamSet(STREAMS.values * [1, 1, 9], STREAMS.labels, STREAMS.columns)
        names = "correlation(u, a.t)", "last(u)", "last(a.t)"
        found, first, second = (widened(streams, name)[0] for name in names)
        alone = [fx.get(u).columns + fx.get(t).columns for u, t in zip(first, second, strict=True)]
        assert [fx.get(name).columns for name in found] == alone
        assert len(set(sum(alone, ()))) == 2 * len(found)

    def test_of_columns_that_have_not_the_same_policies_are_in_ticks_only(self):
        values = STREAMS.values.copy()
        values[:, :, 2] = 1.0
        found, _ = widened(StreamSet(values, STREAMS.labels, STREAMS.columns), "correlation(a.t, u)")
        assert found == [
            "correlation(a.t, u)",
            "correlation(a.t@every:2, u@every:2)",
            "correlation(a.t@every:4, u@every:4)",
        ]

    @pytest.mark.parametrize("name", ["count()", "mean(b.t@flag:0.5)", "correlation(a.t@delta:1, b.t@every:2)"])
    def test_flags_mixed_channels_and_features_without_a_column_have_no_variants(self, name):
        assert widened(STREAMS, name) == ([name], {})

    def test_the_parameters_of_a_feature_stay(self):
        found, _ = widened(STREAMS, "mean(a.t; window=3)")
        assert found[1] == "mean(a.t@every:2; window=3)"

    def test_columns_of_any_name_have_variants_that_can_be_computed(self):
        streams = noise("a.le vel@,x", "b.le vel@,x")
        feature = fx.get('correlation("a.le vel@,x", "b.le vel@,x")')
        found, _ = with_policies(streams, [feature])
        assert len(found) > 3
        assert tabulate(streams, found).values.shape == (4, 20, len(found))

    def test_features_offered_over_two_channels_stand_for_each_other_without_more(self):
        _, variants = widened(STREAMS, "mean(a.t)", "max(a.t)", "mean(a.t@delta:9)", widen=False)
        assert variants == {"mean(a.t)": ["mean(a.t@delta:9)"], "mean(a.t@delta:9)": ["mean(a.t)"], "max(a.t)": []}


class TestCandidates:
    def named(self, found, places):
        return [found.features[place].name for place in places]

    @pytest.mark.parametrize("offered", [["mean(a.t)", "max(u)"], ["mean(a.t)", "count()", "max(u)"]])
    def test_the_tick_is_free_and_there_once(self, offered):
        found = Candidates.among(STREAMS, [fx.get(name) for name in offered], None, vary=False)
        assert self.named(found, found.free) == ["count()"]
        assert self.named(found, found.proposed) == ["mean(a.t)", "max(u)"]
        assert len(found.features) == 3

    def test_proposed_features_and_their_variants_are_kept_and_no_others(self):
        def last(features):
            assert all(feature.columns for feature in features)
            return [1]

        found = Candidates.among(STREAMS, [fx.get("mean(a.t)"), fx.get("max(u)")], last, vary=True)
        assert self.named(found, found.proposed) == ["max(u)"]
        (grouping,) = found.groupings
        others = self.named(found, [other for (other,) in grouping.variants[found.proposed]])
        assert sorted(self.named(found, range(len(found.features)))) == sorted(["count()", "max(u)", *others])
        assert {bare_name(fx.get(name)) for name in others} == {"max(u)"}

    @given(st.lists(st.sampled_from(OFFERED[:-1]), unique=True, min_size=1), st.booleans(), st.data())
    def test_places_are_those_of_the_features(self, names, vary, data):
        offered = [fx.get(name) for name in names]
        asked = []

        def some(features):
            asked.extend(features)
            return data.draw(st.lists(st.integers(0, len(features) - 1), unique=True, min_size=1))

        found = Candidates.among(STREAMS, offered, some, vary=vary)
        assert set(found.free) | set(found.proposed) <= set(range(len(found.features)))
        assert len(set(found.features)) == len(found.features)
        _, variants = with_policies(STREAMS, offered, widen=vary)
        (grouping,) = found.groupings
        assert grouping.proposed == tuple((place,) for place in found.proposed)
        assert {place for (place,) in grouping.variants} == set(range(len(found.features))) - set(found.free)
        for (place,), others in grouping.variants.items():
            expected = [asked[i].name for i in variants.get(asked.index(found.features[place]), ())]
            assert self.named(found, [other for (other,) in others]) == expected

    def test_features_added_together_have_the_same_channels(self):
        offered = [fx.get(name) for name in ("mean(a.t)", "max(u)", "min(a.t)", "mean(a.t@delta:1)", "count()")]
        found = Candidates.among(STREAMS, offered, lambda _: [2, 1], vary=False, shared=True)
        assert found.groupings[0] == ChannelGroups.by_channels(found.features, found.proposed)
        assert [self.named(found, group) for group in found.groupings[0].proposed] == [["min(a.t)"], ["max(u)"]]
        found = Candidates.among(STREAMS, offered, None, vary=False, shared=True)
        together = [self.named(found, group) for group in found.groupings[0].proposed]
        assert together == [["mean(a.t)", "min(a.t)"], ["max(u)"]]

    @pytest.mark.parametrize(("n_offered", "n_proposed", "ways"), [(10, 10, 2), (11, 11, 1), (11, 10, 2)])
    def test_a_few_features_are_put_in_each_on_its_own_as_well(self, n_offered, n_proposed, ways):
        offered = [fx.get(f"max(u; window={n})") for n in range(2, n_offered + 2)]
        found = Candidates.among(STREAMS, offered, lambda _: list(range(n_proposed)), vary=False, shared=True)
        assert len(found.groupings) == ways
        assert all(len(group) == 1 for group in found.groupings[-1].proposed) == (ways == 2)

    @pytest.mark.parametrize("offered", [["count()"], []])
    def test_without_a_feature_that_reads_a_column_there_is_nothing_to_search(self, offered):
        with pytest.raises(TrainingError, match="is left to search, expected a feature that reads a column"):
            Candidates.among(STREAMS, [fx.get(name) for name in offered], None, vary=True)


class Ranking:
    """Ranks backwards, and records its arguments."""

    def __init__(self, costs, **parameters):
        self.costs, self.parameters = costs, parameters

    def fit(self, table):
        self.table = table
        self.ranking_ = np.arange(len(table.features))[::-1]
        return self


class Weighing(Ranking):
    """Weighs forwards, too."""

    def fit(self, table):
        self.weights_ = -np.arange(2.0 * len(table.features)).reshape(2, -1)
        return super().fit(table)


class Blind(Weighing):
    """Puts two features last both ways."""

    LAST = (17, 31)

    def fit(self, table):
        super().fit(table)
        self.weights_[:, self.LAST] = -np.inf
        self.ranking_ = np.array([*(place for place in self.ranking_ if place not in self.LAST), *self.LAST])
        return self


class TestPropose:
    def proposed(self, names, selector=Ranking, streams=STREAMS, seed=3):
        made = []

        def make(*arguments, **parameters):
            made.append(selector(*arguments, **parameters))
            return made[0]

        features = [fx.get(name) for name in names]
        found = propose(streams, Pricing(profile("transmissions")), make, 0.8, 7, seed, features)
        return found, made[0]

    @pytest.fixture
    def needs(self, monkeypatch):
        """Set the features that a forest needs, and record the arguments."""

        def needs(*order):
            asked = []

            def elimination(*arguments):
                asked.append(arguments)
                return np.array(order)

            monkeypatch.setattr(proposals, "elimination", elimination)
            return asked

        return needs

    def test_a_forests_order_takes_turns_with_the_ranking(self, needs):
        needs(0, 1, 2, 3)
        assert self.proposed(["mean(a.t)", "max(a.t)", "min(u)", "last(a.t)"])[0] == [0, 3, 1, 2]

    def test_informative_features_take_turns_with_cheap_ones(self, needs):
        needs(2, 4, 5, 3, 1, 0)
        names = [f"{kind}({column})" for column in ("a.t", "u") for kind in ("mean", "max", "min")]
        assert self.proposed(names, Weighing)[0] == [2, 5, 0, 4, 1, 3]

    def test_none_is_proposed_twice_over_different_channels(self, needs):
        names = ["mean(a.t)", "mean(a.t@delta:1)", "max(u@delta:1)", "max(u)", "mean(a.t@every:2)"]
        asked = needs(1, 0)
        assert self.proposed(names)[0] == [2, 4]
        assert asked[0][0].names == ("mean(a.t)", "max(u@delta:1)")
        needs(0, 1)
        assert self.proposed(names)[0] == [0, 2]

    def test_of_very_many_the_first_are(self, needs):
        names = [f"mean(a.t; window={n})" for n in range(2, N_PROPOSED + 9)]
        backwards = list(range(len(names)))[::-1]
        needs(*backwards)
        assert self.proposed(names)[0] == backwards[:N_PROPOSED]
        needs(*backwards[::-1])
        half = N_PROPOSED // 2
        assert sorted(self.proposed(names)[0]) == sorted([*range(half), *backwards[:half]])

    def test_a_forest_finds_two_that_are_informative_only_together(self):
        rng = np.random.default_rng(0)
        signs = rng.choice([-1.0, 1.0], (N_RANKED, 2))
        values = rng.normal(size=(N_RANKED, 4, N_PROPOSED + 16))
        values[:, :, Blind.LAST] = 2.0 * signs[:, np.newaxis] + 0.5 * values[:, :, Blind.LAST]
        columns = [f"c{place}" for place in range(values.shape[2])]
        streams = StreamSet(values, np.where(signs[:, 0] == signs[:, 1], "alike", "unlike"), columns)
        found, _ = self.proposed([f"mean({column})" for column in columns], Blind, streams)
        assert len(found) == N_PROPOSED
        assert set(Blind.LAST) <= set(found)

    def test_the_forest_receives_limit_and_seed(self, needs):
        asked = needs(0, 1)
        _, made = self.proposed(["mean(a.t)", "correlation(a.t, u)"])
        ((table, *others),) = asked
        assert others == [7, 3]
        assert table.values.tobytes() == made.table.values.tobytes()

    def test_the_selector_receives_costs_limit_confidence_and_seed(self):
        _, made = self.proposed(["mean(a.t)", "correlation(a.t, u)"])
        assert made.costs.each.tolist() == [1.0, 2.0]
        positions = made.parameters.pop("positions")
        assert made.parameters == {"confidence": 0.8, "horizon": 7, "random_state": 3}
        assert positions.max() == 7
        assert made.table.values.shape == (4, 20, 2)

    def test_of_very_many_streams_some_are_ranked(self, needs):
        asked = needs(0)
        streams = noise("a.t", "b.t", "u", n_streams=2 * N_RANKED)
        _, made = self.proposed(["mean(a.t)"], streams=streams)
        assert len(made.table.labels) == len(asked[0][0].labels) == N_RANKED
        assert np.unique(made.table.labels, return_counts=True)[1].tolist() == [N_RANKED // 2] * 2
        _, again = self.proposed(["mean(a.t)"], streams=streams)
        assert again.table.values.tobytes() == made.table.values.tobytes()
