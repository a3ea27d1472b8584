"""SenML packs, record by record: base fields, and the measurements by name."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs.checks import number, shown

_VERSION = 10

SenmlRecord = dict[Any, Any]


class Labels(NamedTuple):
    """Keys of the fields of a record."""

    base_version: Any
    base_name: Any
    base_time: Any
    base_unit: Any
    base_value: Any
    base_sum: Any
    name: Any
    unit: Any
    value: Any
    text: Any
    flag: Any
    sum: Any
    time: Any
    update_time: Any
    data: Any


JSON = Labels("bver", "bn", "bt", "bu", "bv", "bs", "n", "u", "v", "vs", "vb", "s", "t", "ut", "vd")
CBOR = Labels(-1, -2, -3, -4, -5, -6, 0, 1, 2, 3, 4, 5, 6, 7, 8)


class Column(NamedTuple):
    """Measurements of one full name: its channel, the name, times in seconds as in the pack, unchecked values."""

    channel: str
    name: str
    times: list[float]
    values: list[float]


class Pack:
    """The records of a pack so far; `fields` as in `SenmlCodec`; `refused` says what is wrong with some values."""

    def __init__(self, labels: Labels, fields: Mapping[str, str] | None) -> None:
        self.refused: list[PayloadError] = []
        self._labels = labels
        self._fields = fields
        self._plain = frozenset({labels.name, labels.unit, labels.value, labels.time})
        self._base_name, self._base_time, self._base_value = "", 0.0, 0.0
        self._named: dict[str, Column] = {}  # by the name without the base name
        self._columns: dict[str, Column] = {}  # by channel

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns with measurements, in the order of the pack."""
        return tuple(column for column in self._columns.values() if column.times)

    def take(self, record: object) -> None:
        """Take the next record; raise a PayloadError if it cannot be decoded."""
        if type(record) is not dict:
            raise PayloadError(f"record is {shown(record)}, expected an object")
        labels = self._labels
        is_plain = self._plain.issuperset(record)
        if not is_plain:
            self._apply_bases(record)
            if record.keys() <= set(labels[: labels.index(labels.name)]):
                return  # nothing is measured here
        name = record.get(labels.name, "")
        if type(name) is not str:
            raise PayloadError(f"name is {shown(name)}, expected text")
        column = self._named.get(name) or self._column(name)
        if column is None:
            return
        time, value = record.get(labels.time, 0.0), record.get(labels.value)
        time = time if type(time) is float else _number("time", time)
        try:
            value = self._base_value + value if is_plain and type(value) is float else self._value(record)
        except PayloadError as error:
            self.refused.append(error)
            return
        column.times.append(self._base_time + time)
        column.values.append(value)

    def _apply_bases(self, record: SenmlRecord) -> None:
        """Apply the base fields of a record to it and the following ones."""
        labels = self._labels
        unknown = next((key for key in record if type(key) is str and key.endswith("_")), None)
        if unknown is not None:
            raise PayloadError(f"record has field {shown(unknown)}, which must be understood but is unknown")
        version = record.get(labels.base_version, _VERSION)
        if type(version) is not int or not 0 < version <= _VERSION:
            raise PayloadError(f"version is {shown(version)}, expected 1 to {_VERSION}")
        name = record.get(labels.base_name, self._base_name)
        if type(name) is not str:
            raise PayloadError(f"base name is {shown(name)}, expected text")
        if name != self._base_name:
            self._base_name = name
            self._named.clear()
        self._base_time = _number("base time", record.get(labels.base_time, self._base_time))
        self._base_value = _number("base value", record.get(labels.base_value, self._base_value))

    def _column(self, own_name: str) -> Column | None:
        """Return the column of a name; None if it is not wanted."""
        name = self._base_name + own_name
        if self._fields is None:
            channel: str | None = _last_part(name)
            if not channel:
                raise PayloadError(f"name is {shown(name)}, expected a channel after its last slash or colon")
        else:
            channel = self._fields.get(name, self._fields.get(own_name))
        if channel is None:
            return None
        column = self._columns.setdefault(channel, Column(channel, name, [], []))
        if column.name != name:
            raise PayloadError(f"names {shown(column.name)} and {shown(name)} are one channel, expected one name")
        self._named[own_name] = column
        return column

    def _value(self, record: SenmlRecord) -> float:
        """Return the number of a record, or of its flag."""
        labels = self._labels
        held = [label for label in (labels.value, labels.flag, labels.text, labels.data) if label in record]
        if held == [labels.value]:
            return self._base_value + _number("value", record[labels.value])
        if held == [labels.flag] and type(record[labels.flag]) is bool:
            return float(record[labels.flag])
        if len(held) == 1:
            what = {labels.text: "text", labels.data: "data", labels.flag: "an invalid flag"}[held[0]]
        elif held:
            what = f"{len(held)} values"
        else:
            what = "only a sum" if labels.sum in record else "no value"
        raise PayloadError(f"record {shown(record)} has {what}, expected a number, true or false", "number")


def _number(name: str, value: object) -> float:
    """Return a finite number, neither true nor false."""
    if isinstance(value, bool):
        raise PayloadError(f"{name} is {value}, expected a number", "number")
    return number(name, value)


def _last_part(name: str) -> str:
    """Return the part of a name after the last slash or colon, ignoring those of a report policy after an @."""
    column, at, policy = name.partition("@")
    return column[max(column.rfind("/"), column.rfind(":")) + 1 :] + at + policy
