"""Payloads: what is read, what is refused, what is written."""

import json
import math
import resource
import sys
from datetime import datetime
from itertools import product
from pathlib import Path

import cbor2
import numpy as np
import orjson
import pytest
from helpers.signals import named
from hypothesis import given
from hypothesis import strategies as st
from payload_cases import ARRIVAL, same

from streamfs.errors import MissingExtraError, PayloadError
from streamfs.gateway.messages.codecs import (
    Reading,
    Series,
    Several,
    TimedSeries,
    codec_for,
    decode,
    encode_array,
    encode_decision,
)
from streamfs.procedure.procedure import Decision

HOSTILE = Path(__file__).parents[2] / "hostile"


READ = {
    b"21.5": Reading(None, 21.5, None),
    b" -3 ": Reading(None, -3.0, None),
    b"true": Reading(None, 1.0, None),
    b"false": Reading(None, 0.0, None),
    b"1e-400": Reading(None, 0.0, None),
    b'{"v": 1}': Reading(None, 1.0, None),
    b'{"value": 2, "v": 1, "timestamp": 5, "ts": 4, "t": 3}': Reading(3.0, 1.0, None),
    b'{"value": 2.5, "ts": 10}': Reading(10.0, 2.5, None),
    b'{"value": false, "timestamp": 10.5, "seq": 0}': Reading(10.5, 0.0, 0),
    b'{"v": 4, "t": -1.5, "seq": 7, "unit": "Cel", "more": [[]]}': Reading(-1.5, 4.0, 7),
}


MALFORMED = {
    b"": "payload",
    b" ": "payload",
    b"\x00": "payload",
    b"\xff\xfe": "payload",
    b'{"v": "\xed\xa0\x80"}': "payload",
    b"21,5": "payload",
    b"21.5 C": "payload",
    b"NaN": "payload",
    b"-Infinity": "payload",
    b"1e400": "payload",
    b"null": "payload",
    b'"21.5"': "payload",
    b"[1, 2]": "payload",
    b"{}": "payload",
    b'{"V": 1}': "payload",
    b'{"v": 1': "payload",
    b'{"t": 1, "seq": 2}': "payload",
    b"[" * 5000: "payload",
    b'{"v":' * 5000 + b"1" + b"}" * 5000: "payload",
    b'{"v": null}': "v is None",
    b'{"v": "21.5"}': "v is '21.5'",
    b'{"v": [1]}': "v is [1]",
    b'{"value": {"v": 1}}': "value is {'v': 1}",
    b'{"v": 1e400}': "payload",
    b'{"v": NaN}': "payload",
    b'{"v": 1, "t": "now"}': "t is 'now'",
    b'{"v": 1, "t": null}': "t is None",
    b'{"v": 1, "ts": true}': "ts is True",
    b'{"v": 1, "timestamp": 1700000000000}': "timestamp is 1700000000000",
    b'{"v": 1, "seq": -1}': "seq is -1",
    b'{"v": 1, "seq": 1.0}': "seq is 1.0",
    b'{"v": 1, "seq": true}': "seq is True",
    b'{"v": 1, "seq": "1"}': "seq is '1'",
    b'{"v": 1, "seq": 99999999999999999999999}': "seq is",
    b'{"v": 1, "seq": 9223372036854775808}': "seq is 9223372036854775808",
    b"[" * 1000 + b"]" * 1000: "payload is [[[",
}


@pytest.mark.parametrize(("payload", "reading"), READ.items())
def test_a_reading_is_read(payload, reading):
    assert decode(payload) == reading


@pytest.mark.parametrize(("payload", "part"), MALFORMED.items(), ids=lambda part: repr(part[:20]))
def test_a_malformed_payload_is_refused_by_name(payload, part):
    with pytest.raises(PayloadError) as error:
        decode(payload)
    assert str(error.value).startswith(part)
    assert len(str(error.value)) < 200
    assert error.value.cause in PayloadError.CAUSES


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e9, 1e10),
    st.integers(0, 2**63 - 1),
)
def test_what_a_node_writes_is_read_unchanged(value, time, sequence):
    payload = orjson.dumps({"v": value, "t": time, "seq": sequence})
    assert decode(payload) == Reading(time, value, sequence)


def test_a_decision_is_written_with_all_its_fields():
    decision = Decision("desk", 2, "same", 0.93, 17, 4.5, "confident", 1016.0)
    assert orjson.loads(encode_decision(decision)) == {
        "id": "desk/2",
        "stream": "desk",
        "episode": 2,
        "label": "same",
        "confidence": 0.93,
        "tick": 17,
        "cost": 4.5,
        "reason": "confident",
        "time": 1016.0,
    }


