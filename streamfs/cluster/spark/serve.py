"""Jobs that serve: decide recorded streams, and follow live ones."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.streaming.query import StreamingQuery

from streamfs.cluster.jobs import Deciding, Following, Job, settle
from streamfs.cluster.parcels import STREAM, TIME, divide_samples
from streamfs.cluster.places import keys_of
from streamfs.cluster.spark.processors import DECISION, DECISIONS, EFFECTS, PUBLICATION, Cores, Engines
from streamfs.cluster.spark.session import plainly_named, prepare
from streamfs.cluster.spark.sources import SAMPLES, Files, Kafka, Spool, parcel_batch
from streamfs.gateway.messages.publication import Publication

Publish = Callable[[Sequence[Publication]], None]

DECIDED, CHECKPOINT = "decisions", "checkpoint"
"""Folders of a job: what was decided, a folder for each batch, and Spark's own."""


def decide(
    spark: SparkSession,
    history: str | Path | DataFrame,
    out: Path,
    job: Deciding,
    *,
    n_partitions: int = 2,
    files_at_once: int = 8,
    is_complete: bool = True,
) -> StreamingQuery:
    """Decide recorded streams on a cluster; the same call goes on with a job that was interrupted.

    Parameters
    ----------
    spark : SparkSession
        The session.
    history : path or DataFrame
        A folder of Parquet files, read in the order of their names, or a streaming frame: in either, columns
        `stream`, `time` (seconds, or points in time), and one for each of the model's channels.
    out : pathlib.Path
        The job's folder, which all machines reach.
    job : Deciding
        Model, shards and lateness.
    n_partitions : int
        Partitions of the state: for the largest cluster meant, since it cannot be changed later.
    files_at_once : int
        Files of a batch.
    is_complete : bool
        Whether all files are there: then what waits for earlier samples is taken when the last one is read.

    Returns
    -------
    StreamingQuery
        The running job; ``processAllAvailable()`` waits until it has decided what is there.

    Raises
    ------
    StateError
        If the folder has a job of another model, or with other shards or lateness.
    """
    keys = _begin(spark, out, job, n_partitions)
    if isinstance(history, DataFrame):
        parcels = _divided(history, job, keys)
    else:
        said = {"lateness": job.lateness, "is_complete": is_complete}
        parcels = _read(spark, Files, job, n_partitions, files_at_once, **said).load(str(Path(history).absolute()))
    decisions = _by_shard(parcels, Engines(job), DECISIONS)
    return _start(decisions, out, lambda frame, number: _write(frame, out, number))


def follow(
    spark: SparkSession,
    source: Path | Mapping[str, Any],
    out: Path,
    job: Following,
    *,
    n_partitions: int = 2,
    at_once: int = 4,
    publish: Publish | None = None,
    seconds: float = 5.0,
) -> StreamingQuery:
    """Follow live streams on a cluster; the same call goes on with a job that was interrupted.

    Parameters
    ----------
    spark : SparkSession
        The session.
    source : pathlib.Path or mapping
        A gateway's spool, which all machines reach, or ``{"topics": [...], "kafka": {...}}``, the latter being
        librdkafka's settings; with ``"is_live": False``, time passes by the messages alone.
    out : pathlib.Path
        The job's folder, which all machines reach.
    job : Following
        Model, shards, bindings and options.
    n_partitions : int
        Partitions of the state, as in `decide`.
    at_once : int
        Segments of a batch at most, or messages of each of Kafka's partitions.
    publish : callable, optional
        Publishes decisions and control messages, each at least once; called before a batch is committed.
    seconds : float
        From one batch to the next at least.

    Returns
    -------
    StreamingQuery
        The running job.

    Raises
    ------
    StateError
        If the folder has a job of another model, or with other shards or streams.
    """
    _begin(spark, out, job, n_partitions)
    said = {"configuration": job.configuration.decode()}
    if isinstance(source, Path):
        records = _read(spark, Spool, job, n_partitions, at_once, **said).load(str(source.absolute()))
    else:
        records = _read(spark, Kafka, job, n_partitions, at_once, **said, **source).load()
    effects = _by_shard(records, Cores(job), EFFECTS)

    def commit(frame: DataFrame, number: int) -> None:
        frame = frame.persist()
        try:
            _write(frame.where(col("kind") == DECISION).select(*_names(DECISIONS)), out, number)
            if publish is not None:
                publish(_publications(frame))
        finally:
            frame.unpersist()

    return _start(effects, out, commit, seconds)


def _begin(spark: SparkSession, out: Path, job: Job, n_partitions: int) -> tuple[int, ...]:
    """Prepare a session and a job's folder; return the keys of shards."""
    prepare(spark, n_partitions)
    settle(out, {**job.to_json(), "partitions": n_partitions})
    return keys_of(job.n_shards, n_partitions)


def _read(spark: SparkSession, source: Any, job: Job, n_partitions: int, most: int, **said: Any) -> Any:
    spark.dataSource.register(source)
    known = {"shards": job.n_shards, "channels": job.procedure.channels, "partitions": n_partitions, "most": most}
    return spark.readStream.format(source.name()).option("job", json.dumps(known | said))


def _divided(samples: DataFrame, job: Deciding, keys: Sequence[int]) -> DataFrame:
    """Divide a frame of samples among shards."""
    channels, places = job.procedure.channels, job.places
    names = [STREAM, TIME, *channels]
    plain = plainly_named(samples, names)
    stream, *numbers = plain.columns
    wanted = plain.select(col(stream).cast("string"), *(col(name).cast("double") for name in numbers))

    def divide(batches: Any) -> Any:
        for batch in batches:
            named = batch.rename_columns(names)
            yield parcel_batch(divide_samples(named, channels, places), keys, SAMPLES)

    return wanted.mapInArrow(divide, SAMPLES)


def _by_shard(parcels: DataFrame, processor: Engines | Cores, columns: str) -> DataFrame:
    return parcels.groupBy("key").transformWithState(
        statefulProcessor=processor, outputStructType=columns, outputMode="Append", timeMode="None"
    )


def _start(
    frame: DataFrame, out: Path, commit: Callable[[DataFrame, int], None], seconds: float = 0.0
) -> StreamingQuery:
    writer = frame.writeStream.foreachBatch(commit).option("checkpointLocation", str(out.absolute() / CHECKPOINT))
    return writer.trigger(processingTime=f"{seconds} seconds").start()


def _write(decisions: DataFrame, out: Path, number: int) -> None:
    """Write the decisions of a batch into a folder of its own, in place of what a failed attempt has left."""
    folder = out.absolute() / DECIDED / f"batch={number:012d}"
    decisions.repartition(1).write.mode("overwrite").parquet(str(folder))


def _publications(frame: DataFrame) -> list[Publication]:
    rows = frame.where(col("kind") == PUBLICATION).select("topic", "body", "retain", "expiry").collect()
    return [Publication(row.topic, bytes(row.body), row.retain, row.expiry) for row in rows]


def _names(columns: str) -> list[str]:
    return [column.split()[0] for column in columns.split(", ")]
