"""Units: readings in one unit as values in another."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from streamfs.gateway.messages.codecs.reading import Codec, Reading, Reported, Series, Several, TimedSeries

_DOUBLE = np.dtype(np.float64)

_SCALES: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "temperature": {"K": (1.0, 0.0), "C": (1.0, 273.15), "F": (5 / 9, 459.67 * 5 / 9)},
    "pressure": {
        "Pa": (1.0, 0.0),
        "hPa": (100.0, 0.0),
        "mbar": (100.0, 0.0),
        "kPa": (1000.0, 0.0),
        "bar": (100_000.0, 0.0),
        "mmHg": (133.322387415, 0.0),
        "inHg": (3386.388666667, 0.0),
        "psi": (6894.757293168, 0.0),
    },
    "share": {"1": (1.0, 0.0), "%": (0.01, 0.0), "permille": (0.001, 0.0), "ppm": (1e-6, 0.0), "ppb": (1e-9, 0.0)},
    "length": {"m": (1.0, 0.0), "mm": (0.001, 0.0), "cm": (0.01, 0.0), "km": (1000.0, 0.0), "in": (0.0254, 0.0)},
    "speed": {"m/s": (1.0, 0.0), "km/h": (1 / 3.6, 0.0), "mph": (0.44704, 0.0), "kn": (1852 / 3600, 0.0)},
    "voltage": {"V": (1.0, 0.0), "mV": (0.001, 0.0)},
    "current": {"A": (1.0, 0.0), "mA": (0.001, 0.0)},
    "power": {"W": (1.0, 0.0), "kW": (1000.0, 0.0), "mW": (0.001, 0.0)},
    "energy": {"J": (1.0, 0.0), "Wh": (3600.0, 0.0), "kWh": (3_600_000.0, 0.0)},
    "time": {"s": (1.0, 0.0), "ms": (0.001, 0.0), "min": (60.0, 0.0), "h": (3600.0, 0.0)},
}
"""By dimension and unit: the factor and the offset that lead to the first unit."""


class Conversion(NamedTuple):
    """A linear function of values."""

    factor: float
    offset: float

    @classmethod
    def parse(cls, text: str) -> "Conversion":
        """Read a conversion, ``F to C``; raise a ValueError that names an unknown unit, or two of unlike kinds.

        Examples
        --------
        >>> Conversion.parse("F to C").of(212.0)
        100.0
        """
        names = [name.strip() for name in text.split(" to ")]
        if len(names) != 2:
            raise ValueError(f"unit is {text!r}, expected two units such as 'F to C'")
        for scales in _SCALES.values():
            if names[0] in scales and names[1] in scales:
                (a, b), (c, d) = scales[names[0]], scales[names[1]]
                return cls(a / c, (b - d) / c)
        known = {name for scales in _SCALES.values() for name in scales}
        odd = next((name for name in names if name not in known), None)
        if odd is None:
            raise ValueError(f"unit is {text!r}, but these are units of unlike quantities")
        raise ValueError(f"unit is {odd!r}, expected one of {', '.join(sorted(known))}")

    def of(self, value: float) -> float:
        """Return a value in the other unit, without digits that rounding has added."""
        return float(f"{self.factor * value + self.offset:.12g}")


class ConvertedCodec:
    """Decode as another codec does, and convert the values of some channels; "" stands for that of the topic."""

    def __init__(self, codec: Codec, conversions: Mapping[str, Conversion]) -> None:
        self.codec = codec
        self.conversions = conversions

    def decode(self, payload: bytes, arrival: float, content_type: str = "") -> Reported | Several:
        """Decode a payload; see `Codec`."""
        decoded = self.codec.decode(payload, arrival, content_type)
        if not isinstance(decoded, Several):
            return self._converted("", decoded)
        parts = tuple((channel, self._converted(channel, part)) for channel, part in decoded.parts)
        return decoded._replace(parts=parts)

    def _converted(self, channel: str, part: Reported) -> Reported:
        conversion = self.conversions.get(channel)
        if conversion is None:
            return part
        if isinstance(part, Reading):
            return part._replace(value=conversion.of(part.value))
        _, values = part.arrays()
        values = conversion.factor * values + conversion.offset
        if isinstance(part, Series):
            return part._replace(kind=_DOUBLE, data=values.tobytes())
        return TimedSeries(part.times, values, part.sequence)
