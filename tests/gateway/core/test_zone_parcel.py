"""A zone goes on in another core as if nothing had happened."""

from random import Random

import pytest
from helpers.procedures import channels_procedure
from helpers.records import Models, content, label, message, new_core, restored
from hypothesis import given, settings
from hypothesis import strategies as st
from test_shards import content_of

from streamfs.base import container
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.records import came_record, clock_record, left_record
from streamfs.gateway.core.shards import Shard, Share, zone_by_node
from streamfs.gateway.core.zone_parcel import names

ALONE = Models(channels_procedure("x", "door@flag:0.5", time_limit=9))
PAIRED = Models(channels_procedure("a.x", "b.x", "b.door@flag:0.5", time_limit=9))
NODES = [f"n{i}" for i in range(6)]


def bindings_of(models, random):
    if models is ALONE:
        return Bindings.single(models.first.channels, random.choice([NODES, ()]))
    couples = [random.sample(NODES, 2) for _ in range(4)]
    return Bindings.pairs(models.first.channels, {f"p{i}": {"a": a, "b": b} for i, (a, b) in enumerate(couples)})


def story(random, n_ticks=40):
    """Readings that are late, lost, numbered or not, and labels."""
    numbers = {node: random.random() < 0.7 for node in NODES}
    for tick in range(n_ticks):
        for node in random.sample(NODES, 5):
            stamp = tick + random.uniform(-0.4, 0.4) - random.choice([0.0, 0.0, 0.0, 1.0, 5.0])
            number, channel = tick if numbers[node] else None, random.choice(["x", "x", "door@flag:0.5"])
            yield message(node, stamp, random.choice([0.0, 0.25, 0.5, 1.0]), number, channel, tick + 0.5)
        if random.random() < 0.1:
            yield label(random.choice(["p0", "n0"]), "on", tick + 0.5)


def move(giving, taking, name):
    """Let a zone go from one core to another, as its records do."""
    zone, members = giving.members_of(name)
    parcel = giving.packed_zone(zone, members)
    taking.take([came_record(zone, parcel, 0.0)])
    effects = giving.take([left_record(zone, names(members), 0.0)])
    assert effects.is_empty
    return zone, members


def went_on(core, part, records, n, later):
    """Take the records after the first ones, but those that had their effects before the zone moved."""
    decisions = []
    for position, record in enumerate(records[n:], n):
        if foreign(part, record) or (position < later and part.has_moved(record.topic) and core.has_come(record)):
            continue
        decisions += core.take([record]).decisions
    return decisions


def foreign(bindings, record):
    if "label" in record.topic:
        return bindings.is_stream_elsewhere(record.topic.rpartition("/")[2])
    return bindings.is_foreign(record.topic)


@pytest.mark.parametrize("models", [ALONE, PAIRED], ids=["alone", "paired"])
@given(seed=st.integers(0, 2**32), restoring=st.booleans())
@settings(max_examples=40)
def test_a_zone_that_moves_is_decided_as_if_it_had_stayed(models, seed, restoring):
    random = Random(seed)  # noqa: S311 - no secret
    bindings, records = bindings_of(models, random), list(story(random))
    whole, begun = new_core(models, bindings, reopen_after=5.0, lateness=3.0)
    begun.add(whole.take(records))
    parts = [bindings.of_share(Share(Shard(number, 2))) for number in (1, 2)]
    if not all(part.discovers or part.streams for part in parts):
        return
    cores = [new_core(models, part, reopen_after=5.0, lateness=3.0)[0] for part in parts]
    until = random.randint(0, len(records))  # the one that takes stops first, the one that gives later
    later = random.randint(until, len(records))
    giver, heard = random.randint(0, 1), [until, until]
    heard[giver] = later
    decisions = []
    for core, part, n in zip(cores, parts, heard, strict=True):
        decisions += core.take([each for each in records[:n] if not foreign(part, each)]).decisions
    giving, taking = cores[giver], cores[1 - giver]
    if not giving.roster.streams:
        return
    zone, members = move(giving, taking, random.choice(giving.roster.streams))
    assert not set(members.streams) & set(giving.roster.streams)
    assert not set(members.nodes) & set(giving.roster.nodes)
    share = [part.share for part in parts]
    share[giver] = Share(share[giver].shard, left=frozenset([zone]))
    share[1 - giver] = Share(share[1 - giver].shard, came=frozenset([zone]))
    parts = [bindings.of_share(each) for each in share]
    if restoring:
        cores = [restored(core, models) for core in cores]
    for core, part, n in zip(cores, parts, heard, strict=True):
        if part.discovers or part.streams:
            core = core.reconfigured(part, core.options)  # noqa: PLW2901 - goes on
            decisions += went_on(core, part, records, n, later)
    assert content_of(decisions) == content_of(begun.decisions)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20)
