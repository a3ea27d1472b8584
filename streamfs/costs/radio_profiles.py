"""Radio profiles by name; a new one is another row of `_ALL`."""

from collections.abc import Mapping
from math import sqrt
from types import MappingProxyType

from streamfs.costs.energy import LoRaProfile, Profile

_BITS = 8  # in a byte
_NANO, _PICO = 1e-9, 1e-12


def _from_data_sheet(
    name: str,
    *,
    volts: float,
    amperes: tuple[float, float, float, float],
    bits_per_second: float,
    framing_bytes: int,
    notes: str,
    wake: float = 0.0,
) -> Profile:
    """Make a profile from a data sheet; `amperes` are those to transmit, receive, idle and sleep."""
    transmit, receive, idle, sleep = (volts * current for current in amperes)
    byte = _BITS / bits_per_second
    return Profile(name, wake, transmit * byte, receive * byte, framing_bytes, idle, sleep, notes=notes)


def _sx1276(spreading_factor: int) -> LoRaProfile:
    return LoRaProfile(
        f"sx1276_lora_sf{spreading_factor}",
        framing_bytes=13,
        idle=3.3 * 1.6e-3,
        sleep=3.3 * 0.2e-6,
        spreading_factor=spreading_factor,
        transmit_power=3.3 * 29e-3,
        receive_power=3.3 * 10.8e-3,
        notes="13 dBm, 125 kHz, coding rate 4/5, preamble of 8 symbols. Receive and idle currents as read;"
        " voltage, transmit and sleep currents and framing from memory.",
    )


_ALL = (
    Profile(
        "transmissions",
        wake=1.0,
        unit="transmissions",
        notes="Gao and Wang (2005) count the relative frequency of transmissions: 1 a message.",
    ),
    Profile(
        "heinzelman2000",
        transmit=50 * _NANO * _BITS,
        receive=50 * _NANO * _BITS,
        amplifier_square=100 * _PICO * _BITS,
        notes="First-order model of Heinzelman et al. (HICSS 2000); all figures from memory.",
    ),
    Profile(
        "heinzelman2002",
        transmit=50 * _NANO * _BITS,
        receive=50 * _NANO * _BITS,
        amplifier_square=10 * _PICO * _BITS,
        amplifier_fourth=0.0013 * _PICO * _BITS,
        crossover=sqrt(10 / 0.0013),
        notes="Heinzelman et al. (IEEE Trans. Wireless Communications 2002); all figures from memory.",
    ),
    _from_data_sheet(
        "cc2420",
        volts=3.0,
        amperes=(17.4e-3, 18.8e-3, 426e-6, 20e-6),
        bits_per_second=250e3,
        framing_bytes=17,
        notes="0 dBm, as in TelosB and MicaZ. Transmit and receive currents as read; idle and sleep currents from"
        " memory.",
    ),
    _from_data_sheet(
        "nrf52840_ble",
        volts=3.0,
        amperes=(4.8e-3, 4.6e-3, 3e-6, 1.5e-6),
        bits_per_second=1e6,
        framing_bytes=14,
        notes="BLE 1M, 0 dBm. Transmit, receive and sleep currents as read; idle current from memory.",
    ),
    _from_data_sheet(
        "nrf52840_802154",
        volts=3.0,
        amperes=(4.8e-3, 4.6e-3, 3e-6, 1.5e-6),
        bits_per_second=250e3,
        framing_bytes=17,
        notes="IEEE 802.15.4, 0 dBm. Transmit, receive and sleep currents as read; idle current from memory.",
    ),
    _from_data_sheet(
        "esp32_wifi",
        volts=3.3,
        amperes=(180e-3, 95e-3, 25e-3, 10e-6),
        bits_per_second=65e6,
        framing_bytes=70,
        wake=0.33,
        notes="802.11n MCS7; all figures from memory. Each message pays for a wake and an association.",
    ),
    *(_sx1276(spreading_factor) for spreading_factor in range(7, 13)),
)

PROFILES: Mapping[str, Profile] = MappingProxyType({each.name: each for each in _ALL})


def profile(name: str) -> Profile:
    """Return the radio profile of a given name.

    Raises
    ------
    ValueError
        If the name is unknown, listing the known ones.
    """
    if name in PROFILES:
        return PROFILES[name]
    from feature_extractors.own_parts import own_part  # noqa: PLC0415 - loads numpy

    found: Profile | None = own_part("streamfs.radios", name)
    if found is None:
        raise ValueError(f"profile is {name!r}, expected one of {', '.join(PROFILES)}")
    return found
