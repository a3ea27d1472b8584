"""Units, guessed from a column's name and readings."""

import re

RANGES: dict[tuple[str, ...], tuple[tuple[float, float, str], ...]] = {
    ("temperature", "temp", "dewpoint"): ((-60, 60, "°C"), (200, 350, "K"), (-80, 140, "°F")),
    ("humidity", "rh", "moisture"): ((0, 1, "1"), (0, 100.5, "%")),
    ("pressure", "press"): ((800, 1100, "hPa"), (80_000, 110_000, "Pa"), (600, 830, "mmHg")),
    ("co2",): ((200, 40_000, "ppm"),),
    ("light", "illuminance", "lux"): ((0, 200_000, "lx"),),
    ("battery", "soc"): ((1.5, 4.5, "V"), (0, 100, "%"), (1_500, 4_500, "mV")),
    ("voltage", "volt"): ((0, 500, "V"),),
    ("power",): ((0, 20_000, "W"),),
    ("noise", "sound"): ((15, 140, "dB"),),
}
"""Units of quantities by the range that all readings are in, the first that fits."""

_WRITTEN = re.compile(r"[\[(]\s*([^\])]{1,12}?)\s*[\])]\s*$")
_WORDS = re.compile(r"[a-z]+[0-9]?")


def guessed_unit(column: str, low: float, high: float) -> str:
    """Return the unit of a column with readings from `low` to `high`; empty if there is nothing to guess it by.

    It is what is in brackets in the name, or the usual one of a quantity in it with such readings.

    Examples
    --------
    >>> guessed_unit("Temp [°F]", 50.0, 80.0), guessed_unit("a.temperature", 18.0, 24.0)
    ('°F', '°C')
    """
    written = _WRITTEN.search(column)
    if written is not None:
        return written[1]
    words = set(_WORDS.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column).lower()))
    ranges = next((ranges for names, ranges in RANGES.items() if words & set(names)), ())
    return next((unit for least, most, unit in ranges if least <= low and high <= most), "")