def test_what_a_decision_does_not_know_is_null():
    decision = Decision("desk", 1, None, math.nan, 0, 0.0, "closed", math.nan)
    document = orjson.loads(encode_decision(decision))
    assert [document[name] for name in ("label", "confidence", "time")] == [None, None, None]


def check_decoded(decoded):
    """The law of all codecs: plain floats or arrays of them, finite but for the missing samples of a batch."""
    if isinstance(decoded, Several):
        assert decoded.spreading_factor is None or 6 <= decoded.spreading_factor <= 12
        for channel, part in decoded.parts:
            assert type(channel) is str
            check_decoded(part)
        return
    assert decoded.sequence is None or (type(decoded.sequence) is int and 0 <= decoded.sequence < 2**63)
    if isinstance(decoded, TimedSeries | Series):
        times, values = decoded.arrays()
        assert times.dtype == values.dtype == np.float64
        assert times.shape == values.shape == (max(1, len(values)),)
        assert (np.abs(times) <= 1e11).all()
        assert not np.isinf(values).any()
    else:
        assert type(decoded) is Reading
        assert type(decoded.value) is float
        assert math.isfinite(decoded.value)
        assert decoded.time is None or (type(decoded.time) is float and abs(decoded.time) <= 1e11)


CODECS = {
    "json": codec_for("json"),
    "json, nested": codec_for("json", value="a.b", time="a.t", time_unit="ns", sequence="n.s"),
    "json, fields": codec_for("json", fields={"a.b": "x", "v": "y"}, time="time", time_unit="iso"),
    "senml+json": codec_for("senml+json"),
    "senml+json, fields": codec_for("senml+json", fields={"urn:x": "x", "y": "y"}),
    "senml+cbor": codec_for("senml+cbor"),
    "array": codec_for("array"),
    "chirpstack": codec_for("chirpstack"),
    "chirpstack, fields": codec_for("chirpstack", fields={"a.b": "x", "v": "y"}),
    "thethings": codec_for("thethings"),
    "sparkplug": codec_for("sparkplug"),
    "auto": codec_for("auto"),
}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**64), 2**65) | st.floats() | st.text(max_size=4),
    lambda inside: (
        st.lists(inside, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "n", "s", "t", "v", "lora", "_"]), inside, max_size=4)
    ),
    max_leaves=6,
)


KEYS = st.sampled_from(
    [
        *("v", "value", "t", "ts", "t0", "dt", "seq", "time", "a", "n", "object", "fCnt", "txInfo"),
        *("bn", "bt", "bv", "bver", "vb", "vs", "s", "vd", "must_"),
    ]
)


DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=5)


PACKS = st.lists(st.dictionaries(st.integers(-7, 9) | st.just("must_"), VALUES, max_size=5), max_size=4)


def written(document):
    """A document as JSON, with what JSON does not have left to the reader to refuse."""
    return json.dumps(document).encode()  # orjson refuses to write what must be refused when it is read


PAYLOADS = st.one_of(
    st.binary(max_size=200),
    st.one_of(VALUES, DOCUMENTS, st.lists(DOCUMENTS, max_size=4)).map(written),
    PACKS.map(cbor2.dumps),
    st.builds(
        lambda head, body: head + body,
        st.sampled_from([bytes([1, code]) for code in range(6)]),
        st.binary(min_size=12, max_size=60),
    ),
)


@given(payload=PAYLOADS, cut=st.integers(0, 40))
def test_any_payload_is_read_or_refused(payload, cut):
    for (name, codec), part in product(CODECS.items(), (payload, payload[:cut], payload[cut:])):
        with named(f"codec: {name}"):
            try:
                decoded = codec.decode(part, ARRIVAL)
            except PayloadError:
                continue
            check_decoded(decoded)
            assert same(codec.decode(part, ARRIVAL), decoded)


