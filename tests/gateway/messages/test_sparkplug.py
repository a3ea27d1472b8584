"""Sparkplug B: payloads written byte by byte, read by the codec, and the aliases that births give."""

import struct

import pytest
from helpers.procedures import channels_procedure
from helpers.records import Models, content, new_core, raw, restored

from streamfs.errors import PayloadError
from streamfs.gateway.core import intake
from streamfs.gateway.core.bindings import Bindings, Route
from streamfs.gateway.messages.codecs import Reading, codec_for, sparkplug
from streamfs.gateway.messages.codecs.sparkplug import NamedCodec

NOON = 1_795_365_000_000  # milliseconds


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(place, value):
    """A field of a message: a whole number, a float (32 bits), or text and messages."""
    if isinstance(value, int):
        return varint(place << 3) + varint(value)
    if isinstance(value, float):
        return varint(place << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(place << 3 | 2) + varint(len(data)) + data


def metric(name=None, alias=None, **places):
    """A metric; ``f12=1.5`` is field 12."""
    named = {1: name, 2: alias, **{int(place[1:]): value for place, value in places.items()}}
    return field(2, b"".join(field(place, value) for place, value in named.items() if value is not None))


def payload(*metrics, seq=0):
    return field(1, NOON) + b"".join(metrics) + field(3, seq)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"f12": 21.5, "f4": 9}, 21.5),
        ({"f10": 7, "f4": 3}, 7.0),
        ({"f10": 2**32 - 5, "f4": 3}, -5.0),
        ({"f10": 2**32 - 5, "f4": 2}, -5.0),
        ({"f10": 2**16 - 5, "f4": 2}, -5.0),
        ({"f10": 2**32 - 5, "f4": 7}, 2.0**32 - 5),
        ({"f11": 2**64 - 1, "f4": 4}, -1.0),
        ({"f14": 1, "f4": 11}, 1.0),
    ],
)
def test_values_of_all_types_are_read(values, expected):
    (part,) = codec_for("sparkplug").decode(payload(metric("temperature", **values)), 0.0).parts
    assert part == ("temperature", Reading(NOON / 1000, expected, None))


@pytest.mark.parametrize("places", [{"name": b"\x80emperature", "f12": 1.5}, {"name": "t", "f15": b"\xff"}])
def test_a_text_that_is_not_utf8_is_refused(places):
    with pytest.raises(PayloadError, match=r"payload is .*, expected a payload of Sparkplug B"):
        codec_for("sparkplug").decode(payload(metric(**places)), 0.0)


def test_a_metric_has_its_own_time_or_that_of_its_payload():
    (part,) = codec_for("sparkplug").decode(payload(metric("x", f3=NOON + 500, f12=1.0)), 0.0).parts
    assert part[1].time == NOON / 1000 + 0.5


@pytest.mark.parametrize(("quality", "n_read"), [(192, 1), (0, 0), (500, 0)])
def test_a_value_that_is_bad_or_stale_by_its_quality_reports_nothing(quality, n_read):
    units, said = field(1, 12) + field(8, "Cel"), field(1, 3) + field(3, quality)
    properties = field(1, "engUnit") + field(1, "Quality") + field(2, units) + field(2, said)
    parts = codec_for("sparkplug").decode(payload(metric("temperature", f12=21.5, f9=properties)), 0.0).parts
    assert len(parts) == n_read


