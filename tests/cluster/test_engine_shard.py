"""Recorded streams, divided among shards and batches in any way, are decided as one engine decides them."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from helpers.sample_history import content, decided_by_one, history, procedure
from hypothesis import given, settings
from hypothesis import strategies as st

from streamfs.cluster.engine_shard import EngineShard
from streamfs.cluster.keeping import Keeping
from streamfs.cluster.parcels import SampleParcel, divide_samples
from streamfs.cluster.places import StreamPlaces
from streamfs.errors import DataError, ModelError

MODEL = procedure(time_limit=12)
LATENESS = 2.0


class Stored:
    """A value in Spark's state, of one shard."""

    def __init__(self):
        self.value = None

    def get(self):
        return self.value

    def update(self, value):
        self.value = value


class Shards:
    """Shards that are kept as in Spark, by processes of which each may have forgotten what it had."""

    def __init__(self, n, model=MODEL, lateness=LATENESS):
        self.places = StreamPlaces(n)
        self.n_restored = 0
        self._stored = {shard: (Stored(), Stored()) for shard in self.places.shards}
        self._model, self._lateness = model, lateness

    def take(self, batches, job, random):
        """Take batches of samples as one of Spark's, in any order of parcels."""
        parcels = [each for batch in batches for each in divide_samples(batch, self._model.channels, self.places)]
        random.shuffle(parcels)
        decisions = []
        for shard, stored in self._stored.items():
            own = [parcel for parcel in parcels if parcel.shard == shard]
            kept = Keeping(job, *stored, self._begin, self._restore, EngineShard.pack)
            now = max(parcel.newest for parcel in own) - self._lateness
            if now >= kept.due() or any(parcel.samples for parcel in own):
                alive = kept.take(shard)
                decisions += alive.take(own)
                kept.put(shard, alive, alive.due)
        return decisions

    def end(self, newest, random):
        """Let time pass up to the newest sample."""
        passed = pa.record_batch({"stream": pa.array([None], pa.string()), "time": [newest + self._lateness]})
        for channel in self._model.channels:
            passed = passed.append_column(channel, pa.array([0.0]))
        return self.take([passed], "end", random)

    def _begin(self, _):
        return EngineShard(self._model, self._lateness)

    def _restore(self, _, packed):
        self.n_restored += 1
        return EngineShard.unpack(packed, self._model, self._lateness)


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 8), st.booleans())
@settings(max_examples=25)
def test_however_samples_are_divided_the_decisions_are_those_of_one_engine(seed, n_shards, n_batches, has_late):
    random = Random(seed)  # noqa: S311 - no secret
    recorded = history(30, 40, disorder=LATENESS, n_late=20 * has_late, seed=seed)
    n_batches = max(n_batches, 4 * has_late)  # in one batch with those that should follow it, a sample is not late
    shards, decisions = Shards(n_shards), []
    for rows in np.array_split(np.arange(len(recorded.times)), n_batches):
        batches = recorded.table(rows).to_batches(random.choice([10_000, 37]))
        decisions += shards.take(batches, random.choice(["one", "other"]), random)
    decisions += shards.end(recorded.times.max(), random)
    assert content(d.to_json() for d in decisions) == decided_by_one(recorded, MODEL)


def test_a_shard_is_restored_only_by_a_process_that_has_not_had_it_last():
    random, recorded = Random(0), history(20, 12)  # noqa: S311 - no secret
    shards = Shards(2)
    parts = [recorded.table(rows).to_batches() for rows in np.array_split(np.arange(len(recorded.times)), 4)]
    shards.take(parts[0], "here", random)
    shards.take(parts[1], "here", random)
    assert shards.n_restored == 0
    shards.take(parts[2], "there", random)
    shards.take(parts[3], "here", random)
    assert shards.n_restored == 4


def test_a_shard_that_failed_is_restored():
    random, recorded = Random(0), history(20, 12)  # noqa: S311 - no secret
    shards = Shards(1, lateness=0.0)
    shards.take(recorded.table().to_batches(), "failing", random)
    bad = SampleParcel(1, 20.0, b"no samples")
    kept = Keeping("failing", *shards._stored[1], shards._begin, shards._restore, EngineShard.pack)
    with pytest.raises(pa.ArrowInvalid):
        kept.take(1).take([bad])
    shards.take(recorded.table(slice(0, 5)).to_batches(), "failing", random)
    assert shards.n_restored == 1


def test_a_shard_without_samples_is_left_alone_until_something_is_due():
    random, recorded = Random(0), history(20, 6)  # noqa: S311 - no secret
    shards = Shards(1, lateness=0.0)
    shards.take(recorded.table().to_batches(), "idle", random)
    token = shards._stored[1][0].value
    assert shards.end(6.0, random) == []
    assert shards._stored[1][0].value == token
    assert shards.end(30.0, random)
    assert shards._stored[1][0].value != token


def test_the_state_of_a_shard_takes_little_more_than_the_arrays():
    recorded, open_model = history(2000, 30), procedure(1.0, 10**6)
    shard = EngineShard(open_model, 0.0)
    shard.take(divide_samples(recorded.table().to_batches()[0], open_model.channels, StreamPlaces(1)))
    _, arrays = shard.engine.to_state()
    assert len(shard.pack()) <= 1.1 * sum(array.nbytes for array in arrays.values())


def test_the_state_of_another_model_is_refused():
    packed = EngineShard(MODEL, 0.0).pack()
    with pytest.raises(ModelError, match="belongs to procedure"):
        EngineShard.unpack(packed, procedure(confidence=0.7), 0.0)


def test_points_in_time_count_from_1970_and_missing_times_are_refused():
    samples = {"stream": ["s", "s"], "a": [1, None], "b": [0.5, 0.25]}
    times = pa.array([1_500_000, 2_500_000], pa.timestamp("us"))
    [parcel] = divide_samples(pa.record_batch({**samples, "time": times}), ("a", "b"), StreamPlaces(1))
    assert parcel.newest == 2.5
    with pytest.raises(DataError, match="time of sample 1 of a batch is nan, expected seconds"):
        divide_samples(pa.record_batch({**samples, "time": [0.0, None]}), ("a", "b"), StreamPlaces(1))
