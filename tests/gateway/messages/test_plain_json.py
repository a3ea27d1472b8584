"""Plain JSON of other devices."""

import math
import re

import numpy as np
import pytest
from payload_cases import ARRIVAL, same

from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs import Reading, Several, TimedSeries, codec_for


@pytest.mark.parametrize(
    ("options", "payload", "reading"),
    [
        ({"value": "Power"}, b'{"Power": 40}', Reading(None, 40.0, None)),
        ({"value": "ENERGY.Power"}, b'{"ENERGY": {"Power": true}}', Reading(None, 1.0, None)),
        ({"value": "ENERGY.Power.1"}, b'{"ENERGY": {"Power": [5, 7]}}', Reading(None, 7.0, None)),
        ({"value": "*.PM2.5.max"}, b'{"SDS": {"PM2.5": {"max": 4}}}', Reading(None, 4.0, None)),
        ({"time": "when"}, b'{"v": 1, "when": -3, "t": "no"}', Reading(-3.0, 1.0, None)),
        ({"time_unit": "ms"}, b'{"v": 1, "ts": 1700000000125}', Reading(1700000000.125, 1.0, None)),
        ({"time_unit": "us"}, b'{"v": 1, "t": 1.5e6}', Reading(1.5, 1.0, None)),
        ({"time_unit": "ns"}, b'{"v": 1, "t": 1700000000000000001}', Reading(1.7e9, 1.0, None)),
        ({"time_unit": "iso"}, b'{"v": 1, "t": "1970-01-02T01:00:00.5+01:00"}', Reading(86400.5, 1.0, None)),
        ({"time_unit": "iso"}, b'{"v": 1, "t": "1970-01-02T00:00:00"}', Reading(86400.0, 1.0, None)),
        ({"time_unit": "iso"}, b'{"v": 1, "t": "1970-01-01T00:00:01.123456789Z"}', Reading(1.123456, 1.0, None)),
        ({"sequence": "fw.n"}, b'{"v": 1, "seq": "no", "fw": {"n": 7}}', Reading(None, 1.0, 7)),
    ],
)
def test_values_and_times_are_where_the_source_says(options, payload, reading):
    assert codec_for("json", **options).decode(payload, ARRIVAL) == reading


