"""A reading that another system has kept."""

from typing import NamedTuple

WORDS = {
    "on": 1.0,
    "off": 0.0,
    "open": 1.0,
    "closed": 0.0,
    "true": 1.0,
    "false": 0.0,
    "home": 1.0,
    "not_home": 0.0,
    "detected": 1.0,
    "clear": 0.0,
}
"""What states are that are words, in small letters; all others are no readings."""


class PastReading(NamedTuple):
    """A reading of a device: which device, seconds since 1970, what was measured, and its value."""

    device: str
    time: float
    quantity: str
    value: float


def value_of(text: object) -> float | None:
    """Return the number that a state is, or stands for; None if it is no reading.

    Examples
    --------
    >>> value_of("21.5"), value_of("ON"), value_of("unavailable"), value_of(True)
    (21.5, 1.0, None, 1.0)
    """
    if isinstance(text, bool | int | float):
        return float(text)
    word = str(text).strip()
    try:
        number = float(word)
    except ValueError:
        return WORDS.get(word.lower())
    return number if abs(number) < float("inf") else None


def device_and_quantity(entity: str, kind: str = "") -> tuple[str, str]:
    """Return the device and the quantity of an entity, by its name and what it is said to measure.

    Examples
    --------
    >>> device_and_quantity("sensor.kitchen_temperature"), device_and_quantity("sensor.desk_2", "humidity")
    (('kitchen', 'temperature'), ('desk_2', 'humidity'))
    """
    name = entity.partition(".")[2] or entity
    if kind:
        return name.removesuffix(f"_{kind}") or name, kind
    device, _, quantity = name.rpartition("_")
    return (device, quantity) if device and not quantity.isdigit() else (name, "value")
