"""Which names look like those of a quantity: ``TempC_SHT`` is a temperature, ``temperature_offset`` is none."""

import re

_WORDS = {
    "temperature": ("temp", "tempc", "tmp", "atmp", "tc", "t"),
    "humidity": ("hum", "rh", "rhum"),
    "light": ("illuminance", "lux", "illum", "als"),
    "illuminance": ("light", "lux", "illum", "als"),
    "pressure": ("press", "barometer"),
    "co2": ("carbondioxide", "rco2", "eco2"),
    "power": ("apower", "watt", "watts"),
    "occupancy": ("motion", "presence", "pir"),
    "contact": ("door", "window", "reed"),
}  # other words for a quantity

_OF_SETTINGS = frozenset(
    {
        "calibration",
        "setpoint",
        "offset",
        "threshold",
        "unit",
        "units",
        "target",
        "min",
        "max",
        "alarm",
        "interval",
    }
)  # words of names that are no measurements, whatever else they say


def is_like(name: str, quantity: str) -> bool:
    """Return whether a name has a word for a quantity.

    Examples
    --------
    >>> is_like("TempC_SHT", "temperature"), is_like("template", "temperature")
    (True, False)
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name).lower()
    words = {*re.findall(r"[a-z]+", spaced), *re.findall(r"[a-z]+[0-9]+", spaced)}  # co2 is one, too
    known = {quantity.lower(), *_WORDS.get(quantity.lower(), ())}
    return not known.isdisjoint(words) and _OF_SETTINGS.isdisjoint(words)
