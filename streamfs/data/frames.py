"""Frames of results: of polars, which go on to pandas and Arrow without a step of ours."""

from collections.abc import Mapping
from typing import Any

import polars as pl


def frame_of(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return a frame of columns by name; NaN is null."""
    return pl.DataFrame(dict(columns), strict=False).with_columns(pl.selectors.float().fill_nan(None))
