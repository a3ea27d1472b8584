"""Radio profiles against the figures of their sources."""

import math
from hashlib import sha256

import pytest

from streamfs.costs.energy import LoRaProfile
from streamfs.costs.radio_profiles import PROFILES, profile


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


def test_a_transmission_counts_as_one_whatever_its_size():
    radio = profile("transmissions")
    assert radio.unit == "transmissions"
    assert [radio.message_joules(n_bytes) for n_bytes in (0, 1, 1e6)] == [1.0, 1.0, 1.0]


def test_every_profile_has_its_name_and_source():
    for name, radio in PROFILES.items():
        assert profile(name) is radio
        assert radio.name == name
        assert radio.notes
        assert radio.unit == ("transmissions" if name == "transmissions" else "joules")
        assert isinstance(radio, LoRaProfile) == name.startswith("sx1276_lora")
    assert {"heinzelman2000", "heinzelman2002", "esp32_wifi", "sx1276_lora_sf8"} < set(PROFILES)


def test_an_unknown_name_is_refused_listing_the_known_ones():
    with pytest.raises(ValueError, match=r"'cc1000'.*transmissions.*cc2420"):
        profile("cc1000")


def test_the_profiles_stay_as_they_are_since_fronts_and_search_logs_have_digests_of_them():
    digest = sha256(repr(dict(PROFILES)).encode()).hexdigest()
    assert digest == "362579214453642b979398a42f542103913035c9fd1ddfb42fe024eb09656377"
