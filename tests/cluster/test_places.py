"""Streams go to shards, zones stay together, and shards are dealt to the partitions of Spark in turn."""

from collections import Counter

import pytest
from helpers.zones import NODES
from hypothesis import given
from hypothesis import strategies as st

from streamfs.cluster.places import EVERYWHERE, RecordPlaces, StreamPlaces, keys_of
from streamfs.gateway.core.bindings import Bindings, Route
from streamfs.gateway.core.options import Limits, Options
from streamfs.gateway.core.records import MESSAGE, Record, clock_record, start_record

PAIRS = Bindings.pairs(("a.x", "b.x"), {"p": {"a": "n0", "b": "n1"}, "q": {"a": "n2", "b": "n1"}})


def said(topic):
    return Record(MESSAGE, 0.0, topic, b"1")


@given(st.integers(1, 40), st.integers(1, 16))
def test_each_partition_gets_as_many_shards_as_any_other_or_one_more(n_shards, n_partitions):
    keys = keys_of(n_shards, n_partitions)
    assert len({*keys}) == n_shards
    assert keys == keys_of(n_shards + 3, n_partitions)[:n_shards]  # another shard would move none
    of_partition = Counter(murmur(key) % n_partitions for key in keys)
    assert max(of_partition.values()) <= -(-n_shards // n_partitions)


def murmur(key):
    """The published function (x86, 32 bits, seed 42), of a number of four bytes."""
    k = key * 0xCC9E2D51 % 2**32
    k = (k << 15 | k >> 17) % 2**32
    h = 42 ^ k * 0x1B873593 % 2**32
    h = (h << 13 | h >> 19) % 2**32
    h = (h * 5 + 0xE6546B64) % 2**32 ^ 4
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        h = (h ^ h >> shift) * factor % 2**32
    return h - 2**32 if h >= 2**31 else h


def test_the_hash_is_that_of_spark():
    """Spark 4.3: ``SELECT hash(0), hash(1), hash(1000)``."""
    assert [murmur(key) for key in (0, 1, 1000)] == [933211791, -559580957, -14577491]


@pytest.mark.parametrize("numbers", [(0, 1), (1, 0)])
def test_there_is_at_least_one_shard_and_one_partition(numbers):
    with pytest.raises(ValueError, match="is 0, expected at least 1"):
        keys_of(*numbers)


def test_a_stream_has_always_the_same_shard(monkeypatch):
    places = StreamPlaces(5)
    first = [places.of(f"s{i}") for i in range(50)]
    monkeypatch.setattr("streamfs.cluster.places.MAX_KNOWN", 10)
    assert [StreamPlaces(5).of(f"s{i}") for i in range(50)] == first
    assert {*first} == {*places.shards}


def test_nodes_that_share_streams_share_a_shard_and_so_do_their_labels():
    for n in range(1, 9):
        places = RecordPlaces(PAIRS, n, Options())
        topics = [*(f"sensors/n{i}/x" for i in range(3)), "streamfs/label/p", "streamfs/label/q"]
        [shard] = {places.of(said(topic)) for topic in topics}
        assert {*places.part_of(shard).streams} == {"p", "q"}
        assert all(not places.part_of(other).streams for other in places.shards if other != shard)


def test_time_commands_and_what_no_source_fits_concern_all():
    places = RecordPlaces(PAIRS, 4, Options())
    records = [clock_record(1.0), start_record("", 1.0), *map(said, ("streamfs/command/gateway", "other"))]
    assert {places.of(each) for each in records} == {EVERYWHERE}


def test_without_bindings_each_node_is_a_zone():
    places, streams = RecordPlaces(Bindings.single(("x",)), 3, Options()), StreamPlaces(3)
    for node in NODES:
        assert (
            places.of(said(f"sensors/{node}/x")) == places.of(said(f"streamfs/label/{node}")) == streams.of(node)
        )


def test_a_record_goes_where_the_node_that_its_payload_names_belongs():
    route = Route.of("hub/up", "json", node="{id}", fields={"x": "x"})
    places, streams = RecordPlaces(Bindings.single(("x",), routes=(route,)), 3, Options()), StreamPlaces(3)
    for node in ("n1", "n2", "n3", "n4"):
        (record,) = places.addressed(Record(MESSAGE, 0.0, "hub/up", f'{{"id":"{node}","x":1}}'.encode()))
        assert (record.topic, places.of(record)) == (f"hub/up#{node}", streams.of(node))
    clock = clock_record(5.0)
    assert places.addressed(clock) == [clock]


def test_a_record_beyond_the_limit_is_as_it_came():
    route = Route.of("hub/up", "json", node="{s.*.id}", fields={"s.*.x": "x"})
    bindings, options = Bindings.single(("x",), routes=(route,)), Options(limits=Limits(payload_bytes=40))
    places = RecordPlaces(bindings, 3, options)
    within, beyond = (b'{"s":[{"id":1,"x":1},{"id":2}]' + b" " * n + b"}" for n in (9, 10))
    assert [len(within), len(beyond)] == [40, 41]
    parts = places.addressed(Record(MESSAGE, 0.0, "hub/up", within))
    assert [part.topic for part in parts] == ["hub/up#1", "hub/up#2"]
    record = Record(MESSAGE, 0.0, "hub/up", beyond)
    assert places.addressed(record) == [record]


def test_a_label_or_a_command_stays_one_where_a_source_reads_topics_as_long():
    route = Route.of("+/+/+", "json", node="{id}", fields={"x": "x"})
    places = RecordPlaces(Bindings.single(("x",), routes=(route,)), 3, Options())
    for topic in ("streamfs/label/n1", "streamfs/command/gateway"):
        record = Record(MESSAGE, 0.0, topic, b'{"id":"n1","label":"on"}')
        assert places.addressed(record) == [record]
