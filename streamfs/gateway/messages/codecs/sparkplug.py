"""Sparkplug B payloads: metrics by name, or by the alias that a birth has given them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from streamfs.errors import MissingExtraError, PayloadError
from streamfs.gateway.messages.codecs.checks import LATEST, number, shown
from streamfs.gateway.messages.codecs.paths import checked_fields
from streamfs.gateway.messages.codecs.reading import Reading, Several, several
from streamfs.gateway.messages.codecs.words import Words

Aliases = dict[int | str, str | int]
"""What births have said of a device's metrics: names by aliases, and types that have a sign by names."""

_SIGNED = {1: 8, 2: 16, 3: 32, 4: 64}  # bits of whole numbers of these types
_WHOLE = {"int_value": 32, "long_value": 64}  # bits of the fields in which they are written
_LAST_SINGLE = 15  # types beyond are data sets, bytes, templates and arrays
DOUBLE, BOOLEAN = 10, 11
"""Types of metrics."""

_WRITTEN: Mapping[int | None, tuple[str, type, int]] = {
    **dict.fromkeys((1, 2, 3, 5, 6, 7), ("int_value", int, 32)),
    **dict.fromkeys((4, 8), ("long_value", int, 64)),
    9: ("float_value", float, 0),
    DOUBLE: ("double_value", float, 0),
    BOOLEAN: ("boolean_value", bool, 0),
}
"""Field, type and bits, 0 if it is not whole, of the value that metrics of these types have (6.4.16)."""

MAX_ALIASES = 65_536
"""Aliases and types of a device's metrics that are remembered, apart from those of its last message.

If there are more, all are forgotten until the device's next birth.
"""

_QUALITY, _GOOD = b"Quality", 192
"""A property of metrics, and what it is while the value holds (6.4.18); 0 is bad, 500 stale."""

_VALUES = ("int_value", "long_value", "float_value", "double_value", "boolean_value", "string_value")
_FIELDS = (
    ("name", 1, "STRING"),
    ("alias", 2, "UINT64"),
    ("timestamp", 3, "UINT64"),
    ("datatype", 4, "UINT32"),
    ("is_null", 7, "BOOL"),
    ("int_value", 10, "UINT32"),
    ("long_value", 11, "UINT64"),
    ("float_value", 12, "FLOAT"),
    ("double_value", 13, "DOUBLE"),
    ("boolean_value", 14, "BOOL"),
    ("string_value", 15, "STRING"),
)


class SparkplugCodec:
    """Decode payloads of Sparkplug B (3.0, chapter 6): numbers, true and false of metrics.

    `fields` has the names of metrics and their channels; without it, a metric's name is its channel. A metric that
    is null, or bad or stale by its property `Quality`, reports nothing. Times are milliseconds. Data may name a
    metric by its alias alone, and without its type, which are known from the birth before.
    """

    def __init__(self, fields: Mapping[str, str] | None = None, words: Words | None = None) -> None:
        self._fields = None if fields is None else checked_fields(fields)
        self._as_number = number if words is None else words.number
        _schema()  # fails now rather than at the first payload

    def decode(self, payload: bytes, arrival: float = 0.0, content_type: str = "") -> Several:  # noqa: ARG002
        """Decode a payload; see `Codec`."""
        return self.decode_named(payload, {})

    def decode_named(self, payload: bytes, aliases: Aliases) -> Several:
        """Decode a payload, given the aliases of its device, to which a birth adds."""
        message = _parsed(payload)
        if len(aliases) > MAX_ALIASES:  # births and data may name what they like
            aliases.clear()
        parts, refused = [], []
        for channel, name, metric in self._wanted(message, aliases):
            try:
                said = _value(metric, aliases.get(name))
                if said is None:
                    raise PayloadError(f"{name} has datatype {metric.datatype}, expected a number", "number")  # noqa: TRY301
                value = self._as_number(name, said)
                parts.append((channel, Reading(_time(name, metric, message), value, None)))
            except PayloadError as error:
                refused.append(error)
        return several(parts, refused)

    def _wanted(self, message: Any, aliases: Aliases) -> Iterator[tuple[str, str, Any]]:
        """Yield channel, name and metric of what is to be read."""
        for metric in message.metrics:
            if metric.name and metric.HasField("alias"):
                aliases[metric.alias] = metric.name
            name = metric.name or str(aliases.get(metric.alias, ""))
            is_text = self._fields is None and metric.HasField("string_value")
            channel = name if self._fields is None else self._fields.get(name)
            if not (name and channel):
                continue
            if metric.datatype in _SIGNED:
                aliases[name] = metric.datatype
            elif metric.datatype:
                aliases.pop(name, None)
            is_other = metric.datatype > _LAST_SINGLE and self._fields is not None
            is_said = _value(metric) is not None or is_other
            if is_said and not is_text and not metric.is_null and _holds(metric):
                yield channel, name, metric


class NamedCodec:
    """A codec that adds to the aliases of one device, which `aliases` returns each time that it is read."""

    def __init__(self, codec: SparkplugCodec, aliases: Callable[[], Aliases]) -> None:
        self._codec = codec
        self._aliases = aliases

    def decode(self, payload: bytes, arrival: float = 0.0, content_type: str = "") -> Several:  # noqa: ARG002
        """Decode a payload; see `Codec`."""
        return self._codec.decode_named(payload, self._aliases())


