"""Streams that are copies of others: found, and kept on one side of the division."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from streamfs import Promise, PromiseError, SearchSettings, StreamSet, train_promised
from streamfs.data.shared_columns import FEWEST_CHANGES
from streamfs.evaluation.model_card import markdown
from streamfs.training.copies import NEAR, copies
from streamfs.training.kept_together import kept_together
from streamfs.training.promises.split import TrainTestSplit


def noise(n_streams, n_ticks=30, n_columns=2, seed=0):
    """Readings of noise, of other size and level in each column, a tenth of them missing."""
    rng = np.random.default_rng(seed)
    values = rng.normal(20.0, 0.5, (n_streams, n_ticks, n_columns)) * 10.0 ** np.arange(n_columns)
    values[rng.random(values.shape) < 0.1] = np.nan
    return values


def of(values, **options):
    """Streams of two classes, class by class in turn."""
    names = [f"c{i}" for i in range(values.shape[2])]
    return StreamSet(values, np.where(np.arange(len(values)) % 2, "on", "off"), names, **options)


def naive_copies(values):
    """Compare each stream with each; join those that are near, directly or by others."""
    found = list(range(len(values)))
    for i in range(len(values)):
        for j in range(i):
            one, other = values[i], values[j]
            if (np.isnan(one) != np.isnan(other)).any():
                continue
            apart = np.sqrt(np.nanmean((one - other) ** 2, axis=0)) / np.nanstd(one, axis=0)
            if (apart <= NEAR).all():
                old, new = found[i], found[j]
                found = [new if group == old else group for group in found]
    return found


def parts(groups):
    """Which streams are together."""
    return sorted(np.flatnonzero(np.asarray(groups) == group).tolist() for group in np.unique(groups))


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.sampled_from([0.0, 0.2 * NEAR, 5.0 * NEAR]))
def test_copies_are_those_that_a_comparison_of_all_pairs_finds(seed, n_streams, far):
    rng, values = np.random.default_rng(seed), noise(n_streams, seed=seed)
    drawn = values[rng.integers(0, n_streams, 12)]
    values = np.concatenate([values, drawn + far * rng.normal(0, [0.5, 5.0], drawn.shape)])
    assert parts(copies(of(values))) == parts(naive_copies(values))


def test_streams_of_their_own_are_not_copies_nor_those_that_differ_in_one_column():
    values = noise(40)
    values[20:, :, 0] = values[:20, :, 0]
    assert len(set(copies(of(values)).tolist())) == 40
    assert kept_together(of(values), None)[1].copies == 0
    shifted = noise(2)
    shifted[1] = shifted[0] + 1.0
    assert len(set(copies(of(shifted)).tolist())) == 2


def test_streams_that_hardly_change_may_be_equal_by_chance():
    steps = np.zeros((6, 30, 1))
    for stream, changes in enumerate(
        (0, 0, FEWEST_CHANGES - 1, FEWEST_CHANGES - 1, FEWEST_CHANGES, FEWEST_CHANGES)
    ):
        steps[stream, :, 0] = np.minimum(np.arange(30), changes)
    assert parts(copies(of(steps))) == [[0], [1], [2], [3], [4, 5]]


def test_copies_join_given_groups():
    values = noise(6)
    values[3] = values[0]
    rooms = np.array(["a", "a", "b", "c", "d", "c"])
    groups, ties = kept_together(of(values), rooms)
    assert ties.copies == 2
    assert parts(groups) == [[0, 1, 3, 5], [2], [4]]


def test_no_copies_leave_the_groups_as_they_were_given():
    rooms = np.array([f"room {i % 12}" for i in range(36)])
    assert_array_equal(kept_together(of(noise(36)), rooms)[0], rooms)
    assert TrainTestSplit.of(of(noise(36)), None, 0).groups is None


def test_copies_are_on_one_side():
    values = np.repeat(noise(40), 3, axis=0)
    split = TrainTestSplit.of(of(values), None, 0)
    assert split.ties.copies == 120
    one, other = ({row.tobytes() for row in part.values} for part in split[:2])
    assert not one & other
    assert len(np.unique(split.groups)) == len(one)


def test_nothing_is_promised_of_copies_of_noise_and_the_card_counts_copies():
    n, promise, search = 60, Promise(0.8, 0.8, risk=0.1), SearchSettings(as_offered=True)
    rng = np.random.default_rng(1)
    labels = np.tile(rng.permutation(np.repeat(["on", "off"], n // 2)), 4)
    values = np.tile(rng.normal(0, 1, (n, 10, 2)), (4, 1, 1))
    options = {
        "features": ["last(x)", "mean(x)", "mean(y)"],
        "search": search,
        "classifier": "extra-trees",
        "n_jobs": 1,
    }
    with pytest.raises(PromiseError):
        train_promised(StreamSet(values, labels, ["x", "y"]), promise, **options)
    apart = StreamSet(values + 3.0 * (labels == "on")[:, np.newaxis, np.newaxis], labels, ["x", "y"])
    procedure = train_promised(apart, promise, **options)
    assert procedure.about["promise"]["copies"] == 4 * n
    assert "240 streams are equal, or nearly equal, to others: kept together," in markdown(procedure)
    alone = StreamSet(
        rng.normal(0, 1, (160, 10, 2)) + 3.0 * np.arange(160)[:, None, None] % 2, labels[:160], ["x", "y"]
    )
    assert TrainTestSplit.of(alone, None, 0).ties.copies == 0
