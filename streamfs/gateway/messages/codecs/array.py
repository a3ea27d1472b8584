"""Binary arrays: the fastest way to send many samples of one channel."""

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs.checks import shown
from streamfs.gateway.messages.codecs.plain import check_series
from streamfs.gateway.messages.codecs.reading import Series
from streamfs.gateway.messages.message import MAX_SAMPLES

_VERSION = 1
_SHORTEST, _LONGEST = 1e-30, 1e10  # seconds from one sample to the next
_HEADER = struct.Struct("<BBQf")
_TYPES: dict[int, np.dtype[Any]] = {1: np.dtype("<f4"), 2: np.dtype("<f8"), 3: np.dtype("<i2"), 4: np.dtype("<i4")}
_CODES = {kind.newbyteorder("=").name: code for code, kind in _TYPES.items()}


class ArrayCodec:
    """Decode binary arrays: evenly spaced samples.

    The payload is little-endian: the version, 1, in one byte; a type in one byte, 1 for float32, 2 for float64, 3
    for int16 and 4 for int32; the time of the first sample as uint64, in nanoseconds since 1970; the time from one
    sample to the next as float32, in seconds; and the samples. One that is not finite is missing.
    """

    def __init__(self, max_samples: int = MAX_SAMPLES) -> None:
        self._max_samples = max_samples

    def decode(self, payload: bytes, arrival: float = 0.0, content_type: str = "") -> Series:  # noqa: ARG002
        """Decode a payload; see `Codec`."""
        if len(payload) < _HEADER.size:
            raise PayloadError(f"payload is {shown(payload)}, expected {_HEADER.size} bytes and samples")
        version, code, nanoseconds, step = _HEADER.unpack_from(payload)
        if version != _VERSION:
            raise PayloadError(f"version is {version}, expected {_VERSION}")
        if code not in _TYPES:
            raise PayloadError(f"type is {code}, expected one of {', '.join(map(str, _TYPES))}")
        kind, data = _TYPES[code], payload[_HEADER.size :]
        n_samples, n_left = divmod(len(data), kind.itemsize)
        if n_left:
            raise PayloadError(f"samples have {len(data)} bytes, expected a multiple of {kind.itemsize}")
        start = nanoseconds / 10**9
        check_series("payload", start, step, n_samples, self._max_samples)
        return Series(start, step, kind, data, None)


def encode_array(start: float, step: float, values: npt.ArrayLike, kind: str = "float32") -> bytes:
    """Encode samples, NaN for a missing one, that start at a time and are `step` seconds apart; see `ArrayCodec`.

    The integer types round, and cannot hold NaN.
    """
    samples = np.asarray(values, dtype=np.float64)
    if kind not in _CODES:
        raise ValueError(f"kind is {kind!r}, expected one of {', '.join(_CODES)}")
    if samples.ndim != 1 or not samples.size:
        raise ValueError(f"values have shape {samples.shape}, expected (n_samples,), at least one")
    if np.isinf(samples).any():
        raise ValueError("values have inf in them, expected finite numbers, or NaN where one is missing")
    if not 0 <= start * 1e9 < 2**64:
        raise ValueError(f"start is {start}, expected seconds since 1970, at least 0")
    if not _SHORTEST <= step <= _LONGEST:
        raise ValueError(f"step is {step}, expected a positive number of seconds")
    header = _HEADER.pack(_VERSION, _CODES[kind], round(start * 1e9), step)
    return header + _converted(samples, _TYPES[_CODES[kind]]).tobytes()


def _converted(samples: Array, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    limits = np.iinfo(kind) if kind.kind == "i" else np.finfo(kind)
    is_missing = np.isnan(samples) & (kind.kind == "f")
    rounded = np.rint(samples) if kind.kind == "i" else samples
    if not ((rounded >= limits.min) & (rounded <= limits.max) | is_missing).all():
        raise ValueError(f"values do not all lie within {limits.min} and {limits.max}, as {kind.name} has it")
    return rounded.astype(kind)