@pytest.mark.parametrize("stamp", ["1795365000.5", "1795365000500", "1795365000500000", "1795365000500000000"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_a_time_of_any_unit_has_that_of_its_size(stamp, zone):
    codec = codec_for("json", time_unit="any", time_zone=zone)
    for text in (stamp, f'"{stamp}"'):
        assert codec.decode(f'{{"v": 1, "t": {text}}}'.encode(), ARRIVAL) == Reading(1795365000.5, 1.0, None)


@pytest.mark.parametrize("stamp", ["true", '"20261128163000"', '"soon"', "1e21"])
def test_what_is_no_time_of_any_unit_is_refused_by_name(stamp):
    with pytest.raises(PayloadError, match=r"t is .*, expected"):
        codec_for("json", time_unit="any").decode(f'{{"v": 1, "t": {stamp}}}'.encode(), ARRIVAL)


@pytest.mark.parametrize(
    ("options", "payload", "message"),
    [
        ({"value": "Power"}, b'{"v": 40}', "expected a field Power"),
        ({"value": "a.b"}, b'{"a": {"b": null}}', "a.b is None, expected a number"),
        ({"value": "a.b"}, b'{"a": 5}', "a.b leads through 5, expected an object"),
        ({"time_unit": "ms"}, b'{"v": 1, "t": "1700000000000"}', "t is '1700000000000', expected a number of ms"),
        ({"time_unit": "ms"}, b'{"v": 1, "t": true}', "t is True, expected a number of ms"),
        ({"time_unit": "ms"}, b'{"v": 1, "t": 1e14}', "t is 100000000000000.0, expected ms, less than 1e\\+14"),
        ({"time_unit": "iso"}, b'{"v": 1, "t": 12}', "t is 12, expected a time such as"),
        ({"time_unit": "iso"}, b'{"v": 1, "t": "2025-13-01"}', "t is '2025-13-01', expected a time such as"),
        ({"time_unit": "iso"}, b'{"v": 1, "t": "6025-01-01"}', "t is '6025-01-01', expected a time such as"),
    ],
)
def test_what_is_not_where_the_source_says_is_refused_by_name(options, payload, message):
    with pytest.raises(PayloadError, match=message):
        codec_for("json", **options).decode(payload, ARRIVAL)


@pytest.mark.parametrize(
    ("unit", "payload"),
    [
        ("s", b'{"t0": 1000, "dt": 0.5, "v": [1, null, true, 2.5], "seq": 9}'),
        ("ms", b'{"t0": 1000000, "dt": 500, "v": [1, null, true, 2.5], "seq": 9}'),
        ("iso", b'{"t0": "1970-01-01T00:16:40Z", "dt": 0.5, "v": [1, null, true, 2.5], "seq": 9}'),
    ],
)
def test_an_array_is_a_batch_in_which_null_is_missing(unit, payload):
    batch = codec_for("json", time_unit=unit).decode(payload, ARRIVAL)
    assert same(batch, TimedSeries(1000 + 0.5 * np.arange(4), np.array([1.0, np.nan, 1.0, 2.5]), 9))


def test_fields_report_on_channels_and_null_on_none():
    fields = {"light": "light@flag:300", "room.door": "door", "battery": "battery", "gone": "gone"}
    codec = codec_for("json", fields=fields, time="at", time_unit="ms", sequence="n")
    payload = b'{"light": true, "room": {"door": 0.5, "x": "y"}, "battery": null, "at": 2500, "n": 3, "v": "z"}'
    parts = (("light@flag:300", Reading(2.5, 1.0, 3)), ("door", Reading(2.5, 0.5, 3)))
    assert codec.decode(payload, ARRIVAL) == Several(parts, number=Reading(2.5, math.nan, 3))
    assert codec.decode(b"{}", ARRIVAL) == Several(())


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b'{"light": "dark"}', "light is 'dark', expected a number"),
        (b'{"light": {}}', "light is {}, expected a number"),
        (b'{"light": 1, "room": 3}', "room.door leads through 3, expected an object"),
        (b"[]", "payload is b'[]', expected an object"),
        (b"5", "payload is b'5', expected an object"),
    ],
)
def test_fields_that_are_no_numbers_are_refused(payload, message):
    with pytest.raises(PayloadError, match=re.escape(message)):
        codec_for("json", fields={"light": "light", "room.door": "door"}).decode(payload, ARRIVAL)


COMMA = {",": "point", "°C": "unit", "off, off": 0}


@pytest.mark.parametrize(
    ("payload", "value"),
    [
        ("21,5", 21.5),
        ("-0,5 °C", -0.5),
        ('"21,5"', 21.5),
        ('{"v": "21,5"}', 21.5),
        ("21.5", 21.5),
        ("off, off", 0.0),
    ],
)
def test_a_comma_stands_before_decimals_if_the_source_says_so(payload, value):
    found = codec_for("json", values=COMMA).decode(payload.encode(), ARRIVAL)
    assert found == Reading(None, value, None)


@pytest.mark.parametrize("payload", ["1.234,5", "1,2,3", ",", '{"v": "a,b"}'])
def test_a_comma_makes_no_number_of_what_is_none(payload):
    with pytest.raises(PayloadError):
        codec_for("json", values=COMMA).decode(payload.encode(), ARRIVAL)


def test_a_comma_is_advised_on_and_nothing_else_stands_for_the_point():
    with pytest.raises(PayloadError, match='"," = "point"'):
        codec_for("json").decode(b"21,5", ARRIVAL)
    with pytest.raises(ValueError, match="expected that of a comma alone"):
        codec_for("json", values={";": "point"})


def test_of_units_that_end_alike_the_longest_is_meant():
    words = {"W": "unit", "kW": "unit"}
    assert codec_for("json", values=words).decode(b"5 kW", ARRIVAL) == Reading(None, 5.0, None)
