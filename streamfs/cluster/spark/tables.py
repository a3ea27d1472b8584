"""Feature tables of streams in Parquet files: each task reads whole streams, and computes their features."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from streamfs.cluster.spark.session import plainly_named
from streamfs.cluster.tables import TABLE, TableRow, Tabulation, row_batch
from streamfs.data.feature_table import FeatureTable


def tabulate_files(
    spark: SparkSession, samples: str | Path, wanted: Tabulation, n_parts: int | None = None
) -> tuple[list[str], FeatureTable]:
    """Compute features of the streams in a folder of Parquet files, bit for bit as `tabulate` does.

    Parameters
    ----------
    spark : SparkSession
        The session; what tasks compute must fit into its ``spark.driver.maxResultSize``.
    samples : path
        Files that all machines reach, with columns `stream`, `time`, `label` and those that the features read.
    wanted : Tabulation
        Features, seconds of a tick, and, to save memory, the ticks that are kept.
    n_parts : int, optional
        Parts into which streams are divided, each of which must fit into a task's memory; by default two a core.

    Returns
    -------
    names : list of str
        The streams, sorted.
    table : FeatureTable
        Their features; selectors and classifiers are fitted to it.

    Raises
    ------
    DataError
        If a stream cannot be read; raised in a task, and so inside an error of Spark's.
    """
    read = spark.read.parquet(str(Path(samples).absolute()))
    names = ["stream", "time", "label", *wanted.columns]
    needed = plainly_named(read, names)
    parts = needed.repartition(n_parts or 2 * spark.sparkContext.defaultParallelism, needed.columns[0])

    def compute(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        whole = [batch for batch in batches if batch.num_rows]
        if whole:
            yield row_batch([*wanted.rows(pa.Table.from_batches(whole).rename_columns(names))])

    found = parts.mapInArrow(compute, TABLE).toArrow().to_pylist()
    return wanted.table(TableRow(**row) for row in found)
