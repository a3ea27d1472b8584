"""Streams divided among gateways: none is torn, few move, and together they decide as one gateway does."""

from collections import Counter
from random import Random

import pytest
from helpers.records import new_core, requested_channels
from helpers.zones import ALONE, NODES, PAIRED, bindings_of, content_of, story
from hypothesis import given, settings
from hypothesis import strategies as st

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.shards import Shard, Share, shard_of, zone_by_node


def shares_of(bindings, n):
    parts = [bindings.of_share(Share(Shard(number, n))) for number in range(1, n + 1)]
    return [part for part in parts if part.discovers or part.streams]


@pytest.mark.parametrize("models", [ALONE, PAIRED], ids=["alone", "paired"])
@given(seed=st.integers(0, 2**32), n=st.integers(1, 4))
@settings(max_examples=25)
def test_gateways_with_shards_decide_together_as_one_does(models, seed, n):
    random = Random(seed)  # noqa: S311 - no secret
    bindings, records = bindings_of(models, random), list(story(random))
    whole, begun = new_core(models, bindings, reopen_after=5.0)
    begun.add(whole.take(records))
    decisions, requested, spent = [], {}, {}
    for part in shares_of(bindings, n):
        core, effects = new_core(models, part, reopen_after=5.0)
        effects.add(core.take([each for each in records if not (each.topic and part.is_foreign(each.topic))]))
        decisions += effects.decisions
        requested |= requested_channels(effects.publications)
        spent |= core.spent.nodes
    assert content_of(decisions) == content_of(begun.decisions)
    assert requested == requested_channels(begun.publications)
    assert {name: spent[name] for name in sorted(spent)} == dict(sorted(whole.spent.nodes.items()))


@given(st.integers(0, 2**32), st.integers(1, 9))
def test_no_stream_is_torn_and_each_message_is_of_one_gateway(seed, n):
    random = Random(seed)  # noqa: S311 - no secret
    bindings = bindings_of(random.choice([ALONE, PAIRED]), random)
    parts = [bindings.of_share(Share(Shard(number, n))) for number in range(1, n + 1)]
    assert Counter(stream for part in parts for stream in part.streams) == Counter(bindings.streams)
    for node in [*NODES, "stranger"]:
        [own] = [part for part in parts if not part.is_foreign(f"sensors/{node}/x")]
        assert set(bindings.streams_of(node)) - {node} <= set(own.streams)
    for stream in [*bindings.streams, *NODES * bindings.discovers]:
        assert sum(not part.is_stream_elsewhere(stream) for part in parts) == 1


def test_the_zones_do_not_depend_on_the_order_of_the_streams():
    couples = [(f"n{Random(i).randint(0, 40)}", f"n{Random(-i).randint(0, 40)}") for i in range(30)]  # noqa: S311
    pairs = {f"p{i}": {"a": a, "b": b} for i, (a, b) in enumerate(couples)}
    assert zone_by_node(dict(reversed(pairs.items()))) == zone_by_node(pairs)


def test_another_room_moves_none_and_another_shard_one_of_as_many():
    rooms = [f"room{i}" for i in range(4000)]
    for n in (1, 3, 8):
        before, after = [shard_of(room, n) for room in rooms], [shard_of(room, n + 1) for room in rooms]
        moved = [to for of, to in zip(before, after, strict=True) if of != to]
        assert set(moved) == {n + 1}
        assert len(moved) == pytest.approx(len(rooms) / (n + 1), rel=0.2)


def test_the_shard_of_a_zone_is_the_same_for_ever():
    assert [shard_of(f"room{i}", 8) for i in range(12)] == [4, 5, 3, 8, 6, 4, 5, 7, 5, 1, 4, 6]


def test_zones_that_were_moved_are_those_of_another_gateway():
    bindings = Bindings.single(("x",), NODES)
    zone = next(node for node in NODES if shard_of(node, 2) == 1)
    shares = Share(Shard(1, 2), left=frozenset([zone])), Share(Shard(2, 2), came=frozenset([zone]))
    giving, taking = (bindings.of_share(share) for share in shares)
    assert giving.is_foreign(f"sensors/{zone}/x")
    assert not taking.is_foreign(f"sensors/{zone}/x")
    assert zone in taking.streams


@pytest.mark.parametrize("text", ["3", "0/8", "9/8", "1/0", "-1/2", "1/5000", "a/b", "1/2/3", ""])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(ValueError, match="expected one such as 3/8"):
        Shard.parse(text)
