"""Units: readings in one unit as values in another."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs.checks import shown
from streamfs.gateway.messages.codecs.paths import Paths, load_json
from streamfs.gateway.messages.codecs.reading import (
    Codec,
    Reading,
    Reported,
    Series,
    Several,
    TimedSeries,
    several,
)

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

KNOWN = frozenset(name for scales in _SCALES.values() for name in scales)
"""Units that can be converted."""


class Conversion(NamedTuple):
    """A linear function of values."""

    factor: float
    offset: float

    @classmethod
    def between(cls, unit: str, to: str) -> Self:
        """Return the conversion from a unit to another; a ValueError names an unknown one, or two of unlike kinds.

        Examples
        --------
        >>> Conversion.between("F", "C").of(212.0)
        100.0
        """
        unit, to = unit.removeprefix("°"), to.removeprefix("°")
        for scales in _SCALES.values():
            if unit in scales and to in scales:
                (a, b), (c, d) = scales[unit], scales[to]
                return cls(a / c, (b - d) / c)
        odd = next((name for name in (unit, to) if name not in KNOWN), None)
        if odd is None:
            raise ValueError(f"unit is '{unit} to {to}', but these are units of unlike quantities")
        raise ValueError(f"unit is {odd!r}, expected one of {', '.join(sorted(KNOWN))}")

    def of(self, value: float) -> float:
        """Return a value in the other unit, without digits that rounding has added."""
        return float(f"{self.factor * value + self.offset:.12g}")


class StatedUnit(NamedTuple):
    """A unit that a JSON payload states at a path; what states none is in the unit wanted."""

    path: str
    to: str

    def conversion(self, document: object) -> Conversion | None:
        """Return how to convert values of a payload; None if they need not be. A PayloadError names the unit."""
        found = Paths([self.path]).found(document) if isinstance(document, dict) else {}
        unit = found.get(self.path)
        if unit is None or str(unit).removeprefix("°") == self.to.removeprefix("°"):
            return None
        try:
            return Conversion.between(str(unit), self.to)
        except ValueError as error:
            raise PayloadError(f"{self.path} is {shown(unit)}: {error}") from error


def conversion_of(text: str) -> Conversion | StatedUnit:
    """Read a conversion, ``F to C``, or ``{TempUnit} to C`` for the unit that payloads state at a path.

    A ValueError names an unknown unit, or two of unlike kinds.
    """
    names = [name.strip() for name in text.split(" to ")]
    if len(names) != 2:
        raise ValueError(f"unit is {text!r}, expected two units such as 'F to C'")
    unit, to = names
    if not (unit.startswith("{") and unit.endswith("}")):
        return Conversion.between(unit, to)
    Conversion.between(to, to)
    Paths([unit[1:-1]])
    return StatedUnit(unit[1:-1], to)


class ConvertedCodec:
    """Decode as another codec does, and convert the values of some channels; "" stands for that of the topic."""

    def __init__(self, codec: Codec, conversions: Mapping[str, Conversion | StatedUnit]) -> None:
        self.codec = codec
        self.conversions = conversions
        self._is_stated = any(isinstance(each, StatedUnit) for each in conversions.values())

    def decode(self, payload: bytes, arrival: float, content_type: str = "") -> Reported | Several:
        """Decode a payload; see `Codec`."""
        decoded = self.codec.decode(payload, arrival, content_type)
        document = load_json(payload) if self._is_stated else None
        if not isinstance(decoded, Several):
            return self._converted("", decoded, document)
        parts, refused = [], [] if decoded.refused is None else [decoded.refused]
        for channel, part in decoded.parts:
            try:
                parts.append((channel, self._converted(channel, part, document)))
            except PayloadError as error:
                refused.append(error)
        return several(parts, refused, decoded.spreading_factor, decoded.number)

    def _converted(self, channel: str, part: Reported, document: Any) -> Reported:
        conversion = self.conversions.get(channel)
        if isinstance(conversion, StatedUnit):
            conversion = conversion.conversion(document)
        if conversion is None:
            return part
        if isinstance(part, Reading):
            return part._replace(value=conversion.of(part.value))
        _, values = part.arrays()
        values = conversion.factor * values + conversion.offset
        if isinstance(part, Series):
            return part._replace(kind=_DOUBLE, data=values.tobytes())
        return TimedSeries(part.times, values, part.sequence)
