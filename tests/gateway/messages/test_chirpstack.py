"""Uplinks of ChirpStack."""

import math

import orjson
import pytest
from payload_cases import ARRIVAL

from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs import Reading, Several, codec_for

UPLINK = {
    "deduplicationId": "3ac7e3c4-4401-4b8d-9386-a5c902f9202d",
    "time": "2022-07-18T09:34:15.775023242+00:00",
    "deviceInfo": {"applicationName": "rooms", "devEui": "0101010101010101"},
    "dr": 1,
    "fCnt": 4,
    "fPort": 1,
    "data": "qg==",
    "object": {"light": 300, "door": True, "unit": "lx", "climate": {"temperature": 21.5}, "lost": None},
    "rxInfo": [{"gatewayId": "0016c001f153a14c", "rssi": -48}],
    "txInfo": {"frequency": 868100000, "modulation": {"lora": {"bandwidth": 125000, "spreadingFactor": 11}}},
}


AT = 1658136855.775023
NUMBER = Reading(AT, math.nan, 4)


def test_numbers_of_an_uplink_are_channels_by_their_names():
    parts = (("light", Reading(AT, 300.0, 4)), ("door", Reading(AT, 1.0, 4)))
    assert codec_for("chirpstack").decode(orjson.dumps(UPLINK), ARRIVAL) == Several(parts, 11, number=NUMBER)


def test_fields_of_an_uplink_are_channels():
    codec = codec_for(
        "chirpstack", fields={"climate.temperature": "temperature@delta:0.5", "lost": "x", "no": "y"}
    )
    parts = (("temperature@delta:0.5", Reading(AT, 21.5, 4)),)
    assert codec.decode(orjson.dumps(UPLINK), ARRIVAL) == Several(parts, 11, number=NUMBER)


@pytest.mark.parametrize("left_out", ["time", "fCnt", "txInfo", "object"])
def test_an_uplink_may_lack_what_is_not_the_values(left_out):
    event = {key: value for key, value in UPLINK.items() if key != left_out}
    decoded = codec_for("chirpstack").decode(orjson.dumps(event), ARRIVAL)
    assert bool(decoded.parts) == (left_out != "object")
    assert decoded.spreading_factor == (None if left_out == "txInfo" else 11)


@pytest.mark.parametrize("change", [{"fCnt": -1}, {"time": 5}, {"object": [1]}, {"txInfo": 3}, {"object": "x"}])
def test_an_uplink_that_is_none_is_refused(change):
    with pytest.raises(PayloadError):
        codec_for("chirpstack").decode(orjson.dumps(UPLINK | change), ARRIVAL)


def test_a_field_of_an_uplink_that_is_no_number_is_refused():
    with pytest.raises(PayloadError, match="unit is 'lx'"):
        codec_for("chirpstack", fields={"unit": "unit"}).decode(orjson.dumps(UPLINK), ARRIVAL)
