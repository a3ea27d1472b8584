"""Where samples and records come from: Parquet files, a spool, or Kafka; they are divided as they are read."""

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxFiles

from streamfs.cluster import history, kafka, spool
from streamfs.cluster.jobs import record_places
from streamfs.cluster.parcels import RecordParcel, SampleParcel, divide_records, divide_samples
from streamfs.cluster.places import StreamPlaces, keys_of
from streamfs.gateway.core.records import Record, clock_record

SAMPLES = "key int, shard int, newest double, samples binary"
RECORDS = "key int, shard int, source int, first long, frame binary"

_ARROW = {"long": pa.int64(), "int": pa.int32(), "double": pa.float64(), "binary": pa.binary()}
_TIME = -1  # the source of records of time

Offset = dict[str, Any]
Parcels = Iterable[SampleParcel] | Iterable[RecordParcel]


def schema_of(columns: str) -> pa.Schema:
    """Return Arrow's schema of columns."""
    return pa.schema([(name, _ARROW[kind]) for name, kind in (column.split() for column in columns.split(", "))])


def parcel_batch(parcels: Parcels, keys: Sequence[int], columns: str) -> pa.RecordBatch:
    """Return parcels as rows, each with the key of its shard."""
    rows = [{"key": keys[parcel.shard - 1], **parcel._asdict()} for parcel in parcels]
    return pa.RecordBatch.from_pylist(rows, schema_of(columns))


class _Reader(DataSourceStreamReader):
    """Read parts of what there is, each in a task, and divide them among shards."""

    columns = RECORDS

    def __init__(self, options: Any) -> None:
        self.job = json.loads(options["job"])
        self.most = int(self.job["most"])

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return how much a batch has: files, segments, or records of a partition."""
        return ReadMaxFiles(self.most)

    def limit_of(self, limit: ReadLimit) -> int | None:
        """Return the same as a number; None if Spark wants all that there is."""
        return self.most if isinstance(limit, ReadMaxFiles) else None

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a part."""
        keys = keys_of(self.job["shards"], self.job["partitions"])
        for parcels in self.parcels(*partition.value):
            yield parcel_batch(parcels, keys, self.columns)

    @abstractmethod
    def parcels(self, *part: Any) -> Iterator[Parcels]:
        """Yield parcels of a part; each kind of source reads its own."""

    def divided(self, records: Iterable[Record], first: int, source: int) -> Iterator[Parcels]:
        """Yield the parcels of records."""
        places = record_places(self.job["configuration"].encode(), tuple(self.job["channels"]), self.job["shards"])
        yield divide_records(records, first, source, places)


class FilesReader(_Reader):
    """Parquet files of samples, by name; once there are no more, time has passed up to the newest sample."""

    columns = SAMPLES

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.folder = Path(options["path"])

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """Return the place before all files."""
        return {"file": "", "newest": "-inf", "is_ended": False}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        """Return the place after some more files."""
        names = history.files_after(self.folder, start["file"])[: self.limit_of(limit)]
        if not names:
            return start | {"is_ended": self.job["is_complete"] and start["file"] != ""}
        newest = max(float(start["newest"]), *(history.newest_in(self.folder / name) for name in names))
        return {"file": names[-1], "newest": repr(newest), "is_ended": False}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Return a part for each file, and one for the end."""
        names = [name for name in history.files_after(self.folder, start["file"]) if name <= end["file"]]
        parts = [InputPartition((name, None)) for name in names]
        if end["is_ended"] and not start["is_ended"]:
            parts.append(InputPartition((None, float(end["newest"]))))
        return parts

    def parcels(self, name: str | None, newest: float | None) -> Iterator[list[SampleParcel]]:
        """Yield the parcels of a file, or those that say that time has passed."""
        places = StreamPlaces(self.job["shards"])
        if name is None:
            passed = (newest or 0.0) + self.job["lateness"]
            yield [SampleParcel(shard, passed, b"") for shard in places.shards]
            return
        for batch in history.samples_in(self.folder / name, self.job["channels"]):
            yield divide_samples(batch, self.job["channels"], places)


class SpoolReader(_Reader):
    """A gateway's spool, by segments."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.folder = Path(options["path"])

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """Return the position of the oldest record."""
        return {"position": spool.start_of(self.folder)}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        """Return the position after some more segments."""
        return {"position": spool.end_after(self.folder, start["position"], self.limit_of(limit))}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Return a part for each segment."""
        return [*map(InputPartition, spool.pieces(self.folder, start["position"], end["position"]))]

    def parcels(self, start: int, end: int) -> Iterator[Parcels]:
        """Yield the parcels of a segment."""
        return self.divided(spool.records_between(self.folder, start, end), start, 0)


class KafkaReader(_Reader):
    """Topics of Kafka: a message's key is its topic at the gateway; once all is read, time has passed."""

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """Return the oldest offsets."""
        return {"offsets": kafka.extents(self.job["kafka"], self.job["topics"])[0], "time": ""}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        """Return offsets after some more messages of each partition."""
        most, is_live = self.limit_of(limit), self.job.get("is_live", True)
        return kafka.offsets_after(self.job["kafka"], self.job["topics"], start, most, is_live=is_live)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Return a part for each of Kafka's partitions, and one for the time."""
        begun = start["offsets"]
        parts = [
            InputPartition((number, name, begun.get(name, 0), last))
            for number, (name, last) in enumerate(sorted(end["offsets"].items()))
            if last > begun.get(name, 0)
        ]
        return [*parts, *([InputPartition((_TIME, end["time"], 0, 0))] if end["time"] != start["time"] else [])]

    def parcels(self, number: int, name: str, start: int, end: int) -> Iterator[Parcels]:
        """Yield the parcels of a partition, or of the time."""
        if number == _TIME:
            return self.divided([clock_record(float(name))], 0, _TIME)
        return self.divided(kafka.records_between(self.job["kafka"], name, start, end), start, number)


class _Source(DataSource):
    """A source of parcels."""

    reader_type: type[_Reader]

    def schema(self) -> str:
        """Return the columns of parcels."""
        return self.reader_type.columns

    def streamReader(self, schema: Any) -> _Reader:  # noqa: ARG002, N802 - Spark's names
        """Return the reader."""
        return self.reader_type(self.options)


class Files(_Source):
    """Parquet files of samples."""

    reader_type = FilesReader

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "streamfs_samples"


class Spool(_Source):
    """A gateway's spool."""

    reader_type = SpoolReader

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "streamfs_spool"


class Kafka(_Source):
    """Topics of Kafka."""

    reader_type = KafkaReader

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "streamfs_kafka"
