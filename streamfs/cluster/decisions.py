"""What jobs have decided, as it lies on disk: a folder for each batch, whole or not there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

_WHOLE = "_SUCCESS"  # what Spark writes last


def read_decisions(out: Path) -> Iterator[dict[str, Any]]:
    """Yield the decisions of a job, each once, batch by batch.

    Each has the fields of a `Decision`, and its `id`; an unknown confidence is None.
    """
    for folder in sorted((out / "decisions").glob("batch=*")):
        if (folder / _WHOLE).exists():
            for path in sorted(folder.glob("*.parquet")):
                yield from pq.ParquetFile(path).read().to_pylist()
