"""Recorded streams as arrays of xarray."""

from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.base.optional import load_optional
from streamfs.data.ends import ends_of
from streamfs.data.stream_arrays import StreamArrays
from streamfs.errors import DataError

DIMENSIONS = "stream", "time", "column"


def streams_xarray(arrays: StreamArrays) -> Any:
    """Return streams as an array, as `StreamSet.to_xarray` documents."""
    xarray = load_optional("xarray", "xarray")
    seconds = np.arange(arrays.values.shape[1]) * arrays.period
    coordinates = {
        "stream": list(arrays.names),
        "time": seconds,
        "column": list(arrays.columns),
        "label": ("stream", arrays.labels),
    }
    return xarray.DataArray(arrays.values, coordinates, DIMENSIONS)


def read_xarray(array: Any, label: str) -> StreamArrays:
    """Read an array, as `StreamSet.from_xarray` documents; its values are not copied."""
    if hasattr(array, "data_vars"):  # a Dataset
        array = array.to_dataarray("column")
    if not hasattr(array, "coords"):
        raise TypeError(f"array is of type {type(array).__name__}, expected a DataArray or Dataset of xarray")
    for name in (*DIMENSIONS, label):
        if name not in array.coords:
            raise DataError(f"the array has no coordinate {name!r}, only {', '.join(map(str, array.coords))}")
    values = array.transpose(*DIMENSIONS).to_numpy()
    steps = np.diff(_seconds(array["time"].to_numpy()))
    if len(steps) and not np.allclose(steps, steps[0]):
        raise DataError(f"times are {steps.min():g} to {steps.max():g} seconds apart, expected even ones")
    names, columns = (list(map(str, array[name].to_numpy())) for name in ("stream", "column"))
    period = float(steps[0]) if len(steps) else 1.0
    return StreamArrays(values, array[label].to_numpy(), columns, period, names, ends_of(values))


def _seconds(times: npt.NDArray[Any]) -> Array:
    """Return times as seconds: numbers are seconds; dates are counted from the first."""
    since = (times - times[:1]) / np.timedelta64(1, "s") if times.dtype.kind in "mM" else times
    return np.asarray(since, dtype=np.float64)