def test_a_zone_that_comes_back_is_as_it_was(seed):
    random = Random(seed)  # noqa: S311 - no secret
    bindings = bindings_of(PAIRED, random)
    core, _ = new_core(PAIRED, bindings, lateness=3.0)
    core.take([*story(random, 12), clock_record(12.0)])
    other, _ = new_core(PAIRED, Bindings.pairs(PAIRED.first.channels, {"z": {"a": "y1", "b": "y2"}}), lateness=3.0)
    other.take([clock_record(20.0)])
    for name in sorted(set(zone_by_node(bindings.nodes_of).values())):
        zone, members = core.members_of(name)
        there = core.packed_zone(zone, members)
        move(core, other, name)
        moved_on = other.packed_zone(zone, members)
        other.take([left_record(zone, names(members), 0.0)])
        core.take([came_record(zone, moved_on, 0.0)])
        assert _without_silence(core.packed_zone(zone, members)) == _without_silence(there)
    assert not core.roster.model_of("z")


def _without_silence(parcel):
    header, arrays, _ = container.unpack(parcel, "zone", 1, "the zone")
    arrays.pop("joiner.grid")
    cells, slots = arrays.pop("joiner.cells"), arrays.pop("joiner.slots")
    held = {name: repr(cells[name].tolist()) for name in cells.dtype.names if name not in LINKS}
    marks = {name: repr(slots[name].tolist()) for name in slots.dtype.names if name not in LINKS}
    return header, {name: repr(array.tolist()) for name, array in arrays.items()}, held, marks


LINKS = ("cell", "slot", "node", "next", "head", "tail")


def test_nothing_is_said_and_the_counts_of_messages_stay():
    nodes = Bindings.single(ALONE.first.channels, ["n1", "n2"])
    giving, _ = new_core(ALONE, nodes)
    taking, _ = new_core(ALONE, Bindings.single(ALONE.first.channels, ["n3"]))
    giving.take([message("n1", float(tick), 0.5, tick) for tick in range(5)])
    before, stated = giving.spent.nodes["n1"], {each.topic: each for each in giving.control_states()}
    move(giving, taking, "n1")
    assert taking.spent.nodes["n1"] == before
    assert "n1" not in giving.spent.nodes
    after = {each.topic: each for each in taking.control_states()}
    assert after["streamfs/control/n1"] == stated["streamfs/control/n1"]


def test_what_cannot_be_taken_is_refused_and_nothing_changes():
    other = Models(channels_procedure("x", confidence=0.7))
    giving, _ = new_core(ALONE, Bindings.single(ALONE.first.channels, ["n1"]))
    zone, members = giving.members_of("n1")
    parcel = giving.packed_zone(zone, members)
    taking, _ = new_core(other, Bindings.single(other.first.channels, ["n3"]))
    before = content(taking)
    with pytest.raises(ValueError, match="which is not followed here"):
        taking.take([came_record(zone, parcel, 0.0)])
    assert content(taking) == before
    with pytest.raises(ValueError, match="n1 is here already"):
        giving.take([came_record(zone, parcel, 0.0)])
    with pytest.raises(ValueError, match="'n7' is no stream and no node here"):
        giving.members_of("n7")
