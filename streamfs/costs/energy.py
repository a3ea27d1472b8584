"""What a transmitted message costs: radio profiles, and the meter that counts messages by node."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, fsum, isfinite, sqrt
from types import MappingProxyType
from typing import NamedTuple

_BITS = 8  # in a byte
_NANO, _PICO = 1e-9, 1e-12


def lora_time_on_air(
    n_bytes: float,
    spreading_factor: int,
    bandwidth: float = 125e3,
    coding_rate: int = 1,
    preamble: int = 8,
    *,
    explicit_header: bool = True,
    crc: bool = True,
) -> float:
    """Return the seconds that a LoRa frame occupies the air.

    Parameters
    ----------
    n_bytes : float
        Bytes of the frame, framing included.
    spreading_factor : int
        From 6 to 12.
    bandwidth : float
        In hertz.
    coding_rate : int
        1 for 4/5 up to 4 for 4/8.
    preamble : int
        Symbols of the preamble.
    explicit_header : bool
        Whether the frame carries its header.
    crc : bool
        Whether the frame carries a checksum.

    Returns
    -------
    float
        Seconds.

    Raises
    ------
    ValueError
        If a number is out of its range.

    References
    ----------
    Semtech, AN1200.13, LoRa Modem Designer's Guide. Low data rate optimisation is taken to be on where a symbol
    lasts 16 ms or more.

    Examples
    --------
    >>> round(lora_time_on_air(33, spreading_factor=7), 4)
    0.0719
    """
    if not 6 <= spreading_factor <= 12:
        raise ValueError(f"spreading_factor is {spreading_factor}, expected 6 to 12")
    if not 1 <= coding_rate <= 4:
        raise ValueError(f"coding_rate is {coding_rate}, expected 1 to 4")
    if not bandwidth > 0:
        raise ValueError(f"bandwidth is {bandwidth}, expected hertz, more than 0")
    _check_bytes(n_bytes)
    symbol = (1 << spreading_factor) / bandwidth
    optimised = symbol >= 16e-3
    bits = 8 * n_bytes - 4 * spreading_factor + 28 + 16 * crc - 20 * (not explicit_header)
    n_blocks = ceil(bits / (4 * (spreading_factor - 2 * optimised)))
    return symbol * (preamble + 4.25 + 8 + max(n_blocks * (coding_rate + 4), 0))


@dataclass(frozen=True)
class Profile:
    """What a radio spends on a message, which travels in one frame.

    A message costs ``wake + (framing_bytes + n_bytes) * (transmit + amplifier)`` joules, where the amplifier
    costs ``amplifier_square * d**2`` a byte below ``crossover`` metres and ``amplifier_fourth * d**4`` from there.

    Parameters
    ----------
    name : str
        The key in `PROFILES`.
    wake : float
        Joules a message, before its first byte.
    transmit, receive : float
        Joules a byte.
    framing_bytes : int
        Bytes that the radio adds to each payload.
    idle, sleep : float
        Watts.
    amplifier_square : float
        Joules a byte and square metre, up to the crossover.
    amplifier_fourth : float
        Joules a byte and metre to the fourth power, beyond the crossover.
    crossover : float
        Metres.
    unit : str
        What a message is counted in.
    notes : str
        Where the figures come from.

    Examples
    --------
    >>> profile("cc2420").message_joules(20)
    6.18048e-05
    >>> profile("transmissions").message_joules(20)
    1.0
    """

    name: str
    wake: float = 0.0
    transmit: float = 0.0
    receive: float = 0.0
    framing_bytes: int = 0
    idle: float = 0.0
    sleep: float = 0.0
    amplifier_square: float = 0.0
    amplifier_fourth: float = 0.0
    crossover: float = float("inf")
    unit: str = "joules"
    notes: str = ""

    def message_joules(self, n_bytes: float, distance: float = 10.0) -> float:
        """Return what one message costs its sender.

        Parameters
        ----------
        n_bytes : float
            Bytes of payload.
        distance : float
            Metres to the receiver; only the first-order models depend on it.

        Returns
        -------
        float
            Joules, or whatever `unit` says.

        Raises
        ------
        ValueError
            If the bytes or the distance are negative or not finite.
        """
        _check_bytes(n_bytes)
        if not (isfinite(distance) and distance >= 0):
            raise ValueError(f"distance is {distance}, expected metres, at least 0")
        frame_bytes = n_bytes + self.framing_bytes
        return self.wake + self._transmit_joules(frame_bytes) + frame_bytes * self._amplifier_joules(distance)

    def receive_joules(self, n_bytes: float) -> float:
        """Return what one message of n_bytes of payload costs its receiver, in joules."""
        _check_bytes(n_bytes)
        return self._receive_joules(n_bytes + self.framing_bytes)

    def rest_joules(self, idle: float = 0.0, sleep: float = 0.0) -> float:
        """Return what so many seconds of listening idly and of sleeping cost, in joules."""
        return idle * self.idle + sleep * self.sleep

    def _transmit_joules(self, frame_bytes: float) -> float:
        return frame_bytes * self.transmit

    def _receive_joules(self, frame_bytes: float) -> float:
        return frame_bytes * self.receive

    def _amplifier_joules(self, distance: float) -> float:
        if distance < self.crossover:
            return self.amplifier_square * distance**2
        return self.amplifier_fourth * distance**4


@dataclass(frozen=True)
class LoRaProfile(Profile):
    """What a LoRa radio spends on a message: power times time on air, which is not linear in bytes.

    Parameters
    ----------
    spreading_factor : int
        From 6 to 12.
    transmit_power, receive_power : float
        Watts.

    Examples
    --------
    >>> round(profile("sx1276_lora_sf7").message_joules(20), 5)
    0.00688
    """

    spreading_factor: int = 7
    transmit_power: float = 0.0
    receive_power: float = 0.0

    def _transmit_joules(self, frame_bytes: float) -> float:
        return self.transmit_power * lora_time_on_air(frame_bytes, self.spreading_factor)

    def _receive_joules(self, frame_bytes: float) -> float:
        return self.receive_power * lora_time_on_air(frame_bytes, self.spreading_factor)


class Account(NamedTuple):
    """What a node has transmitted: messages, bytes of payload, and joules (or the profile's unit)."""

    messages: int
    bytes: int
    joules: float


class EnergyMeter:
    """Counts transmitted messages by node and payload size, and says what they cost.

    Joules are computed from the counts when asked, so they depend neither on the order of the messages nor on
    rounding along the way.

    Parameters
    ----------
    profile : Profile
        The nodes' radio.
    distance : float
        Metres from the nodes to their receiver.

    Examples
    --------
    >>> meter = EnergyMeter(profile("transmissions"))
    >>> meter.count("mote-1", n_bytes=20, n_messages=3)
    >>> meter.nodes
    {'mote-1': Account(messages=3, bytes=60, joules=3.0)}
    """

    def __init__(self, profile: Profile, distance: float = 10.0) -> None:
        self.profile = profile
        self.distance = distance
        self._sizes: dict[str, Counter[int]] = {}

    def count(self, node: str, n_bytes: int, n_messages: int = 1) -> None:
        """Add n_messages messages, each with n_bytes bytes of payload, to a node's account.

        Raises
        ------
        ValueError
            If either number is negative.
        """
        _check_bytes(n_bytes)
        if n_messages < 0:
            raise ValueError(f"n_messages is {n_messages}, expected at least 0")
        self._sizes.setdefault(node, Counter())[n_bytes] += n_messages

    @property
    def messages(self) -> int:
        """Messages of all nodes."""
        return sum(sizes.total() for sizes in self._sizes.values())

    @property
    def bytes(self) -> int:
        """Bytes of payload of all nodes."""
        return sum(n_bytes * n for sizes in self._sizes.values() for n_bytes, n in sizes.items())

    @property
    def joules(self) -> float:
        """Joules of all nodes, or whatever the profile's unit is."""
        total = Counter[int]()
        for sizes in self._sizes.values():
            total.update(sizes)
        return self._joules(total)

    @property
    def nodes(self) -> dict[str, Account]:
        """Each node's account."""
        return {node: self.account(node) for node in self._sizes}

    def account(self, node: str) -> Account:
        """Return one node's account; empty for a node that has not transmitted."""
        sizes = self._sizes.get(node, Counter[int]())
        return Account(sizes.total(), sum(n_bytes * n for n_bytes, n in sizes.items()), self._joules(sizes))

    def message_joules(self, n_bytes: int) -> float:
        """Return what one message with n_bytes of payload costs at the meter's distance."""
        return self.profile.message_joules(n_bytes, self.distance)

    def _joules(self, sizes: Counter[int]) -> float:
        return fsum(n * self.message_joules(n_bytes) for n_bytes, n in sizes.items())


def profile(name: str) -> Profile:
    """Return the profile of that name.

    Raises
    ------
    ValueError
        If there is none, naming those that there are.
    """
    if name not in PROFILES:
        raise ValueError(f"profile is {name!r}, expected one of {', '.join(PROFILES)}")
    return PROFILES[name]


def _check_bytes(n_bytes: float) -> None:
    if not (isfinite(n_bytes) and n_bytes >= 0):
        raise ValueError(f"n_bytes is {n_bytes}, expected at least 0")


def _radio(
    name: str,
    *,
    volts: float,
    amperes: tuple[float, float, float, float],
    bits_per_second: float,
    framing_bytes: int,
    notes: str,
    wake: float = 0.0,
) -> Profile:
    """Make a profile from a data sheet: amperes to transmit, receive, idle and sleep."""
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
    _radio(
        "cc2420",
        volts=3.0,
        amperes=(17.4e-3, 18.8e-3, 426e-6, 20e-6),
        bits_per_second=250e3,
        framing_bytes=17,
        notes="0 dBm, as in TelosB and MicaZ. Transmit and receive currents as read; idle and sleep currents from"
        " memory.",
    ),
    _radio(
        "nrf52840_ble",
        volts=3.0,
        amperes=(4.8e-3, 4.6e-3, 3e-6, 1.5e-6),
        bits_per_second=1e6,
        framing_bytes=14,
        notes="BLE 1M, 0 dBm. Transmit, receive and sleep currents as read; idle current from memory.",
    ),
    _radio(
        "nrf52840_802154",
        volts=3.0,
        amperes=(4.8e-3, 4.6e-3, 3e-6, 1.5e-6),
        bits_per_second=250e3,
        framing_bytes=17,
        notes="IEEE 802.15.4, 0 dBm. Transmit, receive and sleep currents as read; idle current from memory.",
    ),
    _radio(
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
