"""One way of deciding recorded streams on Spark, in a process of its own; prints a line of JSON.

``packed`` is `streamfs cluster decide`; ``rows`` hands samples to the same shards row by row; ``river`` is what one
would write first, statistics and a tree of River for each stream by `applyInPandas`.
"""

import json
import os
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from engine_river import Peer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, hash, lit, pmod  # noqa: A004 - Spark's name
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from streamfs.cluster.jobs import Deciding
from streamfs.cluster.parcels import divide_samples
from streamfs.cluster.places import StreamPlaces
from streamfs.cluster.spark.processors import DECISIONS
from streamfs.cluster.spark.serve import decide
from streamfs.cluster.spark.session import prepare, session

SAMPLES = "stream string, time double, a double, b double"
N_SHARDS = 8
WARM = 3
"""Batches that do not count: Java compiles itself meanwhile."""

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


class ByRows(StatefulProcessor):
    """A shard whose samples Spark hands over as rows of pandas, and whose state are the same bytes."""

    def __init__(self, model: bytes) -> None:
        self._job = Deciding(model, N_SHARDS)

    def init(self, handle: Any) -> None:
        self._state = handle.getValueState("state", "packed binary")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: ARG002, N802
        shards, kept = self._job.shards, self._state.get()
        shard = shards.begin(1) if kept is None else shards.restore(1, bytes(kept[0]))
        samples = pd.concat(rows)[["stream", "time", "a", "b"]]
        batch = pa.RecordBatch.from_pandas(samples, preserve_index=False)
        decisions = shard.take(divide_samples(batch, self._job.procedure.channels, StreamPlaces(1)))
        self._state.update((shard.pack(),))
        if decisions:
            yield pd.DataFrame([decision.to_json() for decision in decisions])

    def close(self) -> None:
        pass


def by_rows(spark: SparkSession, samples: Path, out: Path, model: bytes, at_once: int) -> StreamingQuery:
    prepare(spark, 2)
    read: DataFrame = spark.readStream.schema(SAMPLES).option("maxFilesPerTrigger", at_once).parquet(str(samples))
    decisions = (
        read.withColumn("shard", pmod(hash(col("stream")), lit(N_SHARDS)))
        .groupBy("shard")
        .transformWithStateInPandas(
            ByRows(model), outputStructType=DECISIONS, outputMode="Append", timeMode="None"
        )
    )
    stored = decisions.writeStream.format("parquet").option("path", str(out / "decisions"))
    return stored.option("checkpointLocation", str(out / "checkpoint")).start()


@lru_cache(1)
def peer() -> Peer:
    return Peer()


def of_river(frame: pd.DataFrame) -> pd.DataFrame:
    """Take the samples of a stream."""
    for stream, *sample in frame.sort_values("time").itertuples(index=False):
        peer().take(stream, *sample)
    peer().streams.clear()
    return frame.head(0)[["stream"]]


def river(spark: SparkSession, samples: Path) -> dict[str, float]:
    """Run the peer once over some samples, and once over all, for which alone it is charged."""
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    read = spark.read.schema(SAMPLES).parquet(str(samples))
    first = read.where(col("stream") < "stream-0000100")
    first.groupBy("stream").applyInPandas(of_river, "stream string").count()
    began, before = time.perf_counter(), cpu()
    read.groupBy("stream").applyInPandas(of_river, "stream string").count()
    return {"events": read.count(), "batches": 1, "wall": time.perf_counter() - began, "cpu": cpu() - before}


def cpu(pid: int = 0) -> float:
    """Return the processor time of a process, by default this one, and of all below it."""
    pid = pid or os.getpid()
    try:
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        below = Path(f"/proc/{pid}/task").glob("*/children")
        children = [int(word) for path in below for word in path.read_text(encoding="utf-8").split()]
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(map(int, words[11:15])) / TICKS_A_SECOND + sum(map(cpu, children))


def watched(query: StreamingQuery) -> dict[str, float]:
    """Wait until all is decided; return what the batches after the first ones took."""
    marks: dict[int, tuple[float, float]] = {}
    while query.isActive:
        last = query.lastProgress
        if last is not None and last["batchId"] not in marks:
            marks[last["batchId"]] = time.perf_counter(), cpu()
        if last is not None and len(marks) > WARM and not last["numInputRows"]:
            break
        time.sleep(0.01)
    if query.exception() is not None:
        raise RuntimeError(str(query.exception()))
    progress = [each for each in query.recentProgress if each["numInputRows"]]
    steady = [each["batchId"] for each in progress[WARM:-1]]
    (began, before), (ended, after) = marks[steady[0] - 1], marks[steady[-1]]
    query.stop()
    return {"batches": len(steady), "wall": ended - began, "cpu": after - before}


def main(way: str, cores: str, samples: str, out: str, at_once: str) -> None:
    """Run a way on some cores and a folder of samples, with a number of files a batch."""
    spark = session(f"local[{cores}]", {"spark.driver.memory": "2g"})
    folder, model = Path(out), Path(samples).with_suffix(".streamfs")
    if way == "river":
        found = river(spark, Path(samples))
    elif way == "rows":
        found = watched(by_rows(spark, Path(samples), folder, model.read_bytes(), int(at_once)))
    else:
        job = Deciding(model.read_bytes(), N_SHARDS)
        found = watched(decide(spark, Path(samples), folder, job, files_at_once=int(at_once)))
    print(json.dumps(found))
    spark.stop()
