"""Payloads: what is read, what is refused, what is written."""

import math

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamfs.errors import PayloadError
from streamfs.gateway.codecs import Reading, decode, encode_decision
from streamfs.procedure import Decision

READ = {
    b"21.5": Reading(None, 21.5, None),
    b" -3 ": Reading(None, -3.0, None),
    b"true": Reading(None, 1.0, None),
    b"false": Reading(None, 0.0, None),
    b"1e-400": Reading(None, 0.0, None),
    b'{"v": 1}': Reading(None, 1.0, None),
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


@given(st.one_of(st.binary(), st.from_regex(rb'\{"(v|t|seq)":[-0-9eE.]+(,"(v|t|seq)":[-0-9eE.]+)*\}')))
def test_any_payload_is_read_or_refused(payload):
    try:
        reading = decode(payload)
    except PayloadError:
        return
    assert math.isfinite(reading.value)
    assert reading.time is None or math.isfinite(reading.time)


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e9, 1e10),
    st.integers(0, 2**63),
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
