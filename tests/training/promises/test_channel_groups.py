"""Groups of features that the channels of one allow to read, and their variants over other channels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import feature_extractors as fx
from feature_extractors.report import Policy, channel_name
from streamfs import SearchSettings, StreamSet, train_promised
from streamfs.training.promises import Promise, PromiseError
from streamfs.training.promises.candidates import Candidates
from streamfs.training.promises.channel_groups import ChannelGroups
from streamfs.training.promises.subset_search import SubsetSearch, search_in_turns

COLUMNS = ("t", "a.t", "a.le vel@,x", 'say "t"', "a@every:2", "a@x")
POLICIES = ("", "every:2", "delta:0.5", "flag:0.5", "mean:4")

channels = st.tuples(st.sampled_from(COLUMNS), st.sampled_from(POLICIES))
reads = st.one_of(
    st.just(("count", ())),
    st.tuples(st.sampled_from(["mean", "max", "last"]), st.tuples(channels)),
    st.tuples(st.just("correlation"), st.lists(channels, min_size=2, max_size=2).map(tuple)),
)
offers = st.lists(reads, unique=True, min_size=1, max_size=14)


@st.composite
def proposals(draw):
    """Draw features as pairs of kind and channels, and places of some that read a column."""
    offered = draw(offers)
    paid = [place for place, (_, read) in enumerate(offered) if read]
    return offered, draw(st.lists(st.sampled_from(paid), unique=True)) if paid else []


def feature(kind, read):
    names = [channel_name(column, Policy.parse(policy)) for column, policy in read]
    return fx.get(f"{kind}({', '.join(names)})")


def found_of(offered, proposed):
    return ChannelGroups.by_channels([feature(*each) for each in offered], proposed)


def columns_of(offered, group):
    return {column for place in group for column, _ in offered[place][1]}


def readable(offered, place):
    """Naive: the features that can be read with the channels of a feature, one by one."""
    paid = offered[place][1]
    return tuple(
        other for other, (_, read) in enumerate(offered) if read and all(channel in paid for channel in read)
    )


class TestByChannels:
    @given(proposals())
    def test_each_holds_all_features_that_the_channels_of_a_proposed_one_allow_to_read(self, drawn):
        offered, proposed = drawn
        expected, seen = [], []
        for place in proposed:
            columns = {column for column, _ in offered[place][1]}
            if columns not in seen:
                expected.append(readable(offered, place))
                seen.append(columns)
        assert list(found_of(offered, proposed).proposed) == expected

    @given(proposals())
    def test_no_two_that_are_proposed_read_the_same_columns(self, drawn):
        offered, proposed = drawn
        read = [columns_of(offered, group) for group in found_of(offered, proposed).proposed]
        assert all(columns not in read[:place] for place, columns in enumerate(read))
        assert all({column for column, _ in offered[place][1]} in read for place in proposed)

    @given(proposals())
    def test_free_features_are_in_no_group(self, drawn):
        offered, proposed = drawn
        found = found_of(offered, proposed)
        held = {place for group in (*found.proposed, *found.variants) for place in group}
        assert held == {place for place, (_, read) in enumerate(offered) if read}

    @given(proposals())
    def test_all_others_of_the_same_columns_may_stand_for_each(self, drawn):
        offered, proposed = drawn
        found = found_of(offered, proposed)
        every = dict.fromkeys(readable(offered, place) for place, (_, read) in enumerate(offered) if read)
        assert set(found.variants) == set(every)
        for group, others in found.variants.items():
            columns = columns_of(offered, group)
            alike = [other for other in every if other != group and columns_of(offered, other) == columns]
            assert list(others) == alike

    def test_the_first_that_is_proposed_says_over_which_channels(self):
        features = [fx.get(name) for name in ("mean(t)", "max(t@delta:1)", "max(t)", "last(t@delta:1)")]
        assert ChannelGroups.by_channels(features, [1, 0]).proposed == ((1, 3),)
        assert ChannelGroups.by_channels(features, [2, 3]).proposed == ((0, 2),)

    def test_a_pair_is_grouped_with_the_features_of_each_of_its_channels(self):
        names = ["mean(t)", "mean(u@delta:1)", "correlation(t, u@delta:1)", "mean(u)", "mean(v)"]
        found = ChannelGroups.by_channels([fx.get(name) for name in names], [2])
        assert found.proposed == ((0, 1, 2),)
        assert found.variants[(0, 1, 2)] == ()
        assert found.variants[(1,)] == ((3,),)

    def test_columns_that_differ_after_an_at_sign_only_are_two(self):
        features = [fx.get(name) for name in ('mean("a@x")', 'mean("a@y")', 'mean("a@x"@every:2)')]
        found = ChannelGroups.by_channels(features, [0, 1])
        assert found.proposed == ((0,), (1,))
        assert found.variants == {(0,): ((2,),), (1,): (), (2,): ((0,),)}


class TestSingle:
    @given(st.dictionaries(st.integers(0, 20), st.lists(st.integers(0, 20), unique=True)), st.data())
    def test_is_one_feature_each(self, variants, data):
        proposed = data.draw(st.lists(st.integers(0, 20), unique=True))
        found = ChannelGroups.single(proposed, variants)
        assert found.proposed == tuple((place,) for place in proposed)
        assert found.variants == {(place,): tuple((v,) for v in others) for place, others in variants.items()}


class TestTraining:
    """Two classes that differ only in how the least and the largest reading of one of many columns are related."""

    PROMISE = Promise(accuracy=0.8, completeness=0.8, risk=0.1)
    NOISES = tuple(f"noise.{i}" for i in range(10))

    SEED = 2

    def streams(self, seed, n_streams=160, n_ticks=6):
        rng = np.random.default_rng(seed)
        deep, high = rng.integers(0, 2, (2, n_streams))
        values = rng.normal(0, 0.3, (n_streams, n_ticks, 1 + len(self.NOISES)))
        values[:, 0, 0] -= 2.0 + 4.0 * deep
        values[:, 1, 0] += 2.0 + 4.0 * high
        return StreamSet(values, np.where(deep == high, "even", "odd"), ["x", *self.NOISES])

    def kept(self, seed, select):
        names = ["min(x)", "max(x)", *(f"mean({column})" for column in self.NOISES)]
        search = SearchSettings(as_offered=True)
        options = {"search": search, "select": select, "classifier": "extra-trees", "n_jobs": 1}
        return train_promised(self.streams(seed), self.PROMISE, features=names, **options)

    @pytest.mark.parametrize("select", [None, "streamrelief"])
    def test_a_feature_informative_only_with_another_of_its_channel_is_found_as_both_are_added(self, select):
        procedure = self.kept(self.SEED, select)
        assert {feature.name for feature in procedure.features} - {"count()"} == {"min(x)", "max(x)"}
        assert procedure.channels == ("x",)
        evidence = procedure.about["promise"]
        assert evidence["right"] >= 0.8 * evidence["labelled"] >= 0.8 * 0.8 * evidence["streams"]

    def test_it_is_missed_were_each_put_in_on_its_own_and_neither_all_scored_nor_channels_moved(self, monkeypatch):
        alone = classmethod(lambda cls, _features, proposed: cls.single(proposed, {}))
        monkeypatch.setattr(ChannelGroups, "by_channels", alone)
        assert {"min(x)", "max(x)"} <= {feature.name for feature in self.kept(self.SEED, None).features}
        monkeypatch.setattr(Candidates, "plain", ())
        monkeypatch.setattr(SubsetSearch, "move", lambda *_: None)
        with pytest.raises(PromiseError):
            self.kept(self.SEED, None)


class Scripted:
    """A search that finds given subsets, and records the groups it was given."""

    def __init__(self, *found):
        self.found = iter(found)
        self.ways = []

    def search(self, proposed, _variants):
        self.ways.append(proposed)
        return next(self.found)


class TestTurns:
    TOGETHER, SINGLE = ChannelGroups(((1, 2),), {}), ChannelGroups(((1,), (2,)), {})

    @pytest.mark.parametrize("found", ["aa", "abb", "abcc", "abcdefgg"])
    def test_groupings_are_searched_in_turn_until_none_finds_anything_cheaper(self, found):
        search = Scripted(*found)
        search_in_turns(search, [self.TOGETHER, self.SINGLE])
        assert next(search.found, "all") == "all"
        both = [self.TOGETHER.proposed, self.SINGLE.proposed]
        assert search.ways == (both * len(found))[: len(found)]

    def test_one_way_is_searched_once(self):
        search = Scripted("a")
        search_in_turns(search, [self.SINGLE])
        assert search.ways == [self.SINGLE.proposed]
