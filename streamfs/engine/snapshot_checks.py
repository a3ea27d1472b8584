"""Validate an engine snapshot before its arrays reach compiled kernels."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from streamfs.base import container
from streamfs.engine._arena import COUNTERS, DECIDED, FREE, STREAM
from streamfs.errors import ModelError
from streamfs.procedure.procedure import Procedure

ARRAYS = {
    "state": np.dtype(np.float64),
    "streams": STREAM,
    "status": np.dtype(np.int8),
    "spent": np.dtype(np.float64),
}
"""The arrays of a snapshot, one row per stream."""

LARGEST = 2**53
"""Most ticks, episodes and samples."""


def validate_snapshot(
    header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], procedure: Procedure, state_size: int
) -> None:
    """Refuse a snapshot of another procedure, or one that is damaged; rows hold `state_size` floats."""
    try:
        _check_procedure(header, procedure)
        _check_lists(header)
        _check_arrays(arrays, len(header["names"]), state_size)
        _check_streams(header, arrays)
    except KeyError as error:
        raise ModelError(f"the snapshot has no {error.args[0]}") from error
    except container.DAMAGED as error:
        raise container.damaged("the snapshot", error) from error


def _check_procedure(header: Mapping[str, Any], procedure: Procedure) -> None:
    if header["procedure"] != procedure.digest:
        raise ModelError(f"the snapshot belongs to procedure {header['procedure']}, not to {procedure.digest}")
    versions = [feature.state_version for feature in procedure.features]
    if header["state_versions"] != versions:
        raise ModelError(f"the snapshot has state versions {header['state_versions']}, expected {versions}")


def _check_lists(header: Mapping[str, Any]) -> None:
    """Check that names are strings and counts whole numbers."""
    for name, kind in (("names", list), ("free", list), ("left", dict), ("counters", dict)):
        if not isinstance(header[name], kind):
            raise ModelError(f"the snapshot's {name} are {header[name]!r}, expected a {kind.__name__}")
    for name in (*header["names"], *header["left"]):
        if type(name) is not str:
            raise ModelError(f"the snapshot names a stream {name!r}, expected text")
    counters = {name: header["counters"][name] for name in COUNTERS}
    for number in (*header["free"], *header["left"].values(), header["floor"], *counters.values()):
        if type(number) is not int or not 0 <= number <= LARGEST:
            raise ModelError(f"the snapshot counts {number!r}, expected a whole number from 0 to {LARGEST}")


def _check_arrays(arrays: Mapping[str, npt.NDArray[Any]], n_rows: int, state_size: int) -> None:
    for name, kind in ARRAYS.items():
        array = arrays[name]
        shape = (n_rows, state_size) if name == "state" else (n_rows,)
        if not isinstance(array, np.ndarray) or array.dtype != kind:
            raise ModelError(
                f"the snapshot's {name} is of {getattr(array, 'dtype', type(array))}, expected {kind}"
            )
        if array.shape != shape:
            raise ModelError(f"the snapshot has {name} of shape {array.shape}, expected {shape}")


def _check_streams(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Check that each row is as a kernel leaves it: free, or with a stream whose name is unique."""
    status, streams, free = arrays["status"], arrays["streams"], header["free"]
    for row in np.flatnonzero((status < FREE) | (status > DECIDED)):
        raise ModelError(f"the snapshot's status of row {row} is {status[row]}, expected {FREE} to {DECIDED}")
    for name in ("tick", "episode"):
        for row in np.flatnonzero((streams[name] < 0) | (streams[name] > LARGEST)):
            raise ModelError(
                f"the snapshot's {name} of row {row} is {streams[name][row]}, expected 0 to {LARGEST}"
            )
    spent = arrays["spent"]
    for row in np.flatnonzero(~((spent >= 0) & np.isfinite(spent))):
        raise ModelError(f"the snapshot's spent of row {row} is {spent[row]}, expected a cost, at least 0")
    if sorted(free) != np.flatnonzero(status == FREE).tolist():
        raise ModelError("the snapshot's free rows are not those that hold no stream")
    names = [
        name for name, has_stream in zip(header["names"], (status != FREE).tolist(), strict=True) if has_stream
    ]
    if len(set(names)) < len(names):
        raise ModelError("the snapshot names two streams alike")
