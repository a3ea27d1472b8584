"""Time on air against Semtech's figures, and arguments that are refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamfs.costs.energy import lora_time_on_air
from streamfs.costs.radio_profiles import profile


@pytest.mark.parametrize(("spreading_factor", "seconds"), [(7, 71.9e-3), (9, 246.8e-3), (12, 1810e-3)])
def test_time_on_air_is_semtechs(spreading_factor, seconds):
    assert lora_time_on_air(20 + 13, spreading_factor) == pytest.approx(seconds, rel=1e-3)


@pytest.mark.parametrize(
    ("explicit_header", "crc", "n_blocks"),
    [(True, True, 4), (True, False, 3), (False, True, 3), (False, False, 2)],
)
def test_time_on_air_worked_by_hand(explicit_header, crc, n_blocks):
    # SF7: a symbol lasts 1.024 ms, a block holds 28 bits; 72 bits, 20 fewer without header, 16 more with the crc
    seconds = lora_time_on_air(9, 7, coding_rate=2, preamble=6, explicit_header=explicit_header, crc=crc)
    assert seconds == pytest.approx(1.024e-3 * (6 + 4.25 + 8 + 6 * n_blocks))


def test_time_on_air_of_no_payload_is_the_preamble_and_eight_symbols():
    seconds = lora_time_on_air(0, 12, explicit_header=False, crc=False)
    assert seconds == pytest.approx(32.768e-3 * (8 + 4.25 + 8))


@given(n_bytes=st.integers(0, 250), spreading_factor=st.integers(7, 11))
def test_time_on_air_grows_with_bytes_and_with_spreading(n_bytes, spreading_factor):
    seconds = lora_time_on_air(n_bytes, spreading_factor)
    assert seconds <= lora_time_on_air(n_bytes + 1, spreading_factor)
    assert seconds < lora_time_on_air(n_bytes, spreading_factor + 1)


def test_numbers_out_of_range_are_refused():
    with pytest.raises(ValueError, match="spreading_factor is 13"):
        lora_time_on_air(10, 13)
    with pytest.raises(ValueError, match="coding_rate is 0"):
        lora_time_on_air(10, 7, coding_rate=0)
    with pytest.raises(ValueError, match="bandwidth is 0"):
        lora_time_on_air(10, 7, bandwidth=0)
    with pytest.raises(ValueError, match="n_bytes is -1"):
        profile("cc2420").message_joules(-1)
    with pytest.raises(ValueError, match="distance is nan"):
        profile("cc2420").message_joules(1, math.nan)
