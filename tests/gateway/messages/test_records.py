"""Batches: arrays of objects, each with a time."""

import pytest
from payload_cases import ARRIVAL

from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs import Reading, codec_for

FIELDS = {"x": "x", "in.y": "y"}


def read(payload, **options):
    return codec_for("json", fields=FIELDS, **options).decode(payload, ARRIVAL)


@pytest.mark.parametrize(
    ("payload", "options"),
    [
        (b'[{"t": 2, "x": 5}, {"t": 1, "x": 4, "in": {"y": 8}}]', {}),
        (b'{"id": 1, "log": [{"t": 2, "x": 5}, {"t": 1, "x": 4, "in": {"y": 8}}]}', {"records": "log"}),
        (b'{"a": {"log": [{"t": 2000, "x": 5}, {"t": 1000, "x": 4, "in": {"y": 8}}]}}', {"records": "a.log"}),
    ],
)
def test_records_are_read_in_order_of_time(payload, options):
    unit = {"time_unit": "ms"} if b"2000" in payload else {}
    parts = read(payload, **options, **unit).parts
    assert parts == (
        ("x", Reading(1.0, 4.0, None)),
        ("y", Reading(1.0, 8.0, None)),
        ("x", Reading(2.0, 5.0, None)),
    )


def test_one_record_may_be_without_a_time():
    assert read(b'[{"x": 5}]').parts == (("x", Reading(None, 5.0, None)),)
    with pytest.raises(PayloadError, match="record 0: x has no time, expected one in each record"):
        read(b'[{"x": 5}, {"x": 6}]')


def test_what_cannot_be_read_does_not_cost_the_others():
    several = read(b'[{"t": 1, "x": 5}, 7, {"t": 2, "x": "a", "in": {"y": 8}}, {"t": "b", "x": 1}]')
    assert several.parts == (("x", Reading(1.0, 5.0, None)), ("y", Reading(2.0, 8.0, None)))
    assert str(several.refused) == (
        "record 1: it is 7, expected an object; record 2: x is 'a', expected a number; "
        "record 3: t is 'b', expected a number of seconds"
    )


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b'[{"t": 1, "x": 1}, {"t": 2, "x": 1}, {"t": 3, "x": 1}]', "payload has 3 records, expected at most 2"),
        (b"[]", "expected an object, or an array of some"),
        (b'[{"t0": 1, "dt": 1, "x": [1, 2]}]', "record 0: x is an array, expected a number in each record"),
    ],
)
def test_a_batch_that_is_none_is_refused_by_name(payload, message):
    with pytest.raises(PayloadError, match=message):
        read(payload, max_samples=2)


@pytest.mark.parametrize("options", [{}, {"fields": {"x": "x"}, "name": "chirpstack"}])
def test_records_need_fields_of_plain_json(options):
    with pytest.raises(ValueError, match="only plain JSON with fields has records"):
        codec_for(**{"name": "json", "records": "log"} | options)
