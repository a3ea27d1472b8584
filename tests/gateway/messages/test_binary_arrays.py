"""Binary arrays."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from payload_cases import ARRIVAL

from streamfs.gateway.messages.codecs import codec_for, encode_array

KINDS = {"float32": np.float32, "float64": np.float64, "int16": np.int16, "int32": np.int32}


@given(st.data(), st.sampled_from(list(KINDS)), st.integers(0, 2**63 - 1), st.floats(2**-20, 1e3, width=32))
def test_what_is_written_as_an_array_is_read_unchanged(data, kind, nanoseconds, step):
    if kind.startswith("int"):
        limits = np.iinfo(kind)
        numbers = st.integers(limits.min, limits.max)
    else:
        numbers = st.floats(allow_infinity=False, width=int(kind[-2:]))
    values = data.draw(st.lists(numbers, min_size=1, max_size=20))
    start = nanoseconds / 1e9
    times, samples = codec_for("array").decode(encode_array(start, step, values, kind), ARRIVAL).arrays()
    assert np.array_equal(samples, np.array(values, dtype=np.float64), equal_nan=True)
    assert times == pytest.approx(start + step * np.arange(len(values)), rel=1e-15, abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1.0, 1.0, [1.0]), "start is -1.0"),
        ((math.nan, 1.0, [1.0]), "start is nan"),
        ((2e10, 1.0, [1.0]), "start is 2"),
        ((0.0, 0.0, [1.0]), "step is 0.0"),
        ((0.0, math.inf, [1.0]), "step is inf"),
        ((0.0, 1.0, []), "values have shape"),
        ((0.0, 1.0, [[1.0]]), "values have shape"),
        ((0.0, 1.0, [math.inf]), "values have inf"),
        ((0.0, 1.0, [1e39]), "as float32 has it"),
        ((0.0, 1.0, [40_000.0], "int16"), "as int16 has it"),
        ((0.0, 1.0, [math.nan], "int32"), "as int32 has it"),
        ((0.0, 1.0, [1.0], "int8"), "kind is 'int8'"),
    ],
)
def test_what_an_array_cannot_hold_is_not_written(arguments, message):
    with pytest.raises(ValueError, match=message):
        encode_array(*arguments)