def test_what_is_null_or_text_reports_nothing_and_unknown_fields_are_left_out():
    said = payload(
        metric("a", f7=1), metric("b", f15="on"), metric("c", f12=1.0, f9=b"\x0a\x00"), metric(None, 5, f12=1.0)
    )
    assert [name for name, _ in codec_for("sparkplug").decode(said, 0.0).parts] == ["c"]
    (part,) = codec_for("sparkplug", fields={"b": "x"}, values={"on": 1}).decode(said, 0.0).parts
    assert part[1].value == 1.0


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (b"\xff\xff", "expected a payload of Sparkplug B"),
        (payload(metric("b", f15="on")), "b is 'on', expected a number"),
        (payload(metric("b", f4=16, f17=b"\x08\x01")), "b has datatype 16, expected a number"),
        (payload(metric("b", f12=1.0, f3=10**15)), "b has timestamp"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(said, error):
    with pytest.raises(PayloadError, match=error):
        codec_for("sparkplug", fields={"b": "x"}).decode(said, 0.0)


def test_data_without_types_have_those_of_the_birth():
    aliases = {}
    codec = NamedCodec(codec_for("sparkplug"), lambda: aliases)
    codec.decode(payload(metric("level", 7, f4=3, f10=1), metric("count", 8, f4=7, f10=1)))
    said = payload(metric(None, 7, f10=2**32 - 5), metric("level", f10=2**32 - 6), metric(None, 8, f10=2**32 - 5))
    assert [part.value for _, part in codec.decode(said).parts] == [-5.0, -6.0, 2.0**32 - 5]


def test_aliases_of_a_birth_name_the_data_that_follow_also_after_a_restart():
    models = Models(channels_procedure("temperature@delta:0.5"))
    options = {"fields": {"Inputs/T1": "temperature"}, "units": {"temperature": "F to C"}}
    routes = [Route.of(f"spBv1.0/+/{kind}/+/{{node}}", "sparkplug", **options) for kind in ("DBIRTH", "DDATA")]
    core, _ = new_core(models, Bindings.single(models.first.channels, routes=tuple(routes)))
    data = payload(metric(None, 7, f12=22.0, f3=NOON + 1000), seq=1)
    core.take([raw("spBv1.0/g/DDATA/edge/d1", data, 1.0)])
    assert (core.orphans, [*core.roster.nodes]) == ({"spBv1.0/g/DDATA/edge/d1": 1}, [])
    core.take(
        [raw("spBv1.0/g/DBIRTH/edge/d1", payload(metric("Inputs/T1", 7, f12=21.0), metric("u", 8, f15="C")), 2.0)]
    )
    core = restored(core, models)
    core.take([raw("spBv1.0/g/DDATA/edge/d1", data, 3.0)])
    assert core.joiner.nodes["n_readings"].sum() == 2
    assert content(restored(core, models)) == content(core)


def test_aliases_are_remembered_up_to_a_number(monkeypatch):
    monkeypatch.setattr(sparkplug, "MAX_ALIASES", 3)
    aliases = {}
    codec = NamedCodec(codec_for("sparkplug", fields={"x": "x"}), lambda: aliases)
    for number in range(10):
        codec.decode(payload(metric(f"made up {number}", number, f4=3, f10=1), metric("x", f4=3, f10=1)))
    assert len(aliases) <= 3 + 2


def test_of_made_up_devices_few_aliases_are_known(monkeypatch):
    monkeypatch.setattr(intake, "MOST_NAMES", 3)
    models = Models(channels_procedure("x"))
    route = Route.of("spBv1.0/+/DDATA/+/{node}", "sparkplug", fields={"x": "x"})
    core, _ = new_core(models, Bindings.single(models.first.channels, routes=(route,)))
    for number in range(10):
        core.take([raw(f"spBv1.0/g/DDATA/edge/d{number}", payload(metric("x", 7, f12=1.0)), float(number))])
    assert [*core._intake.aliases] == ["d7", "d8", "d9"]


def test_made_up_devices_do_not_drop_the_aliases_of_one_that_sends(monkeypatch):
    """They did; a gateway that ran did not notice, but one that had started again could not read its data."""
    monkeypatch.setattr(intake, "MOST_NAMES", 3)
    models = Models(channels_procedure("x"))
    core, _ = new_core(models, Bindings.single(["x"], routes=(Route.of("p/+/{node}", "sparkplug"),)))
    core.take([raw("p/DBIRTH/real", payload(metric("x", 7, f12=1.0)))])
    for number in range(10):
        core.take([raw(f"p/DBIRTH/made-up-{number}", payload(metric("x", 7, f12=1.0)), number + 0.5)])
        core.take([raw("p/DDATA/real", payload(metric(None, 7, f3=NOON + number, f12=1.0)), number + 1.0)])
    assert [*core._intake.aliases] == ["made-up-8", "made-up-9", "real"]
    for each in (core, restored(core, models)):
        each.take([raw(f"p/DDATA/{name}", payload(metric(None, 7, f12=1.0))) for name in ("real", "made-up-0")])
        assert each._intake.counters["unbound"] == 1


def test_what_would_have_come_leaves_aliases_as_they_are():
    """A birth that is sent again is not in the log, so it must not rename what a later one has named."""
    core, _ = new_core(
        Models(channels_procedure("x")), Bindings.single(["x"], routes=(Route.of("p/{node}", "sparkplug"),))
    )
    first = raw("p/d1", payload(metric("x", 7, f12=1.0)))
    core.take([first, raw("p/d1", payload(metric("x", 8, f12=1.0), metric("y", 7, f12=1.0)), 1.0)])
    assert core.has_come(first)
    assert core._intake.aliases == {"d1": {7: "y", 8: "x"}}


def test_what_was_kept_while_offline_comes_in_order_of_time():
    kept = [metric(name, f3=NOON + second, f7=0, f12=1.0) for name in ("a", "b") for second in (2, 1)]
    parts = codec_for("sparkplug").decode(payload(*kept), 0.0).parts
    assert [channel for channel, _ in parts] == ["a", "b", "a", "b"]
    assert [reading.time for _, reading in parts] == sorted(reading.time for _, reading in parts)