OUTCOMES = {
    "array_cut.bin": "samples have 7 bytes",
    "array_header_alone.bin": "payload has 0 samples",
    "array_in_array.json": "v has [1, 2] in it",
    "array_of_unknown_type.bin": "type is 9",
    "array_signalling_nan.bin": TimedSeries(np.array([1.7e9, 1.7e9 + 1]), np.array([1.0, np.nan]), None),
    "array_step_nan.bin": "dt is nan",
    "array_that_stands_still.json": "dt is 0.0",
    "array_version_2.bin": "version is 2",
    "array_with_gaps.json": TimedSeries(1.7e9 + np.arange(3.0), np.array([np.nan, 1.0, 3.0]), None),
    "array_with_infinity.bin": TimedSeries(np.array([1.7e9, 1.7e9 + 1]), np.array([np.nan, 5.0]), None),
    "array_without_end.json": "dt is 1e+300",
    "array_without_samples.json": "v has 0 samples",
    "array_year_2554.bin": TimedSeries(np.array([(2**64 - 1) / 1e9]), np.array([0.0]), None),
    "beyond_a_double.json": "payload is",
    "byte_order_mark.json": "payload is",
    "chirpstack_join.json": Several(()),
    "chirpstack_spreading_factor_13.json": "txInfo.modulation.lora.spreadingFactor is 13",
    "chirpstack_time_of_day.json": 'time is "12 o\'clock"',
    "comment.json": "payload is",
    "deep_arrays.json": "payload is [[[",
    "deep_objects.json": "v is {'v': ",
    "empty.json": "payload is b''",
    "huge_whole_number.json": Reading(None, 1e300, None),
    "infinity.json": "payload is",
    "key_twice.json": Reading(None, 2.0, None),
    "latin_1.json": "payload is",
    "lone_surrogate.json": "payload is",
    "many_digits.json": Reading(None, 1 / 3, None),
    "milliseconds.json": "ts is 1700000000000",
    "nan.json": "payload is",
    "overlong_utf8.json": "payload is",
    "senml_array_of_2_to_60.bin": "payload is",
    "senml_big_float.bin": "payload is",
    "senml_bignum.bin": "payload is",
    "senml_break.bin": "payload is",
    "senml_cycle.bin": "payload is",
    "senml_decimal_fraction.bin": Several((("x", Reading(None, 21.5, None)),)),
    "senml_deep.bin": "payload is",
    "senml_huge_decimal.bin": "value is 1E+15000",
    "senml_key_twice.bin": "payload is",
    "senml_map_of_2_to_60.bin": "payload is",
    "senml_must_understand.json": "record has field 'secret_'",
    "senml_nan.bin": "name 'x' has time 0 and value nan",
    "senml_no_array.json": "payload is",
    "senml_one_channel_twice.json": "names 'a/x' and 'b/x' are one channel",
    "senml_only_a_sum.json": "record {'n': 'x', 's': 12.5} has only a sum",
    "senml_overflow.json": "name 'x' has time 0 and value inf",
    "senml_text.json": "record {'n': 'x', 'vs': 'on'} has text",
    "senml_text_of_2_to_60.bin": "payload is",
    "senml_trailing.bin": "payload is",
    "senml_truncated.bin": "payload is",
    "senml_undefined.bin": "value is undefined",
    "senml_version_11.json": "version is 11",
    "senml_without_lengths.bin": Several((("x", Reading(None, 1.0, None)),)),
    "senml_without_name.json": "name is ''",
    "sequence_of_64_bits.json": "seq is 9223372036854775808",
    "single_quotes.json": "payload is",
    "spaces.json": "payload is",
    "text_in_array.json": "v has '2' in it",
    "too_deep_arrays.json": "payload is",
    "trailing_brace.json": "payload is",
    "truncated.json": "payload is",
    "two_documents.json": "payload is",
    "wide_objects.json": "v is {'a': ",
    "zeros.json": "payload is",
}


def codec_of(path):
    kind = path.stem.partition("_")[0]
    if path.suffix == ".json":
        return codec_for({"senml": "senml+json", "chirpstack": "chirpstack"}.get(kind, "json"))
    return codec_for({"senml": "senml+cbor"}.get(kind, "array"))


def test_each_hostile_payload_has_an_outcome():
    assert sorted(OUTCOMES) == sorted(path.name for path in HOSTILE.iterdir() if path.suffix in (".json", ".bin"))


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_hostile_payload_is_read_or_refused_as_expected(name):
    path = HOSTILE / name
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if isinstance(OUTCOMES[name], str):
        with pytest.raises(PayloadError) as error:
            codec_of(path).decode(path.read_bytes(), ARRIVAL)
        assert str(error.value).startswith(OUTCOMES[name])
        assert len(str(error.value)) < 300
    else:
        assert same(codec_of(path).decode(path.read_bytes(), ARRIVAL), OUTCOMES[name])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024  # KiB


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("json", b'{"t0": 1, "dt": 1, "v": [1, 2, 3, 4]}'),
        ("senml+json", b'[{"n": "x", "v": 1}' + b', {"n": "x", "v": 2}' * 3 + b"]"),
        ("senml+cbor", cbor2.dumps([{0: "x", 2: 1.0}] * 4)),
        ("array", encode_array(1.0, 1.0, [1.0, 2.0, 3.0, 4.0])),
    ],
)
def test_no_more_samples_are_read_than_are_allowed(name, payload):
    assert codec_for(name, max_samples=4).decode(payload, ARRIVAL)
    with pytest.raises(PayloadError, match="1 to 3"):
        codec_for(name, max_samples=3).decode(payload, ARRIVAL)


