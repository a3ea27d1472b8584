"""Live streams, divided among shards and batches in any way, have the effects that one core has."""

from itertools import pairwise
from random import Random

import pytest
from helpers.records import new_core, requested_channels
from helpers.zones import ALONE, PAIRED, bindings_of, content_of, story
from hypothesis import given, settings
from hypothesis import strategies as st

from streamfs.cluster.jobs import Following
from streamfs.cluster.parcels import divide_records, records_of
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.records import Record, clock_record, model_record, start_record


def alone():
    return Following.of(ALONE.first.packed, 1, Bindings.single(ALONE.first.channels), Options(), 0.0)


def batches_of(records, random):
    """Divide records into batches, and each into pieces."""
    cuts = sorted(random.sample(range(len(records)), 8))
    bounds = [0, *cuts, len(records)]
    pieces = [(first, records[first:last]) for first, last in pairwise(bounds)]
    return [pieces[:2], pieces[2:3], pieces[3:]]


def take_all(job, batches, random):
    """Let shards take batches, packed and restored between them, with parcels in any order."""
    places, shards, effects = job.places, job.shards, Effects()
    kept = {}
    for pieces in batches:
        parcels = [each for first, records in pieces for each in divide_records(records, first, 0, places)]
        random.shuffle(parcels)
        for shard in sorted({parcel.shard for parcel in parcels}):
            found = shards.restore(shard, kept[shard]) if shard in kept else shards.begin(shard)
            effects.add(found.take([parcel for parcel in parcels if parcel.shard == shard]))
            kept[shard] = found.pack()
    return effects


@pytest.mark.parametrize("models", [ALONE, PAIRED], ids=["alone", "paired"])
@given(seed=st.integers(0, 2**32), n=st.integers(1, 4))
@settings(max_examples=15)
def test_however_records_are_divided_the_effects_are_those_of_one_core(models, seed, n):
    random = Random(seed)  # noqa: S311 - no secret
    bindings, records = bindings_of(models, random), list(story(random))
    whole, begun = new_core(models, bindings, reopen_after=5.0)
    begun.add(whole.take(records))
    job = Following.of(models.first.packed, n, bindings, whole.options, 0.0)
    effects = take_all(job, batches_of(records, random), random)
    assert content_of(effects.decisions) == content_of(begun.decisions)
    assert requested_channels(effects.publications) == requested_channels(begun.publications)
    assert sorted(map(str, effects.energy)) == sorted(map(str, begun.energy))


def test_a_start_of_the_gateway_is_one_of_the_model_here_and_other_models_do_not_matter():
    job = alone()
    records = [start_record("of another", 1.0), model_record("of a third", 2.0), clock_record(3.0)]
    parcels = [*divide_records(records, 0, 0, job.places)]
    shard = job.shards.begin(1)
    shard.take(parcels)
    assert shard.core.procedure.digest == ALONE.first.digest


@given(st.lists(st.lists(st.floats(0, 9), min_size=1, max_size=5).map(sorted), min_size=1, max_size=3), st.data())
def test_records_of_several_sources_are_taken_by_arrival_and_those_of_one_in_its_order(sources, data):
    class Everywhere:
        shards = (1,)

        def of(self, _):
            return 1

        def addressed(self, record):
            return [record]

    parcels = []
    for source, arrivals in enumerate(sources):
        records = [Record(0, arrival, f"{source}", b"%d" % place) for place, arrival in enumerate(arrivals)]
        cut = data.draw(st.integers(0, len(records)))
        for first, part in ((0, records[:cut]), (cut, records[cut:])):
            parcels += divide_records(part, first, source, Everywhere())
    found = [*records_of(data.draw(st.permutations(parcels)))]
    assert [record.arrival for record in found] == sorted(record.arrival for record in found)
    for source, arrivals in enumerate(sources):
        assert [int(r.payload) for r in found if r.topic == f"{source}"] == [*range(len(arrivals))]


def test_a_large_piece_is_divided_into_several_parcels(monkeypatch):
    monkeypatch.setattr("streamfs.cluster.parcels.FRAME_RECORDS", 3)
    parcels = [*divide_records([clock_record(float(i)) for i in range(7)], 10, 0, alone().places)]
    assert [parcel.first for parcel in parcels] == [10, 13, 16]
