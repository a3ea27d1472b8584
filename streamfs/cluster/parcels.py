"""What is handed over to a shard: its samples as Arrow's bytes, or its records as a gateway's frame."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import chain, pairwise
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from feature_extractors.arrays import Array
from streamfs.cluster.places import EVERYWHERE, RecordPlaces, StreamPlaces
from streamfs.errors import DataError
from streamfs.gateway.core.records import Record
from streamfs.gateway.storage.frames import Frame, pack_frame

STREAM, TIME = "stream", "time"
"""Columns of samples, beside one for each channel of the model."""

FRAME_RECORDS = 10_000
"""Records of a parcel at most."""


class SampleParcel(NamedTuple):
    """Samples of a shard, as bytes; empty if there are none, and the newest time among those of all shards."""

    shard: int
    newest: float
    samples: bytes


class RecordParcel(NamedTuple):
    """Records of a shard as a frame, the source that they come from, and the position of the first there."""

    shard: int
    source: int
    first: int
    frame: bytes


class Samples(NamedTuple):
    """Samples in some order: names of streams, the place of each sample's stream in these, times and values."""

    names: list[str]
    streams: npt.NDArray[np.int64]
    times: Array
    values: Array


def divide_samples(batch: pa.RecordBatch, channels: Sequence[str], places: StreamPlaces) -> list[SampleParcel]:
    """Divide samples among shards; each shard gets a parcel, so that time passes for all.

    A row without a stream says that time has passed. A DataError names the stream of a time that is missing.
    """
    newest = newest_of(batch)
    batch = batch.select([STREAM, TIME, *channels]).set_column(1, TIME, in_seconds(batch.column(TIME)))
    batch = batch.filter(batch.column(STREAM).is_valid())
    coded = batch.column(STREAM).dictionary_encode()
    shard_of = np.array([places.of(name) for name in coded.dictionary.to_pylist()], np.int64)
    shards = shard_of[_numbers(coded.indices)]
    order = np.argsort(shards, kind="stable")
    ordered = batch.take(pa.array(order)).cast(_schema(channels))
    ends = np.searchsorted(shards[order], np.arange(1, len(places.shards) + 2)).tolist()
    return [
        SampleParcel(shard, newest, pack_samples(ordered.slice(start, end - start)))
        for shard, (start, end) in enumerate(pairwise(ends), 1)
    ]


def _schema(channels: Sequence[str]) -> pa.Schema:
    numbers = ((name, pa.float64()) for name in (TIME, *channels))
    return pa.schema([(STREAM, pa.string()), *numbers])


def newest_of(batch: pa.RecordBatch) -> float:
    """Return the newest time in seconds, minus infinity of no rows; raise a DataError if one is not finite."""
    times = _numbers(in_seconds(batch.column(TIME)))
    wrong = np.flatnonzero(~np.isfinite(times))
    if len(wrong):
        raise DataError(f"the time of sample {wrong[0]} of a batch is {times[wrong[0]]}, expected seconds")
    return float(times.max(initial=-np.inf))


def in_seconds(times: pa.Array) -> pa.Array:
    """Return times as seconds; points in time count from 1970."""
    if pa.types.is_timestamp(times.type):
        return pc.divide(times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64()).cast(pa.float64()), 1e6)
    return times.cast(pa.float64())


def _numbers(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found


def pack_samples(samples: pa.RecordBatch | pa.Table) -> bytes:
    """Pack samples; none are no bytes."""
    if not samples.num_rows:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, samples.schema) as writer:
        writer.write(samples)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def unpack_samples(parcels: Iterable[bytes]) -> pa.Table | None:
    """Return the samples of parcels, in order; None if there are none."""
    tables = [pa.ipc.open_stream(packed).read_all() for packed in parcels if packed]
    return pa.concat_tables(tables) if tables else None


def in_order(samples: pa.Table, channels: Sequence[str]) -> Samples:
    """Return samples by time, those of one time as they are."""
    coded = samples.column(STREAM).combine_chunks().dictionary_encode()
    times = samples.column(TIME).to_numpy()
    order = np.argsort(times, kind="stable")
    values = np.column_stack([_numbers(samples.column(channel)) for channel in channels])
    streams = _numbers(coded.indices).astype(np.int64)
    return Samples(coded.dictionary.to_pylist(), streams[order], times[order], values[order])


def divide_records(
    records: Iterable[Record], first: int, source: int, places: RecordPlaces
) -> Iterator[RecordParcel]:
    """Divide consecutive records of a source among shards; what concerns all is in a parcel of each.

    The parts of a message of several nodes have its position.
    """
    of_shard: dict[int, list[Record]] = defaultdict(list)
    begun: dict[int, int] = {}
    parts = ((position, part) for position, whole in enumerate(records, first) for part in places.addressed(whole))
    for position, record in parts:
        place = places.of(record)
        for shard in places.shards if place == EVERYWHERE else (place,):
            begun.setdefault(shard, position)
            of_shard[shard].append(record)
            if len(of_shard[shard]) == FRAME_RECORDS:
                yield _framed(shard, source, begun.pop(shard), of_shard.pop(shard))
    for shard, found in of_shard.items():
        yield _framed(shard, source, begun[shard], found)


def _framed(shard: int, source: int, first: int, records: list[Record]) -> RecordParcel:
    return RecordParcel(shard, source, first, pack_frame(first, records))


def records_of(parcels: Iterable[RecordParcel]) -> Iterator[Record]:
    """Yield the records of parcels: those of a source in its order, those of several by arrival."""
    of_source: Mapping[int, list[RecordParcel]] = defaultdict(list)
    for parcel in sorted(parcels, key=attrgetter("source", "first")):
        of_source[parcel.source].append(parcel)
    return merge(*map(_unpacked, of_source.values()), key=attrgetter("arrival"))


def _unpacked(parcels: list[RecordParcel]) -> Iterator[Record]:
    return chain.from_iterable(Frame.of(parcel.frame).records() for parcel in parcels)
