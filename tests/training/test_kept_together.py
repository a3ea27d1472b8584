"""Streams that share a node's readings: held out together, unless all hang together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from streamfs import Promise, PromiseError, SearchSettings, StreamSet, evaluate, train, train_promised
from streamfs.cli.commands.held_out_text import held_out_warnings
from streamfs.evaluation.model_card import markdown
from streamfs.training.kept_together import Ties, held_out_together, kept_together

N_TICKS = 12


def paired(pairs, labels, seed=0):
    """Streams of two nodes each, whose readings are noise about a level of each node."""
    rng, n_nodes = np.random.default_rng(seed), 1 + max(max(pair) for pair in pairs)
    nodes = 3.0 * rng.normal(size=(n_nodes, 1)) + rng.normal(size=(n_nodes, N_TICKS))
    return StreamSet([np.stack([nodes[a], nodes[b]], axis=1) for a, b in pairs], labels, ["a.level", "b.level"])


def all_pairs(n_times, n_nodes):
    """All pairs of the nodes of each time, by number."""
    first = range(0, n_nodes * n_times, n_nodes)
    return [(node + a, node + b) for node in first for a in range(n_nodes) for b in range(a)]


def at_times(n_times, seed):
    """Pairs of four nodes of noise, whose label is that of the time."""
    labels = np.random.default_rng(seed).permutation(np.arange(n_times) % 2)
    return paired(all_pairs(n_times, 4), np.where(np.repeat(labels, 6), "on", "off"), seed)


def walked(pairs):
    """Return a number for each pair, which it has in common with those that share a node, or do by others."""
    group, before = list(range(len(pairs))), []
    while group != before:
        before = list(group)
        for i, one in enumerate(pairs):
            group[i] = min(group[j] for j, other in enumerate(pairs) if set(one) & set(other))
    return np.array(group)


@given(st.integers(0, 2**32 - 1), st.integers(0, 20))
def test_groups_are_those_that_a_walk_from_node_to_node_finds(seed, n_shared):
    rng = np.random.default_rng(seed)
    pairs, labels = [(node, 40 + node) for node in range(40)], np.where(np.arange(40) % 2, "on", "off")
    for i in rng.integers(1, 40, n_shared).tolist():
        pairs[i] = (pairs[i][0], pairs[rng.integers(40)][1])
    expected, (groups, ties) = walked(pairs), kept_together(paired(pairs, labels, seed), None)
    counts = np.bincount(expected)
    n_tied = int((counts[expected] > 1).sum())
    is_divisible = counts.max() <= 8 and min(len(set(expected[labels == of])) for of in ("on", "off")) >= 5
    assert ties == (Ties(0, n_tied, 0) if is_divisible else Ties(0, 0, n_tied))
    if not n_tied or not is_divisible:
        assert groups is None
    else:
        assert_array_equal(groups[:, np.newaxis] == groups, expected[:, np.newaxis] == expected)


def test_pairs_of_nodes_that_all_hang_together_are_torn_apart_with_a_remark():
    streams = paired(all_pairs(1, 9), ["on", "off"] * 18)
    assert kept_together(streams, None) == (None, Ties(0, 0, 36))
    procedure = train(streams, features=["mean(a.level)"])
    assert procedure.about["held_out"]["torn"] == 36
    said = "36 streams share a node's readings with others, and no division keeps all of these together"
    assert any(said in warning for warning in held_out_warnings(procedure.about["held_out"], None))
    assert said in markdown(procedure)


def test_given_groups_are_joined_by_the_nodes_that_they_share():
    pairs = [(2 * i, 2 * i + 1) for i in range(20)]
    pairs[1] = (1, 3)  # a node of the first
    groups, ties = kept_together(paired(pairs, ["on", "off"] * 10), np.arange(20) // 2)
    assert ties == Ties(0, 2, 0)
    assert np.bincount(groups).tolist() == [2] * 10


def test_noise_of_nodes_in_many_pairs_is_no_evidence():
    streams, others = at_times(60, seed=0), at_times(60, seed=1)
    procedure = train(streams, seed=0)
    right = evaluate(procedure, others).accuracy
    assert procedure.about["held_out"]["stated"] <= right + 0.1
    features, search = (
        ["mean(a.level)", "mean(b.level)", "last(a.level)", "last(b.level)"],
        SearchSettings(as_offered=True),
    )
    with pytest.raises(PromiseError):
        train_promised(
            streams, Promise(0.65, 0.8), features=features, classifier="extra-trees", search=search, n_jobs=1
        )


def test_a_promise_counts_the_pairs_that_share_nodes():
    streams = at_times(60, seed=0)
    streams.values[streams.labels == "on"] += 20.0
    procedure = train_promised(
        streams, Promise(0.8, 0.8), features=["last(a.level)", "mean(b.level)"], classifier="extra-trees", n_jobs=1
    )
    assert procedure.about["promise"]["sharing"] == 360
    assert "360 streams share a node's readings with others: kept together" in markdown(procedure)


def test_copies_that_are_all_there_is_of_a_class_are_held_out_one_by_one():
    values = np.repeat(np.random.default_rng(0).normal(size=(2, N_TICKS, 1)), 10, axis=0)
    streams = StreamSet(values, np.repeat(["on", "off"], 10), ["level"])
    assert held_out_together(streams)[0].groups is None
    assert train(streams).about["held_out"]["right"] == 20