@pytest.mark.parametrize(
    ("content_type", "payload", "decoded"),
    [
        ("", b"21.5", Reading(None, 21.5, None)),
        ("text/plain;charset=utf-8", b"21.5", Reading(None, 21.5, None)),
        ("application/json", b'{"v": 1}', Reading(None, 1.0, None)),
        ("Application/SenML+JSON", b'[{"n": "x", "v": 1}]', Several((("x", Reading(None, 1.0, None)),))),
        ("application/senml+cbor", cbor2.dumps([{0: "x", 2: 1}]), Several((("x", Reading(None, 1.0, None)),))),
        (
            "application/octet-stream",
            encode_array(5.0, 1.0, [2.0]),
            TimedSeries(np.array([5.0]), np.array([2.0]), None),
        ),
    ],
)
def test_the_content_type_selects_the_format(content_type, payload, decoded):
    assert same(codec_for("auto").decode(payload, ARRIVAL, content_type), decoded)


def test_fields_hold_for_every_format_that_has_some():
    codec = codec_for("auto", fields={"x": "light"})
    part = (("light", Reading(None, 1.0, None)),)
    assert codec.decode(b'{"x": 1}', ARRIVAL) == Several(part)
    assert codec.decode(b'[{"n": "x", "v": 1}]', ARRIVAL, "application/senml+json") == Several(part)


@pytest.mark.parametrize("content_type", ["image/png", "x" * 10_000, "application/senml+exi"])
def test_an_unknown_content_type_is_refused(content_type):
    with pytest.raises(PayloadError, match="content type is") as error:
        codec_for("auto").decode(b"1", ARRIVAL, content_type)
    assert len(str(error.value)) < 300


def test_without_its_package_cbor_is_refused_with_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cbor2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'streamfs\[gateway\]'"):
        codec_for("senml+cbor")
    with pytest.raises(PayloadError, match=r"pip install 'streamfs\[gateway\]'"):
        codec_for("auto").decode(b"\x81", ARRIVAL, "application/senml+cbor")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("xml", {}, "format is 'xml'"),
        ("array", {"fields": {"a": "b"}}, "takes no fields"),
        ("chirpstack", {"time": "t"}, "takes no value, time, time_unit or sequence"),
        ("senml+json", {"time_unit": "ms"}, "takes no value, time, time_unit or sequence"),
        ("json", {"fields": {"a": "b"}, "value": "c"}, "exclude each other"),
        ("json", {"fields": {}}, "fields are empty"),
        ("json", {"fields": {"a": "b", "c": "b"}}, "fields have channel 'b' twice"),
        ("json", {"fields": {"a": "b/c"}}, "channel is 'b/c'"),
        ("json", {"fields": {"a": "b@often:3"}}, "often:3"),
        ("json", {"fields": {"a..b": "b"}}, "path is 'a..b'"),
        ("json", {"value": "a."}, "path is 'a.'"),
        ("auto", {"time_unit": "h"}, "time unit is 'h'"),
    ],
)
def test_options_that_do_not_suit_a_format_are_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        codec_for(name, **options)


@pytest.mark.parametrize(
    ("text", "arrival", "expected"),
    [
        ("2026-01-31T12:00:00", 0.0, "2026-01-31T11:00:00Z"),
        ("2026-07-31T12:00:00", 0.0, "2026-07-31T10:00:00Z"),
        ("2026-07-31T12:00:00Z", 0.0, "2026-07-31T12:00:00Z"),
        ("2026-03-29T01:59:59", 0.0, "2026-03-29T00:59:59Z"),
        ("2026-03-29T03:00:00", 0.0, "2026-03-29T01:00:00Z"),
        ("2026-10-25T01:59:59", 0.0, "2026-10-24T23:59:59Z"),
        ("2026-10-25T02:30:00", "2026-10-25T00:30:01Z", "2026-10-25T00:30:00Z"),  # the hour that comes twice
        ("2026-10-25T02:30:00", "2026-10-25T01:30:01Z", "2026-10-25T01:30:00Z"),
        ("2026-10-25T03:00:00", 0.0, "2026-10-25T02:00:00Z"),
    ],
)
def test_local_times_are_those_of_their_zone_on_both_sides_of_a_change(text, arrival, expected):
    when = arrival and datetime.fromisoformat(arrival).timestamp()
    codec = codec_for("json", time_unit="iso", time_zone="Europe/Berlin")
    (time, *_) = codec.decode(orjson.dumps({"v": 1, "t": text}), when)
    assert time == datetime.fromisoformat(expected).timestamp()


@pytest.mark.parametrize(
    "options", [{"time_zone": "Europe/Nowhere", "time_unit": "iso"}, {"time_zone": "Europe/Berlin"}]
)
def test_a_zone_that_is_none_or_of_numbers_is_refused(options):
    with pytest.raises(ValueError, match=f"time_zone is '{options['time_zone']}'"):
        codec_for("json", **options)
