"""Files of samples, one after the other by their names."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamfs.cluster.parcels import STREAM, TIME, newest_of
from streamfs.errors import DataError

AT_ONCE = 100_000
"""Samples that are divided together."""


def files_after(folder: Path, name: str) -> list[str]:
    """Return the names of the Parquet files of a folder that sort after a name, in order."""
    found = (path.name for path in folder.glob("*.parquet") if path.name[0] not in "._")
    return sorted(each for each in found if each > name)


def newest_in(path: Path) -> float:
    """Return the newest time of a file, in seconds."""
    times = pq.read_table(path, columns=[TIME])
    return max((newest_of(batch) for batch in times.to_batches()), default=-np.inf)


def samples_in(path: Path, channels: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Read a file; raise a DataError if it lacks a column."""
    file = pq.ParquetFile(path)
    lacking = {STREAM, TIME, *channels} - {*file.schema_arrow.names}
    if lacking:
        raise DataError(f"{path} has no column {min(lacking)!r}, only {', '.join(file.schema_arrow.names)}")
    yield from file.iter_batches(AT_ONCE, columns=[STREAM, TIME, *channels])
