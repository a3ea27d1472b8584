"""Energy of a transmitted message: a linear radio model, and LoRa's time on air.

The figures of actual radios are in `streamfs.costs.radio_profiles`.
"""

from dataclasses import dataclass
from math import ceil, isfinite


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
    """Return the time on air of a LoRa frame of `n_bytes` bytes, including framing, in seconds.

    The bandwidth is in hertz, the preamble in symbols, and a coding rate of 1 to 4 stands for 4/5 to 4/8. Semtech,
    AN1200.13; low data rate optimisation is assumed to be on if a symbol lasts 16 ms or more.
    """
    if not 6 <= spreading_factor <= 12:
        raise ValueError(f"spreading_factor is {spreading_factor}, expected 6 to 12")
    if not 1 <= coding_rate <= 4:
        raise ValueError(f"coding_rate is {coding_rate}, expected 1 to 4")
    if not bandwidth > 0:
        raise ValueError(f"bandwidth is {bandwidth}, expected hertz, more than 0")
    check_bytes(n_bytes)
    symbol = (1 << spreading_factor) / bandwidth
    optimised = symbol >= 16e-3
    bits = 8 * n_bytes - 4 * spreading_factor + 28 + 16 * crc - 20 * (not explicit_header)
    n_blocks = ceil(bits / (4 * (spreading_factor - 2 * optimised)))
    return symbol * (preamble + 4.25 + 8 + max(n_blocks * (coding_rate + 4), 0))


@dataclass(frozen=True)
class Profile:
    """Energy that a radio spends on a message, which travels in one frame.

    A message costs ``wake + (framing_bytes + n_bytes) * (transmit + amplifier)`` joules, where the amplifier
    costs ``amplifier_square * d**2`` a byte below ``crossover`` metres and ``amplifier_fourth * d**4`` from there.

    Parameters
    ----------
    name : str
        The key in `streamfs.costs.radio_profiles.PROFILES`.
    wake : float
        Joules per message, before its first byte.
    transmit, receive : float
        Joules per byte.
    framing_bytes : int
        Bytes that the radio adds to each payload.
    idle, sleep : float
        Watts.
    amplifier_square : float
        Joules per byte and square metre, below the crossover.
    amplifier_fourth : float
        Joules per byte and metre to the fourth power, from the crossover.
    crossover : float
        Metres.
    unit : str
        Unit of a message's cost.
    notes : str
        Sources of the figures.

    Examples
    --------
    >>> from streamfs.costs.radio_profiles import profile
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
        """Return the cost of a message of `n_bytes` bytes of payload to its sender, in the profile's unit.

        The distance to the receiver, in metres, matters to the first-order models only.
        """
        check_bytes(n_bytes)
        if not (isfinite(distance) and distance >= 0):
            raise ValueError(f"distance is {distance}, expected metres, at least 0")
        frame_bytes = n_bytes + self.framing_bytes
        return self.wake + self._transmit_joules(frame_bytes) + frame_bytes * self._amplifier_joules(distance)

    def receive_joules(self, n_bytes: float) -> float:
        """Return the cost to the receiver of a message of `n_bytes` bytes of payload, in joules."""
        check_bytes(n_bytes)
        return self._receive_joules(n_bytes + self.framing_bytes)

    def rest_joules(self, idle: float = 0.0, sleep: float = 0.0) -> float:
        """Return the cost of `idle` seconds of idle listening and `sleep` seconds of sleep, in joules."""
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
    """Energy that a LoRa radio spends on a message: power times time on air, which is not linear in bytes.

    Parameters
    ----------
    spreading_factor : int
        From 6 to 12.
    transmit_power, receive_power : float
        Watts.

    Examples
    --------
    >>> from streamfs.costs.radio_profiles import profile
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


def check_bytes(n_bytes: float) -> None:
    """Refuse a number of bytes that is negative or not finite."""
    if not (isfinite(n_bytes) and n_bytes >= 0):
        raise ValueError(f"n_bytes is {n_bytes}, expected at least 0")
