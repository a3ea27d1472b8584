"""Radio profiles against the figures of their sources, and a meter that depends on counts alone."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamfs.costs.energy import PROFILES, EnergyMeter, LoRaProfile, lora_time_on_air, profile

MESSAGES = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 200), st.integers(0, 5)), max_size=30
)


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


def test_time_on_air_of_fewer_bits_than_none_is_the_preamble_and_eight_symbols():
    seconds = lora_time_on_air(0, 12, explicit_header=False, crc=False)
    assert seconds == pytest.approx(32.768e-3 * (8 + 4.25 + 8))


@given(n_bytes=st.integers(0, 250), spreading_factor=st.integers(7, 11))
def test_time_on_air_grows_with_bytes_and_with_spreading(n_bytes, spreading_factor):
    seconds = lora_time_on_air(n_bytes, spreading_factor)
    assert seconds <= lora_time_on_air(n_bytes + 1, spreading_factor)
    assert seconds < lora_time_on_air(n_bytes, spreading_factor + 1)


@pytest.mark.parametrize(
    ("name", "transmit", "receive", "framing_bytes"),
    [
        ("cc2420", 1.67, 1.80, 17),
        ("nrf52840_ble", 0.115, 0.110, 14),
        ("nrf52840_802154", 0.461, 0.442, 17),
        ("esp32_wifi", 0.073, 0.040, 70),
        ("heinzelman2000", 0.40, 0.40, 0),
        ("heinzelman2002", 0.40, 0.40, 0),
    ],
)
def test_microjoules_a_byte(name, transmit, receive, framing_bytes):
    assert profile(name).transmit * 1e6 == pytest.approx(transmit, rel=5e-3)
    assert profile(name).receive * 1e6 == pytest.approx(receive, rel=4e-2)
    assert profile(name).framing_bytes == framing_bytes


@pytest.mark.parametrize(("distance", "microjoules"), [(10, 0.48), (50, 2.40), (100, 8.40)])
def test_first_order_model_pays_for_distance(distance, microjoules):
    assert profile("heinzelman2000").message_joules(1, distance) * 1e6 == pytest.approx(microjoules)


def test_multipath_amplifier_takes_over_at_the_crossover():
    radio = profile("heinzelman2002")
    assert radio.crossover == pytest.approx(87.7, abs=0.01)
    assert radio.message_joules(1, 50) == pytest.approx(8 * (50e-9 + 10e-12 * 50**2))
    assert radio.message_joules(1, 100) == pytest.approx(8 * (50e-9 + 0.0013e-12 * 100**4))
    below, above = (radio.message_joules(1, math.nextafter(radio.crossover, to)) for to in (0, 1e9))
    assert below == pytest.approx(above)


@pytest.mark.parametrize(("spreading_factor", "millijoules"), [(7, 6.88), (9, 23.6), (12, 173)])
def test_lora_message_is_power_times_time_on_air(spreading_factor, millijoules):
    radio = profile(f"sx1276_lora_sf{spreading_factor}")
    assert radio.message_joules(20) * 1e3 == pytest.approx(millijoules, rel=2e-3)
    assert radio.receive_joules(20) / radio.message_joules(20) == pytest.approx(10.8 / 29)


def test_message_pays_for_wake_framing_and_bytes():
    assert profile("cc2420").message_joules(20) == pytest.approx(37 * 3.0 * 17.4e-3 * 8 / 250e3)
    assert profile("cc2420").receive_joules(20) == pytest.approx(37 * 3.0 * 18.8e-3 * 8 / 250e3)
    assert profile("esp32_wifi").message_joules(20) == pytest.approx(0.33, rel=1e-4)


def test_a_transmission_counts_one_whatever_its_size():
    radio = profile("transmissions")
    assert radio.unit == "transmissions"
    assert [radio.message_joules(n_bytes) for n_bytes in (0, 1, 1e6)] == [1.0, 1.0, 1.0]


def test_every_profile_knows_its_name_and_where_it_comes_from():
    for name, radio in PROFILES.items():
        assert profile(name) is radio
        assert radio.name == name
        assert radio.notes
        assert radio.unit == ("transmissions" if name == "transmissions" else "joules")
        assert isinstance(radio, LoRaProfile) == name.startswith("sx1276_lora")
    assert {"heinzelman2000", "heinzelman2002", "esp32_wifi", "sx1276_lora_sf8"} < set(PROFILES)


def test_an_unknown_profile_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'cc1000'.*transmissions.*cc2420"):
        profile("cc1000")


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
    with pytest.raises(ValueError, match="n_messages is -1"):
        EnergyMeter(profile("cc2420")).count("a", 10, -1)


@pytest.mark.parametrize("name", ["transmissions", "cc2420", "sx1276_lora_sf9"])
@given(messages=MESSAGES, seed=st.integers(0, 9))
def test_the_order_of_messages_does_not_matter(name, messages, seed):
    meter, shuffled = EnergyMeter(profile(name)), EnergyMeter(profile(name))
    for message in messages:
        meter.count(*message)
    for index in np.random.default_rng(seed).permutation(len(messages)):
        node, n_bytes, n_messages = messages[index]
        for _ in range(n_messages):
            shuffled.count(node, n_bytes)
        shuffled.count(node, n_bytes, 0)
    assert shuffled.joules == meter.joules
    assert shuffled.nodes == meter.nodes


@given(messages=MESSAGES)
def test_totals_are_those_of_the_nodes(messages):
    meter = EnergyMeter(profile("cc2420"), distance=25.0)
    for message in messages:
        meter.count(*message)
    accounts = meter.nodes.values()
    assert meter.messages == sum(n for _, _, n in messages) == sum(account.messages for account in accounts)
    assert meter.bytes == sum(n * size for _, size, n in messages) == sum(account.bytes for account in accounts)
    assert meter.joules == pytest.approx(sum(account.joules for account in accounts))


def test_the_meter_charges_its_distance():
    meter = EnergyMeter(profile("heinzelman2000"), distance=100.0)
    meter.count("a", 10)
    assert meter.joules == pytest.approx(84e-6)
    assert meter.account("a") == meter.nodes["a"]


def test_a_node_that_never_transmitted_has_an_empty_account():
    meter = EnergyMeter(profile("cc2420"))
    assert meter.account("a") == (0, 0, 0.0)
    assert meter.nodes == {}
