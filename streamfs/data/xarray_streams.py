"""Recorded streams as arrays of xarray."""

from collections.abc import Sequence
from reprlib import repr as shortened
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.base.optional import load_optional
from streamfs.data.ends import ends_of
from streamfs.data.given_values import given_values, real
from streamfs.data.stream_arrays import StreamArrays, is_missing
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
    """Read a copy of an array, as `StreamSet.from_xarray` documents."""
    array = _one_array(array)
    if not isinstance(label, str):
        raise TypeError(f"label is {shortened(label)}, expected the name of a coordinate")
    if set(array.dims) != set(DIMENSIONS):
        found = ", ".join(map(str, array.dims)) or "none"
        raise DataError(f"dimensions of the array are {found}, expected {', '.join(DIMENSIONS)}")
    for name in (*DIMENSIONS, label):
        if name not in array.coords:
            raise DataError(f"the array has no coordinate {name!r}, only {', '.join(map(str, array.coords))}")
    if array[label].dims != DIMENSIONS[:1]:
        found = ", ".join(map(str, array[label].dims)) or "no dimension"
        raise DataError(f"coordinate {label!r} is of {found}, expected a label of each stream")
    values, _ = given_values(array.transpose(*DIMENSIONS).to_numpy())
    period = _period(_seconds(array["time"].to_numpy()))
    names, columns = (_texts(array[name].to_numpy().tolist()) for name in ("stream", "column"))
    return StreamArrays(values, array[label].to_numpy(), columns, period, names, ends_of(values))


def _one_array(array: Any) -> Any:
    """Return an array; variables of a Dataset become one of its dimensions."""
    if hasattr(array, "data_vars"):
        variables = ", ".join(map(str, array.data_vars)) or "none"
        if not array.data_vars or "column" in array.dims:
            advice = "" if variables == "none" else f": give one of {variables}"
            raise DataError(f"variables of the Dataset are {variables}, expected the columns of streams{advice}")
        array = array.to_dataarray("column")
    if not hasattr(array, "coords") or not hasattr(array, "dims"):
        raise TypeError(f"array is of type {type(array).__name__}, expected a DataArray or Dataset of xarray")
    return array


def _texts(names: Sequence[Any]) -> list[Any]:
    """Return names as text; what is missing stays so."""
    return [name if is_missing(name) else str(name) for name in names]


def _period(seconds: Array) -> float:
    """Return the seconds from one tick to the next; 1 if there is one tick alone."""
    steps = np.diff(seconds)
    if not len(steps):
        return 1.0
    if not (np.allclose(steps, steps[0], atol=0.0) and steps[0] > 0.0):
        raise DataError(
            f"times are {steps.min():g} to {steps.max():g} seconds apart, expected even ones that rise"
        )
    return float(steps[0])


def _seconds(times: npt.NDArray[Any]) -> Array:
    """Return times as seconds: numbers are seconds; dates are counted from the first."""
    since = (times - times[:1]) / np.timedelta64(1, "s") if times.dtype.kind in "mM" else times
    seconds = real(since, "times")
    for place in np.flatnonzero(~np.isfinite(seconds)):
        raise DataError(f"time {place + 1} is {times[place]}, expected seconds, a date or a duration")
    return seconds
