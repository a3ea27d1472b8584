"""Objects of names and values in JSON, as rows of a table."""

from pathlib import Path

import polars as pl

from streamfs.base.plain_files import opened_bytes
from streamfs.data.recordings.csv_text import BOM, require_text
from streamfs.errors import DataError


def read_objects(path: Path) -> pl.DataFrame:
    """Read a file with an object on each line, or with a list of objects, which gzip may have packed."""
    with opened_bytes(path) as file:
        content = file.read().removeprefix(BOM).lstrip()
    require_text(content, path)
    read = pl.read_json if content.startswith(b"[") else pl.read_ndjson
    rows = read(content, infer_schema_length=None) if content else pl.DataFrame()
    if not rows.columns:
        raise DataError(f"{path} has no names and values, expected objects with them in JSON")
    return rows
