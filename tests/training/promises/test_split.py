"""The split into training and test streams, which are disjoint and enough."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from streamfs import StreamSet
from streamfs.errors import DataError
from streamfs.training.kept_together import Ties
from streamfs.training.promises import Promise
from streamfs.training.promises.promise import PER_CLASS
from streamfs.training.promises.split import TrainTestSplit


def some_streams(labels):
    """Return a stream per label, recognisable by its only reading."""
    values = np.arange(float(len(labels)))[:, np.newaxis, np.newaxis]
    return StreamSet(values, labels, ["t"], names=[f"s{i}" for i in range(len(labels))])


def numbers(streams):
    """Return the numbers of the streams."""
    return streams.values[:, 0, 0].astype(int)


class TestOf:
    @given(st.integers(30, 60), st.integers(2, 3), st.integers(0, 2**32 - 1))
    def test_each_stream_is_on_one_side_and_two_fifths_are_for_the_test(self, n, n_classes, seed):
        labels = np.array([f"class {i % n_classes}" for i in range(n)])
        parts = TrainTestSplit.of(some_streams(labels), None, seed)
        learning, testing = numbers(parts.train), numbers(parts.test)
        assert sorted([*learning, *testing]) == list(range(n))
        assert 0.4 * n <= len(testing) <= 0.4 * n + 2
        for part in parts[:2]:
            assert part.labels.tolist() == labels[numbers(part)].tolist()
            assert part.names == tuple(f"s{i}" for i in numbers(part))
        assert parts.groups is None

    @given(st.integers(10, 25), st.integers(1, 5), st.integers(0, 2**32 - 1), st.booleans())
    def test_no_group_is_on_both_sides(self, n_groups, size, seed, is_named):
        sites = np.arange(n_groups * size * 2) % n_groups
        sites = np.array([f"room {site}" for site in sites], dtype=object) if is_named else sites
        labels = np.repeat(["a", "b"], n_groups * size)
        parts = TrainTestSplit.of(some_streams(labels), sites, seed)
        learning, testing = numbers(parts.train), numbers(parts.test)
        assert sorted([*learning, *testing]) == list(range(len(sites)))
        assert not set(sites[learning]) & set(sites[testing])
        assert parts.groups.tolist() == sites[learning].tolist()

    def test_groups_of_the_streams_go_together_where_no_others_are_given(self):
        sites = np.arange(48) // 2
        streams = some_streams(np.repeat(["a", "b"], 24)).grouped(sites)
        parts = TrainTestSplit.of(streams, None, 0)
        assert not set(sites[numbers(parts.train)]) & set(sites[numbers(parts.test)])
        assert parts.test_groups is None

    def test_a_seed_gives_the_same_parts_and_another_others(self):
        streams = some_streams(["a", "b"] * 20)
        first, again, other = (numbers(TrainTestSplit.of(streams, None, seed).test) for seed in (1, 1, 2))
        assert_array_equal(first, again)
        assert first.tolist() != other.tolist()

    def test_groups_may_be_a_list_of_names(self):
        labels = ["a", "b"] * 12
        names = [f"room {i // 2}" for i in range(24)]
        assert set(TrainTestSplit.of(some_streams(labels), names, 0).groups) <= set(names)

    def test_groups_may_be_names_and_numbers(self):
        sites = np.array([i // 2 if i < 12 else f"room {i // 2}" for i in range(24)], dtype=object)
        assert set(TrainTestSplit.of(some_streams(["a", "b"] * 12), sites, 0).groups) <= {
            str(site) for site in sites
        }

    @pytest.mark.parametrize("shape", [(19,), (21,), (20, 1), ()])
    def test_there_must_be_one_group_a_stream(self, shape):
        with pytest.raises(DataError, match=r"groups have shape \(.*\), expected \(20,\), one a stream"):
            TrainTestSplit.of(some_streams(["a", "b"] * 10), np.zeros(shape), 0)

    @pytest.mark.parametrize("unknown", [None, float("nan")])
    @pytest.mark.parametrize("known", [3.0, "room 3"])
    def test_an_unknown_group_is_refused(self, unknown, known):
        sites = np.array([known] * 20, dtype=object)
        sites[7] = unknown
        with pytest.raises(DataError, match=f"the group of stream s7 is {unknown}, expected a name or a number"):
            TrainTestSplit.of(some_streams(["a", "b"] * 10), sites, 0)

    @pytest.mark.parametrize(
        ("n", "sites", "message"),
        [
            (9, None, "there are 9 streams, expected at least 10 to make a promise"),
            (0, None, "there are 0 streams, expected at least 10"),
            (30, np.arange(30) % 9, "there are 9 groups, expected at least 10 to make a promise"),
        ],
    )
    def test_few_streams_or_groups_are_refused(self, n, sites, message):
        with pytest.raises(DataError, match=message):
            TrainTestSplit.of(some_streams((["a", "b"] * n)[:n]), sites, 0)

    def test_classes_of_a_few_streams_each_are_refused(self):
        with pytest.raises(DataError, match="the largest class, 'b', has 9 streams, expected at least 10 to make"):
            TrainTestSplit.of(some_streams([*"aaaaaaaabbbbbbbbbccccc"]), None, 0)

    def test_a_class_of_one_stream_or_group_is_refused(self):
        with pytest.raises(DataError, match="class 'rare' has 1 sample only, expected at least 2"):
            TrainTestSplit.of(some_streams(["a"] * 20 + ["rare"]), None, 0)
        with pytest.raises(DataError, match="class 'rare' has 1 group only, expected at least 2"):
            TrainTestSplit.of(some_streams(["a"] * 20 + ["rare"] * 4), [*range(21), 20, 20, 20], 0)

    def test_of_a_class_that_is_left_once_to_learn_from_it_is_said_how_many_there_are(self):
        what = "^of 3 streams of class 'rare' 1 is left to train on, expected at least 2, since 2 of 5 parts are"
        with pytest.raises(DataError, match=f"{what} for the test: record more streams of it$"):
            TrainTestSplit.of(some_streams([*"ab"] * 20 + ["rare"] * 3), None, 0)
        assert (
            TrainTestSplit.of(some_streams([*"ab"] * 20 + ["rare"] * 4), None, 0).train.labels == "rare"
        ).sum() == 2

    def test_a_class_with_too_few_training_streams_is_refused(self):
        """For some seeds the test has every group of a rare class."""
        sites = np.arange(200) % 20
        labels = np.where(np.isin(sites, [3, 4]), "rare", np.where(sites % 2, "a", "b"))
        streams, refusals = some_streams(labels), []
        for seed in range(30):
            try:
                assert TrainTestSplit.of(streams, sites, seed).train.classes == streams.classes
            except DataError as error:
                refusals.append(str(error))
        assert 0 < len(refusals) < 30
        wanted = "to train on, expected at least 2, since 2 of 5 parts are for the test: record more groups of it"
        assert set(refusals) == {f"of 2 groups of class 'rare' {left} is left {wanted}" for left in ("none", 1)}


class TestRequireEnough:
    @given(st.integers(20, 200), st.sampled_from([Promise(0.9), Promise(0.6, 0.95), Promise(0.5, 0.5, 0.2)]))
    def test_too_few_cannot_pass_and_the_stated_number_more_can(self, n, promise):
        parts = TrainTestSplit.of(some_streams((["a", "b"] * n)[:n]), None, 0)
        if len(parts.test) >= promise.fewest_streams:
            parts.require_enough(promise)
            return
        with pytest.raises(DataError, match="fewer cannot pass it even if all their labels are right") as refused:
            parts.require_enough(promise)
        more = int(str(refused.value).split()[-2])
        TrainTestSplit.of(some_streams((["a", "b"] * (n + more))[: n + more]), None, 0).require_enough(promise)

    def test_the_error_has_the_numbers_of_streams_present_and_needed(self):
        parts = TrainTestSplit.of(some_streams(["a", "b"] * 10), None, 0)
        with pytest.raises(
            DataError, match=r"^of 20 streams 8 are left for the test, expected at least 29: .* record 53 more$"
        ):
            parts.require_enough(Promise(0.9))

    def test_a_class_of_which_too_few_are_tested_is_named_with_what_is_to_be_recorded(self):
        parts = TrainTestSplit.of(some_streams(["a"] * 100 + ["b"] * 25), None, 0)
        parts.require_enough(Promise(0.8))
        few = r"^of 25 streams of class 'b' 10 are left .* at least 14: .* record 10 more$"
        for each in PER_CLASS:
            with pytest.raises(DataError, match=few):
                parts.require_enough(Promise(0.8, per_class=each))
        more = TrainTestSplit.of(some_streams(["a"] * 100 + ["b"] * 35), None, 0)
        more.require_enough(Promise(0.8, per_class="found"))

    def test_more_are_needed_if_groups_leave_less_than_two_fifths_for_the_test(self):
        streams = some_streams(["a", "b"] * 30)
        train, test = streams.take(np.arange(45)), streams.take(np.arange(45, 60))
        parts = TrainTestSplit(train, test, np.arange(45) // 5, Ties(0, 0, 0))
        with pytest.raises(DataError, match=r"^of 60 streams 15 are left .* at least 29: .* record 56 more$"):
            parts.require_enough(Promise(0.9))