class Metric(NamedTuple):
    """A metric: its name, "" if it has an alias alone; alias and type, None without; value, None if null."""

    name: str
    alias: int | None
    datatype: int | None
    value: Any


def read_metrics(payload: bytes) -> tuple[int | None, list[Metric]]:
    """Return sequence number, None without, and the metrics of a payload; raise a PayloadError if it is none."""
    message = _parsed(payload)
    metrics = [
        Metric(
            metric.name,
            metric.alias if metric.HasField("alias") else None,
            metric.datatype or None,
            None if metric.is_null else _value(metric),
        )
        for metric in message.metrics
    ]
    return message.seq if message.HasField("seq") else None, metrics


def encode_metrics(metrics: Iterable[Metric], now: float) -> bytes:
    """Return a payload that writes metrics at a time, in seconds since 1970; those with an alias by that alone.

    Raise a ValueError for a type that is neither a number nor a Boolean.

    Examples
    --------
    >>> read_metrics(encode_metrics([Metric("Node Control/Rebirth", None, 11, True)], 0.0))
    (None, [Metric(name='Node Control/Rebirth', alias=None, datatype=11, value=True)])
    """
    message_class, _ = _schema()
    message = message_class()
    message.timestamp = int(1000 * now)
    for name, alias, datatype, value in metrics:
        if datatype not in _WRITTEN:
            raise ValueError(f"metric {name!r} has datatype {datatype}, expected a number or a Boolean")
        field, kind, bits = _WRITTEN[datatype]
        added = message.metrics.add(timestamp=int(1000 * now), datatype=datatype)
        if alias is None:
            added.name = name
        else:
            added.alias = alias
        setattr(added, field, kind(value) % (1 << bits) if bits else kind(value))
    return bytes(message.SerializeToString())


def _parsed(payload: bytes) -> Any:
    """Parse a payload; raise a PayloadError if it is none, or has a text that is not UTF-8."""
    message_class, failure = _schema()
    message = message_class()
    try:
        message.ParseFromString(payload)
        is_whole = not any(
            isinstance(text, bytes) for each in message.metrics for text in (each.name, each.string_value)
        )
    except (failure, UnicodeDecodeError):
        is_whole = False
    if not is_whole:
        raise PayloadError(f"payload is {shown(payload)}, expected a payload of Sparkplug B", "syntax")
    return message


def _value(metric: Any, datatype: Any = None) -> Any:
    """Return the value of a metric of a type, if it does not have its own; None if it has none of those read."""
    for field in _VALUES:
        if metric.HasField(field):
            value, bits = getattr(metric, field), _SIGNED.get(metric.datatype or datatype)
            return value if bits is None or field not in _WHOLE else _signed(value, bits, _WHOLE[field])
    return None


def _holds(metric: Any) -> bool:
    """Return whether no property says that the value does not hold."""
    properties = zip(metric.properties.keys, metric.properties.values, strict=False)
    return all(said.int_value == _GOOD for name, said in properties if name == _QUALITY and not said.is_null)


def _signed(value: int, bits: int, field_bits: int) -> int:
    """Return a whole number of some bits: writers give its two's complement that width, or that of the field."""
    for width in (field_bits, bits):
        if 1 << (width - 1) <= value < 1 << width:
            return value - (1 << width)
    return value


def _time(name: str, metric: Any, message: Any) -> float | None:
    stamp = metric.timestamp or message.timestamp
    if stamp >= LATEST * 1000:
        raise PayloadError(
            f"{name} has timestamp {stamp}, expected milliseconds, less than {LATEST * 1000:g}", "time"
        )
    return stamp / 1000 if stamp else None


@cache
def _schema() -> tuple[Any, type[Exception]]:
    """Return the class of payloads, and the error of those that are none."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("protobuf", "sparkplug") from error
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="sparkplug_b.proto", package="sparkplug", syntax="proto2")
    payload, metric = file.message_type.add(name="Payload"), file.message_type.add(name="Metric")
    payload.field.add(name="timestamp", number=1, label=1, type=kinds.TYPE_UINT64)
    payload.field.add(name="seq", number=3, label=1, type=kinds.TYPE_UINT64)
    payload.field.add(name="metrics", number=2, label=3, type=kinds.TYPE_MESSAGE, type_name=".sparkplug.Metric")
    for name, place, kind in _FIELDS:
        metric.field.add(name=name, number=place, label=1, type=getattr(kinds, f"TYPE_{kind}"))
    set_of, property_ = file.message_type.add(name="PropertySet"), file.message_type.add(name="PropertyValue")
    set_of.field.add(name="keys", number=1, label=3, type=kinds.TYPE_BYTES)
    set_of.field.add(
        name="values", number=2, label=3, type=kinds.TYPE_MESSAGE, type_name=".sparkplug.PropertyValue"
    )
    property_.field.add(name="is_null", number=2, label=1, type=kinds.TYPE_BOOL)
    property_.field.add(name="int_value", number=3, label=1, type=kinds.TYPE_UINT32)
    metric.field.add(
        name="properties", number=9, label=1, type=kinds.TYPE_MESSAGE, type_name=".sparkplug.PropertySet"
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName("sparkplug.Payload")
    return message_factory.GetMessageClass(descriptor), message.DecodeError
